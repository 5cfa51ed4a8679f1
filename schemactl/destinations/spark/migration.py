"""Migrations of a schema of a Spark catalog: Spark's abilities, and a session.

Spark has no transactions over tables: each step is committed when it is done. Types, names and values of a column's
rows are changed by a copy of the table, whatever its format: partitioned, clustered and external tables are refused, as
a copy would lose these properties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemactl.destinations import Catalogue
from schemactl.destinations._bookkeeping import find_columns
from schemactl.destinations._catalogue import OURS, make_catalogue
from schemactl.destinations._migration.conversion import has_spellings
from schemactl.destinations._migration.ledger import Ledger, keys_of, latest_rows
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.spark import tables as catalog
from schemactl.destinations.spark.address import NAMES, read_address
from schemactl.destinations.spark.catalogue import read_namespace
from schemactl.destinations.spark.commit import recover
from schemactl.destinations.spark.conversion import (
    changes_of,
    count_fills,
    count_not_undone,
    count_overlaps,
    count_unfit,
    find_first_load,
)
from schemactl.destinations.spark.lease import leased
from schemactl.destinations.spark.merge import configured
from schemactl.destinations.spark.statements import engine_of, is_same_type
from schemactl.destinations.spark.types import column_type, settle
from schemactl.engine.spark.session.failure import wrap_errors
from schemactl.engine.spark.session.opening import running_session
from schemactl.engine.spark.sql import quoted
from schemactl.errors import InputError
from schemactl.migration.abilities import ON_FILES, Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Fill, ParentLink, Patience, Unfit
from schemactl.migration.statements import Retype, by_one_copy
from schemactl.migration.steps import ChangeType, FoldVariant, RewriteTable, Step
from schemactl.migration.ways import Way
from schemactl.schema.nested_types import structure_in
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.templates import version_table
from schemactl.schema.types import Column, Table

ORIGIN: Final = "spark:"

_LINE: Final = "line"
_MOST_BRANCHES: Final = 200
_COUNTING: Final = "count values that do not survive"


def _retype(before: Column, after: Column) -> Way:
    if DATABASE_TYPE in before.properties and structure_in(str(after.properties.get(DATABASE_TYPE, ""))) is not None:
        return Way.NONE  # structs, lists and maps get new fields with a load
    return Way.IN_PLACE if is_same_type(before, after) else Way.COPY


ABILITIES: Final[Abilities] = replace(
    ON_FILES,
    drop_column=Way.COPY,
    rename_column=Way.COPY,
    retype=_retype,
    write_values=Way.COPY,
    set_not_null=Way.NONE,
    drop_not_null=Way.NONE,
    names=NAMES,
    settle=settle,
    describe_table=Way.IN_PLACE,
    gains=gained_by_ddl,
    rewrites=lambda step, _: step.writes_all(ABILITIES),
)


@contextmanager
def connect(
    url: str,
    schema_name: str,  # noqa: ARG001 - the Protocol's: the address names the schema of the catalog
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,  # noqa: ARG001 - the Protocol's: a schema that is not there is empty
) -> Iterator[SparkMigration]:
    """Open a schema of a catalog for migrating, with the session that is open; see ``destinations.Migrator``.

    A session that can write first finishes a killed migration or load.
    """
    namespace = read_address(url)
    with running_session() as spark, configured(spark), leased(spark, namespace, patience.seconds) as lease:
        with wrap_errors("open the catalog"):
            if is_read_only:
                tables = catalog.find_tables(spark, namespace)
            else:
                # Else it is made, and the lease taken, before the first change.
                if spark.catalog.databaseExists(str(namespace)):
                    lease.hold()
                tables = recover(catalog.Tables(spark, namespace, lease=lease))
        yield SparkMigration(tables, is_read_only)


@dataclass(frozen=True, slots=True)
class SparkMigration(Ledger):
    """See ``destinations.MigrationSession``.

    A table of files cannot change a row: our tables of the ledger get a new line each time, and the last line of a run
    or a step counts (``line`` is the order). ``_dlt_version`` is small, and a line is removed by rewriting it as a
    copy.

    Attributes:
        lines: the last line of tables of the ledger, as far as known: no other process writes to them.
    """

    tables: catalog.Tables
    is_read_only: bool = False
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        return f"{self.tables.namespace.catalogue}.{self.tables.namespace.schema}"

    @property
    def origin(self) -> str:
        return ORIGIN

    def catalogue(self, tables: Collection[str] | None = None) -> Catalogue:  # noqa: ARG002 - one listing has all
        with wrap_errors("read the catalog"):
            catalogue = read_namespace(self.tables.spark, self.tables.namespace)
        return catalogue or make_catalogue(self.tables.namespace.schema, f"{ORIGIN}{self.dataset}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Return a context in which each statement is committed when it is done: Spark cannot roll back."""
        yield

    def run(self, step: Step, statements: Sequence[str]) -> None:
        if step.way(ABILITIES) is Way.COPY:
            self._copy((step,))
            return
        self.prepare_writing()
        if isinstance(step, ChangeType):
            return  # only the schema's type changes
        with wrap_errors("migrate"):
            for statement in statements:
                self.tables.spark.sql(statement)

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._copy(rewrite.changes)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return by_one_copy(rewrite.changes, engine_of(self.dataset), self.dataset, rewrite.table, prefix=catalog.COPY)

    def _copy(self, steps: Sequence[Step]) -> None:
        """Do steps about the columns of one table, and new columns between them, by one copy of it."""
        self.prepare_writing()
        with wrap_errors("migrate"):
            catalog.rewrite(self.tables, steps[0].table_name, changes_of(steps))

    def row_count(self, table: str) -> int:
        with wrap_errors("count rows"):
            return self.tables.frame(table).count()

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        names, filled = list(tables), set[int]()
        parts = [
            f"SELECT {index} AS number FROM (SELECT 1 FROM {self.tables.full(name)} LIMIT 1)"
            for index, name in enumerate(names)
        ]
        with wrap_errors("look for rows"):
            for start in range(0, len(parts), _MOST_BRANCHES):
                rows = self.tables.spark.sql(" UNION ALL ".join(parts[start : start + _MOST_BRANCHES])).collect()
                filled.update(row.number for row in rows)
        return frozenset(name for index, name in enumerate(names) if index not in filled)

    def find_blocker(self, step: Step) -> Blocker | None:
        if step.way(ABILITIES) is not Way.COPY:
            return None
        with wrap_errors("read the type of a table"):
            blocker = catalog.copy_blocker(self.tables, step.table_name)
        return None if blocker is None else Blocker(blocker, catalog.BY_HAND)

    def unfit(self, step: Step, share: float = 1.0, unless_filled: Sequence[str] = ()) -> Unfit:
        with wrap_errors(_COUNTING):
            return count_unfit(step, self._rows(step.table_name), share, unless_filled)

    def first_load(self, table: str, column: str, links: Sequence[ParentLink], load_column: str) -> str | None:
        with wrap_errors("find the first load of a variant"):
            return find_first_load(table, column, links, load_column, self._rows)

    def fills(self, table: str, columns: Sequence[str], load_column: str | None) -> tuple[Fill, ...]:
        with wrap_errors(_COUNTING):
            return count_fills(self._rows(table), columns, load_column)

    def overlaps(self, step: FoldVariant) -> Unfit:
        with wrap_errors(_COUNTING):
            return count_overlaps(step, self._rows(step.table))

    def not_undone(self, step: ChangeType) -> Unfit:
        if not has_spellings(Retype(step.before, step.after)):
            return Unfit()
        with wrap_errors(_COUNTING):
            return count_not_undone(step, self._rows(step.table))

    def _rows(self, table: str) -> DataFrame:
        if not self.tables.has(table):
            raise InputError(f"there is no table `{table}` in `{self.dataset}`")
        return self.tables.frame(table)

    def prepare_writing(self) -> None:
        Ledger.prepare_writing(self)
        lease = self.tables.lease
        assert lease is not None, "a writing session has one"
        with wrap_errors("create the schema"):
            if not lease.number:
                self.tables.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self.tables.namespace}")
                lease.hold()
            lease.check()

    def read_rows(self, table: Table, /, **equal: str) -> list[Mapping[str, Any]]:
        with wrap_errors("read the ledger"):
            if not table.name.startswith(OURS):
                return list(self.tables.read_rows(table, **equal))
            if not self.tables.has(table.name):
                return []
            lines = [row.asDict() for row in self.tables.frame(table.name).collect()]
        ours = [line for line in lines if all(line[name] == value for name, value in equal.items())]
        ours.sort(key=lambda line: line[_LINE])
        return latest_rows(table, ours)

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        with wrap_errors("write the ledger"):
            if not self.tables.has(table.name):
                kinds = ", ".join([f"{_LINE} BIGINT", *(f"{column} STRING" for column in rows[0])])
                created = f"CREATE TABLE {self.tables.full(table.name)} ({kinds}){self.tables.namespace.using}"
                self.tables.spark.sql(created)
            if table.name not in self.lines:
                last = self.tables.frame(table.name).agg(F.max(_LINE)).collect()[0][0]
                self.lines[table.name] = last or 0
            self.lines[table.name] += 1
            numbered = [{_LINE: self.lines[table.name], **row} for row in rows]
            catalog.append_rows(self.tables, table.name, numbered)

    def replace_dlt_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        with wrap_errors("write the ledger"):
            if not self.tables.has(table.name):
                kinds = ", ".join(f"{quoted(column.name)} {column_type(column)}" for column in table.columns.values())
                name, namespace = self.tables.namespace.table(table.name), self.tables.namespace
                self.tables.spark.sql(f"CREATE TABLE {name} ({kinds}){namespace.using}")
            if find_columns(table, self.tables.frame(table.name).columns, str(self.tables.namespace)) is None:
                raise InputError(f"`{table.name}` was created by a dlt version that is too old")
            for row in rows:
                for name in keys_of(table):
                    catalog.remove_rows(self.tables, table.name, name, row[name])
                catalog.append_rows(self.tables, table.name, [row])

    def remove_version(self, version_hash: str) -> None:
        with wrap_errors("write the ledger"):
            for name, columns in self.tables.stored_as(version_table()):
                catalog.remove_rows(self.tables, name, columns["version_hash"], version_hash)
