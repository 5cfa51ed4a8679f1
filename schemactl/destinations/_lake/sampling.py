"""Which rows of files a sample takes: some of every file, the same ones each time, and little else is read.

Of each file as many groups of rows are read as hold the share. Their rows are numbered through all files, and a row is
taken where the fraction of its number times the golden ratio is small: such rows lie evenly, keep step with no period
of the data (Weyl's equidistribution), and are as many as asked for, to a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.schema.arrow_types import plain_type

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_GOLDEN: Final = 0x9E3779B97F4A7C15
"""The fraction of the golden ratio, in parts of 2**64."""

_WHOLE: Final = 2**64
_BATCH_ROWS: Final = 131_072


@dataclass(frozen=True, slots=True)
class Sampled:
    """A file that a sample takes rows of.

    Attributes:
        groups: how many rows each part of it has that can be read without the others.
        read: yields all rows of some parts, by their places in ``groups``, ascending.
    """

    groups: tuple[int, ...]
    read: Callable[[tuple[int, ...]], Iterator[pyarrow.RecordBatch]]


def sample(files: Iterable[Sampled], share: float) -> Iterator[pyarrow.RecordBatch]:
    """Yield about a share of the rows of files.

    Args:
        files: always in the same order.
        share: of the rows, between 0 and 1.
    """
    seen_groups = seen_rows = 0
    for file in files:
        wanted = share * sum(file.groups)
        chosen = _choose(file.groups, wanted, seen_groups)
        held = sum(file.groups[place] for place in chosen)
        if held and (mask := _mask(seen_rows, held, wanted / held)).true_count:
            yield from _taken(file.read(chosen), mask)
        seen_groups, seen_rows = seen_groups + len(file.groups), seen_rows + held


def _choose(groups: Sequence[int], wanted: float, start: int) -> tuple[int, ...]:
    """Return places of groups that lie evenly in a file and have enough rows."""
    order = sorted(range(len(groups)), key=lambda place: (start + place + 1) * _GOLDEN % _WHOLE)
    chosen: list[int] = []
    held = 0
    for place in order:
        if held >= wanted:
            break
        chosen.append(place)
        held += groups[place]
    return tuple(sorted(chosen))


def _mask(start: int, count: int, share: float) -> pyarrow.BooleanArray:
    """Return which of the rows from a number on are taken."""
    import numpy
    import pyarrow

    if share >= 1.0:
        return pyarrow.repeat(True, count)
    numbers = numpy.arange(start + 1, start + count + 1, dtype=numpy.uint64)
    # The product wraps: what is left is the fraction.
    return pyarrow.array(numbers * numpy.uint64(_GOLDEN) < numpy.uint64(int(share * _WHOLE)))


def _taken(batches: Iterator[pyarrow.RecordBatch], mask: pyarrow.BooleanArray) -> Iterator[pyarrow.RecordBatch]:
    start = 0
    for batch in batches:
        yield batch.filter(mask.slice(start, batch.num_rows))
        start += batch.num_rows


def group_sizes(footer: pyarrow.parquet.FileMetaData) -> tuple[int, ...]:
    """Return how many rows each group of a file of Parquet has."""
    return tuple(footer.row_group(place).num_rows for place in range(footer.num_row_groups))


def has_plainly(held: pyarrow.Schema, names: Mapping[str, str | None], wanted: pyarrow.Schema) -> bool:
    """Return whether a file has all wanted columns in the wanted types, so that its groups can be read as they are.

    Args:
        held: the file's columns.
        names: what the file calls each wanted column; None where it lacks it.
        wanted: the columns.
    """
    found = [(names[each.name], each.type) for each in wanted]
    return all(name in held.names and plain_type(held.field(name).type) == kind for name, kind in found)


def read_groups(
    source: Any, groups: Sequence[int], names: Mapping[str, str | None], wanted: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of groups of a file of Parquet of which ``has_plainly`` is true.

    Args:
        source: the path of the file, or the file, open.
        groups: their numbers, ascending.
        names: what the file calls each wanted column.
        wanted: the columns.
    """
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(source) as opened:
        columns = [names[each.name] for each in wanted]
        for batch in opened.iter_batches(_BATCH_ROWS, row_groups=list(groups), columns=columns):
            arrays = [batch.column(name).cast(each.type) for name, each in zip(columns, wanted, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=wanted)
