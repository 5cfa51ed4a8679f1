"""Carries out one load on tables that are files, all or nothing.

No format has a commit for several tables. So what the tables were is written into a journal first, then all new files.
Only then is each table committed, once, with the load's id, nested ones before those that they are nested in. Then
comes `_dlt_version`, and last the row in `_dlt_loads` that completes the load. Between the commits a reader may see
rows of the load in some tables and not in others: those whose ``_dlt_load_id`` is not in `_dlt_loads` yet; each single
table is consistent at any time. A load that fails is undone at once, a load that was killed by the next one, whatever
its id: tables are restored to the versions in the journal. Columns that it added stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from schemactl.destinations._chains import Chain
from schemactl.destinations._journal import Versions
from schemactl.destinations._lake.check import check_table, grown_field
from schemactl.destinations._lake.files import add_staged
from schemactl.destinations._lake.merge import merge_chain
from schemactl.destinations._lake.table import DataFile, Lake, LakeTable
from schemactl.destinations._lake.types import arrow_type, partitions_of
from schemactl.destinations._load import Load
from schemactl.destinations._structure import Clash
from schemactl.errors import DestinationError, SchemactlError
from schemactl.schema.nested_types import structure_of
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow

_RESERVED = ("delta.", "PARQUET:")
"""How metadata of columns begins that has a meaning to Delta and to Parquet."""


@dataclass(frozen=True, slots=True)
class _Commit:
    """What becomes of a table: files that are written already, and files that go."""

    table: LakeTable
    added: Sequence[str]
    removed: Sequence[DataFile]


@dataclass(slots=True)
class LakeLoad(Load[_Commit]):
    """See ``Load``: new files are staged, and known to no table before the commits."""

    lake: Lake
    there: Mapping[str, LakeTable | None] = field(init=False)
    journal: Versions = field(init=False)

    @property
    def origin(self) -> str:
        return self.lake.origin

    def lock(self) -> AbstractContextManager[None]:
        return self.lake.locked()

    def recover(self) -> None:
        recover(self.lake)

    def is_loaded(self) -> bool:
        return self.lake.is_complete(self.package.schema.name, self.package.load_id)

    def check(self, chains: Sequence[Chain]) -> None:
        self.there = {table.name: self.lake.open(table.name) for chain in chains for table in chain.tables}
        for chain in chains:
            for name, staged in chain.staged.items():
                check_table(self.lake, staged.table, self.there[name])

    def prepare(self, chains: Sequence[Chain]) -> None:  # noqa: ARG002 - `check` has seen them
        own = {name: self.lake.open(name) for name in self.lake.own_tables(self.package)}
        self.journal = Versions(
            self.package.load_id,
            self.package.schema.name,
            uuid.uuid4().hex,
            {name: table.version if table else None for name, table in {**self.there, **own}.items()},
            tuple(self.lake.own_files(self.package)),
        )
        self.lake.write_journal(self.journal)

    def stage(self, chain: Chain) -> Iterator[_Commit]:
        self.report(chain.root.name)
        return _write_chain(self.lake, chain, self.journal, self.package.inserted_at)

    def commit(self, staged: Sequence[_Commit]) -> None:
        for each in staged:
            each.table.commit(each.added, each.removed, self.journal.load_id)
        self.lake.finish(self.package)

    def restore(self, error: BaseException) -> None:
        try:
            recover(self.lake)
        except DestinationError as second:
            if not isinstance(error, Exception):  # an interrupt stays one
                return
            first = error.message if isinstance(error, SchemactlError) else str(error)
            raise DestinationError(
                f"{first}; what the load had written could not be taken back yet: {second.message}",
                hint="fix the first, then load again: the next load removes what this one has left",
            ) from error

    def clean_up(self) -> None:
        self.lake.write_journal(None)


def recover(lake: Lake) -> None:
    """End the load that the journal records: undo it unless it is complete.

    Raises:
        DestinationError: someone else has written to its tables since.
    """
    journal = lake.read_journal()
    if journal is None:
        return
    if not lake.is_complete(journal.schema_name, journal.load_id):
        for name, version in journal.tables.items():
            _undo(lake, name, version, journal)
        lake.discard_own(journal)
    lake.write_journal(None)


def _undo(lake: Lake, name: str, version: int | None, journal: Versions) -> None:
    table = lake.open(name)
    if table is not None and table.version != version:
        if table.is_touched_by_others(version, journal.load_id):
            raise DestinationError(
                f"load `{journal.load_id}` of `{lake.origin}` broke off, and others have written to `{name}` since",
                hint=f"restore `{name}` to version {version}, or remove the journal, then load again",
            )
        if version is None:
            lake.drop(name)
        else:
            table.restore(version, journal.load_id)
    if table is not None:
        table.discard_files(journal.attempt)


def _write_chain(lake: Lake, chain: Chain, journal: Versions, inserted_at: datetime) -> Iterator[_Commit]:
    """Write the new files of the tables of a chain, and yield what is to be committed of them, the root's first."""
    tables = {table.name: made for table in chain.tables if (made := _ready(lake, table, chain, journal)) is not None}
    if not chain.is_merged:
        for name, table in tables.items():
            removed = table.files() if chain.is_replaced else ()
            staged = chain.staged.get(name)
            added = list(add_staged(table, staged, journal.attempt)) if staged else []
            if added or removed:
                yield _Commit(table, added, removed)
        return
    for name, added, removed in merge_chain(chain, inserted_at, tables, journal.attempt):
        if added or removed:
            yield _Commit(tables[name], added, removed)


def _ready(lake: Lake, table: Table, chain: Chain, journal: Versions) -> LakeTable | None:
    """Return the table with all columns of the load; None where it is not there and no rows come."""
    there = lake.open(table.name)
    if table.name not in chain.staged:
        return there
    columns = [column for column in table.columns.values() if column.is_complete]
    if there is None:
        fields = [_field(lake, column, is_nullable=column.nullable) for column in columns]
        description = description_of(table)
        return lake.create(
            table.name, fields, journal.load_id, partitions=partitions_of(table), description=description
        )
    # What is there already has no values for them.
    missing = [column for column in columns if column.name not in there.fields.names]
    fields = [_field(lake, column, is_nullable=True) for column in missing]
    known = [each for each in columns if each.name in there.fields.names and structure_of(each) is not None]
    wider = []
    for column in known:
        found = grown_field(lake, column, there)
        if isinstance(found, Clash):  # as `check` has seen, unless the table was changed since
            message = f"another program has changed the table: {found.describe('a column')}"
            raise DestinationError(message, hint="load again")
        wider += [found] if found is not None else []
    grown = there.grow_columns(wider, journal.load_id) if wider else there
    return grown.add_columns(fields, journal.load_id) if fields else grown


def _field(lake: Lake, column: Column, *, is_nullable: bool) -> pyarrow.Field:
    import pyarrow

    from schemactl.kernel.stored import notes_of

    # What formats say of columns themselves is not the data's to state.
    notes = {key: text for key, text in (notes_of(column) or {}).items() if not key.startswith(_RESERVED)}
    if text := notes.pop("description", None):
        # Iceberg's name for it, and Delta's.
        notes |= {"doc": text, "comment": text}
    return pyarrow.field(column.name, arrow_type(lake.kind_of(column)), is_nullable, notes or None)
