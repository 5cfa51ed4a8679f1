"""Carries out one load on tables that are files, all or nothing.

No format has a commit for several tables. So a journal first records the versions of the tables, then all new files are
written. Only then is each table committed, once, with the load's id, nested tables before their parents. Then comes
`_dlt_version`, and last the row in `_dlt_loads` that completes the load. Between the commits a reader can see rows of
the load in some tables and not yet in the next ones: rows whose ``_dlt_load_id`` is not in `_dlt_loads`. Each single
table is consistent at any time. A load that fails is undone at once, a killed load by the next one, whatever its id:
tables are restored to the versions in the journal. Columns that it added stay.
"""

from __future__ import annotations

import uuid
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from schemactl.destinations._bookkeeping import is_loaded, past_loads
from schemactl.destinations._journal import Versions
from schemactl.destinations._lake.files import add_staged
from schemactl.destinations._lake.table import DataFile, FilesTable, Lake, LakeTable
from schemactl.destinations._lake.types import arrow_type, can_partition, fits
from schemactl.destinations._load import OTHER_TYPES, Chain, Load, chains_to_check, check_renames
from schemactl.destinations._structure import Clash, cut, grown, shown
from schemactl.errors import CommandWarning, DestinationError, Problem, SchemactlError
from schemactl.normalization.package import PastLoads, StagedTable
from schemactl.schema.dispositions import complete, first, named
from schemactl.schema.nested_types import Leaf, read_type, structure_of
from schemactl.schema.structure import DATABASE_TYPE, description_of
from schemactl.schema.types import Column, Properties, Schema, Table
from schemactl.store.lock import is_lock_free
from schemactl.type_systems.arrow_types import from_exact_arrow, to_arrow

if TYPE_CHECKING:
    import pyarrow

_RESERVED = ("delta.", "PARQUET:")
"""How metadata of columns begins that has a meaning to Delta and to Parquet."""


T = TypeVar("T", bound=FilesTable)


@dataclass(frozen=True, slots=True)
class TableChange(Generic[T]):
    """The change to a table: files that are written already, and files that go."""

    table: T
    added: Sequence[str]
    removed: Sequence[DataFile]


@dataclass(slots=True)
class FilesLoad(Load[TableChange[T]], Generic[T]):
    """A load into tables that are files: new files are staged, and known to no table before the commit."""

    @property
    @abstractmethod
    def prefix(self) -> str:
        """The beginning of the names of new files."""

    @abstractmethod
    def table_to_write(self, table: Table, chain: Chain) -> T | None:
        """Return the table with all columns of the load; None if the load does not change it."""

    def add_files(self, table: T, staged: StagedTable | None, chain: Chain) -> list[str]:  # noqa: ARG002 - for folders
        """Write the rows that a load appends, or that replace stored rows, to new files; return them."""
        return list(add_staged(table, staged, self.prefix)) if staged else []

    def stage(self, chain: Chain) -> Iterator[TableChange[T]]:
        self.report(chain.root.name)
        tables = {
            table.name: files_table
            for table in chain.tables
            if (files_table := self.table_to_write(table, chain)) is not None
        }
        if chain.is_merged:
            from schemactl.destinations._lake.merge import merge_chain

            merged = merge_chain(chain, self.package.inserted_at, tables, self.prefix)
            yield from (TableChange(tables[name], added, removed) for name, added, removed in merged)
            return
        for name, table in tables.items():
            added = self.add_files(table, chain.staged.get(name), chain)
            yield TableChange(table, added, table.files() if chain.is_replaced else ())


@dataclass(slots=True)
class LakeLoad(FilesLoad[LakeTable]):
    """See ``FilesLoad``: each table is committed once, and the journal says how the commits are undone."""

    lake: Lake
    lake_tables: Mapping[str, LakeTable | None] = field(init=False)
    journal: Versions = field(init=False)

    @property
    def origin(self) -> str:
        return self.lake.origin

    def lock(self) -> AbstractContextManager[None]:
        return self.lake.locked()

    def recover(self) -> None:
        recover(self.lake)

    @property
    def stored(self) -> Lake:
        return self.lake

    def check(self, chains: Sequence[Chain]) -> None:
        self.lake_tables = {table.name: self.lake.open(table.name) for chain in chains for table in chain.tables}
        for chain in chains:
            for name, staged in chain.staged.items():
                check_table(self.lake, staged.table, self.lake_tables[name])
        _check_renames(self.lake, self.package.schema, chains)

    def prepare(self, chains: Sequence[Chain]) -> None:  # noqa: ARG002 - `check` has seen them
        system_tables = {name: self.lake.open(name) for name in self.lake.own_tables(self.package)}
        self.journal = Versions(
            self.package.load_id,
            self.package.schema.name,
            uuid.uuid4().hex,
            {name: table.version if table else None for name, table in {**self.lake_tables, **system_tables}.items()},
            tuple(self.lake.own_files(self.package)),
        )
        self.lake.write_journal(self.journal)

    @property
    def prefix(self) -> str:
        return self.journal.attempt

    def table_to_write(self, table: Table, chain: Chain) -> LakeTable | None:
        lake, load_id = self.lake, self.journal.load_id
        lake_table = lake.open(table.name)
        if table.name not in chain.staged:
            return lake_table
        columns = complete(table)
        if lake_table is None:
            fields = [_field(lake, column, is_nullable=column.nullable) for column in columns]
            partitions, description = named(table, "partition"), description_of(table)
            return lake.create(table.name, fields, load_id, partitions=partitions, description=description)
        # Stored rows have no values for them.
        stored_names = lake_table.fields.names
        fields = [_field(lake, column, is_nullable=True) for column in columns if column.name not in stored_names]
        wider = []
        for column in columns:
            if column.name not in stored_names or structure_of(column) is None:
                continue
            change = grown_field(lake, column, lake_table)
            if isinstance(change, Clash):  # as `check` has seen, unless the table was changed since
                message = f"another program has changed the table: {change.describe('a column')}"
                raise DestinationError(message, hint="load again")
            if change is not None:
                wider.append(change)
        grown = lake_table.grow_columns(wider, load_id) if wider else lake_table
        return grown.add_columns(fields, load_id) if fields else grown

    def commit(self, staged: Sequence[TableChange[LakeTable]]) -> None:
        for change in staged:
            if change.added or change.removed:
                change.table.commit(change.added, change.removed, self.journal.load_id)
        self.lake.finish(self.package, self.prefix)

    def restore(self, error: BaseException) -> None:
        try:
            take_back(self.lake)
        except DestinationError as second:
            if not isinstance(error, Exception):  # an interrupt stays one
                return
            first = error.message if isinstance(error, SchemactlError) else str(error)
            raise DestinationError(
                f"{first}; the load could not be undone: {second.message}",
                hint="fix the first error, then load again: the next load removes the files of this load",
            ) from error

    def clean_up(self) -> None:
        self.lake.write_journal(None)


def past_loads_of(lake: Lake, schema_name: str) -> PastLoads:
    """Return the ids of earlier loads, and whether a killed command has left work to the next session that writes."""
    past = past_loads(lake.read_rows, schema_name)
    return replace(past, is_interrupted=lake.has_leftovers and is_lock_free(lake.lock_folder))


def recover(lake: Lake) -> None:
    """Undo an interrupted load, remove the files of interrupted migrations, and warn of both; raises as ``take_back``.

    Call it while no other session can write.
    """
    journal = take_back(lake)
    if journal is not None:
        message = f"undid load `{journal.load_id}`, which was interrupted in `{lake.origin}`"
        warnings.warn(CommandWarning(message), stacklevel=2)
    lake.remove_leftovers()


def take_back(lake: Lake) -> Versions | None:
    """Undo the load that the journal records unless it is complete; return its journal if it was undone."""
    journal = lake.read_journal()
    if journal is None:
        return None
    is_complete = is_loaded(lake.read_rows, journal.schema_name, journal.load_id)
    if not is_complete:
        for name, version in journal.tables.items():
            if (table := lake.open(name)) is None:
                continue
            if table.version != version:
                if table.is_touched_by_others(version, journal.load_id):
                    raise DestinationError(
                        f"load `{journal.load_id}` of `{lake.origin}` was interrupted, "
                        f"and another program has written to `{name}` since",
                        hint=f"restore `{name}` to version {version}, or remove the journal, then load again",
                    )
                if version is None:
                    lake.drop(name)
                else:
                    table.restore(version, journal.load_id)
            table.discard_files(journal.attempt)
        lake.discard_own(journal)
    lake.write_journal(None)
    return None if is_complete else journal


def _field(lake: Lake, column: Column, *, is_nullable: bool) -> pyarrow.Field:
    import pyarrow

    from schemactl.kernel.stored import notes_of

    # Data cannot set the metadata that a format itself writes about columns.
    notes = {key: text for key, text in (notes_of(column) or {}).items() if not key.startswith(_RESERVED)}
    if text := notes.pop("description", None):
        # Iceberg's name for it, and Delta's.
        notes |= {"doc": text, "comment": text}
    return pyarrow.field(column.name, arrow_type(lake.kind_of(column)), is_nullable, notes or None)


def check_schema(lake: Lake, schema: Schema) -> None:
    """Raise ``DestinationError`` if tables of a schema cannot be loaded, or merged; see ``check_table``."""
    chains = chains_to_check(schema)
    for chain in chains:
        for table in chain.tables:
            check_table(lake, table, lake.open(table.name))
    _check_renames(lake, schema, chains)


def _check_renames(lake: Lake, schema: Schema, chains: Sequence[Chain]) -> None:
    check_renames(
        schema,
        chains,
        lambda table: lake_table.fields.names if (lake_table := lake.open(table)) else None,
        lake.names,
        lake.origin,
    )


def check_table(lake: Lake, table: Table, lake_table: LakeTable | None) -> None:
    """Raise ``DestinationError`` if a table cannot be loaded: it is not ours, of other types, or names clash."""
    for first_name, second_name in lake.names.clashes(table.columns):
        raise DestinationError(
            f"columns `{first_name}` and `{second_name}` of `{table.name}` are the same column in `{lake.origin}`"
        )
    if lake_table is None:
        for name in named(table, "partition"):
            kind = lake.kind_of(table.columns[name])
            if not can_partition(kind):
                raise DestinationError(
                    f"`{table.name}.{name}` has the hint `partition`, but its type is {_said(kind)}",
                    hint="partition by a text, bigint, bool, date or timestamp column",
                )
        return
    row_key = first(table, "row_key") or first(table, "x-row-version") or first(table, "unique")
    if row_key and row_key not in lake_table.fields.names:
        raise DestinationError(
            f"table `{table.name}` of `{lake.origin}` was not created by dlt or schemactl: "
            f"it has no column `{row_key}`",
            hint="load into another dataset: `?dataset=NAME`",
        )
    if lake_table.blocker:
        raise DestinationError(f"table `{table.name}` of `{lake.origin}` {lake_table.blocker}")
    columns = [column for column in complete(table) if column.name in lake_table.kinds]
    blockers = tuple(Problem(text) for column in columns if (text := _type_blocker(lake, column, lake_table)))
    if blockers:
        raise DestinationError(
            f"rows of `{table.name}` do not fit into the table in `{lake.origin}`",
            problems=blockers,
            hint=OTHER_TYPES,
        )


def _type_blocker(lake: Lake, column: Column, lake_table: LakeTable) -> str | None:
    """Return, for a message, why values of a column do not fit the stored column; None if they do."""
    stored_type = from_exact_arrow(lake_table.fields.field(column.name).type)
    ours = structure_of(column)
    if ours is not None and stored_type is not None and not isinstance(stored_type, Leaf):
        change = grown_field(lake, column, lake_table)
        return change.describe(column.name) if isinstance(change, Clash) else None
    if fits(lake.kind_of(column), lake_table.kinds[column.name]):
        return None
    kind = shown(ours) if ours is not None else column.data_type
    return f"column `{column.name}` is {_said(lake_table.kinds[column.name])} there, and {kind} in the schema"


def grown_field(lake: Lake, column: Column, lake_table: LakeTable) -> pyarrow.Field | Clash | None:
    """Return the type that a column needs for a load's structs or lists; None if its type already fits."""
    import pyarrow

    field = lake_table.fields.field(column.name)
    old, ours = from_exact_arrow(field.type), read_type(lake.kind_of(column)[DATABASE_TYPE])
    if old is None or isinstance(old, Leaf):
        return None
    new = grown(old, ours, lake.widens)
    if isinstance(new, Clash):
        return new
    return None if new == old else pyarrow.field(column.name, to_arrow(new), field.nullable)


def _said(kind: Properties) -> str:
    zone = " without zone" if kind.get("timezone") is False else ""
    return f"{kind.get('data_type') or cut(str(kind.get(DATABASE_TYPE)))}{zone}"
