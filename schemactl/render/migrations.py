"""Renders ``schemactl migrate`` with a folder of migrations, for a person and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schemactl.errors import Location
from schemactl.migration.directory import Migration, Problem, json_name, write_migration
from schemactl.migration.plan import MigrationPlan, Place, with_own
from schemactl.migration.reports import (
    CheckReport,
    Compared,
    CompareReport,
    FolderApplyReport,
    FolderStanding,
    NextReport,
    Outcome,
    RebaseReport,
)
from schemactl.render.changes import describe, full_name
from schemactl.render.console import ERROR, FAINT, Look, indented, print_sections, warning
from schemactl.render.harmless import escape
from schemactl.render.migrate import print_plan_report, show_blocker
from schemactl.render.migrate_json import (
    apply_document,
    blockers_document,
    place_document,
    plan_report_document,
    schema_document,
)
from schemactl.render.plan import print_plan
from schemactl.render.reviews.json import change_document
from schemactl.review.wording import counted

_GOOD = "green"


def print_next(report: NextReport, look: Look) -> str:
    """Return what ``plan --dir`` prints: the steps, what stands against them, and the files that were written."""
    if report.migration is None:
        return print_sections([[Text("Nothing to do: the last migration leads to this schema.", style=_GOOD)]], look)
    shown = (
        print_plan_report(report.there, look)
        if report.there is not None
        else "\n".join(print_plan(each, look) for each in plans_of(report.migration))
    )
    known = report.there.blockers if report.there is not None else ()
    lines: list[RenderableType] = [
        line for blocker in report.blockers if blocker not in known for line in show_blocker(blocker)
    ]
    if report.is_written:
        lines.append(Text(f"wrote {escape(report.folder)}/{json_name(report.migration.name)}", style=_GOOD))
    else:
        lines.append(Text("nothing was written: the migration is refused", style=ERROR))
    return f"{shown}\n{print_sections([lines], look)}"


def plans_of(migration: Migration) -> Iterator[MigrationPlan]:
    """Yield a migration as a plan for each of its dialects, in a dataset that is called like the schema."""
    for dialect, plan in migration.plans.items():
        place = Place(dialect, f"{migration.name}, {dialect}", str(migration.schema["name"]))
        unbound = MigrationPlan(place, migration.schema, (), "", plan.steps, plan.notes, migration.mark)
        yield with_own(unbound, plan.own)


def print_checked(report: CheckReport, look: Look, good: str = "sound") -> str:
    """Return what is wrong with a folder; ``good``: what is said where nothing is."""
    if not report.problems:
        line = Text(f"{escape(report.folder)}: {counted(len(report.migrations), 'migration')}, {good}", style=_GOOD)
        return "" if look.is_quiet else print_sections([[line]], look)
    return print_sections([[line for each in report.problems for line in _problem(report.folder, each)]], look)


def _problem(folder: str, problem: Problem) -> Iterator[RenderableType]:
    where = str(Location(f"{folder}/{problem.file}" if problem.file else folder, problem.line))
    yield warning("refused", escape(f"{where}: {problem.message}"), ERROR)
    if problem.hint:
        yield indented(Text(escape(problem.hint), style=FAINT))


def print_rebased(report: RebaseReport, look: Look) -> str:
    """Return which migrations have other numbers now."""
    if not report.moved:
        return print_sections([[Text("Nothing to do: each migration follows the one before it.", style=_GOOD)]], look)
    lines = [Text(f"{before} -> {after}") for before, after in report.moved]
    return print_sections([[*lines, Text(f"the last one leads to the schema {report.schema_hash}", style=_GOOD)]], look)


def print_standings(standings: Sequence[FolderStanding], look: Look) -> str:
    """Return how far destinations have come."""
    shown = [each for each in standings if not (look.is_quiet and each.is_settled)]
    return print_sections([list(_standing(each)) for each in shown], look)


def _standing(standing: FolderStanding) -> Iterator[RenderableType]:
    yield Text(f"{escape(standing.place.origin)}, dataset {escape(standing.place.dataset)}", style="bold")
    yield indented(Text().append("at      ", style=FAINT).append(standing.at or "no migration yet"))
    for number, name in enumerate(standing.pending):
        label = "unfinished" if not number and standing.is_unfinished else "pending"
        yield indented(warning(label, name))
    if standing.blocker is not None:
        yield from (indented(line) if isinstance(line, Text) else line for line in show_blocker(standing.blocker))
    elif not standing.pending:
        yield indented(Text("nothing is pending", style=_GOOD))


def print_pending(report: FolderApplyReport, look: Look) -> str:
    """Return what ``apply --dir`` is to do."""
    parts = [print_standings([report.standing], look)]
    if report.next is not None:
        parts.append(print_plan_report(report.next, look))
    parts += [print_plan(plan, look) for plan in report.later]
    return "\n".join(part for part in parts if part)


def print_folder_applied(report: FolderApplyReport, look: Look) -> str:
    """Return how ``apply --dir`` has ended."""
    match report.outcome:
        case Outcome.NOTHING:
            return print_standings([report.standing], look)
        case Outcome.DECLINED:
            return print_sections([[Text("nothing was done")]], look)
        case _:
            pass
    lines: list[RenderableType] = []
    for name, each in zip(report.standing.pending, report.applied, strict=False):
        if each.is_refused:
            lines += [line for blocker in each.planned.blockers for line in show_blocker(blocker)]
            lines.append(Text(f"{name}: refused, and nothing of it was done; those before it are kept", style=ERROR))
        else:
            steps = counted(len(each.planned.plan.steps), "step")
            lines.append(Text(f"{name}: applied {steps} in {each.seconds:.1f} s", style=_GOOD))
    if not report.applied:
        shown = print_pending(report, look)
        return f"{shown}\n" + print_sections([[Text("nothing was done: it is refused", style=ERROR)]], look)
    return print_sections([lines], look)


def folder_question(report: FolderApplyReport) -> str:
    """Return what a person is asked before migrations of a folder are applied."""
    place = report.standing.place
    what = counted(len(report.standing.pending), "migration")
    return f"apply {what} to {escape(place.origin)}, dataset {escape(place.dataset)}"


def next_document(report: NextReport) -> dict[str, Any]:
    """Return what ``plan --dir`` prints as JSON."""
    return {
        "folder": report.folder,
        "is_written": report.is_written,
        "migration": json.loads(write_migration(report.migration)) if report.migration is not None else None,
        "there": plan_report_document(report.there) if report.there is not None else None,
        "refusals": blockers_document(report.blockers),
    }


def checked_document(report: CheckReport) -> dict[str, Any]:
    """Return what ``check`` and ``hash`` print as JSON."""
    return {
        "folder": report.folder,
        "migrations": list(report.migrations),
        "problems": [
            {"file": each.file, "line": each.line, "message": each.message, "hint": each.hint}
            for each in report.problems
        ],
    }


def rebased_document(report: RebaseReport) -> dict[str, Any]:
    """Return what ``rebase`` prints as JSON."""
    return {
        "folder": report.folder,
        "moved": [{"before": before, "after": after} for before, after in report.moved],
        "schema_hash": report.schema_hash,
    }


def standings_document(folder: str, standings: Sequence[FolderStanding]) -> dict[str, Any]:
    """Return what ``status --dir`` prints as JSON."""
    return {
        "folder": folder,
        "is_settled": all(each.is_settled for each in standings),
        "destinations": [_standing_document(each) for each in standings],
    }


def folder_apply_document(folder: str, report: FolderApplyReport) -> dict[str, Any]:
    """Return what ``apply --dir`` prints as JSON."""
    names = report.standing.pending
    return {
        "folder": folder,
        "outcome": str(report.outcome),
        "before": _standing_document(report.standing),
        "next": plan_report_document(report.next) if report.next is not None else None,
        "applied": [
            {"migration": name, **apply_document(each)} for name, each in zip(names, report.applied, strict=False)
        ],
    }


def _standing_document(standing: FolderStanding) -> dict[str, Any]:
    return {
        "place": place_document(standing.place),
        "there": schema_document(standing.there) if standing.there is not None else None,
        "at": standing.at,
        "pending": list(standing.pending),
        "is_unfinished": standing.is_unfinished,
        "is_settled": standing.is_settled,
        "blocker": blockers_document([standing.blocker])[0] if standing.blocker is not None else None,
    }


def print_compared(report: CompareReport, look: Look) -> str:
    """Return how two destinations differ."""
    sections: list[list[RenderableType]] = [] if look.is_quiet else [list(_compared(each)) for each in _sides(report)]
    changes: list[RenderableType] = [
        warning("differs", escape(f"`{full_name(change)}`: {describe(change)}")) for change in report.changes
    ]
    if changes:
        sections.append(changes)
    if report.is_same:
        sections.append([Text("The same schema, and the same tables.", style=_GOOD)])
    elif report.changes:
        sections.append([Text(f"{counted(len(changes), 'difference')}, from the first to the second.", style="bold")])
    else:
        sections.append([Text("The same tables; their ledgers name different schemas.", style="bold")])
    return print_sections(sections, look)


def _sides(report: CompareReport) -> tuple[Compared, Compared]:
    return report.base, report.head


def _compared(side: Compared) -> Iterator[RenderableType]:
    yield Text(f"{escape(side.place.origin)}, dataset {escape(side.place.dataset)}", style="bold")
    there = side.there
    what = f"version {there.version}, hash {there.version_hash}" if there is not None else "no schema"
    at = f", migration {side.migration}" if side.migration is not None else ""
    yield indented(Text(f"{what}{escape(at)}"))


def compared_document(report: CompareReport) -> dict[str, Any]:
    """Return what ``compare`` prints as JSON."""
    sides = [
        {
            "place": place_document(each.place),
            "there": schema_document(each.there) if each.there is not None else None,
            "migration": each.migration,
        }
        for each in _sides(report)
    ]
    return {
        "is_same": report.is_same,
        "base": sides[0],
        "head": sides[1],
        "changes": [change_document(change) for change in report.changes],
    }
