"""What ``schemactl import`` prints: what changed in the schema, what was forbidden, what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schemactl.render.changes import describe, place
from schemactl.render.console import ERROR, NAME, Look, counted, indented, print_sections
from schemactl.render.harmless import escape, show_name
from schemactl.render.reviews.json import change_document
from schemactl.schema.changes import Change
from schemactl.schema.contract import system_prefix
from schemactl.schema.judgement import Violation
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema


def print_import(
    before: Schema | None,
    after: Schema,
    changes: Sequence[Change],
    violations: Sequence[Violation],
    written: Sequence[str],
    look: Look,
) -> str:
    """Return what was imported, a line for each change; quiet, only what a contract forbids and what is pending.

    Args:
        before: the schema as it was stored, None where there was none.
        after: the schema as it is stored now, or would be.
        changes: what lies between the two.
        violations: what the stored schema's contract forbids.
        written: the files written; none where nothing was to be written.
        look: how it is printed.
    """
    refused = [*map(_violation, violations), *_nothing_written(before, changes, violations, written)]
    if look.is_quiet:
        return print_sections([refused], look)
    lines = [_headline(before, after, changes), *(_change(change, look) for change in changes if before), *refused]
    if written:
        lines.append(Text(escape(f"wrote {', '.join(written)}")))
    return print_sections([lines], look)


def import_document(
    before: Schema | None,
    after: Schema,
    changes: Sequence[Change],
    violations: Sequence[Violation],
    written: Sequence[str],
) -> dict[str, Any]:
    """Return what ``schemactl import --format json`` prints; the arguments are those of ``print_import``."""
    return {
        "name": after.name,
        "before": _version(before) if before else None,
        "after": _version(after),
        "changes": [change_document(change) for change in changes],
        "violations": [
            {
                "table": violation.table,
                "column": violation.column,
                "entity": str(violation.entity),
                "mode": str(violation.mode),
                "expected": violation.expected,
                "found": violation.found,
            }
            for violation in violations
        ],
        "written": list(written),
    }


def _version(schema: Schema) -> dict[str, Any]:
    return {"version": schema.version, "hash": schema.version_hash}


def _headline(before: Schema | None, after: Schema, changes: Sequence[Change]) -> Text:
    line = Text().append(show_name(after.name), style=NAME)
    if before is None:
        return line.append(f": new schema, {_size(after)}, hash {escape(after.version_hash)}")
    if not changes:
        return line.append(": no changes")
    versions = f"version {before.version} -> {after.version}"
    return line.append(f": {versions}, hash {escape(before.version_hash)} -> {escape(after.version_hash)}")


def _size(schema: Schema) -> str:
    """Return how many tables and columns a schema has; dlt's own tables, which each schema has, do not count."""
    prefix = system_prefix(naming_of(schema))
    own = [table for name, table in schema.tables.items() if not name.startswith(prefix)]
    return f"{counted(len(own), 'table')}, {counted(sum(len(table.columns) for table in own), 'column')}"


def _change(change: Change, look: Look) -> RenderableType:
    line = Text(escape(f"{_where(change)}{describe(change)}"))
    # A padding fills lines up to the width, which is a million where other programs read: that takes long.
    return Text("  ").append(line) if look.width is None else indented(line)


def _violation(violation: Violation) -> Text:
    thing = ".".join(part for part in (violation.table, violation.column) if part)
    what = f"{violation.entity} is {violation.mode}, expected {violation.expected}, found {violation.found}"
    return Text("contract", style=ERROR).append(escape(f": `{thing}`: {what}"), style="default")


def _nothing_written(
    before: Schema | None, changes: Sequence[Change], violations: Sequence[Violation], written: Sequence[str]
) -> Iterator[Text]:
    if violations:
        yield Text("nothing was written")
    elif (before is None or changes) and not written:
        yield Text("nothing written: the schema would change")


def _where(change: Change) -> str:
    name = ".".join(part for part in place(change) if part)
    return f"{name}: " if name else ""
