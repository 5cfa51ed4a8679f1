"""The statements of dlt's merge strategies, in SQL that DuckDB and PostgreSQL share.

What a load brings stands in temporary relations (*stages*) with the columns and types of their tables. Row for row the
results are dlt's. Of several rows with one key the engine has chosen one before; ``_ranked`` is for other stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from schemactl.destinations._chains import Chain, Strategy, first_hinted, hinted, moment_of, row_key
from schemactl.destinations._session import quote
from schemactl.errors import DestinationError
from schemactl.schema.types import Column, DataType, Table

_RANK: Final = quote("_schemactl_rank")
_KEY: Final = quote("_schemactl_key")


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What the statements of one chain are about.

    Attributes:
        chain: the tables.
        targets: full names of the tables that are there, by name.
        stages: names of the stages, for tables that the load brings rows for.
        superseded: a stage of root rows that are not loaded; old rows with their merge keys go all the same.
        prefix: starts the names of temporary tables; no other chain of the transaction has it.
        column_type: of the destination.
        at: when the load was made, in UTC.
    """

    chain: Chain
    targets: dict[str, str]
    stages: dict[str, str]
    prefix: str
    column_type: Callable[[Column], str]
    at: datetime
    superseded: str | None = None

    @property
    def root(self) -> Table:
        return self.chain.root

    @property
    def target(self) -> str:
        return self.targets[self.root.name]

    @property
    def stage(self) -> str:
        return self.stages[self.root.name]

    @property
    def nested(self) -> tuple[Table, ...]:
        return tuple(table for table in self.chain.nested if table.name in self.targets)

    def columns(self, table: Table) -> str:
        return ", ".join(quote(name) for name in self.chain.staged[table.name].table.columns)

    def temporary(self, name: str) -> str:
        return quote(f"{self.prefix}_{name}")


def merge(plan: MergePlan) -> Iterator[str]:
    """Yield the statements that merge the stages of a chain into its tables, in their order."""
    match plan.chain.strategy:
        case Strategy.DELETE_INSERT:
            yield from _delete_insert(plan)
        case Strategy.UPSERT:
            yield from _upsert(plan)
        case Strategy.INSERT_ONLY:
            yield from _insert_only(plan)
        case Strategy.SCD2:
            yield from _scd2(plan)


def _delete_insert(plan: MergePlan) -> Iterator[str]:
    root, key = plan.root, quote(row_key(plan.root))
    matches = [_equal(keys, "d", "s") for keys in (hinted(root, "primary_key"), hinted(root, "merge_key")) if keys]
    if matches:
        doomed = plan.temporary("doomed")
        sources = [plan.stage, *([plan.superseded] if plan.superseded else [])]
        found = " OR ".join(f"EXISTS (SELECT 1 FROM {each} s WHERE {match})" for match in matches for each in sources)
        yield f"CREATE TEMPORARY TABLE {doomed} AS SELECT d.{key} AS {_KEY} FROM {plan.target} d WHERE {found}"
        yield from _delete_nested(plan, f"SELECT {_KEY} FROM {doomed}")
        yield f"DELETE FROM {plan.target} WHERE {key} IN (SELECT {_KEY} FROM {doomed})"
    chosen = _chosen(plan)
    yield f"INSERT INTO {plan.target} ({plan.columns(root)}) SELECT {plan.columns(root)} FROM {chosen} s"
    is_whole = not hinted(root, "primary_key") and first_hinted(root, "hard_delete") is None
    if any(table.name in plan.stages for table in plan.nested) and not is_whole:
        kept = plan.temporary("kept")
        yield f"CREATE TEMPORARY TABLE {kept} AS SELECT s.{key} AS {_KEY} FROM {chosen} s"
        yield from _insert_nested(plan, f"SELECT {_KEY} FROM {kept}")
    else:
        yield from _insert_nested(plan, None)


def _upsert(plan: MergePlan) -> Iterator[str]:
    root, key = plan.root, quote(row_key(plan.root))
    names = tuple(quote(name) for name in plan.chain.staged[root.name].table.columns)
    match = _equal(hinted(root, "primary_key"), "d", "s")
    deleted = _is_deleted(root, "s.")
    touched = plan.temporary("touched")
    # With the keys that the rows had before: those of rows that another strategy loaded are not made of primary keys.
    yield (
        f"CREATE TEMPORARY TABLE {touched} AS SELECT s.{key} AS {_KEY} FROM {plan.stage} s UNION "
        f"SELECT d.{key} FROM {plan.target} d WHERE EXISTS (SELECT 1 FROM {plan.stage} s WHERE {match})"
    )
    yield from _delete_nested(plan, f"SELECT {_KEY} FROM {touched}")
    yield (
        f"MERGE INTO {plan.target} AS d USING {_ranked(plan)} AS s ON {match}"
        + (f" WHEN MATCHED AND {deleted} THEN DELETE" if deleted else "")
        + f" WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in names)}"
        + f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
    )
    yield from _insert_nested(plan, f"SELECT s.{key} FROM {_chosen(plan)} s" if deleted else None)


def _insert_only(plan: MergePlan) -> Iterator[str]:
    root = plan.root
    is_there = f"SELECT 1 FROM {plan.target} d WHERE {_equal(hinted(root, 'primary_key'), 'd', 's')}"
    columns = plan.columns(root)
    yield (
        f"INSERT INTO {plan.target} ({columns}) SELECT {columns} FROM {_chosen(plan)} s WHERE NOT EXISTS ({is_there})"
    )
    yield from _insert_new_nested(plan)


def _scd2(plan: MergePlan) -> Iterator[str]:
    root = plan.root
    start, end, version = (first_hinted(root, hint) for hint in ("x-valid-from", "x-valid-to", "x-row-version"))
    assert start is not None  # as `merge_problem` has seen
    assert end is not None
    assert version is not None
    boundary = moment_of(root.properties.get("x-boundary-timestamp") or plan.at, root)
    now, until = (_timestamp(boundary, root.columns[name], plan) for name in (start, end))
    stated = root.columns[end].properties.get("x-active-record-timestamp")
    active = "NULL" if stated is None else _timestamp(moment_of(stated, root), root.columns[end], plan)
    is_active = f"d.{quote(end)} IS NULL" if stated is None else f"d.{quote(end)} = {active}"
    same_version = _equal((version,), "d", "s")
    scope = hinted(root, "merge_key")
    is_meant = f" AND EXISTS (SELECT 1 FROM {plan.stage} s WHERE {_equal(scope, 'd', 's')})" if scope else ""
    yield (
        f"UPDATE {plan.target} AS d SET {quote(end)} = {until} WHERE {is_active} "
        f"AND NOT EXISTS (SELECT 1 FROM {plan.stage} s WHERE {same_version}){is_meant}"
    )
    kept = [name for name in plan.chain.staged[root.name].table.columns if name not in (start, end)]
    columns = ", ".join(quote(name) for name in kept)
    yield (
        f"INSERT INTO {plan.target} ({columns}, {quote(start)}, {quote(end)}) "
        f"SELECT {columns}, {now}, {active} FROM {plan.stage} s "
        f"WHERE NOT EXISTS (SELECT 1 FROM {plan.target} d WHERE {is_active} AND {same_version})"
    )
    yield from _insert_new_nested(plan)


def _ranked(plan: MergePlan) -> str:
    """Return a subquery: of the staged root rows with one primary key the one that wins.

    That is the first one by ``dedup_sort``, nulls last; among equals the smallest key of the row, then the smallest
    row as a text, so that neither partitions nor retries change the answer. All rows where there is no primary key,
    and where the data is declared to have no duplicates.
    """
    root = plan.root
    keys = hinted(root, "primary_key")
    if not keys or root.properties.get("x-stage-data-deduplicated"):
        return plan.stage
    sort = first_hinted(root, "dedup_sort")
    first = [f"r.{quote(sort)} {_direction(root.columns[sort])} NULLS LAST"] if sort else []
    order = ", ".join([*first, f"r.{quote(row_key(root))}", "CAST(r AS VARCHAR)"])
    parts = ", ".join(f"r.{quote(name)}" for name in keys)
    ranks = f"SELECT r.*, row_number() OVER (PARTITION BY {parts} ORDER BY {order}) AS {_RANK} FROM {plan.stage} r"
    return f"(SELECT * FROM ({ranks}) ranks WHERE {_RANK} = 1)"


def _direction(column: Column) -> str:
    return "ASC" if column.properties.get("dedup_sort") == "asc" else "DESC"


def _chosen(plan: MergePlan) -> str:
    """Return a subquery: of the staged root rows those that win and do not ask to be deleted."""
    deleted = _is_deleted(plan.root, "w.")
    return f"(SELECT w.* FROM {_ranked(plan)} w WHERE ({deleted}) IS NOT TRUE)" if deleted else _ranked(plan)


def _is_deleted(root: Table, alias: str) -> str | None:
    """Return the condition that a row asks to be deleted; any value but null does, and of booleans true alone."""
    name = first_hinted(root, "hard_delete")
    if name is None:
        return None
    is_flag = root.columns[name].data_type is DataType.BOOL
    return f"{alias}{quote(name)} = TRUE" if is_flag else f"{alias}{quote(name)} IS NOT NULL"


def _delete_nested(plan: MergePlan, roots: str) -> Iterator[str]:
    """Yield the removal of all that is nested in root rows, the deepest first: the way up must still be there."""
    for table in reversed(plan.nested):
        yield f"DELETE FROM {plan.targets[table.name]} WHERE {_below(plan, table, roots, plan.targets)}"


def _insert_nested(plan: MergePlan, roots: str | None) -> Iterator[str]:
    """Yield the insertion of staged nested rows, of each key one; None for those of all root rows."""
    for table in plan.nested:
        if table.name in plan.stages:
            condition = _below(plan, table, roots, plan.stages) if roots else None
            yield _insert_once(plan, table, condition)


def _insert_new_nested(plan: MergePlan) -> Iterator[str]:
    """Yield the insertion of staged nested rows whose keys are not there yet, whatever became of their root rows."""
    for table in plan.nested:
        if table.name in plan.stages:
            same = _equal((row_key(table),), "d", "r")
            condition = f"NOT EXISTS (SELECT 1 FROM {plan.targets[table.name]} d WHERE {same})"
            yield _insert_once(plan, table, condition)


def _insert_once(plan: MergePlan, table: Table, condition: str | None) -> str:
    columns, key = plan.columns(table), quote(row_key(table))
    where = f" WHERE {condition}" if condition else ""
    rank = f"row_number() OVER (PARTITION BY r.{key} ORDER BY CAST(r AS VARCHAR)) AS {_RANK}"
    ranks = f"SELECT r.*, {rank} FROM {plan.stages[table.name]} r{where}"
    return f"INSERT INTO {plan.targets[table.name]} ({columns}) SELECT {columns} FROM ({ranks}) ranks WHERE {_RANK} = 1"


def _below(plan: MergePlan, table: Table, roots: str, names: dict[str, str]) -> str:
    """Return the condition that a nested row belongs to one of the root rows whose keys ``roots`` selects.

    By the root key where the table has one, else from parent to parent.
    """
    root_key, parent_key = first_hinted(table, "root_key"), first_hinted(table, "parent_key")
    if root_key:
        return f"{quote(root_key)} IN ({roots})"
    parent = next(each for each in plan.chain.tables if each.name == table.parent)
    if parent_key is None or parent.name not in names:
        hint = "`root_key_propagation: true` in the schema's `normalizers.json.config` gives it one"
        message = f"table `{table.name}` cannot be merged: nothing in it leads to the rows of `{plan.root.name}`"
        raise DestinationError(message, hint=hint)
    if parent.name == plan.root.name:
        return f"{quote(parent_key)} IN ({roots})"
    above = _below(plan, parent, roots, names)
    return f"{quote(parent_key)} IN (SELECT {quote(row_key(parent))} FROM {names[parent.name]} WHERE {above})"


def _equal(names: tuple[str, ...], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{quote(name)} = {right}.{quote(name)}" for name in names)


def _timestamp(moment: datetime, column: Column, plan: MergePlan) -> str:
    is_naive = column.properties.get("timezone") is False
    text = (moment.replace(tzinfo=None) if is_naive else moment).isoformat(sep=" ")
    return f"CAST('{text}' AS {plan.column_type(column)})"
