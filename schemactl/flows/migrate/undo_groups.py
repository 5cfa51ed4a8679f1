"""Says in what a rollback shows which steps are undone at once: what is shown is what is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from schemactl.destinations import MigrationSession
from schemactl.flows.migrate.copying import by_copies, is_copying, shared_statements
from schemactl.flows.migrate.merging import is_merging, merged_back, undo_steps
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.flows.migrate.undoing import Part
from schemactl.migration.effects import run
from schemactl.migration.reports import UndoneStep
from schemactl.schema.types import Table


def grouped_back(
    session: MigrationSession,
    module: MigratingDestination,
    parts: Sequence[Part],
    undone: Sequence[UndoneStep],
    tables: Mapping[str, Table],
) -> tuple[UndoneStep, ...]:
    """Return steps that are to be undone, which tell those that are undone at once.

    Args:
        session: where.
        module: of the destination.
        parts: the runs of the steps.
        undone: each with its own statements.
        tables: as they are before the first of them is undone.

    Raises:
        KeyError: a step does not fit the tables.
    """
    if module.ABILITIES.transactional_ddl:
        return _by_copies(session, module, undone, tables)
    found = list(undone)
    if is_merging(session):
        for places in _merged(module, parts, undone, tables):
            found[places.start : places.stop] = [replace(undone[place], done_with=places.stop) for place in places]
    return tuple(found)


def _by_copies(
    session: MigrationSession, module: MigratingDestination, undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> tuple[UndoneStep, ...]:
    """Return steps of which those that one copy undoes have its statements at the last of them."""
    at = [place for place, each in enumerate(undone) for _ in each.planned.undo.steps]
    steps = [step for each in undone for step in each.planned.undo.steps]
    found = list(undone)
    for places, table in by_copies(session, steps, tables):
        members = range(at[places.start], at[places[-1]] + 1)
        if len(members) == 1 or table is None or not is_copying(session):
            continue
        statements = shared_statements(session, module, steps[places.start : places.stop], table)
        for place in members:
            told = statements if place == members[-1] else ()
            planned = replace(undone[place].planned, undo_statements=told)
            found[place] = replace(undone[place], planned=planned, done_with=members.stop)
    return tuple(found)


def _merged(
    module: MigratingDestination, parts: Sequence[Part], undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> Iterator[range]:
    """Yield the places of steps that are undone by writing their table's rows anew once."""
    at = {(each.run_id, each.number): place for place, each in enumerate(undone)}
    model = dict(tables)
    for part in parts:
        for numbers in merged_back(part.steps, part.numbers, model, module):
            if len(numbers) > 1:
                yield range(at[part.run.run_id, numbers[0]], at[part.run.run_id, numbers[-1]] + 1)
        run(model, undo_steps(part.steps, [number for number in part.numbers if (part.run.run_id, number) in at]))
