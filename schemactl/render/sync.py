"""What ``schemactl sync`` prints: what an edit of an import file changes, and what it drops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schemactl.render.changes import describe, place
from schemactl.render.console import ERROR, NAME, WARNING, Look, indented, print_sections
from schemactl.render.harmless import escape, show_name
from schemactl.render.reviews.json import change_document
from schemactl.schema.takeover import Synced
from schemactl.schema.types import Schema


def print_sync(found: Sequence[Synced], look: Look) -> str:
    """Return a section for each schema whose import file was edited; quiet, only what was not written."""
    pending = [each for each in found if each.is_pending]
    if look.is_quiet:
        return print_sections([[line for each in pending for line in _not_written(each)]], look)
    if not pending:
        return print_sections([[Text("up to date")]], look)
    return print_sections([list(_section(each, look)) for each in pending], look)


def question(found: Sequence[Synced]) -> str:
    """Return what is asked before columns that data brought are dropped."""
    names = [f"`{name}`" for each in found for name in each.dropped]
    return f"drop {', '.join(names)}, which data brought"


def sync_document(found: Sequence[Synced]) -> dict[str, Any]:
    """Return what ``schemactl sync --format json`` prints."""
    return {
        "schemas": [
            {
                "name": each.after.name,
                "before": _version(each.before) if each.before else None,
                "after": _version(each.after),
                "is_pending": each.is_pending and not each.written,
                "changes": [change_document(change) for change in each.changes],
                "dropped": list(each.dropped),
                "open_questions": list(each.open_questions),
                "written": list(each.written),
            }
            for each in found
        ]
    }


def _version(schema: Schema) -> dict[str, Any]:
    return {"version": schema.version, "hash": schema.version_hash}


def _section(each: Synced, look: Look) -> Iterator[RenderableType]:
    before, after = each.before, each.after
    line = Text().append(show_name(after.name), style=NAME)
    if before is None:
        yield line.append(f": new schema, version {after.version}, hash {escape(after.version_hash)}")
    else:
        versions = f"version {before.version} -> {after.version}"
        yield line.append(f": {versions}, hash {escape(before.version_hash)} -> {escape(after.version_hash)}")
    for change in each.changes:
        name = ".".join(part for part in place(change) if part)
        text = Text(escape(f"{name}: {describe(change)}" if name else describe(change)))
        is_dropped = name in each.dropped
        text.append(" (data brought it)" if is_dropped else "", style=WARNING)
        # A padding fills lines up to the width, which is a million where other programs read: that takes long.
        yield Text("  ").append(text) if look.width is None else indented(text)
    if each.written:
        yield Text(escape(f"wrote {', '.join(each.written)}"))
    else:
        yield from _not_written(each)


def _not_written(each: Synced) -> Iterator[Text]:
    for question in each.open_questions:
        yield Text("not taken over", style=ERROR).append(escape(f": {question}"), style="default")
    if each.open_questions:
        yield Text(f"only data can say: `schemactl infer SOURCE --name {each.after.name}`")
    elif not each.written:
        yield Text(f"{show_name(each.after.name)}: the import file was edited and is not taken over", style=WARNING)
