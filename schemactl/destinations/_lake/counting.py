"""Counts what of the rows of tables on files stands in a step's way, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._lake.conversions import ask, coarse, duckdb_session, duckdb_type
from schemactl.destinations._lake.store import LakeStore
from schemactl.destinations._migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.destinations._migration.unfit import count_query, undo_query, undone_of, unfit_of
from schemactl.migration.statements import Engine
from schemactl.migration.steps import Backfill, ChangeType
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow

ROW_KEY: Final = "_dlt_id"

_VALUE: Final = "value"
_KEY: Final = "row_key"


def count_nulls(store: LakeStore, table: str, column: str, share: float = 1.0) -> Unfit:
    """Return how many rows have null in a column; ``share`` of the rows are read."""
    keys = _keys(store, table)
    given = (_given(batch, column, keys) for batch in _batches(store, table, (column, *keys), share))
    return added_up(_chosen(rows, rows.column(_VALUE).is_null()) for rows in given)


def count_values(store: LakeStore, table: str, column: str, step: ChangeType | Backfill, share: float = 1.0) -> Unfit:
    """Return how many values of a column do not survive a step; ``share`` of the rows are read.

    Raises:
        DestinationError: DuckDB is not installed, or the rows cannot be read.
    """
    source = step.before if isinstance(step, ChangeType) else step.source
    keys = _keys(store, table)
    query = count_query(step, _VALUE, _rows_of(source, keys), [_KEY for _ in keys], _engine())
    batches = _batches(store, table, (column, *keys), share)
    return added_up(_ask_each(batches, query, unfit_of, column, keys))


def count_not_undone(store: LakeStore, table: str, column: str, step: ChangeType) -> Unfit:
    """Return how many texts of a column an undo of a step does not bring back as they are.

    Raises:
        DestinationError: as ``count_values``.
    """
    keys = _keys(store, table)
    query = undo_query(step, _VALUE, _rows_of(step.before, keys), [_KEY for _ in keys], _engine())
    batches = _batches(store, table, (column, *keys), 1.0)
    return added_up(_ask_each(batches, query, undone_of, column, keys))


def _engine() -> Engine:
    from schemactl.destinations.duckdb.migration import ENGINE

    return ENGINE


def _rows_of(source: Column, keys: Sequence[str]) -> str:
    kind = duckdb_type(source)
    given = f'"{_VALUE}"' if kind is None else f'CAST("{_VALUE}" AS {kind}) AS "{_VALUE}"'
    return f"(SELECT {', '.join([given, *(_KEY for _ in keys)])} FROM given_rows)"


def _ask_each(
    batches: Iterator[pyarrow.RecordBatch],
    query: str | None,
    read: Callable[[Sequence[tuple[Any, ...]], Sequence[str]], Unfit],
    column: str,
    keys: Sequence[str],
) -> Iterator[Unfit]:
    """Yield what a query says of each batch of a column; nothing where there is no query."""
    if query is None:
        return
    with duckdb_session() as connection:
        for batch in batches:
            given_rows = _given(batch, column, keys)
            fine = _parts_of_microseconds(given_rows)
            if fine.count:
                yield fine
                continue
            found = ask(connection, given_rows, query, f"count values of `{column}`")
            yield read([tuple(row.values()) for row in found.to_pylist()], keys)


def added_up(parts: Iterator[Unfit]) -> Unfit:
    """Return what was counted in parts of a table as that of the whole."""
    total = Unfit()
    for part in parts:
        examples = (*total.examples, *part.examples)[:MOST_EXAMPLES]
        total = Unfit(total.count + part.count, total.rows + part.rows, examples)
    return total


def _keys(store: LakeStore, table: str) -> tuple[str, ...]:
    return (ROW_KEY,) if ROW_KEY in store.fields(table).names else ()


def _batches(store: LakeStore, table: str, columns: Sequence[str], share: float) -> Iterator[pyarrow.RecordBatch]:
    unique = list(dict.fromkeys(columns))
    return store.batches(table, unique) if share >= 1.0 else store.sample(table, unique, share)


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
