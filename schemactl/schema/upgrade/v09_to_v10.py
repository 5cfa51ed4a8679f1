"""Engine 10 renames ``complex`` to ``json`` and has row and parent keys in place of foreign keys."""

from __future__ import annotations

from typing import Any

from schemactl.schema.naming import load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import RELATIONAL_NORMALIZER


def upgrade(stored: dict[str, Any]) -> None:
    """Rename the type, translate the keys, drop ``generate_dlt_id``."""
    normalizers = stored["normalizers"]
    _complete(normalizers)
    naming = load_naming(normalizers["names"])
    row_id = naming.normalize_identifier("_dlt_id")
    parent_id = naming.normalize_identifier("_dlt_parent_id")
    for table in stored["tables"].values():
        _translate_columns(table["columns"], row_id, parent_id)
    settings = stored["settings"]
    if preferred := settings.get("preferred_types"):
        settings["preferred_types"] = {name: _renamed(data_type) for name, data_type in preferred.items()}
    if hints := settings.get("default_hints"):
        hints.pop("foreign_key", None)
        hints["row_key"] = [row_id]
        hints["parent_key"] = [parent_id]
    (normalizers["json"].get("config") or {}).pop("generate_dlt_id", None)


def _complete(normalizers: dict[str, Any]) -> None:
    """Fill in what dlt fills in when it loads the normalizers for this step."""
    normalizers["names"] = normalizers.get("names") or DEFAULT_NAMING
    section = normalizers["json"] = normalizers.get("json") or {}
    module = section.setdefault("module", RELATIONAL_NORMALIZER)
    if "." not in module:
        section["module"] = f"dlt.common.normalizers.json.{module}"


def _translate_columns(columns: dict[str, dict[str, Any]], row_id: str, parent_id: str) -> None:
    for column in columns.values():
        if "data_type" in column:
            column["data_type"] = _renamed(column["data_type"])
    if column := columns.get(row_id, {}):
        column["row_key"] = column.get("unique", False)
    if column := columns.get(parent_id, {}):
        column["parent_key"] = column.get("foreign_key", False)
    for column in columns.values():
        column.pop("foreign_key", None)


def _renamed(data_type: Any) -> Any:
    return "json" if data_type == "complex" else data_type
