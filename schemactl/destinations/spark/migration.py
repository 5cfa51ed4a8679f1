"""Migrations of a schema of a Spark catalogue: what Spark can do, and a session.

Spark has no transactions over tables: each step is kept when it is done. Types, names and values of a column's rows are
changed by a copy of the table, whatever its format: partitioned, clustered and external tables are refused, as a copy
would lose what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame

from schemactl.destinations import Catalogue
from schemactl.destinations._catalogue import make_catalogue
from schemactl.destinations._migration.conversion import has_spellings
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.spark import tables as catalog
from schemactl.destinations.spark.address import NAMES, read_address
from schemactl.destinations.spark.catalogue import read_namespace
from schemactl.destinations.spark.commit import recover
from schemactl.destinations.spark.conversion import changes_of, count_not_undone, count_unfit
from schemactl.destinations.spark.lease import leased
from schemactl.destinations.spark.ledger import SparkLedger
from schemactl.destinations.spark.merge import configured
from schemactl.destinations.spark.statements import copy_statements, is_same_type
from schemactl.engine.session.failure import wrap_errors
from schemactl.engine.session.opening import running_session
from schemactl.errors import InputError
from schemactl.migration.abilities import ON_FILES, Abilities, Way, way_of, writes_all
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience, Unfit
from schemactl.migration.statements import Retype
from schemactl.migration.steps import (
    ChangeType,
    RewriteTable,
    Step,
    table_of,
)

ORIGIN: Final = "spark:"

_COUNTING: Final = "count values that do not survive"


ABILITIES: Final[Abilities] = replace(
    ON_FILES,
    drop_column=Way.COPY,
    rename_column=Way.COPY,
    retype=lambda before, after: Way.IN_PLACE if is_same_type(before, after) else Way.COPY,
    write_values=Way.COPY,
    set_not_null=Way.NONE,
    drop_not_null=Way.NONE,
    names=NAMES,
    describe_table=Way.IN_PLACE,
    gains=gained_by_ddl,
    rewrites=lambda step, _: writes_all(step, ABILITIES),
)


@contextmanager
def connect(
    url: str,
    schema_name: str,  # noqa: ARG001 - the Protocol's: the address says which schema of the catalog
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,  # noqa: ARG001 - the Protocol's: a schema that is not there is empty
) -> Iterator[SparkMigration]:
    """Open a schema of a catalog for migrating, with the session that is open; see ``destinations.Migrator``.

    Who may write first finishes what a killed migration or load has left.
    """
    namespace = read_address(url)
    with running_session() as spark, configured(spark), leased(spark, namespace, patience.seconds) as lease:
        with wrap_errors("open the catalog"):
            if is_read_only:
                tables = catalog.find_tables(spark, namespace)
            else:
                if catalog.is_there(spark, namespace):  # else it is made, and the lease taken, before the first change
                    lease.hold()
                tables = catalog.mend_tables(spark, namespace, lease)
                recover(catalog.refreshed(tables))
        yield SparkMigration(tables, is_read_only)


@dataclass(frozen=True, slots=True)
class SparkMigration(SparkLedger):
    """See ``destinations.MigrationSession``."""

    @property
    def dataset(self) -> str:
        return f"{self.tables.namespace.catalogue}.{self.tables.namespace.schema}"

    @property
    def origin(self) -> str:
        return ORIGIN

    def catalogue(self) -> Catalogue:
        with wrap_errors("read the catalog"):
            found = read_namespace(self.tables.spark, self.tables.namespace)
        return found or make_catalogue(self.tables.namespace.schema, f"{ORIGIN}{self.dataset}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Return a context in which each statement is kept when it is done: Spark cannot take one back."""
        yield

    def run(self, step: Step, statements: Sequence[str]) -> None:
        if way_of(step, ABILITIES) is Way.COPY:
            self._copy((step,))
            return
        self.prepare_writing()
        if isinstance(step, ChangeType):
            return  # the type is another one in the schema alone
        with wrap_errors("migrate"):
            for statement in statements:
                self.tables.spark.sql(statement)

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._copy(rewrite.changes)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return copy_statements(rewrite.changes, rewrite.table, self.dataset)

    def _copy(self, steps: Sequence[Step]) -> None:
        """Do steps about the columns of one table, and new columns between them, by one copy of it."""
        self.prepare_writing()
        with wrap_errors("migrate"):
            catalog.rewrite(self.tables, table_of(steps[0]), changes_of(steps))

    def row_count(self, table: str) -> int:
        with wrap_errors("count rows"):
            return catalog.row_count(self.tables, table)

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        with wrap_errors("look for rows"):
            return catalog.empty_tables(self.tables, tables)

    def find_blocker(self, step: Step) -> Blocker | None:
        if way_of(step, ABILITIES) is not Way.COPY:
            return None
        with wrap_errors("read what a table is"):
            found = catalog.copy_blocker(self.tables, table_of(step))
        return None if found is None else Blocker(found, catalog.BY_HAND)

    def unfit(self, step: Step, share: float = 1.0) -> Unfit:
        with wrap_errors(_COUNTING):
            return count_unfit(step, self._rows(table_of(step)), share)

    def not_undone(self, step: ChangeType) -> Unfit:
        if not has_spellings(Retype(step.before, step.after)):
            return Unfit()
        with wrap_errors(_COUNTING):
            return count_not_undone(step, self._rows(step.table))

    def _rows(self, table: str) -> DataFrame:
        if not self.tables.has(table):
            raise InputError(f"there is no table `{table}` in `{self.dataset}`")
        return self.tables.frame(table)
