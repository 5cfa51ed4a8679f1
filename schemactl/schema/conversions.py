"""How values survive when the data type of their column changes (measured on dlt 1.31, docs/dlt.md §6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from schemactl.schema.types import DataType


class Conversion(StrEnum):
    """The survival of values of one type in a column of another; the members are the letters of the grid below."""

    WHOLE = "w"
    """Every value survives."""
    DEPENDS = "v"
    """Some values survive, the remaining values are refused."""
    LOSES = "l"
    """Values are taken, and lose digits or their meaning."""
    REFUSED = "x"
    """dlt does not convert these values: they go into a variant column."""


# From the type of a line to the type of a column. schemactl is stricter than dlt here: a number as bool keeps only
# whether it is 0 (l, not w). A number as timestamp changes its meaning (l, not v). A destination rounds a fraction as
# wei (v, not w). Integers beyond 2^53 lose digits as double (l).
_GRID: Final = """
          text double bool timestamp bigint binary json decimal wei date time
text       .     v     v      v        v      v     v      v     v   v    v
double     w     .     l      l        v      x     x      w     v   l    x
bool       w     x     .      x        x      x     x      x     x   x    x
timestamp  w     x     x      .        x      x     x      x     x   l    x
bigint     w     l     l      l        .      v     x      w     w   l    x
binary     w     x     x      x        x      .     x      x     x   x    x
json       w     x     x      x        x      x     .      x     x   x    x
decimal    w     l     l      x        v      x     x      .     v   x    x
wei        w     l     l      x        v      x     x      w     .   x    x
date       w     x     x      w        x      x     x      x     x   .    x
time       w     x     x      x        x      x     x      x     x   x    .
"""


def _read(grid: str) -> Mapping[tuple[DataType, DataType], Conversion]:
    head, *lines = grid.strip().splitlines()
    columns = [DataType(name) for name in head.split()]
    rows = [(DataType(name), cells) for name, *cells in map(str.split, lines)]
    return {
        (before, after): Conversion(cell)
        for before, cells in rows
        for after, cell in zip(columns, cells, strict=True)
        if before != after
    }


CONVERSIONS: Final = _read(_GRID)
"""Every pair of two types, as (from, to)."""

EPOCH_UNIT: Final = "epoch_s"
"""The value of ``x-unit`` of a numeric column with seconds since 1970."""

SPELLED_DIFFERENTLY: Final = frozenset(DataType) - {DataType.TEXT, DataType.BIGINT, DataType.WEI, DataType.DATE}
"""Types that dlt and the destinations write as different texts."""

_FAMILIES: Final[Mapping[DataType, str]] = {
    **dict.fromkeys((DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI), "number"),
    **dict.fromkeys((DataType.TIMESTAMP, DataType.DATE, DataType.TIME), "time"),
}
"""The families of types that share a family with another type."""


def crosses_families(before: DataType, after: DataType) -> bool:
    """Return whether queries on one type are refused on the other: numbers, times, texts, bools, JSON and binaries.

    PostgreSQL refuses half or more of the plain queries on a column whose family changed (arithmetic, comparisons with
    a literal, functions, joins), and next to none within a family (tests/review/test_verdicts_on_engines.py).
    """
    return _FAMILIES.get(before, before) != _FAMILIES.get(after, after)


_NUMBERS: Final = frozenset((DataType.BIGINT, DataType.DOUBLE))


def conversion(before: DataType, after: DataType, *, counts_seconds: bool = False) -> Conversion:
    """Return how values of type ``before`` survive in a column of type ``after``.

    ``counts_seconds`` says whether numbers are known to be seconds since 1970 (``x-unit: epoch_s``).
    """
    if counts_seconds and after == DataType.TIMESTAMP and before in _NUMBERS:
        return Conversion.DEPENDS  # times after the year 9999 are refused
    return CONVERSIONS[before, after]


_CONSEQUENCES: Final[Mapping[tuple[DataType, DataType], str]] = {
    **{(of, DataType.BIGINT): "`2.5` would not survive" for of in (DataType.DOUBLE, DataType.DECIMAL)},
    (DataType.WEI, DataType.BIGINT): "integers of more than 64 bits would not survive",
    (DataType.BIGINT, DataType.BINARY): "negative numbers would not survive",
    **{(of, DataType.WEI): "the destination would round `2.5`" for of in (DataType.DOUBLE, DataType.DECIMAL)},
    **{(of, DataType.BOOL): "every number but 0 becomes `true`" for of in DataType if _FAMILIES.get(of) == "number"},
    **{
        (of, to): "its numbers would be read as seconds since 1970"
        for of in _NUMBERS
        for to in (DataType.TIMESTAMP, DataType.DATE)
    },
    (DataType.BIGINT, DataType.DOUBLE): "integers above 2^53 lose their last digits",
    **{(of, DataType.DOUBLE): "digits after the 15th are lost" for of in (DataType.DECIMAL, DataType.WEI)},
    (DataType.TIMESTAMP, DataType.DATE): "the time of day is lost",
}


def consequence(before: DataType, after: DataType, *, counts_seconds: bool = False) -> str:
    """Return the loss of a pair that ``DEPENDS`` or ``LOSES``, in words for a sentence."""
    if before == DataType.TEXT:
        return "a string such as `abc` would not survive"
    if counts_seconds and after == DataType.TIMESTAMP:
        return "timestamps after the year 9999 would not survive"
    return _CONSEQUENCES[before, after]
