"""A dataset of tables on files that is open for migrating; see ``destinations.MigrationSession``.

There is no transaction over several tables, or over a table and the ledger: each step and each line of the ledger is
kept at once, whole or not at all. Who was killed goes on by what the tables show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from schemactl.destinations import Catalogue
from schemactl.destinations._lake.counting import count_not_undone, count_nulls, count_values
from schemactl.destinations._lake.rendering import render_together
from schemactl.destinations._lake.rewriting import Rewritten, rewritings
from schemactl.destinations._lake.store import LakeStore
from schemactl.destinations._migration.ledger import Ledger
from schemactl.errors import DestinationError
from schemactl.migration.abilities import Abilities, Way, way_of
from schemactl.migration.records import Blocker, Unfit
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropTable,
    OnlineStep,
    RenameTable,
    RewriteTable,
    SetNotNull,
    Step,
    Taken,
    table_of,
)


class LakeMigration(LakeStore, Ledger):
    """See ``destinations.MigrationSession``.

    Attributes:
        abilities: what the format can do.
    """

    __slots__ = ()

    abilities: ClassVar[Abilities]

    def catalogue(self) -> Catalogue:
        return self.read_catalogue().without_ours

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: no format has a transaction over several tables, so what was done is kept where it raises."""
        yield

    def run(self, step: Step, _statements: Sequence[str]) -> None:
        self._prepare((step,))
        match step, way_of(step, self.abilities):
            case CreateTable(), _:
                self.create(step.table)
            case DropTable(), _:
                self.drop(step.table.name)
            case RenameTable(), _:
                self.rename(step.before, step.after)
            case DescribeTable(), _:
                self.describe(step)
            case OnlineStep(), _:
                raise DestinationError(f"`{self.origin}` does no steps of `--online`")
            case _, Way.SCAN if found := self.unfit(step).count:
                raise DestinationError(f"{found:,} rows of `{table_of(step)}` stand in the way of {_named(step)}")
            case _, Way.IN_PLACE | Way.SCAN:
                self.alter(step)
            case _, Way.REWRITE | Way.COPY if isinstance(step, Rewritten):
                self._rewrite((step,))
            case _:
                raise DestinationError(f"`{self.origin}` cannot do {_named(step)} on `{table_of(step)}`")

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._prepare(rewrite.changes)
        self._rewrite(rewrite.changes)

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return render_together(rewrite.changes, rewrite.table, self.abilities.names)

    def _prepare(self, steps: Sequence[Step]) -> None:
        """Refuse to write in a session that only reads, and steps that their tables do not take."""
        self.prepare_writing()
        for found in filter(None, map(self.find_blocker, steps)):
            raise DestinationError(found.message, hint=found.hint)

    def _rewrite(self, steps: Sequence[Step]) -> None:
        if other := next((step for step in steps if not isinstance(step, Rewritten)), None):
            raise DestinationError(f"`{self.origin}` does no {_named(other)} by writing rows anew")
        table = table_of(steps[0])
        made = rewritings(self, [step for step in steps if isinstance(step, Rewritten)])
        rows = self.batches(table, list(self.fields(table).names))
        for each in made:
            rows = each.batches(rows)
        self.rewrite(table, made[-1].fields, rows)

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        fold = self.abilities.names.fold
        asked = set(map(fold, tables))
        there = [name for name in self.catalogue().schema.tables if fold(name) in asked]
        return frozenset(name for name in there if not self.row_count(name))

    def unfit(self, step: Step, share: float = 1.0) -> Unfit:
        match step:
            case SetNotNull():
                return count_nulls(self, step, share)
            case ChangeType() | Backfill(taken=Taken.FITTING):
                return count_values(self, step, share)
            case AddUnique() | AddPrimaryKey():
                raise DestinationError(f"`{self.origin}` keeps no values from standing in two rows")
            case _:
                return Unfit()

    def not_undone(self, step: ChangeType) -> Unfit:
        return count_not_undone(self, step)

    def find_blocker(self, step: Step) -> Blocker | None:
        if isinstance(step, CreateTable | DropTable | RenameTable):
            return None
        return self.find_table_blocker(step, way_of(step, self.abilities))


def _named(step: Step) -> str:
    return f"`{type(step).__name__}`"
