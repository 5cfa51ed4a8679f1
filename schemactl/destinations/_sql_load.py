"""Runs a load into a SQL database within one transaction, which is committed last, or rolled back as a whole.

First the tables are made to match the schema: missing tables and columns are created, blockers are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from schemactl.destinations import MigrationSession
from schemactl.destinations._bookkeeping import bookkeeping_of
from schemactl.destinations._load import (
    OTHER_TYPES,
    Chain,
    Load,
    carry_out,
    chains_to_check,
    check_count,
    check_renames,
)
from schemactl.destinations._merge import KEY, Effect, Relations, Upsert, plan_merge
from schemactl.destinations._session import Relation, Session, create_table, ddl_of, define_column, moment_text
from schemactl.destinations._sql_bookkeeping import Bookkeeping, find_dataset, write_bookkeeping
from schemactl.destinations._structure import Clash, cut
from schemactl.destinations._table_rows import batches_of
from schemactl.destinations._types import is_short_float
from schemactl.errors import DestinationError, InputError, Problem, backquoted
from schemactl.normalization.package import Among, LoadPackage, StagedTable
from schemactl.progress import Progress
from schemactl.schema.dispositions import Merge, complete, merge_of, row_key
from schemactl.schema.quoting import literal, qualify, quote
from schemactl.schema.structure import DATABASE_TYPE, NameLimits, description_of
from schemactl.schema.types import Column, DataType, Schema, Table

if TYPE_CHECKING:
    import pyarrow


_MOST_KEYS: Final = 1_000
"""Values in one condition of SQL."""


@dataclass(frozen=True, slots=True)
class ReadyTable:
    """A table that rows can go into.

    Attributes:
        name: its full name, quoted.
        types: of its columns, as the database writes them.
        unlike: names of columns whose stored type differs from dlt's.
        short_floats: names of columns that store doubles in 4 bytes; inserts round doubles.
    """

    name: str
    types: Mapping[str, str]
    unlike: tuple[str, ...] = ()
    short_floats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SqlDataset:
    """A dataset of a database; see ``StoredDataset``."""

    session: Session
    name: str

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        """Yield rows of a table in which the dataset keeps its loads; see ``ReadRows``."""
        with self.session.wrap_errors("read"):
            yield from Bookkeeping(self.session, self.name).read_rows(table, **equal)

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; columns that it lacks are null. See ``Readable.read_table``."""
        session, fold = self.session, self.session.names.fold
        with session.wrap_errors(f"read table `{table.name}`"):
            relation = session.relations(self.name, fold(table.name)).get(fold(table.name))
            if relation is None or not relation.is_table:
                return
            stored_names = {fold(name): name for name in relation.columns}
            selected = []
            for column in table.columns.values():
                name = stored_names.get(fold(column.name))
                match column.data_type:
                    case _ if name is None:
                        selected.append("NULL")
                    case DataType.TIMESTAMP:  # as a number: DuckDB needs pytz for timestamps with a time zone
                        selected.append(session.moment_of(quote(name)))
                    case DataType.DOUBLE if session.has_short_floats and is_short_float(relation.columns[name]):
                        selected.append(f"{quote(name)} * 1e0")  # drivers read fewer digits than the float has
                    case DataType.JSON:
                        selected.append(session.text_of(quote(name)))
                    case _:
                        selected.append(quote(name))
            query = f"SELECT {', '.join(selected)} FROM {qualify(self.name, relation.name)}"
            if among is None:
                yield from batches_of(table, session.query(query))
                return
            values = sorted(among.values)
            key = stored_names.get(fold(among.column))
            for start in range(0, len(values) if key is not None else 0, _MOST_KEYS):
                key_list = ", ".join(map(literal, values[start : start + _MOST_KEYS]))
                yield from batches_of(table, session.query(f"{query} WHERE {quote(str(key))} IN ({key_list})"))


def check_schema(session: Session, dataset: str | None, schema: Schema) -> None:
    """Raise ``DestinationError`` if a schema could not be loaded; the caller rolls back the trial."""
    chains = chains_to_check(schema)
    _check_support(session, schema, chains)
    target = choose_target(session, dataset, schema.name)
    # Without the lock, a table that a running load is creating would be created twice.
    with session.wrap_errors(f"lock dataset `{target}`"):
        session.lock(target)
    relations = read_relations(session, target)
    _check_renames(session, schema, chains, relations)
    # The trial does not empty replaced tables, which would take as long as the load.
    replaced = [table for chain in chains if chain.is_replaced for table in chain.tables]
    filled = [table for chain in chains if not chain.is_replaced for table in chain.tables]
    filled += bookkeeping_of(schema)
    # A trial outside of a transaction would stay.
    for table in replaced if session.has_transactional_ddl else (*replaced, *filled):
        if (relation := relations.get(session.names.fold(table.name))) is not None:
            _check_table(session, qualify(target, relation.name), table, relation, [])
    if session.has_transactional_ddl:
        make_ready(session, target, filled, relations)


def load_package(
    session: Session,
    dataset: str | None,
    package: LoadPackage,
    progress: Progress,
    open_migration: OpenMigration | None = None,
) -> None:
    """Run a load, and commit the transaction; skip a load that exists."""
    target = choose_target(session, dataset, package.schema.name)
    carry_out(SqlLoad(package, progress, session, target, open_migration=open_migration))


OpenMigration: TypeAlias = Callable[[str, float], AbstractContextManager[MigrationSession]]
"""Opens a migration of a dataset in the transaction of a load, with the number of seconds to wait for locks."""


@dataclass(slots=True)
class SqlLoad(Load[None]):
    """See ``Load``; rows are staged directly in their tables, since no one else sees them before the commit."""

    session: Session
    dataset: str
    targets: dict[str, ReadyTable] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    """The numbers in the names of its temporary relations."""
    open_migration: OpenMigration | None = None
    """Opens the migration that widens columns within the load; None if the database has no transactions for DDL."""

    @property
    def origin(self) -> str:
        return self.dataset

    def lock(self) -> AbstractContextManager[None]:
        with self.session.wrap_errors(f"lock dataset `{self.dataset}`"):
            self.session.lock(self.dataset)
        return nullcontext()  # the lock ends with the transaction

    @property
    def stored(self) -> SqlDataset:
        return SqlDataset(self.session, self.dataset)

    def check(self, chains: Sequence[Chain]) -> None:
        _check_support(self.session, self.package.schema, chains)

    def prepare(self, chains: Sequence[Chain]) -> None:
        session, fold = self.session, self.session.names.fold
        relations = read_relations(session, self.dataset)
        _check_renames(session, self.package.schema, chains, relations)
        # The load's tables with rows, and for merges the existing ones.
        tables = [
            chain.staged[table.name].table if table.name in chain.staged else table
            for chain in chains
            for table in chain.tables
            if table.name in chain.staged or (chain.is_merged and fold(table.name) in relations)
        ]
        tables += bookkeeping_of(self.package.schema)
        replaced = [relations.get(fold(table.name)) for chain in chains if chain.is_replaced for table in chain.tables]
        emptied = [relation.name for relation in replaced if relation is not None and relation.is_table]
        if session.has_transactional_ddl:
            # First: a table without rows gets columns that a table with rows does not.
            self._empty(emptied)
        if narrow := self._narrow_columns(tables, relations):
            widening, open_migration = self.package.widening, self.open_migration
            assert widening is not None
            assert open_migration is not None
            with open_migration(self.dataset, widening.lock_seconds) as migration:
                widening.widen(migration, narrow)
            relations = read_relations(session, self.dataset)
        self.targets = make_ready(session, self.dataset, tables, relations)
        if not session.has_transactional_ddl:  # making tables would keep that they are empty
            self._empty(emptied)

    def _narrow_columns(
        self, tables: Iterable[Table], relations: Mapping[str, Relation]
    ) -> tuple[tuple[str, str], ...]:
        """Return the columns that the load may widen and whose type in the database differs from the schema's."""
        if self.package.widening is None or self.open_migration is None:
            return ()
        fold = self.session.names.fold
        may_widen = frozenset(self.package.widening.columns)
        narrow: list[tuple[str, str]] = []
        for table in tables:
            relation = relations.get(fold(table.name))
            types = {} if relation is None else {fold(name): kind for name, kind in relation.columns.items()}
            narrow += [
                (table.name, column.name)
                for column in complete(table)
                if (table.name, column.name) in may_widen
                and types.get(fold(column.name)) not in (None, self.session.column_type(column))
            ]
        return tuple(narrow)

    def _empty(self, names: Sequence[str]) -> None:
        """Remove the rows of tables that the load replaces; not by TRUNCATE, under which readers see nothing."""
        for name in names:
            with self.session.wrap_errors(f"empty table `{name}`"):
                self.session.execute(f"DELETE FROM {qualify(self.dataset, name)}")

    def stage(self, chain: Chain) -> Sequence[None]:
        """Insert or merge the rows; the open transaction hides them."""
        session = self.session
        if chain.is_merged:
            self._merge(chain)
            return ()
        for staged in chain.staged.values():
            self.report(staged.table.name)
            target = self.targets[staged.table.name]
            check_short_floats(staged, target)
            fitted = self._make_temporary(staged) if target.unlike else None
            columns = ", ".join(map(quote, staged.table.columns))
            with session.wrap_errors(f"load table `{staged.table.name}`"):
                if fitted is None:
                    row_count = session.append(target.name, staged)
                else:
                    row_count = session.execute(f"INSERT INTO {target.name} ({columns}) SELECT {columns} FROM {fitted}")
            check_count(staged.table, row_count, staged.rows)
        return ()

    def commit(self, staged: Sequence[None]) -> None:
        assert not staged
        with self.session.wrap_errors("write dlt's tables of loads"):
            write_bookkeeping(self.session, self.dataset, self.package)
        with self.session.wrap_errors("complete the load"):
            self.session.execute("COMMIT")

    def _merge(self, chain: Chain) -> None:
        stages: dict[str, str] = {}
        for name, staged in chain.staged.items():
            self.report(name)
            stages[name] = self._make_temporary(staged)
        superseded = chain.staged[chain.root.name].superseded  # root rows that are not loaded and whose keys count
        prefix = f"_schemactl_{next(self.numbers)}"
        targets = {table.name: self.targets[table.name].name for table in chain.tables if table.name in self.targets}
        merge = merge_of(chain.root, self.package.inserted_at)
        types = self.targets[chain.root.name].types
        root_keys = {*merge.primary_key, *merge.merge_key, *filter(None, [merge.row_version])}
        relations = Relations(
            old=targets,
            new=stages,
            columns={name: tuple(staged.table.columns) for name, staged in chain.staged.items()},
            tie=self.session.tie,
            column_type=self.session.column_type,
            moment=(lambda value: f"'{moment_text(value)}'") if self.session.takes_moments_as_texts else None,
            superseded=self._make_temporary(superseded, is_counted=False) if superseded is not None else None,
            equality={name: self.session.equality(types[name]) for name in sorted(root_keys & types.keys())},
        )
        keys, effects = plan_merge(chain, merge, relations, prefix)
        self.progress(f"merging table `{chain.root.name}`", None)
        temporary_tables = [f"CREATE TEMPORARY TABLE {quote(name)} AS {query}" for name, query in keys.items()]
        for statement in (*temporary_tables, *_statements(self.session, effects, merge, targets, prefix)):
            with self.session.wrap_errors(f"merge table `{chain.root.name}`"):
                self.session.execute(statement)

    def _make_temporary(self, staged: StagedTable, *, is_counted: bool = True) -> str:
        """Copy the rows of a package's table into a temporary table, in the types of their target; return its name."""
        session, stage = self.session, f"_schemactl_stage_{next(self.numbers)}"
        check_short_floats(staged, self.targets[staged.table.name])
        with session.wrap_errors(f"read the rows of table `{staged.table.name}`"):
            session.stage(stage, staged)
            count = session.query(f"SELECT count(*) FROM {quote(stage)}")[0][0] if is_counted else staged.rows
        check_count(staged.table, count, staged.rows)
        return quote(fit(session, staged.table, self.targets[staged.table.name], stage))


def check_new_database(schema: Schema, names: NameLimits, origin: str) -> None:
    """Raise ``DestinationError`` if a schema cannot be loaded into a database file that does not exist yet."""
    chains_to_check(schema)
    _check_names(schema, names, origin)


def _check_support(session: Session, schema: Schema, chains: Sequence[Chain]) -> None:
    """Refuse names that the database does not distinguish, and merges if it does not support them."""
    _check_names(schema, session.names, session.shown)
    merged = None if session.merges else next((chain.root.name for chain in chains if chain.is_merged), None)
    if merged is not None:
        hint = "`write_disposition: append` or `replace`; dlt's own loader merges there: `--to dlt:sqlalchemy`"
        raise DestinationError(f"table `{merged}`: rows are not merged in `{session.shown}`", hint=hint)


def _check_renames(
    session: Session, schema: Schema, chains: Sequence[Chain], relations: Mapping[str, Relation]
) -> None:
    columns, fold = {name: relation.columns for name, relation in relations.items()}, session.names.fold
    check_renames(schema, chains, lambda table: columns.get(fold(table)), session.names, session.shown)


def _statements(
    session: Session, effects: Sequence[Effect], merge: Merge, targets: Mapping[str, str], prefix: str
) -> Iterator[str]:
    """Yield the statements of a merge; old rows are deleted before new rows with their keys are added."""
    for effect in reversed(effects):
        target = targets[effect.table.name]
        if effect.ends is not None:
            yield f"UPDATE {target} AS o SET {quote(str(merge.valid_to))} = {effect.ends} WHERE {effect.goes}"
        elif effect.gone is not None:
            column, keys = map(quote, effect.gone)
            yield f"DELETE FROM {target} WHERE {column} IN (SELECT {quote(KEY)} FROM {keys})"
    for effect in effects:
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
    """Yield the statements of MERGE INTO; ``new`` names a relation of the keys of rows that are added."""
    source, match, columns = upsert.source, upsert.match, ", ".join(names)
    matching = f"SELECT 1 FROM {target} o WHERE {match}"
    added = f"SELECT n.{quote(key)} AS {quote(KEY)} FROM {source} n WHERE NOT EXISTS ({matching})"
    yield f"CREATE TEMPORARY TABLE {quote(new)} AS {added}"
    if upsert.is_deleted:
        condition = f"{match} AND {upsert.is_deleted}"
        yield session.delete_from(target, f"EXISTS (SELECT 1 FROM {source} n WHERE {condition})")
    yield session.update_from(target, names, source, match)
    values = ", ".join(f"n.{name}" for name in names)
    among = f"n.{quote(key)} IN (SELECT {quote(KEY)} FROM {quote(new)})"
    yield f"INSERT INTO {target} ({columns}) SELECT {values} FROM {source} n WHERE {among}"


def choose_target(session: Session, dataset: str | None, schema_name: str) -> str:
    """Return the dataset to load into: ``dataset``, else the one loaded before, else a new one named after the schema.

    Raises ``InputError`` if several datasets have been loaded with this schema.
    """
    with session.wrap_errors("read"):
        datasets = sorted(find_dataset(session, dataset, schema_name))
    if len(datasets) > 1:
        dataset_list = backquoted(datasets)
        message = f"`{session.shown}` contains {len(datasets)} datasets of schema `{schema_name}`: {dataset_list}"
        raise InputError(message, hint=f"choose one: `?dataset={datasets[0]}`")
    return datasets[0] if datasets else dataset or schema_name


def _check_names(schema: Schema, limits: NameLimits, destination: str) -> None:
    """Raise ``DestinationError`` if a name of a schema is too long, or it equals another one."""
    complete_tables = {name: table for name, table in schema.tables.items() if not table.is_new}
    names_by_kind = {"tables": list(complete_tables)}
    for table in complete_tables.values():
        names_by_kind[f"columns of table `{table.name}`"] = [column.name for column in complete(table)]
    for kind, names in names_by_kind.items():
        for name in filter(limits.is_too_long, names):
            message = f"`{destination}` allows names of up to {limits.max_bytes} bytes; in {kind}, `{name}` is longer"
            raise DestinationError(message, hint="shorten names with `schemactl infer SOURCE... --to DEST`")
        for first_name, second_name in limits.clashes(names):
            raise DestinationError(
                f"`{destination}` does not distinguish `{first_name}` from `{second_name}`, two {kind}"
            )


def read_relations(session: Session, dataset: str) -> Mapping[str, Relation]:
    """Return the relations of a dataset, by folded names; empty if it does not exist."""
    with session.wrap_errors(f"read dataset `{dataset}`"):
        return session.relations(dataset)


def make_ready(
    session: Session, dataset: str, tables: Iterable[Table], relations: Mapping[str, Relation]
) -> dict[str, ReadyTable]:
    """Create the missing dataset, tables and columns; return the tables by name."""
    datasets = {session.names.fold(name) for name in session.datasets()}
    if session.names.fold(dataset) not in datasets:
        with session.wrap_errors(f"create dataset `{dataset}`"):
            session.execute(ddl_of(session).create_dataset(dataset))
    return {
        table.name: _make_table(session, dataset, table, relations.get(session.names.fold(table.name)))
        for table in tables
    }


def _make_table(session: Session, dataset: str, table: Table, relation: Relation | None) -> ReadyTable:
    """Create a table, or add the load's columns and fields to the existing one."""
    columns = complete(table)
    sql = ddl_of(session)
    if relation is None:
        complete_table = replace(table, columns={column.name: column for column in columns})
        with session.wrap_errors(f"create table `{table.name}`"):
            session.execute(create_table(session, dataset, complete_table))
            for statement in sql.comments(sql.place(dataset, table.name), description_of(table), columns):
                session.execute(statement)
        types = {column.name: session.column_type(column) for column in columns}
        return ReadyTable(qualify(dataset, table.name), types, short_floats=_short_floats(session, columns, types))
    stored_types = {session.names.fold(name): kind for name, kind in relation.columns.items()}
    missing = [column for column in columns if session.names.fold(column.name) not in stored_types]
    name = qualify(dataset, relation.name)
    _check_table(session, name, table, relation, missing)
    stored_types |= _grow(session, name, table, stored_types)
    for column in missing:
        with session.wrap_errors(f"add column `{column.name}` to table `{table.name}`"):
            table_place = sql.place(dataset, relation.name)
            session.execute(sql.add_column(table_place, define_column(session, column)))
            for statement in sql.comments(table_place, None, [column]):
                session.execute(statement)
    new_types = {column.name: session.column_type(column) for column in columns}
    types = {name: stored_types.get(session.names.fold(name)) or kind for name, kind in new_types.items()}
    short_floats = _short_floats(session, columns, types)
    unlike = tuple(name for name, kind in new_types.items() if types[name] != kind and name not in short_floats)
    return ReadyTable(name, types, unlike, short_floats)


def _short_floats(session: Session, columns: Iterable[Column], types: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of columns of doubles that the database stores in 4 bytes."""
    doubles = (column.name for column in columns if column.data_type is DataType.DOUBLE)
    return tuple(name for name in doubles if session.has_short_floats and is_short_float(types[name]))


def check_short_floats(staged: StagedTable, target: ReadyTable) -> None:
    """Raise ``DestinationError`` if a column that stores doubles in 4 bytes would change a value.

    If the schema names the type of 4 bytes, fractions get its seven digits; whole numbers stay exact.
    """
    if not target.short_floats:
        return
    import pyarrow.compute
    import pyarrow.parquet

    for name in target.short_floats:
        relative_error = 2.0**-24 if DATABASE_TYPE in staged.table.columns[name].properties else 0.0
        changed_count = 0
        for file in staged.files:
            doubles = pyarrow.parquet.read_table(file, columns=[name]).column(name).drop_null()
            short = doubles.cast("float", safe=False).cast("double")
            error = pyarrow.compute.abs(pyarrow.compute.subtract(doubles, short))
            is_whole = pyarrow.compute.equal(doubles, pyarrow.compute.floor(doubles))
            rounding = pyarrow.compute.multiply(pyarrow.compute.abs(doubles), relative_error)
            allowed = pyarrow.compute.if_else(is_whole, 0.0, rounding)
            changed_count += pyarrow.compute.sum(pyarrow.compute.greater(error, allowed)).as_py() or 0
        if changed_count:
            location = f"column `{name}` of table `{staged.table.name}`"
            fault = "1 value does not fit" if changed_count == 1 else f"{changed_count:,} values do not fit"
            hint = "change the column to a double of 8 bytes in the database, or give it another type: "
            hint += f"`schemactl edit --column {staged.table.name}.{name}:TYPE`"
            message = f"{fault} into {location} (`{target.types[name]}` in the table has 4 bytes)"
            raise DestinationError(message, hint=hint)


def _grow(session: Session, name: str, table: Table, types: Mapping[str, str]) -> dict[str, str]:
    """Add the load's further fields to structs and lists, if no field changes its type; return the new types."""
    changes = {
        name: session.grown_type(column, kind)
        for name, column in table.columns.items()
        if (kind := types.get(session.names.fold(name))) is not None
    }
    clashes = ((name, change) for name, change in changes.items() if isinstance(change, Clash))
    problems = tuple(Problem(clash.describe(f"{table.name}.{name}")) for name, clash in clashes)
    if problems:
        message = f"structs or lists of table {name} in `{session.shown}` do not match the schema"
        raise DestinationError(message, problems=problems, hint="load into another dataset: `?dataset=NAME`")
    wider = {column: kind for column, kind in changes.items() if isinstance(kind, str)}
    for column, kind in wider.items():
        with session.wrap_errors(f"add fields to column `{column}` of table `{table.name}`"):
            session.execute(f"ALTER TABLE {name} ALTER COLUMN {quote(column)} SET DATA TYPE {kind}")
    return {session.names.fold(column): kind for column, kind in wider.items()}


def _check_table(session: Session, name: str, table: Table, relation: Relation, missing: list[Column]) -> None:
    if not relation.is_table:
        message = f"`{name}` in `{session.shown}` is a view, not a table: rows cannot be inserted"
        raise DestinationError(message, hint="rename it, or use another dataset: `?dataset=NAME`")
    if not relation.is_ours:
        message = f"cannot insert rows into table {name} in `{session.shown}`: permission denied"
        raise DestinationError(message, hint="grant the user SELECT, INSERT, UPDATE and DELETE on it")
    needed = [column for column in missing if not column.nullable]
    if not needed:
        return
    with session.wrap_errors(f"read table `{table.name}`"):
        is_empty = not session.query(f"SELECT 1 FROM {name} LIMIT 1")
    if is_empty:
        return
    key = next((column for column in needed if column.properties.get("row_key")), None)
    if key is not None:
        message = f"table {name} in `{session.shown}` was not created by dlt or schemactl"
        hint = f"it has rows but no column `{key.name}`: rename it, or use another dataset: `?dataset=NAME`"
        raise DestinationError(message, hint=hint)
    column_list = backquoted(column.name for column in needed)
    message = f"table {name} in `{session.shown}` has rows, so the required column {column_list} cannot be added"
    raise DestinationError(
        message, hint="remove `nullable: false` from the schema, or add the column with values to the table"
    )


def fit(session: Session, table: Table, target: ReadyTable, stage: str) -> str:
    """Return the name of a stage with the types of the existing table, after proving that all values survive."""
    if not target.unlike:
        return stage
    for name in target.unlike:
        column = quote(name)
        stored_type, ours = target.types[name], session.column_type(table.columns[name])
        location = (
            f"column `{name}` of table `{table.name}` (`{cut(stored_type)}` in the table, `{cut(ours)}` in the schema)"
        )
        # The text of a number or a date need not be the one that the data has: `01234` is 1234.
        is_text = table.columns[name].data_type in (DataType.TEXT, DataType.JSON)
        is_respelled = not is_text and stored_type == session.column_type(Column(name, {"data_type": "text"}))
        if is_respelled or not session.casts_to_columns:
            raise DestinationError(f"the load does not fit into {location}", hint=OTHER_TYPES)
        back = f"CAST(CAST(CAST({column} AS {stored_type}) AS {ours}) AS VARCHAR)"
        is_lost = f"{back} IS DISTINCT FROM CAST({column} AS VARCHAR)"
        with session.wrap_errors(f"insert values into {location}", OTHER_TYPES):
            lost = session.query(f"SELECT count(*) FROM {quote(stage)} WHERE {is_lost}")[0][0]
        if lost:
            fault = "1 value does not fit" if lost == 1 else f"{lost:,} values do not fit"
            raise DestinationError(f"{fault} into {location}", hint=OTHER_TYPES)
    selected = ", ".join(
        f"CAST({quote(name)} AS {target.types[name]}) AS {quote(name)}" if name in target.unlike else quote(name)
        for name in table.columns
        if name in target.types
    )
    session.execute(f"CREATE TEMPORARY VIEW {quote(f'{stage}_fit')} AS SELECT {selected} FROM {quote(stage)}")
    return f"{stage}_fit"
