"""What ``schemactl migrate plan`` and ``apply`` print for a person: the plan, what the data says of it, the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from schemactl.migration.plan import MigrationPlan
from schemactl.migration.reports import ApplyReport, Counted, Obstacle, Outcome, PlanReport, Refusal
from schemactl.migration.steps import column_of, table_of
from schemactl.render.console import WARNING, Look, indented, print_sections, warning
from schemactl.render.harmless import escape
from schemactl.render.plan import print_plan
from schemactl.render.review_words import count

FAINT: Final = "dim"
BAD: Final = "bold red"
GOOD: Final = "green"


def print_plan_report(report: PlanReport, look: Look) -> str:
    """Return a plan, what was counted in the data, and what stands against it."""
    sections = [
        list(_counts(report.plan, report.counted)),
        list(_not_undone(report)),
        [*_resumed(report), *_ledger(report)],
    ]
    sections.append([line for refusal in report.refusals for line in show_refusal(refusal)])
    after = print_sections([section for section in sections if section], look)
    return print_plan(report.plan, look) + (f"\n{after}" if after else "")


def question(plan: MigrationPlan) -> str:
    """Return what a person is asked before a plan is applied."""
    where = f"{escape(plan.place.origin)}, dataset {escape(plan.place.dataset)}"
    if not plan.steps:
        return f"record this schema in the ledger of {where}"
    return f"apply {count(len(plan.steps), 'step')} to {where}"


def print_applied(report: ApplyReport, look: Look) -> str:
    """Return how ``apply`` has ended; with the plan, where it was not shown for being asked about."""
    plan = report.planned.plan
    match report.outcome:
        case Outcome.DONE:
            return print_sections([[_done(report)]], look)
        case Outcome.NOTHING:
            return print_plan(plan, look)
        case Outcome.DECLINED:
            return print_sections([[Text("nothing was done")]], look)
        case Outcome.REFUSED:
            line = print_sections([[Text("nothing was done: the plan is refused", style=BAD)]], look)
            return print_plan_report(report.planned, look) + f"\n{line}"


def show_refusal(refusal: Refusal) -> Iterator[RenderableType]:
    """Yield what stands against a plan, and the way out."""
    is_open = refusal.obstacle is Obstacle.DESTRUCTIVE
    yield warning("destructive" if is_open else "refused", escape(refusal.message), WARNING if is_open else BAD)
    if refusal.hint:
        yield indented(Text(escape(refusal.hint), style=FAINT))


def show_counted(name: str, counted: Counted, what: str) -> Iterator[RenderableType]:
    """Yield how many values stand against a step, and some of them."""
    yield warning("data", f"{escape(name)}: {counted.count:,} {what}", WARNING)
    for example in counted.examples:
        yield indented(Text(escape(example), style=FAINT, overflow="fold"))


def _counts(plan: MigrationPlan, counts: Sequence[Counted]) -> Iterator[RenderableType]:
    for each in counts:
        step = plan.steps[each.number - 1].step
        name = ".".join(part for part in (table_of(step), column_of(step)) if part)
        what = "value does not fit" if each.count == 1 else "values do not fit"
        yield from show_counted(f"step {each.number}, `{name}`", each, what)


def _not_undone(report: PlanReport) -> Iterator[RenderableType]:
    for each in report.not_undone:
        step = report.plan.steps[each.number - 1].step
        values, verb = ("value is", "is") if each.count == 1 else ("values are", "are")
        name = escape(f"`{table_of(step)}.{column_of(step)}`")
        yield warning(
            "undo",
            f"step {each.number}, {name}: {each.count:,} {values} kept, but {verb} spelled in another "
            "way once that is undone",
        )
        for example in each.examples:
            yield indented(Text(escape(example), style=FAINT, overflow="fold"))


def _resumed(report: PlanReport) -> Iterator[RenderableType]:
    if report.done is not None:
        left = len(report.plan.steps) - report.done
        verb = "is" if left == 1 else "are"
        message = f"an earlier run has done {report.done:,} of these steps; {left:,} {verb} left"
        yield warning("unfinished", message)


def _ledger(report: PlanReport) -> Iterator[RenderableType]:
    if not report.plan.steps and not report.is_recorded:
        yield Text("The destination's ledger does not name this schema yet: `apply` records it.", style=FAINT)


def _done(report: ApplyReport) -> Text:
    plan = report.planned.plan
    done = len(plan.steps) - (report.planned.done or 0)
    what = f"applied {count(done, 'step')} in {report.seconds:.1f} s" if plan.steps else "recorded"
    target = plan.target
    return Text(
        f"{what}: {escape(plan.place.origin)}, dataset {escape(plan.place.dataset)}, has {escape(target.name)} "
        f"version {target.version}, hash {target.version_hash}",
        style=GOOD,
    )
