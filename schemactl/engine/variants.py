"""SQL that looks into VARIANTs, and into the maps that objects with many keys are read as."""

from __future__ import annotations

from schemactl.engine.sql import literal

_FALSY = "('0', '0.0', '-0.0', 'false', '{}', '[]')"


def kind_of(value: str) -> str:
    """Return SQL for the kind of a VARIANT, of objects and lists without what is in them."""
    return f"regexp_replace(schema_of_variant({value}), '(?s)<.*', '')"


def elements_of(value: str) -> str:
    """Return SQL for the elements of a VARIANT, null where it is no list."""
    return f"try_variant_get({value}, '$', 'array<variant>')"


def map_of(value: str) -> str:
    """Return SQL for a VARIANT as a map, null where it is no object."""
    return f"try_variant_get({value}, '$', 'map<string,variant>')"


def entries_of(value: str) -> str:
    """Return SQL for the entries of a map that was read from JSON: of equal keys, as everywhere, the last."""
    keys, entries = f"map_keys({value})", f"map_entries({value})"
    last = f"filter({entries}, (entry, at) -> array_position(reverse({keys}), entry.key) = size({keys}) - at)"
    return f"if(size(array_distinct({keys})) = size({keys}), {entries}, {last})"


def is_truthy(value: str) -> str:
    """Return SQL for whether Python takes a VARIANT for true; of objects and lists it takes the full ones."""
    text = f"try_variant_get({value}, '$', 'string')"
    return f"coalesce(if(schema_of_variant({value}) = 'STRING', {text} != '', {text} not in {_FALSY}), false)"


def variant_child(value: str, key: str) -> str:
    """Return SQL for the value of ``key`` in an object that is a VARIANT, null where there is none."""
    if "'" in key and '"' in key:
        # Spark's paths cannot quote a key that holds both quotes.
        return f"try_element_at({map_of(value)}, {literal(key)})"
    mark = '"' if "'" in key else "'"
    path = literal(f"$[{mark}{key}{mark}]")
    return f"try_variant_get({value}, {path}, 'variant')"
