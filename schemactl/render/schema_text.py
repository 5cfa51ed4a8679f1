"""Schemas at a glance: their tables as a tree of nesting, with columns, types and keys, and their files' content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from schemactl.formats._readers import ReaderNames, ReadersByColumn, readers_in_words
from schemactl.formats._tables import data_tables
from schemactl.inference.lineage import Sources
from schemactl.render.console import FAINT, NAME, WARNING, Look, named, print_sections
from schemactl.render.escaping import escape, show_name, show_sources
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema, Table
from schemactl.schema.wording import counted, describe_column, describe_promotion

_SHOWN = ("write_disposition", "x-merge-strategy", "schema_contract", "table_format")


Shown = tuple[Schema, str, Sources]
"""A schema, its origin, and where its tables and columns come from; tables of a destination may have no hash."""


ReadersBySchema: TypeAlias = Mapping[str, ReadersByColumn]
"""The readers of columns by the schema's name."""


def print_schemas(schemas: Sequence[Shown], look: Look, readers: ReadersBySchema | None = None) -> str:
    """Return the text of ``schemactl show``. Verbose: dlt's own tables and columns too."""
    readers = readers or {}
    sections = [list(_schema(*shown_schema, look, readers.get(shown_schema[0].name, {}))) for shown_schema in schemas]
    return print_sections(sections, look)


def schemas_document(schemas: Sequence[Shown], readers: ReadersBySchema | None = None) -> dict[str, Any]:
    """Return the JSON document of ``schemactl show``."""
    readers = readers or {}
    return {
        "schemas": [
            {
                "name": schema.name,
                "version": schema.version if schema.version_hash else None,
                "hash": schema.version_hash or None,
                "origin": origin,
                "tables": [
                    _table_document(table, sources, readers.get(schema.name, {})) for table in schema.tables.values()
                ],
            }
            for schema, origin, sources in schemas
        ]
    }


def print_list(listed_schemas: Sequence[tuple[Schema, bool]], look: Look) -> str:
    """Return a line for each schema, with a mark if its import file waits for ``sync``."""
    lines = [named(schema.name, f"version {schema.version}, {describe_size(schema)}") for schema, _ in listed_schemas]
    for line, (_, is_pending) in zip(lines, listed_schemas, strict=True):
        line.append(", import edit not applied" if is_pending else "", style=WARNING)
    return print_sections([lines], look)


def list_document(listed_schemas: Sequence[tuple[Schema, bool]]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl list``."""
    return {
        "schemas": [
            {
                "name": schema.name,
                "version": schema.version,
                "hash": schema.version_hash,
                "tables": len(list(data_tables(schema))),
                "columns": sum(len(table.columns) for table in data_tables(schema)),
                "is_pending": is_pending,
            }
            for schema, is_pending in listed_schemas
        ]
    }


def describe_size(schema: Schema) -> str:
    """Return how many tables and columns a schema has; dlt's own tables, which each schema has, do not count."""
    tables = list(data_tables(schema))
    columns = sum(len(table.columns) for table in tables)
    return f"{counted(len(tables), 'table')}, {counted(columns, 'column')}"


def _schema(
    schema: Schema, origin: str, sources: Sources, look: Look, readers: ReadersByColumn
) -> Iterator[RenderableType]:
    size = ", ".join(filter(None, (describe_size(schema), describe_promotion(schema.settings))))
    versioned = f"version {schema.version}, {size}, hash {schema.version_hash}"
    yield named(schema.name, versioned if schema.version_hash else size)
    yield Text(f"  {escape(origin)}", style=FAINT)
    prefix = system_prefix(naming_of(schema))
    tree = Tree("", hide_root=True, guide_style=FAINT)
    branches: dict[str, Tree] = {}
    for table in _parents_first(schema.tables.values() if look.is_verbose else data_tables(schema)):
        above = branches.get(table.parent or "", tree)
        label = _fed(_table(table), sources.get((table.name, None)))
        branches[table.name] = branch = above.add(label, guide_style=FAINT)
        for column in table.columns.values():
            if look.is_verbose or not column.name.startswith(prefix):
                line = Text(f"{show_name(column.name)}: {escape(describe_column(column))}")
                if words := readers_in_words(readers.get((table.name, column.name))):
                    line.append(f", {escape(words)}", style=FAINT)
                branch.add(_fed(line, sources.get((table.name, column.name))))
    if branches:
        yield tree


def _parents_first(tables: Any) -> list[Table]:
    """Return tables sorted so that each comes after its parent."""
    remaining_tables, ordered_tables = {table.name: table for table in tables}, []
    while remaining_tables:
        ordered_tables += [table for table in remaining_tables.values() if table.parent not in remaining_tables]
        remaining_tables = {name: table for name, table in remaining_tables.items() if table.parent in remaining_tables}
    return ordered_tables


def _table(table: Table) -> Text:
    hints = [f"{table.properties[key]}" for key in _SHOWN if isinstance(table.properties.get(key), str)]
    mode = describe_promotion(table.properties)
    facts = ", ".join([*hints, *([mode] if mode else []), counted(len(table.columns), "column")])
    line = Text().append(show_name(table.name), style=NAME).append(f" ({escape(facts)})")
    description = table.properties.get("description")
    return line.append(f"  {escape(description)}", style=FAINT) if isinstance(description, str) else line


def _fed(line: Text, paths: Sequence[str] | None) -> Text:
    return line.append(f" from {show_sources(paths)}", style=FAINT) if paths else line


def _table_document(table: Table, sources: Sources, readers: ReadersByColumn) -> dict[str, Any]:
    return {
        "name": table.name,
        "parent": table.parent,
        "sources": list(sources.get((table.name, None), ())),
        "write_disposition": table.properties.get("write_disposition"),
        "columns": [
            {
                "name": column.name,
                "data_type": str(column.data_type) if column.data_type else None,
                "nullable": column.nullable,
                "sources": list(sources.get((table.name, column.name), ())),
                "readers": _readers_document(readers.get((table.name, column.name))),
                "hints": {
                    key: value for key, value in column.properties.items() if key not in ("data_type", "nullable")
                },
            }
            for column in table.columns.values()
        ],
    }


def _readers_document(readers: ReaderNames | None) -> dict[str, Any] | None:
    return None if readers is None else {"answer": readers.answer, "names": list(readers.names)}
