"""Makes new schemas: dlt's tables, default hints, detections and normalizers (docs/dlt.md §1.4, §2.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemactl.errors import InputError
from schemactl.schema.naming import Naming, load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.types import Column, DataType, Schema, Table

VERSION_TABLE = "_dlt_version"
LOADS_TABLE = "_dlt_loads"
RELATIONAL_NORMALIZER = "dlt.common.normalizers.json.relational"
DLT_NORMALIZERS = "dlt.common.normalizers.json."
OWN_NORMALIZERS = {"nested": "schemactl.normalization.normalizers.nested"}
"""Those that dlt does not have, by their short names."""
MAX_NAME_LENGTH = 64
NAME_HINT = f"letters, digits and `_`, no digit first, at most {MAX_NAME_LENGTH} characters"


def is_name(name: str) -> bool:
    """Return whether a schema can have the name (docs/dlt.md §1.1)."""
    return name.isidentifier() and len(name) <= MAX_NAME_LENGTH


def check_name(name: str) -> None:
    """Refuse a name that cannot be a schema's; so no name leads out of a folder."""
    if not is_name(name):
        raise InputError(f"`{name}` cannot name a schema", hint=NAME_HINT)


def new_schema(name: str, naming: str = DEFAULT_NAMING, normalizer: str = RELATIONAL_NORMALIZER) -> Schema:
    """Return the schema that dlt 1.31 starts from, without a hash: ``hash.bump`` gives it one.

    dlt's own tables and columns are named by the convention that ``naming`` refers to.
    """
    check_name(name)
    convention = load_naming(naming)
    tables = []
    for table in (version_table(), loads_table()):
        columns = {convention.normalize_path(key): column for key, column in table.columns.items()}
        columns = {key: replace(column, name=key) for key, column in columns.items()}
        # ``resource`` keeps the source's name (docs/dlt.md §4.3).
        tables.append(Table(convention.normalize_tables_path(table.name), columns, table.properties))
    return Schema(
        name=name,
        tables={table.name: table for table in tables},
        settings={"detections": ["iso_timestamp"], "default_hints": _default_hints(convention)},
        normalizers={"names": naming, "json": {"module": normalizer}},
    )


def version_table() -> Table:
    """Return dlt's table of schema versions, as of dlt 1.31."""
    of_version = "Numeric version of the schema, incremented on each schema change"
    of_engine = "Version of the dlt schema engine that created this schema"
    columns = (
        _column("version", DataType.BIGINT, of_version),
        _column("engine_version", DataType.BIGINT, of_engine),
        _column("inserted_at", DataType.TIMESTAMP, "Timestamp when this schema version was stored"),
        _column("schema_name", DataType.TEXT, "Name of the schema"),
        _column("version_hash", DataType.TEXT, "Unique hash of the schema content, used to detect changes"),
        _column("schema", DataType.TEXT, "JSON representation of the complete schema definition"),
    )
    return _system_table(VERSION_TABLE, columns, "Created by DLT. Tracks schema updates")


def loads_table() -> Table:
    """Return dlt's table of completed loads, as of dlt 1.31."""
    of_schema = "Name of the schema associated with this load"
    of_version = "Hash of the schema version used during this load"
    columns = (
        _column("load_id", DataType.TEXT, "Unique identifier of the load operation", precision=64),
        _column("schema_name", DataType.TEXT, of_schema, nullable=True),
        _column("status", DataType.BIGINT, "Status of the load operation (0 = success)"),
        _column("inserted_at", DataType.TIMESTAMP, "Timestamp when the load was completed"),
        _column("schema_version_hash", DataType.TEXT, of_version, nullable=True),
    )
    return _system_table(LOADS_TABLE, columns, "Created by DLT. Tracks completed loads")


def _column(name: str, data_type: DataType, description: str, *, nullable: bool = False, **hints: Any) -> Column:
    return Column(name, {"data_type": str(data_type), "nullable": nullable, **hints, "description": description})


def _system_table(name: str, columns: tuple[Column, ...], description: str) -> Table:
    properties = {"write_disposition": "skip", "resource": name, "description": description}
    return Table(name, {column.name: column for column in columns}, properties)


def _default_hints(naming: Naming) -> dict[str, list[str]]:
    """Return the hints of the columns that the normalizer adds; their order counts for the hash."""
    row, root, parent, index, load = (
        naming.normalize_identifier(name)
        for name in ("_dlt_id", "_dlt_root_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_load_id")
    )
    return {
        "not_null": [row, root, parent, index, load],
        "parent_key": [parent],
        "root_key": [root],
        "unique": [row],
        "row_key": [row],
    }
