"""Describes a plan's steps for people; names in backquotes, not yet escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.effects import widening_of
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import PastRun, PlanReport
from schemactl.migration.steps import (
    ADD,
    CHANGE,
    DROP,
    Backfill,
    ChangeType,
    DescribeTable,
    FoldVariant,
    OnlineStep,
    Step,
    Taken,
)
from schemactl.migration.ways import Risk, Way
from schemactl.schema.wording import counted, describe_type, survival

_WAYS: Final = {Way.COPY: "by a copy of the table", Way.NONE: "not possible at this destination"}


_STATED_TYPE: Final = re.compile(r"\b(?:SET DATA )?TYPE (?P<type>.+?) USING ")


def conversion(step: Step, statements: Sequence[str]) -> str | None:
    """Return a step that converts values as SQL without the conversion; None for other steps."""
    match step:
        case ChangeType():
            type_match = next(filter(None, map(_STATED_TYPE.search, statements)), None)
            kind = type_match["type"] if type_match is not None else describe_type(step.after.properties).upper()
            return f"SET DATA TYPE {kind}, values as dlt coerces them"
        case Backfill(taken=Taken.FITTING):
            return f"SET {step.target.name} = {step.source.name}, values as dlt coerces them"
        case _:
            return None


def risk(planned: PlannedStep) -> str:
    """Return the risk of a step, and how long it lasts."""
    duration = _WAYS.get(planned.way)
    if planned.way is Way.NONE:
        return str(duration)
    effect = f"blocks {_blocked(planned)}" if planned.risk is Risk.BLOCKS else str(planned.risk)
    return f"{effect}, {duration}" if duration else effect


def _blocked(planned: PlannedStep) -> str:
    return "readers and writers" if planned.lock is not None and planned.lock.readers_wait else "writers"


_DURATIONS: Final = {
    Way.IN_PLACE: "for a moment",
    Way.SCAN: "while all rows are read",
    Way.REWRITE: "while all rows are written",
}


def lock(planned: PlannedStep) -> str | None:
    """Return the lock that a step takes, its duration, and the sessions that wait for it."""
    if planned.lock is None:
        return None
    is_batch = planned.step.is_outside_transaction and isinstance(planned.step, Backfill)
    if not planned.lock.writers_wait and isinstance(planned.step, OnlineStep | DescribeTable):
        waiting = "no one waits"
    elif not planned.lock.writers_wait:
        waiting = f"writers of the same rows wait{' for a batch' if is_batch else ''}"
    else:
        waiting = "readers and writers wait" if planned.lock.readers_wait else "writers wait"
    return f"{planned.lock.mode} {_DURATIONS[planned.way]}: {waiting}"


def held_locks(plan: MigrationPlan) -> str | None:
    """Return a warning that a transaction holds its locks to the end; None if readers wait only briefly."""
    blocks_readers = any(step.lock is not None and step.lock.readers_wait for step in plan.steps)
    is_brief = len(plan.steps) < 2 or all(step.way is Way.IN_PLACE for step in plan.steps)
    if plan.is_online or is_brief or not blocks_readers:
        return None
    return "a transaction holds each lock until the last step ends; `--step-by-step` releases it after its step"


def undo(planned: PlannedStep) -> str:
    """Return how a step is undone."""
    note = planned.undo.note
    if not planned.undo.is_possible:
        return f"not possible: {note}"
    if not planned.undo.steps:
        return f"nothing to undo ({note})" if note else "nothing to undo"
    steps = ", then ".join(step.title for step in planned.undo.steps)
    return f"{steps} ({note})" if note else steps


def own(own_sql: OwnSql) -> str:
    """Return when custom SQL runs, under which condition, and whether it can be undone."""
    asks = "" if own_sql.precondition is None else ", if its precondition returns rows"
    undone = f"undone by {counted(len(own_sql.undo), 'statement')}" if own_sql.undo else "nothing to undo"
    end = f"; {undone if own_sql.is_undoable else 'cannot be undone'}" if own_sql.statements else ""
    return f"{own_sql.when.words} it: `{own_sql.file}`, {counted(len(own_sql.statements), 'statement')}{asks}{end}"


def half_done(past: PastRun) -> str:
    """Return how many steps of an unfinished run are done."""
    return f"{past.done:,} of {counted(past.steps, 'step')} to the schema {past.run.to_hash} completed"


def at_once(steps: Sequence[PlannedStep], numbers: Sequence[int], *, is_undo: bool = False) -> str:
    """Return how steps next to each other are done at once."""
    last = steps[-1].undo_statements if is_undo else steps[-1].statements
    if all(planned.way is Way.IN_PLACE for planned in steps):
        how = "by one statement"
    elif steps[-1].way is Way.COPY or len(last) > 1:  # a copy is created, filled, and renamed
        how = "in one copy of the table"
    else:
        how = "in one rewrite of the table"
    link = "and" if len(numbers) == 2 else "to"
    return f"steps {numbers[0]} {link} {numbers[-1]} are {'undone' if is_undo else 'done'} at once, {how}"


def summary(plan: MigrationPlan) -> str:
    """Return the counts in one line."""
    marks = Counter(planned.step.mark for planned in plan.steps)
    counts = f"{marks[ADD]:,} to add, {marks[CHANGE]:,} to change, {marks[DROP]:,} to drop"
    risks = Counter(planned.risk for planned in plan.steps)
    blocked = Counter(_blocked(planned) for planned in plan.steps if planned.risk is Risk.BLOCKS)
    final = sum(not planned.undo.is_possible for planned in plan.steps)
    impossible = sum(not planned.is_possible for planned in plan.steps)
    phrases = (
        (blocked["writers"], "blocks writers", "block writers"),
        (blocked["readers and writers"], "blocks readers and writers", "block readers and writers"),
        (risks[Risk.REWRITES], "rewrites its table", "rewrite their tables"),
        (risks[Risk.LOSES_DATA], "loses data", "lose data"),
        (final, "cannot be undone", "cannot be undone"),
        (impossible, "is not possible at this destination", "are not possible at this destination"),
    )
    parts = [f"{number:,} {singular if number == 1 else plural}" for number, singular, plural in phrases if number]
    return "; ".join((f"Plan: {counts}", *parts)) + "."


def folded(report: PlanReport) -> Iterator[tuple[FoldVariant, str]]:
    """Yield the folds of a plan with the values that they move."""
    for moved in report.folded:
        step = report.plan.steps[moved.number - 1].step
        if isinstance(step, FoldVariant):
            yield step, f"`{step.table}.{step.source.name}` folds into `{step.target.name}`: {survival(moved.count)}"


def widened(report: PlanReport) -> Iterator[tuple[Step, str]]:
    """Yield the steps of a plan that make a column wider, with the values that the column holds."""
    for stored_values in report.widened:
        step = report.plan.steps[stored_values.number - 1].step
        types = widening_of(step)
        if types is not None:
            change = f"widened from {types[0]} to {types[1]}"
            yield step, f"`{step.table_name}.{step.column_before}` is {change}: {survival(stored_values.count)}"
