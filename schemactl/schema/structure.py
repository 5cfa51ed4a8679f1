"""The part of a schema that a destination holds: tables and columns, without properties for dlt and for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from schemactl.schema.types import Column, Properties, Schema, Table

Stored = Callable[[Column], Properties]
"""Returns the properties that a destination's catalog has of a column."""


@dataclass(frozen=True, slots=True)
class NameLimits:
    """The limits of a destination on names: bytes in UTF-8 past which they are cut, None for no limit that matters."""

    max_bytes: int | None = None
    is_case_sensitive: bool = True

    def fold(self, name: str) -> str:
        """Return the same key for names that clash in the destination."""
        return name if self.is_case_sensitive else name.lower()

    def is_too_long(self, name: str) -> bool:
        """Return whether a name would be cut."""
        return self.max_bytes is not None and len(name.encode(errors="surrogatepass")) > self.max_bytes

    def clashes(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield (first, duplicate) pairs that the destination treats as one name."""
        first_names: dict[str, str] = {}
        for name in names:
            first = first_names.setdefault(self.fold(name), name)
            if first != name:
                yield first, name


DATABASE_TYPE: Final = "x-database-type"
"""A destination's own type that dlt has no type for."""
TYPE_DEFINITION: Final = "x-type-definition"
"""The definition of the enum, domain or composite type that ``DATABASE_TYPE`` names: ``ENUM('a', 'b')``."""


def structure_of(schema: Schema, other: Schema, stored: Stored) -> Schema:
    """Return the part of a schema that can be compared with a destination's catalog.

    Columns have the properties that ``stored`` returns. Columns without a type, versions, hints and settings are left
    out. Tables that only this side has are left out if this is not a difference: dlt's own tables (one dataset may
    serve several schemas, and not every destination stores them as tables), and tables that wait for data.
    """
    filled_tables = {name for name, table in schema.tables.items() if table.normalizer_hint("seen-data")}
    tables = {
        name: Table(name, {column.name: Column(column.name, stored(column)) for column in typed_columns(table)})
        for name, table in schema.tables.items()
        if typed_columns(table)
        if name in other.tables
        or not (table.name.lower().startswith("_dlt_") or (filled_tables and name not in filled_tables))
    }
    return Schema(name=schema.name, tables=tables)


def has_type(column: Column) -> bool:
    """Return whether a destination can have the column: it has a data type, or a database's native type.

    dlt only knows data types (``Column.is_complete``): loads omit other columns, migrations create them.
    """
    return column.is_complete or (bool(column.name) and column.properties.get(DATABASE_TYPE) is not None)


def typed_columns(table: Table) -> list[Column]:
    """Return the columns of a table that a destination can have, in their order."""
    return list(filter(has_type, table.columns.values()))


def description_of(of: Column | Table) -> str | None:
    """Return the description of a column or a table without NUL, which databases reject; None without a description."""
    text = of.properties.get("description")
    return text.replace("\0", "") or None if isinstance(text, str) else None


def with_descriptions(structure: Schema, schema: Schema) -> Schema:
    """Return the structure from a catalog with the schema's descriptions."""
    tables = {}
    for name, table in structure.tables.items():
        described = schema.tables[name]
        columns = {
            key: replace(column, properties={**column.properties, **_description(described.columns[key])})
            for key, column in table.columns.items()
        }
        tables[name] = replace(table, columns=columns, properties={**table.properties, **_description(described)})
    return replace(structure, tables=tables)


def _description(of: Column | Table) -> Properties:
    text = description_of(of)
    return {} if text is None else {"description": text}
