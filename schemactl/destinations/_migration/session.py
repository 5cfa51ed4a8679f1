"""A destination that is open for migrating, for all databases that speak SQL; see ``destinations.MigrationSession``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from schemactl.destinations._catalogue import OURS, Catalogue, schema_name
from schemactl.destinations._migration.known import Known, Unguarded
from schemactl.destinations._migration.ledger import Ledger, keys_of
from schemactl.destinations._migration.records import Unfit
from schemactl.destinations._migration.staging import drop_outdated_copies, outdated_copies
from schemactl.destinations._migration.unfit import count_query, undo_query, undone_of, unfit_of
from schemactl.destinations._session import Database, Relation, qualify
from schemactl.destinations._sql_bookkeeping import read_rows, remove_rows, replace_rows
from schemactl.errors import DestinationError, InputError
from schemactl.migration.own import DATASET
from schemactl.migration.statements import Engine, assignment_of, by_one_copy
from schemactl.migration.steps import (
    KEPT_PREFIX,
    Backfill,
    ChangeType,
    FillColumn,
    RewriteTable,
    Step,
    Taken,
    table_of,
)
from schemactl.schema.templates import new_schema, version_table
from schemactl.schema.types import Table

Sampled = Callable[[str, Relation, float], str | None]
"""Writes the query of a sample of a table's rows; None where the engine has no sample of such a table.

It is given the table's full name, the table, and the share of its rows, between 0 and 1.
"""

D = TypeVar("D", bound=Database)


@dataclass(frozen=True, slots=True)
class SqlMigration(Ledger, Generic[D]):
    """See ``destinations.MigrationSession``.

    Attributes:
        database: an open connection on which every statement is kept at once.
        reads: returns the catalog of a dataset that has tables.
        schema: the database's own name for the dataset; the same, but for SQLite.
        unguarded: returns how a retype is done where every value goes well; None where that is no quicker.
        known: what the open transaction has found out about values.
    """

    database: D
    dataset: str = field()  # else its default would be the property of the base class
    engine: Engine
    reads: Callable[[D, str], Catalogue]
    sampled: Sampled
    is_read_only: bool = False
    schema: str | None = None
    unguarded: Callable[[ChangeType, str], Unguarded | None] | None = None
    known: Known = field(default_factory=Known)

    @property
    def origin(self) -> str:
        return self.database.shown

    @property
    def _place(self) -> str:
        return self.dataset if self.schema is None else self.schema

    def catalogue(self) -> Catalogue:
        with self.database.wrap_errors("read the catalog"):
            if not any(not name.startswith(OURS) for name in self.database.relation_names(self._place)):
                empty = replace(new_schema(schema_name((), self.dataset)), tables={})
                return Catalogue(empty, f"{self.origin}?dataset={self.dataset}")
            found = self.reads(self.database, self.dataset)
        return found.without_ours

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.database.wrap_errors("begin a transaction"):
            self.begin()
        self.known.begin()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.known.end()
        with self.database.wrap_errors("complete the migration"):
            self.database.execute("COMMIT")

    def begin(self) -> None:
        """Begin a transaction."""
        self.database.execute("BEGIN")

    def _roll_back(self) -> None:
        # Where the connection is lost the database rolls back by itself; what failed first is reported.
        with suppress(DestinationError), self.database.wrap_errors("take the migration back"):
            self.database.execute("ROLLBACK")

    def run(self, step: Step, statements: Sequence[str]) -> None:
        self.prepare_writing()
        quick = self._unguarded(step) if self.known.holds(step) else None
        for statement in quick.statements if quick is not None else statements:
            with self.database.wrap_errors("migrate"):
                self.database.execute(statement)
        self._drop_outdated_copies((step,))
        self.known.follow(step)

    def gives_rows(self, query: str, file: str) -> bool:
        with self.database.wrap_errors(f"ask the precondition of `{file}`"):
            return bool(self.database.query(self._of_dataset(query)))

    def run_own(self, statements: Sequence[str], file: str, instead_of: Step | None = None) -> None:
        self.prepare_writing()
        for number, statement in enumerate(statements, 1):
            with self.database.wrap_errors(f"run statement {number} of `{file}`"):
                self.database.execute(self._of_dataset(statement))
        if instead_of is not None:
            self._drop_outdated_copies((instead_of,))
        if self.known.is_open:
            self.known.begin()  # whatever was known of values, they may be others now

    def _of_dataset(self, statement: str) -> str:
        return statement.replace(DATASET, self.engine.name(self._place))

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return by_one_copy(rewrite.changes, self.engine, self._place, rewrite.table)

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self.prepare_writing()
        for statement in by_one_copy(rewrite.changes, self.engine, self._place, rewrite.table):
            with self.database.wrap_errors("migrate"):
                self.database.execute(statement)
        self._drop_outdated_copies(rewrite.changes)
        for step in rewrite.changes:
            self.known.follow(step)

    def outdated_copies(self, steps: Sequence[Step]) -> tuple[str, ...]:
        if self.schema is not None:
            return ()  # a dataset of SQLite's is a file
        with self.database.wrap_errors("look for dlt's staging dataset"):
            return tuple(outdated_copies(self.database, self.dataset, steps))

    def _drop_outdated_copies(self, steps: Sequence[Step]) -> None:
        if self.schema is None:
            with self.database.wrap_errors("drop dlt's staging copy"):
                drop_outdated_copies(self.database, self.dataset, steps)

    def _unguarded(self, step: Step) -> Unguarded | None:
        if self.unguarded is None or not isinstance(step, ChangeType):
            return None
        return self.unguarded(step, self._place)

    def _goes_well(self, step: Step) -> bool:
        """Return whether every value of a retype goes well, and will until the transaction ends."""
        found = self._unguarded(step) if self.known.is_open else None
        if found is None or not isinstance(step, ChangeType):
            return False
        if self.database.query(found.query):
            return False
        self.known.note(step)
        return True

    def prepare_writing(self) -> None:
        Ledger.prepare_writing(self)
        if self.schema is None:
            with self.database.wrap_errors("make the dataset"):
                if self.dataset not in self.database.datasets():
                    self.database.execute(f"CREATE SCHEMA IF NOT EXISTS {self.engine.name(self.dataset)}")

    def row_count(self, table: str) -> int:
        with self.database.wrap_errors("count rows"):
            count: int = self.database.query(f"SELECT count(*) FROM {qualify(self._place, table)}")[0][0]
        return count

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        if not tables:
            return frozenset()
        with self.database.wrap_errors("look for rows"):
            asked = {name.casefold() for name in tables}
            there = [each for each in self.database.relations(self._place).values() if each.is_table]
            names = [each.name for each in there if each.name.casefold() in asked]
            if not names:
                return frozenset()
            parts = [
                f"SELECT {number} WHERE NOT EXISTS (SELECT 1 FROM {qualify(self._place, name)})"
                for number, name in enumerate(names)
            ]
            found: set[str] = set()
            for start in range(0, len(parts), 200):  # SQLite takes no more than 500 in one query
                rows = self.database.query(" UNION ALL ".join(parts[start : start + 200]))
                found.update(names[number] for (number,) in rows)
        return frozenset(found)

    def unfit(self, step: Step, table: str | None = None, column: str | None = None) -> Unfit:
        name = table or table_of(step)
        with self.database.wrap_errors("count values that do not survive"):
            relation = self._relation(name)
            if table is None and column is None and self._goes_well(step):
                return Unfit(0, self.row_count(name))
            return self._count(step, column, qualify(self._place, name), relation)

    def kept(self) -> tuple[str, ...]:
        with self.database.wrap_errors("look for what is kept"):
            names = self.database.relation_names(self._place)
        return tuple(sorted(name for name in names if name.startswith(KEPT_PREFIX)))

    def drop_kept(self, names: Sequence[str]) -> None:
        self.prepare_writing()
        with self.transaction(), self.database.wrap_errors("drop what is kept"):
            for name in names:
                self.database.execute(f"DROP TABLE {qualify(self._place, name)}")

    def written_otherwise(self, step: Backfill | FillColumn) -> int | None:
        with self.database.wrap_errors("look for values that were written since"):
            place, written = qualify(self._place, step.table), self.written_value(step)
            name = self.engine.name((step.column if isinstance(step, FillColumn) else step.target).name)
            condition = f"{name} IS NOT NULL AND coalesce({name} <> {written}, TRUE)"
            count: int = self.database.query(f"SELECT count(*) FROM {place} WHERE {condition}")[0][0]
        return count

    def written_value(self, step: Backfill | FillColumn) -> str:
        """Return what a step writes into a row, as an expression; null where it writes nothing."""
        if isinstance(step, FillColumn):
            return assignment_of(step, self.engine, None).value
        source = self.engine.name(step.source.name)
        if step.taken is Taken.UNFIT:
            return source
        return f"CASE WHEN {source} IS NOT NULL THEN {assignment_of(step, self.engine, None).value} END"

    def unfit_in(self, share: float, step: Step) -> Unfit:
        with self.database.wrap_errors("look at a sample of the rows", "without `--sample` all rows are read"):
            relation = self._relation(table_of(step))
            place = qualify(self._place, relation.name)
            query = self.sampled(place, relation, share)
            return self._count(step, None, place if query is None else f"({query}) AS sampled", relation)

    def _relation(self, name: str) -> Relation:
        found = self.database.relation(self._place, name)
        if found is None:
            raise InputError(f"there is no table `{name}` in `{self.origin}`")
        return found

    def not_undone(self, step: ChangeType, table: str | None = None, column: str | None = None) -> Unfit:
        name = table or table_of(step)
        with self.database.wrap_errors("count values that an undo spells in another way"):
            relation = self._relation(name)
            return self._count(step, column, qualify(self._place, name), relation, is_undone=True)

    def _count(
        self, step: Step, column: str | None, place: str, relation: Relation, *, is_undone: bool = False
    ) -> Unfit:
        def count(keys: tuple[str, ...]) -> Unfit:
            if is_undone and isinstance(step, ChangeType):
                query = undo_query(step, column, place, keys, self.engine)
                return undone_of(self.database.query(query), keys) if query else Unfit()
            query = count_query(step, column, place, keys, self.engine)
            return unfit_of(self.database.query(query), keys) if query else Unfit()

        if "_dlt_id" in relation.columns:
            return count(("_dlt_id",))
        found = count(())
        # The whole catalog is read for a table's key: only where there is a row to name.
        keys = self._primary_key(relation.name) if found.count else ()
        return count(keys) if keys else found

    def _primary_key(self, table: str) -> tuple[str, ...]:
        found = self.reads(self.database, self.dataset).schema.tables[table]
        return tuple(each.name for each in found.columns.values() if each.properties.get("primary_key"))

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        with self.database.wrap_errors("read the ledger"):
            return read_rows(self.database, self._place, table, **equal)

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        with self.database.wrap_errors("write the ledger"):
            replace_rows(self.database, self._place, table, rows, keys_of(table))

    def remove_version(self, version_hash: str) -> None:
        with self.database.wrap_errors("write the ledger"):
            remove_rows(self.database, self._place, version_table(), version_hash=version_hash)
