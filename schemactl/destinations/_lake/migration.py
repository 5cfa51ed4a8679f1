"""A dataset of tables on files that is open for migrating; see ``destinations.MigrationSession``.

There is no transaction over several tables, or over a table and the ledger: each step and each line of the ledger is
kept at once, whole or not at all. Who was killed goes on by what the tables show.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from schemactl.destinations._catalogue import Catalogue
from schemactl.destinations._lake.counting import count_not_undone, count_nulls, count_values
from schemactl.destinations._lake.rendering import render_together
from schemactl.destinations._lake.rewriting import OfColumns, Rewritten, rewritings
from schemactl.destinations._lake.store import LakeStore
from schemactl.destinations._migration.records import Hindrance, Run, StepRecord, Unfit, Version
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Abilities, Way, way_of
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
    table_of,
)
from schemactl.schema.types import Column, Properties, Schema, Table


@dataclass(frozen=True, slots=True)
class LakeMigration:
    """See ``destinations.MigrationSession``.

    Attributes:
        store: the dataset.
        abilities: what its format can do.
        stored: what its catalog says of a column.
        is_read_only: whether nothing may be written.
    """

    store: LakeStore
    abilities: Abilities
    stored: Callable[[Column], Properties]
    is_read_only: bool = False

    @property
    def dataset(self) -> str:
        return self.store.dataset

    @property
    def origin(self) -> str:
        return self.store.origin

    def catalogue(self) -> Catalogue:
        return self.store.catalogue().without_ours

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: no format has a transaction over several tables, so what was done is kept where it raises."""
        yield

    def run(self, step: Step, _statements: Sequence[str]) -> None:
        self._check_writable()
        if found := self.obstacle(step):
            raise DestinationError(found.message, hint=found.hint)
        match step:
            case CreateTable():
                self.store.create(step.table)
            case DropTable():
                self.store.drop(step.table.name)
            case RenameTable():
                self.store.rename(step.before, step.after)
            case _:
                self._run_on_column(step)

    def run_together(self, steps: Sequence[Step]) -> None:
        """Do steps about the columns of one table by one rewrite of its rows; see ``flows.migrate.merging``."""
        self._check_writable()
        for step in steps:
            if found := self.obstacle(step):
                raise DestinationError(found.message, hint=found.hint)
        self._rewrite(steps)

    def statements_together(self, steps: Sequence[Step], table: Table) -> tuple[str, ...]:
        """Return what ``run_together`` does, as people read it; see ``flows.migrate.merging``."""
        return render_together(steps, table, self.abilities.names)

    def _rewrite(self, steps: Sequence[Step]) -> None:
        if other := next((step for step in steps if not isinstance(step, Rewritten)), None):
            raise DestinationError(f"`{self.origin}` does no {_named(other)} by writing rows anew")
        table = table_of(steps[0])
        made = rewritings(self.store, [step for step in steps if isinstance(step, Rewritten)])
        rows = self.store.batches(table, list(self.store.fields(table).names))
        for each in made:
            rows = each.batches(rows)
        self.store.rewrite(table, made[-1].fields, rows)

    def _run_on_column(self, step: OfColumns) -> None:
        match way_of(step, self.abilities):
            case Way.IN_PLACE:
                self.store.alter(step)
            case Way.SCAN:
                if found := self.unfit(step).count:
                    raise DestinationError(f"{found:,} rows of `{step.table}` stand in the way of {_named(step)}")
                self.store.alter(step)
            case Way.REWRITE | Way.COPY if not isinstance(
                step, AddUnique | DropUnique | AddPrimaryKey | DropPrimaryKey
            ):
                self._rewrite((step,))
            case _:
                raise DestinationError(f"`{self.origin}` cannot do {_named(step)} on `{step.table}`")

    def row_count(self, table: str) -> int:
        return self.store.row_count(table)

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        def folded(name: str) -> str:
            return name if self.abilities.names.is_case_sensitive else name.casefold()

        asked = {folded(name) for name in tables}
        there = [name for name in self.catalogue().schema.tables if folded(name) in asked]
        return frozenset(name for name in there if not self.store.row_count(name))

    def unfit(self, step: Step, table: str | None = None, column: str | None = None) -> Unfit:
        return self._unfit(step, table or table_of(step), column)

    def unfit_in(self, share: float, step: Step) -> Unfit:
        """See ``destinations.SamplingSession``."""
        return self._unfit(step, table_of(step), None, share)

    def _unfit(self, step: Step, table: str, column: str | None, share: float = 1.0) -> Unfit:
        match step:
            case SetNotNull():
                source = column or step.column.name
                self._check_column(table, source)
                return count_nulls(self.store, table, source, share)
            case ChangeType() | Backfill(taken=Taken.FITTING):
                source = column or (step.before if isinstance(step, ChangeType) else step.source).name
                self._check_column(table, source)
                return count_values(self.store, table, source, step, share)
            case AddUnique() | AddPrimaryKey():
                raise DestinationError(f"`{self.origin}` keeps no values from standing in two rows")
            case _:
                return Unfit()

    def not_undone(self, step: ChangeType, table: str | None = None, column: str | None = None) -> Unfit:
        place, source = table or step.table, column or step.before.name
        self._check_column(place, source)
        return count_not_undone(self.store, place, source, step)

    def obstacle(self, step: Step) -> Hindrance | None:
        return self.store.obstacle(step, way_of(step, self.abilities))

    def disagreement(self, table: str) -> Hindrance | None:
        """See ``destinations.FilesSession``."""
        return self.store.disagreement(table)

    def _check_column(self, table: str, column: str) -> None:
        if column not in self.store.fields(table).names:
            raise InputError(f"there is no column `{column}` in `{table}` of `{self.origin}`")

    def _check_writable(self) -> None:
        if self.is_read_only:
            raise DestinationError(f"`{self.origin}` is open for reading only")

    def runs(self) -> tuple[Run, ...]:
        return self.store.runs()

    def steps(self, run_id: str) -> tuple[StepRecord, ...]:
        return self.store.steps(run_id)

    def write_run(self, run: Run) -> None:
        self._check_writable()
        self.store.write_run(run)

    def write_steps(self, steps: Sequence[StepRecord]) -> None:
        self._check_writable()
        self.store.write_steps(steps)

    def versions(self, schema_name: str | None = None) -> tuple[Version, ...]:
        return self.store.versions(schema_name)

    def schema_of(self, version_hash: str) -> Schema | None:
        return self.store.schema_of(version_hash)

    def write_version(self, schema: Schema) -> None:
        self._check_writable()
        self.store.write_version(schema)

    def forget_version(self, version_hash: str) -> None:
        self._check_writable()
        self.store.forget_version(version_hash)


def _named(step: Step) -> str:
    return f"`{type(step).__name__}`"
