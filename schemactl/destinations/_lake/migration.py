"""A dataset of tables on files that is open for migrating; see ``destinations.MigrationSession``.

No transaction covers several tables, or a table and the ledger: each step and each line of the ledger is committed at
once, whole or not at all. A killed run resumes by the state of the tables. This module knows no format.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from schemactl.destinations import Catalogue
from schemactl.destinations._lake.files import Alter
from schemactl.destinations._lake.rewriting import (
    ROW_KEY,
    Rewritten,
    count_fills,
    count_nulls,
    count_overlaps,
    count_values,
    duckdb_session,
    find_first_load,
    rewritings,
    without_filled,
)
from schemactl.destinations._lake.table import FilesTable
from schemactl.destinations._lake.types import arrow_type
from schemactl.destinations._migration.ledger import Ledger
from schemactl.errors import DestinationError, InputError
from schemactl.migration import statements
from schemactl.migration.abilities import Abilities
from schemactl.migration.effects import apply_to_model
from schemactl.migration.records import Blocker, Fill, ParentLink, Unfit
from schemactl.migration.statements import CastOnly, Engine, retype_of
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropTable,
    FoldVariant,
    OnlineStep,
    RenameTable,
    RewriteTable,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.migration.ways import Way
from schemactl.schema.nested_types import SPARK_TYPE, structure_of
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Table
from schemactl.type_systems.ddl import Dialect

if TYPE_CHECKING:
    import pyarrow

REWRITES: Final = "-- rewrites the files"
"""The ending of a statement that rewrites all rows."""


def render_step(step: Step, table: Table | None, dataset: str, abilities: Abilities) -> tuple[str, ...]:  # noqa: ARG001
    """Return a step as one statement with dlt's types, which describes the step for people and never runs.

    ``dataset`` is not shown. See ``destinations.Migrator``.
    """
    step_statements = statements.render(step, table, _engine(abilities.names))
    is_rewritten = not isinstance(step, DescribeTable) and step.writes_all(abilities)
    return tuple(f"{statement} {REWRITES}" for statement in step_statements) if is_rewritten else step_statements


def render_together(steps: Sequence[Step], table: Table, names: NameLimits) -> tuple[str, ...]:
    """Return several steps that one rewrite of a table does, as one statement.

    Columns may be new between the steps; ``table`` is the table before the first step.
    """
    engine, after = _engine(names), {table.name: table}
    apply_to_model(after, steps)
    columns = after[table.name].columns
    values = statements.values_after(steps, table, engine)
    # A type that only a database knows keeps the database's name.
    kinds = {name: columns[name].properties.get(DATABASE_TYPE) or type_words(columns[name]) for name in values}
    definitions = ", ".join(engine.sql.definition(columns[name], str(kind)) for name, kind in kinds.items())
    table_name = engine.name(table.name)
    rows = f"SELECT {', '.join(values.values())} FROM {table_name}"
    return (f"CREATE OR REPLACE TABLE {table_name} ({definitions}) AS {rows} {REWRITES}",)


def _engine(names: NameLimits) -> Engine:
    return Engine(
        Dialect(""),
        type_words,
        lambda retype, value: CastOnly(value, type_words(retype.after)),
        names,
        parts_of=lambda _: (),
        cast_type=type_words,
        casts_nulls=True,
    )


def type_words(column: Column) -> str:
    """Return a column's type in dlt's words, that of a column that keeps structure as Spark's DDL.

    >>> type_words(Column("total", {"data_type": "decimal", "precision": 10, "scale": 2}))
    'decimal(10, 2)'
    >>> type_words(Column("lines", {"data_type": "json", "x-spark-type": "array<bigint>"}))
    'array<bigint>'

    Raises:
        InputError: it has no type, or a type that only a database knows, or its sizes are no numbers.
    """
    properties = column.properties
    if (own_type := properties.get(DATABASE_TYPE)) is not None:
        try:
            arrow_type({DATABASE_TYPE: own_type})
        except DestinationError as error:
            raise InputError(f"no column of type `{own_type}` can be created: `{column.name}`") from error
        return str(own_type)
    if column.data_type is None:
        raise InputError(f"column `{column.name}` has no dlt type")
    if structure_of(column) is not None:
        return str(properties[SPARK_TYPE])
    sizes = [properties[name] for name in ("precision", "scale") if properties.get(name) is not None]
    if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
        raise InputError(f"a size of column `{column.name}` is not an integer: {sizes!r}")
    size_list = f"({', '.join(map(str, sizes))})" if sizes else ""
    is_naive = column.data_type is DataType.TIMESTAMP and column.is_naive
    return f"{column.data_type}{size_list}{' without time zone' if is_naive else ''}"


T = TypeVar("T", bound=FilesTable)


class LakeMigration(Ledger, Generic[T]):
    """See ``destinations.MigrationSession``. If a method raises ``DestinationError``, nothing has changed.

    Attributes:
        abilities: of the format.
    """

    __slots__ = ()

    abilities: Abilities

    @abstractmethod
    def read_catalogue(self, is_read: Callable[[str], bool]) -> Catalogue:
        """Return the tables as they are now whose names ``is_read`` accepts; empty for a new place."""

    @abstractmethod
    def table(self, name: str) -> T:
        """Return an existing table, as it is now; without one, folders raise ``InputError``."""

    @abstractmethod
    def field(self, column: Column, before: pyarrow.Field | None = None) -> pyarrow.Field:
        """Return a column, with its new type, for new files.

        If it replaces the column ``before``, people's notes about that column are kept.
        """

    @abstractmethod
    def find_table_blocker(self, step: Step, way: Way) -> Blocker | None:
        """Return why a table does not take a step about its columns, by the way that the format does it.

        The step's column may not be there yet.
        """

    @abstractmethod
    def create(self, table: Table) -> None:
        """Make a table without rows."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table with its files."""

    @abstractmethod
    def rename(self, before: str, after: str) -> None:
        """Give a table another name."""

    @abstractmethod
    def describe(self, step: DescribeTable) -> None:
        """Set the descriptions of a table and of its columns; called only if ``Abilities`` allow it."""

    @abstractmethod
    def alter(self, step: Step) -> None:
        """Do a step about a column in the catalog, without writing rows; called only if ``Abilities`` allow it."""

    @abstractmethod
    def rewrite(self, table: T, fields: pyarrow.Schema, alter: Alter) -> None:
        """Replace all rows and columns of a table in one commit.

        If another program has committed since the table was opened, this fails, and rows of that program stay.
        """

    def catalogue(self, tables: Collection[str] | None = None) -> Catalogue:
        fold = self.abilities.names.fold
        chosen = None if tables is None else set(map(fold, tables))
        return self.read_catalogue(lambda name: chosen is None or fold(name) in chosen).without_ours

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: no format has a transaction over several tables, so completed steps stay if it raises."""
        yield

    def run(self, step: Step, _statements: Sequence[str]) -> None:
        self._prepare((step,))
        match step, step.way(self.abilities):
            case CreateTable(), _:
                self.create(step.table)
            case DropTable(), _:
                self.drop(step.table.name)
            case RenameTable(), _:
                self.rename(step.before, step.after)
            case DescribeTable(), _:
                self.describe(step)
            case OnlineStep(), _:
                raise DestinationError(f"`{self.origin}` does not support `--online`")
            case _, Way.SCAN if unfit_count := self.unfit(step).count:
                raise DestinationError(f"{unfit_count:,} rows in `{step.table_name}` block `{step.kind}`")
            case _, Way.IN_PLACE | Way.SCAN:
                self.alter(step)
            case _, Way.REWRITE | Way.COPY if isinstance(step, Rewritten):
                self._rewrite((step,))
            case _:
                raise DestinationError(f"`{self.origin}` cannot do `{step.kind}` on `{step.table_name}`")

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._prepare(rewrite.changes)
        self._rewrite(rewrite.changes)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return render_together(rewrite.changes, rewrite.table, self.abilities.names)

    def _prepare(self, steps: Sequence[Step]) -> None:
        """Refuse to write in a session that only reads, and steps that their tables do not take."""
        self.prepare_writing()
        for blocker in filter(None, map(self.find_blocker, steps)):
            raise DestinationError(blocker.message, hint=blocker.hint)

    def _rewrite(self, steps: Sequence[Step]) -> None:
        if other := next((step for step in steps if not isinstance(step, Rewritten)), None):
            raise DestinationError(f"`{self.origin}` cannot do `{other.kind}` by rewriting rows")
        table = self.table(steps[0].table_name)
        table_rewritings = rewritings(table.fields, [step for step in steps if isinstance(step, Rewritten)], self.field)
        needs_duckdb = any(rewriting.written for rewriting in table_rewritings)
        with duckdb_session() if needs_duckdb else nullcontext() as connection:

            def alter(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
                for rewriting in table_rewritings:
                    batch = rewriting.apply(batch, connection)
                return batch

            self.rewrite(table, table_rewritings[-1].fields, alter)

    def row_count(self, table: str) -> int:
        return self.table(table).row_count()

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        return frozenset(name for name in self.catalogue(tables).schema.tables if not self.row_count(name))

    def unfit(self, step: Step, share: float = 1.0, unless_filled: Sequence[str] = ()) -> Unfit:
        match step:
            case SetNotNull():
                count = partial(count_nulls, step.column.name)
                return self._count(count, step.table, step.column.name, share)
            case ChangeType() | Backfill(taken=Taken.FITTING):
                column = retype_of(step).before.name
                return self._count(partial(count_values, step), step.table, column, share, unless_filled)
            case AddUnique() | AddPrimaryKey():
                raise DestinationError(f"`{self.origin}` does not enforce unique values")
            case _:
                return Unfit()

    def fills(self, table: str, columns: Sequence[str], load_column: str | None) -> tuple[Fill, ...]:
        loads = () if load_column is None else (load_column,)
        batches = self.table(table).batches(list(dict.fromkeys((*columns, *loads))))
        return count_fills(columns, load_column, batches)

    def first_load(self, table: str, column: str, links: Sequence[ParentLink], load_column: str) -> str | None:
        return find_first_load(table, column, links, load_column, lambda name, of: self.table(name).batches(of))

    def overlaps(self, step: FoldVariant) -> Unfit:
        source, target = step.source.name, step.target.name
        opened = self.table(step.table)
        keys = _row_keys(opened.fields.names)
        return count_overlaps(source, target, keys, opened.batches(list(dict.fromkeys((source, target, *keys)))))

    def not_undone(self, step: ChangeType) -> Unfit:
        return self._count(partial(count_values, step, is_undone=True), step.table, step.before.name)

    def _count(
        self,
        count: Callable[[Sequence[str], Iterator[pyarrow.RecordBatch]], Unfit],
        table: str,
        column: str,
        share: float = 1.0,
        unless_filled: Sequence[str] = (),
    ) -> Unfit:
        """Count values in a share of the rows, with the column that distinguishes rows, if any.

        That column takes most of the time to read, and only examples need it.
        """
        opened = self.table(table)
        stored_columns = opened.fields.names
        if column not in stored_columns:
            raise InputError(f"there is no column `{column}` in `{table}` of `{self.origin}`")

        def read(keys: tuple[str, ...]) -> Iterator[pyarrow.RecordBatch]:
            unique = list(dict.fromkeys((column, *keys, *unless_filled)))
            batches = opened.batches(unique) if share >= 1.0 else opened.sample(unique, share)
            return without_filled(batches, unless_filled) if unless_filled else batches

        keys = _row_keys(stored_columns)
        unfit = count((), read(()))
        return count(keys, read(keys)) if unfit.count and keys else unfit

    def find_blocker(self, step: Step) -> Blocker | None:
        if isinstance(step, CreateTable | DropTable | RenameTable):
            return None
        return self.find_table_blocker(step, step.way(self.abilities))


def _row_keys(columns: Collection[str]) -> tuple[str, ...]:
    """Return the column that distinguishes rows, if a table has it."""
    return (ROW_KEY,) if ROW_KEY in columns else ()
