"""The types that nested data is kept in where sources state its types: scalars, and maps with all that is in them.

Documents have no maps; where a schema states one for them, ``nested_schema`` grows it from their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from schemactl.inference.widening import MAPS
from schemactl.schema.nested_types import (
    BIGINT,
    DOUBLE,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    leaf_of,
    read_type,
)
from schemactl.schema.types import DataType, Properties

_MOST_DIGITS: Final = 38
_WIDENED: Final = ({DataType.BIGINT, DataType.DOUBLE}, {DataType.DATE, DataType.TIMESTAMP})
_DATES: Final = frozenset(("date", "timestamp", "timestamp_ntz"))


def stated_leaf(widest: Properties, stated: frozenset[DataType]) -> NestedType:
    """Return the type that keeps scalars of all stated types: as texts or decimals some would change their look."""
    if len(stated) > 1 and stated not in _WIDENED:
        return Json()
    return Json() if widest.get("precision", 0) > _MOST_DIGITS else leaf_of(widest)


def stated_map(properties: Properties, levels: int) -> NestedType | None:
    """Return the type that keeps all maps that sources state, None where they state something else.

    Args:
        properties: of one path, as in ``Evidence.typed``.
        levels: how many are kept; what is below is JSON text.
    """
    stated = [read_type(text) for text in properties.get(MAPS, ())]
    return _cut(_together(stated, _widest), levels) if stated else None


def grown(old: NestedType, new: NestedType) -> NestedType:
    """Return ``old`` with the fields of ``new``; a place that is of another type there holds JSON texts."""
    return _together((old, new), lambda names: Json() if len(names) > 1 else Leaf(*names))


def are_apart(names: Iterable[str]) -> bool:
    """Return whether readers can distinguish fields: many do not look at case, and Parquet has no blank names."""
    known = list(names)
    return len({name.lower() for name in known}) == len(known) and all(name and "\0" not in name for name in known)


def _together(types: Sequence[NestedType], leaf: Callable[[frozenset[str]], NestedType]) -> NestedType:
    """Return the type that keeps values of all types, whatever their order; ``leaf`` decides for scalars."""
    structs = [each for each in types if isinstance(each, Struct)]
    lists = [each.element for each in types if isinstance(each, ListOf)]
    maps = [each.value for each in types if isinstance(each, MapOf)]
    leaves = [each.name for each in types if isinstance(each, Leaf)]
    if len(structs) == len(types):
        names = dict.fromkeys(name for each in structs for name, _ in each.fields)
        inner = {name: [dict(each.fields)[name] for each in structs if name in dict(each.fields)] for name in names}
        return Struct(tuple((name, _together(found, leaf)) for name, found in inner.items()))
    if len(lists) == len(types):
        return _of(ListOf, _together(lists, leaf))
    if len(maps) == len(types):
        return _of(MapOf, _together(maps, leaf))
    return leaf(frozenset(leaves)) if len(leaves) == len(types) else Json()


def _of(kind: type[ListOf] | type[MapOf], inner: NestedType) -> NestedType:
    return inner if isinstance(inner, Json) else kind(inner)


def _widest(names: frozenset[str]) -> NestedType:
    """Return what keeps scalars within maps of all types, as ``stated_leaf`` does."""
    if len(names) == 1:
        return Leaf(*names)
    if names == {BIGINT, DOUBLE}:
        return Leaf(DOUBLE)
    if names <= _DATES:
        return Leaf("timestamp")
    kinds = {name.partition("(")[0] for name in names}
    sizes = [[int(size) for size in name.rstrip(")").partition("(")[2].split(",")] for name in names if "(" in name]
    if kinds == {"time"}:
        return Leaf(f"time({max(precision for (precision,) in sizes)})")
    if kinds == {"decimal"}:
        scale = max(scale for _, scale in sizes)
        precision = scale + max(precision - scale for precision, scale in sizes)
        return Leaf(f"decimal({precision},{scale})") if precision <= _MOST_DIGITS else Json()
    return Json()


def _cut(of: NestedType, levels: int) -> NestedType:
    match of:
        case Leaf() | Json():
            return of
        case _ if levels <= 0:
            return Json()
        case Struct(fields):
            cut = tuple((name, _cut(inner, levels - 1)) for name, inner in fields)
            return Struct(cut) if are_apart(name for name, _ in fields) else Json()
        case ListOf(inner) | MapOf(inner):
            return _of(type(of), _cut(inner, levels - 1))
