"""What a plan reaches in staged documents: from the value that makes a row to those that stand in it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from schemactl.engine.items import Form, Item
from schemactl.engine.sql import field_of, literal, quoted
from schemactl.engine.variants import variant_child
from schemactl.inference.paths import ELEMENT, Path


@dataclass(frozen=True, slots=True)
class Reached:
    """A staged value: what it is, SQL for it, and SQL for ``item.texts``, None where there are none."""

    item: Item
    sql: str
    texts: str | None = None


def reach(start: Reached, keys: Path) -> Reached | None:
    """Return what stands under ``keys``, None where nothing ever does."""
    found = start
    for key in keys:
        if key is ELEMENT:
            raise ValueError("elements of lists are no single value")
        if key not in found.item.fields:
            return None
        found = _field(found, key)
    return found


def _field(of: Reached, key: str) -> Reached:
    inner = of.item.fields[key]
    texts = None
    if of.item.form is Form.VARIANT:
        if of.texts is not None and inner.texts is not None:
            one_key = literal(f"struct<{quoted(key)}: string>")
            texts = field_of(f"from_json({of.texts}, {one_key})", key)
        return Reached(inner, variant_child(of.sql, key), texts)
    if of.texts is not None and of.item.texts is not None and inner.texts is not None:
        texts = _struct_field(of.texts, of.item.texts, key)
    return Reached(inner, _struct_field(of.sql, of.item, key), texts)


def _struct_field(value: str, item: Item, key: str) -> str:
    assert isinstance(item.type, T.StructType)
    return f"{value}.`{item.type.names[list(item.fields).index(key)]}`"


def reach_elements(found: Reached) -> Reached | None:
    """Return a list as SQL for an array, with what its elements are; None where there never is a list."""
    element = found.item.element
    if element is None:
        return None
    has_texts = found.texts is not None and element.texts is not None
    if found.item.form is not Form.VARIANT:
        return Reached(element, found.sql, found.texts if has_texts else None)
    texts = f"from_json({found.texts}, 'array<string>')" if has_texts else None
    return Reached(element, f"try_variant_get({found.sql}, '$', 'array<variant>')", texts)


def is_container_sql(found: Reached) -> str:
    """Return SQL for whether a value is an object or a list."""
    if found.item.form is Form.SCALAR:
        return "false"
    there = f"{found.sql} is not null"
    return f"({there} and {_is_nested(found.sql)})" if found.item.form is Form.VARIANT else f"({there})"


def _is_nested(value: str) -> str:
    return f"regexp_like(schema_of_variant({value}), '^(OBJECT|ARRAY)')"
