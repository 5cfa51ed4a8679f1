"""Renders ``schemactl merge`` and ``merge-driver`` for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from schemactl.render.console import ERROR, WARNING, Look, named, print_line, print_sections
from schemactl.render.escaping import escape
from schemactl.render.files import show_change, show_indented
from schemactl.render.json import Shown, document
from schemactl.schema.branch_merge import MergedFile
from schemactl.schema.wording import counted

_SHOWN: Final[Shown] = {
    "MergedFile": "path is_clean changes conflicts lost_comments fault written text",
    "Conflict": "table column property message base ours theirs",
}


def print_merge(merged: Sequence[MergedFile], look: Look) -> str:
    """Return a section for each file; quiet, only for files with conflicts."""
    files = [file for file in merged if not (look.is_quiet and file.is_clean)]
    return print_sections([list(_section(file, look)) for file in files], look)


def merge_document(merged: Sequence[MergedFile]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl merge`` and ``merge-driver``."""
    return {"files": document(list(merged), _SHOWN)}


def driver_document(merged: Sequence[MergedFile], written: Sequence[str]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl merge-driver``; with ``--install`` no file is merged."""
    return {**merge_document(merged), "written": list(written)}


def print_install(written: Sequence[str], look: Look) -> str:
    """Return the files that the set-up of git changed; quiet, nothing."""
    if look.is_quiet:
        return ""
    if not written:
        return print_line("git calls the merge driver already", look)
    return print_line(f"wrote {', '.join(map(escape, written))}", look)


def _section(file: MergedFile, look: Look) -> Iterator[RenderableType]:
    conflicts = file.conflicts
    if file.text is None:
        yield named(file.path, "deleted, as one side did")
        return
    if file.fault is not None:
        yield named(file.path, "merged line by line, check the whole file")
        yield show_indented(Text(escape(file.fault), style=ERROR), look)
        return
    theirs = counted(len(file.changes), "change") + " from theirs"
    yield named(file.path, f"{theirs}, {counted(len(conflicts), 'conflict')}" if conflicts else f"merged, {theirs}")
    if not look.is_quiet:
        yield from (show_change(change, look) for change in file.changes)
    for conflict in conflicts:
        text = Text("conflict", style=ERROR).append(escape(f": {conflict.message}"), style="default")
        yield show_indented(text, look)
    for comment in file.lost_comments:
        yield show_indented(Text("comment of theirs left out", style=WARNING).append(escape(f": {comment}")), look)
    if file.written is not None and not look.is_quiet:
        yield Text(f"wrote {escape(file.written)}")
    if conflicts:
        yield Text("edit the lines between the markers, then `schemactl fmt` updates version and hash")
