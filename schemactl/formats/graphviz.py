"""Graphviz's DOT: a box for each table, an arrow for each relation. Only written.

https://graphviz.org/doc/info/lang.html; ``dot -Tsvg`` draws it.
"""

from __future__ import annotations

from html import escape
from typing import Final

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._relations import relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.schema.types import Column, Schema, Table

ENDINGS: Final = (".dot", ".gv")


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return what the picture does not show: it has primary keys, types and relations."""
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
    for each in relations_of(schema):
        label = f" [label={_quoted(each.label)}]" if each.label else ""
        ours = _end(schema.tables[each.table], each.columns)
        lines.append(f"    {ours} -> {_end(schema.tables[each.other], each.other_columns)}{label}")
    return "\n".join((*lines, "}")) + "\n"


def _label(table: Table) -> str:
    head = f'<tr><td bgcolor="#dde6f0" colspan="2"><b>{escape(table.name)}</b></td></tr>'
    rows = (_row(number, column) for number, column in enumerate(table.columns.values()))
    return f'<table border="0" cellborder="1" cellspacing="0" cellpadding="4">{head}{"".join(rows)}</table>'


def _row(number: int, column: Column) -> str:
    name = escape(column.name) + ("" if column.nullable else "*")
    shown = f"<u>{name}</u>" if column.properties.get("primary_key") else name
    return (
        f'<tr><td align="left" port="c{number}">{shown}</td><td align="left">{escape(type_in_words(column))}</td></tr>'
    )


def _end(table: Table, columns: tuple[str, ...]) -> str:
    names = list(table.columns)
    return _quoted(table.name) + (f":c{names.index(columns[0])}" if columns and columns[0] in names else "")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
