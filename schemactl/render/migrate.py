"""Renders ``schemactl migrate`` for a person: plans, runs, scripts, rollbacks, and the state of a destination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from schemactl.migration.cautions import caution
from schemactl.migration.own import When
from schemactl.migration.plan import MigrationPlan, Place
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import (
    ApplyReport,
    BaselineReport,
    BlockerKind,
    CleanReport,
    Counted,
    Outcome,
    PastRun,
    PlanBlocker,
    PlanReport,
    RollbackReport,
    SchemaThere,
    StatusReport,
    UndoneStep,
)
from schemactl.migration.steps import DropColumn, DropTable, column_of, table_of
from schemactl.migration.verification import Disagreement, Misplaced, OddValues, VerifyReport
from schemactl.render import plan_words as words
from schemactl.render.changes import describe, full_name
from schemactl.render.console import ERROR, FAINT, WARNING, Look, indented, print_sections, warning
from schemactl.render.harmless import escape
from schemactl.render.plan import print_plan
from schemactl.review.wording import counted
from schemactl.schema.changes import Change, ColumnAdded

_GOOD: Final = "green"


def print_plan_report(report: PlanReport, look: Look) -> str:
    """Return a plan, what was counted in the data, and what stands against it."""
    sections = [
        list(_plan_counts(report.plan, report.counted)),
        list(_not_undone(report)),
        list(_ledger(report)),
    ]
    sections.append([line for blocker in report.blockers for line in show_blocker(blocker)])
    after = print_sections([section for section in sections if section], look)
    return print_plan(report.plan, look) + (f"\n{after}" if after else "")


def question(plan: MigrationPlan) -> str:
    """Return what a person is asked before a plan is applied."""
    if not plan.steps:
        return f"record this schema in the ledger of {_place(plan.place)}"
    return f"apply {counted(len(plan.steps), 'step')} to {_place(plan.place)}"


def print_applied(report: ApplyReport, look: Look) -> str:
    """Return how ``apply`` has ended; with the plan, where it was not shown for being asked about."""
    plan = report.planned.plan
    match report.outcome:
        case Outcome.DONE:
            lines = [_done(report)]
            if report.copy is not None:
                kept = f"A copy from before is kept until `schemactl migrate clean`: {escape(report.copy)}"
                lines.append(Text(kept))
            return print_sections([lines], look)
        case Outcome.NOTHING:
            return print_plan(plan, look)
        case Outcome.DECLINED:
            return print_sections([[Text("nothing was done")]], look)
        case Outcome.REFUSED:
            line = print_sections([[Text("nothing was done: the plan is refused", style=ERROR)]], look)
            return print_plan_report(report.planned, look) + f"\n{line}"


def show_blocker(blocker: PlanBlocker) -> Iterator[RenderableType]:
    """Yield what stands against a plan, and the way out."""
    is_open = blocker.kind is BlockerKind.DESTRUCTIVE
    yield warning("destructive" if is_open else "refused", escape(blocker.message), WARNING if is_open else ERROR)
    if blocker.hint:
        yield indented(Text(escape(blocker.hint), style=FAINT))


def show_counted(name: str, counted: Counted, what: str) -> Iterator[RenderableType]:
    """Yield how many values stand against a step, and some of them."""
    yield warning("data", f"{escape(name)}: {counted.count:,} {what}", WARNING)
    for example in counted.examples:
        yield indented(Text(escape(example), style=FAINT, overflow="fold"))


def _plan_counts(plan: MigrationPlan, counts: Sequence[Counted]) -> Iterator[RenderableType]:
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


def _ledger(report: PlanReport) -> Iterator[RenderableType]:
    """Yield what the ledger says: of an earlier run that stands half done, and whether it names the schema."""
    if report.done is not None:
        left = len(report.plan.steps) - report.done
        verb = "is" if left == 1 else "are"
        message = f"an earlier run has done {report.done:,} of these steps; {left:,} {verb} left"
        yield warning("unfinished", message)
    if not report.plan.steps and not report.is_recorded:
        yield Text("The destination's ledger does not name this schema yet: `apply` records it.", style=FAINT)


def _done(report: ApplyReport) -> Text:
    plan = report.planned.plan
    done = len(plan.steps) - (report.planned.done or 0)
    what = f"applied {counted(done, 'step')} in {report.seconds:.1f} s" if plan.steps else "recorded"
    target = plan.target
    return Text(
        f"{what}: {_place(plan.place)}, has {escape(target.name)} version {target.version}, hash {target.version_hash}",
        style=_GOOD,
    )


_INSIDE: Final = 6


def print_rollback(report: RollbackReport, look: Look) -> str:
    """Return what is to be undone, what the data says of it, and what stands against it."""
    sections: list[Sequence[RenderableType]] = [list(_rollback_head(report))]
    sections += list(_undone_steps(report.steps, look))
    sections.append(list(_rollback_counts(report)))
    sections.append([line for blocker in report.blockers for line in show_blocker(blocker)])
    return print_sections([section for section in sections if section], look)


def print_rolled_back(report: RollbackReport, look: Look) -> str:
    """Return how ``rollback`` has ended; with the steps, where they were not shown for being asked about."""
    match report.outcome:
        case Outcome.DONE:
            where = f"hash {report.after}" if report.after else "no schema"
            line = Text(f"undid {counted(len(report.steps), 'step')}: the ledger names {where}", style=_GOOD)
            return print_sections([[line]], look)
        case Outcome.DECLINED:
            return print_sections([[Text("nothing was done")]], look)
        case _:
            line = Text("nothing was undone", style=ERROR)
            return print_rollback(report, look) + "\n" + print_sections([[line]], look)


def _rollback_head(report: RollbackReport) -> Iterator[RenderableType]:
    before, after = report.before or "no schema", report.after or "no schema"
    yield Text().append(escape(report.name), style="bold").append(f": {before} -> {after}")
    yield indented(Text(f"undoes {counted(len(report.steps), 'step')} in {_place(report.place)}", style=FAINT))


def _undone_steps(steps: Sequence[UndoneStep], look: Look) -> Iterator[list[RenderableType]]:
    """Yield a section for each step; what is run for those that are undone at once stands at the last of them."""
    place = 0
    while place < len(steps):
        group = steps[place : steps[place].done_with or place + 1]
        is_shared = len(group) > 1
        sections = [list(_undone_step(each, () if is_shared else _undo_statements(each, look))) for each in group]
        if is_shared:
            said = words.at_once([each.planned for each in group], [each.number for each in group], is_undo=True)
            sections[-1].append(_inside(Text(said)))
            sections[-1] += [_inside(each) for each in _undo_statements(group[-1], look)]
        yield from sections
        place += len(group)


def _undo_statements(undone: UndoneStep, look: Look) -> list[Text]:
    statements = () if look.is_quiet else undone.planned.undo_statements
    return [Text(f"│ {escape(statement)}", style=FAINT, overflow="fold") for statement in statements]


_WHEN_UNDONE: Final = {When.AFTER: "before", When.INSTEAD: "instead of", When.BEFORE: "after"}
"""Where the undo of own SQL runs, beside what undoes its step."""


def _undone_step(undone: UndoneStep, statements: Sequence[Text]) -> Iterator[RenderableType]:
    planned = undone.planned
    title = f"{undone.number:>3} {words.mark(planned.step)} {escape(words.title(planned.step))}"
    yield Text(title, style="bold")
    style = "" if planned.undo.is_possible else WARNING
    yield _inside(Text(f"undo  {escape(words.undo(planned))}", style=style))
    for statement in statements:
        yield _inside(statement)
    for own in reversed(undone.own):
        if own.undo:
            yield _inside(Text(escape(f"sql   {_WHEN_UNDONE[own.when]} that: `{own.file}`")))
            for text in own.undo:
                yield _inside(Text("\n".join(f"│ {escape(line)}" for line in text.split("\n")), style=FAINT))


def _inside(line: Text) -> Padding:
    return Padding(line, (0, 0, 0, _INSIDE), expand=False)


def _rollback_counts(report: RollbackReport) -> Iterator[RenderableType]:
    steps = [step for each in report.steps for step in each.planned.undo.steps]
    for each in report.counted:
        step = steps[each.number - 1]
        name = ".".join(part for part in (table_of(step), column_of(step)) if part)
        match step:
            case DropTable():
                what = "rows would be dropped"
            case DropColumn():
                what = "values would be dropped"
            case _:
                what = "values do not fit"
        yield from show_counted(f"`{name}`", each, what)


def print_script(report: PlanReport, dialect: str) -> str:
    """Return the statements of a plan as one script."""
    return "".join(f"{line}\n" for line in _script_lines(report, dialect))


def _script_lines(report: PlanReport, dialect: str) -> Iterator[str]:
    target = report.plan.target
    version = f"version {target.version}, hash {target.version_hash}"
    yield from _comment(f"{target.name}, {version}, for {dialect}")
    yield from _comment(
        "No data was looked at. The engine's own cast converts values; one that it would round or cut does not fit."
    )
    for number, planned in enumerate(report.plan.steps, 1):
        yield ""
        yield from _script_step(number, planned)
    for note in report.plan.notes:
        name = f"{note.table}.{note.column}" if note.column is not None else note.table
        yield ""
        yield from _comment(f"{note.kind}: `{name}` {note.message}")
    if not report.plan.steps:
        yield ""
        yield from _comment("Nothing to do.")


def _script_step(number: int, planned: PlannedStep) -> Iterator[str]:
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


_SHORT_HASH = 8
_MOST_RUNS = 5
_WAYS_ON = "`apply` ends it, `rollback` undoes it"


def print_status(report: StatusReport, look: Look) -> str:
    """Return how a destination stands. Quiet: only what is not settled; verbose: all runs, and pending statements."""
    pending = list(_pending(report, look))
    drift = [*_drift(report.drift), *_variants(report.variants)]
    if look.is_quiet:
        return print_sections([section for section in (pending, drift) if section], look)
    sections: list[list[RenderableType]] = [
        list(_state(report)),
        pending,
        drift,
        list(_runs(report.runs, look)),
        [_verdict(report)],
    ]
    return print_sections([section for section in sections if section], look)


def print_verified(report: VerifyReport, look: Look) -> str:
    """Return whether a destination is as its schema says."""
    head: list[RenderableType] = [_title(report.schema, report.place)]
    odd = [line for each in report.odd for line in _odd(each)]
    odd += [line for each in report.disagreements for line in _disagreement(each)]
    odd += [line for each in report.misplaced for line in _misplaced(each)]
    half = list(_half_done(report.unfinished)) if report.unfinished else []
    drift = [*_drift(report.drift), *_variants(report.variants)]
    sections: list[list[RenderableType]] = [[] if look.is_quiet else head, half, drift, odd]
    if not (look.is_quiet and report.is_clean):
        sections.append([_verified(report)])
    return print_sections([section for section in sections if section], look)


def print_baseline(report: BaselineReport, look: Look) -> str:
    """Return what ``baseline`` is to record, or has recorded."""
    head: list[RenderableType] = [_title(report.schema, report.place)]
    blockers = [line for blocker in report.blockers for line in show_blocker(blocker)]
    sections: list[list[RenderableType]] = [head, list(_drift(report.drift)), blockers, [_recorded(report)]]
    return print_sections([section for section in sections if section], look)


def print_kept(report: CleanReport, look: Look) -> str:
    """Return what is kept of what was dropped."""
    head: list[RenderableType] = [Text(_place(report.place), style="bold")]
    return print_sections([[*head, *(indented(Text(escape(name))) for name in report.kept)]], look)


def print_clean(report: CleanReport, look: Look) -> str:
    """Return what ``clean`` has dropped."""
    match report.outcome:
        case Outcome.DONE:
            end = Text(f"{counted(len(report.kept), 'object')} dropped for good.", style=_GOOD)
        case Outcome.NOTHING:
            end = Text("Nothing is kept.", style=_GOOD)
        case _:
            end = Text("Nothing was dropped.")
    kept = [indented(Text(escape(name))) for name in report.kept] if report.outcome is Outcome.DONE else []
    return print_sections([[*kept, end]], look)


def _title(schema: SchemaThere, where: Place) -> Text:
    text = Text().append(escape(schema.name), style="bold")
    text.append(f": version {schema.version}, hash {schema.version_hash}")
    return text.append(f"\n  {_place(where)}", style=FAINT)


def _place(where: Place) -> str:
    return f"{escape(where.origin)}, dataset {escape(where.dataset)}"


def _state(report: StatusReport) -> Iterator[RenderableType]:
    yield Text(_place(report.place), style="bold")
    yield indented(_line("there", report.there))
    if report.target is not None:
        is_same = report.there is not None and report.there.version_hash == report.target.version_hash
        yield indented(Text("wanted  the same", style=FAINT) if is_same else _line("wanted", report.target))


def _line(label: str, schema: SchemaThere | None) -> Text:
    text = Text().append(f"{label:<8}", style=FAINT)
    if schema is None:
        return text.append("no schema: its ledger names none")
    text.append(f"{escape(schema.name)} version {schema.version}, hash {schema.version_hash}")
    return text.append(f", since {_time(schema.at)}", style=FAINT) if schema.at else text


def _pending(report: StatusReport, look: Look) -> Iterator[RenderableType]:
    if report.planned is None or not report.planned.plan.steps:
        return
    planned = report.planned
    done = planned.done
    left = len(planned.plan.steps) - (done or 0)
    if done is None:
        yield warning("pending", counted(left, "step"))
    else:
        yield warning("unfinished", f"{done:,} of {len(planned.plan.steps):,} steps are done")
    for number, each in enumerate(planned.plan.steps, 1):
        if number <= (done or 0):
            continue
        yield indented(Text(f"{number:>3} {words.mark(each.step)} {escape(words.title(each.step))}"))
        for own in planned.plan.own_of(number):
            yield indented(Text(f"      {escape(words.own(own))}", style=FAINT))
        for statement in each.statements if look.is_verbose else ():
            yield indented(Text(f"      {escape(statement)}", style=FAINT, overflow="fold"))
    for blocker in planned.blockers:
        yield from show_blocker(blocker)


def _drift(changes: Sequence[Change]) -> Iterator[RenderableType]:
    for change in changes:
        name = full_name(change)
        yield warning("drift", escape(f"`{name}`: {describe(change)}"))


def _variants(changes: Sequence[ColumnAdded]) -> Iterator[RenderableType]:
    for change in changes:
        name = escape(f"`{change.table}.{change.column.name}`")
        yield warning("variant", f"{name} takes values that do not fit; the schema does not have it yet")


def _runs(runs: Sequence[PastRun], look: Look) -> Iterator[RenderableType]:
    shown = runs if look.is_verbose else runs[:_MOST_RUNS]
    for run in shown:
        before = f"{run.before[:_SHORT_HASH]}…" if run.before else "nothing"
        yield (
            Text()
            .append(f"{_time(run.started)}  ", style=FAINT)
            .append(
                f"{run.state}: {before} -> {run.after[:_SHORT_HASH]}…, {run.done:,} of {counted(run.steps, 'step')}, "
                f"by {escape(run.who)}"
            )
        )
    if len(runs) > len(shown):
        yield Text(f"... and {counted(len(runs) - len(shown), 'earlier run')} (`--verbose`)", style=FAINT)


def _verdict(report: StatusReport) -> Text:
    if report.is_settled:
        return Text("Settled: nothing is pending, and nothing was changed by hand.", style=_GOOD)
    planned = report.planned.plan.steps if report.planned else ()
    parts = []
    if report.unfinished:
        parts.append(f"a run stands half done ({_WAYS_ON})")
    elif planned:
        parts.append(f"{counted(len(planned), 'step')} pending")
    if report.drift:
        parts.append(f"{counted(len(report.drift), 'change')} by hand, or by others")
    return Text(f"Not settled: {'; '.join(parts)}.", style="bold")


def _half_done(run: PastRun) -> Iterator[RenderableType]:
    yield warning("unfinished", f"{run.done:,} of {counted(run.steps, 'step')} to the schema {run.after} are done")
    yield indented(Text(_WAYS_ON, style=FAINT))


def _odd(odd: OddValues) -> Iterator[RenderableType]:
    of = f" of {counted(odd.rows, 'row')}" if odd.rows else ""
    yield warning("values", escape(f"`{odd.table}.{odd.column}`: {odd.count:,}{of}: {odd.message}"))
    for example in odd.examples:
        yield indented(Text(escape(example), style=FAINT, overflow="fold"))


def _disagreement(found: Disagreement) -> Iterator[RenderableType]:
    yield warning("files", escape(found.message))
    if found.hint:
        yield indented(Text(escape(found.hint), style=FAINT))


def _misplaced(found: Misplaced) -> Iterator[RenderableType]:
    place = found.table if found.column is None else f"{found.table}.{found.column}"
    what = "rows" if found.column is None else "values"
    yield warning("values", escape(f"`{place}` does not hold the {what} of `{found.origin}`, as `x-renamed-from` says"))
    hint = (
        f"state it anew, `x-renamed-from: [{found.origin}]`, and apply that while `{found.origin}` is still there; "
        "where all is right by now, `schemactl migrate baseline` records it"
    )
    yield indented(Text(escape(hint), style=FAINT))


def _verified(report: VerifyReport) -> Text:
    looked = f"{counted(report.tables, 'table')}, values of {counted(report.columns, 'column')}"
    if report.rows < report.all_rows:
        looked += f" in {report.rows:,} of {counted(report.all_rows, 'row')}"
    if report.is_clean:
        return Text(f"Verified: all is as the schema says ({looked}).", style=_GOOD)
    found = len(report.drift) + len(report.variants) + len(report.odd) + len(report.disagreements)
    found += len(report.misplaced)
    half = "A run stands half done; " if report.unfinished else ""
    return Text(f"{half}{counted(found, 'difference')} ({looked}).", style=ERROR)


def _recorded(report: BaselineReport) -> Text:
    match report.outcome:
        case Outcome.DONE:
            tables = counted(report.tables, "table")
            return Text(f"The ledger names this schema as what is there: {tables}, none of them changed.", style=_GOOD)
        case Outcome.NOTHING:
            return Text("Nothing to do: the ledger names this schema already.", style=_GOOD)
        case _:
            return Text("Nothing was recorded.", style="bold")


def _time(at: datetime | None) -> str:
    if at is None:
        return ""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
