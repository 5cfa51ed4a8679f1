"""Loads rows into a schema of a Spark catalog.

Spark commits each table on its own. A load that was killed before it was certain leaves nothing but tables named
``_schemactl_new_…``, which the next load drops; one that was killed later is finished by the next load. Between, a
reader may see the new rows of some tables and not yet those of others: nested ones come before those that they are
nested in, the row in ``_dlt_loads`` comes last. Catalogs have no locks: loads of one machine wait for each other, one
machine at a time is the caller's to see to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import Bookkeeping, bookkeeping_of
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._chains import Chain, Disposition, chains_of, emptied_by
from schemactl.destinations._lake.lock import loading, machine_folder
from schemactl.destinations._package import INPUTS_TABLE, LoadedInput, LoadPackage, PastLoads, Progress, StagedTable
from schemactl.destinations._structure import Clash, as_stored, cut, first_difference, gained, grown, package_as_stored
from schemactl.destinations.spark.catalogue import read_address
from schemactl.errors import DestinationError
from schemactl.schema.dispositions import appends, complete, first, merge_of
from schemactl.schema.nested_types import NestedType, read_type, structure_of, write_type
from schemactl.schema.templates import LOADS_TABLE
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    from pathlib import Path

    from schemactl.engine.catalogue import Namespace
    from schemactl.engine.catalogue_load import Brought, Structures
    from schemactl.engine.catalogue_pending import Step, Target

_SESSION_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
"""What Spark's own catalog takes as a table's name."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A column gets a new field inside.

    Attributes:
        field: its path below the column; the first one, where there are several.
    """

    field: str


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the loads that a schema of a catalog has had; one that was killed when it was certain counts.

    Raises:
        InputError: the address is wrong.
        DestinationError: Spark failed.
        EngineError: Spark cannot be started.
    """
    from schemactl.engine.catalogue import held_tables
    from schemactl.engine.catalogue_pending import Target, read_pending
    from schemactl.engine.session.running import running_session

    namespace = read_address(url)
    with running_session() as spark:
        target = Target(spark, namespace, held_tables(spark, namespace))
        done = _load_ids(target, LOADS_TABLE, schema_name)
        pending = read_pending(target)
        if pending is not None and pending.schema_name == schema_name:
            done |= {pending.load_id}
        return PastLoads(done, _inputs(target, schema_name))


def _load_ids(target: Target, table: str, schema_name: str) -> frozenset[str]:
    from schemactl.engine.catalogue import select

    if table not in target.held:
        return frozenset()
    rows = select(target.spark, f"SELECT * FROM {target.namespace.table(table)} WHERE status = 0")
    return frozenset(row["load_id"] for row in rows if row["schema_name"] == schema_name)


def _inputs(target: Target, schema_name: str) -> Mapping[str, LoadedInput]:
    from schemactl.engine.catalogue import select
    from schemactl.engine.catalogue_pending import read_pending

    pending = read_pending(target)
    coming = [step.source for step in pending.steps if step.table == INPUTS_TABLE] if pending else []
    tables = [INPUTS_TABLE, *(name for name in coming if name)]
    query = "SELECT load_id, schema_name, path, bytes, unix_micros(modified) AS modified FROM "
    rows = [
        row
        for table in tables
        if table in target.held
        for row in select(target.spark, query + target.namespace.table(table))
        if row["schema_name"] == schema_name
    ]
    rows.sort(key=lambda row: _sortable(row["load_id"]))
    return {row["path"]: LoadedInput(row["path"], row["bytes"], _moment(row["modified"])) for row in rows}


def _sortable(load_id: str) -> tuple[float, str]:
    return (float(load_id) if re.fullmatch(r"\d+(\.\d+)?", load_id) else 0.0, load_id)


def _moment(microseconds: int) -> Any:
    from datetime import UTC, datetime, timedelta

    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether a catalog takes the tables of a schema.

    Where no session is open only the schema is looked at: a session of its own would not know the user's catalogs.
    ``load`` looks at the tables that are there.

    Raises:
        InputError: the address is wrong.
        DestinationError: they cannot be loaded, or Spark failed.
    """
    from schemactl.engine.catalogue import held_tables
    from schemactl.engine.catalogue_pending import Target
    from schemactl.engine.session.running import active_session, running_session

    namespace = read_address(url)
    chains = chains_of(as_stored(schema))
    _check_spelling(table.name for chain in chains for table in chain.tables)
    if active_session() is None:
        _check_chains(chains, None, namespace)
        return
    with running_session() as spark:
        _check_chains(chains, Target(spark, namespace, held_tables(spark, namespace)), namespace)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Bring the rows of a load into a schema of a catalog; see the module for what is not atomic.

    Raises:
        InputError: the address is wrong.
        DestinationError: Spark failed, or what is there does not go with the rows.
        EngineError: Spark cannot be started.
    """
    from schemactl.engine.catalogue import mend_tables
    from schemactl.engine.catalogue_load import prepare
    from schemactl.engine.catalogue_pending import Pending, Target, commit, forget, recover, refreshed
    from schemactl.engine.merge import configured
    from schemactl.engine.session.running import running_session

    package = package_as_stored(package)
    namespace, kept = read_address(url), bookkeeping_of(package.schema)
    with running_session() as spark, configured(spark), _alone(Target(spark, namespace), progress):
        mend_tables(spark, namespace)
        target = recover(refreshed(Target(spark, namespace)))
        if package.load_id in _load_ids(target, kept.loads.name, package.schema.name):
            return
        chains = chains_of(package.schema, package)
        _check_chains(chains, target, namespace)
        tables = _tables(package, chains, kept)
        target = prepare(target, tables, {table.name: _structures(table, target) for table in tables})
        try:
            # Nested tables come before those that they are nested in.
            steps = [*reversed([*_steps(target, package, chains, progress)]), *_kept(target, package, kept)]
        except BaseException:
            forget(refreshed(target))
            raise
        progress("finishing", None)
        commit(target, Pending(package.load_id, package.schema.name, tuple(steps)))


def _alone(target: Target, progress: Progress) -> AbstractContextManager[None]:
    """Keep other loads of this machine out."""
    from schemactl.engine.catalogue_pending import place_of

    progress(f"waiting for other loads into {target.namespace}", None)
    return loading(machine_folder("spark", *place_of(target)))


def _tables(package: LoadPackage, chains: tuple[Chain, ...], kept: Bookkeeping) -> list[Table]:
    staged = [each.table for chain in chains for each in chain.staged.values()]
    return [*staged, *([package.rejects.table] if package.rejects else []), *kept.tables]


def _steps(target: Target, package: LoadPackage, chains: tuple[Chain, ...], progress: Progress) -> Iterator[Step]:
    from schemactl.engine.catalogue_load import stage
    from schemactl.engine.catalogue_pending import Step

    emptied = set(emptied_by(package.schema, chains))
    for at, chain in enumerate(chains):
        progress(f"staging {chain.root.name}", at / len(chains))
        if chain.disposition is Disposition.MERGE and not appends(chain.root):
            merge = merge_of(chain.root, package.inserted_at)
            family = [table for table in chain.tables if table.name in target.held]
            yield from stage(target, [_brought(target, table, chain.staged.get(table.name)) for table in family], merge)
            continue
        replaces = chain.disposition is Disposition.REPLACE
        brought = [_brought(target, each.table, each, overwrites=replaces) for each in chain.staged.values()]
        yield from stage(target, brought, None)
        emptied -= set(chain.staged)
    yield from (Step(name, None, overwrites=True) for name in sorted(emptied) if name in target.held)
    if package.rejects:
        yield from stage(target, [_brought(target, package.rejects.table, package.rejects)], None)


def _brought(target: Target, table: Table, staged: StagedTable | None, *, overwrites: bool = False) -> Brought:
    from schemactl.engine.catalogue_load import Brought

    files, superseded = (_files(each) for each in (staged, staged.superseded if staged else None))
    return Brought(table, files, first(table, "row_key"), overwrites, _structures(table, target), superseded)


def _files(staged: StagedTable | None) -> tuple[Path, ...]:
    return tuple(sorted(staged.folder.glob("*.parquet"))) if staged else ()


def _structures(table: Table, target: Target) -> Structures:
    held = target.held.get(table.name)
    return structures_after(table, held.columns) if held is not None else {}


def _kept(target: Target, package: LoadPackage, kept: Bookkeeping) -> Iterator[Step]:
    """Yield the steps that write down the load, the one that completes it last."""
    import json

    from schemactl.engine.catalogue import select
    from schemactl.engine.catalogue_load import stage_rows

    schema, at = package.schema, package.inserted_at
    rows = select(target.spark, f"SELECT * FROM {target.namespace.table(kept.versions.name)}")
    if all(schema.version_hash not in row.values() for row in rows):
        text = json.dumps(schema.to_dict(), ensure_ascii=False, separators=(",", ":"))
        values = (schema.version, schema.engine_version, at, schema.name, schema.version_hash, text)
        yield stage_rows(target, kept.versions, [_row(kept.versions, values)])
    if package.inputs:
        files = [(package.load_id, schema.name, each.path, each.bytes, each.modified) for each in package.inputs]
        yield stage_rows(target, kept.inputs, [_row(kept.inputs, values) for values in files])
    done = (package.load_id, schema.name, 0, at, schema.version_hash)
    yield stage_rows(target, kept.loads, [_row(kept.loads, done)])


def _row(table: Table, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(table.columns, values, strict=True))


def _check_chains(chains: tuple[Chain, ...], target: Target | None, namespace: Namespace) -> None:
    """Refuse what a catalog cannot take; where no session is open, of the tables there nothing is known."""
    for chain in chains:
        _check_chain(chain, namespace.catalogue)
        is_replaced = chain.disposition is Disposition.REPLACE
        for table in chain.tables:
            if target is not None and table.name in target.held:
                _check_table(table, target, is_replaced=is_replaced)


def _check_chain(chain: Chain, catalogue: str) -> None:
    from schemactl.engine.catalogue import SESSION_CATALOGUE

    if chain.disposition is Disposition.MERGE and not appends(chain.root):
        from datetime import UTC, datetime

        merge_of(chain.root, datetime.now(UTC))
    for table in chain.tables:
        name = table.name
        if name.startswith(OURS):
            raise DestinationError(f"`{name}` is a name that loads take for their own tables", hint="rename the table")
        if catalogue == SESSION_CATALOGUE and not _SESSION_NAME.fullmatch(name):
            hint = "the naming convention `sql_cs_v1` makes names that it takes"
            raise DestinationError(f"Spark's own catalog takes no table named `{name}`", hint=hint)


def _check_table(table: Table, target: Target, *, is_replaced: bool) -> None:
    held = target.held[table.name]
    key = first(table, "row_key")
    if held.is_view or (key and key not in held.columns):
        why = "is a view" if held.is_view else f"was not made by dlt or schemactl: it has no `{key}`"
        raise DestinationError(f"`{table.name}` {why}", hint="name another schema, or another table: `--table`")
    for column in complete(table):
        there = held.columns.get(column.name)
        match outgrown(column, there) if there else None:
            case str(misfit):
                hint = "drop the table first" if is_replaced else "load into another schema, or drop the table first"
                raise DestinationError(f"`{table.name}.{column.name}` {misfit} in the catalog", hint=hint)
            case Growing(field):
                _check_growth(table.name, f"{column.name}.{field}", target)


def _check_growth(table: str, field: str, target: Target) -> None:
    """Refuse a new field inside a column of a table whose place no copy can take."""
    from schemactl.engine.catalogue import Tables, copy_obstacle
    from schemactl.engine.catalogue_load import grows_by_copy

    if not grows_by_copy(target.namespace):
        return
    obstacle = copy_obstacle(Tables(target.spark, target.namespace), table)
    if obstacle is not None:
        hint = "load into another schema, or drop the table first"
        raise DestinationError(f"`{table}.{field}` is a new field, for which Spark needs a copy. {obstacle}", hint=hint)


def _check_spelling(names: Iterator[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise DestinationError(f"`{other}` and `{name}` are one table to a catalog", hint="rename one of them")


def outgrown(column: Column, there: str) -> Growing | str | None:
    """Return what keeps a column from taking a load's values as it is: a new field, or in words why it cannot at all.

    Args:
        column: of the load.
        there: its type in the catalog, as Spark writes it.
    """
    from schemactl.engine.catalogue import column_type

    wanted = column_type(column)
    if there == wanted:
        return None
    after = _after(column, there)
    if after is None:
        return _misfit(column, there) or f"is {cut(wanted)}, and {cut(there)}"
    fields = gained(read_type(there), after)
    return Growing(fields[0]) if fields else None


def structures_after(table: Table, held: Mapping[str, str]) -> Mapping[str, NestedType]:
    """Return what columns keep their objects and lists in after a load, those alone that are there.

    Args:
        table: of the load.
        held: the types of the columns that are there, as Spark writes them.
    """
    columns = (column for column in table.columns.values() if column.is_complete and column.name in held)
    found = {column.name: _after(column, held[column.name]) for column in columns}
    return {name: of for name, of in found.items() if of is not None}


def _after(column: Column, there: str) -> NestedType | None:
    """Return the type that holds what is there and what comes; None where there is none, or no structure."""
    from schemactl.engine.stored_types import ddl_of

    ours = structure_of(column)
    if ours is None:
        return None
    try:
        held = read_type(there)
    except ValueError:  # a type of Spark's that nested data is not kept in
        return None
    # The schema's DDL has integers and floats of one size alone: what it does not say stays as it is.
    found = grown(held, ours) if ddl_of(held) == there else Clash("", held, ours)
    return None if isinstance(found, Clash) else read_type(write_type(found, has_comments=False))


def _misfit(column: Column, there: str) -> str | None:
    """Return in words which field of a column is not as it is in the catalog; None where it holds no structure."""
    ours = structure_of(column)
    if ours is None:
        return None
    try:
        found = first_difference(read_type(there), ours)
    except ValueError:
        return None
    return None if found is None else f"has {found}"
