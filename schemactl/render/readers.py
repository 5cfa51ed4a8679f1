"""Who reads tables and columns, as text, JSON and CSV. CSV of a thousand files is fast: it imports no rich."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from schemactl.render.escaping import escape, show_name
from schemactl.review.readers import Answer, Blindness, ColumnReaders, Reader, ReadersReport, StepReaders, Use

if TYPE_CHECKING:
    from rich.console import RenderableType

    from schemactl.render.console import Look
    from schemactl.render.json import Shown


def describe_reader(reader: Reader) -> str:
    """Return a reader's name in backquotes, with its file and its kind."""
    where = str(reader.location) if reader.location and reader.location.path != reader.name else ""
    kind = f"a {reader.kind}" if reader.kind not in ("query", "model") else ""
    details = escape(", ".join(filter(None, (where, kind))))
    return f"{show_name(reader.name)} ({details})" if details else show_name(reader.name)


# --- text ---


def print_readers(reports: Sequence[ReadersReport], look: Look) -> str:
    """Return a tree of tables, columns and their readers for each schema."""
    from schemactl.render.console import print_sections

    return print_sections([list(_lines(report, look)) for report in reports], look)


def _lines(report: ReadersReport, look: Look) -> Iterator[RenderableType]:
    from rich.text import Text
    from rich.tree import Tree

    from schemactl.render.console import FAINT, NAME, WARNING, first_lines, named, warning
    from schemactl.render.review_words import MOST_READERS

    styles = {Answer.READ: "default", Answer.NOT_READ: FAINT, Answer.UNKNOWN: WARNING}
    counts = Counter(row.answer for row in report.columns if row.column is not None)
    summary = ", ".join(f"{counts[answer]:,} {answer.value}" for answer in Answer if counts[answer])
    yield named(report.schema, f"columns: {summary}" if summary else "no column")
    trees: dict[str, Tree] = {}
    for row in report.columns:
        if row.table not in trees:
            trees[row.table] = Tree(Text(escape(row.table), style=NAME))
        if row.column is None:
            continue
        line = Text(escape(str(row.column)), style=NAME)
        branch = trees[row.table].add(line.append(f": {row.answer.value}", style=styles[row.answer]))
        for line in first_lines(_readers_of(row), Text, look, "reader"):
            branch.add(line)
    yield from trees.values()
    # Readers that may read any table are named once, not below each column.
    anywhere: dict[str, dict[str, None]] = {}
    for blindness in report.readership.blind:
        if blindness.table is None:
            anywhere.setdefault(blindness.reason, {})[show_name(blindness.reader.name)] = None
    for reason, names in anywhere.items():
        first_names = ", ".join(list(names)[:MOST_READERS])
        more = f" and {len(names) - MOST_READERS:,} more" if len(names) > MOST_READERS else ""
        yield warning("cannot tell", f"what {first_names}{more} may read: {escape(reason)}")


def _readers_of(row: ColumnReaders) -> list[str]:
    """Return a line for each reader of a column: its clauses with their lines."""
    lines: dict[Reader, dict[str, None]] = {}
    for use in row.uses:
        line = f"line {use.location.line}" if use.location and use.location.line else ""
        notes = ", ".join(filter(None, (line, "indirect" if use.is_indirect else "")))
        lines.setdefault(use.reader, {})[f"{use.clause.value} ({notes})" if notes else use.clause.value] = None
    texts = [f"{describe_reader(reader)}: {', '.join(uses)}" for reader, uses in lines.items()]
    of_table = (blindness for blindness in row.blind if blindness.table is not None)
    reasons = dict.fromkeys((blindness.reader, blindness.reason) for blindness in of_table)
    return [*texts, *(f"{describe_reader(reader)}: cannot tell, {escape(reason)}" for reader, reason in reasons)]


def print_step_readers(steps: Sequence[StepReaders], look: Look) -> str:
    """Return the readers that the steps of a plan break, a line for each step."""
    from schemactl.render.console import print_sections, warning
    from schemactl.render.review_words import describe_broken

    lines = [warning("readers", f"step {step.number:,} {escape(describe_broken(step.readers))}") for step in steps]
    return print_sections([lines], look)


# --- data ---


_USE_COLUMNS: Final = ("kind", "reader", "clause", "reason", "file", "line", "owner")


def readers_csv(reports: Sequence[ReadersReport]) -> str:
    """Return a row for each use, and a row for each column without readers."""
    text = io.StringIO()
    safe = cache(escape)  # few names occur in many rows
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow((*("schema", "table", "column", "answer"), *_USE_COLUMNS))
    for report in reports:
        for row in report.columns:
            if row.column is None:
                continue
            head = (report.schema, row.table, row.column, row.answer.value)
            places = [(use.reader, use.clause.value, "", use.location) for use in row.uses]
            places += [(item.reader, "", item.reason, item.location) for item in row.blind]
            for reader, clause, reason, location in places:
                file, line = (location.path, location.line) if location else (None, None)
                owner = reader.owner and safe(reader.owner)
                texts = (safe(reader.kind), safe(reader.name), clause, safe(reason), file and safe(file), line, owner)
                sheet.writerow((*head, *texts))
            if not places:
                sheet.writerow((*head, *[None] * len(_USE_COLUMNS)))
    return text.getvalue()


def readers_document(reports: Sequence[ReadersReport]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl readers``."""
    return {"schemas": list(map(_schema, reports))}


def _schema(report: ReadersReport) -> dict[str, Any]:
    readership = report.readership
    readers = dict.fromkeys(use.reader for use in readership.uses)
    readers |= dict.fromkeys(blindness.reader for blindness in readership.blind)
    return {
        "name": report.schema,
        "is_complete": readership.is_complete,
        "columns": [
            {**_plain(row), "cannot_tell": _plain(readership.doubts(row.table, row.column))}
            for row in report.columns
            if row.column is not None
        ],
        "readers": [_with_downstream(reader, readership.downstream.get(reader, ())) for reader in readers],
    }


def step_readers_document(steps: Sequence[StepReaders]) -> list[dict[str, Any]]:
    """Return the readers that the steps of a plan break as JSON data."""
    return list(map(_plain, steps))


def _with_downstream(reader: Reader, downstream: Sequence[Reader], **fields: Any) -> dict[str, Any]:
    return {**_plain(reader), **fields, "downstream": _plain(downstream)}


def _file_and_line(item: Use | Blindness) -> dict[str, Any] | None:
    return None if item.location is None else {"path": item.location.path, "line": item.location.line}


SHOWN: Final[Shown] = {
    "Reader": lambda reader: {
        "kind": reader.kind,
        "name": reader.name,
        "file": reader.location.path if reader.location else None,
        "owner": reader.owner,
    },
    "Use": lambda use: {
        "reader": use.reader.name,
        "column": use.column,
        "clause": use.clause.value,
        "is_computed": use.is_computed,
        "is_indirect": use.is_indirect,
        "location": _file_and_line(use),
    },
    "Blindness": lambda item: {**_plain(item.reader), "reason": item.reason, "location": _file_and_line(item)},
    "Broken": lambda broken: _with_downstream(broken.reader, broken.downstream, uses=_plain(broken.uses)),
    "ColumnReaders": "table column answer uses",
    "StepReaders": "number readers",
}
"""The JSON forms of readers and of their uses."""


def _plain(value: Any) -> Any:
    from schemactl.render.json import document

    return document(value, SHOWN)
