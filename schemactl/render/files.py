"""Renders ``schemactl check`` and ``schemactl fmt`` for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from schemactl.errors import Problem
from schemactl.render.changes import describe, full_name
from schemactl.render.console import ERROR, Look, print_line, print_sections
from schemactl.render.harmless import escape
from schemactl.render.reviews.json import location_document
from schemactl.review.wording import counted
from schemactl.schema.changes import Change


def print_check(found: Sequence[tuple[Path, Sequence[Problem]]], look: Look) -> str:
    """Return a line for each problem, and how many files are right; quiet, the problems alone."""
    lines = [line for path, problems in found for problem in problems for line in _problem(path, problem)]
    wrong = sum(bool(problems) for _, problems in found)
    if not look.is_quiet:
        end = f", {counted(wrong, 'file')} with problems" if wrong else ""
        lines.append(Text(f"{counted(len(found) - wrong, 'file')} checked, no problem{end}"))
    return print_sections([lines], look)


def check_document(found: Sequence[tuple[Path, Sequence[Problem]]]) -> dict[str, Any]:
    """Return what ``schemactl check --format json`` prints."""
    return {
        "files": [
            {
                "path": str(path),
                "problems": [
                    {"message": each.message, "location": location_document(each.at), "hint": each.hint}
                    for each in problems
                ],
            }
            for path, problems in found
        ]
    }


def print_format(found: Sequence[tuple[Path, bool]], look: Look, *, is_check: bool) -> str:
    """Return the files that were written, or would be; quiet, those that would be."""
    changed = [path for path, is_changed in found if is_changed]
    word = "would write" if is_check else "wrote"
    lines = [Text(f"{word} {escape(str(path))}") for path in changed] if is_check or not look.is_quiet else []
    if not look.is_quiet and len(changed) < len(found):
        lines.append(Text(f"{counted(len(found) - len(changed), 'file')} unchanged"))
    return print_sections([lines], look)


def format_document(found: Sequence[tuple[Path, bool]]) -> dict[str, Any]:
    """Return what ``schemactl fmt --format json`` prints."""
    return {"files": [{"path": str(path), "is_changed": is_changed} for path, is_changed in found]}


def print_edit(
    name: str, path: Path, changes: Sequence[Change], look: Look, *, written: Sequence[str], is_taken_over: bool
) -> str:
    """Return what an edit changed in a file, and what comes next; quiet, nothing."""
    if look.is_quiet:
        return ""
    if not changes:
        return print_line(f"{escape(str(path))} states that already", look)
    lines = [Text("wrote " + ", ".join(map(escape, written)))]
    for change in changes:
        where = full_name(change)
        lines.append(Text(escape(f"  {where}: {describe(change)}" if where else f"  {describe(change)}")))
    if is_taken_over:
        lines.append(Text(escape(f"`schemactl migrate plan {name} --to DEST` renames what a destination holds")))
    else:
        lines.append(Text(escape(f"`schemactl sync {name}` takes it over")))
    return print_sections([lines], look)


def _problem(path: Path, problem: Problem) -> Iterator[Text]:
    at = str(problem.at or path)
    yield Text(f"{escape(at)}: ").append("error", style=ERROR).append(f": {escape(problem.message)}")
    if problem.hint:
        yield Text(f"  {escape(problem.hint)}")
