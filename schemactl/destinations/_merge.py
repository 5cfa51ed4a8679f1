"""The algebra of dlt's merge strategies in SQL: which old rows of a chain of tables go, and which new ones come.

It is the same for all engines. An engine names the relations of old and new rows, creates the relations of keys that a
plan names, and then deletes and adds rows as it can: databases by statements (``_sql_load``), tables on files by new
files (``_lake.merge``), Spark by new tables (``spark.merge``). The SQL is common to DuckDB and PostgreSQL; sqlglot
writes it for Spark. The results match dlt's row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from schemactl.destinations._load import Chain
from schemactl.errors import DestinationError
from schemactl.schema.dispositions import Merge, Strategy, first, row_key
from schemactl.schema.quoting import quote
from schemactl.schema.types import Column, Table

KEY: Final = "_schemactl_key"
"""The one column of a relation of keys."""

_RANK: Final = quote("_schemactl_rank")
_NEVER: Final = "1 = 0"


@dataclass(frozen=True, slots=True)
class Relations:
    """The rows of a chain of tables, as SQL.

    Attributes:
        old: the stored rows, by table; missing tables are left out.
        new: the new rows, by table, in the types of ``old``.
        columns: the selected columns of the new rows, by table.
        tie: the order of new rows ``n`` with equal keys, of which one comes.
        column_type: writes the type of a column of timestamps.
        moment: writes a timestamp as the column's value; None if the engine casts its text to the column's type.
        superseded: root rows that do not come; old rows with their merge keys go all the same.
        equality: the operators that compare keys of the root table, by column, if not ``=``.
    """

    old: Mapping[str, str]
    new: Mapping[str, str]
    columns: Mapping[str, Sequence[str]]
    tie: str
    column_type: Callable[[Column], str] = lambda column: "TIMESTAMP" if column.is_naive else "TIMESTAMPTZ"
    superseded: str | None = None
    moment: Callable[[datetime], str] | None = None
    equality: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upsert:
    """The match of ``source`` with the old rows ``o`` by the condition ``match``, for engines that update rows.

    Attributes:
        source: one new row of each key; ``n`` in the conditions.
        is_deleted: the condition that a new row asks to be deleted; None if no row can.
    """

    source: str
    match: str
    is_deleted: str | None


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a merge on one table.

    Attributes:
        goes: the condition that an old row ``o`` goes; None if no row does.
        gone: a column and a relation of keys that select the same rows as ``goes``.
        comes: selects the rows that are added; None if no row is.
        columns: the columns that ``comes`` selects.
        ends: the new ``valid_to`` of the rows that ``goes`` selects, which stay; None if they do not.
        upsert: the same for engines that update rows, so that columns that no new row has keep their values.
    """

    table: Table
    goes: str | None
    comes: str | None
    columns: tuple[str, ...]
    gone: tuple[str, str] | None = None
    ends: str | None = None
    upsert: Upsert | None = None


def plan_merge(
    chain: Chain, merge: Merge, relations: Relations, prefix: str
) -> tuple[Mapping[str, str], Sequence[Effect]]:
    """Return the changes to the existing tables of a chain: relations of keys to make, and effects.

    The relations are queries by names, which start with ``prefix``, in the order in which they are made. Effects are
    of the root first; their conditions are about the rows as they were before the first of them.
    """
    root = chain.root
    nested = [table for table in chain.nested if table.name in relations.old]
    effects = [_root_effect(root, merge, relations)]
    if merge.strategy in (Strategy.INSERT_ONLY, Strategy.SCD2):
        # Nested rows come whose keys are not there, whatever became of the rows that they are nested in.
        for table in nested:
            keyed = (row_key(table),)
            is_new = f"NOT EXISTS (SELECT 1 FROM {relations.old[table.name]} o WHERE {_same(keyed, relations)})"
            effects.append(_effect(table, relations, None, _first(table, keyed, relations.tie, relations, is_new)))
        return {}, effects
    links = {table.name: _link(table, root, relations) for table in nested}
    above = {parent for _, parent in links.values()}
    numbers = {table.name: number for number, table in enumerate((root, *nested))}
    keys: dict[str, str] = {}
    for table in (root, *nested):
        come = _come(root, merge, relations)
        if table is not root:
            link, parent = links[table.name]
            is_among = _is_among(f"n.{quote(link)}", f"{prefix}_come_{numbers[parent]}")
            come = _first(table, (row_key(table),), relations.tie, relations, is_among)
            gone = (link, f"{prefix}_gone_{numbers[parent]}")
            effects.append(replace(_effect(table, relations, _is_among(f"o.{quote(link)}", gone[1]), come), gone=gone))
        number = numbers[table.name]
        if table is root and effects[0].goes and not effects[0].upsert:
            effects[0] = replace(effects[0], gone=(row_key(root), f"{prefix}_gone_0"))
        elif table.name not in above:
            continue
        key, goes = quote(row_key(table)), effects[-1].goes or _NEVER
        query = f"SELECT o.{key} AS {quote(KEY)} FROM {relations.old[table.name]} o WHERE {goes}"
        if table is root and merge.strategy is Strategy.UPSERT:
            # A new row keeps the nested rows of the old one: its key is made of the primary key.
            query += f" UNION SELECT n.{key} FROM {relations.new[root.name]} n"
        keys[f"{prefix}_gone_{number}"] = query
        if table.name in above:
            keys[f"{prefix}_come_{number}"] = f"SELECT n.{key} AS {quote(KEY)} FROM {come} n"
    return keys, effects


def _root_effect(root: Table, merge: Merge, relations: Relations) -> Effect:
    old, new = relations.old[root.name], relations.new[root.name]
    match merge.strategy:
        case Strategy.DELETE_INSERT:
            sources = [new, *([relations.superseded] if relations.superseded else [])]
            keys = [key for key in (merge.primary_key, merge.merge_key) if key]
            conditions = [
                f"EXISTS (SELECT 1 FROM {source} n WHERE {_same(key, relations)})" for key in keys for source in sources
            ]
            return _effect(root, relations, " OR ".join(conditions) or None, _come(root, merge, relations))
        case Strategy.UPSERT:
            match, deleted = _same(merge.primary_key, relations), _is_deleted(merge)
            ranked = _ranked(root, merge, relations)
            # A row that asks to be deleted and matches no old row is added, as by dlt's statement.
            comes = f"({deleted}) IS NOT TRUE OR NOT EXISTS (SELECT 1 FROM {old} o WHERE {match})" if deleted else ""
            effect = _effect(root, relations, f"EXISTS (SELECT 1 FROM {new} n WHERE {match})", ranked, comes)
            return replace(effect, upsert=Upsert(ranked, match, deleted))
        case Strategy.INSERT_ONLY:
            is_new = f"NOT EXISTS (SELECT 1 FROM {old} o WHERE {_same(merge.primary_key, relations)})"
            return _effect(root, relations, None, _come(root, merge, relations), is_new)
        case Strategy.SCD2:
            return _history(root, merge, relations)


def _history(root: Table, merge: Merge, relations: Relations) -> Effect:
    """Rows that hold and whose versions do not come end; versions that come and do not hold begin."""
    assert merge.row_version and merge.valid_from and merge.valid_to  # noqa: PT018 - `merge_of` has seen to it
    until, version = merge.valid_to, _same((merge.row_version,), relations)
    began, ended = (_moment(merge.boundary, root.columns[name], relations) for name in (merge.valid_from, until))
    open_end = _moment(merge.active, root.columns[until], relations) if merge.active else None
    is_active = f"o.{quote(until)} = {open_end}" if open_end else f"o.{quote(until)} IS NULL"
    goes = f"{is_active} AND NOT EXISTS (SELECT 1 FROM {relations.new[root.name]} n WHERE {version})"
    if merge.merge_key:
        goes += f" AND EXISTS (SELECT 1 FROM {relations.new[root.name]} n WHERE {_same(merge.merge_key, relations)})"
    is_new = f"NOT EXISTS (SELECT 1 FROM {relations.old[root.name]} o WHERE {is_active} AND {version})"
    values = {merge.valid_from: began, until: open_end or "NULL"}
    return replace(_effect(root, relations, goes, relations.new[root.name], is_new, values), ends=ended)


def _effect(
    table: Table,
    relations: Relations,
    goes: str | None,
    source: str,
    where: str = "",
    changed_values: Mapping[str, str] | None = None,
) -> Effect:
    """Return an effect that adds the rows of a source, with changed values in some columns."""
    if table.name not in relations.new:
        return Effect(table, goes, None, ())
    changed_values = changed_values or {}
    columns = tuple(dict.fromkeys((*relations.columns[table.name], *changed_values)))
    values = ", ".join(f"{changed_values.get(name, f'n.{quote(name)}')} AS {quote(name)}" for name in columns)
    return Effect(table, goes, f"SELECT {values} FROM {source} n{f' WHERE {where}' if where else ''}", columns)


def _link(table: Table, root: Table, relations: Relations) -> tuple[str, str]:
    """Return the column that links a nested row to a row above it, and the table of that row."""
    root_key, parent_key = first(table, "root_key"), first(table, "parent_key")
    if root_key:
        return root_key, root.name
    if parent_key is None or table.parent is None or table.parent not in relations.old:
        raise DestinationError(
            f"table `{table.name}` cannot be merged: it has no key of the rows of `{root.name}`",
            hint="set `root_key_propagation: true` in the schema's `normalizers.json.config`",
        )
    return parent_key, table.parent


def _come(root: Table, merge: Merge, relations: Relations) -> str:
    """Return one new root row for each primary key, without rows that ask to be deleted."""
    ranked, deleted = _ranked(root, merge, relations), _is_deleted(merge)
    return f"(SELECT n.* FROM {ranked} n WHERE ({deleted}) IS NOT TRUE)" if deleted else ranked


def _ranked(root: Table, merge: Merge, relations: Relations) -> str:
    """Return the first new root row of each primary key by ``dedup_sort``, nulls last, then by the row key.

    Without a primary key, and if the data is declared to have no duplicates, all rows are returned.
    """
    if not merge.primary_key or merge.is_deduplicated:
        return relations.new[root.name]
    order = [f"n.{quote(row_key(root))}", relations.tie]
    if merge.dedup_sort:
        column, is_descending = merge.dedup_sort
        # Nulls last, which not every engine has words for.
        order[:0] = [f"n.{quote(column)} IS NULL", f"n.{quote(column)} {'DESC' if is_descending else 'ASC'}"]
    return _first(root, merge.primary_key, ", ".join(order), relations)


def _first(table: Table, key: Sequence[str], order: str, relations: Relations, where: str = "") -> str:
    """Return the first new row of each key by an order; no rows if no new rows come."""
    if table.name not in relations.new:
        return f"(SELECT o.* FROM {relations.old[table.name]} o WHERE {_NEVER})"
    parts = ", ".join(f"n.{quote(name)}" for name in key)
    rank = f"row_number() OVER (PARTITION BY {parts} ORDER BY {order}) AS {_RANK}"
    ranks = f"SELECT n.*, {rank} FROM {relations.new[table.name]} n{f' WHERE {where}' if where else ''}"
    return f"(SELECT * FROM ({ranks}) ranks WHERE {_RANK} = 1)"


def _is_among(value: str, keys: str) -> str:
    return f"{value} IN (SELECT {quote(KEY)} FROM {quote(keys)})"


def _is_deleted(merge: Merge) -> str | None:
    """Return the condition that a new row asks to be deleted: by any value except null, for booleans only by true."""
    if merge.hard_delete is None:
        return None
    return f"n.{quote(merge.hard_delete)} {'= TRUE' if merge.is_flag else 'IS NOT NULL'}"


def _same(names: Sequence[str], relations: Relations) -> str:
    return " AND ".join(f"n.{quote(name)} {relations.equality.get(name, '=')} o.{quote(name)}" for name in names)


def _moment(moment: datetime, column: Column, relations: Relations) -> str:
    if relations.moment is not None:
        return relations.moment(moment)
    text = (moment.replace(tzinfo=None) if column.is_naive else moment).isoformat(sep=" ")
    return f"CAST('{text}' AS {relations.column_type(column)})"
