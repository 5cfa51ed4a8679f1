"""Mermaid's entity relationship diagrams, which GitHub, GitLab and many wikis draw. Only written.

https://mermaid.js.org/syntax/entityRelationshipDiagram.html
"""

from __future__ import annotations

import re
from typing import Final

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._relations import Relation, relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Column, Schema

ENDINGS: Final = (".mmd", ".mermaid")


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return what the diagram does not show: it has keys, types, relations and descriptions of columns."""
    found = unstated(schema, ("primary_key", "unique", "parent", "references", "nullable", "description"))
    own = {table.name: table for table in data_tables(schema)}
    described = (
        Loss(n, "description", t.properties["description"]) for n, t in own.items() if t.properties.get("description")
    )
    return (*found, *described, *((Loss("", "description", schema.description),) if schema.description else ()))


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the diagram of the tables of a schema."""
    relations = list(relations_of(schema))
    lines = ["erDiagram"]
    for table in data_tables(schema):
        foreign = {name for each in relations if each.table == table.name for name in each.columns}
        lines += [f"    {_quoted(table.name)} {{"]
        lines += [f"        {_attribute(column, column.name in foreign)}" for column in table.columns.values()]
        lines += ["    }"]
    return "\n".join((*lines, *(f"    {_relation(each)}" for each in relations))) + "\n"


def _attribute(column: Column, is_foreign: bool) -> str:
    marks = {"PK": column.properties.get("primary_key"), "FK": is_foreign, "UK": column.properties.get("unique")}
    keys = ", ".join(key for key, is_set in marks.items() if is_set)
    notes = [*(["not null"] if not column.nullable else []), column.properties.get("description") or ""]
    note = _quoted("; ".join(filter(None, notes))) if any(notes) else ""
    # Blanks and commas end a type, other characters are errors.
    of = re.sub(r"[^\w()\[\]-]+", "_", type_in_words(column)).strip("_")
    name = column.name if re.fullmatch(r"[A-Za-z_][\w-]*", column.name) else _word(column.name)
    return " ".join(filter(None, (of, name, keys, note)))


def _word(name: str) -> str:
    """Return a name as an attribute can have it; letters of other scripts stay."""
    made = re.sub(r"[^\w-]", "_", name)
    return made if re.match(r"[^\W\d]", made) else f"_{made}"


def _relation(relation: Relation) -> str:
    label = relation.label or ", ".join(relation.columns) or "nested in"
    return f"{_quoted(relation.other)} ||--o{{ {_quoted(relation.table)} : {_quoted(label)}"


def _quoted(text: str) -> str:
    plain = " ".join(text.split())
    return '"' + plain.replace('"', "'") + '"'
