"""Writes and counts rows of Arrow as steps of a migration leave them.

DuckDB converts the values, by the rules of ``duckdb.conversion``. It gets one batch of
rows at a time, and only the columns that are needed: memory stays within a batch.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, assert_never

from schemactl.destinations._catalogue import driver
from schemactl.destinations._migration.unfit import count_query, undo_query, undone_of, unfit_of
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.migration.records import MOST_EXAMPLES, Example, Fill, ParentLink, Unfit
from schemactl.migration.statements import new_column, retype_of, values_after
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    DropColumn,
    DropNotNull,
    FillColumn,
    RenameColumn,
    SetNotNull,
    Taken,
)
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection

ROW_KEY: Final = "_dlt_id"

ROWS: Final = "given_rows"
_VALUE: Final = "value"
_KEY: Final = "row_key"


def duckdb_type(column: Column) -> str | None:
    """Return the type that DuckDB takes a column's values for; None if dlt has no type for them."""
    from schemactl.destinations.duckdb.migration import ENGINE

    return None if DATABASE_TYPE in column.properties else ENGINE.type_of(column)


@contextmanager
def duckdb_session() -> Iterator[DuckDBPyConnection]:
    """Open a connection that reads no other files; ``DestinationError`` without DuckDB."""
    with _database().cursor() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@cache
def _database() -> DuckDBPyConnection:
    """Return a database in memory: to make one takes some 30 ms, and each step that is counted or done needs one."""
    with driver("duckdb", "duckdb"):
        import duckdb
    from schemactl.destinations.duckdb.conversion import register

    offline: dict[str, Any] = {"autoinstall_known_extensions": "false", "temp_directory": ""}
    database = duckdb.connect(config=offline)
    register(database)
    atexit.register(database.close)  # else DuckDB complains at exit that the database is open
    return database


def ask(connection: DuckDBPyConnection, rows: pyarrow.Table, query: str, task: str) -> pyarrow.Table:
    """Return the result of a query over rows, which it calls ``given_rows``; ``DestinationError`` if it fails."""
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
    """Return rows whose timestamps and times have DuckDB's unit; values with a finer fraction are an error."""
    import pyarrow

    kinds = {field.name: coarse(field.type) for field in rows.schema}
    fields = pyarrow.schema([pyarrow.field(name, kind) for name, kind in kinds.items()])
    try:
        return rows if fields.types == rows.schema.types else rows.cast(fields)
    except pyarrow.ArrowInvalid as error:
        message = f"a value would lose its digits below a microsecond: {shown_error(str(error))}"
        raise DestinationError(message) from error


def coarse(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type with microseconds instead of nanoseconds."""
    import pyarrow
    import pyarrow.types as is_a

    if is_a.is_timestamp(kind) and kind.unit == "ns":
        return pyarrow.timestamp("us", kind.tz)
    return pyarrow.time64("us") if is_a.is_time64(kind) and kind.unit == "ns" else kind


def count_nulls(column: str, keys: Sequence[str], batches: Iterator[pyarrow.RecordBatch]) -> Unfit:
    """Return how many rows have null in a column; arguments as in ``count_values``."""
    tables = (_value_and_key(batch, column, keys) for batch in batches)
    return _added_up(_chosen(rows, rows.column(_VALUE).is_null()) for rows in tables)


def count_fills(
    columns: Sequence[str], load_column: str | None, batches: Iterator[pyarrow.RecordBatch]
) -> tuple[Fill, ...]:
    """Return how many rows hold a value in each of some columns; see ``MigrationSession.fills``."""
    import pyarrow.compute as compute

    rows, values = 0, dict.fromkeys(columns, 0)
    first_loads: dict[str, str] = {}
    for batch in batches:
        rows += batch.num_rows
        for name in columns:
            is_filled = batch.column(name).is_valid()
            values[name] += is_filled.true_count
            if load_column is not None and is_filled.true_count:
                load = str(compute.min(batch.column(load_column).filter(is_filled)).as_py())
                first_loads[name] = min(first_loads.get(name, load), load)
    return tuple(Fill(values[name], rows, first_loads.get(name)) for name in columns)


def find_first_load(
    table: str,
    column: str,
    links: Sequence[ParentLink],
    load_column: str,
    read: Callable[[str, Sequence[str]], Iterable[pyarrow.RecordBatch]],
) -> str | None:
    """Return the first load that wrote a value into a nested table; see ``MigrationSession.first_load``.

    ``read`` returns some columns of a table.
    """
    import pyarrow.compute as compute

    keys: pyarrow.Array | None = None  # of the rows of the next table
    for link in links:
        keys = _distinct(_of_rows(read(table, list(dict.fromkeys((column, link.column)))), column, keys, link.column))
        table, column = link.parent, link.key
    loads = _distinct(_of_rows(read(table, list(dict.fromkeys((column, load_column)))), column, keys, load_column))
    first = compute.min(loads).as_py() if len(loads) else None
    return None if first is None else str(first)


def _of_rows(
    batches: Iterable[pyarrow.RecordBatch], column: str, values: pyarrow.Array | None, selected: str
) -> Iterator[pyarrow.Array]:
    """Yield one column of the rows that hold one of some values in another column; None for any value but null."""
    import pyarrow.compute as compute

    for batch in batches:
        array = batch.column(column)
        mask = array.is_valid() if values is None else compute.is_in(array, values.cast(array.type))
        yield batch.column(selected).filter(mask)


def _distinct(arrays: Iterable[pyarrow.Array]) -> pyarrow.Array:
    """Return the values of some arrays of one type, each once."""
    import pyarrow

    distinct_values = pyarrow.array([], pyarrow.string())
    for array in arrays:
        distinct_values = pyarrow.concat_arrays([distinct_values, array.cast(pyarrow.string())]).unique()
    return distinct_values


def count_overlaps(first: str, second: str, keys: Sequence[str], batches: Iterator[pyarrow.RecordBatch]) -> Unfit:
    """Return how many rows have values in two columns, with examples of the first; arguments as in ``count_values``."""
    import pyarrow.compute as compute

    masks = (
        (batch, compute.and_(batch.column(first).is_valid(), batch.column(second).is_valid())) for batch in batches
    )
    return _added_up(_chosen(_value_and_key(batch, first, keys), mask) for batch, mask in masks)


def without_filled(batches: Iterator[pyarrow.RecordBatch], columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows in which all of some columns are null."""
    for batch in batches:
        for column in columns:
            batch = batch.filter(batch.column(column).is_null())
        yield batch


def count_values(
    step: ChangeType | Backfill,
    keys: Sequence[str],
    batches: Iterator[pyarrow.RecordBatch],
    *,
    is_undone: bool = False,
) -> Unfit:
    """Return how many values of a column do not survive a step, or do not come back by its undo.

    ``keys`` has the column that distinguishes rows, if any; ``batches`` have that and the step's column.
    """
    return _added_up(_ask_each(step, keys, batches, is_undone))


def _ask_each(
    step: ChangeType | Backfill, keys: Sequence[str], batches: Iterator[pyarrow.RecordBatch], is_undone: bool
) -> Iterator[Unfit]:
    """Yield the values of each batch of a column that do not survive a step, or its undo."""
    import pyarrow.compute as compute

    from schemactl.destinations.duckdb.migration import ENGINE

    source = retype_of(step).before
    kind, renamed = duckdb_type(source), replace(source, name=_VALUE)
    value = f'"{_VALUE}"' if kind is None else f'CAST("{_VALUE}" AS {kind}) AS "{_VALUE}"'
    key_names = [_KEY for _ in keys]
    rows = f"(SELECT {', '.join([value, *key_names])} FROM {ROWS})"
    step = replace(step, before=renamed) if isinstance(step, ChangeType) else replace(step, source=renamed)
    if is_undone and isinstance(step, ChangeType):
        query, read = undo_query(step, rows, key_names, ENGINE), undone_of
    else:
        query, read = count_query(step, rows, key_names, ENGINE), unfit_of
    if query is None:
        return
    with duckdb_session() as connection:
        for batch in batches:
            values = _value_and_key(batch, source.name, keys)
            array = values.column(_VALUE)
            rough = coarse(array.type)
            if rough != array.type:  # no conversion keeps parts of a microsecond
                is_fine = compute.not_equal(array.cast(rough, safe=False).cast(array.type), array)
                if (fine := _chosen(values, is_fine)).count:
                    yield fine
                    continue
            answer = ask(connection, values, query, f"count values of `{source.name}`")
            yield read([tuple(row.values()) for row in answer.to_pylist()], keys)


def _added_up(all_counts: Iterator[Unfit]) -> Unfit:
    """Return the counts of parts of a table as that of the whole."""
    total = Unfit()
    for counts in all_counts:
        examples = (*total.examples, *counts.examples)[:MOST_EXAMPLES]
        total = Unfit(total.count + counts.count, total.rows + counts.rows, examples)
    return total


def _value_and_key(batch: pyarrow.RecordBatch, column: str, keys: Sequence[str]) -> pyarrow.Table:
    """Return the value and the key under names that hold whatever the columns are called."""
    import pyarrow

    names = [column, *keys]
    return pyarrow.table([batch.column(name) for name in names], names=[_VALUE, _KEY][: len(names)])


def _chosen(rows: pyarrow.Table, mask: pyarrow.ChunkedArray) -> Unfit:
    """Return the rows that a mask selects, as rows that block a step."""
    chosen = rows.filter(mask)
    first_rows = chosen.slice(0, MOST_EXAMPLES)
    keys = first_rows[_KEY].to_pylist() if _KEY in first_rows.column_names else [None] * first_rows.num_rows
    values = [scalar.cast("string").as_py() for scalar in first_rows[_VALUE]]
    examples = tuple(
        Example({} if key is None else {ROW_KEY: str(key)}, value) for key, value in zip(keys, values, strict=True)
    )
    return Unfit(chosen.num_rows, rows.num_rows, examples)


Rewritten = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn | SetNotNull | DropNotNull
"""The steps that rewriting all rows can do."""

Written = ChangeType | Backfill | FillColumn
"""Those of them that write values."""

MakeField = Callable[..., "pyarrow.Field"]
"""Makes a field of a column, and of the one whose place that takes; see ``LakeMigration.field``."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The values that a step writes into a column.

    Attributes:
        column: its name before the step.
        needed: names of all columns that the value depends on.
        query: of the values, over rows with these columns.
    """

    column: str
    needed: Sequence[str]
    query: str

    def values(self, batch: pyarrow.RecordBatch, field: pyarrow.Field, connection: DuckDBPyConnection) -> pyarrow.Array:
        """Return the column's values after the step; ``DestinationError`` if a value does not survive."""
        import pyarrow

        rows = pyarrow.Table.from_batches([batch.select(self.needed)])
        column = ask(connection, rows, self.query, f"write `{self.column}`").column("made").combine_chunks()
        values = column if isinstance(column, pyarrow.Array) else pyarrow.concat_arrays(column.chunks)
        # DuckDB's extension types as their storage types.
        stored = values.storage if isinstance(values, pyarrow.ExtensionArray) else values
        try:
            return stored.cast(field.type)
        except pyarrow.ArrowException as error:
            message = f"a value of `{self.column}` does not survive: {shown_error(str(error))}"
            raise DestinationError(message) from error


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The columns of a table after its steps.

    Attributes:
        fields: the columns afterwards.
        renamed: old names of renamed columns, by new name.
        written: the new values of one column; None if no values change.
    """

    fields: pyarrow.Schema
    renamed: Mapping[str, str]
    written: Assignment | None = None

    def apply(self, batch: pyarrow.RecordBatch, connection: DuckDBPyConnection | None) -> pyarrow.RecordBatch:
        """Return rows after the steps; new values need a connection."""
        import pyarrow

        arrays = []
        for field in self.fields:
            name = self.renamed.get(field.name, field.name)
            if self.written and name == self.written.column:
                assert connection is not None, "values are written by a query"
                array = self.written.values(batch, field, connection)
            else:
                is_new = name not in batch.schema.names
                array = pyarrow.nulls(batch.num_rows, field.type) if is_new else batch.column(name)
            if not field.nullable and array.null_count:
                raise DestinationError(f"column `{field.name}` contains nulls, but becomes NOT NULL")
            arrays.append(array)
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.fields)


def rewritings(before: pyarrow.Schema, steps: Sequence[Rewritten], field_of: MakeField) -> tuple[Rewriting, ...]:
    """Return the columns of one table after each of its steps; ``before`` are its columns at first."""
    import pyarrow

    step_rewritings: list[Rewriting] = []
    for step in steps:
        fields = {field.name: field for field in before}
        needed, new = _names(step)
        if missing := next((name for name in needed if name not in fields), None):
            raise DestinationError(f"there is no column `{missing}` in `{step.table}`")
        if new in fields:
            raise DestinationError(f"`{step.table}` already has a column `{new}`")
        renamed = {step.after: step.before} if isinstance(step, RenameColumn) else {}
        written = _write(step, tuple(fields)) if isinstance(step, Written) else None
        before = pyarrow.schema(_fields(step, fields, field_of), metadata=before.metadata)
        step_rewritings.append(Rewriting(before, renamed, written))
    return tuple(step_rewritings)


def _names(step: Rewritten) -> tuple[tuple[str, ...], str | None]:
    """Return the columns that a step needs, and the one that may not be there."""
    match step:
        case AddColumn():
            return (), step.column.name
        case RenameColumn():
            return (step.before,), step.after
        case ChangeType():
            return (step.before.name,), None
        case Backfill():
            return (step.source.name, step.target.name), None
        case DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return (step.column.name,), None
        case _:
            assert_never(step)


def _fields(step: Rewritten, fields: Mapping[str, pyarrow.Field], field_of: MakeField) -> list[pyarrow.Field]:
    """Return the columns afterwards."""
    match step:
        case AddColumn():
            return [*fields.values(), field_of(step.column)]
        case DropColumn():
            return [field for name, field in fields.items() if name != step.column.name]
        case RenameColumn():
            return [field.with_name(step.after) if name == step.before else field for name, field in fields.items()]
        case ChangeType():
            name = step.before.name
            return [*{**fields, name: field_of(step.after, fields[name])}.values()]
        case SetNotNull() | DropNotNull():
            name = step.column.name
            return [*{**fields, name: fields[name].with_nullable(isinstance(step, DropNotNull))}.values()]
        case Backfill() | FillColumn():
            return [*fields.values()]
        case _:
            assert_never(step)


def _write(step: Written, columns: tuple[str, ...]) -> Assignment:
    """Return the values that a step writes into columns; ``InputError`` if a name or value cannot be written."""
    from schemactl.destinations.duckdb.migration import ENGINE

    # DuckDB's type for each, as files store some types as texts, such as wei; None to keep the file's.
    needed: dict[str, str | None]
    match step:
        case ChangeType():
            column, needed = step.before.name, {step.before.name: duckdb_type(step.before)}
        case FillColumn():
            column, needed = step.column.name, {step.column.name: duckdb_type(step.column)}
        case Backfill():
            column = step.target.name
            needed = {of.name: duckdb_type(of) for of in (step.target, step.source)}
            if step.taken is Taken.UNFIT:
                # The new column took the values that fit: only its nulls mark values to copy.
                needed.setdefault(new_column(step, columns))
    value = values_after((step,), Table(step.table, {name: Column(name) for name in columns}), ENGINE)[column]
    column_list = ", ".join(
        ENGINE.name(name) if kind is None else f"CAST({ENGINE.name(name)} AS {kind}) AS {ENGINE.name(name)}"
        for name, kind in needed.items()
    )
    return Assignment(column, list(needed), f"SELECT {value} AS made FROM (SELECT {column_list} FROM {ROWS})")
