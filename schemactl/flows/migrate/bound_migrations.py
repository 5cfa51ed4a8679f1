"""Bind the migrations of a folder to a destination: statements, tables, and the custom SQL that may run.

The steps are reviewed in git. Their statements use the destination's own dataset, and values are counted in its tables.
A migration is blocked if the destination lacks the schema that the migration starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from schemactl.errors import InputError
from schemactl.flows.migrate.drift import find_drift
from schemactl.flows.migrate.schema_plans import propose, render_plan
from schemactl.flows.migrate.state import DestinationState
from schemactl.flows.migrate.stored_plans import check_reached
from schemactl.flows.target import MigrationTarget
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.migration_files import DialectPlan, Migration
from schemactl.migration.migration_plan import MigrationPlan, Place, with_own
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import planned_as
from schemactl.migration.reports import BlockerKind, PlanBlocker
from schemactl.migration.steps import CreateTable, Step
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.review.rule import place_of
from schemactl.schema.changes import (
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRetyped,
    NullabilityChanged,
    TableRemoved,
)
from schemactl.schema.types import Schema

_IN_THE_WAY: Final = TableRemoved | ColumnRemoved | ColumnRetyped | NullabilityChanged | ColumnPropertyChanged
"""Changes by hand that are in a step's way; a table or column more is not."""


def plan_in(migration: Migration, target: MigrationTarget) -> DialectPlan:
    """Return the steps of a migration for a kind of destination, with the risks and undos that they have there."""
    dialect_plan = migration.plans.get(target.kind)
    if dialect_plan is None:
        hint = "use a folder per dialect, or plan for several dialects: `plan --dir DIR --dialect duckdb,postgresql`"
        raise InputError(f"`{migration.name}` is for {', '.join(migration.plans)}, not for {target.kind}", hint=hint)
    abilities = target.destination.ABILITIES
    return replace(dialect_plan, steps=tuple(planned_as(planned, abilities) for planned in dialect_plan.steps))


def unbound_plan(migration: Migration, target: MigrationTarget, plan_place: Place) -> MigrationPlan:
    """Return a migration unchanged, for a destination that it cannot be bound to yet."""
    plan = plan_in(migration, target)
    unbound = MigrationPlan(plan_place, migration.schema, (), "", plan.steps, plan.notes, migration.mark)
    return with_own(unbound, plan.own)


def find_start_blocker(state: DestinationState, migration: Migration) -> PlanBlocker | None:
    """Return why a destination does not match the start of a migration; None if it does."""
    if state.ledger_hash != migration.base:
        has = f"the schema {state.ledger_hash}" if state.ledger_hash else "no schema"
        expected = f"the schema {migration.base}" if migration.base else "no schema"
        return _refuse(migration, f"it starts from {expected}, but the ledger has {has}")
    if state.ledger_schema is None:
        return None
    touched = {planned.step.table_name for planned in plan_in(migration, state.target).steps}
    if names := ", ".join(
        f"`{name}`" for table, name in differing_places(state, state.ledger_schema) if table in touched
    ):
        return _refuse(migration, f"its steps change tables with drift: {names}")
    return None


def differing_places(state: DestinationState, schema: Schema) -> list[tuple[str, str]]:
    """Return the tables and columns that are not there as a schema has them, each behind the name of its table."""
    drift = (place_of(change) for change in find_drift(state, schema).changes if isinstance(change, _IN_THE_WAY))
    return sorted({(change_place[0] or "", ".".join(name for name in change_place if name)) for change_place in drift})


def _refuse(migration: Migration, message: str) -> PlanBlocker:
    hint = "`schemactl migrate status --dir DIR` shows its migrations, and `status` its drift"
    return PlanBlocker(BlockerKind.ELSEWHERE, f"`{migration.name}` does not fit the destination: {message}", hint)


def bind(state: DestinationState, migration: Migration) -> MigrationPlan | PlanBlocker:
    """Return the plan of a migration for a destination, or why it cannot run there."""
    if state.unfinished is None and (blocker := find_start_blocker(state, migration)):
        return blocker
    schema, dialect_plan = migration.target, plan_in(migration, state.target)
    proposal = propose(state, schema, PlanOptions())
    tables = proposal.catalogue.tables
    bare = tuple(
        replace(planned, statements=(), undo_statements=(), done_with=None)
        for planned in dialect_plan.steps
        # Another schema of the dataset may have created dlt's own tables.
        if not (
            isinstance(planned.step, CreateTable)
            and is_bookkeeping(planned.step.table.name)
            and planned.step.table.name in state.catalogue.schema.tables
        )
    )
    try:
        check_reached(tables, [planned.step for planned in bare], schema, state.target.destination)
        proposal = replace(proposal, steps=bare, notes=dialect_plan.notes)
        plan = render_plan(state, schema, proposal, partial(own_of_steps, dialect_plan))
    except StepDoesNotFit as error:
        return _refuse(migration, f"its steps do not fit the tables: {error.message}")
    return replace(plan, migration=migration.mark)


def own_of_steps(dialect_plan: DialectPlan, steps: Sequence[Step]) -> tuple[OwnSql, ...]:
    """Return the custom SQL of a migration, renumbered by the steps at a destination.

    Raises:
        StepDoesNotFit: custom SQL belongs to a step that is not in ``steps``.
    """
    numbers: dict[int, int] = {}
    for number, planned in enumerate(dialect_plan.steps, 1):
        if len(numbers) < len(steps) and planned.step == steps[len(numbers)]:
            numbers[number] = len(numbers) + 1
    own_scripts = [own_sql for own_sql in dialect_plan.own if not own_sql.is_empty]
    if missing := [own_sql.file for own_sql in own_scripts if own_sql.number not in numbers]:
        raise StepDoesNotFit(f"there is no step for `{missing[0]}`")
    return tuple(replace(own_sql, number=numbers[own_sql.number]) for own_sql in own_scripts)


def check_own(plan: MigrationPlan, migration: Migration | None, target: MigrationTarget) -> None:
    """Refuse a plan of the ledger whose custom SQL differs from its migration's: a forger could run it."""
    if migration is None:
        if plan.own:
            name = plan.migration.name if plan.migration is not None else "a run"
            hint = "resume it with `apply --dir DIR`, or undo it with `rollback --dir DIR`"
            message = f"`{name}` has custom SQL, which runs only from its folder: `{plan.own[0].file}`"
            raise InputError(message, hint=hint)
        return
    folder_sql: tuple[OwnSql, ...] | None = None
    with suppress(StepDoesNotFit):
        folder_sql = own_of_steps(plan_in(migration, target), [planned.step for planned in plan.steps])
    if folder_sql != plan.own:
        message = f"the custom SQL of `{migration.name}` in the ledger differs from the folder"
        raise InputError(message, hint="restore its files from git, and check who wrote to the ledger")
