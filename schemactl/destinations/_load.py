"""Takes a load into a SQL database, within one transaction that its caller ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from schemactl.destinations._bookkeeping import bookkeeping_of, read_loads, write_bookkeeping
from schemactl.destinations._chains import Chain, Disposition, chains_of, chains_of_load, merge_problem
from schemactl.destinations._merge import KEY, MergePlan, Relations, Upsert, plan_merge
from schemactl.destinations._package import LoadPackage, PastLoads, Progress, StagedTable
from schemactl.destinations._readiness import Target, check_names, check_relations, choose_target, fit, make_ready
from schemactl.destinations._session import Session, fold, qualify, quote
from schemactl.destinations._structure import as_stored, package_as_stored
from schemactl.errors import DestinationError
from schemactl.schema.dispositions import Merge, merge_of, row_key
from schemactl.schema.types import Schema, Table


@dataclass(frozen=True, slots=True)
class _Load:
    session: Session
    package: LoadPackage
    dataset: str
    targets: dict[str, Target]
    progress: Progress

    def report(self, table: str, done: int) -> None:
        total = sum(each.rows for each in self.package.tables) or 1
        self.progress(f"loading table `{table}`", min(done / total, 1.0))


def past_loads(session: Session, asked: str | None, schema_name: str) -> PastLoads:
    """Return what the dataset that a load would go into knows of earlier loads."""
    dataset = choose_target(session, asked, schema_name)
    with session.wrap_errors("read"):
        known = {fold(name, session.names) for name in session.datasets()}
        is_there = fold(dataset, session.names) in known
        return read_loads(session, dataset, schema_name) if is_there else PastLoads()


def check_schema(session: Session, asked: str | None, schema: Schema) -> None:
    """Try out whether the tables of a schema could be loaded; the caller takes back what this makes.

    Raises:
        DestinationError: they could not.
    """
    schema = as_stored(schema)
    check_names(schema, session.names, session.shown)
    chains = chains_of(schema)
    _refuse_merges(session, chains)
    dataset = choose_target(session, asked, schema.name)
    # Else a table that a load under way is making would be made twice.
    _lock(session, dataset)
    # What is replaced is not emptied to try it out: that takes as long as the real thing.
    replaced = {table.name for chain in chains if chain.is_replaced for table in chain.tables}
    tables = [*(table for chain in chains for table in chain.tables), *bookkeeping_of(schema).tables]
    if not session.has_transactional_ddl:  # what is made to try it out would stay
        check_relations(session, dataset, tables)
        return
    check_relations(session, dataset, (table for table in tables if table.name in replaced))
    make_ready(session, dataset, (table for table in tables if table.name not in replaced))


def load_package(session: Session, asked: str | None, package: LoadPackage, progress: Progress) -> bool:
    """Take a load; return whether there was anything to do: a load that is there already is not taken again.

    Raises:
        DestinationError: it is refused; the transaction must not be committed.
    """
    package = package_as_stored(package)
    schema = package.schema
    check_names(schema, session.names, session.shown)
    chains = chains_of_load(package)
    _refuse_merges(session, chains)
    dataset = choose_target(session, asked, schema.name)
    progress(f"waiting for other loads into `{dataset}`", None)
    _lock(session, dataset)
    if package.load_id in past_loads(session, asked, schema.name).load_ids:
        return False
    if session.has_transactional_ddl:  # first: a table without rows gets columns that a table with rows does not
        _empty(session, dataset, chains)
    kept = bookkeeping_of(schema)
    tables = [*_tables_of(session, dataset, chains), *kept.tables]
    load = _Load(session, package, dataset, make_ready(session, dataset, tables), progress)
    if not session.has_transactional_ddl:  # else making tables would keep that they are empty
        _empty(session, dataset, chains)
    done = 0
    for number, chain in enumerate(chains):
        take = _merge_chain if _is_merged(chain) else _append_chain
        done = take(load, chain, number, done)
    progress("completing the load", None)
    with session.wrap_errors("write dlt's tables of loads"):
        write_bookkeeping(session, dataset, kept, package)
    return True


def _lock(session: Session, dataset: str) -> None:
    with session.wrap_errors(f"lock dataset `{dataset}`"):
        session.lock(dataset)


def _refuse_merges(session: Session, chains: tuple[Chain, ...]) -> None:
    for problem in filter(None, map(merge_problem, chains)):
        raise problem
    merged = None if session.merges else next((chain.root.name for chain in chains if _is_merged(chain)), None)
    if merged is not None:
        hint = "`write_disposition: append` or `replace`; dlt's own loader merges there: `--to dlt:sqlalchemy`"
        raise DestinationError(f"table `{merged}`: rows are not merged in `{session.shown}`", hint=hint)


def _is_merged(chain: Chain) -> bool:
    return chain.disposition is Disposition.MERGE


def _tables_of(session: Session, dataset: str, chains: tuple[Chain, ...]) -> list[Table]:
    """Return the tables to make ready: those with rows, and for merges those that are there."""
    with session.wrap_errors(f"read dataset `{dataset}`"):
        there = session.relations(dataset)
    return [
        chain.staged[table.name].table if table.name in chain.staged else table
        for chain in chains
        for table in chain.tables
        if table.name in chain.staged or (_is_merged(chain) and fold(table.name, session.names) in there)
    ]


def _empty(session: Session, dataset: str, chains: tuple[Chain, ...]) -> None:
    """Remove the rows of tables that the load replaces; not by TRUNCATE, under which readers see nothing."""
    with session.wrap_errors(f"read dataset `{dataset}`"):
        there = session.relations(dataset)
    for name in (table.name for chain in chains if chain.is_replaced for table in chain.tables):
        found = there.get(fold(name, session.names))
        if found is not None and found.is_table:
            with session.wrap_errors(f"empty table `{name}`"):
                session.execute(f"DELETE FROM {qualify(dataset, found.name)}")


def _append_chain(load: _Load, chain: Chain, place: int, done: int) -> int:
    for number, table in enumerate(chain.tables):
        if table.name in chain.staged:
            load.report(table.name, done)
            staged = chain.staged[table.name]
            _append(load, staged, f"{place}_{number}")
            done += staged.rows
    return done


def _append(load: _Load, staged: StagedTable, stage: str) -> None:
    session, table = load.session, staged.table
    target = load.targets[table.name]
    if target.unlike:
        fitted = quote(fit(session, table, target, _stage(load, staged, stage)))
        columns = ", ".join(quote(name) for name in table.columns)
        with session.wrap_errors(f"load table `{table.name}`"):
            put = session.execute(f"INSERT INTO {target.name} ({columns}) SELECT {columns} FROM {fitted}")
    else:
        with session.wrap_errors(f"load table `{table.name}`"):
            put = session.append(target.name, staged)
    _check_count(table, put, staged.rows)


def _merge_chain(load: _Load, chain: Chain, number: int, done: int) -> int:
    stages: dict[str, str] = {}
    for place, table in enumerate(chain.tables):
        if table.name not in chain.staged:
            continue
        load.report(table.name, done)
        staged = chain.staged[table.name]
        stage = _stage(load, staged, f"{number}_{place}")
        stages[table.name] = quote(fit(load.session, staged.table, load.targets[table.name], stage))
        done += staged.rows
    if chain.root.name not in stages:
        # Nothing says which root rows the nested ones belong to.
        raise DestinationError(f"table `{chain.root.name}` is merged, but the load has no rows for it")
    targets = {table.name: load.targets[table.name].name for table in chain.tables if table.name in load.targets}
    relations = Relations(
        old=targets,
        new=stages,
        columns={name: tuple(staged.table.columns) for name, staged in chain.staged.items()},
        tie=load.session.tie,
        column_type=load.session.column_type,
        moment=_text_of_moment if load.session.takes_moments_as_texts else None,
        superseded=_stage_superseded(load, chain.staged[chain.root.name], number),
    )
    merge = merge_of(chain.root, load.package.inserted_at)
    plan = plan_merge(chain, merge, relations, f"_schemactl_{number}")
    load.progress(f"merging table `{chain.root.name}`", None)
    for statement in _statements(load.session, plan, merge, targets, f"_schemactl_{number}"):
        with load.session.wrap_errors(f"merge table `{chain.root.name}`"):
            load.session.execute(statement)
    return done


def _text_of_moment(moment: datetime) -> str:
    naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return f"'{naive.isoformat(' ', 'microseconds')}'"


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


def _stage(load: _Load, staged: StagedTable, name: str) -> str:
    stage = f"_schemactl_stage_{name}"
    with load.session.wrap_errors(f"read the rows of table `{staged.table.name}`"):
        load.session.stage(stage, staged)
        found = load.session.query(f"SELECT count(*) FROM {quote(stage)}")[0][0]
    _check_count(staged.table, found, staged.rows)
    return stage


def _stage_superseded(load: _Load, root: StagedTable, number: int) -> str | None:
    """Stage the root rows that are not loaded and whose merge keys count, where there are any."""
    staged, stage = root.superseded, f"_schemactl_superseded_{number}"
    if staged is None:
        return None
    with load.session.wrap_errors(f"read the rows of table `{staged.table.name}`"):
        load.session.stage(stage, staged)
    return quote(fit(load.session, staged.table, load.targets[staged.table.name], stage))


def _check_count(table: Table, found: int, expected: int) -> None:
    if found != expected:
        message = f"table `{table.name}`: {found} of {expected} rows have arrived; nothing is loaded"
        hint = "load again; where a rule, a trigger or a policy of the table there takes rows away, drop that first"
        raise DestinationError(message, hint=hint)
