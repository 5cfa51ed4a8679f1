"""Renders ``schemactl import``, ``sync``, ``edit``, ``accept``, ``check`` and ``fmt`` for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.text import Text

from schemactl.errors import Problem, backquoted
from schemactl.render.changes import describe, full_name
from schemactl.render.console import ERROR, WARNING, Look, indented, named, print_line, print_sections
from schemactl.render.escaping import escape, show_name
from schemactl.render.json import Shown, document
from schemactl.render.schema_text import describe_size
from schemactl.review.report import Finding
from schemactl.schema.changes import Change
from schemactl.schema.judgment import Violation
from schemactl.schema.types import Schema
from schemactl.schema.wording import counted

if TYPE_CHECKING:
    from schemactl.schema.import_merge import Synced

_SHOWN: Final[Shown] = {
    "Imported": "name=after.name before after changes violations written",
    "Synced": "name=after.name before after is_pending changes dropped open_questions written",
    "Accepted": "path until reason accepted",
    "Finding": "rule fingerprint severity schema table column",
    "Edited": "name path changes written is_taken_over",
    "Schema": "version hash=version_hash",
    "Violation": "table column entity mode expected found",
    "Problem": "message location=at hint",
}


def print_import(
    before: Schema | None,
    after: Schema,
    changes: Sequence[Change],
    violations: Sequence[Violation],
    written: Sequence[str],
    look: Look,
) -> str:
    """Return a line for each imported change; quiet, only contract violations and pending changes."""
    warning_lines = [*map(_violation, violations)]
    if violations:
        warning_lines.append(Text("nothing written"))
    elif (before is None or changes) and not written:
        warning_lines.append(Text("nothing written: the schema would change"))
    if look.is_quiet:
        return print_sections([warning_lines], look)
    if before is None:
        head = named(after.name, f"new schema, {describe_size(after)}, hash {escape(after.version_hash)}")
    else:
        head = _versions(before, after) if changes else named(after.name, "no changes")
    lines = [head, *(show_change(change, look) for change in changes if before), *warning_lines]
    if written:
        lines.append(Text(escape(f"wrote {', '.join(written)}")))
    return print_sections([lines], look)


def _versions(before: Schema, after: Schema) -> Text:
    hashes = f"{escape(before.version_hash)} -> {escape(after.version_hash)}"
    return named(after.name, f"version {before.version} -> {after.version}, hash {hashes}")


def show_change(change: Change, look: Look, dropped: Sequence[str] = ()) -> RenderableType:
    """Return an indented line about a change; ``dropped`` are the names that data had added."""
    name = full_name(change)
    line = Text(escape(f"{name}: {describe(change)}" if name else describe(change)))
    if name in dropped:
        line.append(" (from data)", style=WARNING)
    return show_indented(line, look)


def show_indented(line: Text, look: Look) -> RenderableType:
    """Return an indented line."""
    # A padding fills lines up to the width, which is a million if another program reads the output: that is slow.
    return Text("  ").append(line) if look.width is None else indented(line)


def _violation(violation: Violation) -> Text:
    name = ".".join(filter(None, (violation.table, violation.column)))
    rule = f"{violation.entity} is {violation.mode}, expected {violation.expected}, found {violation.found}"
    return Text("contract", style=ERROR).append(escape(f": `{name}`: {rule}"), style="default")


def report_document(report: Any) -> dict[str, Any]:
    """Return the JSON document of ``schemactl import``, ``edit`` and ``accept``."""
    fields: dict[str, Any] = document(report, _SHOWN)
    return fields


def print_sync(synced: Sequence[Synced], look: Look) -> str:
    """Return a section for each schema with an edited import file; quiet, only for unwritten files."""
    pending = [schema for schema in synced if schema.is_pending]
    if look.is_quiet:
        return print_sections([[line for schema in pending for line in _not_written(schema)]], look)
    if not pending:
        return print_line("up to date", look)
    return print_sections([list(_section(schema, look)) for schema in pending], look)


def question(synced: Sequence[Synced]) -> str:
    """Return the question to ask before columns from data are dropped."""
    return f"drop {backquoted(name for schema in synced for name in schema.dropped)}, which came from data"


def sync_document(synced: Sequence[Synced]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl sync``."""
    is_pending = [schema.is_pending and not schema.written for schema in synced]
    documents = zip(document(list(synced), _SHOWN), is_pending, strict=True)
    return {"schemas": [{**fields, "is_pending": pending} for fields, pending in documents]}


def _section(synced: Synced, look: Look) -> Iterator[RenderableType]:
    before, after = synced.before, synced.after
    if before is None:
        yield named(after.name, f"new schema, version {after.version}, hash {escape(after.version_hash)}")
    else:
        yield _versions(before, after)
    yield from (show_change(change, look, synced.dropped) for change in synced.changes)
    if synced.written:
        yield Text(escape(f"wrote {', '.join(synced.written)}"))
    else:
        yield from _not_written(synced)


def _not_written(synced: Synced) -> Iterator[Text]:
    for question in synced.open_questions:
        yield Text("not applied", style=ERROR).append(escape(f": {question}"), style="default")
    if synced.open_questions:
        yield Text(f"this edit needs data: run `schemactl infer SOURCE --name {synced.after.name}`")
    elif not synced.written:
        yield Text(f"{show_name(synced.after.name)}: the import file has unapplied edits", style=WARNING)


def print_check(checked_files: Sequence[tuple[Path, Sequence[Problem]]], look: Look) -> str:
    """Return a line for each problem, and the number of valid files; quiet, only the problems."""
    lines = [line for path, problems in checked_files for problem in problems for line in _problem(path, problem)]
    faulty_count = sum(bool(problems) for _, problems in checked_files)
    if not look.is_quiet:
        end = f"problems in {faulty_count:,}" if faulty_count else "no problem"
        lines.append(Text(f"{counted(len(checked_files), 'file')} checked, {end}"))
    return print_sections([lines], look)


def check_document(checked_files: Sequence[tuple[Path, Sequence[Problem]]]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl check``."""
    return {"files": [{"path": str(path), "problems": document(problems, _SHOWN)} for path, problems in checked_files]}


def print_format(formatted_files: Sequence[tuple[Path, bool]], look: Look, *, is_check: bool) -> str:
    """Return the files that were written, or would be; quiet, only files that would be written."""
    changed = [path for path, is_changed in formatted_files if is_changed]
    word = "would write" if is_check else "wrote"
    lines = [Text(f"{word} {escape(str(path))}") for path in changed] if is_check or not look.is_quiet else []
    if not look.is_quiet and len(changed) < len(formatted_files):
        lines.append(Text(f"{counted(len(formatted_files) - len(changed), 'file')} unchanged"))
    return print_sections([lines], look)


def format_document(formatted_files: Sequence[tuple[Path, bool]]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl fmt``."""
    return {"files": [{"path": str(path), "is_changed": is_changed} for path, is_changed in formatted_files]}


def print_edit(edited: Any, look: Look) -> str:
    """Return the changes of an edit, and the next command; quiet, nothing."""
    if look.is_quiet:
        return ""
    if not edited.written:
        return print_line(f"{escape(edited.path)} already has this content", look)
    lines: list[RenderableType] = [Text("wrote " + ", ".join(map(escape, edited.written)))]
    lines += [show_change(change, look) for change in edited.changes]
    end = f"next: `schemactl sync {edited.name}` applies the edit"
    if not edited.changes:
        end = f"{show_name(edited.name)}: the schema already has this content"
    elif edited.is_taken_over:
        end = f"next: `schemactl migrate plan {edited.name} --to DEST` renames the tables and columns"
    return print_sections([[*lines, Text(escape(end))]], look)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted findings, and the settings file that silences them; None without findings."""

    path: str | None
    until: date
    reason: str
    accepted: tuple[Finding, ...]


def print_accepted(report: Accepted, look: Look) -> str:
    """Return a line for each finding that was accepted."""
    if not report.accepted:
        return print_line("no findings to accept", look)
    lines = []
    for finding in report.accepted:
        path = ".".join(name for name in (finding.table, finding.column) if name is not None) or finding.schema
        line = f"accepted {finding.rule} ({finding.fingerprint}) of {path!r}"
        lines.append(Text(escape(f"{line} until {report.until} in {report.path}")))
    return print_sections([lines], look)


def _problem(path: Path, problem: Problem) -> Iterator[Text]:
    location = str(problem.at or path)
    yield Text(f"{escape(location)}: ").append("error", style=ERROR).append(f": {escape(problem.message)}")
    if problem.hint:
        yield Text(f"  {escape(problem.hint)}")
