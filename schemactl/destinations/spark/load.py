"""Loads rows into a schema of a Spark catalog.

Spark commits each table separately. A load that was killed before it was certain leaves nothing but tables named
``_schemactl_new_N_…``, which the next load drops; one that was killed later is finished by the next load. Between, a
reader may see the new rows of some tables and not yet of all: nested tables come before their parents, and the row in
``_dlt_loads`` comes last. Loads and migrations wait for each other (``lease``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import bookkeeping_of, past_loads, rows_of, rows_of_load, stored_as
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._journal import Pending, TableMove
from schemactl.destinations._lake.lock import LOAD_PATIENCE_SECONDS
from schemactl.destinations._load import (
    OTHER_TYPES,
    Chain,
    Load,
    carry_out,
    chains_to_check,
    check_nulls,
    check_renames,
)
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._structure import Clash, cut, gained, grown
from schemactl.destinations.spark.address import NAMES, Namespace, read_address
from schemactl.destinations.spark.commit import PENDING, commit, forget, read_pending, recover
from schemactl.destinations.spark.lease import Lease, leased
from schemactl.destinations.spark.merge import configured
from schemactl.destinations.spark.staging import Brought, Structures, prepare, stage, stage_rows
from schemactl.destinations.spark.tables import Tables, copy_blocker, find_views, refreshed
from schemactl.destinations.spark.types import column_type, ddl_of
from schemactl.engine.spark.session.opening import active_session, running_session
from schemactl.errors import DestinationError
from schemactl.normalization.package import Among, LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.dispositions import complete, first, merge_of
from schemactl.schema.nested_types import Leaf, NestedType, read_type, structure_of, write_type
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    import pyarrow

_SESSION_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
"""The table names that Spark's own catalog accepts."""


@dataclass(frozen=True)
class _SettledTables:
    """The tables of a schema after a killed load is finished; see ``StoredDataset``."""

    target: Tables

    @cached_property
    def coming(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The rows that a killed load has still to append, by table."""
        pending = read_pending(self.target)
        return {step.table: step.rows for step in pending.steps if step.rows} if pending else {}

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        coming = self.coming
        yield from self.target.read_rows(table, **equal)
        for name, columns in stored_as(table, coming, lambda name: coming[name][0], str(self.target.namespace)):
            values = ([row[column_name] for column_name in columns.values()] for row in coming[name])
            yield from (row for row in rows_of(table, values, columns) if row.items() >= equal.items())

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        return self.target.table_rows(table, among)


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[_SettledTables]:
    """Open a schema of a catalog, which is a dataset: the name of the schema of a load does not count."""
    del schema_name
    namespace = read_address(url)
    with running_session() as spark:
        yield _SettledTables(refreshed(Tables(spark, namespace)))


_READER: Final = DatasetReader(_open_to_read)
read_ledger, read_table = _READER.read_ledger, _READER.read_table


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the ids of earlier loads; see ``Loader``."""
    with _open_to_read(url, schema_name) as dataset:
        return replace(past_loads(dataset.read_rows, schema_name), is_interrupted=bool(dataset.coming))


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether a catalog accepts the tables of a schema; see ``Loader``.

    Without an open session only the schema is checked: a new session would not know the user's catalogs. ``load``
    checks the existing tables.
    """
    namespace = read_address(url)
    chains = chains_to_check(schema)
    for first_name, second_name in NAMES.clashes(table.name for chain in chains for table in chain.tables):
        raise DestinationError(
            f"`{first_name}` and `{second_name}` are the same table in a catalog", hint="rename one of them"
        )
    if active_session() is None:
        _check_chains(schema, chains, None, namespace)
        return
    with running_session() as spark:
        _check_chains(schema, chains, refreshed(Tables(spark, namespace)), namespace)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of a load to a schema of a catalog; the module's docstring names the parts that are not atomic."""
    namespace = read_address(url)
    with running_session() as spark, configured(spark), leased(spark, namespace, LOAD_PATIENCE_SECONDS) as lease:
        carry_out(SparkLoad(package, progress, Tables(spark, namespace, lease=lease), lease))


@dataclass(slots=True)
class SparkLoad(Load[TableMove]):
    """See ``Load``: rows are staged in separate tables, and a table of steps makes them certain.

    Attributes:
        made: the names of the tables that this load has made.
        is_certain: whether the steps may be written already, so that only the next load can tell.
    """

    target: Tables
    lease: Lease
    made: frozenset[str] = frozenset()
    is_certain: bool = False

    @property
    def origin(self) -> str:
        return str(self.target.namespace)

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.target.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self.target.namespace}")
        self.lease.hold()
        yield

    def recover(self) -> None:
        self.target = recover(self.target)

    @property
    def stored(self) -> Tables:
        return self.target

    def check(self, chains: Sequence[Chain]) -> None:
        check_nulls(chains)
        _check_chains(self.package.schema, chains, self.target, self.target.namespace)

    def prepare(self, chains: Sequence[Chain]) -> None:
        tables = [staged.table for chain in chains for staged in chain.staged.values()]
        tables += bookkeeping_of(self.package.schema)
        structures = {table.name: _structures(table, self.target) for table in tables}
        self.made = frozenset(table.name for table in tables) - self.target.stored.keys()
        self.target = prepare(self.target, tables, structures)

    def stage(self, chain: Chain) -> Iterator[TableMove]:
        self.report(chain.root.name)
        table_rows = [
            Brought(table, chain.staged.get(table.name), _structures(table, self.target), table.name in self.made)
            for table in chain.tables
            if table.name in self.target.stored
        ]
        merge = merge_of(chain.root, self.package.inserted_at) if chain.is_merged else None
        yield from stage(self.target, table_rows, merge, is_replaced=chain.is_replaced)

    def commit(self, staged: Sequence[TableMove]) -> None:
        bookkeeping = [stage_rows(table, rows) for table, rows in rows_of_load(self.package, self.target.read_rows)]
        steps = (*staged, *bookkeeping)
        self.is_certain = True
        pending = Pending(self.package.load_id, self.package.schema.name, steps, self.target.beside(PENDING))
        commit(self.target, pending)

    def restore(self, error: BaseException) -> None:  # noqa: ARG002 - staged tables disturb no one
        if not self.is_certain:
            forget(refreshed(self.target))


def _structures(table: Table, target: Tables) -> Structures:
    """Return the types in which existing columns keep their objects and lists after a load."""
    stored_types = target.stored[table.name].columns if table.name in target.stored else {}
    columns = [column for column in complete(table) if column.name in stored_types]
    types = {column.name: _after(column, stored_types[column.name]) for column in columns}
    return {name: of for name, of in types.items() if not isinstance(of, Clash)}


def _check_chains(schema: Schema, chains: Sequence[Chain], target: Tables | None, namespace: Namespace) -> None:
    """Refuse tables that a catalog does not support; without an open session, existing tables are not checked."""
    tables = [(table, chain.is_replaced) for chain in chains for table in chain.tables]
    for name in (table.name for table, _ in tables):
        if name.startswith(OURS):
            hint = "rename the table"
            raise DestinationError(f"`{name}` is a name that loads use for temporary tables", hint=hint)
        if namespace.has_files and not _SESSION_NAME.fullmatch(name):
            hint = "the naming convention `sql_cs_v1` creates valid names"
            raise DestinationError(f"the Spark session catalog does not allow the table name `{name}`", hint=hint)
    if target is None:
        return
    stored = target.stored
    check_renames(schema, chains, lambda name: stored[name].columns if name in stored else None, NAMES, str(namespace))
    existing = [(table, is_replaced) for table, is_replaced in tables if table.name in stored]
    views = find_views(target.spark, namespace) if existing else frozenset()
    for table, is_replaced in existing:
        _check_table(table, target, views, is_replaced=is_replaced)


def _check_table(table: Table, target: Tables, views: Collection[str], *, is_replaced: bool) -> None:
    stored_table = target.stored[table.name]
    key = first(table, "row_key")
    if table.name in views or (key and key not in stored_table.columns):
        is_view = table.name in views
        why = "is a view" if is_view else f"was not created by dlt or schemactl: it has no `{key}`"
        raise DestinationError(f"`{table.name}` {why}", hint="use another schema, or another table: `--table`")
    for column in complete(table):
        stored_type = stored_table.columns.get(column.name)
        if stored_type is None or stored_type == column_type(column):
            continue
        after = _after(column, stored_type)
        if isinstance(after, Clash):
            can_migrate = structure_of(column) is None
            elsewhere = OTHER_TYPES if can_migrate else "load into another schema, or drop the table first"
            hint = "drop the table first" if is_replaced else elsewhere
            raise DestinationError(after.describe(f"{table.name}.{column.name}"), hint=hint)
        # Spark's own catalog can add a field to a struct only by a copy.
        fields = gained(read_type(stored_type), after) if target.namespace.has_files else ()
        blocker = copy_blocker(target, table.name) if fields else None
        if fields and blocker is not None:
            field = f"{table.name}.{column.name}.{fields[0]}"
            hint = "load into another schema, or drop the table first"
            raise DestinationError(f"`{field}` is a new field, which needs a copy of the table. {blocker}", hint=hint)


def _after(column: Column, stored_type: str) -> NestedType | Clash:
    """Return the type that holds stored and new values, or why no type does: only structures can change."""
    ours = structure_of(column)
    if ours is None:
        return Clash("", Leaf(cut(stored_type)), Leaf(cut(column_type(column))))
    try:
        stored = read_type(stored_type)
    except ValueError:  # a type of Spark's that nested data is not kept in
        return Clash("", Leaf(cut(stored_type)), ours)
    # The schema's DDL has only one size of integers and floats: a type that it cannot express does not change.
    joint = grown(stored, ours) if ddl_of(stored) == stored_type else Clash("", Leaf(cut(stored_type)), ours)
    return joint if isinstance(joint, Clash) else read_type(write_type(joint, has_comments=False))
