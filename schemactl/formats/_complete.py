"""Fills in what a schema file written by hand leaves out: its author states no more than what he cares about.

dlt refuses such a file; ``schemactl fmt`` writes it out as one that dlt takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemactl.errors import InputError
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, new_schema
from schemactl.schema.types import ENGINE_VERSION, Schema


def completed(raw: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a stored schema with all keys that dlt asks for; what it states stays as it is.

    Without ``engine_version`` it is one that dlt never wrote: then its sections are those of a new schema as well, but
    for what they state. What is wrong in it is left for the checks to find.

    Args:
        raw: the content of the file.
        path: of the file, after which the schema is named where nothing else says so.
    """
    if is_complete(raw) or raw.get("engine_version", ENGINE_VERSION) != ENGINE_VERSION:
        return dict(raw)
    stated = {"version": 1, "engine_version": ENGINE_VERSION, "tables": {}, "previous_hashes": [], **raw}
    if "name" not in stated and (name := Path(path).name.rpartition(":")[2].partition(".")[0]).isidentifier():
        stated["name"] = name
    new = _new(stated)
    if stated["tables"] is None:
        stated["tables"] = {}
    if isinstance(stated["tables"], Mapping):
        tables = {name: _table(table) for name, table in stated["tables"].items()}
        present = {name.lower() for name in tables if isinstance(name, str)}
        own = {name: table.to_dict() for name, table in new.tables.items() if name.lower() not in present}
        stated["tables"] = {**own, **tables}
    if "engine_version" not in raw:
        settings, normalizers = stated.get("settings") or {}, stated.get("normalizers") or {}
        if isinstance(settings, Mapping):
            hints = settings.get("default_hints") or {}
            known = new.settings["default_hints"]
            if isinstance(hints, Mapping):
                hints = {**known, **{hint: _joined(known.get(hint), names) for hint, names in hints.items()}}
            stated["settings"] = {**new.settings, **settings, "default_hints": hints}
        if isinstance(normalizers, Mapping):
            stated["normalizers"] = {**new.normalizers, **normalizers}
    return stated


def is_complete(raw: Mapping[str, Any]) -> bool:
    """Return whether a stored schema has all keys that dlt asks for, and dlt's own tables."""
    if not raw.keys() >= {"version", "engine_version", "name", "tables", "previous_hashes"}:
        return False
    tables = raw["tables"]
    if not isinstance(tables, Mapping):
        return True
    present = {name.lower() for name in tables if isinstance(name, str) and "dlt" in name.lower()}
    return {VERSION_TABLE, LOADS_TABLE} <= present


def _new(stated: Mapping[str, Any]) -> Schema:
    normalizers = stated.get("normalizers")
    naming = normalizers.get("names") if isinstance(normalizers, Mapping) else None
    try:
        return new_schema("new", naming if isinstance(naming, str) else DEFAULT_NAMING)
    except InputError:  # who works with the schema says so, with the place in the file
        return new_schema("new")


def _joined(known: Any, stated: Any) -> Any:
    """Return the patterns of a default hint: those of dlt's own columns, which hold for all schemas, and the stated."""
    if known is None or not isinstance(stated, list):
        return stated
    return [*known, *(each for each in stated if each not in known)]


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
    return {**table, "columns": {name: {} if stated is None else stated for name, stated in columns.items()}}
