"""Structs and arrays that are kept whole: how their values become what columns store.

Expressions are built as SQL text (see ``walk``). A place whose values are not of one type (``Json``) is read as a
VARIANT and stored as JSON text; integers past 64 bits are read as texts (``large_integers``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from pyspark.sql import types as T

from schemactl.engine.large_integers import marked_digits_sql, unmarked_json_sql, unmarked_sql
from schemactl.engine.nested_types import ddl_of, leaf_type, read_type, sql_type, structure_type
from schemactl.engine.spark_types import is_key
from schemactl.engine.sql import field_of, literal
from schemactl.engine.variants import variant_child
from schemactl.schema.nested_types import LARGE, Json, Leaf, ListOf, MapOf, NestedType, Struct

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bigint": ("BIGINT",),
    "double": ("DOUBLE", "DECIMAL", "BIGINT"),
    "boolean": ("BOOLEAN",),
    "string": ("STRING",),
    LARGE: ("BIGINT", "STRING"),
}
"""The kinds of VARIANTs that a type may take; documents have no others."""

_EXACT: Final = 2**53
"""Up to here doubles tell all integers apart."""


class Converter:
    """Writes SQL that turns nested values into others; one for each expression, as its lambdas need names."""

    def __init__(self) -> None:
        self._numbers = count()

    def _variable(self) -> str:
        return f"n{next(self._numbers)}"

    # --- as documents are read -> as it is stored ---

    def of_read(self, of: NestedType, value: str) -> str:
        """Return SQL for a value of ``read_type(of)`` as it is stored."""
        if read_type(of) == structure_type(of):
            return value
        match of:
            case Struct(fields):
                return self._struct(
                    value, [(name, self.of_read(inner, field_of(value, name))) for name, inner in fields]
                )
            case ListOf(element):
                each = self._variable()
                return f"transform({value}, {each} -> {self.of_read(element, each)})"
            case MapOf(of_keys):
                key, each = self._variable(), self._variable()
                return f"transform_values({value}, ({key}, {each}) -> {self.of_read(of_keys, each)})"
            case Json():
                return json_text(value)
            case _:
                return f"cast({unmarked_sql(value)} as {LARGE})"

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
        """Return SQL for a VARIANT as it is stored; what does not fit is null there (``is_lost``)."""
        match of:
            case Struct(fields):
                made = [(name, self.of_variant(inner, variant_child(value, name))) for name, inner in fields]
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

    def is_variant_lost(self, of: NestedType, value: str) -> str:
        """Return SQL for whether ``of_variant`` leaves something of a VARIANT out."""
        match of:
            case Struct(fields):
                inner = [self.is_variant_lost(inner, variant_child(value, name)) for name, inner in fields]
                pair = self._variable(), self._variable()
                known = ", ".join(literal(name) for name, _ in fields)
                others = (
                    f"map_filter(try_variant_get({value}, '$', 'map<string,variant>'), ({pair[0]}, {pair[1]}) -> "
                    f"{pair[0]} not in ({known}) and {_is_value(pair[1])})"
                )
                lost = " or ".join([f"coalesce(cardinality({others}), 0) > 0", *inner])
                return f"({_is_value(value)} and (not {_is_kind(value, 'OBJECT')} or {lost}))"
            case ListOf(element):
                each = self._variable()
                inside = f"exists({_elements(value)}, {each} -> {self.is_variant_lost(element, each)})"
                return f"({_is_value(value)} and (not {_is_kind(value, 'ARRAY')} or coalesce({inside}, false)))"
            case MapOf(of_keys):
                each = self._variable()
                inside = f"exists(map_values({_entries(value)}), {each} -> {self.is_variant_lost(of_keys, each)})"
                return f"({_is_value(value)} and (not {_is_kind(value, 'OBJECT')} or coalesce({inside}, false)))"
            case Json():
                return "false"
            case Leaf(name):
                return f"({_is_value(value)} and {_leaf_of_variant(name, value)} is null)"

    # --- a structure -> one with fewer fields, or others ---

    def narrowed(self, wide: NestedType, of: NestedType, value: str) -> str:
        """Return SQL for a value that is stored as ``wide`` as ``of``; what does not fit is null there."""
        if wide == of:
            return value
        match wide, of:
            case Struct(fields), Struct(kept):
                known = dict(fields)
                made = [(name, self.narrowed(known[name], inner, field_of(value, name))) for name, inner in kept]
                return self._struct(value, made)
            case ListOf(element), ListOf(kept_element):
                each = self._variable()
                return f"transform({value}, {each} -> {self.narrowed(element, kept_element, each)})"
            case MapOf(wide_value), MapOf(kept_value):
                key, each = self._variable(), self._variable()
                return f"transform_values({value}, ({key}, {each}) -> {self.narrowed(wide_value, kept_value, each)})"
            case Json(), _:
                return self.of_variant(of, f"parse_json({value})")
            case _:
                return f"cast(null as {ddl_of(of)})"

    def is_lost(self, wide: NestedType, of: NestedType, value: str) -> str:
        """Return SQL for whether ``narrowed`` leaves something of a value out."""
        if wide == of:
            return "false"
        match wide, of:
            case Struct(fields), Struct(kept):
                known = dict(kept)
                parts = [
                    self.is_lost(inner, known[name], field_of(value, name))
                    if name in known
                    else f"{field_of(value, name)} is not null"
                    for name, inner in fields
                ]
                return f"coalesce({' or '.join(parts)}, false)"
            case ListOf(element), ListOf(kept_element):
                each = self._variable()
                return f"coalesce(exists({value}, {each} -> {self.is_lost(element, kept_element, each)}), false)"
            case MapOf(wide_value), MapOf(kept_value):
                each = self._variable()
                inside = f"exists(map_values({value}), {each} -> {self.is_lost(wide_value, kept_value, each)})"
                return f"coalesce({inside}, false)"
            case Json(), _:
                return self.is_variant_lost(of, f"parse_json({value})")
            case _:
                return f"{value} is not null"


def json_text(variant: str) -> str:
    """Return SQL for the JSON text of a VARIANT, null for null."""
    text = unmarked_json_sql(f"to_json({variant})")
    return f"if({_is_value(variant)}, {text}, null)"


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
    text = f"try_variant_get({value}, '$', 'string')"
    found = f"try_variant_get({value}, '$', '{name}')"
    match name:
        case "string":
            return f"if({is_kind} and {marked_digits_sql(text)} is null, {text}, null)"
        case "double":
            integer = f"try_variant_get({value}, '$', 'bigint')"
            is_blurred = f"schema_of_variant({value}) = 'BIGINT' and abs({integer}) > {_EXACT}"
            return f"if({is_kind} and not ({is_blurred}), {found}, null)"
        case "bigint" | "boolean":
            return f"if({is_kind}, {found}, null)"
        case _:
            is_number = f"(schema_of_variant({value}) = 'BIGINT' or {marked_digits_sql(text)} is not null)"
            return f"if({is_kind} and {is_number}, try_cast({unmarked_sql(text)} as {name}), null)"
