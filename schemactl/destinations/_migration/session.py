"""Migrations of databases that speak SQL, also on files, and for engines that cannot call our functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from schemactl.destinations import Catalogue
from schemactl.destinations._bookkeeping import is_bookkeeping
from schemactl.destinations._catalogue import OURS, make_catalogue
from schemactl.destinations._migration.conversion import coerce_text, has_spellings, write_retype
from schemactl.destinations._migration.ledger import RUNS, STEPS, Ledger, keys_of
from schemactl.destinations._migration.unfit import (
    SHOWN_CHARACTERS,
    count_query,
    overlap_query,
    undo_query,
    undone_of,
    unfit_of,
)
from schemactl.destinations._session import Relation, Session
from schemactl.destinations._sql_bookkeeping import Bookkeeping
from schemactl.errors import DestinationError, InputError
from schemactl.migration.custom_sql import DATASET
from schemactl.migration.records import MOST_EXAMPLES, Example, Fill, ParentLink, Unfit
from schemactl.migration.statements import COPY_PREFIX, Engine, Retype, assignment_of, by_one_copy, retype_of
from schemactl.migration.steps import (
    KEPT_PREFIX,
    Backfill,
    ChangeType,
    FillColumn,
    FoldVariant,
    RewriteTable,
    Step,
    Taken,
)
from schemactl.schema.quoting import qualify
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, version_table
from schemactl.schema.types import Table

_STAGING: Final = "{}_staging"
"""dlt's default of ``staging_dataset_name_layout``."""

_LEDGER: Final = frozenset((VERSION_TABLE, LOADS_TABLE, RUNS.name, STEPS.name))
"""The tables of the ledger, whose columns a session takes from the catalog."""

D = TypeVar("D", bound=Session)


@dataclass(frozen=True, slots=True)
class SqlMigration(Ledger, Generic[D]):
    """See ``destinations.MigrationSession``.

    Attributes:
        engine: how its statements are written.
        schema: the database's own name for the dataset; different only for SQLite.
        database: an open connection on which every statement is committed at once.
        ledger_columns, names: columns of the ledger's tables, and names of tables, as read; see ``Bookkeeping``.
        relations: cache of tables since the last write.
        row_counts: the rows of tables that a session which writes nothing has counted with their values.
    """

    engine: ClassVar[Engine]
    schema: ClassVar[str | None] = None

    database: D
    dataset: str = field()  # otherwise its default would be the property of the base class
    is_read_only: bool = False
    ledger_columns: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False)
    names: list[str] = field(default_factory=list, init=False)
    relations: dict[str, Relation] = field(default_factory=dict, init=False)
    row_counts: dict[str, int] = field(default_factory=dict, init=False)

    @abstractmethod
    def read_tables(self, names: Collection[str] | None = None) -> Catalogue:
        """Return the catalog of a dataset that has tables; with ``names``, other tables may be left out."""

    def sampled(self, table: str, relation: Relation, share: float) -> str | None:  # noqa: ARG002 - overrides use it
        """Return the query of a share (0 to 1) of a table's rows; None if the engine has no sample of it."""
        return None

    @property
    def origin(self) -> str:
        return self.database.shown

    @property
    def bookkeeping(self) -> Bookkeeping:
        """The tables of its ledger."""
        return Bookkeeping(self.database, self.place, self.ledger_columns, self.names)

    @property
    def place(self) -> str:
        """The name that tables of the dataset have before their own."""
        return self.dataset if self.schema is None else self.schema

    def has_tables(self) -> bool:
        """Return whether the dataset has tables, or ``read_tables`` finds out by itself."""
        return any(not name.startswith(OURS) for name in self.database.relation_names(self.place))

    def catalogue(self, tables: Collection[str] | None = None) -> Catalogue:
        with self.database.wrap_errors("read the catalog"):
            if not self.has_tables():
                return make_catalogue(self.dataset, f"{self.origin}?dataset={self.dataset}")
            catalogue = self.read_tables(None if tables is None else {*tables, *_LEDGER})
        for name, table in catalogue.schema.tables.items():
            if name.startswith(OURS) or is_bookkeeping(name):
                self.ledger_columns[name] = tuple(table.columns)
        return catalogue.without_ours

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.database.wrap_errors("begin a transaction"):
            self.begin()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        with self.database.wrap_errors("complete the migration"):
            self.database.execute("COMMIT")

    def begin(self) -> None:
        """Begin a transaction."""
        self.database.execute("BEGIN")

    def _roll_back(self) -> None:
        self._forget_tables()
        # If the connection is lost, the database rolls back by itself; the first error is the one to report.
        with suppress(DestinationError), self.database.wrap_errors("undo the migration"):
            self.database.execute("ROLLBACK")

    def run(self, step: Step, statements: Sequence[str]) -> None:
        self._run_all((step,), statements)

    def _run_all(self, steps: Sequence[Step], statements: Sequence[str]) -> None:
        """Run the statements of a step, or of the steps that one rewrite of their table does."""
        self.prepare_writing()
        # A step may make or drop a table of the ledger itself.
        changed = {step.table_name.lower() for step in steps}
        if any(name.lower() in changed for name in self.ledger_columns):
            self._forget_tables()
        with self.around(steps, statements):
            for statement in statements:
                with self.database.wrap_errors("migrate"):
                    self.database.execute(statement)
            self._drop_outdated_copies(steps)

    def around(self, steps: Sequence[Step], statements: Sequence[str]) -> AbstractContextManager[None]:  # noqa: ARG002
        """Return a context in which the statements of steps about one table run."""
        return nullcontext()

    def gives_rows(self, query: str, file: str) -> bool:
        with self.database.wrap_errors(f"check the precondition of `{file}`"), self.own_names():
            return bool(self.database.query(self._of_dataset(query)))

    def run_own(self, statements: Sequence[str], file: str, instead_of: Step | None = None) -> None:
        self.prepare_writing()
        self._forget_tables()
        with self.own_names():
            for number, statement in enumerate(statements, 1):
                with self.database.wrap_errors(f"run statement {number} of `{file}`"):
                    self.database.execute(self._of_dataset(statement))
        if instead_of is not None:
            self._drop_outdated_copies((instead_of,))

    def _forget_tables(self) -> None:
        """Forget the tables that were read, because they may have changed."""
        self.ledger_columns.clear()
        self.relations.clear()

    def own_names(self) -> AbstractContextManager[None]:
        """Return a context in which custom SQL resolves unqualified names."""
        return nullcontext()

    def _of_dataset(self, statement: str) -> str:
        return statement.replace(DATASET, self.engine.name(self.place))

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        return by_one_copy(rewrite.changes, self.engine, self.place, rewrite.table)

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._run_all(rewrite.changes, by_one_copy(rewrite.changes, self.engine, self.place, rewrite.table))

    def outdated_copies(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """Return the tables of dlt's staging dataset that would not fit any more once steps have run.

        dlt refills these copies with each load, and merges or replaces from them: the next merge would put values
        of the old types into the new columns. They hold nothing that dlt needs again.
        """
        changed = {step.table_name.lower() for step in steps if step.outdates_copies}
        if not changed or self.schema is not None:  # a dataset of SQLite's is a file
            return ()
        with self.database.wrap_errors("look for dlt's staging dataset"):
            names = self.database.relation_names(_STAGING.format(self.dataset))
        is_dlts = any(name.lower() == VERSION_TABLE for name in names)
        return tuple(name for name in names if name.lower() in changed) if is_dlts else ()

    def _drop_outdated_copies(self, steps: Sequence[Step]) -> None:
        """Drop copies and the mark that the dataset is up to date, as dlt's `refresh` does: dlt recreates them."""
        if not (outdated := self.outdated_copies(steps)):
            return
        staging = _STAGING.format(self.dataset)
        with self.database.wrap_errors("drop dlt's staging copy"):
            for name in outdated:
                self.database.execute(f"DROP TABLE {qualify(staging, name)}")
            names = self.database.relation_names(staging)
            versions = next(name for name in names if name.lower() == VERSION_TABLE)
            self.database.execute(f"DELETE FROM {qualify(staging, versions)}")

    def prepare_writing(self) -> None:
        Ledger.prepare_writing(self)
        self.relations.clear()
        if self.schema is None and not self.ledger_columns:  # a dataset with tables exists
            with self.database.wrap_errors("create the dataset"):
                if self.dataset not in self.database.datasets():
                    self.database.execute(f"CREATE SCHEMA IF NOT EXISTS {self.engine.name(self.dataset)}")

    def row_count(self, table: str) -> int:
        if table in self.row_counts:
            return self.row_counts[table]
        with self.database.wrap_errors("count rows"):
            count: int = self.database.query(f"SELECT count(*) FROM {qualify(self.place, table)}")[0][0]
        return count

    def empty_tables(self, tables: Collection[str]) -> frozenset[str]:
        if not tables:
            return frozenset()
        with self.database.wrap_errors("look for rows"):
            folded_names = set(map(self.database.names.fold, tables))
            relations = self.database.relations(self.place)
            names = [
                relation.name for folded, relation in relations.items() if relation.is_table and folded in folded_names
            ]
            if not names:
                return frozenset()
            parts = [
                f"SELECT {number} WHERE NOT EXISTS (SELECT 1 FROM {qualify(self.place, name)})"
                for number, name in enumerate(names)
            ]
            filled: set[str] = set()
            for start in range(0, len(parts), 200):  # SQLite accepts at most 500 in one query
                rows = self.database.query(" UNION ALL ".join(parts[start : start + 200]))
                filled.update(names[number] for (number,) in rows)
        return frozenset(filled)

    def kept(self) -> tuple[str, ...]:
        with self.database.wrap_errors("look for backups"):
            names = self.database.relation_names(self.place)
        return tuple(sorted(name for name in names if name.startswith(KEPT_PREFIX)))

    def drop_kept(self, names: Sequence[str]) -> None:
        self.prepare_writing()
        with self.transaction(), self.database.wrap_errors("drop the backups"):
            for name in names:
                self.database.execute(f"DROP TABLE {qualify(self.place, name)}")

    def written_otherwise(self, step: Backfill | FillColumn) -> int | None:
        with self.database.wrap_errors("look for new values"):
            table, written = qualify(self.place, step.table), self.written_value(step)
            name = self.engine.name((step.column if isinstance(step, FillColumn) else step.target).name)
            condition = f"{name} IS NOT NULL AND coalesce({name} <> {written}, TRUE)"
            count: int = self.database.query(f"SELECT count(*) FROM {table} WHERE {condition}")[0][0]
        return count

    def written_value(self, step: Backfill | FillColumn) -> str:
        """Return the expression of the value that a step writes into a row; null if it writes nothing."""
        if isinstance(step, FillColumn):
            return assignment_of(step, self.engine, None).value
        source = self.engine.name(step.source.name)
        if step.taken is Taken.UNFIT:
            return source
        return f"CASE WHEN {source} IS NOT NULL THEN {assignment_of(step, self.engine, None).value} END"

    def unfit(self, step: Step, share: float = 1.0, unless_filled: Sequence[str] = ()) -> Unfit:
        name = step.table_name
        table = qualify(self.place, name)
        if unless_filled:
            condition = " AND ".join(f"{self.engine.name(column)} IS NULL" for column in unless_filled)
            table = f"(SELECT * FROM {table} WHERE {condition}) AS unfilled"
        if share >= 1.0:
            with self.database.wrap_errors("count values that do not survive"):
                counted = self._count(step, table, self._relation(name))
            if self.is_read_only and counted.rows and not unless_filled:
                self.row_counts[name] = counted.rows
            return counted
        with self.database.wrap_errors("read a sample of the rows", "without `--sample` all rows are read"):
            relation = self._relation(name)
            query = self.sampled(table, relation, share)
            return self._count(step, table if query is None else f"({query}) AS sampled", relation)

    def fills(self, table: str, columns: Sequence[str], load_column: str | None) -> tuple[Fill, ...]:
        counts = ["count(*)"]
        for name in map(self.engine.name, columns):
            load = "NULL" if load_column is None else self.engine.name(load_column)
            counts += (f"count({name})", f"min(CASE WHEN {name} IS NOT NULL THEN {load} END)")
        with self.database.wrap_errors("count the values of variants"):
            ((rows, *figures),) = self.database.query(f"SELECT {', '.join(counts)} FROM {qualify(self.place, table)}")
        return tuple(
            Fill(values, rows, _decoded(load)) for values, load in zip(figures[::2], figures[1::2], strict=True)
        )

    def first_load(self, table: str, column: str, links: Sequence[ParentLink], load_column: str) -> str | None:
        name, tables = self.engine.name, [qualify(self.place, table)]
        for number, link in enumerate(links):
            on = f"t{number}.{name(link.column)} = t{number + 1}.{name(link.key)}"
            tables.append(f"{qualify(self.place, link.parent)} AS t{number + 1} ON {on}")
        joined = " JOIN ".join([f"{tables[0]} AS t0", *tables[1:]])
        query = f"SELECT min(t{len(links)}.{name(load_column)}) FROM {joined} WHERE t0.{name(column)} IS NOT NULL"
        with self.database.wrap_errors("find the first load of a variant"):
            ((load,),) = self.database.query(query)
        decoded: str | None = _decoded(load)
        return decoded

    def overlaps(self, step: FoldVariant) -> Unfit:
        table, relation = qualify(self.place, step.table), self._relation(step.table)
        with self.database.wrap_errors("count rows with values in both columns"):
            return self._with_keys(
                relation,
                lambda keys: unfit_of(self.database.query(overlap_query(step, table, keys, self.engine)), keys),
            )

    def find_relation(self, name: str) -> Relation | None:
        """Return a table by its name, as read since something was last written; None if it does not exist."""
        if name not in self.relations and (relation := self.database.relation(self.place, name)) is not None:
            self.relations[name] = relation
        return self.relations.get(name)

    def _relation(self, name: str) -> Relation:
        relation = self.find_relation(name)
        if relation is None:
            raise InputError(f"there is no table `{name}` in `{self.origin}`")
        return relation

    def not_undone(self, step: ChangeType) -> Unfit:
        with self.database.wrap_errors("count values that an undo spells in another way"):
            table = qualify(self.place, step.table)
            return self._count(step, table, self._relation(step.table), is_undone=True)

    def _count(self, step: Step, table: str, relation: Relation, *, is_undone: bool = False) -> Unfit:
        def count(keys: tuple[str, ...]) -> Unfit:
            if is_undone and isinstance(step, ChangeType):
                query = undo_query(step, table, keys, self.engine)
                return undone_of(self.database.query(query), keys) if query else Unfit()
            query = count_query(step, table, keys, self.engine)
            return unfit_of(self.database.query(query), keys) if query else Unfit()

        return self._with_keys(relation, count)

    def _with_keys(self, relation: Relation, count: Callable[[tuple[str, ...]], Unfit]) -> Unfit:
        """Return the result of ``count`` for the columns that distinguish rows, so that examples name them."""
        if "_dlt_id" in relation.columns:
            return count(("_dlt_id",))
        unfit = count(())
        # A table's key is only read if there is a row to name, since that may read the whole catalog.
        keys = self._primary_key(relation.name) if unfit.count else ()
        return count(keys) if keys else unfit

    def _primary_key(self, table: str) -> tuple[str, ...]:
        return self.read_tables((table,)).schema.tables[table].hinted("primary_key")

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        with self.database.wrap_errors("read the ledger"):
            return list(self.bookkeeping.read_rows(table, **equal))

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        with self.database.wrap_errors("write the ledger"):
            self.bookkeeping.replace_rows(table, rows, keys_of(table))

    def remove_version(self, version_hash: str) -> None:
        with self.database.wrap_errors("write the ledger"):
            self.bookkeeping.remove_rows(version_table(), version_hash=version_hash)


_MARK: Final = ".before-"


@dataclass(frozen=True, slots=True)
class FileMigration(SqlMigration[D]):
    """See ``destinations.MigrationSession``: of a database in one file; a copy of the file is the backup.

    If the database has no ALTER for a step, the step copies its table.
    """

    @property
    @abstractmethod
    def file(self) -> Path:
        """The database's file."""

    @abstractmethod
    def copy_file(self, copy: Path) -> None:
        """Copy the file with its committed content."""

    @abstractmethod
    def copying(self, table: str, steps: Sequence[Step]) -> AbstractContextManager[None]:
        """Return a context in which steps copy their table; ``DestinationError`` if dependents would be lost."""

    def back_up(self, label: str) -> str:
        copy = self.file.with_name(f"{self.file.name}{_MARK}{label}")
        self.copy_file(copy)
        return str(copy)

    def kept(self) -> tuple[str, ...]:
        start = f"{self.file.name}{_MARK}"
        return tuple(sorted(str(path) for path in self.file.parent.iterdir() if path.name.startswith(start)))

    def drop_kept(self, names: Sequence[str]) -> None:
        self.prepare_writing()
        for path in names:
            try:
                Path(path).unlink()
            except OSError as error:
                raise DestinationError(f"cannot remove `{path}`: {error.strerror}") from error

    def around(self, steps: Sequence[Step], statements: Sequence[str]) -> AbstractContextManager[None]:
        start = f"CREATE TABLE {self.engine.table(self.place, COPY_PREFIX)[:-1]}"
        is_copied = any(statement.startswith(start) for statement in statements)
        return self.copying(steps[0].table_name, steps) if is_copied else nullcontext()


@dataclass(frozen=True, slots=True)
class MappedMigration(SqlMigration[D]):
    """See ``destinations.MigrationSession``: of a database that calls no function of ours.

    Distinct values are read, coerced, and put into a table. What the database casts as dlt does stays there; statements
    look all other values up in the table of pairs, the mapping.
    """

    @abstractmethod
    def text_of(self, value: str, retype: Retype) -> str:
        """Return the expression of a value's text, as ``read_value`` reads it, by which equal texts are found."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Return a text as an expression that compares with ``text_of``."""

    @abstractmethod
    def odd_condition(self, retype: Retype, name: str, *, is_undone: bool = False) -> str:
        """Return the condition of a column's values that the database may not convert as dlt does.

        ``name`` is quoted. If ``is_undone``, the condition of the values that may come back in another spelling.
        """

    def odd_values(self, retype: Retype, table: str, *, is_undone: bool = False) -> list[tuple[str, int]]:
        """Return the texts and counts of the distinct values for which ``odd_condition`` holds.

        ``table`` is the table's full name or a query.
        """
        name = self.engine.name(retype.before.name)
        condition = self.odd_condition(retype, name, is_undone=is_undone)
        query = f"SELECT {self.text_of(name, retype)}, count(*) FROM {table} WHERE {condition} GROUP BY 1"
        return [(_decoded(text), count) for text, count in self.database.query(query)]

    @abstractmethod
    def stage_pairs(self, pairs: list[tuple[str, str]]) -> None:
        """Replace the mapping of texts to the texts of their coerced values."""

    def coerce(self, text: str, retype: Retype) -> str | None:
        """Return the text that the database takes for a coerced value; None if the value does not survive."""
        return self.coerce_text(text, retype)

    def coerce_text(self, text: str, retype: Retype) -> str | None:
        """Return the text of a coerced value; None if it does not survive."""
        return coerce_text(text, write_retype(retype, self.engine.type_of))

    def survives(self, text: str, retype: Retype) -> bool:
        """Return whether a value can be converted."""
        return self.coerce(text, retype) is not None

    def stage_coerced(self, retype: Retype, table: str) -> int:
        """Put the coerced values of a column into the mapping; return how many values it holds."""
        with self.database.wrap_errors("coerce values"):
            odd_values = self.odd_values(retype, table)
            pairs = [(text, coerced) for text, _ in odd_values if (coerced := self.coerce(text, retype)) is not None]
            self.stage_pairs(pairs)
        return len(pairs)

    def _count(self, step: Step, table: str, relation: Relation, *, is_undone: bool = False) -> Unfit:
        """Count values by dlt's coercion: a session that writes nothing has no mapping."""
        if not isinstance(step, ChangeType | Backfill) or (isinstance(step, Backfill) and step.taken is Taken.UNFIT):
            return SqlMigration._count(self, step, table, relation, is_undone=is_undone)
        retype = retype_of(step)
        if is_undone and not has_spellings(retype):
            return Unfit()
        name = self.engine.name(retype.before.name)
        back = Retype(retype.after, retype.before, is_strict=False)
        unfit_texts: dict[str, tuple[int, str | None]] = {}
        # One scan answers both questions; the distinct values are only read if there are any.
        condition = self.odd_condition(retype, name, is_undone=is_undone)
        query = f"SELECT count(*), count(CASE WHEN {condition} THEN 1 END) FROM {table}"
        ((row_count, odd_count),) = self.database.query(query)
        for text, count in self.odd_values(retype, table, is_undone=is_undone) if odd_count else ():
            if is_undone != self.survives(text, retype):
                continue
            coerced = self.coerce_text(text, retype) if is_undone else None
            undone_text = None if coerced is None else self.coerce_text(coerced, back)
            if not is_undone or (coerced is not None and undone_text != text):
                unfit_texts[text] = count, undone_text
        examples = self._examples(unfit_texts, retype, name, table, relation) if unfit_texts else ()
        return Unfit(sum(count for count, _ in unfit_texts.values()), row_count, examples)

    def _examples(
        self, unfit_texts: dict[str, tuple[int, str | None]], retype: Retype, name: str, table: str, relation: Relation
    ) -> tuple[Example, ...]:
        """Return rows of a few values that were found."""
        keys = ("_dlt_id",) if "_dlt_id" in relation.columns else self._primary_key(relation.name)
        text, engine = self.text_of(name, retype), self.engine
        literals = ", ".join(map(self.literal, list(unfit_texts)[:MOST_EXAMPLES]))
        row = (f"CAST({engine.name(key)} AS {engine.text})" for key in keys)
        selected = ", ".join((text, engine.shown(name, SHOWN_CHARACTERS), *row))
        sample_rows = self.database.query(
            f"SELECT {selected} FROM {table} WHERE {text} IN ({literals}) LIMIT {MOST_EXAMPLES}"
        )
        texts = (tuple(map(_decoded, row)) for row in sample_rows)
        return tuple(
            Example(
                {name: str(key_value) for name, key_value in zip(keys, key, strict=True)},
                value,
                unfit_texts[text_value][1],
            )
            for text_value, value, *key in texts
        )


def _decoded(cell: Any) -> Any:
    """Return a text that a driver may return as bytes."""
    return cell.decode() if isinstance(cell, bytes) else cell
