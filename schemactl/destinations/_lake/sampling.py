"""Which rows of files a sample takes: some of every file, the same ones each time, and little else is read.

Of each file as many groups of rows are read as hold the share. Their rows are numbered through all files, and a row is
taken where the fraction of its number times the golden ratio is small: such rows lie evenly, keep step with no period
of the data (Weyl's equidistribution), and are as many as asked for, to a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow

_GOLDEN: Final = 0x9E3779B97F4A7C15
"""The fraction of the golden ratio, in parts of 2**64."""

_WHOLE: Final = 2**64


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
    """Yield about a share, between 0 and 1, of the rows of files, which come always in the same order."""
    seen_groups = seen_rows = 0
    for file in files:
        wanted = share * sum(file.groups)
        chosen = _choose(file.groups, wanted, seen_groups)
        held = sum(file.groups[place] for place in chosen)
        if held and (mask := _mask(seen_rows, held, wanted / held)).true_count:
            yield from (batch.filter(part) for batch, part in with_mask(file.read(chosen), mask))
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


def with_mask(
    batches: Iterable[pyarrow.RecordBatch], mask: pyarrow.BooleanArray
) -> Iterator[tuple[pyarrow.RecordBatch, pyarrow.BooleanArray]]:
    """Yield batches, each with its part of a mask over the rows of all."""
    start = 0
    for batch in batches:
        yield batch, mask.slice(start, batch.num_rows)
        start += batch.num_rows
