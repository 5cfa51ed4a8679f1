"""Mermaid's entity relationship diagrams, which GitHub, GitLab and many wikis draw. Only written.

https://mermaid.js.org/syntax/entityRelationshipDiagram.html. Mermaid finds directives (``%%{``), entities (``#lt;``)
and HTML in quoted texts too, and has no escapes there: a zero-width space breaks each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._readers import ReadersByColumn, printable
from schemactl.formats._relations import relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Column, Schema

ENDINGS: Final = (".mmd", ".mermaid")
SHOWS_READERS: Final = True

_BREAK: Final = "\u200b"
_SYNTAX: Final = re.compile(r"(?<=%)(?=%)|(?<=#)(?=\w)|(?<=<)(?=[^\s\d=])|(?<=&)(?=#?\w+;)")
"""Places in directives and comments, entities, tags of HTML, and references to characters."""

_KEY: Final = re.compile(r"[pfu]k\b", re.IGNORECASE)
"""Names that a reader could mistake for the mark of a key."""


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the losses of the diagram, which has keys, types, relations and descriptions of columns."""
    property_losses = unstated(schema, ("primary_key", "unique", "parent", "references", "nullable", "description"))
    descriptions = [(table.name, table.properties.get("description")) for table in data_tables(schema)]
    descriptions.append(("", schema.description))
    return (*property_losses, *(Loss(name, "description", text) for name, text in descriptions if text))


def write(
    schema: Schema,
    path: str | None = None,  # noqa: ARG001 - one form for all endings
    readers: ReadersByColumn | None = None,
) -> str:
    """Return the diagram of the tables of a schema, with a line to each reader if they are known."""
    relations = list(relations_of(schema))
    tables = {table.name: table for table in data_tables(schema)}
    uses = _uses(tables, readers or {})
    # A reader can have the name of a table.
    entities = _entities([*((name, None) for name in tables), *((None, reader) for _, reader in uses)])
    lines = ["erDiagram"]
    for table in tables.values():
        foreign = {name for relation in relations if relation.table == table.name for name in relation.columns}
        lines += [f"    {entities[table.name, None]} {{"]
        lines += [f"        {_attribute(column, column.name in foreign)}" for column in table.columns.values()]
        lines += ["    }"]
    for relation in relations:
        label = relation.label or ", ".join(relation.columns) or "nested in"
        sides = f"{entities[relation.other, None]} ||--o{{ {entities[relation.table, None]}"
        lines.append(f"    {sides} : {_quoted(label)}")
    for (table_name, reader), columns in uses.items():
        label = f"reads {', '.join(columns)}"
        lines.append(f"    {entities[table_name, None]} ||..o{{ {entities[None, reader]} : {_quoted(label)}")
    return "\n".join(lines) + "\n"


def _uses(tables: Iterable[str], readers: ReadersByColumn) -> dict[tuple[str, str], list[str]]:
    """Return the columns that each reader reads of each table; columns without a sure answer have a question mark."""
    uses: dict[tuple[str, str], list[str]] = {}
    drawn_tables = frozenset(tables)
    for (table, column), column_readers in readers.items():
        if table in drawn_tables:
            mark = "" if column_readers.answer == "read" else "?"
            for name in column_readers.names:
                uses.setdefault((table, printable(name)), []).append(f"{column}{mark}")
    return uses


_Node: TypeAlias = tuple[str | None, str | None]
"""The name of a table, or that of a reader."""


def _entities(nodes: Iterable[_Node]) -> dict[_Node, str]:
    """Return the names of tables and readers as entities can have them, quoted; no two are the same."""
    entities: dict[_Node, str] = {}
    used_entities = set[str]()
    for node in dict.fromkeys(nodes):
        entity = re.sub(r"[%\\\b]", "_", node[0] or node[1] or "")
        while _quoted(entity) in used_entities:
            entity += "_"
        entities[node] = _quoted(entity)
        used_entities.add(entities[node])
    return entities


def _attribute(column: Column, is_foreign: bool) -> str:
    marks = {"PK": column.properties.get("primary_key"), "FK": is_foreign, "UK": column.properties.get("unique")}
    keys = ", ".join(key for key, is_set in marks.items() if is_set)
    notes = [*(["not null"] if not column.nullable else []), column.properties.get("description") or ""]
    note = _quoted("; ".join(filter(None, notes))) if any(notes) else ""
    # Blanks and commas end a type, other characters are errors.
    of = re.sub(r"[^A-Za-z0-9_()\[\]-]+", "_", type_in_words(column)).strip("_") or "unknown"
    return " ".join(filter(None, (of, _word(column.name), keys, note)))


def _word(name: str) -> str:
    """Return a name as an attribute can have it; letters of other scripts stay."""
    word = re.sub(r"[^\w-]|[\xaa\xb2\xb3\xb5\xb9\xba\xbc-\xbe]", "_", name)
    return f"_{word}" if _KEY.match(word) or not re.match(r"[^\W\d]", word) else word


def _quoted(text: str) -> str:
    plain = _SYNTAX.sub(_BREAK, " ".join(text.split()).replace('"', "'"))
    return f'"{plain}"'
