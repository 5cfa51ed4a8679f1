"""Splits values of one path by kind before any coercion: a column for each kind, with nulls for other kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from types import NoneType
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.inference.values import kind as kind_of
from schemactl.kernel.stored import CLOCK, FIXED_TYPES, INSTANT, NAIVE, encodable, python_values
from schemactl.schema.types import DataType

_KINDS: Final[Mapping[type, DataType]] = {
    str: DataType.TEXT,
    int: DataType.BIGINT,
    float: DataType.DOUBLE,
    bool: DataType.BOOL,
    dict: DataType.JSON,
    list: DataType.JSON,
    bytes: DataType.BINARY,
    Decimal: DataType.DECIMAL,
    datetime: DataType.TIMESTAMP,
    date: DataType.DATE,
    time: DataType.TIME,
}

_TYPES: Final[Mapping[DataType, pa.DataType]] = {**FIXED_TYPES, DataType.BIGINT: pa.int64()}


@dataclass(frozen=True)
class KindValues:
    """The values of one kind that are in one place of some rows.

    Attributes:
        array: the values, null elsewhere; None of objects and lists, and of integers past 63 bits.
        listed: the same as Python's values, where there is no array.
        are_integers: whether these texts are the digits of integers that a ``wei`` has no room for.
    """

    kind: DataType
    array: pa.Array | None
    listed: Sequence[Any] = ()
    are_integers: bool = False

    @cached_property
    def is_there(self) -> pa.Array:
        """Return whether each row has such a value."""
        if self.array is not None:
            return pc.is_valid(self.array)
        return pa.array([value is not None for value in self.listed], pa.bool_())

    @cached_property
    def count(self) -> int:
        """Return how many rows have one."""
        if self.array is not None:
            return int(len(self.array) - self.array.null_count)
        return len(self.listed) - sum(value is None for value in self.listed)

    def at(self, index: int) -> Any:
        """Return the value of a row."""
        return self.listed[index] if self.array is None else python_values(self.array.slice(index, 1))[0]


def split_by_kind(values: Sequence[Any], kinds: Collection[str], *, are_rows: bool = False) -> Iterator[KindValues]:
    """Yield the values by kind, without values of kinds outside of ``kinds``.

    ``are_rows`` tells whether objects among the values are rows themselves, not values.
    """
    value_types = set(map(type, values))
    value_types.discard(NoneType)
    if are_rows:
        value_types.discard(dict)
    is_one = len(value_types) == 1 and not are_rows
    if value_types <= _NESTED:
        if value_types and DataType.JSON in kinds:
            kind_values = values if is_one else [value if type(value) in value_types else None for value in values]
            yield KindValues(DataType.JSON, None, kind_values)
        return
    if value_types & _NESTED and DataType.JSON in kinds:
        nested = value_types & _NESTED
        yield KindValues(DataType.JSON, None, [value if type(value) in nested else None for value in values])
    for value_type in sorted(value_types - _NESTED, key=_ORDER.__getitem__):
        kind_values = values if is_one else [value if type(value) is value_type else None for value in values]
        if value_type is int:
            yield from _integers(kind_values, kinds)
        elif _KINDS[value_type] in kinds:
            yield from _scalars(value_type, kind_values)


_NESTED: Final = frozenset({dict, list})
_ORDER: Final = {value_type: index for index, value_type in enumerate(_KINDS)}


def _scalars(value_type: type, values: Sequence[Any]) -> Iterator[KindValues]:
    kind = _KINDS[value_type]
    match kind:
        case DataType.TEXT:
            yield KindValues(kind, text_array(values))
        case DataType.TIMESTAMP:
            for is_naive in sorted({value.tzinfo is None for value in values if value is not None}):
                zone_values = [
                    value if value is not None and (value.tzinfo is None) is is_naive else None for value in values
                ]
                yield KindValues(kind, pa.array(zone_values, NAIVE if is_naive else INSTANT))
        case DataType.DECIMAL:
            yield KindValues(kind, pa.array(values))
        case _:
            yield KindValues(kind, pa.array(values, _TYPES[kind]))


def text_array(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an array."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([None if value is None else encodable(value) for value in values], pa.string())


def _integers(values: Sequence[int | None], kinds: Collection[str]) -> Iterator[KindValues]:
    try:
        array = pa.array(values, pa.int64())
    except OverflowError:
        yield from _large_integers(values, kinds)
        return
    if DataType.BIGINT in kinds:
        yield KindValues(DataType.BIGINT, array)


def _large_integers(values: Sequence[int | None], kinds: Collection[str]) -> Iterator[KindValues]:
    by_kind = [None if value is None else kind_of(value) for value in values]
    for kind in (DataType.BIGINT, DataType.WEI, DataType.TEXT):
        kind_values = [value if value_kind == kind else None for value, value_kind in zip(values, by_kind, strict=True)]
        if kind not in kinds or not any(value is not None for value in kind_values):
            continue
        if kind is DataType.TEXT:
            digits = pa.array([None if value is None else str(value) for value in kind_values], pa.string())
            yield KindValues(kind, digits, are_integers=True)
        else:
            yield KindValues(kind, None, kind_values)


def natural_kind(of: pa.DataType) -> DataType | None:
    """Return the kind of the scalars of a column of Arrow's, None if they are not scalars of ours."""
    return next((kind for is_of, kind in _OF_ARROW if is_of(of)), None)


_OF_ARROW: Final = (
    (pa.types.is_string, DataType.TEXT),
    (pa.types.is_integer, DataType.BIGINT),
    (pa.types.is_floating, DataType.DOUBLE),
    (pa.types.is_boolean, DataType.BOOL),
    (pa.types.is_binary, DataType.BINARY),
    (pa.types.is_decimal, DataType.DECIMAL),
    (pa.types.is_timestamp, DataType.TIMESTAMP),
    (pa.types.is_date32, DataType.DATE),
    (pa.types.is_time64, DataType.TIME),
)


def array_values(array: pa.Array) -> KindValues | None:
    """Return a column of Arrow scalars, None if the type has no kind."""
    kind = natural_kind(array.type)
    match kind:
        case None:
            return None
        case DataType.TIMESTAMP:
            unit = "ns" if array.type.unit == "ns" else "us"
            return KindValues(kind, array.cast(pa.timestamp(unit, array.type.tz and "UTC")))
        case DataType.TIME:
            return KindValues(kind, array.cast(CLOCK, safe=False))
        case DataType.DECIMAL:
            return KindValues(kind, array)
        case _:
            return KindValues(kind, array.cast(_TYPES[kind]))
