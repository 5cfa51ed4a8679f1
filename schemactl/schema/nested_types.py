"""Types of nested data that is kept whole, as values.

As texts they stand in ``schema.nested_ddl``, those that columns state in ``schema.nested_columns``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from schemactl.schema.types import DataType, Properties

BIGINT: Final = "bigint"
DOUBLE: Final = "double"
BOOLEAN: Final = "boolean"
STRING: Final = "string"
LARGE: Final = "decimal(38,0)"
"""Integers past 64 bits."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Scalars of one type, by Spark's name of it."""

    name: str


@dataclass(frozen=True, slots=True)
class Json:
    """Values of any type, each as its JSON text."""


@dataclass(frozen=True, slots=True)
class Struct:
    """Objects: the keys of the data with their types, in order."""

    fields: tuple[tuple[str, NestedType], ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """Lists; an element is never ``Json``, a list of those is ``Json`` itself."""

    element: NestedType


@dataclass(frozen=True, slots=True)
class MapOf:
    """Objects whose keys are data, as texts; what stands under them is never ``Json``.

    Nothing is inferred to be one: a schema that is to have them states it.
    """

    value: NestedType


NestedType: TypeAlias = Leaf | Json | Struct | ListOf | MapOf


def leaf_of(properties: Properties) -> NestedType:
    """Return the type of values whose source states their type, as dlt's column properties."""
    match DataType(properties["data_type"]):
        case DataType.JSON:
            return Json()
        case DataType.BOOL:
            return Leaf(BOOLEAN)
        case DataType.TEXT:
            return Leaf(STRING)
        case DataType.WEI:
            return Leaf(LARGE)
        case DataType.DECIMAL:
            return Leaf(f"decimal({properties.get('precision') or 38},{properties.get('scale') or 0})")
        case DataType.TIME:
            return Leaf(f"time({properties.get('precision', 6)})")
        case DataType.TIMESTAMP:
            return Leaf("timestamp_ntz" if properties.get("timezone") is False else "timestamp")
        case plain:
            return Leaf(str(plain))


def is_within(old: NestedType, new: NestedType) -> bool:
    """Return whether what is stored as ``old`` can be read as ``new``: fields may be missing, no type differs."""
    match old, new:
        case Struct(), Struct():
            fields = dict(new.fields)
            return all(name in fields and is_within(inner, fields[name]) for name, inner in old.fields)
        case ListOf(), ListOf():
            return is_within(old.element, new.element)
        case MapOf(), MapOf():
            return is_within(old.value, new.value)
        case _:
            return _stored(old) == _stored(new)


def _stored(of: NestedType) -> NestedType:
    return Leaf(STRING) if isinstance(of, Json) else of


INSIDE: Final = None
"""The step from a list to its elements, or from a map to its values."""

FieldPath: TypeAlias = tuple[str | None, ...]
"""For example ``("lines", INSIDE, "price")``; the empty path is the column itself."""


def path_text(path: FieldPath) -> str:
    """Return a path as the text after a column's name; names that look like paths are quoted.

    >>> path_text(("lines", INSIDE, "price"))
    '.lines[].price'
    >>> path_text(("lines.price",))
    '."lines.price"'
    """
    quoted = (
        json.dumps(step, ensure_ascii=False) if step is not INSIDE and (_PATH_LIKE.search(step) or not step) else step
        for step in path
    )
    return "".join("[]" if step is INSIDE else f".{step}" for step in quoted)


_PATH_LIKE: Final = re.compile(r"""[.\[\]"]""")
