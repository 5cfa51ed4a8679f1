"""Compare the tables that are there with those that there should be, and find what blocks steps before the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.effects import apply_to_model
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.records import Blocker
from schemactl.migration.steps import Step, table_of
from schemactl.migration.tracing import in_first_names
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema, Table


def tables_now(session: MigrationSession, module: Migrator, schema: Schema) -> dict[str, Table]:
    """Return a model of the tables as they are, under the names as the schema spells them."""
    proposal = plan_steps(
        session.catalogue().schema,
        schema,
        None,
        stored=module.stored,
        abilities=module.ABILITIES,
        options=PlanOptions(),
    )
    return dict(proposal.catalogue.tables)


def expected_tables(tables: Mapping[str, Table], steps: Sequence[Step]) -> dict[str, Table]:
    """Return what steps make of tables, of those that they touch.

    Raises:
        KeyError: a step does not fit the tables.
    """
    made = dict(tables)
    touched = set()
    for step in steps:
        before = set(made)
        apply_to_model(made, (step,))
        touched |= {table_of(step), *(set(made) - before)}
    return {name: table for name, table in made.items() if name in touched}


def check_left(
    session: MigrationSession,
    module: Migrator,
    before: Mapping[str, Table],
    steps: Sequence[Step],
    said: str,
) -> None:
    """Refuse tables that are not as some steps would have left them.

    Raises:
        DestinationError: they are otherwise.
        KeyError: the steps do not fit the tables.
    """
    expected = expected_tables(before, steps)
    gone = sorted({table_of(step) for step in steps} - set(expected))
    if wrong := differences(expected, gone, session.catalogue().schema, module):
        raise DestinationError(f"{said}: {'; '.join(wrong)}")


def differences(
    expected: Mapping[str, Table],
    gone: Sequence[str],
    catalogue: Schema,
    module: Migrator,
) -> tuple[str, ...]:
    """Return what is otherwise in a catalog than expected, in sentences."""
    names = module.NAMES
    found = {fold(name, names): table for name, table in catalogue.tables.items()}
    said = [f"table `{name}` is still there" for name in gone if fold(name, names) in found]
    for name, table in expected.items():
        there = found.get(fold(name, names))
        said += [f"table `{name}` is missing"] if there is None else _differing(table, there, module)
    return tuple(said)


def _differing(table: Table, there: Table, module: Migrator) -> Iterator[str]:
    if is_bookkeeping(table.name):
        return
    names = module.NAMES
    found = {fold(name, names): column for name, column in there.columns.items()}
    stated = {fold(name, names): column for name, column in table.columns.items()}
    for key, column in stated.items():
        if key not in found:
            yield f"column `{table.name}.{column.name}` is missing"
        elif module.stored(found[key]) != module.stored(column):
            is_, should = (_shown(module.stored(each)) for each in (found[key], column))
            yield f"column `{table.name}.{column.name}` is {is_}, and should be {should}"
    for key, column in found.items():
        if key not in stated:
            yield f"column `{table.name}.{column.name}` is still there"


def _shown(properties: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in properties.items())


def fold(name: str, names: NameLimits) -> str:
    """Return what two names have in common that are one name there."""
    return names.fold(name)


def find_blockers(session: MigrationSession, steps: Sequence[Step]) -> dict[Blocker, tuple[int, ...]]:
    """Return why steps cannot be done, before the first of them has run, each reason with the places of its steps."""
    found: dict[Blocker, tuple[int, ...]] = {}
    for place, seen in enumerate(in_first_names(steps)):
        blocker = session.find_blocker(seen) if seen is not None else None
        if blocker is not None:
            found[blocker] = (*found.get(blocker, ()), place)
    return found
