"""Engine 3 brings normalizers and settings, tables with properties, stated parents, filters by table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import RELATIONAL_NORMALIZER


def upgrade(stored: dict[str, Any]) -> None:
    """Move everything to its place in engine 3."""
    propagation = {"root": {"_dlt_id": "_dlt_root_id"}}
    relational = {"module": RELATIONAL_NORMALIZER, "config": {"propagation": propagation}}
    stored["normalizers"] = {"names": DEFAULT_NAMING, "json": relational}
    hints = stored.pop("hints", {})
    preferred = stored.pop("preferred_types", {})
    stored["settings"] = {
        "default_hints": {hint: [f"re:{name}" for name in names] for hint, names in hints.items()},
        "preferred_types": {f"re:{name}": data_type for name, data_type in preferred.items()},
    }
    columns_of = stored.pop("tables")
    tables = {name: _table(name, columns, columns_of) for name, columns in columns_of.items()}
    for group in ("excludes", "includes"):
        _move_filters(tables, group, stored.pop(group, []))
    stored["tables"] = tables


def _table(name: str, columns: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    parent = _parent_of(name, known)
    if parent:
        return {"name": name, "columns": columns, "parent": parent}
    return {"name": name, "columns": columns, "write_disposition": "append", "resource": name}


def _parent_of(name: str, known: Collection[str]) -> str | None:
    """Return the nearest table that ``name`` is a path below of."""
    end = name.rfind("__")
    while end > 0:
        name = name[:end]
        if name in known:
            return name
        end = name.rfind("__")
    return None


def _move_filters(tables: dict[str, dict[str, Any]], group: str, filters: list[str]) -> None:
    """Hang filters ``^ROOT__REST`` on their root tables, which are made where they are missing."""
    for pattern in filters:
        end = pattern.find("__")
        root, rest = pattern[1:end], pattern[end + 2 :]
        table = tables.setdefault(root, _table(root, {}, ()))
        table.setdefault("filters", {}).setdefault(group, []).append(f"re:^{rest}")
