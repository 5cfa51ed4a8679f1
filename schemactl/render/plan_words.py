"""Describes a plan's steps in words; names in backquotes, not yet escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, assert_never

from schemactl.errors import backquoted
from schemactl.migration.abilities import Way
from schemactl.migration.own import OwnSql
from schemactl.migration.plan import MigrationPlan
from schemactl.migration.planner import PlannedStep, Risk
from schemactl.migration.reports import PastRun
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    OnlineStep,
    Phase,
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
    Taken,
    column_of,
    is_outside_transaction,
    name_of,
)
from schemactl.schema.changes import ABSENT
from schemactl.schema.wording import counted, describe_column, describe_type, show_value

ADD: Final = "+"
CHANGE: Final = "~"
DROP: Final = "-"

_WAYS: Final = {Way.COPY: "by a copy of the table", Way.NONE: "not possible at this destination"}


def mark(step: Step) -> str:
    """Return ``+``, ``~`` or ``-``."""
    match step:
        case CreateTable() | AddColumn() | AddUnique() | AddPrimaryKey():
            return ADD
        case DropTable() | DropColumn() | DropUnique() | DropPrimaryKey():
            return DROP
        case _:
            return CHANGE


def title(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    """Return the title of a step: its action in a few words."""
    match step:
        case CreateTable() if step.kept:
            return f"take table `{step.table.name}` back, which is kept as `{step.kept}`"
        case DropTable() if step.kept:
            return f"drop table `{step.table.name}`, which is kept as `{step.kept}` until `schemactl migrate clean`"
        case CreateTable():
            return f"create table `{step.table.name}`, {counted(len(step.table.columns), 'column')}"
        case DropTable():
            return f"drop table `{step.table.name}`"
        case RenameTable():
            return f"rename table `{step.before}` to `{step.after}`"
        case DescribeTable():
            return _title_of_description(step)
        case AddColumn():
            filled = "" if step.value is ABSENT else f", {show_value(step.value)} in stored rows"
            return f"add column `{name_of(step)}`, {describe_column(step.column)}{filled}"
        case DropColumn():
            return f"drop column `{name_of(step)}`, {describe_column(step.column)}"
        case RenameColumn():
            return f"rename column `{step.table}.{step.before}` to `{step.after}`"
        case ChangeType():
            before, after = describe_type(step.before.properties), describe_type(step.after.properties)
            return f"change type of `{name_of(step)}`: {before} -> {after}"
        case Backfill():
            selection = " with what does not fit" if step.taken is Taken.UNFIT else ""
            return (
                f"fill `{name_of(step)}` from `{step.source.name}`{selection}{' in batches' if step.in_batches else ''}"
            )
        case FillColumn():
            return f"fill `{name_of(step)}` with {show_value(step.value)}"
        case SetNotNull():
            return f"forbid nulls in `{name_of(step)}`"
        case DropNotNull():
            return f"allow nulls in `{name_of(step)}`"
        case AddUnique():
            return f"make `{name_of(step)}` unique"
        case DropUnique():
            return f"let values of `{name_of(step)}` repeat"
        case AddPrimaryKey():
            return f"make {backquoted(step.columns)} the primary key of `{step.table}`"
        case DropPrimaryKey():
            return f"drop the primary key of `{step.table}`, {backquoted(step.columns)}"
        case Prepare():
            return _title_of_phase(step)
        case SwapColumns():
            backfill = step.backfill
            rename = f"`{backfill.table}.{backfill.target.name}` takes the name `{backfill.source.name}`"
            return f"{rename}, which becomes `{step.kept}`"
        case RestoreColumn():
            backfill = step.swap.backfill
            return f"`{backfill.table}.{step.swap.kept}` takes its name `{backfill.source.name}` back"
        case _:
            assert_never(step)


def _title_of_description(step: DescribeTable) -> str:
    columns = [column for column in step.after if column]
    of_table = [f"table `{step.table}`"] if "" in step.after else []
    of_columns = [f"{counted(len(columns), 'column')} of `{step.table}`"] if len(columns) > 1 else []
    of_column = [f"column `{step.table}.{columns[0]}`"] if len(columns) == 1 else []
    return f"describe {' and '.join((*of_table, *of_column, *of_columns))}"


def _title_of_phase(planned: Prepare) -> str:
    step = planned.step
    names = ", ".join(step.columns) if isinstance(step, AddPrimaryKey) else str(column_of(step))
    name = f"`{step.table}.{names}`"
    if isinstance(step, Backfill):
        source = f"`{step.source.name}`"
        checked_fact = f"that {name} holds each value of {source}" if step.taken is Taken.FITTING else ""
        synced = f"{name} in step with {source}{' where that does not fit' if step.taken is Taken.UNFIT else ''}"
    else:
        checked_fact, synced = f"{name} for nulls", ""
    match planned.phase:
        case Phase.ADD_CHECK:
            return f"check {checked_fact}, in rows that are written"
        case Phase.VALIDATE_CHECK:
            return f"check {checked_fact}, in stored rows"
        case Phase.DROP_CHECK:
            return f"drop the check {checked_fact}"
        case Phase.BUILD_INDEX:
            return f"build the unique index of {name}"
        case Phase.DROP_INDEX:
            return f"drop the unique index of {name}"
        case Phase.START_SYNC:
            return f"keep {synced}, in rows that are written"
        case Phase.STOP_SYNC:
            return f"stop to keep {synced}"
        case _:
            assert_never(planned.phase)


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
    """Return the lock that a step takes, how long, and who waits for it."""
    if planned.lock is None:
        return None
    is_batch = is_outside_transaction(planned.step) and isinstance(planned.step, Backfill)
    if not planned.lock.writers_wait and isinstance(planned.step, OnlineStep | DescribeTable):
        waiting = "nobody waits"
    elif not planned.lock.writers_wait:
        waiting = f"writers of the same rows wait{' for a batch' if is_batch else ''}"
    else:
        waiting = "readers and writers wait" if planned.lock.readers_wait else "writers wait"
    return f"{planned.lock.mode} {_DURATIONS[planned.way]}: {waiting}"


def held_locks(plan: MigrationPlan) -> str | None:
    """Return a warning that a transaction holds its locks to the end; None if readers wait for a moment at most."""
    blocks_readers = any(step.lock is not None and step.lock.readers_wait for step in plan.steps)
    is_brief = len(plan.steps) < 2 or all(step.way is Way.IN_PLACE for step in plan.steps)
    if plan.is_online or is_brief or not blocks_readers:
        return None
    return "in one transaction each lock is held until the last step is done; with `--step-by-step` only by its step"


def undo(planned: PlannedStep) -> str:
    """Return how a step is undone."""
    note = planned.undo.note
    if not planned.undo.is_possible:
        return f"not possible: {note}"
    if not planned.undo.steps:
        return f"nothing to undo ({note})" if note else "nothing to undo"
    steps = ", then ".join(title(step) for step in planned.undo.steps)
    return f"{steps} ({note})" if note else steps


def own(own_sql: OwnSql) -> str:
    """Return where own SQL runs, under which condition, and whether it can be undone."""
    asks = "" if own_sql.precondition is None else ", if its precondition gives rows"
    undone = f"undone by {counted(len(own_sql.undo), 'statement')}" if own_sql.undo else "nothing to undo"
    end = f"; {undone if own_sql.is_undoable else 'cannot be undone'}" if own_sql.statements else ""
    return f"{own_sql.when.words} it: `{own_sql.file}`, {counted(len(own_sql.statements), 'statement')}{asks}{end}"


def half_done(past: PastRun) -> str:
    """Return how many steps of an unfinished run are done."""
    return f"{past.done:,} of {counted(past.steps, 'step')} to the schema {past.run.to_hash} are done"


def at_once(steps: Sequence[PlannedStep], numbers: Sequence[int], *, is_undo: bool = False) -> str:
    """Return how steps next to each other are done at once."""
    last = steps[-1].undo_statements if is_undo else steps[-1].statements
    # One statement rewrites files; a copy is created, filled, and renamed.
    is_copy = steps[-1].way is Way.COPY or len(last) > 1
    how = "by one copy of the table" if is_copy else "by writing the table's rows anew once"
    link = "and" if len(numbers) == 2 else "to"
    return f"steps {numbers[0]} {link} {numbers[-1]} are {'undone' if is_undo else 'done'} at once, {how}"


def summary(plan: MigrationPlan) -> str:
    """Return the counts in one line."""
    marks = Counter(mark(planned.step) for planned in plan.steps)
    counts = f"{marks[ADD]:,} to add, {marks[CHANGE]:,} to change, {marks[DROP]:,} to drop"
    risks = Counter(planned.risk for planned in plan.steps)
    blocked = Counter(_blocked(planned) for planned in plan.steps if planned.risk is Risk.BLOCKS)
    final = sum(not planned.undo.is_possible for planned in plan.steps)
    impossible = sum(not planned.is_possible for planned in plan.steps)
    risks_and_limits = (
        (blocked["writers"], "blocks writers", "block writers"),
        (blocked["readers and writers"], "blocks readers and writers", "block readers and writers"),
        (risks[Risk.REWRITES], "rewrites its table", "rewrite their tables"),
        (risks[Risk.LOSES_DATA], "loses data", "lose data"),
        (final, "cannot be undone", "cannot be undone"),
        (impossible, "is not possible at this destination", "are not possible at this destination"),
    )
    parts = [
        f"{number:,} {singular if number == 1 else plural}" for number, singular, plural in risks_and_limits if number
    ]
    return "; ".join((f"Plan: {counts}", *parts)) + "."
