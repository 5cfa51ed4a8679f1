"""Carries out a load, in the same order at every destination; the destination's part is a ``Load``.

A load holds a lock. A killed load is undone or finished first, then the package is checked against the existing tables,
its rows are staged, and staged rows are committed, with the row that completes the load last. A load that fails is
restored.

Tables are written in chains: each root table with its nested tables, by the root's write disposition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from schemactl.destinations._bookkeeping import check_inputs, is_loaded
from schemactl.destinations._reading import StoredDataset
from schemactl.destinations._structure import as_stored, package_as_stored
from schemactl.errors import DestinationError, Problem
from schemactl.normalization.package import LoadPackage, StagedTable, rows_in
from schemactl.progress import Progress
from schemactl.schema.dispositions import Strategy, appends, complete, first, merge_of, row_key
from schemactl.schema.renames import origins
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


Staged = TypeVar("Staged")


class Disposition(StrEnum):
    """dlt's write dispositions."""

    SKIP = "skip"
    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"


LACKS_VALUE: Final = (
    "remove the records without a value, add a column default, or allow nulls in the schema and run "
    "`schemactl migrate apply`"
)
"""The hint if a column that takes no nulls would get one."""

OTHER_TYPES: Final = (
    "`schemactl migrate apply` gives stored columns the types of the schema: load again after it, "
    "or into another dataset"
)
"""The hint if a stored column has another type than the schema, as before or during a migration."""

_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Chain:
    """A root table with its nested tables.

    Attributes:
        root: the table at the top.
        nested: the nested tables of the schema with complete columns, parents first.
        staged: the load's rows for them, by table, in the same order.
    """

    root: Table
    nested: tuple[Table, ...]
    staged: dict[str, StagedTable]

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.root, *self.nested)

    @property
    def disposition(self) -> Disposition:
        return Disposition(self.root.properties.get("write_disposition") or "append")

    @property
    def is_replaced(self) -> bool:
        """Whether all old rows go."""
        return self.disposition is Disposition.REPLACE

    @property
    def is_merged(self) -> bool:
        """Whether old rows may go; a merge without keys appends."""
        return self.disposition is Disposition.MERGE and not appends(self.root)


def chains_of_load(package: LoadPackage) -> tuple[Chain, ...]:
    """Return the chains that a load writes to: chains with rows, chains that it empties, and the chain of its rejects.

    A resource is replaced with all of its tables, with or without new rows.
    """
    staged = {staged_table.table.name: staged_table for staged_table in package.tables}
    chains = chains_of(package.schema, staged)
    filled = [chain for chain in chains if chain.staged]
    replaced = {_resource(chain.root) for chain in filled if chain.is_replaced}
    emptied = [
        chain for chain in chains if not chain.staged and chain.is_replaced and _resource(chain.root) in replaced
    ]
    rejects = package.rejects
    return (*filled, *emptied, *([Chain(rejects.table, (), {rejects.table.name: rejects})] if rejects else []))


def chains_of(schema: Schema, staged: Mapping[str, StagedTable] = MappingProxyType({})) -> tuple[Chain, ...]:
    """Return the chains of a schema with the rows of a load; roots that are skipped are left out."""
    complete_tables = {name: table for name, table in schema.tables.items() if not table.is_new}
    tables = {**complete_tables, **{name: staged_table.table for name, staged_table in staged.items()}}
    roots = {_root_of(table, tables).name for table in tables.values()}
    children: dict[str | None, list[Table]] = {}
    for table in tables.values():
        children.setdefault(table.parent, []).append(table)
    chains = []
    for root in (table for name, table in tables.items() if name in roots):
        members = {root.name: root}
        level = [root]
        while level:  # parents before children, whatever the order of the schema
            below = (table for parent in level for table in children.get(parent.name, ()))
            level = [table for table in below if table.name not in members]
            members |= {table.name: table for table in level}
        _, *nested = members.values()
        chains.append(Chain(root, tuple(nested), {name: staged[name] for name in members if name in staged}))
    return tuple(chain for chain in chains if chain.disposition is not Disposition.SKIP)


def _root_of(table: Table, tables: dict[str, Table]) -> Table:
    """Return the root table above ``table``."""
    visited = {table.name}
    while table.parent in tables and table.parent not in visited:
        table = tables[table.parent]
        visited.add(table.name)
    return table


def _resource(root: Table) -> str:
    return root.properties.get("resource") or root.name


def check_merges(chains: Iterable[Chain]) -> None:
    """Raise ``DestinationError`` if rows of chains cannot be merged."""
    for chain in chains:
        # In a history the version of a row is its key.
        if chain.is_merged and merge_of(chain.root, _ANY_TIME).strategy is not Strategy.SCD2:
            row_key(chain.root)


@dataclass(slots=True)
class Load(ABC, Generic[Staged]):
    """A load into one dataset; ``carry_out`` calls its methods in the order in which they are defined.

    ``Staged`` describes staged rows until they are committed. All methods raise ``DestinationError`` if they fail.

    Attributes:
        package: the rows and metadata of the load.
        progress: receives how far it has come.
        done: the share of the rows that is staged.
    """

    package: LoadPackage
    progress: Progress
    done: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.package = package_as_stored(self.package)

    def report(self, table: str) -> None:
        """Report that the rows of a table are next."""
        self.progress(f"loading table `{table}`", self.done)

    @property
    @abstractmethod
    def origin(self) -> str:
        """The dataset, for messages."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Wait for running loads and migrations, then keep new ones out."""

    def recover(self) -> None:
        """Undo or finish a killed load; with a transaction there is nothing to do."""

    @property
    @abstractmethod
    def stored(self) -> StoredDataset:
        """The dataset, while it is locked."""

    @abstractmethod
    def check(self, chains: Sequence[Chain]) -> None:
        """Find out whether the rows fit the existing tables, before anything is written."""

    def prepare(self, chains: Sequence[Chain]) -> None:
        """Create what staging needs."""

    @abstractmethod
    def stage(self, chain: Chain) -> Iterable[Staged]:
        """Write the rows of a chain without showing them to readers; yield the parts to commit, the root's first."""

    @abstractmethod
    def commit(self, staged: Sequence[Staged]) -> None:
        """Commit the parts in the order of ``staged``, and record last that the load is complete."""

    def restore(self, error: BaseException) -> None:
        """Undo the writes of a load that failed with an error; past its commit point, leave it for the next load."""

    def clean_up(self) -> None:
        """Remove temporary data after a load."""


def carry_out(load: Load[Staged]) -> None:
    """Carry out a load, all or nothing; skip it if it exists.

    If it fails, the destination is as it was before, except for added columns; or the load was past its commit point,
    and the next load finishes it. It raises as ``Loader.load``.
    """
    chains = chains_of_load(load.package)
    check_merges(chains)
    load.progress(f"locking `{load.origin}` against other loads", None)
    with load.lock():
        load.recover()
        if is_loaded(load.stored.read_rows, load.package.schema.name, load.package.load_id):
            return
        check_inputs(load.stored.read_rows, load.package)
        if load.package.rejects_edit is not None:
            load.package = load.package.with_edited_rejects(load.stored.table_rows)
            chains = chains_of_load(load.package)
        for chain in chains:
            for staged in chain.staged.values():
                check_count(staged.table, sum(map(rows_in, staged.files)), staged.rows)
            if chain.is_merged and chain.staged and chain.root.name not in chain.staged:
                # Without root rows, the nested rows belong to no row.
                raise DestinationError(f"table `{chain.root.name}` is merged, but the load has no rows for it")
        load.check(chains)
        load.prepare(chains)
        total = sum(staged_table.rows for staged_table in load.package.tables) or 1
        staged_parts: list[Staged] = []
        staged_rows = 0
        try:
            for chain in chains:
                staged_parts += load.stage(chain)
                staged_rows += sum(staged_table.rows for staged_table in chain.staged.values())
                load.done = min(staged_rows / total, 1.0)
            load.progress("completing the load", None)
            load.commit(staged_parts[::-1])  # nested rows come before their parents
        except BaseException as error:
            load.restore(error)
            raise
        load.clean_up()


def chains_to_check(schema: Schema) -> tuple[Chain, ...]:
    """Return the chains of a schema as a load would find them; raises as ``check_merges``."""
    chains = chains_of(as_stored(schema))
    check_merges(chains)
    return chains


def check_renames(
    schema: Schema,
    chains: Iterable[Chain],
    columns_of: Callable[[str], Collection[str] | None],
    names: NameLimits,
    origin: str,
) -> None:
    """Raise ``DestinationError`` if a table or column still has the former name that ``x-renamed-from`` declares.

    A load would create a second one, and later migrations would leave the old values in the first.

    Args:
        schema: of the load.
        chains: to be loaded; replaced chains have no old values.
        columns_of: returns the names of a table's columns, None for a missing table.
        names: how the destination compares names.
        origin: the destination, for messages.
    """
    fold = names.fold
    own_tables = set(map(fold, schema.tables))
    renames: list[tuple[str, str]] = []
    for table in (table for chain in chains if not chain.is_replaced for table in chain.tables):
        former_names = {column.name: tuple(origins(column.properties)) for column in complete(table)}
        old_tables = [name for name in origins(table.properties) if fold(name) not in own_tables]
        if not old_tables and not any(former_names.values()):
            continue
        columns = columns_of(table.name)
        if columns is None:
            renames += [(old, table.name) for old in old_tables if columns_of(old) is not None]
            continue
        schema_columns, stored_columns = set(map(fold, former_names)), set(map(fold, columns))
        for name, olds in former_names.items():
            if fold(name) not in stored_columns:
                stored_olds = (old for old in olds if fold(old) in stored_columns and fold(old) not in schema_columns)
                renames += [(f"{table.name}.{old}", f"{table.name}.{name}") for old in stored_olds]
    if renames:
        message = f"`{origin}` still has old names of tables or columns; a load would separate old and new values"
        hint = (
            f"`schemactl sync {schema.name}` and `schemactl migrate apply {schema.name} --to DEST` rename them; "
            "if a name is new, set `x-renamed-from: []`"
        )
        problems = tuple(Problem(f"`{old}` must be renamed to `{new}`") for old, new in renames)
        raise DestinationError(message, problems=problems, hint=hint)


def missing_value(column: str, table: str) -> DestinationError:
    """Return the error for rows without a value that the schema requires, where columns have no defaults."""
    message = f"column `{column}` of `{table}` is NOT NULL, but rows of this load contain nulls"
    return DestinationError(message, hint="remove the records without a value, or allow nulls in the schema")


def check_nulls(chains: Iterable[Chain]) -> None:
    """Raise ``DestinationError`` if rows lack a required value, for destinations that cannot forbid nulls."""
    import pyarrow.parquet

    for staged in (staged_table for chain in chains for staged_table in chain.staged.values()):
        required = {column.name for column in complete(staged.table) if not column.nullable}
        # When a row began to hold is known once it is merged.
        required -= {first(staged.table, hint) for hint in ("x-valid-from", "x-valid-to")}
        for path in staged.files:
            with pyarrow.parquet.ParquetFile(path) as file:
                name = next((name for name in sorted(required) if _has_nulls(file, name)), None)
            if name is not None:
                raise missing_value(name, staged.table.name)


def _has_nulls(file: pyarrow.parquet.ParquetFile, name: str) -> bool:
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        chunks = map(group.column, range(group.num_columns))
        statistics = next((chunk.statistics for chunk in chunks if chunk.path_in_schema == name), None)
        if statistics is not None and statistics.has_null_count:
            count = statistics.null_count
        elif name in file.schema_arrow.names:  # structs and lists have no statistics
            count = file.read_row_group(number, columns=[name]).column(name).null_count
        else:
            count = group.num_rows
        if count:
            return True
    return False


def check_count(table: Table, count: int, expected: int) -> None:
    """Raise ``DestinationError`` if rows of a table are missing."""
    if count != expected:
        message = f"table `{table.name}`: {count} of {expected} rows arrived; the load was undone"
        hint = "load again; if a rule, trigger or policy of the table discards rows, drop it first"
        raise DestinationError(message, hint=hint)
