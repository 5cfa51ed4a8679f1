"""Which rows match: keys of rows in memory, one file at a time. Rows themselves are never held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow

_ROW: Final = "\0row"
_SORT: Final = "\0sort"
_TIE: Final = "\0tie"


def table_of(batches: Iterable[pyarrow.RecordBatch], fields: pyarrow.Schema) -> pyarrow.Table:
    """Return batches as one table."""
    import pyarrow

    return pyarrow.Table.from_batches(batches, fields)


def found(rows: pyarrow.Table, keys: pyarrow.Table, columns: Sequence[str]) -> pyarrow.BooleanArray:
    """Return for each row whether ``keys`` has one with the same values; a null equals nothing, as in SQL."""
    if not columns or not rows.num_rows or not keys.num_rows:
        return none_of(rows.num_rows)
    hits = _numbered(rows.select(columns)).join(keys.select(columns), list(columns), join_type="left semi")
    return _marked(hits[_ROW], rows.num_rows)


def found_values(rows: pyarrow.ChunkedArray, values: pyarrow.ChunkedArray) -> pyarrow.BooleanArray:
    """Return for each value whether it is among ``values``; nulls are not."""
    import pyarrow.compute as pc

    return joined(pc.is_in(rows, value_set=values.cast(rows.type), skip_nulls=True))


def first_of_each(
    rows: pyarrow.Table, columns: Sequence[str], sort: tuple[str, str] | None = None, tie: str | None = None
) -> pyarrow.BooleanArray:
    """Return for each row whether it is the one to keep among those with the same values in ``columns``.

    Args:
        rows: all of them, in the order of the input.
        columns: what must be unique.
        sort: a column, and ``asc`` or ``desc``: the first one in this order is kept, nulls last.
        tie: a column of which the smallest value decides then; after it the place in the input does.
    """
    numbered = _numbered(rows.select(columns))
    order = [(_ROW, "ascending")]
    if tie:
        numbered = numbered.append_column(_TIE, rows[tie])
        order.insert(0, (_TIE, "ascending"))
    if sort:
        numbered = numbered.append_column(_SORT, rows[sort[0]])
        order.insert(0, (_SORT, "descending" if sort[1] == "desc" else "ascending"))
    kept = numbered.sort_by(order).group_by(list(columns), use_threads=False).aggregate([(_ROW, "first")])
    return _marked(kept[f"{_ROW}_first"], rows.num_rows)


def all_of(count: int) -> pyarrow.BooleanArray:
    """Return a mask of all rows."""
    import pyarrow

    return pyarrow.repeat(True, count)


def none_of(count: int) -> pyarrow.BooleanArray:
    """Return a mask of no rows."""
    import pyarrow

    return pyarrow.repeat(False, count)


def joined(values: pyarrow.ChunkedArray) -> pyarrow.Array:
    """Return the chunks of an array as one."""
    import pyarrow

    return values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values


def _numbered(rows: pyarrow.Table) -> pyarrow.Table:
    import numpy
    import pyarrow

    return rows.append_column(_ROW, pyarrow.array(numpy.arange(rows.num_rows)))


def _marked(numbers: pyarrow.ChunkedArray, count: int) -> pyarrow.BooleanArray:
    import numpy
    import pyarrow

    mask = numpy.zeros(count, dtype=bool)
    mask[numbers.to_numpy()] = True
    return pyarrow.array(mask)
