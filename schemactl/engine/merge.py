"""Merges new rows into old ones as dlt does, on frames; what it needs to know of tables stands in ``dispositions``.

All rules are those of dlt's SQL jobs of 1.31. Everything is joins: no row goes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from schemactl.engine.sql import quoted
from schemactl.errors import DestinationError
from schemactl.schema.dispositions import Merge, Strategy, first, row_key
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class Rows:
    """A table's rows, those that are there and those that a load brings, with the same columns.

    Attributes:
        table: with hints.
        superseded: rows that a load does not bring; old ones with their merge keys go all the same.
    """

    table: Table
    old: DataFrame
    new: DataFrame
    superseded: DataFrame | None = None


def rows_of(table: Table, old: DataFrame | None, new: DataFrame | None, superseded: DataFrame | None = None) -> Rows:
    """Return rows under the columns of both; a column that one lacks is null there."""
    known = new if old is None else old
    if known is None:
        raise ValueError(f"`{table.name}` has no rows at all")
    old, new = (known.where("false") if old is None else old), (known.where("false") if new is None else new)
    return Rows(table, _extended(old, new), _extended(new, old), superseded)


def merge_tables(family: Sequence[Rows], merge: Merge) -> Mapping[str, DataFrame]:
    """Return the rows that tables hold afterwards.

    Args:
        family: a root table and those nested in it, parents first.
        merge: how.

    Raises:
        DestinationError: a table lacks a column that links its rows.
    """
    match merge.strategy:
        case Strategy.DELETE_INSERT:
            return _delete_insert(family, merge)
        case Strategy.UPSERT:
            return _upsert(family, merge)
        case Strategy.INSERT_ONLY:
            return _insert_only(family, merge)
        case Strategy.SCD2:
            return _keep_history(family, merge)


def _delete_insert(family: Sequence[Rows], merge: Merge) -> Mapping[str, DataFrame]:
    root, *nested = family
    keys = [key for key in (merge.primary_key, merge.merge_key) if key]
    kept, found = root.old, root.old.where("false")
    for key in keys:
        named = _named_by(root, key)
        found = found.unionByName(_with(kept, named, key))
        kept = _without(kept, named, key)
    new = _unmarked(_deduplicated(root, merge), merge)
    merged = {root.table.name: kept.unionByName(new)}
    gone, come = {root.table.name: found}, {root.table.name: new}
    for rows in nested:
        link, above = _link(rows, family)
        deleted, brought = gone[above.name], come[above.name]
        gone[rows.table.name] = _with(rows.old, deleted, (link,), (row_key(above),))
        rest = _without(rows.old, deleted, (link,), (row_key(above),))
        mine = _with(rows.new, brought, (link,), (row_key(above),))
        come[rows.table.name] = _one_of_each(mine, (row_key(rows.table),))
        merged[rows.table.name] = rest.unionByName(come[rows.table.name])
    return merged


def _named_by(root: Rows, key: Sequence[str]) -> DataFrame:
    """Return the values of a key whose old rows go."""
    columns = [_col(name) for name in key]
    named = root.new.select(*columns)
    return named if root.superseded is None else named.unionByName(root.superseded.select(*columns))


def _upsert(family: Sequence[Rows], merge: Merge) -> Mapping[str, DataFrame]:
    root, *nested = family
    key, row = merge.primary_key, row_key(root.table)
    new = _deduplicated(root, merge)
    # A row that is marked goes where there is one to delete; else it is put in, as dlt's statement has it.
    put = _unmarked(new, merge).unionByName(_without(_marked(new, merge), root.old, key))
    merged = {root.table.name: _without(root.old, new, key).unionByName(put)}
    # Below, rows are identified by the key of their root row, which is made of the primary key and so stays.
    touched = root.new.select(_col(row)).unionByName(_with(root.old, new, key).select(_col(row)))
    gone, come = {root.table.name: touched}, {root.table.name: _unmarked(new, merge)}
    for rows in nested:
        link, above = _link(rows, family)
        own = row_key(rows.table)
        gone[rows.table.name] = _with(rows.old, gone[above.name], (link,), (row_key(above),))
        rest = _without(rows.old, gone[above.name], (link,), (row_key(above),))
        mine = _with(rows.new, come[above.name], (link,), (row_key(above),))
        come[rows.table.name] = _one_of_each(mine, (own,))
        merged[rows.table.name] = _without(rest, rows.new, (own,)).unionByName(come[rows.table.name])
    return merged


def _insert_only(family: Sequence[Rows], merge: Merge) -> Mapping[str, DataFrame]:
    root, *nested = family
    new = _without(_unmarked(_deduplicated(root, merge), merge), root.old, merge.primary_key)
    merged = {root.table.name: root.old.unionByName(new)}
    for rows in nested:
        own = (row_key(rows.table),)
        merged[rows.table.name] = rows.old.unionByName(_one_of_each(_without(rows.new, rows.old, own), own))
    return merged


def _keep_history(family: Sequence[Rows], merge: Merge) -> Mapping[str, DataFrame]:
    root, *nested = family
    assert merge.row_version and merge.valid_from and merge.valid_to  # noqa: PT018 - `merge_of` has seen to it
    since, until, version = merge.valid_from, merge.valid_to, (merge.row_version,)
    kinds = {field.name: field.dataType for field in root.new.schema.fields}
    boundary, open_end = F.lit(merge.boundary), F.lit(merge.active).cast(kinds[until])
    is_active = _col(until).isNull() if merge.active is None else _col(until) == open_end
    active, retired = root.old.where(is_active), root.old.where(~F.coalesce(is_active, F.lit(False)))
    absent = _without(active, root.new, version)
    if merge.merge_key:
        absent, outside = (
            _with(absent, root.new, merge.merge_key),
            _without(absent, root.new, merge.merge_key),
        )
        retired = retired.unionByName(outside)
    ended = absent.withColumn(until, boundary.cast(kinds[until]))
    new = _without(root.new, active, version)
    begun = new.withColumn(since, boundary.cast(kinds[since])).withColumn(until, open_end)
    kept = retired.unionByName(_with(active, root.new, version)).unionByName(ended)
    merged = {root.table.name: kept.unionByName(begun)}
    for rows in nested:
        own = (row_key(rows.table),)
        merged[rows.table.name] = rows.old.unionByName(_one_of_each(_without(rows.new, rows.old, own), own))
    return merged


def _link(rows: Rows, family: Sequence[Rows]) -> tuple[str, Table]:
    """Return the column that says which row above a nested row belongs to, and the table of that row."""
    tables = {each.table.name: each.table for each in family}
    root, parent = first(rows.table, "root_key"), first(rows.table, "parent_key")
    if root:
        return root, family[0].table
    if parent and rows.table.parent in tables:
        return parent, tables[rows.table.parent]
    raise DestinationError(
        f"the rows of `{rows.table.name}` cannot be merged: no column links them to those above",
        hint="it needs a column with `root_key: true` or `parent_key: true`",
    )


def _deduplicated(root: Rows, merge: Merge) -> DataFrame:
    if not merge.primary_key or merge.is_deduplicated:
        return root.new
    order = [_col(row_key(root.table))]
    if merge.dedup_sort:
        column, is_descending = merge.dedup_sort
        order.insert(0, (F.desc_nulls_last if is_descending else F.asc_nulls_last)(quoted(column)))
    return _one_of_each(root.new, merge.primary_key, order)


def _one_of_each(frame: DataFrame, key: Sequence[str], order: Sequence[Column] = ()) -> DataFrame:
    """Return one row for each value of a key: the first by the order; where that leaves several, always the same."""
    content = F.xxhash64(*(_hashable(frame, name) for name in frame.columns))
    window = Window.partitionBy(*(_col(name) for name in key)).orderBy(*order, content)
    return frame.withColumn(_RANK, F.row_number().over(window)).where(F.col(_RANK) == 1).drop(_RANK)


_RANK = "__schemactl_rank"


def _hashable(frame: DataFrame, name: str) -> Column:
    """Return a column as Spark hashes it, which it does not with maps; texts of JSON distinguish these as well."""
    has_maps = "map<" in frame.schema[name].dataType.simpleString()
    return F.to_json(F.struct(_col(name))) if has_maps else _col(name)


def _marked(frame: DataFrame, merge: Merge) -> DataFrame:
    return frame.where("false") if merge.hard_delete is None else frame.where(_is_marked(merge))


def _unmarked(frame: DataFrame, merge: Merge) -> DataFrame:
    return frame if merge.hard_delete is None else frame.where(~_is_marked(merge))


def _is_marked(merge: Merge) -> Column:
    mark = _col(merge.hard_delete or "")
    return F.coalesce(mark, F.lit(False)) if merge.is_flag else mark.isNotNull()


def _with(frame: DataFrame, other: DataFrame, key: Sequence[str], others: Sequence[str] | None = None) -> DataFrame:
    """Return the rows whose key another frame has too; a null is equal to nothing."""
    return frame.join(*_keys(other, key, others), "left_semi")


def _without(frame: DataFrame, other: DataFrame, key: Sequence[str], others: Sequence[str] | None = None) -> DataFrame:
    return frame.join(*_keys(other, key, others), "left_anti")


def _keys(other: DataFrame, key: Sequence[str], others: Sequence[str] | None) -> tuple[DataFrame, Column]:
    """Return the other frame's keys under names of their own, and the condition for a join with them."""
    names = [f"__schemactl_key{at}" for at, _ in enumerate(key)]
    keys = other.select(*(_col(name).alias(alias) for name, alias in zip(others or key, names, strict=True)))
    return keys, reduce(and_, (_col(name) == F.col(alias) for name, alias in zip(key, names, strict=True)))


def _extended(frame: DataFrame, other: DataFrame) -> DataFrame:
    if {field.name: field.dataType for field in frame.schema.fields}.items() >= {
        field.name: field.dataType for field in other.schema.fields
    }.items():
        return frame
    # Structs that one of them has more fields of get all of them in both.
    return frame.unionByName(other.where("false"), allowMissingColumns=True)


def _col(name: str) -> Column:
    return F.col(quoted(name))


_WRITER: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.timestampNanosTypes.enabled": "true",
}


@contextmanager
def configured(spark: SparkSession) -> Iterator[None]:
    """Let Spark write times and timestamps as other readers of Parquet know them, for the time of a block."""
    before = {name: spark.conf.get(name, None) for name in _WRITER}
    for name, value in _WRITER.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, stated in before.items():
            spark.conf.unset(name) if stated is None else spark.conf.set(name, stated)
