"""New and changed tables and columns as a tree for a person, with what the data says for each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from schemactl.inference.evidence import Position
from schemactl.inference.report import (
    ColumnFinding,
    TableFinding,
)
from schemactl.render.changes import describe_type
from schemactl.render.console import FAINT, NAME, Look, indented
from schemactl.render.harmless import escape, quote, show_name, show_sources
from schemactl.review.wording import counted

_NEW, _CHANGED = "green", "yellow"


def show_tables(tables: tuple[TableFinding, ...], look: Look) -> Tree:
    """Return the new and changed tables and columns with their reasons, nested tables below their parents."""
    root = Tree("", hide_root=True, guide_style=FAINT)
    names = {table.name for table in tables}
    for table in tables:
        if table.parent not in names:
            _add_table(root, table, tables, look)
    return root


def _add_table(above: Tree, table: TableFinding, tables: tuple[TableFinding, ...], look: Look) -> None:
    is_top = table.parent not in {each.name for each in tables}
    label = _mark(is_new=table.is_new)
    label.append(show_name(table.name), style=NAME)
    label.append(", new table" if table.is_new else ", table")
    if table.parent is not None and is_top:
        label.append(f" under {show_name(table.parent)}")
    branch = above.add(label)
    for column in _with_variants_beside(table.columns):
        branch.add(_column(column, look))
    if added := [column for column in table.columns if _is_added_by_dlt(column)]:
        names = ", ".join(show_name(column.name) for column in added)
        branch.add(_mark(is_new=True).append(f"{names}: added by dlt", style=FAINT))
    for child in tables:
        if child.parent == table.name:
            _add_table(branch, child, tables, look)


def _is_added_by_dlt(column: ColumnFinding) -> bool:
    return column.is_new and not column.sources


def _with_variants_beside(columns: tuple[ColumnFinding, ...]) -> Iterator[ColumnFinding]:
    """Yield the columns that come from the data in the schema's order, but variants right after what they vary."""
    shown = [column for column in columns if not _is_added_by_dlt(column)]
    names = {column.name for column in shown}
    variants: dict[str, list[ColumnFinding]] = {}
    for column in shown:
        if column.variant_of in names:
            variants.setdefault(column.variant_of or "", []).append(column)
    for column in shown:
        if column.variant_of not in names:
            yield column
            yield from variants.get(column.name, ())


def _column(column: ColumnFinding, look: Look) -> RenderableType:
    line = _mark(is_new=column.is_new)
    line.append(show_name(column.name), style=NAME).append(": ")
    line.append(_why(column))
    if not look.is_verbose:
        return line
    return Group(line, *(indented(Text(detail, style=FAINT)) for detail in _details(column)))


def _mark(is_new: bool) -> Text:
    return Text().append("+ " if is_new else "~ ", style=_NEW if is_new else _CHANGED)


def _why(column: ColumnFinding) -> str:
    """Return what a column is and the evidence for it, on one line."""
    if column.variant_of is not None and column.total:
        first = f", first in {_seen(column.first, column.examples, column)}" if column.first else ""
        are = "is" if column.values == 1 else "are"
        return f"{column.values:,} of {counted(column.total, 'value')} {are} {_data_type(column)}{first}"
    kind = _type(column)
    parts = [kind]
    if column.total:
        is_plain = column.values == column.total and "->" not in kind
        taken = "" if is_plain else f"{column.values:,} of "
        parts.append(f"{taken}{counted(column.total, 'value')}")
    if column.nulls:
        parts.append(counted(column.nulls, "null"))
    # Keys that become one column are absent wherever another of them stands.
    if column.absences and len(column.sources) == 1:
        parts.append(f"absent in {counted(column.absences, 'object')}")
    evidence = ", ".join(parts)
    return f"{evidence}; {escape(column.reason)}" if column.reason else evidence


def _type(column: ColumnFinding) -> str:
    now = _data_type(column)
    if column.before is not None and column.before != column.data_type:
        return f"was {column.before}, now {now}"
    if not column.is_new and column.before is None:
        return f"had no type, now {now}"
    if not column.kinds or set(column.kinds) == {column.data_type}:
        return now
    if len(column.kinds) == 1:
        return f"{next(iter(column.kinds))} -> {now}"
    kinds = " and ".join(f"{kind} ({count:,})" for kind, count in sorted(column.kinds.items()))
    return f"{kinds} -> {now}"


def _data_type(column: ColumnFinding) -> str:
    properties = {"data_type": column.data_type, "precision": column.precision, "scale": column.scale}
    # dlt's timestamps know their time zone: only the others are worth a word.
    return describe_type({**properties, "timezone": False} if column.timezone is False else properties)


def _details(column: ColumnFinding) -> Iterator[str]:
    if column.sources:
        yield f"from {show_sources(column.sources)}"
    if column.first and column.variant_of is None:
        yield f"first in {_seen(column.first, column.examples, column)}"
    if len(column.examples) > 1:
        yield "such as " + ", ".join(_example(text, column) for text in column.examples)
    if column.lengths:
        shortest, longest = column.lengths
        yield ("" if shortest == longest else f"{shortest:,} to ") + counted(longest, "character")
    if column.range:
        yield f"{_number(column.range[0])} to {_number(column.range[1])}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == value // 1 and abs(value) < 2**53 else repr(value)


def _seen(first: Position, examples: tuple[str, ...], column: ColumnFinding) -> str:
    place = escape(str(first))
    return f"{place}: {_example(examples[0], column)}" if examples else place


def _example(text: str, column: ColumnFinding) -> str:
    """Return a value as the data has it: texts in quotes, as far as the kinds distinguish texts from others."""
    is_text = "text" in column.kinds or (not column.kinds and column.data_type == "text")
    is_literal = len(column.kinds) > 1 and reads_as_literal(text)
    return quote(text) if is_text and not is_literal else escape(text)


def reads_as_literal(text: str) -> bool:
    """Return whether a value of the data reads as a number or a bool."""
    try:
        float(text)
    except ValueError:
        return text in ("true", "false")
    return True
