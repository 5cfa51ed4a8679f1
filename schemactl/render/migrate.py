"""Renders ``schemactl migrate`` for a person: plans, runs, scripts, rollbacks, folders of migrations, destinations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from schemactl.errors import Location
from schemactl.migration import reports
from schemactl.migration.custom_sql import When
from schemactl.migration.migration_files import json_name
from schemactl.migration.migration_plan import MigrationPlan, Place
from schemactl.migration.planner import PlannedStep
from schemactl.migration.records import Version
from schemactl.migration.steps import DropColumn, DropTable
from schemactl.render import plan_words as words
from schemactl.render.changes import describe, full_name
from schemactl.render.console import (
    ERROR,
    FAINT,
    WARNING,
    Look,
    indented,
    more,
    print_line,
    print_sections,
    show_hint,
    warning,
)
from schemactl.render.escaping import escape
from schemactl.render.plan import Inside, print_plan
from schemactl.review.wording import short_hash
from schemactl.schema.changes import Change, ColumnAdded
from schemactl.schema.wording import counted

_GOOD: Final = "green"


def print_plan_report(report: reports.PlanReport, look: Look) -> str:
    """Return a plan, the counts of stored values, and its blockers."""
    sections = [list(_plan_counts(report)), list(_ledger(report)), show_blockers(report.blockers)]
    after = print_sections(sections, look)
    return print_plan(report.plan, look) + (f"\n{after}" if after else "")


def question(plan: MigrationPlan) -> str:
    """Return the question to ask before a plan is applied."""
    if not plan.steps:
        return f"record this schema in the ledger of {_address(plan.place)}"
    return f"apply {counted(len(plan.steps), 'step')} to {_address(plan.place)}"


def print_applied(report: reports.ApplyReport, look: Look) -> str:
    """Return the outcome of ``apply``, with the plan if no question showed it before."""
    plan = report.planned.plan
    match report.outcome:
        case reports.Outcome.DONE:
            step_count, target = len(plan.steps) - (report.planned.done or 0), plan.target
            action = f"applied {counted(step_count, 'step')} in {report.seconds:.1f} s" if plan.steps else "recorded"
            state = f"has {escape(target.name)} version {target.version}, hash {target.version_hash}"
            lines = print_line(f"{action}: {_address(plan.place)}, {state}", look, _GOOD)
            if report.copy is not None:
                advice = "A copy from before the run is kept until `schemactl migrate clean`"
                lines += print_line(f"{advice}: {escape(report.copy)}", look)
            return lines
        case reports.Outcome.NOTHING:
            return print_plan(plan, look)
        case reports.Outcome.DECLINED:
            return print_line("nothing changed", look)
        case reports.Outcome.REFUSED:
            line = print_line("plan refused; nothing was changed", look, ERROR)
            return print_plan_report(report.planned, look) + f"\n{line}"


def show_blockers(blockers: Iterable[reports.PlanBlocker]) -> list[RenderableType]:
    """Return the blockers of a plan, each with its hint."""
    lines: list[RenderableType] = []
    for blocker in blockers:
        is_open = blocker.kind is reports.BlockerKind.DESTRUCTIVE
        label, style = ("destructive", WARNING) if is_open else ("refused", ERROR)
        lines += [warning(label, escape(blocker.message), style), *show_hint(blocker.hint)]
    return lines


def _counts(label: str, text: str, examples: Iterable[str]) -> Iterator[RenderableType]:
    """Yield the number of values that block a step, and examples."""
    yield warning(label, escape(text))
    yield from (indented(Text(escape(example), style=FAINT, overflow="fold")) for example in examples)


def _plan_counts(report: reports.PlanReport) -> Iterator[RenderableType]:
    steps = [planned.step for planned in report.plan.steps]
    for unfit_count in report.counted:
        noun = "value does not fit" if unfit_count.count == 1 else "values do not fit"
        name = f"step {unfit_count.number}, `{steps[unfit_count.number - 1].full_name}`"
        yield from _counts("data", f"{name}: {unfit_count.count:,} {noun}", unfit_count.examples)
    for respelled_count in report.not_undone:
        values, verb = ("value is", "is") if respelled_count.count == 1 else ("values are", "are")
        effect = f"{respelled_count.count:,} {values} kept, but {verb} written differently after an undo"
        name = f"step {respelled_count.number}, `{steps[respelled_count.number - 1].full_name}`"
        yield from _counts("undo", f"{name}: {effect}", respelled_count.examples)
    moved_and_widened = (*words.folded(report), *words.widened(report))
    yield from (Text(escape(text), style=FAINT) for _, text in moved_and_widened)


def _ledger(report: reports.PlanReport) -> Iterator[RenderableType]:
    """Yield an unfinished earlier run of the ledger, and whether the ledger names the schema."""
    if report.done is not None:
        remaining = len(report.plan.steps) - report.done
        remainder = f"{remaining:,} {'is' if remaining == 1 else 'are'} left"
        yield warning("unfinished", f"an earlier run completed {report.done:,} of these steps; {remainder}")
    if not report.plan.steps and not report.is_recorded:
        yield Text("The destination's ledger does not have this schema yet; `apply` records it.", style=FAINT)


def print_rollback(report: reports.RollbackReport, look: Look) -> str:
    """Return the steps to undo, the counts of stored values, and the blockers."""
    before, after = report.before or "no schema", report.after or "no schema"
    head = Text().append(escape(report.name), style="bold").append(f": {before} -> {after}")
    undoes = indented(Text(f"undoes {counted(len(report.steps), 'step')} in {_address(report.place)}", style=FAINT))
    ending = (list(_rollback_counts(report)), show_blockers(report.blockers))
    return print_sections([[head, undoes], *_undone_steps(report.steps, look), *ending], look)


def print_rolled_back(report: reports.RollbackReport, look: Look) -> str:
    """Return how ``rollback`` has ended; with the steps, unless a question has shown them."""
    match report.outcome:
        case reports.Outcome.DONE:
            where = f"hash {report.after}" if report.after else "no schema"
            outcome = print_line(f"undid {counted(len(report.steps), 'step')}: the ledger now has {where}", look, _GOOD)
            return outcome + _newer_files(report, look)
        case reports.Outcome.DECLINED:
            return print_line("nothing changed", look)
        case _:
            return print_rollback(report, look) + "\n" + print_line("nothing undone", look, ERROR)


def _newer_files(report: reports.RollbackReport, look: Look) -> str:
    """Return that the schema files still have the change, and how to remove it; empty if they do not."""
    if report.files_hash is None or report.files_hash == report.after or look.is_quiet:
        return ""
    name = escape(report.name)
    state = f"the schema files of `{name}` still have the change: `schemactl migrate apply {name}` would make it again"
    restore = "restore both files from git, or edit the import file back"
    advice = f"to remove it there too, {restore} and run `schemactl sync {name}`"
    return print_line(state, look) + print_line(advice, look)


def _undone_steps(steps: Sequence[reports.UndoneStep], look: Look) -> Iterator[list[RenderableType]]:
    """Yield a section for each step; the statements of steps that are undone together are in the last."""
    start = 0
    while start < len(steps):
        group = steps[start : steps[start].done_with or start + 1]
        is_shared = len(group) > 1
        sections = [list(_undone_step(undone, () if is_shared else _undo_statements(undone, look))) for undone in group]
        if is_shared:
            steps_at_once, numbers = [undone.planned for undone in group], [undone.number for undone in group]
            sections[-1].append(Inside(Text(words.at_once(steps_at_once, numbers, is_undo=True))))
            sections[-1] += [Inside(statement) for statement in _undo_statements(group[-1], look)]
        yield from sections
        start += len(group)


def _undo_statements(undone: reports.UndoneStep, look: Look) -> list[Text]:
    statements = () if look.is_quiet else undone.planned.undo_statements
    return [Text(f"│ {escape(statement)}", style=FAINT, overflow="fold") for statement in statements]


_WHEN_UNDONE: Final = {When.AFTER: "before", When.INSTEAD: "instead of", When.BEFORE: "after"}
"""When the undo of custom SQL runs, relative to the undo of its step."""


def _undone_step(undone: reports.UndoneStep, statements: Sequence[Text]) -> Iterator[RenderableType]:
    planned = undone.planned
    yield Text(f"{undone.number:>3} {planned.step.mark} {escape(planned.step.title)}", style="bold")
    style = "" if planned.undo.is_possible else WARNING
    yield Inside(Text(f"undo  {escape(words.undo(planned))}", style=style))
    for statement in statements:
        yield Inside(statement)
    for own_sql in reversed(undone.own):
        if own_sql.undo:
            yield Inside(Text(escape(f"sql   {_WHEN_UNDONE[own_sql.when]} that: `{own_sql.file}`")))
            for text in own_sql.undo:
                yield Inside(Text("\n".join(f"│ {escape(line)}" for line in text.split("\n")), style=FAINT))


def _rollback_counts(report: reports.RollbackReport) -> Iterator[RenderableType]:
    steps = [step for undone_step in report.steps for step in undone_step.planned.undo.steps]
    for unfit_count in report.counted:
        step = steps[unfit_count.number - 1]
        effect = counted(unfit_count.count, "row" if isinstance(step, DropTable) else "value")
        if isinstance(step, DropTable | DropColumn):
            effect += " would be dropped"
        else:
            effect += " does not fit" if unfit_count.count == 1 else " do not fit"
        yield from _counts("data", f"`{step.full_name}`: {effect}", unfit_count.examples)


def print_script(report: reports.PlanReport) -> str:
    """Return the statements of a plan as one script."""
    return "".join(f"{line}\n" for line in _script_lines(report))


def _script_lines(report: reports.PlanReport) -> Iterator[str]:
    target = report.plan.target
    version = f"version {target.version}, hash {target.version_hash}"
    yield _comment(f"{target.name}, {version}, for {report.plan.place.kind}")
    advice = "check for values that it would round or cut"
    yield _comment(f"The data was not read. The engine's cast converts values; {advice}.")
    for number, planned in enumerate(report.plan.steps, 1):
        yield ""
        yield from _script_step(number, planned)
    for note in report.plan.notes:
        name = f"{note.table}.{note.column}" if note.column is not None else note.table
        yield ""
        yield _comment(f"{note.kind}: `{name}` {note.message}")
    if not report.plan.steps:
        yield ""
        yield _comment("Nothing to do.")


def _script_step(number: int, planned: PlannedStep) -> Iterator[str]:
    yield _comment(f"{number}. {planned.step.title}: {words.risk(planned)}")
    if condition := planned.step.caution:
        yield _comment(f"   {condition}")
    if not planned.is_possible:
        return
    for statement in planned.statements:
        # A line break or a control character in quotes is part of a name: it must stay.
        yield f"{statement};"


def _comment(text: str) -> str:
    return f"-- {escape(text)}"


_MOST_RUNS = 5
_MOST_VARIANTS = 12
_WAYS_ON = "`apply` ends it, `rollback` undoes it"


def print_status(report: reports.StatusReport, look: Look) -> str:
    """Return the state of a destination. Quiet: only open points; verbose: all runs, and pending statements."""
    pending = list(_pending(report, look))
    drift = list(_drift(report.drift, report.variants))
    if look.is_quiet:
        return print_sections((pending, drift), look)
    runs = list(_runs(report.runs, look))
    waiting: list[RenderableType] = []
    if report.waiting_records:
        count = counted(report.waiting_records, "rejected record")
        waiting = [warning("rejects", f"{count} waiting"), *show_hint("`schemactl rejects list` shows them")]
    variants = list(_stored_variants(report, look))
    return print_sections((list(_state(report)), pending, drift, variants, waiting, runs, [_verdict(report)]), look)


def print_verified(report: reports.VerifyReport, look: Look) -> str:
    """Return whether a destination matches its schema."""
    head: list[RenderableType] = [_title(report.schema, report.place)]
    half: list[RenderableType] = []
    if past := report.unfinished:
        half = [warning("unfinished", words.half_done(past)), *show_hint(_WAYS_ON)]
    drift = list(_drift(report.drift, report.variants))
    sections: list[list[RenderableType]] = [[] if look.is_quiet else head, half, drift, list(_odd(report))]
    if not (look.is_quiet and report.is_clean):
        sections.append([_verified(report)])
    return print_sections(sections, look)


def print_baseline(report: reports.BaselineReport, look: Look) -> str:
    """Return the schema that ``baseline`` will record."""
    return print_sections([[_title(report.schema, report.place)], list(_drift(report.drift))], look)


def print_recorded(report: reports.BaselineReport, look: Look) -> str:
    """Return the outcome of ``baseline``, with the schema if no question showed it before."""
    match report.outcome:
        case reports.Outcome.DONE:
            tables = counted(report.tables, "table")
            return print_line(f"recorded this schema in the ledger: {tables}, unchanged", look, _GOOD)
        case reports.Outcome.DECLINED:
            return print_line("nothing recorded", look)
        case reports.Outcome.NOTHING:
            end = print_line("nothing to do: the ledger already has this schema", look, _GOOD)
        case reports.Outcome.REFUSED:
            shown_blockers = print_sections([show_blockers(report.blockers)], look)
            end = f"{shown_blockers}\n{print_line('nothing recorded', look, ERROR)}"
    return f"{print_baseline(report, look)}\n{end}"


def print_kept(report: reports.CleanReport, look: Look) -> str:
    """Return the backups of dropped objects."""
    backups = (indented(Text(escape(name))) for name in report.kept)
    return print_sections([[Text(_address(report.place), style="bold"), *backups]], look)


def print_clean(report: reports.CleanReport, look: Look) -> str:
    """Return the outcome of ``clean``."""
    match report.outcome:
        case reports.Outcome.DONE:
            end = Text(f"{counted(len(report.kept), 'object')} dropped.", style=_GOOD)
        case reports.Outcome.NOTHING:
            end = Text("No backups.", style=_GOOD)
        case _:
            end = Text("Nothing was dropped.")
    backups = [indented(Text(escape(name))) for name in report.kept] if report.outcome is reports.Outcome.DONE else []
    return print_sections([[*backups, end]], look)


def _title(schema: Version, where: Place) -> Text:
    text = Text().append(escape(schema.schema_name), style="bold")
    text.append(f": version {schema.version}, hash {schema.version_hash}")
    return text.append(f"\n  {_address(where)}", style=FAINT)


def _address(where: Place) -> str:
    return escape(where.shown)


def _state(report: reports.StatusReport) -> Iterator[RenderableType]:
    yield Text(_address(report.place), style="bold")
    yield indented(_line("current", report.there))
    if report.target is not None and not report.is_of_ledger:
        is_same = report.there is not None and report.there.version_hash == report.target.version_hash
        yield indented(Text("target  the same", style=FAINT) if is_same else _line("target", report.target))


def _line(label: str, schema: Version | None) -> Text:
    text = Text().append(f"{label:<8}", style=FAINT)
    if schema is None:
        return text.append("no schema in the ledger")
    text.append(f"{escape(schema.schema_name)} version {schema.version}, hash {schema.version_hash}")
    return text.append(f", since {_time(schema.inserted_at)}", style=FAINT) if schema.inserted_at else text


def _pending(report: reports.StatusReport, look: Look) -> Iterator[RenderableType]:
    if report.planned is None or not report.planned.plan.steps:
        return
    planned = report.planned
    finished_count = planned.done
    open_count = len(planned.plan.steps) - (finished_count or 0)
    if finished_count is None:
        yield warning("pending", counted(open_count, "step"))
    else:
        yield warning("unfinished", f"{finished_count:,} of {len(planned.plan.steps):,} steps are done")
    for number, planned_step in enumerate(planned.plan.steps, 1):
        if number <= (finished_count or 0):
            continue
        yield indented(Text(f"{number:>3} {planned_step.step.mark} {escape(planned_step.step.title)}"))
        for own_sql in planned.plan.own_of(number):
            yield indented(Text(f"      {escape(words.own(own_sql))}", style=FAINT))
        for statement in planned_step.statements if look.is_verbose else ():
            yield indented(Text(f"      {escape(statement)}", style=FAINT, overflow="fold"))
    yield from show_blockers(planned.blockers)


def _drift(changes: Sequence[Change], variants: Sequence[ColumnAdded] = ()) -> Iterator[RenderableType]:
    for change in changes:
        yield warning("drift", escape(f"`{full_name(change)}`: {describe(change)}"))
    for variant in variants:
        name = f"`{variant.table}.{variant.column.name}`"
        yield warning("variant", escape(f"{name} is for values that do not fit; the schema does not have it yet"))


def _stored_variants(report: reports.StatusReport, look: Look) -> Iterator[RenderableType]:
    listed_variants = report.stored_variants if look.is_verbose else report.stored_variants[:_MOST_VARIANTS]
    for variant in listed_variants:
        name, home, fill = f"`{variant.table}.{variant.column}`", f"`{variant.home}`", variant.fill
        text = f"{name} of {home}"
        if fill is not None:
            share = f"{fill.values / fill.rows:.1%}" if fill.rows else "0.0%"
            since = f", since load {fill.first_load}" if fill.first_load else ""
            text += f": {fill.values:,} of {counted(fill.rows, 'row')} ({share}){since}"
        yield warning("variant", escape(text))
    if len(report.stored_variants) > len(listed_variants):
        yield more(len(report.stored_variants) - len(listed_variants), "variant")
    foldable = sum(variant.is_foldable for variant in report.stored_variants)
    if foldable and report.target and (name := report.target.schema_name):
        command = f"`schemactl edit {name} --fold-all`"
        yield from show_hint(f"{counted(foldable, 'variant')} of `{name}` could fold: {command}")


def _runs(runs: Sequence[reports.PastRun], look: Look) -> Iterator[RenderableType]:
    listed_runs = runs if look.is_verbose else runs[:_MOST_RUNS]
    for past in listed_runs:
        run = past.run
        before = short_hash(run.from_hash) if run.from_hash else "nothing"
        done_share = "" if past.state == "undone" else f"{past.done:,} of "
        steps = f"{done_share}{counted(past.steps, 'step')}, by {escape(run.who)}"
        line = Text().append(f"{_time(run.started)}  ", style=FAINT)
        yield line.append(f"{past.state}: {before} -> {short_hash(run.to_hash)}, {steps}")
    if len(runs) > len(listed_runs):
        yield Text(f"... and {counted(len(runs) - len(listed_runs), 'earlier run')} (`--verbose`)", style=FAINT)


def _of_ledger(report: reports.StatusReport) -> str:
    """Return the verdict for a destination whose ledger is its only target, and how to see the pending steps."""
    if report.there is None:
        return "The ledger is empty: `schemactl migrate status NAME --to DEST` compares a schema."
    name = escape(report.there.schema_name)
    command = f"`schemactl migrate status {name} --to DEST` compares the schema files"
    return f"Settled: the tables match the ledger's schema. {command}."


def _verdict(report: reports.StatusReport) -> Text:
    if report.is_settled:
        if report.is_of_ledger:
            return Text(_of_ledger(report), style=_GOOD if report.there else "")
        return Text("Settled: no pending steps, no drift.", style=_GOOD)
    planned = report.planned.plan.steps if report.planned else ()
    parts = []
    if report.unfinished:
        parts.append(f"a run is unfinished ({_WAYS_ON})")
    elif planned:
        parts.append(f"{counted(len(planned), 'step')} pending")
    if report.drift:
        parts.append(f"{counted(len(report.drift), 'change')} of drift")
    return Text(f"Not settled: {'; '.join(parts)}.", style="bold")


def _odd(report: reports.VerifyReport) -> Iterator[RenderableType]:
    """Yield values that contradict the schema, files that contradict each other, and values under wrong names."""
    for values in report.odd:
        share = f" of {counted(values.rows, 'row')}" if values.rows else ""
        message = f"`{values.table}.{values.column}`: {values.count:,}{share}: {values.message}"
        yield from _counts("values", message, values.examples)
    for disagreement in report.disagreements:
        yield from (warning("files", escape(disagreement.message)), *show_hint(disagreement.hint))
    for moved in report.misplaced:
        name, noun = (moved.table, "rows") if moved.column is None else (f"{moved.table}.{moved.column}", "values")
        message = f"`{name}` does not contain the {noun} of `{moved.origin}`, its name in `x-renamed-from`"
        advice = f"set `x-renamed-from: [{moved.origin}]` again and apply it while `{moved.origin}` exists"
        hint = f"{advice}; if the values are correct now, run `schemactl migrate baseline`"
        yield from (warning("values", escape(message)), *show_hint(hint))


def _verified(report: reports.VerifyReport) -> Text:
    scope = counted(report.tables, "table")
    scope += f", values of {counted(report.columns, 'column')}" if report.columns else ""
    if report.rows < report.all_rows:
        scope += f" in {report.rows:,} of {counted(report.all_rows, 'row')}"
    if report.is_clean:
        return Text(f"Verified: the destination matches the schema ({scope}).", style=_GOOD)
    difference_count = len(report.drift) + len(report.variants) + len(report.odd) + len(report.disagreements)
    difference_count += len(report.misplaced)
    unfinished_note = "A run is unfinished; " if report.unfinished else ""
    return Text(f"{unfinished_note}{counted(difference_count, 'difference')} ({scope}).", style=ERROR)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def print_next(report: reports.NextReport, look: Look) -> str:
    """Return the text of ``plan --dir``: the steps, their blockers, and the written files."""
    if report.migration is None:
        return print_line("Nothing to do: the last migration already produces this schema.", look, _GOOD)
    if report.there is not None:
        plan_text = print_plan_report(report.there, look)
    else:
        plans = map(report.migration.unbound_plan, report.migration.plans)
        plan_text = "\n".join(print_plan(plan, look) for plan in plans)
    shown_blockers = report.there.blockers if report.there is not None else ()
    lines = show_blockers(blocker for blocker in report.blockers if blocker not in shown_blockers)
    outcome = Text("migration refused; nothing written", style=ERROR)
    if report.is_written:
        outcome = Text(f"wrote {escape(report.folder)}/{json_name(report.migration.name)}", style=_GOOD)
    return f"{plan_text}\n{print_sections([[*lines, outcome]], look)}"


def print_checked(report: reports.CheckReport, look: Look, success: str = "sound") -> str:
    """Return the problems of a folder, or ``success``."""
    if not report.problems:
        line = f"{escape(report.folder)}: {counted(len(report.migrations), 'migration')}, {success}"
        return "" if look.is_quiet else print_line(line, look, _GOOD)
    lines: list[RenderableType] = []
    for problem in report.problems:
        location = Location(f"{report.folder}/{problem.file}" if problem.file else report.folder, problem.line)
        lines += [warning("refused", escape(f"{location}: {problem.message}"), ERROR), *show_hint(problem.hint)]
    return print_sections([lines], look)


def print_rebased(report: reports.RebaseReport, look: Look) -> str:
    """Return the migrations with new numbers."""
    if not report.moved:
        return print_line("Nothing to do: the migrations are in order.", look, _GOOD)
    lines = [Text(f"{before} -> {after}") for before, after in report.moved]
    end = Text(f"the last migration produces the schema {report.schema_hash}", style=_GOOD)
    return print_sections([[*lines, end]], look)


def print_folder_statuses(statuses: Sequence[reports.FolderStatus], look: Look) -> str:
    """Return how many migrations each destination has."""
    listed_statuses = [status for status in statuses if not (look.is_quiet and status.is_settled)]
    return print_sections([list(_folder_status(status)) for status in listed_statuses], look)


def _folder_status(status: reports.FolderStatus) -> Iterator[RenderableType]:
    yield Text(_address(status.place), style="bold")
    yield indented(Text().append("at      ", style=FAINT).append(status.at or "no migration yet"))
    for number, name in enumerate(status.pending):
        yield indented(warning("unfinished" if not number and status.is_unfinished else "pending", name))
    if status.blocker is not None:
        lines = show_blockers([status.blocker])
        yield from (indented(line) if isinstance(line, Text) else line for line in lines)
    elif not status.pending:
        yield indented(Text("no pending migrations", style=_GOOD))


def print_pending(report: reports.FolderApplyReport, look: Look) -> str:
    """Return the plans that ``apply --dir`` will run."""
    first = print_plan_report(report.next, look) if report.next is not None else ""
    plans = (first, *(print_plan(plan, look) for plan in report.later))
    return "\n".join(filter(None, (print_folder_statuses([report.status], look), *plans)))


def print_folder_applied(report: reports.FolderApplyReport, look: Look) -> str:
    """Return the outcome of ``apply --dir``."""
    if report.outcome is reports.Outcome.NOTHING:
        return print_folder_statuses([report.status], look)
    if report.outcome is reports.Outcome.DECLINED:
        return print_line("nothing changed", look)
    if not report.applied:
        return print_pending(report, look) + "\n" + print_line("migrations refused; nothing was changed", look, ERROR)
    lines: list[RenderableType] = []
    for name, applied in zip(report.status.pending, report.applied, strict=False):
        if applied.is_refused:
            lines += show_blockers(applied.planned.blockers)
            lines.append(Text(f"{name}: refused and not applied; earlier migrations stay applied", style=ERROR))
        else:
            steps = counted(len(applied.planned.plan.steps), "step")
            lines.append(Text(f"{name}: applied {steps} in {applied.seconds:.1f} s", style=_GOOD))
    return print_sections([lines], look)


def folder_question(report: reports.FolderApplyReport) -> str:
    """Return the question to ask before migrations of a folder are applied."""
    return f"apply {counted(len(report.status.pending), 'migration')} to {_address(report.status.place)}"


def print_compared(report: reports.CompareReport, look: Look) -> str:
    """Return how two destinations differ."""
    sides = [] if look.is_quiet else [list(_compared(side)) for side in (report.base, report.head)]
    changes = [warning("differs", escape(f"`{full_name(change)}`: {describe(change)}")) for change in report.changes]
    if report.is_same:
        verdict = Text("The same schema, and the same tables.", style=_GOOD)
    elif report.changes:
        verdict = Text(f"{counted(len(changes), 'difference')}, from the first to the second.", style="bold")
    else:
        verdict = Text("The same tables; their ledgers have different schemas.", style="bold")
    return print_sections((*sides, changes, [verdict]), look)


def _compared(side: reports.Compared) -> Iterator[RenderableType]:
    yield Text(_address(side.place), style="bold")
    state = "no schema" if side.there is None else f"version {side.there.version}, hash {side.there.version_hash}"
    migration = f", migration {side.migration}" if side.migration is not None else ""
    yield indented(Text(f"{state}{escape(migration)}"))
