"""Values of columns of Arrow, converted and counted by DuckDB as dlt's coercion does it.

DuckDB gets one batch of rows at a time, and only the columns that are needed: memory stays within a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._catalogue import driver
from schemactl.destinations._session import quote
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.migration.statements import new_column, values_after
from schemactl.migration.steps import Backfill, ChangeType, FillColumn, Taken
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection

Written = ChangeType | Backfill | FillColumn
"""The steps that write values."""

_ROWS: Final = "given_rows"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a step writes into a column.

    Attributes:
        column: its name before the step.
        needed: names of all columns that the value depends on, with the type that DuckDB is to take each for.
        expression: the value.
    """

    column: str
    needed: Mapping[str, str | None]
    expression: str


def assignment(step: Written, table: str, columns: tuple[str, ...]) -> Assignment:
    """Return what a step writes into a table with these columns.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    from schemactl.destinations.duckdb.migration import ENGINE

    needed: dict[str, str | None]
    match step:
        case ChangeType():
            column, needed = step.before.name, {step.before.name: duckdb_type(step.before)}
        case FillColumn():
            column, needed = step.column.name, {step.column.name: None}
        case Backfill():
            column, needed = step.target.name, {step.target.name: None, step.source.name: duckdb_type(step.source)}
            if step.taken is Taken.UNFIT:
                # Of the values that went into the new column, nulls alone count.
                needed.setdefault(new_column(step, columns))
    values = values_after((step,), Table(table, {name: Column(name) for name in columns}), ENGINE)
    return Assignment(column, needed, values[column])


def duckdb_type(column: Column) -> str | None:
    """Return the type that DuckDB takes a column's values for; None where dlt has no type for them."""
    from schemactl.destinations.duckdb.migration import ENGINE

    return None if DATABASE_TYPE in column.properties else ENGINE.type_of(column)


@contextmanager
def duckdb_session() -> Iterator[DuckDBPyConnection]:
    """Open a database in memory that reads nothing but what it is given.

    Raises:
        DestinationError: DuckDB is not installed.
    """
    with driver("duckdb", "duckdb"):
        import duckdb
    from schemactl.destinations.duckdb.conversion import register

    offline: dict[str, Any] = {"autoinstall_known_extensions": "false", "temp_directory": ""}
    with duckdb.connect(config=offline) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection)
        yield connection


def assigned(
    connection: DuckDBPyConnection, rows: pyarrow.Table, wanted: Assignment, field: pyarrow.Field
) -> pyarrow.Array:
    """Return the values of a column of some rows after a step, as the new field has them.

    Raises:
        DestinationError: a value does not survive.
    """
    import pyarrow

    from schemactl.destinations.duckdb.migration import ENGINE

    listed = ", ".join(
        quote(name) if kind is None else f"CAST({ENGINE.name(name)} AS {kind}) AS {ENGINE.name(name)}"
        for name, kind in wanted.needed.items()
    )
    query = f"SELECT {wanted.expression} AS made FROM (SELECT {listed} FROM {_ROWS})"
    found = ask(connection, rows.select(list(wanted.needed)), query, f"write `{wanted.column}`").column("made")
    try:
        made = in_one(found).cast(field.type)
    except pyarrow.ArrowException as error:
        raise DestinationError(f"a value of `{wanted.column}` does not survive: {shown_error(str(error))}") from error
    return made


def ask(connection: DuckDBPyConnection, rows: pyarrow.Table, query: str, task: str) -> pyarrow.Table:
    """Return what a query over rows, which it calls ``given_rows``, finds.

    Raises:
        DestinationError: it fails.
    """
    import duckdb

    from schemactl.destinations.duckdb.session import first_line

    connection.register(_ROWS, in_microseconds(rows))
    try:
        return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise DestinationError(f"cannot {task}: {first_line(error)}") from error
    finally:
        connection.unregister(_ROWS)


def in_one(values: pyarrow.ChunkedArray) -> pyarrow.Array:
    """Return values as one array, those of DuckDB's own kinds as what they are stored as."""
    import pyarrow

    whole = values.combine_chunks()
    whole = whole if isinstance(whole, pyarrow.Array) else pyarrow.concat_arrays(whole.chunks)
    return whole.storage if isinstance(whole, pyarrow.ExtensionArray) else whole


def in_microseconds(rows: pyarrow.Table) -> pyarrow.Table:
    """Return rows whose moments and times have the unit that DuckDB converts by.

    Raises:
        DestinationError: a value has parts of a microsecond, which would be lost.
    """
    import pyarrow

    kinds = {field.name: coarse(field.type) for field in rows.schema}
    fields = pyarrow.schema([pyarrow.field(name, kind) for name, kind in kinds.items()])
    try:
        return rows if fields.types == rows.schema.types else rows.cast(fields)
    except pyarrow.ArrowInvalid as error:
        message = f"a value has parts of a microsecond, which would be lost: {shown_error(str(error))}"
        raise DestinationError(message) from error


def coarse(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type with microseconds in the place of nanoseconds."""
    import pyarrow
    import pyarrow.types as is_a

    if is_a.is_timestamp(kind) and kind.unit == "ns":
        return pyarrow.timestamp("us", kind.tz)
    return pyarrow.time64("us") if is_a.is_time64(kind) and kind.unit == "ns" else kind
