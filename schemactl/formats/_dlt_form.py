"""Fill in the defaults and sections that a schema file omits, and give a schema the form of an export.

An author writes only the settings that matter to him. dlt refuses such a file; ``schemactl fmt`` completes it for dlt.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from schemactl.errors import InputError
from schemactl.schema import templates
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.types import ENGINE_VERSION, Schema


def plain(value: Any) -> Any:
    """Return a YAML value as JSON data, in the form that counts for the hash (docs/dlt.md §2.1)."""
    match value:
        case str() | int() | None:
            return value
        case dict() | Mapping():
            return {key if isinstance(key, str) else _key(key): plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case float() if not isfinite(value):
            return None
        case _:
            return value


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return key.isoformat() if isinstance(key, date) else str(key)


def with_defaults(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored schema with the values that dlt fills in before it computes the hash (docs/dlt.md §1.2)."""
    tables = {}
    for name, table in stored["tables"].items():
        columns = {column: {**properties, "name": column} for column, properties in table["columns"].items()}
        tables[name] = {**table, "name": name, "columns": columns}
        if not table.get("parent"):
            for key, default in (("write_disposition", "append"), ("resource", name)):
                if tables[name].get(key) is None:
                    tables[name][key] = default
    return {**stored, "tables": tables}


def with_sections(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored schema with the sections that dlt's schema objects always have."""
    normalizers = {"names": DEFAULT_NAMING, **(stored.get("normalizers") or {})}
    json_normalizer = {"module": templates.RELATIONAL_NORMALIZER, **(normalizers.get("json") or {})}
    module = json_normalizer["module"]
    if "." not in module:
        json_normalizer["module"] = templates.OWN_NORMALIZERS.get(module, f"{templates.DLT_NORMALIZERS}{module}")
    return {
        **stored,
        "settings": stored.get("settings") or {},
        "normalizers": {**normalizers, "json": json_normalizer},
        "previous_hashes": stored.get("previous_hashes") or [],
    }


def export_form(schema: Schema, keeps_import: bool = False) -> dict[str, Any]:
    """Return the content of an export: only the keys name tables and columns.

    dlt saves the hash of the import file only in its own store (``keeps_import``).
    """
    stored = schema.to_dict()
    if not keeps_import:
        stored.pop("imported_version_hash", None)
    tables = {}
    for name, table in schema.tables.items():
        columns = {column: dict(value.properties) for column, value in table.columns.items()}
        tables[name] = {"columns": columns, **table.properties}
    return {**stored, "tables": tables}


def completed(raw: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a stored schema with all keys that dlt requires; existing values stay unchanged.

    A schema without ``engine_version`` was not written by dlt: its sections also get the defaults of a new schema.
    Faults are left for the checks to find. A schema without a name gets its name from the file at ``path``.
    """
    if is_complete(raw) or raw.get("engine_version", ENGINE_VERSION) != ENGINE_VERSION:
        return dict(raw)
    completed_schema = {"version": 1, "engine_version": ENGINE_VERSION, "tables": {}, "previous_hashes": [], **raw}
    if "name" not in completed_schema and (name := Path(path).name.rpartition(":")[2].partition(".")[0]).isidentifier():
        completed_schema["name"] = name
    template = _new(completed_schema)
    if completed_schema["tables"] is None:
        completed_schema["tables"] = {}
    if isinstance(completed_schema["tables"], Mapping):
        tables = {name: _table(table) for name, table in completed_schema["tables"].items()}
        table_names = {name.lower() for name in tables if isinstance(name, str)}
        missing = {name: table.to_dict() for name, table in template.tables.items() if name.lower() not in table_names}
        completed_schema["tables"] = {**missing, **tables}
    if "engine_version" not in raw:
        settings, normalizers = completed_schema.get("settings") or {}, completed_schema.get("normalizers") or {}
        if isinstance(settings, Mapping):
            hints = settings.get("default_hints") or {}
            defaults = template.settings["default_hints"]
            if isinstance(hints, Mapping):
                hints = {**defaults, **{hint: _join(defaults.get(hint), names) for hint, names in hints.items()}}
            completed_schema["settings"] = {**template.settings, **settings, "default_hints": hints}
        if isinstance(normalizers, Mapping):
            completed_schema["normalizers"] = {**template.normalizers, **normalizers}
    return completed_schema


def is_complete(raw: Mapping[str, Any]) -> bool:
    """Return whether a stored schema has all keys that dlt requires, and dlt's own tables."""
    if not raw.keys() >= {"version", "engine_version", "name", "tables", "previous_hashes"}:
        return False
    tables = raw["tables"]
    if not isinstance(tables, Mapping):
        return True
    present = {name.lower() for name in tables if isinstance(name, str) and "dlt" in name.lower()}
    return {templates.VERSION_TABLE, templates.LOADS_TABLE} <= present


def _new(raw: Mapping[str, Any]) -> Schema:
    normalizers = raw.get("normalizers")
    naming = normalizers.get("names") if isinstance(normalizers, Mapping) else None
    try:
        return templates.new_schema("new", naming if isinstance(naming, str) else DEFAULT_NAMING)
    except InputError:  # who works with the schema says so, with the place in the file
        return templates.new_schema("new")


def _join(default_patterns: Any, patterns: Any) -> Any:
    """Return the patterns of a default hint: first the patterns of dlt's own columns, then the schema's patterns."""
    if default_patterns is None or not isinstance(patterns, list):
        return patterns
    return [*default_patterns, *(pattern for pattern in patterns if pattern not in default_patterns)]


def _table(table: Any) -> Any:
    """Return a table with columns that are mappings, where it says nothing of them."""
    if table is None:
        return {"columns": {}}
    if not isinstance(table, Mapping):
        return table
    columns = table.get("columns")
    if columns is None:
        return {**table, "columns": {}}
    if not isinstance(columns, Mapping):
        return table
    return {**table, "columns": {name: {} if hints is None else hints for name, hints in columns.items()}}
