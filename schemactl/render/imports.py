"""What ``schemactl import`` prints: what changed in the schema, what was forbidden, what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schemactl.render.changes import describe, place
from schemactl.render.harmless import escape
from schemactl.render.reviews.json import change_document
from schemactl.schema.changes import Change
from schemactl.schema.judgement import Violation
from schemactl.schema.types import Schema


def print_import(
    before: Schema | None,
    after: Schema,
    changes: Sequence[Change],
    violations: Sequence[Violation],
    written: Sequence[str],
) -> str:
    """Return what was imported, a line for each change.

    Args:
        before: the schema as it was stored, None where there was none.
        after: the schema as it is stored now, or would be.
        changes: what lies between the two.
        violations: what the stored schema's contract forbids.
        written: the files written; none where nothing was to be written.
    """
    return "".join(f"{escape(line)}\n" for line in _lines(before, after, changes, violations, written))


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


def _lines(
    before: Schema | None,
    after: Schema,
    changes: Sequence[Change],
    violations: Sequence[Violation],
    written: Sequence[str],
) -> Iterator[str]:
    if before is None:
        columns = sum(len(table.columns) for table in after.tables.values())
        yield f"{after.name}: new schema, {len(after.tables)} tables, {columns} columns, hash {after.version_hash}"
    elif not changes:
        yield f"{after.name}: no changes"
    else:
        yield (
            f"{after.name}: version {before.version} -> {after.version}, "
            f"hash {before.version_hash} -> {after.version_hash}"
        )
        yield from (f"  {_where(change)}{describe(change)}" for change in changes)
    for violation in violations:
        thing = ".".join(part for part in (violation.table, violation.column) if part)
        yield (
            f"contract: `{thing}`: {violation.entity} is {violation.mode}, expected {violation.expected}, "
            f"found {violation.found}"
        )
    if violations:
        yield "nothing was written"
    elif written:
        yield f"wrote {', '.join(written)}"


def _where(change: Change) -> str:
    name = ".".join(part for part in place(change) if part)
    return f"{name}: " if name else ""
