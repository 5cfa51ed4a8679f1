"""What ``schemactl migrate plan --dialect D`` prints: a script, with what is to be known of a step as comments."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.migration.cautions import caution
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import PlanReport
from schemactl.render import plan_words as words
from schemactl.render.harmless import escape


def print_script(report: PlanReport, dialect: str) -> str:
    """Return the statements of a plan as one script."""
    return "".join(f"{line}\n" for line in _lines(report, dialect))


def _lines(report: PlanReport, dialect: str) -> Iterator[str]:
    target = report.plan.target
    version = f"version {target.version}, hash {target.version_hash}"
    yield from _comment(f"{target.name}, {version}, for {dialect}")
    yield from _comment(
        "No data was looked at. The engine's own cast converts values; one that it would round or cut does not fit."
    )
    for number, planned in enumerate(report.plan.steps, 1):
        yield ""
        yield from _step(number, planned)
    for note in report.plan.notes:
        name = f"{note.table}.{note.column}" if note.column is not None else note.table
        yield ""
        yield from _comment(f"{note.kind}: `{name}` {note.message}")
    if not report.plan.steps:
        yield ""
        yield from _comment("Nothing to do.")


def _step(number: int, planned: PlannedStep) -> Iterator[str]:
    yield from _comment(f"{number}. {words.title(planned.step)}: {words.risk(planned)}")
    if condition := caution(planned.step):
        yield from _comment(f"   {condition}")
    if not planned.is_possible:
        return
    for statement in planned.statements:
        # A line break or a control character stands in quotes, as part of a name: it must stay.
        yield f"{statement};"


def _comment(text: str) -> Iterator[str]:
    yield f"-- {escape(text)}"
