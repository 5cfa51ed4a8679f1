"""Compare the tables that are there with those that there should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemactl.destinations import MigrationSession, Migrator
from schemactl.errors import DestinationError
from schemactl.migration.comparison import is_bookkeeping, user_tables
from schemactl.migration.effects import apply_to_model
from schemactl.migration.spelling import check_names, spelled_as
from schemactl.migration.steps import Step, table_of
from schemactl.schema.types import Schema, Table


def tables_now(session: MigrationSession, destination: Migrator, schema: Schema) -> dict[str, Table]:
    """Return a model of the tables as they are; see ``tables_in``."""
    return tables_in(session.catalogue().schema, schema, destination)


def tables_in(catalogue: Schema, schema: Schema, destination: Migrator) -> dict[str, Table]:
    """Return a model of the tables of a catalog, under the names as the schema spells them.

    Raises:
        InputError: the destination cannot hold the schema's names.
    """
    names = destination.NAMES
    check_names(schema, names)
    return dict(user_tables(spelled_as(catalogue, schema, names), None).tables)


def expected_tables(tables: Mapping[str, Table], steps: Sequence[Step]) -> dict[str, Table]:
    """Return what steps make of tables, of those that they touch.

    Raises:
        StepDoesNotFit: a step does not fit the tables.
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
        StepDoesNotFit: the steps do not fit the tables.
    """
    expected = expected_tables(before, steps)
    gone = sorted({table_of(step) for step in steps} - set(expected))
    if wrong := _differences(expected, gone, session.catalogue().schema, module):
        raise DestinationError(f"{said}: {'; '.join(wrong)}")


def check_end(
    session: MigrationSession, destination: Migrator, before: Mapping[str, Table], steps: Sequence[Step], kept: str
) -> None:
    """Refuse tables that are not as all steps of a run would have left them.

    Raises:
        DestinationError: they are otherwise; ``kept`` says what of the run is kept.
        StepDoesNotFit: the steps do not fit the tables.
    """
    said = f"after the last step `{session.origin}` is not as planned, and {kept}"
    check_left(session, destination, before, steps, said)


def _differences(
    expected: Mapping[str, Table],
    gone: Sequence[str],
    catalogue: Schema,
    module: Migrator,
) -> tuple[str, ...]:
    """Return what is otherwise in a catalog than expected, in sentences."""
    names = module.NAMES
    found = {names.fold(name): table for name, table in catalogue.tables.items()}
    said = [f"table `{name}` is still there" for name in gone if names.fold(name) in found]
    for name, table in expected.items():
        there = found.get(names.fold(name))
        said += [f"table `{name}` is missing"] if there is None else _differing(table, there, module)
    return tuple(said)


def _differing(table: Table, there: Table, module: Migrator) -> Iterator[str]:
    if is_bookkeeping(table.name):
        return
    names = module.NAMES
    found = {names.fold(name): column for name, column in there.columns.items()}
    stated = {names.fold(name): column for name, column in table.columns.items()}
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
