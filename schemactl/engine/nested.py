"""Structs, arrays and maps of Spark's tables as columns of other nested types keep them, as SQL text.

A place whose values are not of one type (``Json``) is stored as JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from pyspark.sql import types as T

from schemactl.engine.spark_types import is_key
from schemactl.engine.sql import field_of, literal
from schemactl.engine.stored_types import ddl_of, leaf_type, sql_type
from schemactl.schema.nested_types import LARGE, Json, Leaf, ListOf, MapOf, NestedType, Struct

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bigint": ("BIGINT",),
    "double": ("DOUBLE", "DECIMAL", "BIGINT"),
    "boolean": ("BOOLEAN",),
    "string": ("STRING",),
    LARGE: ("BIGINT",),
}
"""The kinds of VARIANTs that a type may take; documents have no others."""

_EXACT: Final = 2**53
"""Up to here doubles distinguish all integers."""


class Converter:
    """Writes SQL that turns nested values into others; one for each expression, as its lambdas need names."""

    def __init__(self) -> None:
        self._numbers = count()

    def _variable(self) -> str:
        return f"n{next(self._numbers)}"

    def _struct(self, value: str, fields: Sequence[tuple[str, str]]) -> str:
        made = ", ".join(f"{literal(name)}, {sql}" for name, sql in fields)
        return f"if({value} is null, null, named_struct({made}))"

    # --- a type that a source states -> as it is stored ---

    def of_typed(self, source: T.DataType, of: NestedType, value: str) -> str:
        """Return SQL for a value of a stated type as it is stored."""
        match source, of:
            case T.StructType(), Struct(fields):
                known = {inner.name: inner.dataType for inner in source.fields}
                made = [
                    (
                        name,
                        self.of_typed(known[name], inner, field_of(value, name))
                        if name in known
                        else f"cast(null as {ddl_of(inner)})",
                    )
                    for name, inner in fields
                ]
                return self._struct(value, made)
            case T.ArrayType(), ListOf(element):
                each = self._variable()
                return f"transform({value}, {each} -> {self.of_typed(source.elementType, element, each)})"
            case T.MapType(), MapOf(of_keys) if is_key(source.keyType):
                key, each = self._variable(), self._variable()
                texts = _with_text_keys(source, value)
                return f"transform_values({texts}, ({key}, {each}) -> {self.of_typed(source.valueType, of_keys, each)})"
            case T.StructType(), MapOf():
                # A field that is null may as well be one that its row lacks.
                return self.of_variant(of, f"parse_json({_json_of_typed(source, value, are_nulls_kept=False)})")
            case _, Json():
                return _json_of_typed(source, value)
            case _:
                return f"cast({value} as {ddl_of(of)})"

    # --- what a VARIANT holds, as far as it fits ---

    def of_variant(self, of: NestedType, value: str) -> str:
        """Return SQL for a VARIANT as it is stored; what does not fit is null there."""
        match of:
            case Struct(fields):
                made = [(name, self.of_variant(inner, _child(value, name))) for name, inner in fields]
                return f"if({_is_kind(value, 'OBJECT')}, {self._struct(value, made)}, null)"
            case ListOf(element):
                each = self._variable()
                return f"transform({_elements(value)}, {each} -> {self.of_variant(element, each)})"
            case MapOf(of_keys):
                key, each = self._variable(), self._variable()
                return f"transform_values({_entries(value)}, ({key}, {each}) -> {self.of_variant(of_keys, each)})"
            case Json():
                return json_text(value)
            case Leaf(name):
                return _leaf_of_variant(name, value)


def json_text(variant: str) -> str:
    """Return SQL for the JSON text of a VARIANT, null for null."""
    return f"if({_is_value(variant)}, to_json({variant}), null)"


def _json_of_typed(source: T.DataType, value: str, *, are_nulls_kept: bool = True) -> str:
    if isinstance(source, (T.StructType, T.ArrayType, T.MapType, T.VariantType)):
        return f"to_json({value}, map('ignoreNullFields', '{str(not are_nulls_kept).lower()}'))"
    listed = f"to_json(array({value}))"
    return f"if({value} is null, null, substring({listed}, 2, length({listed}) - 2))"


def _with_text_keys(source: T.MapType, value: str) -> str:
    if type(source.keyType) is T.StringType:
        return value
    # Unlike `transform_keys`, a cast takes two keys that are the same text.
    return f"cast({value} as {sql_type(T.MapType(T.StringType(), source.valueType))})"


def _child(value: str, key: str) -> str:
    """Return SQL for the value of ``key`` in an object that is a VARIANT, null where there is none."""
    if "'" in key and '"' in key:
        # Spark's paths cannot quote a key that holds both quotes.
        return f"try_element_at({_entries(value)}, {literal(key)})"
    mark = '"' if "'" in key else "'"
    path = literal(f"$[{mark}{key}{mark}]")
    return f"try_variant_get({value}, {path}, 'variant')"


def _is_value(variant: str) -> str:
    return f"({variant} is not null and not is_variant_null({variant}))"


def _is_kind(variant: str, kind: str) -> str:
    return f"coalesce(startswith(schema_of_variant({variant}), '{kind}'), false)"


def _elements(variant: str) -> str:
    return f"if({_is_kind(variant, 'ARRAY')}, try_variant_get({variant}, '$', 'array<variant>'), null)"


def _entries(variant: str) -> str:
    return f"if({_is_kind(variant, 'OBJECT')}, try_variant_get({variant}, '$', 'map<string,variant>'), null)"


def _leaf_of_variant(name: str, value: str) -> str:
    """Return SQL for a scalar, null where it is of another kind, or not a value of the type to the last digit."""
    if name not in _KINDS:
        return f"cast(null as {leaf_type(name).simpleString()})"
    kinds = ", ".join(f"'{kind}'" for kind in _KINDS[name])
    is_kind = f"regexp_replace(schema_of_variant({value}), '(?s)[<(].*', '') in ({kinds})"
    found = f"try_variant_get({value}, '$', '{name}')"
    match name:
        case "double":
            integer = f"try_variant_get({value}, '$', 'bigint')"
            is_blurred = f"schema_of_variant({value}) = 'BIGINT' and abs({integer}) > {_EXACT}"
            return f"if({is_kind} and not ({is_blurred}), {found}, null)"
        case "bigint" | "boolean" | "string":
            return f"if({is_kind}, {found}, null)"
        case _:
            text = f"try_variant_get({value}, '$', 'string')"
            return f"if({is_kind}, try_cast({text} as {name}), null)"
