"""A data dictionary in GitHub's Markdown, only written: all that tables and columns state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._readers import ReadersByColumn, readers_in_words
from schemactl.formats._relations import hints_in_words, relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Schema

ENDINGS: Final = (".md", ".markdown")
SHOWS_READERS: Final = True


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the losses of the dictionary: the settings of the schema."""
    return tuple(loss for loss in unstated(schema, ("description",)) if not loss.path)


def write(
    schema: Schema,
    path: str | None = None,  # noqa: ARG001 - one form for all endings
    readers: ReadersByColumn | None = None,
) -> str:
    """Return the data dictionary of a schema, with a column for readers if they are known."""
    headings = ["column", "type", "null", "hints", "description", *([] if readers is None else ["readers"])]
    relations = list(relations_of(schema))
    sections = [f"# {_text(schema.name)}", *([_text(schema.description)] if schema.description else [])]
    for table in data_tables(schema):
        sections.append(f"## {_text(table.name)}")
        if table.properties.get("description"):
            sections.append(_text(table.properties["description"]))
        facts = [f"- {_text(hint)}" for hint in hints_in_words(table)]
        facts += [
            f"- {_text(', '.join(relation.columns) or table.name)} → {_text(relation.other)}"
            + (f" ({_text(', '.join(relation.other_columns))})" if relation.other_columns else "")
            for relation in relations
            if relation.table == table.name
        ]
        if facts:
            sections.append("\n".join(facts))
        rows = []
        for name, column in table.columns.items():
            cells = [name, type_in_words(column), "yes" if column.nullable else "no", ", ".join(hints_in_words(column))]
            cells.append(column.properties.get("description") or "")
            cells += [] if readers is None else [readers_in_words(readers.get((table.name, name)))]
            rows.append(_row(cells))
        if rows:
            sections.append("\n".join((_row(headings), f"|{' --- |' * len(headings)}", *rows)))
    return "\n\n".join(sections) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    """Return a text as itself: on one line, without markup of Markdown, HTML, or Jinja (mkdocs-macros, Jekyll)."""
    plain = escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_{}\[\]#|~]|(?<=\{)%)", r"\\\1", plain)
