"""Types of nested data: as values, as Spark DDL (``struct<id:bigint,tags:array<string>>``), and as hints of columns.

Columns with structure declare it as ``x-spark-type``; a column of JSON texts declares ``string``, or nothing. A field
of JSON texts, used if values have different types, is a ``string`` with the comment ``json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import add
from typing import Any, Final, TypeAlias

from schemactl.errors import InputError
from schemactl.schema.settings import is_normalizer
from schemactl.schema.spark_ddl import DdlType, quoted_name, read_ddl_type
from schemactl.schema.types import Column, DataType, Properties

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
    """Lists; an element is never ``Json``, because a list of ``Json`` elements is ``Json`` itself."""

    element: NestedType


@dataclass(frozen=True, slots=True)
class MapOf:
    """Objects whose keys are data, as texts; their values are never ``Json``.

    Inference never creates one: only a schema can declare it.
    """

    value: NestedType


NestedType: TypeAlias = Leaf | Json | Struct | ListOf | MapOf


_BITS: Final = {8: "tinyint", 16: "smallint", 32: "int"}
_PROPERTIES: Final[Mapping[str, Properties]] = {
    **{name: {"data_type": "bigint", "precision": bits} for bits, name in _BITS.items()},
    BIGINT: {"data_type": "bigint"},
    DOUBLE: {"data_type": "double"},
    "float": {"data_type": "double"},
    BOOLEAN: {"data_type": "bool"},
    STRING: {"data_type": "text"},
    "binary": {"data_type": "binary"},
    "date": {"data_type": "date"},
    "timestamp": {"data_type": "timestamp"},
    "timestamp_ntz": {"data_type": "timestamp", "timezone": False},
}


def leaf_of(properties: Properties, *, keeps_sizes: bool = False) -> NestedType:
    """Return the type of scalars with the properties of a column.

    With ``keeps_sizes`` integers keep their size; they are stored in one.
    """
    size = properties.get("precision")
    match DataType(properties.get("data_type") or "text"):
        case DataType.JSON:
            return Json()
        case DataType.BOOL:
            return Leaf(BOOLEAN)
        case DataType.TEXT:
            return Leaf(STRING)
        case DataType.WEI:
            return Leaf(LARGE)
        case DataType.BIGINT:
            return Leaf(_BITS.get(size or 64, BIGINT) if keeps_sizes else BIGINT)
        case DataType.DECIMAL:
            scale = properties.get("scale")
            return Leaf(f"decimal({size or 38},{9 if scale is None and not size else scale or 0})")
        case DataType.TIME:
            return Leaf(f"time({properties.get('precision', 6)})")
        case DataType.TIMESTAMP:
            return Leaf("timestamp_ntz" if properties.get("timezone") is False else "timestamp")
        case plain:
            return Leaf(str(plain))


def leaf_properties(name: str) -> dict[str, Any] | None:
    """Return the properties of a column for Spark's name of a scalar type; None for types that Spark has not."""
    sized = re.fullmatch(r"(decimal|time)(?:\((\d+)(?:,(\d+))?\))?", name)
    if sized is not None:
        sizes = {"precision": sized[2], "scale": sized[3]}
        return {"data_type": sized[1], **{key: int(size) for key, size in sizes.items() if size}}
    return dict(_PROPERTIES[name]) if name in _PROPERTIES else None


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

    def shown(key: str) -> str:
        return json.dumps(key, ensure_ascii=False) if not key or re.search(r"""[.\[\]"]""", key) else key

    return "".join("[]" if step is INSIDE else f".{shown(step)}" for step in path)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two types differ: its path and both its types; None if it is missing on one side."""

    path: FieldPath
    before: NestedType | None
    after: NestedType | None


def differences(before: NestedType, after: NestedType, path: FieldPath = ()) -> Iterator[Difference]:
    """Yield the places in which two types differ; the order of fields does not count."""
    match before, after:
        case Struct(), Struct():
            old, new = dict(before.fields), dict(after.fields)
            for name in dict.fromkeys((*new, *old)):
                if name in old and name in new:
                    yield from differences(old[name], new[name], (*path, name))
                else:
                    yield Difference((*path, name), old.get(name), new.get(name))
        case (ListOf(inner_before), ListOf(inner_after)) | (MapOf(inner_before), MapOf(inner_after)):
            yield from differences(inner_before, inner_after, (*path, INSIDE))
        case _ if before != after:
            yield Difference(path, before, after)


def misreadings(old: NestedType, new: NestedType) -> Iterator[Difference]:
    """Yield the missing fields and other types that prevent reading values stored as ``old`` as ``new``."""
    for difference in differences(old, new):
        before, after = difference.before, difference.after
        if before is not None and (after is None or write_type(before) != write_type(after)):
            yield difference


def is_within(old: NestedType, new: NestedType) -> bool:
    """Return whether values stored as ``old`` can be read as ``new``: fields may be missing, but no type differs."""
    return next(misreadings(old, new), None) is None


def write_type(of: NestedType, *, has_comments: bool = True) -> str:
    """Return a type as Spark DDL.

    ``has_comments`` marks JSON texts to distinguish them from other strings; omit the marks to compare types.
    """
    match of:
        case Leaf(name):
            return name
        case Json():
            return STRING
        case ListOf(element):
            return f"array<{write_type(element, has_comments=has_comments)}>"
        case MapOf(value):
            return f"map<{STRING},{write_type(value, has_comments=has_comments)}>"
        case Struct(fields):
            marks = (" COMMENT 'json'" if has_comments and isinstance(inner, Json) else "" for _, inner in fields)
            types = (f"{quoted_name(key)}:{write_type(inner, has_comments=has_comments)}" for key, inner in fields)
            return f"struct<{','.join(map(add, types, marks))}>"


_NAMES: Final[Mapping[str, str]] = {
    "bigint": BIGINT, "long": BIGINT, "int": "int", "integer": "int", "smallint": "smallint", "short": "smallint",
    "tinyint": "tinyint", "byte": "tinyint", "double": DOUBLE, "float": "float", "real": "float", "boolean": BOOLEAN,
    "string": STRING, "binary": "binary", "date": "date", "timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz",
    "timestamp_ltz": "timestamp",
}  # fmt: skip
"""The spellings of types, with the names that are written."""

_STORED: Final[Mapping[str, str]] = {**dict.fromkeys(_BITS.values(), BIGINT), "float": DOUBLE}
"""Names of types that are smaller than the one that is stored: integers and floats have one size each."""

_SIZED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("decimal", "dec", "numeric"), ("decimal", "10", "0")), "time": ("time", "6"),
}  # fmt: skip
"""Names of types that have sizes, with the default sizes."""


def read_type(text: str, *, keeps_sizes: bool = False) -> NestedType:
    """Read Spark's DDL of one type.

    With ``keeps_sizes`` integers and floats keep their declared size; they are stored in one size each.

    >>> read_type("array<struct<a: INT>>")
    ListOf(element=Struct(fields=(('a', Leaf(name='bigint')),)))
    """
    return _nested_type(read_ddl_type(text), {} if keeps_sizes else _STORED)


def _nested_type(of: DdlType, stored: Mapping[str, str]) -> NestedType:  # noqa: C901 - a case for each type
    match of.name:
        case "struct":
            fields: dict[str, NestedType] = {}
            for member in of.fields:
                if member.name in fields:
                    raise ValueError(f"the field `{member.name}` is duplicated")
                if not member.nullable:
                    raise ValueError(f"the field `{member.name}` cannot be required: remove `NOT NULL`")
                inner = _nested_type(member.type, stored)
                fields[member.name] = Json() if member.comment == "json" and inner == Leaf(STRING) else inner
            return Struct(tuple(fields.items()))
        case "array":
            return ListOf(_nested_type(of.inner[0], stored))
        case "map":
            key, value = (_nested_type(member, stored) for member in of.inner)
            if key != Leaf(STRING):
                raise ValueError("map keys must be strings: `map<string,...>`")
            return MapOf(value)
        case name if name in _NAMES and not of.sizes:
            return Leaf(stored.get(_NAMES[name], _NAMES[name]))
        case name if name in _SIZED:
            name_in_spark, *defaults = _SIZED[name]
            if len(of.sizes) > len(defaults):
                raise ValueError(f"`{name}` has at most {len(defaults)} sizes")
            return Leaf(f"{name_in_spark}({','.join((*of.sizes, *defaults[len(of.sizes) :]))})")
    raise ValueError(f"nested data does not support the type `{of.name}`")


def structure_in(text: str, *, keeps_sizes: bool = False) -> NestedType | None:
    """Return the type of objects or lists in Spark DDL; None for other types and invalid DDL."""
    try:
        nested_type = read_type(text, keeps_sizes=keeps_sizes)
    except ValueError:
        return None
    return None if isinstance(nested_type, Leaf | Json) else nested_type


SPARK_TYPE: Final = "x-spark-type"
"""The property of a ``json`` column with the type that it is stored as."""

FIELDS: Final = "x-fields"
"""The property of a column with information on nested fields that ``x-spark-type`` lacks: by name, their properties."""

NORMALIZER: Final = "nested"
"""The normalizer that keeps structure; a schema names its module."""


def keeps_structure(normalizers: Properties) -> bool:
    """Return whether a schema's ``normalizers`` section names the normalizer that keeps structure."""
    return is_normalizer(normalizers, NORMALIZER)


def structure_of(column: Column) -> NestedType | None:
    """Return the type that keeps a column's objects or lists, None for JSON texts and scalars."""
    nested_type = stated_type(column)
    return None if nested_type is None or isinstance(nested_type, Json) else nested_type


def stated_type(column: Column, *, keeps_sizes: bool = False) -> NestedType | None:
    """Return the Spark type of a JSON column, None without one."""
    text = column.properties.get(SPARK_TYPE)
    if text is None or column.data_type not in (DataType.JSON, None):
        return None
    if not isinstance(text, str):
        raise _type_error(str(text), column.name)
    try:
        nested_type = read_type(text, keeps_sizes=keeps_sizes)
    except ValueError as error:
        raise _type_error(text, column.name, str(error)) from error
    if nested_type == Leaf(STRING):
        return Json()
    if isinstance(nested_type, Leaf):
        raise _type_error(text, column.name)
    return nested_type


def _type_error(text: str, column: str, reason: str = "") -> InputError:
    message = f"the column `{column}` has `{SPARK_TYPE}: {text}`, which is not an object or list type"
    hint = "write a type such as `struct<id:bigint,tags:array<string>>`, or remove the hint to store JSON"
    return InputError(f"{message}: {reason}" if reason else message, hint=hint)
