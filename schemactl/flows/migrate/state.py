"""The wanted schema of a destination, its current state, and the check that its tables match the steps."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemactl.destinations import Catalogue, MigrationSession, Migrator
from schemactl.errors import CommandWarning, DestinationError, InputError
from schemactl.flows.effective_schemas import read_effective
from schemactl.flows.references import Referred, find_schema
from schemactl.flows.target import MigrationTarget
from schemactl.migration.comparison import check_names, is_bookkeeping, spelled_as, user_tables
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_plan import Place
from schemactl.migration.records import Run, RunState, Version
from schemactl.migration.steps import Step
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder, SchemasPlace

MOST_EARLIER = 20
"""The number of ledger schemas that are searched for columns that earlier migrations left in place."""


@dataclass(frozen=True, slots=True)
class DestinationState:
    """A destination as a session has read it: its catalog, and the ledger of a schema.

    Attributes:
        session: the session, for further queries while it is open.
        ledger_schema: the ledger's last schema; None for an empty ledger.
        versions: the versions of the schema, newest first.
        runs: the runs of the schema, oldest first.
    """

    session: MigrationSession
    target: MigrationTarget
    catalogue: Catalogue
    ledger_schema: Schema | None
    versions: tuple[Version, ...]
    runs: tuple[Run, ...]

    @property
    def unfinished(self) -> Run | None:
        """The unfinished run, if there is one."""
        return next((run for run in self.runs if run.state is RunState.RUNNING), None)

    def tables_for(self, schema: Schema) -> dict[str, Table]:
        """Return a model of the tables; see ``tables_in``."""
        return tables_in(self.catalogue.schema, schema, self.target.destination)

    @property
    def place(self) -> Place:
        """The place of the tables."""
        return Place(self.target.kind, self.session.origin, self.session.dataset)

    @property
    def ledger_version(self) -> Version | None:
        """The schema that the ledger names last, without its content."""
        return self.versions[0] if self.versions else None

    @property
    def ledger_hash(self) -> str | None:
        """The hash that the ledger names last."""
        return self.versions[0].version_hash if self.versions else None


def find_goal_schema(reference: str | Schema, schemas: SchemasPlace) -> Schema:
    """Return the schema that a REF names, or a schema itself, with the version and hash of its content.

    Warns if the REF is a name whose import file has edits, because only the export file counts then.
    """
    if isinstance(reference, Schema):
        return bump(reference)
    folder = SchemasFolder.at(schemas)
    schema = with_content_hash(find_schema(reference, folder), reference)
    if reference in folder.names and (effective := read_effective(folder, reference)).is_pending:
        file = effective.opened.import_file
        assert file is not None, "an edit is in a file"
        message = f"`{file.path}` has edits that the schema lacks: `schemactl sync {reference}` applies them"
        warnings.warn(CommandWarning(message), stacklevel=2)
    return schema


def with_content_hash(referred: Referred, reference: str) -> Schema:
    """Return the schema that a REF has named, with the version and hash of its content."""
    if referred.destination is not None:
        hint = f"write it to a file first: `schemactl export {reference} --output FILE`"
        raise InputError(f"`{reference}` names tables, not a schema", hint=hint)
    return bump(referred.schema)


def find_name(target: MigrationTarget) -> str:
    """Return the name of the only schema in a destination's ledger, or of the only one with an unfinished run."""
    try:
        catalogue = target.destination.read_catalogue(target.url)
    except InputError as error:  # perhaps a run has failed before it made its first table
        missing, dataset = error, "none"  # a dataset without tables
    else:
        if catalogue.hashes:
            return catalogue.schema.name
        hint = "name the schema; `schemactl migrate baseline REF --to DEST` records one"
        missing = InputError(f"the ledger of `{catalogue.origin}` does not name a schema, or names several", hint=hint)
        dataset = catalogue.schema.name
    with target.open_for_reading(dataset) as session:
        names = {run.schema_name for run in session.runs() if run.state is RunState.RUNNING}
    if len(names) != 1:
        raise missing
    return names.pop()


def read_state(
    session: MigrationSession,
    target: MigrationTarget,
    schema_name: str,
    earlier: DestinationState | None = None,
    tables: Collection[str] | None = None,
) -> DestinationState:
    """Return the state of a destination, with its ledger's lines about a schema.

    A schema that the ledger of an ``earlier`` state names under the same hash is not read again. ``tables`` are the
    tables to read, as ``MigrationSession.catalogue`` takes them.
    """
    catalogue = session.catalogue(tables)  # first: with it a SQL session knows the tables of the ledger
    versions = session.versions(schema_name)
    ledger_schema = None
    if versions and earlier is not None and earlier.ledger_hash == versions[0].version_hash:
        ledger_schema = earlier.ledger_schema
    elif versions:
        ledger_schema = session.schema_of(versions[0].version_hash)
    runs = tuple(run for run in session.runs() if run.schema_name == schema_name)
    return DestinationState(session, target, catalogue, ledger_schema, versions, runs)


def earlier_names(state: DestinationState) -> frozenset[tuple[str, str | None]]:
    """Columns that an earlier schema had and the tables still have were left out when the schema lost them.

    What one of them had and the tables still have was left out when the schema lost it.
    """
    schemas = (state.session.schema_of(version.version_hash) for version in state.versions[1:MOST_EARLIER])
    return names_of(schema for schema in schemas if schema is not None)


def names_of(schemas: Iterable[Schema]) -> frozenset[tuple[str, str | None]]:
    """Return the columns, by table, and the tables of schemas; no column for a table."""
    return frozenset(
        (table.name, column)
        for schema in schemas
        for table in schema.tables.values()
        for column in (None, *table.columns)
    )


# --- tables, and the tables that a schema expects ---


def tables_in(catalogue: Schema, schema: Schema, destination: Migrator) -> dict[str, Table]:
    """Return a model of the tables of a catalog, under the names as the schema spells them."""
    names = destination.NAMES
    check_names(schema, names)
    return dict(user_tables(spelled_as(catalogue, schema, names), None).tables)


def check_left(
    session: MigrationSession,
    module: Migrator,
    before: Mapping[str, Table],
    steps: Sequence[Step],
    message: str,
) -> None:
    """Refuse tables that are not as some steps would have left them.

    Raises:
        StepDoesNotFit: the steps do not fit the tables.
    """
    model = dict(before)
    touched: set[str] = set()
    for step in steps:
        names_before = set(model)
        apply_to_model(model, (step,))
        touched |= {step.table_name, *(set(model) - names_before)}
    expected = {name: table for name, table in model.items() if name in touched}
    gone = sorted({step.table_name for step in steps} - set(expected))
    fold = module.NAMES.fold
    existing = {fold(name): table for name, table in session.catalogue((*expected, *gone)).schema.tables.items()}
    differences = [f"table `{name}` is still there" for name in gone if fold(name) in existing]
    for name, table in expected.items():
        existing_table = existing.get(fold(name))
        if existing_table is None:
            differences.append(f"table `{name}` is missing")
        else:
            differences += _differing(table, existing_table, module)
    if differences:
        raise DestinationError(f"{message}: {'; '.join(differences)}")


def _differing(table: Table, existing_table: Table, module: Migrator) -> Iterator[str]:
    if is_bookkeeping(table.name):
        return
    names = module.NAMES
    existing_columns = {names.fold(name): column for name, column in existing_table.columns.items()}
    expected_columns = {names.fold(name): column for name, column in table.columns.items()}
    for key, column in expected_columns.items():
        if key not in existing_columns:
            yield f"column `{table.name}.{column.name}` is missing"
        elif module.stored(existing_columns[key]) != module.stored(column):
            actual, expected = (
                ", ".join(f"{name} {value}" for name, value in module.stored(either).items())
                for either in (existing_columns[key], column)
            )
            yield f"column `{table.name}.{column.name}` is {actual}, and should be {expected}"
    for key, column in existing_columns.items():
        if key not in expected_columns:
            yield f"column `{table.name}.{column.name}` is still there"
