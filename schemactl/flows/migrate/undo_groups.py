"""Says in what a rollback shows which steps are undone at once: what is shown is what is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from schemactl.destinations import MergingSession, MigrationSession
from schemactl.flows.migrate.copying import by_copies, is_copying, shared_statements
from schemactl.flows.migrate.merging import is_merging, merged_back, shows_statements, undo_steps
from schemactl.flows.migrate.target import MigratingDestination
from schemactl.flows.migrate.undoing import Part, own_undos
from schemactl.migration.effects import run
from schemactl.migration.reports import UndoneStep
from schemactl.migration.steps import table_of
from schemactl.schema.types import Table


def grouped_back(
    session: MigrationSession,
    module: MigratingDestination,
    parts: Sequence[Part],
    undone: Sequence[UndoneStep],
    tables: Mapping[str, Table],
) -> tuple[UndoneStep, ...]:
    """Return steps that are to be undone, with those that are undone at once.

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
        for places, table in _merged(module, parts, undone, tables):
            found[places.start : places.stop] = _rewritten(session, undone[places.start : places.stop], places, table)
    return tuple(found)


def _by_copies(
    session: MigrationSession, module: MigratingDestination, undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> tuple[UndoneStep, ...]:
    """Return steps of which those that one copy undoes have its statements at the last of them."""
    at = [place for place, each in enumerate(undone) for _ in each.planned.undo.steps]
    steps = [step for each in undone for step in each.planned.undo.steps]
    found = list(undone)
    for places, table in by_copies(session, steps, tables, own_undos(undone).cuts):
        members = range(at[places.start], at[places[-1]] + 1)
        if len(members) == 1 or table is None or not is_copying(session):
            continue
        statements = shared_statements(session, module, steps[places.start : places.stop], table)
        found[members.start : members.stop] = _with_groups(undone[members.start : members.stop], members, statements)
    return tuple(found)


def _rewritten(session: MergingSession, undone: Sequence[UndoneStep], places: range, table: Table) -> list[UndoneStep]:
    """Return steps that are undone by writing their table's rows anew once."""
    if not shows_statements(session):
        return [replace(each, done_with=places.stop) for each in undone]  # each has its own statements
    steps = [step for each in undone for step in each.planned.undo.steps]
    return _with_groups(undone, places, session.statements_together(steps, table))


def _with_groups(undone: Sequence[UndoneStep], places: range, statements: tuple[str, ...]) -> list[UndoneStep]:
    """Return steps that are undone at once, of which the last one has the statements."""
    bare = [replace(each, planned=replace(each.planned, undo_statements=()), done_with=places.stop) for each in undone]
    return [*bare[:-1], replace(bare[-1], planned=replace(bare[-1].planned, undo_statements=statements))]


def _merged(
    module: MigratingDestination, parts: Sequence[Part], undone: Sequence[UndoneStep], tables: Mapping[str, Table]
) -> Iterator[tuple[range, Table]]:
    """Yield the places of steps that are undone by writing their table's rows anew once, with the table before."""
    at = {(each.run_id, each.number): place for place, each in enumerate(undone)}
    model = dict(tables)
    for part in parts:
        for numbers in merged_back(part.steps, part.numbers, dict(model), module):
            steps = undo_steps(part.steps, numbers)
            if len(numbers) > 1:
                places = range(at[part.run.run_id, numbers[0]], at[part.run.run_id, numbers[-1]] + 1)
                yield places, model[table_of(steps[0])]
            run(model, steps)
