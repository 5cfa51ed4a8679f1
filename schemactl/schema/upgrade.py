"""Upgrades old schema files to the current engine version step by step, as dlt does (docs/dlt.md §1.8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any

from schemactl.errors import InputError, Location
from schemactl.schema import templates
from schemactl.schema.naming import load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.types import ENGINE_VERSION


def upgrade(stored: Mapping[str, Any], source: str | None = None) -> dict[str, Any]:
    """Return the stored schema in the form of ``ENGINE_VERSION``.

    The numeric version and the hash stay; ``hash.bump`` finds that the content changed. The stored schema need not be
    valid; ``source``, the path of its file, is for messages.
    """
    location = Location(source) if source else None
    engine = _engine_of(stored, location)
    if engine == ENGINE_VERSION and not any(_null_only_columns(stored)):
        return dict(stored)
    upgraded = dict(deepcopy(stored))
    for number in range(engine, ENGINE_VERSION):
        try:
            _to_engine(number + 1, upgraded)
        except KeyError as error:
            message = f"`{error.args[0]}` is missing in a schema of engine version {number}"
            raise InputError(message, at=location) from error
        except (AttributeError, TypeError) as error:
            raise InputError(f"the file is not a schema of engine version {number}", at=location) from error
    upgraded["engine_version"] = ENGINE_VERSION
    for columns, name in _null_only_columns(upgraded):
        column = columns[name]
        if "data_type" not in column:
            del columns[name]
            continue
        del column["x-normalizer"]["seen-null-first"]
        if not column["x-normalizer"]:
            del column["x-normalizer"]
    return upgraded


def _engine_of(stored: Mapping[str, Any], location: Location | None) -> int:
    engine = stored.get("engine_version")
    if engine is None:
        hint = f"write `engine_version: {ENGINE_VERSION}`"
        raise InputError("`engine_version` is missing", at=location, hint=hint)
    if not isinstance(engine, int) or isinstance(engine, bool) or engine < 1:
        hint = f"a whole number from 1 to {ENGINE_VERSION}"
        raise InputError(f"`engine_version` is `{engine}`", at=location, hint=hint)
    if engine > ENGINE_VERSION:
        hint = f"this schemactl supports versions up to {ENGINE_VERSION}: update schemactl"
        raise InputError(f"the schema is of engine version {engine}", at=location, hint=hint)
    return engine


def _null_only_columns(stored: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for table in _dicts_in(stored.get("tables")).values():
        columns: Any = table.get("columns")
        for name, column in _dicts_in(columns).items():
            marks = column.get("x-normalizer")
            if isinstance(marks, dict) and marks.get("seen-null-first"):
                yield columns, name


def _dicts_in(value: Any) -> dict[Any, dict[Any, Any]]:
    # Validation comes later: here a file may still hold anything anywhere.
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, dict)}


def _to_engine(number: int, stored: dict[str, Any]) -> None:  # noqa: C901, PLR0912 - a case for each
    """Upgrade a stored schema in place to the next engine version."""
    match number:
        case 2:  # filters data: by default nothing is left out
            stored["includes"] = []
            stored["excludes"] = []
        case 3:
            _to_engine_3(stored)
        case 4:  # hashes schemas: an empty hash means no hash yet
            stored.setdefault("version_hash", "")
        case 5:  # stores schemas at the destination: dlt's own tables get other columns
            stored["tables"][templates.VERSION_TABLE] = templates.version_table().to_dict()
            stored["tables"][templates.LOADS_TABLE] = templates.loads_table().to_dict()
        case 6:  # notes the schema's hash with each load: the table of loads gets another column
            stored["tables"][templates.LOADS_TABLE] = templates.loads_table().to_dict()
        case 7:  # has schema contracts in place of seals
            stored["settings"].pop("schema_sealed", None)
            for table in stored["tables"].values():
                table.pop("table_sealed", None)
        case 8:  # remembers the hashes of earlier contents
            stored["previous_hashes"] = []
        case 9:  # marks tables that received data
            for table in stored["tables"].values():
                if "_dlt_id" in table["columns"]:
                    table.setdefault("x-normalizer", {})["seen-data"] = True
        case 10:
            _to_engine_10(stored)
        case 11:  # keeps `__` in the keys of data; schemas from before go on without
            stored["normalizers"]["use_break_path_on_normalize"] = False


def _to_engine_3(stored: dict[str, Any]) -> None:
    """Engine 3 adds normalizers and settings, tables with properties, explicit parents, filters by table."""
    propagation = {"root": {"_dlt_id": "_dlt_root_id"}}
    relational = {"module": templates.RELATIONAL_NORMALIZER, "config": {"propagation": propagation}}
    stored["normalizers"] = {"names": DEFAULT_NAMING, "json": relational}
    hints = stored.pop("hints", {})
    preferred = stored.pop("preferred_types", {})
    stored["settings"] = {
        "default_hints": {hint: [f"re:{name}" for name in names] for hint, names in hints.items()},
        "preferred_types": {f"re:{name}": data_type for name, data_type in preferred.items()},
    }
    columns_of = stored.pop("tables")
    tables = {name: _table_of_engine_3(name, columns, columns_of) for name, columns in columns_of.items()}
    for group in ("excludes", "includes"):
        for pattern in stored.pop(group, []):
            end = pattern.find("__")
            root, remainder = pattern[1:end], pattern[end + 2 :]
            table = tables.setdefault(root, _table_of_engine_3(root, {}, ()))
            table.setdefault("filters", {}).setdefault(group, []).append(f"re:^{remainder}")
    stored["tables"] = tables


def _table_of_engine_3(name: str, columns: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    # The parent is the nearest table that the name is a path below of.
    above = name
    while (end := above.rfind("__")) > 0:
        above = above[:end]
        if above in names:
            return {"name": name, "columns": columns, "parent": above}
    return {"name": name, "columns": columns, "write_disposition": "append", "resource": name}


def _to_engine_10(stored: dict[str, Any]) -> None:
    """Engine 10 renames ``complex`` to ``json`` and has row and parent keys in place of foreign keys."""
    normalizers = stored["normalizers"]
    normalizers["names"] = normalizers.get("names") or DEFAULT_NAMING
    section = normalizers["json"] = normalizers.get("json") or {}
    module = section.setdefault("module", templates.RELATIONAL_NORMALIZER)
    if "." not in module:
        section["module"] = f"{templates.DLT_NORMALIZERS}{module}"
    naming = load_naming(normalizers["names"])
    row_id = naming.normalize_identifier("_dlt_id")
    parent_id = naming.normalize_identifier("_dlt_parent_id")
    for columns in [table["columns"] for table in stored["tables"].values()]:
        for column in columns.values():
            if "data_type" in column:
                column["data_type"] = _json_for_complex(column["data_type"])
        if column := columns.get(row_id, {}):
            column["row_key"] = column.get("unique", False)
        if column := columns.get(parent_id, {}):
            column["parent_key"] = column.get("foreign_key", False)
        for column in columns.values():
            column.pop("foreign_key", None)
    settings = stored["settings"]
    if preferred := settings.get("preferred_types"):
        settings["preferred_types"] = {name: _json_for_complex(data_type) for name, data_type in preferred.items()}
    if hints := settings.get("default_hints"):
        hints.pop("foreign_key", None)
        hints["row_key"] = [row_id]
        hints["parent_key"] = [parent_id]
    (normalizers["json"].get("config") or {}).pop("generate_dlt_id", None)


def _json_for_complex(data_type: Any) -> Any:
    return "json" if data_type == "complex" else data_type
