"""Which of several rows with one primary key a merge keeps: chosen once, before a destination gets any of them.

It is the first in the input, files by path, or the first by ``dedup_sort`` and among equals the first in the input.
The others are *superseded*: neither they are loaded nor what is nested in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

from schemactl.engine.dispositions import complete, dedup_sort, keeps_one_of_each, named
from schemactl.engine.outcome import columns_of, unrefused
from schemactl.engine.rows import RowFrame
from schemactl.engine.sql import quoted
from schemactl.normalization.plan import Plan
from schemactl.schema.types import Table

SUPERSEDED_FLAG: Final = "#superseded"
"""A column of marked frames: whether a row, or the root row that it is nested in, is superseded."""

_PATH: Final = "#path"
"""Which of the lists that make rows of one table a row stands in; a number."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """The superseded rows of a load.

    Attributes:
        places: of root rows, by table; tables without superseded rows are left out.
        paths: by table, where in documents its rows are made.
    """

    places: Mapping[str, DataFrame] = field(default_factory=dict)
    paths: Mapping[str, Sequence[tuple[object, ...]]] = field(default_factory=dict)

    def mark(self, rows: RowFrame) -> RowFrame:
        """Add ``SUPERSEDED_FLAG`` to rows of which some may be superseded; others are returned as they are."""
        level = _root_level(rows)
        root = rows.chain[level]
        if root.table not in self.places:
            return rows
        names = _place_names(level)
        path = self.paths[root.table].index(root.path)
        places = self.places[root.table].where(F.col(quoted(_PATH)) == path)
        keys = [F.col(quoted(f"#{name}")).alias(f"#of {name}") for name in names]
        found = places.select(*keys, F.lit(True).alias(SUPERSEDED_FLAG))
        same = reduce(and_, (F.col(name) == F.col(quoted(f"#of {name}")) for name in names))
        flag = F.coalesce(F.col(quoted(SUPERSEDED_FLAG)), F.lit(False)).alias(SUPERSEDED_FLAG)
        joined = rows.frame.join(found, same, "left")
        return replace(rows, frame=joined.select(*(F.col(quoted(each)) for each in rows.frame.columns), flag))


def find_superseded(
    spark: SparkSession, frames: Mapping[str, Sequence[RowFrame]], plan: Plan, load_id: str, folder: Path
) -> Superseded:
    """Return the rows that give way to others with the same primary key, where their table's merge has such rows.

    Args:
        spark: a session.
        frames: the rows of all tables.
        plan: of the load.
        load_id: of the load.
        folder: one of its own, which Spark's workers can write to; it must last as long as what is returned.
    """
    places: dict[str, DataFrame] = {}
    paths: dict[str, Sequence[tuple[object, ...]]] = {}
    for at, (name, table) in enumerate(plan.tables.items()):
        if name not in frames or not keeps_one_of_each(table):
            continue
        paths[name] = list(dict.fromkeys(each.rows.path for each in frames[name]))
        address, observation = (folder / str(at)).as_uri(), Observation()
        found = _places(frames[name], paths[name], table, plan, load_id)
        found.observe(observation, F.count("*").alias("rows")).write.parquet(address)
        if observation.get["rows"]:
            places[name] = spark.read.parquet(address)
    return Superseded(places, paths)


def _places(
    frames: Sequence[RowFrame], paths: Sequence[tuple[object, ...]], table: Table, plan: Plan, load_id: str
) -> DataFrame:
    """Return the places of a table's superseded rows; rows that a contract refuses supersede nothing."""
    names = _place_names(max(each.level for each in frames))
    parts = [_candidates(each, paths.index(each.rows.path), names, table, plan, load_id) for each in frames]
    rows = reduce(DataFrame.unionAll, parts)
    key = [_comparable(rows, name) for name in named(table, "primary_key")]
    order = [*_sorted(table), *(F.col(quoted(each)) for each in (*(f"#{name}" for name in names), _PATH))]
    rank = F.row_number().over(Window.partitionBy(*key).orderBy(*order)).alias("#rank")
    place = [F.col(quoted(each)) for each in (_PATH, *(f"#{name}" for name in names))]
    return rows.select(*place, rank).where("`#rank` > 1").drop("#rank")


def _candidates(rows: RowFrame, path: int, names: Sequence[str], table: Table, plan: Plan, load_id: str) -> DataFrame:
    """Return the values that tell and order the rows, and their places."""
    sql = dict(zip((each.name for each in complete(table)), columns_of(rows, table, plan, load_id), strict=True))
    sort = dedup_sort(table)
    needed = dict.fromkeys((*named(table, "primary_key"), *((sort[0],) if sort else ())))
    own = _place_names(rows.level)
    place = [f"{name if name in own else 'cast(null as int)'} as {quoted(f'#{name}')}" for name in names]
    return unrefused(rows, (*(sql[each] for each in needed), f"{path} as {quoted(_PATH)}", *place))


def _sorted(table: Table) -> list[Column]:
    stated = dedup_sort(table)
    if stated is None:
        return []
    column, is_descending = stated
    return [(F.desc_nulls_last if is_descending else F.asc_nulls_last)(quoted(column))]


def _comparable(frame: DataFrame, name: str) -> Column:
    """Return a column as rows can be grouped by it, which Spark does not do by maps."""
    kind = frame.schema[name].dataType.simpleString()
    return F.to_json(F.struct(quoted(name))) if "map<" in kind or "variant" in kind else F.col(quoted(name))


def _root_level(rows: RowFrame) -> int:
    """Return the level of the root row that rows are nested in; a root table may be made of lists, too."""
    return max(level for level, each in enumerate(rows.chain) if each.parent is None)


def _place_names(level: int) -> tuple[str, ...]:
    return ("file", "number", *(f"i{at}" for at in range(1, level + 1)))
