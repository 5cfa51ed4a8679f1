"""Graphviz's DOT: a box for each table, an arrow for each relation. Only written.

https://graphviz.org/doc/info/lang.html; ``dot -Tsvg`` draws it.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._relations import relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Column, Schema, Table

ENDINGS: Final = (".dot", ".gv")

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that keep Graphviz from drawing a label."""

_SEQUENCE: Final = re.compile(r"\\(?=[A-Za-z])")
"""Sequences such as backslash-N, which means the name of the node in labels of HTML too."""


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the losses of the picture, which has primary keys, types and relations."""
    return unstated(schema, ("primary_key", "parent", "references", "nullable"))


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the graph of the tables of a schema; columns that are never null are marked with ``*``."""
    lines = [
        f"digraph {_quoted(schema.name)} {{",
        "    graph [rankdir=LR]",
        '    node [shape=plain, fontname="Helvetica"]',
        '    edge [fontname="Helvetica", fontsize=10]',
    ]
    lines += [f"    {_quoted(table.name)} [label=<{_label(table)}>]" for table in data_tables(schema)]
    for relation in relations_of(schema):
        # Graphviz reads references to characters in the label of an edge, but not in names.
        label = f" [label={_quoted(escape(relation.label, quote=False))}]" if relation.label else ""
        origin = _end(schema.tables[relation.table], relation.columns)
        lines.append(f"    {origin} -> {_end(schema.tables[relation.other], relation.other_columns)}{label}")
    return "\n".join((*lines, "}")) + "\n"


def _label(table: Table) -> str:
    head = f'<tr><td bgcolor="#dde6f0" colspan="2"><b>{_html(table.name)}</b></td></tr>'
    rows = (_row(number, column) for number, column in enumerate(table.columns.values()))
    return f'<table border="0" cellborder="1" cellspacing="0" cellpadding="4">{head}{"".join(rows)}</table>'


def _row(number: int, column: Column) -> str:
    name = _html(column.name) + ("" if column.nullable else "*")
    label = f"<u>{name}</u>" if column.properties.get("primary_key") else name
    of = _html(type_in_words(column))
    return f'<tr><td align="left" port="c{number}">{label}</td><td align="left">{of}</td></tr>'


def _end(table: Table, columns: tuple[str, ...]) -> str:
    names = list(table.columns)
    return _quoted(table.name) + (f":c{names.index(columns[0])}" if columns and columns[0] in names else "")


def _html(text: str) -> str:
    """Return text for a label in HTML; a zero-width space keeps ``_SEQUENCE`` from being replaced by a node's name."""
    return escape(_SEQUENCE.sub("\\\\\u200b", _printable(text)))


def _printable(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _quoted(text: str) -> str:
    return '"' + _printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
