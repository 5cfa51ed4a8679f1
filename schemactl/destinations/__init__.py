"""Destinations of tables, in one folder each, named after the scheme of its addresses.

To add a destination, add a folder; no other file is touched but documentation. ``mysql`` is a good one to copy: a
server without transactions around its DDL. Its files, in the order in which they become useful:

1. ``types``: ``column_type`` (dlt's type to the engine's, spelled as its catalog spells it; the words are in
   ``type_systems.sql_types``, for exports and scripts too), ``kind_of`` (back), ``NAMES``, and ``stored``, which is
   ``column_type(...).kind``: a declaration that the engine does not keep is no drift. ``_types.TypeSystem`` provides
   ``column_type`` and ``settle``, which replaces another engine's type by the nearest one (``Abilities``), from
   ``kind_of`` and ``own_type``: the engine's spelling of a type, None if the engine lacks the type.
2. ``session``: a ``_session.Session``, whose defaults fit most databases. Set the engine to standard SQL if it can:
   names in double quotes, ``||``, no escapes in texts, UTC, errors instead of truncated values. ``_address`` parses
   addresses of files and servers.
3. ``catalogue``: ``read_catalogue``, the engine's queries (``_catalogue`` makes a schema of their rows). That is enough
   for ``show``, ``diff``, ``import`` and ``export`` (``Destination``). ``read_definitions`` provides the foreign keys
   for ``import``, and the definitions that it reports as lost (``Defined``).
4. ``load``: ``read_past_loads``, ``read_ledger``, ``check_tables`` and ``load`` (``Loader``). A function that opens a
   dataset is enough to read it (``_reading.DatasetReader``); the dataset records its loads in small tables
   (``_bookkeeping``). ``_load.carry_out`` runs the steps of a load, the same ones everywhere, on a ``Load``, a base
   class whose methods are these steps. Databases share one (``_sql_load``), tables on files another (``_lake.load``).
   ``_rows`` reads staged files for engines that do not.
5. ``migration``: ``ABILITIES``, ``render`` and ``connect`` (``Migrator``), which opens a ``MigrationSession``: a base
   class whose defaults refuse all optional abilities. ``migration.statements.render`` writes the statements of all
   steps that the engine does by an ALTER, with the words of ``type_systems.ddl``. ``_migration.session.SqlMigration``
   does the rest; its ``Engine`` defines how values are converted (``conversion``). If an engine casts values
   differently from dlt and cannot call our functions, the coercion converts their distinct values, which come back in a
   table of pairs (``MappedMigration``). For engines on files, see ``FileMigration``.
6. ``dependents``: the dependents of a column, and whether a step would lose or break them (``find_blocker``,
   ``left_behind``).

Each folder has ``types``, ``catalogue``, ``load`` and ``migration``. Tables on files have a ``lake`` or a ``table`` in
the place of a session, and no dependents; only Iceberg and Spark have a module ``address``. ``dlt``
is no database: it hands loads to dlt's loader and migrates nothing, so it has neither ``types`` nor ``migration``.
Tests run a real engine, and compare loads with a dlt pipeline for the same documents. Modules whose names start with
``_`` are shared by several destinations. Third parties use the entry-point group ``schemactl.destination``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

from schemactl.errors import DestinationError, InputError
from schemactl.registry import Registry, optional_attribute
from schemactl.type_systems.dialect_names import canonical_dialect
from schemactl.type_systems.sql_types import DIALECTS

if TYPE_CHECKING:
    import pyarrow

    from schemactl.migration.abilities import Abilities
    from schemactl.migration.records import (
        Blocker,
        Fill,
        ParentLink,
        Patience,
        Run,
        StepRecord,
        Unfit,
        Version,
        ViewScript,
    )
    from schemactl.migration.steps import Backfill, ChangeType, FillColumn, FoldVariant, RewriteTable, Step
    from schemactl.normalization.package import Among, LedgerEntry, LoadPackage, PastLoads
    from schemactl.progress import Progress
    from schemactl.schema.structure import NameLimits
    from schemactl.schema.types import Column, Properties, Schema, Table


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One dataset of a destination.

    Attributes:
        schema: its tables.
        origin: its address, without a password.
        hashes: of the schemas that dlt has loaded it with, the last one first; empty if dlt did not create it, or
            created it for several schemas.
    """

    schema: Schema
    origin: str
    hashes: tuple[str, ...] = ()

    @property
    def without_ours(self) -> Catalogue:
        """The same without schemactl's own tables."""
        from schemactl.destinations._catalogue import is_ours

        theirs = {name: table for name, table in self.schema.tables.items() if not is_ours(table)}
        return replace(self, schema=replace(self.schema, tables=theirs))


@dataclass(frozen=True, slots=True)
class Definition:
    """A statement of SQL that would create something of a destination.

    Attributes:
        table: the table that it creates or belongs to; the view that it creates.
        sql: in the dialect of the destination.
    """

    table: str
    sql: str


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """SQL that a database keeps and runs: a view, a function, a trigger.

    Attributes:
        kind: ``view``, ``materialized view``, ``function`` or ``trigger``.
        sql: of a view the statement or the query, of a function or trigger its text.
    """

    kind: str
    dataset: str
    name: str
    sql: str


class Destination(Protocol):
    """A module that knows one kind of database, or of files that are used like one.

    Its functions raise ``InputError`` if an address is wrong, or names no dataset to read, and ``DestinationError`` if
    the destination cannot be reached, read or written, or its driver is missing.
    """

    @property
    def NAMES(self) -> NameLimits:
        """Its limits on names of tables and columns."""
        ...

    def read_catalogue(self, url: str) -> Catalogue:
        """Return the tables of one dataset as a schema; nothing is written, and nothing is locked for writing.

        Columns are in their order, with dlt's types, ``nullable: false``, ``primary_key`` and ``unique`` as in the
        destination. A type that dlt lacks is in ``x-database-type``. The number of queries does not grow with the
        number of tables.
        """
        ...

    def stored(self, column: Column) -> Properties:
        """Return such a column as a catalog of this destination has it: its type, and ``nullable: false``.

        Comparisons apply ``stored`` to catalog and schema, so they ignore differences that the destination does not
        keep. An ``x-database-type`` of the destination stays, another engine's type becomes the nearest type, and a
        type without a near one is unchanged.
        """
        ...


class Defined(Destination, Protocol):
    """A destination module that returns the statements which would create its tables."""

    def read_definitions(self, url: str) -> tuple[Definition, ...]:
        """Return the statements for the tables, keys, indexes, triggers and views of one dataset; nothing is written.

        They contain facts that a catalog lacks: foreign keys, checks, defaults, generated columns. The first statement
        on a table creates it.
        """
        ...


class Querying(Destination, Protocol):
    """A destination module that keeps queries, such as views."""

    def read_queries(self, url: str) -> tuple[StoredQuery, ...]:
        """Return the views, functions and triggers of all datasets, without the database's own; nothing is written."""
        ...


class Loader(Destination, Protocol):
    """A destination module that takes rows."""

    def read_past_loads(self, url: str, schema_name: str) -> PastLoads:
        """Return the ids of earlier loads; empty if the destination does not exist yet."""
        ...

    def read_ledger(self, url: str, schema_name: str) -> Iterator[LedgerEntry]:
        """Yield the files of complete loads, in any order; nothing if the destination does not exist yet.

        The file ledger may have a million rows: memory does not grow with them.
        """
        ...

    def check_tables(self, url: str, schema: Schema) -> None:
        """Find out, before anything is read or written, whether the tables of ``schema`` could be loaded.

        Raises:
            InputError: the address is wrong.
            DestinationError: the destination cannot be reached or written, a table there is not one of dlt's or ours
                (it has no ``_dlt_id`` ...), or two names of the schema are one there.
        """
        ...

    def load(self, url: str, package: LoadPackage, progress: Progress) -> None:
        """Write the rows of one load, all or nothing.

        The view of readers during the load depends on the destination. A SQL database shows the load at once, by one
        transaction. Delta, Iceberg, the Spark catalog and folders of Parquet have no commit for several tables: each
        table is whole at any time (a file of Parquet is), but readers see the tables of one load one after the other; a
        reader of whole loads reads rows whose ``_dlt_load_id`` is in ``_dlt_loads``, which is written last.

        A load that fails or is killed midway is undone or completed, at once or by the next load.

        Missing tables and columns are created as dlt creates them (docs/dlt.md §9.2). Rows are written by the write
        disposition of their root table, and the rows of ``_dlt_version`` and ``_dlt_loads`` come last. An existing load
        is not loaded again. A killed load is undone or completed first.

        Raises:
            ConcurrentLoadError: another load has loaded files of this load meanwhile (``LoadPackage.compared_loads``).
            DestinationError: it failed; the destination is as it was before, or, if the load failed after its commit
                point, the next load completes it.
        """
        ...


class Readable(Loader, Protocol):
    """A destination module whose loads can change the table of rejects, and that reads it."""

    def read_table(
        self, url: str, schema_name: str, table: Table, among: Among | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table of the dataset that a load with a schema would go into; nothing is written.

        Args:
            url: the destination's address.
            schema_name: the schema's.
            table: its name in the destination, and the columns to read; missing columns are null. Nothing is yielded
                without such a table, or before the dataset exists.
            among: only rows with these values in a column of texts; None for all rows.
        """
        ...


class Migrator(Destination, Protocol):
    """A destination module that carries out migrations."""

    @property
    def ABILITIES(self) -> Abilities:
        """Its abilities."""
        ...

    def render(self, step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
        """Return the statements of a step.

        Args:
            step: the step to render.
            table: the step's table before the step; None if it does not exist.
            dataset: that holds the tables.

        Raises:
            InputError: a name or a type cannot be written (a name with NUL ...), or dlt has no such type there.
        """
        ...

    def connect(
        self,
        url: str,
        schema_name: str,
        *,
        patience: Patience = ...,
        is_read_only: bool = False,
        may_be_new: bool = False,
    ) -> AbstractContextManager[MigrationSession]:
        """Open a destination for migrating; changes outside of a ``transaction`` are committed at once.

        A session that can write has a lock until it ends: other migrations and loads of schemactl wait or fail. The
        lock ends with the process, even if it is killed. A missing dataset is created with the first statement of
        ``run`` or the first line of the ledger.

        Args:
            url: the destination's address. Without ``dataset`` it is the dataset that was loaded with this schema, else
                the only one that holds tables and was loaded with no other schema, else a new one named after the
                schema.
            schema_name: the schema's.
            patience: how long to wait for the lock, and for locks of the database; by default not at all.
            is_read_only: nothing is written and no lock is taken.
            may_be_new: whether a missing file to read counts as empty, as it will be created.

        Raises:
            InputError: the address is wrong, names a missing file to read, or fits several datasets.
            DestinationError: it cannot be reached, its driver is missing, or another process holds the lock.
        """
        ...


class MigrationSession(ABC):
    """A destination that is open for migrating. All of its methods raise ``DestinationError`` if it fails.

    Optional abilities have a default here, which raises an error or does nothing.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The dataset that is migrated."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """The destination's address without a password and a dataset, for ``Place`` and messages."""

    @abstractmethod
    def catalogue(self, tables: Collection[str] | None = None) -> Catalogue:
        """Return the tables as they are now; empty for a dataset that does not exist.

        Args:
            tables: the names of the tables to read; other tables may be left out. None for all tables.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Return a context that commits its statements and ledger lines together, or rolls all back if it raises."""

    @abstractmethod
    def run(self, step: Step, statements: Sequence[str]) -> None:
        """Do one step.

        Args:
            step: the step, for destinations that do not use the statements.
            statements: the result of ``render`` for it, in their order.
        """

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        """Make several changes to a table at once; a plan has this only if ``Abilities.rewrites`` holds."""
        raise self._rewrites_nothing(rewrite)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        """Return the statements of ``run_rewrite``, as people read them."""
        raise self._rewrites_nothing(rewrite)

    def _rewrites_nothing(self, rewrite: RewriteTable) -> DestinationError:
        return DestinationError(
            f"`{self.origin}` does not rewrite `{rewrite.table.name}`", hint="create the plan again"
        )

    def run_outside(
        self,
        step: Step,
        statements: Sequence[str],  # noqa: ARG002 - overrides use it
        table: Table | None,  # noqa: ARG002
        batch_rows: int,  # noqa: ARG002
        notify: Progress,  # noqa: ARG002
    ) -> None:
        """Run a step of ``--online`` that no transaction can hold; a run that was killed runs it again.

        Args:
            step: one with ``is_outside_transaction``; only ``ABILITIES.is_online`` lets a plan have it.
            statements: as in ``run``.
            table: the table as the step finds it.
            batch_rows: rows that a transaction fills.
            notify: receives how far the step has come.
        """
        raise DestinationError(f"`{self.origin}` does not support `--online` for {step.kind}")

    def gives_rows(self, query: str, file: str) -> bool:  # noqa: ARG002 - overrides use it
        """Return whether a query of custom SQL returns rows, in an open transaction.

        Args:
            query: in it ``migration.custom_sql.DATASET`` means the dataset.
            file: the query's file, for messages.
        """
        raise self._runs_no_sql()

    def run_own(self, statements: Sequence[str], file: str, instead_of: Step | None = None) -> None:  # noqa: ARG002
        """Run statements of custom SQL in an open transaction; facts about values do not hold any more afterwards.

        Args:
            statements: as in ``gives_rows``.
            file: the file of the statements, for messages.
            instead_of: the step that they replace; None if they run before or after a step.
        """
        raise self._runs_no_sql()

    def _runs_no_sql(self) -> DestinationError:
        return DestinationError(f"`{self.origin}` does not support custom SQL", hint="remove the SQL files")

    @abstractmethod
    def row_count(self, table: str) -> int:
        """Return how many rows a table holds."""

    @abstractmethod
    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        """Return the existing tables, among ``tables``, that hold no rows; the number of queries does not grow."""

    @abstractmethod
    def unfit(self, step: Step, share: float = 1.0, unless_filled: Sequence[str] = ()) -> Unfit:
        """Return the values that block a step, by one query over its table as it is now.

        ``ChangeType``, ``Backfill``: values that dlt's coercion refuses, that would lose something, or that the column
        cannot store. ``SetNotNull``: nulls. ``AddUnique``: rows whose value another row has. No values block other
        steps.

        Args:
            step: in the names that its table and its columns have now.
            share: of the rows to read, above 0 and up to 1; the same rows each time, if the table has not changed. Only
                ``ChangeType`` and ``SetNotNull`` have a share below 1.
            unless_filled: columns, for ``ChangeType`` only; rows with a value in one of them are left out.

        Raises:
            InputError: the engine cannot leave rows unread; sessions without samples call this method for the message.
        """
        message = f"`{self.origin}` does not support `--sample`"
        raise InputError(message, hint="read all rows without `--sample`, or no rows with `--skip-rows`")

    @abstractmethod
    def fills(self, table: str, columns: Sequence[str], load_column: str | None) -> tuple[Fill, ...]:
        """Return how many rows of a table hold a value in each of some columns.

        Args:
            table: its current name.
            columns: their current names.
            load_column: the column that holds the load ID of a row; None if rows have no load ID.
        """

    @abstractmethod
    def first_load(self, table: str, column: str, links: Sequence[ParentLink], load_column: str) -> str | None:
        """Return the smallest load ID of the root rows of a nested table's rows that hold a value in a column.

        Args:
            table: the nested table's current name.
            column: the column's current name.
            links: the way to the root table.
            load_column: the column of the root table that holds the load ID.
        """

    @abstractmethod
    def overlaps(self, step: FoldVariant) -> Unfit:
        """Return the rows that hold values in both columns of a step, by the values of the variant.

        Args:
            step: in the names that its table and its columns have now.
        """

    @abstractmethod
    def not_undone(self, step: ChangeType) -> Unfit:
        """Return the texts that an undo of a step would change: `007` becomes 7, and that becomes `7`."""

    def find_blocker(self, step: Step) -> Blocker | None:  # noqa: ARG002 - overrides use it
        """Return why a step cannot be done to its table as the table is now; None if it can.

        ``run`` fails with the same blocker. ``unfit`` finds blocking values, and ``ABILITIES`` has the limits of all
        tables.

        Args:
            step: in the names that its table and its column have now; the column may not exist yet.
        """
        return None

    def view_scripts(self, steps: Sequence[Step]) -> tuple[ViewScript, ...]:  # noqa: ARG002 - overrides use it
        """Return the views that block steps and can be created again after them, in the order of their creation.

        Args:
            steps: in the names that their tables and columns have now.
        """
        return ()

    def disagreement(self, table: str) -> Blocker | None:  # noqa: ARG002 - by default the catalog is the only source
        """Return the contradictions between files about a table's columns; None if they agree."""
        return None

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:  # noqa: ARG002 - overrides use it
        """Return the dependents of a column that stay with it when another column takes its name.

        Args:
            table: its current name.
            column: its current name.
        """
        return ()

    def outdated_copies(self, steps: Sequence[Step]) -> tuple[str, ...]:  # noqa: ARG002 - overrides use it
        """Return the names of tables in dlt's staging dataset that go with steps: dlt makes them again."""
        return ()

    def kept(self) -> tuple[str, ...]:
        """Return the backups that earlier plans kept when they dropped data: names of tables or of files."""
        return ()

    def drop_kept(self, names: Sequence[str]) -> None:
        """Drop backups.

        Args:
            names: some of ``kept``.
        """
        assert not names

    def back_up(self, label: str) -> str | None:  # noqa: ARG002 - overrides use it
        """Keep the data that a destructive plan would lose, before it runs.

        Args:
            label: a part of the name that no other plan has.

        Returns:
            The name under which it is kept; None if nothing is kept this way.
        """
        return None

    def written_otherwise(self, step: Backfill | FillColumn) -> int | None:  # noqa: ARG002 - overrides use it
        """Return how many values of a column differ from the values that a step wrote; None if unknown.

        Args:
            step: in the names that its table and its columns have now.
        """
        return None

    @abstractmethod
    def runs(self) -> tuple[Run, ...]:
        """Return all runs of the ledger, the first one first."""

    @abstractmethod
    def steps(self, run_id: str) -> tuple[StepRecord, ...]:
        """Return the steps of one run by their number."""

    @abstractmethod
    def write_run(self, run: Run) -> None:
        """Write a run into the ledger, and replace the run with the same id."""

    @abstractmethod
    def write_steps(self, steps: Sequence[StepRecord]) -> None:
        """Write steps into the ledger, and replace steps with the same run and number."""

    @abstractmethod
    def versions(self, schema_name: str | None = None) -> tuple[Version, ...]:
        """Return the schemas that dlt's ledger ``_dlt_version`` holds, the last one first."""

    @abstractmethod
    def schema_of(self, version_hash: str) -> Schema | None:
        """Return the schema that dlt's ledger holds under a hash; None without one.

        Raises:
            InputError: the stored text is no schema.
        """

    @abstractmethod
    def write_version(self, schema: Schema, known_versions: Sequence[Version] | None = None) -> None:
        """Write a schema into ``_dlt_version`` as dlt does, as the last one: dlt trusts it to match the tables.

        Missing ``_dlt_version`` and ``_dlt_loads`` are created.

        Args:
            schema: the schema that the tables have.
            known_versions: the answer of ``versions(schema.name)``, if the caller has read it under the lock.
        """

    @abstractmethod
    def forget_version(self, version_hash: str) -> None:
        """Remove the schema of a hash from ``_dlt_version``: a pipeline that finds it there makes no columns."""


DESTINATIONS: Registry[Destination] = Registry("destination", "schemactl.destinations")
"""All destinations by the scheme of their addresses."""


def name_limits(destination: Destination, url: str) -> NameLimits:
    """Return the name limits of the destination at an address: ``NAMES``, unless they depend on the address."""
    of_address: Callable[[str], NameLimits] | None = optional_attribute(destination, "name_limits")
    return of_address(url) if of_address else destination.NAMES


def address_form(name: str) -> str | None:
    """Return how the addresses of an engine are written, for hints; None for a name of no engine.

    >>> address_form("Postgres"), address_form("snowflake"), address_form("warehouse")
    ('postgresql://USER@HOST/DATABASE', 'dlt:snowflake?dataset=NAME', None)
    """
    kind = find_kind(name)
    if kind is not None:
        with suppress(ModuleNotFoundError):
            return str(optional_attribute(DESTINATIONS[kind], "ADDRESS", f"{kind}:ADDRESS"))
        return f"{kind}:ADDRESS"
    return f"dlt:{name.lower()}?dataset=NAME" if canonical_dialect(name) in DIALECTS else None


def is_defined(destination: Destination) -> TypeGuard[Defined]:
    """Return whether a destination returns the statements that would create its tables."""
    return optional_attribute(destination, "read_definitions") is not None


def is_querying(destination: Destination) -> TypeGuard[Querying]:
    """Return whether a destination keeps queries, such as views."""
    return optional_attribute(destination, "read_queries") is not None


def is_loader(destination: Destination) -> TypeGuard[Loader]:
    """Return whether a destination takes rows."""
    return optional_attribute(destination, "load") is not None


def is_readable(destination: Destination) -> TypeGuard[Readable]:
    """Return whether rejects can be read from a destination, and changed there."""
    return optional_attribute(destination, "read_table") is not None


def is_migrator(destination: Destination) -> TypeGuard[Migrator]:
    """Return whether a destination can be migrated."""
    return optional_attribute(destination, "connect") is not None


def folder_of(url: str) -> Path | None:
    """Return the folder that a destination's tables are in; None if there is no such folder on this machine."""
    from schemactl.destinations._address import dataset_of

    kind, _, remainder = url.partition(":")
    folder, _, query = remainder.partition("?")
    folder = folder.removeprefix("//")
    if not folder or kind == "dlt" or not Path(folder).is_dir():
        return None
    return Path(folder, dataset_of(query, kind) or "")


def find_address(text: str) -> tuple[str, str] | None:
    """Return a destination's scheme and the address as the destination reads it; None for an unknown scheme.

    Blanks around the address and capital letters in the scheme do not matter (RFC 3986, 3.1).

    >>> find_address(" Postgres://ann@db/shop")
    ('postgresql', 'postgresql://ann@db/shop')
    """
    scheme, _, remainder = text.strip().partition(":")
    kind = find_kind(scheme) if remainder else None
    return None if kind is None else (kind, f"{kind}:{remainder}")


def find_kind(name: str) -> str | None:
    """Return the destination of a scheme, or of another name of an engine's dialect; None for unknown names.

    >>> find_kind("postgres"), find_kind("MariaDB"), find_kind("snowflake")
    ('postgresql', 'mysql', None)
    """
    # A scheme of a third party is spelled as its package spells it.
    for scheme in (name, name.lower()):
        if scheme in DESTINATIONS:
            return scheme
    dialect = canonical_dialect(name)
    return next((kind for kind in DESTINATIONS if canonical_dialect(kind) == dialect), None)


_DATABASES: Final = ("duckdb", "mysql", "postgresql", "sqlite")


def settle_in(dialect: str) -> Callable[[Column], Column]:
    """Return the function that replaces a column's type by a type of a SQL dialect; see ``Abilities.settle``.

    ``dialect`` is sqlglot's name; the engine need not be connected, nor be a destination.
    """
    from schemactl.destinations._types import types_of

    kind = find_kind(dialect)
    destination = DESTINATIONS[kind] if kind in _DATABASES else None
    return destination.ABILITIES.settle if destination and is_migrator(destination) else types_of(dialect).settle
