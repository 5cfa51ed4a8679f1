"""The destination of a migration, the schema that it gets, and what is found there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.destinations import DESTINATIONS, MigrationSession, Migrator, find_address, is_migrator
from schemactl.destinations._catalogue import Catalogue
from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.references import Referred, find_schema
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import MigrationPlan, Place
from schemactl.migration.planner import Proposal, plan_steps
from schemactl.migration.records import Patience, Run, RunState, Version
from schemactl.migration.rewrites import with_rewrites
from schemactl.migration.steps import Step
from schemactl.redaction import redact
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder

MOST_EARLIER = 20
"""Schemas of a ledger that are looked through for columns that a migration has left alone."""


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a migration."""

    kind: str
    module: Migrator
    url: str

    def open_for_reading(
        self, schema_name: str, *, may_be_new: bool = False
    ) -> AbstractContextManager[MigrationSession]:
        """Open it; nothing is locked. ``may_be_new``: what is not there counts as empty."""
        return self.module.connect(self.url, schema_name, is_read_only=True, may_be_new=may_be_new)

    @contextmanager
    def open_for_writing(self, schema_name: str, patience: Patience) -> Iterator[MigrationSession]:
        """Open it alone."""
        with self.module.connect(self.url, schema_name, patience=patience) as session:
            yield session

    def place(self, session: MigrationSession) -> Place:
        """Return where a session is."""
        return Place(self.kind, session.origin, session.dataset)


@dataclass(frozen=True, slots=True)
class Found:
    """The catalog, ledger and schema that a session has read.

    Attributes:
        known: the schema that the ledger names last; None where there is none.
        versions: of the schema of that name, the last one first.
        runs: of the schema of that name, the first one first.
    """

    catalogue: Catalogue
    known: Schema | None
    versions: tuple[Version, ...]
    runs: tuple[Run, ...]

    @property
    def unfinished(self) -> Run | None:
        """The run that stands half done, if there is one."""
        return next((run for run in self.runs if run.state is RunState.RUNNING), None)

    @property
    def known_hash(self) -> str | None:
        """The hash that the ledger names last."""
        return self.versions[0].version_hash if self.versions else None


def find_target(to: str | None) -> Target:
    """Return the destination that ``--to`` names.

    Raises:
        InputError: it names none, or one that cannot be migrated.
    """
    if not to:
        raise InputError("no destination is named", hint="`--to DEST`, for example `--to duckdb:///shop.duckdb`")
    address = find_address(to)
    if address is None:
        scheme = to.strip().partition(":")[0].lower()
        raise InputError(f"`{redact(to)}` is no address of a destination", hint=nearest_or_all(scheme, _migrating()))
    kind, url = address
    module = DESTINATIONS[kind]
    if not is_migrator(module):
        raise InputError(f"`{kind}` cannot be migrated", hint=f"known: {', '.join(_migrating())}")
    return Target(kind, module, url)


def _migrating() -> list[str]:
    return [kind for kind in DESTINATIONS if is_migrator(DESTINATIONS[kind])]


def find_wanted(reference: str | Schema, schemas: Path) -> Schema:
    """Return the schema that a REF names, or a schema itself, with the version and hash of its content.

    Raises:
        InputError: it names no schema, or a destination, whose catalog is none.
    """
    if isinstance(reference, Schema):
        return bump(reference)
    return wanted(find_schema(reference, SchemasFolder.at(schemas)), reference)


def wanted(found: Referred, reference: str) -> Schema:
    """Return the schema that a REF has named, with the version and hash of its content.

    Raises:
        InputError: it is a destination's catalog.
    """
    if found.destination is not None:
        hint = f"write it to a file first: `schemactl export {reference} --output FILE`"
        raise InputError(f"`{reference}` names tables, not a schema", hint=hint)
    return bump(found.schema)


def find_name(target: Target) -> str:
    """Return the name of the only schema in a destination's ledger.

    Raises:
        InputError: there is none, or there are several.
    """
    catalogue = target.module.read_catalogue(target.url)
    if not catalogue.hashes:
        hint = "name the schema; `schemactl migrate baseline REF --to DEST` records one"
        raise InputError(f"the ledger of `{catalogue.origin}` names no schema, or several", hint=hint)
    return catalogue.schema.name


def read_state(session: MigrationSession, schema_name: str) -> Found:
    """Return what a destination has, and what its ledger says of a schema."""
    versions = session.versions(schema_name)
    known = session.schema_of(versions[0].version_hash) if versions else None
    runs = tuple(run for run in session.runs() if run.schema_name == schema_name)
    return Found(session.catalogue(), known, versions, runs)


def earlier_names(session: MigrationSession, found: Found) -> frozenset[tuple[str, str | None]]:
    """Return the columns, by table, and the tables of the last schemas in the ledger; no column for a table.

    What one of them had and the tables still have was left out when the schema lost it.
    """
    names: set[tuple[str, str | None]] = set()
    for version in found.versions[1:MOST_EARLIER]:
        schema = session.schema_of(version.version_hash)
        for table in schema.tables.values() if schema else ():
            names |= {(table.name, None), *((table.name, column) for column in table.columns)}
    return frozenset(names)


def propose(
    session: MigrationSession, module: Migrator, found: Found, schema: Schema, options: PlanOptions
) -> Proposal:
    """Return the steps from what was found to a schema."""
    required = {
        name.casefold(): {
            each.name.casefold() for each in table.columns.values() if each.is_complete and not each.nullable
        }
        for name, table in schema.tables.items()
    }
    # Whether there are rows is counted for tables that may get a required column, and for those that go.
    in_question = [
        name
        for name, table in found.catalogue.schema.tables.items()
        if name.casefold() not in required or required[name.casefold()] - {each.casefold() for each in table.columns}
    ]
    empty = session.empty_tables(in_question)
    return plan_steps(
        found.catalogue.schema,
        schema,
        found.known,
        stored=module.stored,
        abilities=module.ABILITIES,
        options=replace(options, empty_tables=empty),
    )


def decide_rewrites(
    session: MigrationSession, module: Migrator, plan: MigrationPlan, tables: Mapping[str, Table], done: int = 0
) -> MigrationPlan:
    """Return a plan that says which of its steps one rewrite of their table does; see ``with_rewrites``."""
    return with_rewrites(plan, tables, module.ABILITIES, module.stored, session.render_rewrite, done)


def rendering(module: Migrator, dataset: str) -> Callable[[Step, Table | None], tuple[str, ...]]:
    """Return what writes a step's statements for a dataset."""
    return lambda step, table: tuple(module.render(step, table, dataset))
