"""Objects and lists that are kept whole, as Arrow's structs, lists and maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import chain
from math import isfinite
from types import NoneType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from schemactl.kernel.kinds import text_array
from schemactl.schema.coercion import EXACT_INTEGERS, WEI_STOP, coerce, type_of
from schemactl.schema.nested_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    LARGE,
    STRING,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
)
from schemactl.schema.types import DataType
from schemactl.type_systems.arrow_types import to_arrow

Lost = np.ndarray[Any, Any] | None
"""By row, whether something of its value has no place; None if all have one."""

_INT64: Final = 2**63


def build(values: Sequence[Any], of: NestedType, *, spells_scalars: bool = False) -> tuple[pa.Array, Lost]:
    """Return values as they are stored, and which of them lose something there.

    ``spells_scalars``: whether texts take other scalars, in dlt's spelling.
    """
    build_inner = partial(build, spells_scalars=spells_scalars)
    match of:
        case Struct(fields):
            return _structs(values, fields, build_inner)
        case ListOf(element):
            return _lists(values, element, build_inner)
        case MapOf(value):
            return _maps(values, value, build_inner)
        case Json():
            texts = [None if value is None else coerce(value, DataType.JSON, DataType.TEXT) for value in values]
            return pa.array(texts, pa.string()), None
        case Leaf(name):
            is_spelled = spells_scalars and name == STRING and not set(map(type, values)) <= {str, NoneType}
            return _leaves([_spelled(value) for value in values] if is_spelled else values, name)


Build: TypeAlias = Callable[[Sequence[Any], NestedType], tuple[pa.Array, Lost]]


def _spelled(value: Any) -> Any:
    return value if isinstance(value, str | dict | list | NoneType) else coerce(value, type_of(value), DataType.TEXT)


def _structs(
    values: Sequence[Any], fields: Sequence[tuple[str, NestedType]], build_inner: Build
) -> tuple[pa.Array, Lost]:
    objects, lost = _of_type(values, dict)
    children = []
    for name, inner in fields:
        child, child_lost = build_inner([None if value is None else value.get(name) for value in objects], inner)
        children.append(child)
        lost = either(lost, child_lost)
    field_names = {name for name, _ in fields}
    present = [value for value in objects if value is not None]
    unknown = set(chain.from_iterable(present)) - field_names
    if unknown:
        has_more = [value is not None and any(value.get(key) is not None for key in unknown) for value in objects]
        lost = either(lost, np.array(has_more, bool))
    types = [pa.field(name, child.type) for (name, _), child in zip(fields, children, strict=True)]
    mask = None if len(present) == len(objects) else pa.array([value is None for value in objects], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=types, mask=mask), lost


def _lists(values: Sequence[Any], element: NestedType, build_inner: Build) -> tuple[pa.Array, Lost]:
    lists, lost = _of_type(values, list)
    offsets, mask, rows = _offsets(lists)
    child, child_lost = build_inner(list(chain.from_iterable(items for items in lists if items is not None)), element)
    array = pa.ListArray.from_arrays(offsets, child, mask=mask)
    return array, either(lost, _by_row(child_lost, rows, len(lists)))


def _maps(values: Sequence[Any], value: NestedType, build_inner: Build) -> tuple[pa.Array, Lost]:
    objects, lost = _of_type(values, dict)
    offsets, mask, rows = _offsets(objects)
    present = [item for item in objects if item is not None]
    items, item_lost = build_inner(list(chain.from_iterable(item.values() for item in present)), value)
    keys = text_array(list(chain.from_iterable(present)))
    array = pa.MapArray.from_arrays(offsets, keys, items, mask=mask)
    return array, either(lost, _by_row(item_lost, rows, len(objects)))


def _of_type(values: Sequence[Any], value_type: type) -> tuple[list[Any], Lost]:
    matching = [value if type(value) is value_type else None for value in values]
    if matching.count(None) == sum(value is None for value in values):
        return matching, None
    return matching, np.array(
        [match is None and value is not None for match, value in zip(matching, values, strict=True)], bool
    )


def _offsets(values: Sequence[Any]) -> tuple[pa.Array, pa.Array | None, np.ndarray[Any, Any]]:
    """Return the offsets of lists or maps, which are null, and the row of each element."""
    sizes = np.array([0 if value is None else len(value) for value in values], np.int32)
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    is_null = [value is None for value in values]
    mask = pa.array(is_null, pa.bool_()) if any(is_null) else None
    return pa.array(offsets, pa.int32()), mask, np.repeat(np.arange(len(values)), sizes)


def _by_row(lost: Lost, rows: np.ndarray[Any, Any], size: int) -> Lost:
    if lost is None:
        return None
    is_lost = np.zeros(size, bool)
    is_lost[rows[lost]] = True
    return is_lost


def either(first: Lost, second: Lost) -> Lost:
    """Return the rows of one mask and of another."""
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _leaves(values: Sequence[Any], name: str) -> tuple[pa.Array, Lost]:
    stored, value_types = to_arrow(Leaf(name)), set(map(type, values)) - {NoneType}
    if value_types & _WIDENED.get(kind := name.partition("(")[0], frozenset()):
        values = [_widened(value, kind) for value in values]
        value_types = set(map(type, values)) - {NoneType}
    with suppress(OverflowError, pa.ArrowInvalid):
        if value_types <= _PLAIN.get(name, _STATED.get(name.partition("(")[0], frozenset())):
            return (text_array(values) if name == STRING else pa.array(values, stored)), None
    fitting = [value if value is not None and _fits(value, name, stored) else None for value in values]
    pairs = zip(fitting, values, strict=True)
    lost = np.array([stored_value is None and value is not None for stored_value, value in pairs], bool)
    return (text_array(fitting) if name == STRING else pa.array(fitting, stored)), lost if lost.any() else None


_PLAIN: Final[Mapping[str, frozenset[type]]] = {
    BIGINT: frozenset({int}),
    DOUBLE: frozenset({float}),
    BOOLEAN: frozenset({bool}),
    STRING: frozenset({str}),
    LARGE: frozenset({int, Decimal}),
}

_STATED: Final[Mapping[str, frozenset[type]]] = {
    "binary": frozenset({bytes}),
    "date": frozenset({date}),
    "timestamp": frozenset({datetime}),
    "timestamp_ntz": frozenset({datetime}),
    "time": frozenset({time}),
    "decimal": frozenset({Decimal}),
}
"""Types that sources declare; values of documents have them only in a field that became wider (``_WIDENED``)."""

_WIDENED: Final[Mapping[str, frozenset[type]]] = {
    "decimal": frozenset({int, float}),
    "timestamp": frozenset({date}),
    "timestamp_ntz": frozenset({date}),
}
"""Types of values that a wider field takes as its own: numbers by their shortest spelling, dates as midnight in UTC."""


def _widened(value: Any, kind: str) -> Any:
    value_type = type(value)
    if value_type not in _WIDENED[kind]:
        return value
    if value_type is date:
        return datetime.combine(value, time(), None if kind == "timestamp_ntz" else UTC)
    return value if value_type is float and not isfinite(value) else Decimal(repr(value))


def _fits(value: Any, name: str, stored: pa.DataType) -> bool:
    value_type = type(value)
    match name:
        case "bigint":
            return value_type is int and -_INT64 <= value < _INT64
        case "double":
            return value_type is float or (value_type is int and -EXACT_INTEGERS <= value <= EXACT_INTEGERS)
        case "decimal(38,0)" if value_type is int:
            return bool(-WEI_STOP < value < WEI_STOP)
        case _ if value_type not in _PLAIN.get(name, _STATED.get(name.partition("(")[0], frozenset())):
            return False
        case _:
            with suppress(pa.ArrowInvalid, OverflowError):
                pa.scalar(value, stored)
                return True
            return False
