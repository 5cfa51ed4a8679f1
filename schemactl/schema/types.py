"""The nouns of a schema file: Schema, Table, Column, as immutable values.

A value keeps the properties of its file, in the file's order and with the file's nulls, because dlt's ``version_hash``
distinguishes ``nullable: true`` from an absent ``nullable``. Accessors apply the defaults. Reading and writing files is
in ``schemactl.formats.dlt``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

ENGINE_VERSION = 11
"""The version of dlt's schema engine whose files schemactl writes (dlt 1.22 to 1.31)."""

Properties = Mapping[str, Any]
"""Keys of a schema file with their values, as plain JSON data."""


class DataType(StrEnum):
    """dlt's data types."""

    TEXT = "text"
    DOUBLE = "double"
    BOOL = "bool"
    TIMESTAMP = "timestamp"
    BIGINT = "bigint"
    BINARY = "binary"
    JSON = "json"
    DECIMAL = "decimal"
    WEI = "wei"
    DATE = "date"
    TIME = "time"


_TYPES_BY_NAME: Final = {str(each): each for each in DataType}
"""Commands ask for a column's type dozens of times, and ``DataType(name)`` takes several times as long."""

MICROSECOND_DIGITS: Final = 6
"""The precision of timestamps that need no more; past it they count nanoseconds (docs/dlt.md §9.3)."""

VARIANT_ENDINGS: Final = tuple(f"v_{name}" for name in (*DataType, "complex"))
"""Last parts of the names of variant columns, with the name that ``json`` had before engine 10 (docs/dlt.md §6.5)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name and its properties in the schema (``data_type``, ``nullable``, hints, ``x-`` keys).

    A column without ``data_type`` is *incomplete*: it has hints, and waits for data.
    """

    name: str
    properties: Properties = field(default_factory=dict)

    @property
    def data_type(self) -> DataType | None:
        name = self.properties.get("data_type")
        return (_TYPES_BY_NAME.get(name) or DataType(name)) if name else None

    @property
    def is_complete(self) -> bool:
        return bool(self.name) and bool(self.properties.get("data_type"))

    @property
    def nullable(self) -> bool:
        value = self.properties.get("nullable")
        return True if value is None else bool(value)

    @property
    def is_naive(self) -> bool:
        """Whether a timestamp is declared without a time zone."""
        return self.properties.get("timezone") is False

    @property
    def is_variant(self) -> bool:
        return bool(self.properties.get("variant"))

    def with_properties(self, properties: Properties) -> Column:
        """Return the column with more properties; a new type drops the sizes of the old type."""
        earlier = self.properties
        if properties.get("data_type") not in (None, self.properties.get("data_type")):
            earlier = {key: value for key, value in earlier.items() if key not in ("precision", "scale", "timezone")}
        return Column(self.name, {**earlier, **properties})

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form, ``name`` included."""
        return {**self.properties, "name": self.name}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, its columns in order, and its other properties (``parent``, ``write_disposition`` ...)."""

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    properties: Properties = field(default_factory=dict)

    @property
    def parent(self) -> str | None:
        """Name of the table that this table is nested in, None for a root table."""
        return self.properties.get("parent") or None

    @property
    def is_nested(self) -> bool:
        return self.parent is not None

    @property
    def is_new(self) -> bool:
        """A table without any complete column counts as new for contracts (docs/dlt.md §7.2)."""
        return not any(column.is_complete for column in self.columns.values())

    def hinted(self, hint: str) -> tuple[str, ...]:
        """Return the names of the columns that have a hint, in their order."""
        return tuple(name for name, column in self.columns.items() if column.properties.get(hint))

    def normalizer_hint(self, key: str) -> Any:
        """Return a value of the processing hint ``x-normalizer`` (``seen-data``, ``max_nesting``), None if unset."""
        return (self.properties.get("x-normalizer") or {}).get(key)

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form, names included."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {"name": self.name, "columns": columns, **self.properties}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The content of one schema file of the current engine version.

    Attributes:
        settings: the ``settings`` section: detections, default_hints, preferred_types, schema_contract.
        normalizers: the ``normalizers`` section: naming convention and JSON normalizer with its config.
        previous_hashes: version hashes of earlier contents, newest first, at most 10.
        imported_version_hash: hash of the import file that this schema was last taken from.
        extensions: ``x-`` keys at the top of the file.
    """

    name: str
    version: int = 1
    version_hash: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    settings: Properties = field(default_factory=dict)
    normalizers: Properties = field(default_factory=dict)
    previous_hashes: tuple[str, ...] = ()
    imported_version_hash: str | None = None
    description: str | None = None
    extensions: Properties = field(default_factory=dict)
    engine_version: int = ENGINE_VERSION

    def to_dict(self) -> dict[str, Any]:
        """Return dlt's full stored form: every name present, keys in dlt's order of emission (docs/dlt.md §1.1)."""
        stored: dict[str, Any] = {
            "version": self.version,
            "version_hash": self.version_hash,
            "engine_version": self.engine_version,
            "name": self.name,
            "tables": {name: table.to_dict() for name, table in self.tables.items()},
            "settings": self.settings,
            "normalizers": self.normalizers,
            "previous_hashes": list(self.previous_hashes),
        }
        if self.imported_version_hash:
            stored["imported_version_hash"] = self.imported_version_hash
        if self.description:
            stored["description"] = self.description
        return {**stored, **self.extensions}

    def column(self, table: str, name: str) -> Column | None:
        """Return a column, None if the table or the column does not exist."""
        return self.tables[table].columns.get(name) if table in self.tables else None

    def with_table(self, table: Table) -> Schema:
        """Return this schema with ``table``, which replaces the table of its name or is added at the end."""
        return replace(self, tables={**self.tables, table.name: table})

    def with_missing_from(self, other: Schema) -> Schema:
        """Return this schema with the additional tables and columns of another schema."""
        tables = dict(self.tables)
        for name, table in other.tables.items():
            table_here = tables.get(name)
            if table_here is None:
                tables[name] = table
            elif missing := {key: column for key, column in table.columns.items() if key not in table_here.columns}:
                tables[name] = replace(table_here, columns={**table_here.columns, **missing})
        return replace(self, tables=tables)


def table_from_dict(name: str, stored: Mapping[str, Any]) -> Table:
    """Build a table from its stored form; as in dlt, keys override inner names."""
    columns = {
        column: Column(column, {key: value for key, value in properties.items() if key != "name"})
        for column, properties in (stored.get("columns") or {}).items()
    }
    properties = {key: value for key, value in stored.items() if key not in ("name", "columns")}
    return Table(name, columns, properties)


TOP_LEVEL: Final = frozenset(each.name for each in fields(Schema)) - {"extensions"}
"""The keys at the top of a file that are dlt's."""


def schema_from_dict(stored: Mapping[str, Any]) -> Schema:
    """Build a schema from its stored form, which must be valid and of the current engine version."""
    return Schema(
        name=stored["name"],
        version=stored["version"],
        version_hash=stored.get("version_hash") or "",
        engine_version=stored["engine_version"],
        tables={name: table_from_dict(name, table) for name, table in stored["tables"].items()},
        settings=stored.get("settings") or {},
        normalizers=stored.get("normalizers") or {},
        previous_hashes=tuple(stored.get("previous_hashes") or ()),
        imported_version_hash=stored.get("imported_version_hash"),
        description=stored.get("description"),
        extensions={key: value for key, value in stored.items() if key not in TOP_LEVEL},
    )


def chain_of(schema: Schema, name: str | None) -> Iterator[str]:
    """Yield the names of a table and of the tables that it is nested in, up to the root table; stop at a circle.

    If a parent is missing, the last name is not in the schema.
    """
    visited: set[str] = set()
    while name is not None and name not in visited:
        yield name
        visited.add(name)
        table = schema.tables.get(name)
        name = table.parent if table else None


def ancestors(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the names of the tables that a table is nested in, the nearest first."""
    return tuple(chain_of(schema, name))[1:]


def root_of(schema: Schema, name: str) -> str:
    """Return the name of a table's root table, its own if it is a root table."""
    return (name, *ancestors(schema, name))[-1]
