"""Which steps next to each other are done by one copy of their table, where the engine does each of them by a copy.

A copy is within one transaction: so nothing has to find out later which of its steps are done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol, TypeGuard

from schemactl.destinations import MigrationSession
from schemactl.flows.migrate.counting import is_counted_late
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.migration.effects import effect, run
from schemactl.migration.steps import ChangeType, Step, table_of
from schemactl.schema.types import Table


class CopyingSession(MigrationSession, Protocol):
    """A session of an engine that copies a table for some steps."""

    def is_copied(self, step: Step, table: Table | None) -> bool:
        """Return whether a step copies its table, as the step finds it."""
        ...

    def copy_statements(self, steps: Sequence[Step], table: Table) -> tuple[str, ...]:
        """Return the statements of one copy of a table; its arguments are those of ``run_by_copy``."""
        ...

    def run_by_copy(self, steps: Sequence[Step], table: Table) -> None:
        """Do steps by one copy of their table, by ``copy_statements``.

        Args:
            steps: each of which ``is_copied``, none about a column that one before it has converted.
            table: as the first of them finds it.
        """
        ...


def is_copying(session: MigrationSession) -> TypeGuard[CopyingSession]:
    """Return whether a session does several steps by one copy; that of a third party may not."""
    return all(hasattr(session, name) for name in ("is_copied", "copy_statements", "run_by_copy"))


def by_copies(
    session: MigrationSession, steps: Sequence[Step], tables: Mapping[str, Table], cuts: Collection[int] = ()
) -> Iterator[tuple[range, Table | None]]:
    """Yield the places of steps that are done at once, with their table as the first of them finds it.

    Args:
        session: where.
        steps: in their order.
        tables: as they are before the first of them.
        cuts: places before which something else runs.

    Raises:
        KeyError: a step does not fit the tables.
    """
    model = dict(tables)
    place = 0
    while place < len(steps):
        table = model.get(table_of(steps[place]))
        end = _end(session, steps, place, table) if is_copying(session) else place + 1
        end = min((cut for cut in cuts if place < cut < end), default=end)
        yield range(place, end), table
        run(model, steps[place:end])
        place = end


def shared_statements(
    session: CopyingSession, module: MigratingDestination, steps: Sequence[Step], table: Table
) -> tuple[str, ...]:
    """Return the statements of steps that one copy of their table does.

    Args:
        session: where.
        module: of the destination.
        steps: of one range of ``by_copies``.
        table: as the first of them finds it.

    Returns:
        What each of them does before it copies, and then the copy.
    """
    found: list[str] = []
    here: Table | None = table
    for step in steps:
        assert here is not None  # only steps about columns are done by a copy
        alone = module.render(step, here, session.dataset)
        found += alone[: len(alone) - len(session.copy_statements((step,), here))]
        here = effect(here, step)
    return (*found, *session.copy_statements(steps, table))


def _end(session: CopyingSession, steps: Sequence[Step], place: int, table: Table | None) -> int:
    """Return where the steps end that are done by the same copy as the one at ``place``."""
    end = place + 1
    if table is None or not session.is_copied(steps[place], table):
        return end
    converted = _converted(steps[place])
    here: Table | None = effect(table, steps[place])
    while end < len(steps) and table_of(steps[end]) == table.name:
        step = steps[end]
        # Its values are counted when those before it are done; and no value is converted twice in one copy.
        if is_counted_late(steps, end) or _converted(step) & converted or not session.is_copied(step, here):
            break
        converted |= _converted(step)
        here = effect(here, step)
        end += 1
    return end


def _converted(step: Step) -> frozenset[str]:
    return frozenset((step.before.name,)) if isinstance(step, ChangeType) else frozenset()
