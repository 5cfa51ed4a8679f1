"""Counts what of the rows of tables on files stands in a step's way, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.conversions import ask, coarse, duckdb_session, duckdb_type
from schemactl.destinations._lake.store import LakeStore
from schemactl.destinations._migration.unfit import count_query, undo_query, undone_of, unfit_of
from schemactl.errors import InputError
from schemactl.migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.migration.steps import Backfill, ChangeType, SetNotNull

if TYPE_CHECKING:
    import pyarrow

ROW_KEY: Final = "_dlt_id"

_VALUE: Final = "value"
_KEY: Final = "row_key"


def count_nulls(store: LakeStore, step: SetNotNull, share: float) -> Unfit:
    """Return how many rows have null in a step's column; ``share`` of the rows are read.

    Raises:
        InputError: there is no such column.
    """
    column = step.column.name
    keys, batches = _read(store, step.table, column, share)
    given = (_given(batch, column, keys) for batch in batches)
    return _added_up(_chosen(rows, rows.column(_VALUE).is_null()) for rows in given)


def count_values(store: LakeStore, step: ChangeType | Backfill, share: float) -> Unfit:
    """Return how many values of a column do not survive a step; ``share`` of the rows are read.

    Raises:
        InputError: there is no such column.
        DestinationError: DuckDB is not installed, or the rows cannot be read.
    """
    return _added_up(_ask_each(store, step, share))


def count_not_undone(store: LakeStore, step: ChangeType) -> Unfit:
    """Return how many texts of a column an undo of a step does not bring back as they are.

    Raises:
        InputError, DestinationError: as ``count_values``.
    """
    return _added_up(_ask_each(store, step, 1.0, is_undone=True))


def _read(
    store: LakeStore, table: str, column: str, share: float
) -> tuple[tuple[str, ...], Iterator[pyarrow.RecordBatch]]:
    """Return the columns that distinguish rows, and rows with these and another one."""
    there = store.fields(table).names
    if column not in there:
        raise InputError(f"there is no column `{column}` in `{table}` of `{store.origin}`")
    keys = (ROW_KEY,) if ROW_KEY in there else ()
    unique = list(dict.fromkeys((column, *keys)))
    return keys, store.batches(table, unique) if share >= 1.0 else store.table(table).sample(unique, share)


def _ask_each(
    store: LakeStore, step: ChangeType | Backfill, share: float, *, is_undone: bool = False
) -> Iterator[Unfit]:
    """Yield what of each batch of a column does not survive a step, or its undo; nothing where all values do."""
    from schemactl.destinations.duckdb.migration import ENGINE

    source = step.before if isinstance(step, ChangeType) else step.source
    keys, batches = _read(store, step.table, source.name, share)
    kind, given = duckdb_type(source), replace(source, name=_VALUE)
    value = f'"{_VALUE}"' if kind is None else f'CAST("{_VALUE}" AS {kind}) AS "{_VALUE}"'
    named = [_KEY for _ in keys]
    rows = f"(SELECT {', '.join([value, *named])} FROM given_rows)"
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
