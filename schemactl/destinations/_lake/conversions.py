"""Values of columns of Arrow, converted and counted by DuckDB as dlt's coercion does it.

DuckDB gets one batch of rows at a time, and only the columns that are needed: memory stays within a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._catalogue import driver
from schemactl.destinations._migration.unfit import count_query, undo_query, undone_of, unfit_of
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.migration.steps import Backfill, ChangeType
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection

ROW_KEY: Final = "_dlt_id"

ROWS: Final = "given_rows"
_VALUE: Final = "value"
_KEY: Final = "row_key"


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


def ask(connection: DuckDBPyConnection, rows: pyarrow.Table, query: str, task: str) -> pyarrow.Table:
    """Return what a query over rows, which it calls ``given_rows``, finds.

    Raises:
        DestinationError: it fails.
    """
    import duckdb

    from schemactl.destinations.duckdb.session import first_line

    connection.register(ROWS, in_microseconds(rows))
    try:
        return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise DestinationError(f"cannot {task}: {first_line(error)}") from error
    finally:
        connection.unregister(ROWS)


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


def count_nulls(column: str, keys: Sequence[str], batches: Iterator[pyarrow.RecordBatch]) -> Unfit:
    """Return how many rows have null in a column; arguments as in ``count_values``."""
    given = (_given(batch, column, keys) for batch in batches)
    return _added_up(_chosen(rows, rows.column(_VALUE).is_null()) for rows in given)


def count_values(
    step: ChangeType | Backfill,
    keys: Sequence[str],
    batches: Iterator[pyarrow.RecordBatch],
    *,
    is_undone: bool = False,
) -> Unfit:
    """Return how many values of a column do not survive a step, or do not come back by its undo.

    ``keys`` is the column that distinguishes rows, or none; ``batches`` have that and the step's column.

    Raises:
        DestinationError: DuckDB is not installed, or the rows cannot be read.
    """
    return _added_up(_ask_each(step, keys, batches, is_undone))


def _ask_each(
    step: ChangeType | Backfill, keys: Sequence[str], batches: Iterator[pyarrow.RecordBatch], is_undone: bool
) -> Iterator[Unfit]:
    """Yield what of each batch of a column does not survive a step, or its undo; nothing where all values do."""
    from schemactl.destinations.duckdb.migration import ENGINE

    source = source_of(step)
    kind, given = duckdb_type(source), replace(source, name=_VALUE)
    value = f'"{_VALUE}"' if kind is None else f'CAST("{_VALUE}" AS {kind}) AS "{_VALUE}"'
    named = [_KEY for _ in keys]
    rows = f"(SELECT {', '.join([value, *named])} FROM {ROWS})"
    step = replace(step, before=given) if isinstance(step, ChangeType) else replace(step, source=given)
    if is_undone and isinstance(step, ChangeType):
        query, read = undo_query(step, rows, named, ENGINE), undone_of
    else:
        query, read = count_query(step, rows, named, ENGINE), unfit_of
    if query is None:
        return
    with duckdb_session() as connection:
        for batch in batches:
            given_rows = _given(batch, source.name, keys)
            fine = _parts_of_microseconds(given_rows)
            if fine.count:
                yield fine
                continue
            found = ask(connection, given_rows, query, f"count values of `{source.name}`")
            yield read([tuple(row.values()) for row in found.to_pylist()], keys)


def source_of(step: ChangeType | Backfill) -> Column:
    """Return the column whose values a step converts."""
    return step.before if isinstance(step, ChangeType) else step.source


def _added_up(parts: Iterator[Unfit]) -> Unfit:
    """Return what was counted in parts of a table as that of the whole."""
    total = Unfit()
    for part in parts:
        examples = (*total.examples, *part.examples)[:MOST_EXAMPLES]
        total = Unfit(total.count + part.count, total.rows + part.rows, examples)
    return total


def _given(batch: pyarrow.RecordBatch, column: str, keys: Sequence[str]) -> pyarrow.Table:
    """Return the value and the key under names that hold whatever the columns are called."""
    import pyarrow

    names = [column, *keys]
    return pyarrow.table([batch.column(name) for name in names], names=[_VALUE, _KEY][: len(names)])


def _parts_of_microseconds(given: pyarrow.Table) -> Unfit:
    """Return the values that are finer than microseconds: no conversion keeps them."""
    import pyarrow.compute as compute

    value = given.column(_VALUE)
    rough = coarse(value.type)
    if rough == value.type:
        return Unfit()
    return _chosen(given, compute.not_equal(value.cast(rough, safe=False).cast(value.type), value))


def _chosen(given: pyarrow.Table, mask: pyarrow.ChunkedArray) -> Unfit:
    """Return the rows that a mask chooses as what stands in the way."""
    chosen = given.filter(mask)
    shown = chosen.slice(0, MOST_EXAMPLES)
    keys = shown.column(_KEY).to_pylist() if _KEY in shown.column_names else [None] * shown.num_rows
    values = [each.cast("string").as_py() for each in shown.column(_VALUE)]
    examples = tuple(
        Example({} if key is None else {ROW_KEY: str(key)}, value) for key, value in zip(keys, values, strict=True)
    )
    return Unfit(chosen.num_rows, given.num_rows, examples)
