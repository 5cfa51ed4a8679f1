"""Rewrites of tables: decide which adjacent steps are done, or undone, by rewriting a table once.

The planner decides by the destination's abilities (``Abilities.rewrites``) and records it in the plan, so that a run
does exactly the steps that the user saw. Inside one transaction a run never has to detect which of the steps are done.
Otherwise the steps are done together or not at all, and the tables must show which: only then can a killed run resume.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.effects import apply_to_model, are_done, is_counted_late
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import AddColumn, ChangeType, ColumnStep, RewriteTable, Step
from schemactl.schema.structure import DATABASE_TYPE, Stored
from schemactl.schema.types import Table

RenderRewrite = Callable[[RewriteTable], tuple[str, ...]]
"""Returns the statements of a rewrite, in a destination's language."""


def with_rewrites(
    plan: MigrationPlan,
    tables: Mapping[str, Table],
    abilities: Abilities,
    stored: Stored,
    render: RenderRewrite,
    done: int = 0,
) -> MigrationPlan:
    """Return a plan that groups the steps that run as one rewrite; the last step of a group has its statements.

    If some steps of a group were undone by themselves, the remaining steps are grouped again, if they still can be.

    Each remaining step has its own statements; ``tables`` are as they are before the first of them.
    """
    if not plan.is_applicable:
        return plan
    rewritten = [
        replace(planned_step, done_with=None) if (planned_step.done_with or 0) > done else planned_step
        for planned_step in plan.steps[:done]
    ]
    remaining_steps = plan.steps[done:]
    steps, cuts = [planned_step.step for planned_step in remaining_steps], {cut - done for cut in plan.cuts}
    for places, table in find_rewrites(steps, tables, abilities, stored, cuts):
        planned = remaining_steps[places.start : places.stop]
        if len(planned) == 1 or table is None:
            rewritten += (replace(planned_step, done_with=None) for planned_step in planned)
            continue
        last = places.stop + done
        rewritten += (replace(planned_step, statements=(), done_with=last) for planned_step in planned[:-1])
        statements = render(rewrite_of(table, [planned_step.step for planned_step in planned]))
        rewritten.append(replace(planned[-1], statements=statements, done_with=last))
    return replace(plan, steps=tuple(rewritten))


def rewrite_of(table: Table, steps: Sequence[Step]) -> RewriteTable:
    """Return the rewrite that does steps which ``find_rewrites`` or ``find_rewrites_back`` has grouped."""
    return RewriteTable(table, cast("tuple[ColumnStep, ...]", tuple(steps)))


def find_rewrites(
    steps: Sequence[Step], tables: Mapping[str, Table], abilities: Abilities, stored: Stored, cuts: Collection[int] = ()
) -> Iterator[tuple[range, Table | None]]:
    """Yield the indexes of the steps that run at once, with their table before the first of them.

    Something else runs before the steps in ``cuts``: no rewrite contains steps on both sides.
    """
    model = dict(tables)
    index = 0
    while index < len(steps):
        end = _end(steps, index, model, abilities, stored)
        end = min((cut for cut in cuts if index < cut < end), default=end)
        yield range(index, end), model.get(steps[index].table_name)
        apply_to_model(model, steps[index:end])
        index = end


def _end(steps: Sequence[Step], start: int, tables: Mapping[str, Table], abilities: Abilities, stored: Stored) -> int:
    """Return the end of the steps that are done at once with the step at ``start``."""
    end, table = start + 1, tables.get(steps[start].table_name)
    if table is None or not abilities.rewrites(steps[start], table):
        return end
    name = table.name
    for index in range(start + 1, len(steps)):
        step = steps[index]
        # Its values are counted after the steps before it, so these must have run.
        if step.table_name != name or is_counted_late(steps, index):
            break
        table = steps[index - 1].apply_to(table)
        together = steps[start : index + 1]
        if not abilities.rewrites(step, table):
            column = step.column if isinstance(step, AddColumn) else None
            is_plain = column is not None and column.nullable and DATABASE_TYPE not in column.properties
            if abilities.transactional_ddl or not is_plain:
                break
        elif abilities.transactional_ddl:
            # No rewrite converts values that it has converted.
            *before, last = (earlier.before.name if isinstance(earlier, ChangeType) else None for earlier in together)
            if last is not None and last in before:
                break
            end = index + 1
        elif _is_completion_detectable(together, tables, stored):
            end = index + 1
        else:
            break
    return end


def _is_completion_detectable(steps: Sequence[Step], tables: Mapping[str, Table], stored: Stored) -> bool:
    """Return whether the tables show that steps are done, and that they are not."""
    after = dict(tables)
    apply_to_model(after, steps)
    return are_done(steps, after, stored) and not are_done(steps, tables, stored)


def find_rewrites_back(
    planned: Sequence[PlannedStep],
    numbers: Sequence[int],
    tables: Mapping[str, Table],
    abilities: Abilities,
    stored: Stored,
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of the steps that are undone at once if no transaction contains them.

    The numbers begin with the last step; the tables are as they are before that is undone.
    """
    model = dict(tables)
    index = 0
    while index < len(numbers):
        end = _end_back(planned, numbers, index, model, abilities, stored)
        yield tuple(numbers[index:end])
        apply_to_model(model, undo_steps(planned, numbers[index:end]))
        index = end


def undo_steps(planned: Sequence[PlannedStep], numbers: Sequence[int]) -> list[Step]:
    """Return the undo of a run's steps, in the order of their numbers; the ledger's own tables stay."""
    steps = (step for number in numbers for step in planned[number - 1].undo.steps)
    return [step for step in steps if not is_bookkeeping(step.table_name)]


def _end_back(
    planned: Sequence[PlannedStep],
    numbers: Sequence[int],
    start: int,
    tables: Mapping[str, Table],
    abilities: Abilities,
    stored: Stored,
) -> int:
    """Return the end of the numbers of the steps that are undone together with the one at ``start``."""
    end = start + 1
    first = planned[numbers[start] - 1].undo.steps
    if not first or not all(abilities.rewrites(step, tables.get(step.table_name)) for step in first):
        return end
    table = first[0].table_name
    for index in range(start + 1, len(numbers)):
        planned_step = planned[numbers[index] - 1]
        if numbers[index] != numbers[index - 1] - 1 or any(
            step.table_name != table for step in (planned_step.step, *planned_step.undo.steps)
        ):
            break
        if not planned_step.undo.steps:
            continue  # values go with their column
        together = numbers[start : index + 1]
        if not all(abilities.rewrites(step, tables.get(table)) for step in planned_step.undo.steps):
            break
        # The tables must show that the steps are done still, and that they are undone.
        steps, after = [planned[number - 1].step for number in reversed(together)], dict(tables)
        apply_to_model(after, undo_steps(planned, together))
        if not are_done(steps, tables, stored) or are_done(steps, after, stored):
            break
        end = index + 1
    return end
