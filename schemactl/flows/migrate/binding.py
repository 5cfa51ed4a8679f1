"""Binds a migration of a folder to one destination: its steps become a plan for the tables that are there.

What is reviewed in git are the steps. Their statements are those of the destination's own dataset, and the values are
counted where they are. A destination that does not have the schema that the migration begins with is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from schemactl.errors import InputError
from schemactl.flows.migrate.drift import find_drift
from schemactl.flows.migrate.proposal import plan_proposal, propose
from schemactl.flows.migrate.saved_plans import check_reached
from schemactl.flows.migrate.state import Found
from schemactl.flows.target import MigrationTarget
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.directory import DialectPlan, Migration
from schemactl.migration.effects import StepDoesNotFit
from schemactl.migration.options import PlanOptions
from schemactl.migration.own import OwnSql
from schemactl.migration.plan import MigrationPlan, Place, with_own
from schemactl.migration.planner import planned_as
from schemactl.migration.reports import BlockerKind, PlanBlocker
from schemactl.migration.steps import CreateTable, Step, table_of
from schemactl.schema.changes import (
    Change,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRetyped,
    NullabilityChanged,
    TableRemoved,
)


def plan_in(migration: Migration, target: MigrationTarget) -> DialectPlan:
    """Return the steps of a migration for a kind of destination, with the risks and undos that they have there.

    Raises:
        InputError: it has none.
    """
    found = migration.plans.get(target.kind)
    if found is None:
        hint = "a folder of its own for each dialect, or one for several: `plan --dir DIR --dialect duckdb,postgresql`"
        raise InputError(f"`{migration.name}` is for {', '.join(migration.plans)}, not for {target.kind}", hint=hint)
    abilities = target.destination.ABILITIES
    return replace(found, steps=tuple(planned_as(planned, abilities) for planned in found.steps))


def unbound_plan(migration: Migration, target: MigrationTarget, place: Place) -> MigrationPlan:
    """Return a migration as it stands in the folder, for what cannot be bound (yet)."""
    plan = plan_in(migration, target)
    unbound = MigrationPlan(place, migration.schema, (), "", plan.steps, plan.notes, migration.mark)
    return with_own(unbound, plan.own)


def find_start_blocker(found: Found, migration: Migration) -> PlanBlocker | None:
    """Return why a destination is not where a migration begins; None where it is."""
    if found.known_hash != migration.base:
        has = f"the schema {found.known_hash}" if found.known_hash else "no schema"
        wanted = f"the schema {migration.base}" if migration.base else "no schema"
        return _refuse(migration, f"it begins with {wanted}, and the ledger names {has}")
    if found.known is None:
        return None
    touched = {table_of(planned.step) for planned in plan_in(migration, found.target).steps}
    drift = [_place_of(change) for change in find_drift(found, found.known).changes]
    if differing := sorted({".".join(part for part in each if part) for each in drift if each[0] in touched}):
        names = ", ".join(f"`{each}`" for each in differing)
        return _refuse(migration, f"its steps are about tables that were changed by hand: {names}")
    return None


def _place_of(change: Change) -> tuple[str | None, str | None]:
    """Return the table and the column of a change by hand; a table or column more is in no step's way."""
    match change:
        case TableRemoved():
            return change.table.name, None
        case ColumnRemoved():
            return change.table, change.column.name
        case ColumnRetyped() | NullabilityChanged() | ColumnPropertyChanged():
            return change.table, change.column
        case _:
            return None, None


def _refuse(migration: Migration, message: str) -> PlanBlocker:
    hint = "`schemactl migrate status --dir DIR` shows where the destination stands, `status` what was changed by hand"
    return PlanBlocker(BlockerKind.ELSEWHERE, f"`{migration.name}` does not fit the destination: {message}", hint)


def bind(found: Found, migration: Migration) -> MigrationPlan | PlanBlocker:
    """Return the plan of a migration for a destination, or why it cannot run there.

    Raises:
        InputError: its steps do not lead to its schema.
    """
    if found.unfinished is None and (blocker := find_start_blocker(found, migration)):
        return blocker
    schema, stated = migration.target, plan_in(migration, found.target)
    proposal = propose(found, schema, PlanOptions())
    tables = proposal.catalogue.tables
    bare = tuple(
        replace(each, statements=(), undo_statements=(), done_with=None)
        for each in stated.steps
        # Another schema of the dataset may have brought dlt's own tables.
        if not (
            isinstance(each.step, CreateTable)
            and is_bookkeeping(each.step.table.name)
            and each.step.table.name in found.catalogue.schema.tables
        )
    )
    try:
        check_reached(tables, [each.step for each in bare], schema, found.target.destination)
        plan = plan_proposal(found, schema, replace(proposal, steps=bare, notes=stated.notes))
        plan = with_own(plan, own_of_steps(stated, [each.step for each in plan.steps]))
        plan = found.target.decide_rewrites(found.session, plan, tables)
    except StepDoesNotFit as error:
        return _refuse(migration, f"its steps do not fit the tables: {error.message}")
    return replace(plan, migration=migration.mark)


def own_of_steps(stated: DialectPlan, steps: Sequence[Step]) -> tuple[OwnSql, ...]:
    """Return the own SQL of a migration with the numbers that its steps have at a destination.

    Raises:
        StepDoesNotFit: a step that own SQL is for is none of them.
    """
    numbers: dict[int, int] = {}
    for number, planned in enumerate(stated.steps, 1):
        if len(numbers) < len(steps) and planned.step == steps[len(numbers)]:
            numbers[number] = len(numbers) + 1
    own = [each for each in stated.own if not each.is_empty]
    if missing := [each.file for each in own if each.number not in numbers]:
        raise StepDoesNotFit(f"there is no step for `{missing[0]}`")
    return tuple(replace(each, number=numbers[each.number]) for each in own)


def check_own(plan: MigrationPlan, migration: Migration | None, target: MigrationTarget) -> None:
    """Refuse a plan of the ledger whose own SQL is not that of its migration: who writes there would run it.

    Raises:
        InputError: the own SQL is another one, or there is no folder to hold it against.
    """
    if migration is None:
        if plan.own:
            name = plan.migration.name if plan.migration is not None else "a run"
            hint = "`apply --dir DIR` goes on with it, `rollback --dir DIR` undoes it"
            message = f"`{name}` has SQL of its own, which runs from its folder only: `{plan.own[0].file}`"
            raise InputError(message, hint=hint)
        return
    there: tuple[OwnSql, ...] | None = None
    with suppress(StepDoesNotFit):
        there = own_of_steps(plan_in(migration, target), [each.step for each in plan.steps])
    if there != plan.own:
        message = f"the ledger has other SQL of `{migration.name}`'s own than the folder"
        raise InputError(message, hint="take its files from git as they were; see who has written into the ledger")
