"""Takes a load into a SQL database, within one transaction: it is committed last, and of others nothing is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from schemactl.destinations import _bookkeeping
from schemactl.destinations._bookkeeping import bookkeeping_of, is_loaded
from schemactl.destinations._chains import Chain
from schemactl.destinations._load import Load, carry_out, chains_to_check, check_count
from schemactl.destinations._merge import KEY, MergePlan, Relations, Upsert, plan_merge
from schemactl.destinations._readiness import ReadyTable, check_names, check_relations, choose_target, fit, make_ready
from schemactl.destinations._session import Session, moment_text, qualify, quote
from schemactl.destinations._sql_bookkeeping import reader, write_bookkeeping
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage, PastLoads, StagedTable
from schemactl.progress import Progress
from schemactl.schema.dispositions import Merge, merge_of, row_key
from schemactl.schema.types import Schema, Table


def past_loads(session: Session, asked: str | None, schema_name: str) -> PastLoads:
    """Return what the dataset that a load would go into knows of earlier loads."""
    dataset = choose_target(session, asked, schema_name)
    with session.wrap_errors("read"):
        return _bookkeeping.past_loads(reader(session, dataset), schema_name)


def check_schema(session: Session, asked: str | None, schema: Schema) -> None:
    """Try out whether the tables of a schema could be loaded; the caller takes back what this makes.

    Raises:
        DestinationError: they could not.
    """
    chains = chains_to_check(schema)
    _check_names(session, schema, chains)
    dataset = choose_target(session, asked, schema.name)
    # Else a table that a load under way is making would be made twice.
    _lock(session, dataset)
    # What is replaced is not emptied to try it out: that takes as long as the real thing.
    replaced = [table for chain in chains if chain.is_replaced for table in chain.tables]
    others = [table for chain in chains if not chain.is_replaced for table in chain.tables]
    others += bookkeeping_of(schema).tables
    if session.has_transactional_ddl:
        check_relations(session, dataset, replaced)
        make_ready(session, dataset, others)
    else:  # what is made to try it out would stay
        check_relations(session, dataset, [*replaced, *others])


def load_package(session: Session, asked: str | None, package: LoadPackage, progress: Progress) -> None:
    """Take a load, and commit the transaction; one that is there already is not taken again.

    Raises:
        InputError: it is not plain which of several datasets is meant.
        DestinationError: it is refused; the transaction is not committed.
    """
    carry_out(SqlLoad(package, progress, session, choose_target(session, asked, package.schema.name)))


@dataclass(slots=True)
class SqlLoad(Load[None]):
    """See ``Load``: what is staged is in its tables at once, as no one else sees it."""

    session: Session
    dataset: str
    targets: dict[str, ReadyTable] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    """Of what it makes for itself."""

    @property
    def origin(self) -> str:
        return self.dataset

    @contextmanager
    def lock(self) -> Iterator[None]:
        _lock(self.session, self.dataset)  # which ends with the transaction
        yield

    def is_loaded(self) -> bool:
        with self.session.wrap_errors("read"):
            return is_loaded(reader(self.session, self.dataset), self.package.schema.name, self.package.load_id)

    def check(self, chains: Sequence[Chain]) -> None:
        _check_names(self.session, self.package.schema, chains)

    def prepare(self, chains: Sequence[Chain]) -> None:
        tables = [*_tables_of(self.session, self.dataset, chains), *bookkeeping_of(self.package.schema).tables]
        if self.session.has_transactional_ddl:
            # First: a table without rows gets columns that a table with rows does not.
            _empty(self.session, self.dataset, chains)
            self.targets = make_ready(self.session, self.dataset, tables)
        else:  # making tables would keep that they are empty
            self.targets = make_ready(self.session, self.dataset, tables)
            _empty(self.session, self.dataset, chains)

    def stage(self, chain: Chain) -> Iterator[None]:
        """Insert or merge the rows; the open transaction hides them."""
        if chain.is_merged:
            self._merge(chain)
        else:
            for staged in chain.staged.values():
                self._append(staged)
        yield from ()

    def commit(self, staged: Sequence[None]) -> None:
        assert not staged
        with self.session.wrap_errors("write dlt's tables of loads"):
            write_bookkeeping(self.session, self.dataset, self.package)
        with self.session.wrap_errors("complete the load"):
            self.session.execute("COMMIT")

    def _append(self, staged: StagedTable) -> None:
        session, table = self.session, staged.table
        self.report(table.name)
        target = self.targets[table.name]
        fitted = self._make_temporary(staged) if target.unlike else None
        columns = ", ".join(quote(name) for name in table.columns)
        with session.wrap_errors(f"load table `{table.name}`"):
            if fitted is not None:
                put = session.execute(f"INSERT INTO {target.name} ({columns}) SELECT {columns} FROM {fitted}")
            else:
                put = session.append(target.name, staged)
        check_count(table, put, staged.rows)

    def _merge(self, chain: Chain) -> None:
        stages: dict[str, str] = {}
        for name, staged in chain.staged.items():
            self.report(name)
            stages[name] = self._make_temporary(staged)
        superseded = chain.staged[chain.root.name].superseded  # root rows that are not loaded and whose keys count
        prefix = f"_schemactl_{next(self.numbers)}"
        targets = {table.name: self.targets[table.name].name for table in chain.tables if table.name in self.targets}
        relations = Relations(
            old=targets,
            new=stages,
            columns={name: tuple(staged.table.columns) for name, staged in chain.staged.items()},
            tie=self.session.tie,
            column_type=self.session.column_type,
            moment=(lambda each: f"'{moment_text(each)}'") if self.session.takes_moments_as_texts else None,
            superseded=self._make_temporary(superseded, is_counted=False) if superseded is not None else None,
        )
        merge = merge_of(chain.root, self.package.inserted_at)
        plan = plan_merge(chain, merge, relations, prefix)
        self.progress(f"merging table `{chain.root.name}`", None)
        for statement in _statements(self.session, plan, merge, targets, prefix):
            with self.session.wrap_errors(f"merge table `{chain.root.name}`"):
                self.session.execute(statement)

    def _make_temporary(self, staged: StagedTable, *, is_counted: bool = True) -> str:
        """Copy the rows of a package's table into a temporary table, in the types of their target; return its name."""
        session, stage = self.session, f"_schemactl_stage_{next(self.numbers)}"
        with session.wrap_errors(f"read the rows of table `{staged.table.name}`"):
            session.stage(stage, staged)
            found = session.query(f"SELECT count(*) FROM {quote(stage)}")[0][0] if is_counted else staged.rows
        check_count(staged.table, found, staged.rows)
        return quote(fit(session, staged.table, self.targets[staged.table.name], stage))


def _lock(session: Session, dataset: str) -> None:
    with session.wrap_errors(f"lock dataset `{dataset}`"):
        session.lock(dataset)


def _check_names(session: Session, schema: Schema, chains: Sequence[Chain]) -> None:
    """Refuse names that the database does not keep apart, and merges where it has none."""
    check_names(schema, session.names, session.shown)
    merged = None if session.merges else next((chain.root.name for chain in chains if chain.is_merged), None)
    if merged is not None:
        hint = "`write_disposition: append` or `replace`; dlt's own loader merges there: `--to dlt:sqlalchemy`"
        raise DestinationError(f"table `{merged}`: rows are not merged in `{session.shown}`", hint=hint)


def _tables_of(session: Session, dataset: str, chains: Sequence[Chain]) -> list[Table]:
    """Return the tables to make ready: those with rows, and for merges those that are there."""
    with session.wrap_errors(f"read dataset `{dataset}`"):
        there = session.relations(dataset)
    return [
        chain.staged[table.name].table if table.name in chain.staged else table
        for chain in chains
        for table in chain.tables
        if table.name in chain.staged or (chain.is_merged and session.names.fold(table.name) in there)
    ]


def _empty(session: Session, dataset: str, chains: Sequence[Chain]) -> None:
    """Remove the rows of tables that the load replaces; not by TRUNCATE, under which readers see nothing."""
    with session.wrap_errors(f"read dataset `{dataset}`"):
        there = session.relations(dataset)
    for name in (table.name for chain in chains if chain.is_replaced for table in chain.tables):
        found = there.get(session.names.fold(name))
        if found is not None and found.is_table:
            with session.wrap_errors(f"empty table `{name}`"):
                session.execute(f"DELETE FROM {qualify(dataset, found.name)}")


def _statements(
    session: Session, plan: MergePlan, merge: Merge, targets: Mapping[str, str], prefix: str
) -> Iterator[str]:
    """Yield the statements that carry out a merge; old rows go before new ones with their keys come."""
    for name, query in plan.keys.items():
        yield f"CREATE TEMPORARY TABLE {quote(name)} AS {query}"
    for effect in reversed(plan.effects):
        target = targets[effect.table.name]
        if effect.ends is not None:
            yield f"UPDATE {target} AS o SET {quote(str(merge.valid_to))} = {effect.ends} WHERE {effect.goes}"
        elif effect.gone is not None:
            column, keys = map(quote, effect.gone)
            yield f"DELETE FROM {target} WHERE {column} IN (SELECT {quote(KEY)} FROM {keys})"
    for effect in plan.effects:
        if effect.comes is None:
            continue
        names = [quote(name) for name in effect.columns]
        target, columns = targets[effect.table.name], ", ".join(names)
        if effect.upsert is None:
            yield f"INSERT INTO {target} ({columns}) {effect.comes}"
            continue
        if not session.has_merge_statement:
            yield from _upsert(session, target, names, row_key(effect.table), effect.upsert, f"{prefix}_new")
            continue
        deleted = effect.upsert.is_deleted
        yield (
            f"MERGE INTO {target} AS o USING {effect.upsert.source} AS n ON {effect.upsert.match}"
            + (f" WHEN MATCHED AND {deleted} THEN DELETE" if deleted else "")
            + f" WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = n.{name}' for name in names)}"
            + f" WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({', '.join(f'n.{name}' for name in names)})"
        )


def _upsert(session: Session, target: str, names: Sequence[str], key: str, upsert: Upsert, new: str) -> Iterator[str]:
    """Yield what MERGE INTO does, a statement each; ``new`` names a relation of the keys of rows that are added."""
    source, match, columns = upsert.source, upsert.match, ", ".join(names)
    is_there = f"SELECT 1 FROM {target} o WHERE {match}"
    added = f"SELECT n.{quote(key)} AS {quote(KEY)} FROM {source} n WHERE NOT EXISTS ({is_there})"
    yield f"CREATE TEMPORARY TABLE {quote(new)} AS {added}"
    if upsert.is_deleted:
        condition = f"{match} AND {upsert.is_deleted}"
        yield session.delete_from(target, f"EXISTS (SELECT 1 FROM {source} n WHERE {condition})")
    yield session.update_from(target, names, source, match)
    listed = ", ".join(f"n.{name}" for name in names)
    among = f"n.{quote(key)} IN (SELECT {quote(KEY)} FROM {quote(new)})"
    yield f"INSERT INTO {target} ({columns}) SELECT {listed} FROM {source} n WHERE {among}"
