"""Between what a schema file of dlt states and a schema: defaults and sections filled in, the form of an export."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import date
from math import isfinite
from typing import Any

from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import DLT_NORMALIZERS, OWN_NORMALIZERS, RELATIONAL_NORMALIZER
from schemactl.schema.types import Schema


def plain(value: Any) -> Any:
    """Return JSON data: what only YAML can state, in the form that counts for the hash (docs/dlt.md §2.1)."""
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
    match key:
        case None:
            return "null"
        case bool():
            return str(key).lower()
        case date():
            return key.isoformat()
        case _:
            return str(key)


def with_defaults(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored schema with what dlt fills in before it computes the hash (docs/dlt.md §1.2)."""
    tables = {name: _table_with_defaults(name, table) for name, table in stored["tables"].items()}
    return {**stored, "tables": tables}


def _table_with_defaults(name: str, table: dict[str, Any]) -> dict[str, Any]:
    columns = {column: {**properties, "name": column} for column, properties in table["columns"].items()}
    filled = {**table, "name": name, "columns": columns}
    if not table.get("parent"):
        for key, default in (("write_disposition", "append"), ("resource", name)):
            if filled.get(key) is None:
                filled[key] = default
    return filled


def with_sections(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored schema with the sections that dlt's schema objects always have."""
    normalizers = {"names": DEFAULT_NAMING, **(stored.get("normalizers") or {})}
    json_normalizer = {"module": RELATIONAL_NORMALIZER, **(normalizers.get("json") or {})}
    module = json_normalizer["module"]
    if "." not in module:
        json_normalizer["module"] = OWN_NORMALIZERS.get(module, f"{DLT_NORMALIZERS}{module}")
    return {
        **stored,
        "settings": stored.get("settings") or {},
        "normalizers": {**normalizers, "json": json_normalizer},
        "previous_hashes": stored.get("previous_hashes") or [],
    }


def export_form(schema: Schema, keeps_import: bool = False) -> dict[str, Any]:
    """Return what an export states: tables and columns are named by their keys alone.

    Args:
        schema: what to export.
        keeps_import: whether the hash of the import file is stated; dlt does so in its own store only.
    """
    stored = schema.to_dict()
    if not keeps_import:
        stored.pop("imported_version_hash", None)
    tables = {}
    for name, table in schema.tables.items():
        columns = {column: dict(value.properties) for column, value in table.columns.items()}
        tables[name] = {"columns": columns, **table.properties}
    return {**stored, "tables": tables}
