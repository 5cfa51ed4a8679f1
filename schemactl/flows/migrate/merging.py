"""Which steps next to each other are done, or undone, by writing a table's rows anew once, where that can be done.

Such steps are done together or not at all, and the tables must show which: only then can a run that was killed go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeGuard

from schemactl.destinations import MergingSession, MigrationSession
from schemactl.flows.migrate.counting import is_counted_late
from schemactl.flows.migrate.effects_there import are_there
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.abilities import Way, way_of
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.effects import run
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import AddColumn, Step, table_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Table

_WRITES_ALL: Final = (Way.REWRITE, Way.COPY)


class StatementSession(MergingSession, Protocol):
    """A session that reports what it does for several steps at once."""

    def statements_together(self, steps: Sequence[Step], table: Table) -> tuple[str, ...]:
        """Return what ``run_together`` does, as people read it.

        Args:
            steps: as those of ``run_together``.
            table: as the first of them finds it.
        """
        ...


def shows_statements(session: MigrationSession) -> TypeGuard[StatementSession]:
    """Return whether a session says what it does for several steps at once; that of a third party may not."""
    return is_merging(session) and hasattr(session, "statements_together")


def is_merging(session: MigrationSession) -> TypeGuard[MergingSession]:
    """Return whether a session does several steps at once; that of a third party may not."""
    return hasattr(session, "run_together")


def merged(steps: Sequence[Step], tables: Mapping[str, Table], module: MigratingDestination) -> Iterator[range]:
    """Yield the places of steps that are done at once, one after the other.

    Args:
        steps: in their order.
        tables: as they are before the first of them.
        module: of the destination.

    Raises:
        KeyError: a step does not fit the tables.
    """
    model = dict(tables)
    place = 0
    while place < len(steps):
        end = _end(steps, place, model, module)
        yield range(place, end)
        run(model, steps[place:end])
        place = end


def merged_back(
    planned: Sequence[PlannedStep], numbers: Sequence[int], tables: Mapping[str, Table], module: MigratingDestination
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of steps that are undone at once, one after the other.

    Args:
        planned: all steps of a run.
        numbers: of those that are undone, the last one first.
        tables: as they are before the first of them is undone.
        module: of the destination.

    Raises:
        KeyError: a step does not fit the tables.
    """
    model = dict(tables)
    place = 0
    while place < len(numbers):
        end = _end_back(planned, numbers, place, model, module)
        yield tuple(numbers[place:end])
        run(model, undo_steps(planned, numbers[place:end]))
        place = end


def undo_steps(planned: Sequence[PlannedStep], numbers: Sequence[int]) -> list[Step]:
    """Return what undoes steps of a run, in the order of their numbers; the ledger's own tables stay."""
    steps = (step for number in numbers for step in planned[number - 1].undo.steps)
    return [step for step in steps if not is_bookkeeping(table_of(step))]


def _end_back(
    planned: Sequence[PlannedStep],
    numbers: Sequence[int],
    place: int,
    tables: Mapping[str, Table],
    module: MigratingDestination,
) -> int:
    """Return where the numbers end of the steps that are undone together with the one at ``place``."""
    end = place + 1
    first = planned[numbers[place] - 1].undo.steps
    if not first or not all(_writes_all(step, module) for step in first):
        return end
    table = table_of(first[0])
    for at in range(place + 1, len(numbers)):
        one = planned[numbers[at] - 1]
        if numbers[at] != numbers[at - 1] - 1 or any(table_of(each) != table for each in (one.step, *one.undo.steps)):
            break
        if not one.undo.steps:
            continue  # values go with their column
        if not all(_writes_all(step, module) for step in one.undo.steps):
            break
        if not _is_undo_detectable(planned, numbers[place : at + 1], tables, module):
            break
        end = at + 1
    return end


def _is_undo_detectable(
    planned: Sequence[PlannedStep], numbers: Sequence[int], tables: Mapping[str, Table], module: MigratingDestination
) -> bool:
    """Return whether the tables show that steps are done still, and that they are undone."""
    steps = [planned[number - 1].step for number in reversed(numbers)]
    after = dict(tables)
    run(after, undo_steps(planned, numbers))
    return are_there(steps, tables, module) and not are_there(steps, after, module)


def _end(steps: Sequence[Step], place: int, tables: Mapping[str, Table], module: MigratingDestination) -> int:
    """Return where the steps end that are done together with the one at ``place``."""
    end = place + 1
    if not _writes_all(steps[place], module):
        return end
    table = table_of(steps[place])
    for at in range(place + 1, len(steps)):
        step = steps[at]
        # Its values are counted when those before it are done.
        if table_of(step) != table or is_counted_late(steps, at):
            break
        if _writes_all(step, module):
            if not _is_completion_detectable(steps[place : at + 1], tables, module):
                break
            end = at + 1
        elif not _is_plain_column(step):
            break
    return end


def _writes_all(step: Step, module: MigratingDestination) -> bool:
    return way_of(step, module.ABILITIES) in _WRITES_ALL


def _is_plain_column(step: Step) -> bool:
    return isinstance(step, AddColumn) and step.column.nullable and DATABASE_TYPE not in step.column.properties


def _is_completion_detectable(steps: Sequence[Step], tables: Mapping[str, Table], module: MigratingDestination) -> bool:
    """Return whether the tables show that steps are done, and that they are not."""
    after = dict(tables)
    run(after, steps)
    return are_there(steps, after, module) and not are_there(steps, tables, module)
