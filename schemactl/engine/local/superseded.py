"""Finds rows that another row with the same primary key supersedes, as in Spark (``spark.engine``)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
import pyarrow.types as is_a

from schemactl.engine.protocol import RowPlaces
from schemactl.schema.dispositions import dedup_sort, named

_ASCENDING: Final = "ascending"


def write_superseded(places: RowPlaces, target: Path) -> bool:
    """Write which rows are superseded; return whether any is (``protocol.Engine.write_superseded``)."""
    rows = _read_places(places)
    columns = list(places.columns)
    levels = [name for name in rows.column_names if name.startswith("index") and name != "indexes"]
    sort_keys = [(name, _ASCENDING) for name in ("file", "line", *levels, "list")]
    if (sort := dedup_sort(places.table)) is not None:
        column, is_descending = sort
        rows, keys = _with_sort_column(rows, f"c{columns.index(column)}", is_descending)
        sort_keys = [*keys, *sort_keys]
    rows = rows.take(pc.sort_indices(rows, sort_keys))
    rows = rows.append_column("rank", pa.array(np.arange(len(rows))))
    key_names = [f"c{columns.index(name)}" for name in named(places.table, "primary_key")]
    keys = pa.table({name: _groupable(rows.column(name)) for name in key_names} | {"rank": rows.column("rank")})
    firsts = keys.group_by(key_names).aggregate([("rank", "min")]).column("rank_min")
    superseded = rows.filter(pc.invert(pc.is_in(rows.column("rank"), value_set=firsts.combine_chunks())))
    target.mkdir(parents=True)
    pq.write_table(superseded.select(["part", "ordinal"]), target / "part-00000.parquet")
    return bool(len(superseded))


def _read_places(places: RowPlaces) -> pa.Table:
    """Return the places of all rows, with the number of their partition."""
    system, path = pyarrow.fs.FileSystem.from_uri(places.folder)
    tables = []
    for number, file in places.files.items():
        table = pq.read_table(f"{path}/{file}", filesystem=system, partitioning=None)
        tables.append(table.append_column("part", pa.repeat(pa.scalar(number, pa.int64()), len(table))))
    rows = pa.concat_tables(tables).combine_chunks()
    # A column for each level of `indexes`; a list that is shorter comes first.
    lists = rows.column("indexes").combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    for level in range(pc.max(lengths).as_py() or 0):
        elements = [-1 if indexes is None or len(indexes) <= level else indexes[level] for indexes in lists.to_pylist()]
        rows = rows.append_column(f"index{level}", pa.array(elements, pa.int64()))
    return rows


def _with_sort_column(rows: pa.Table, name: str, is_descending: bool) -> tuple[pa.Table, list[tuple[str, str]]]:
    """Return rows with columns to sort by the values of one, nulls last, and the keys to sort by them."""
    order = "descending" if is_descending else _ASCENDING
    values = rows.column(name)
    rows = rows.append_column("is_null", pc.is_null(values))
    keys = [("is_null", _ASCENDING)]
    if is_a.is_floating(values.type):
        # Spark: NaN is the largest number.
        rows = rows.append_column("is_nan", pc.fill_null(pc.is_nan(values), False))
        keys.append(("is_nan", order))
    rows = rows.append_column("sorted", values.cast(pa.int8()) if is_a.is_boolean(values.type) else values)
    return rows, [*keys, ("sorted", order)]


def _groupable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values that are equal if Spark considers them equal: NaN is NaN, -0.0 is 0.0."""
    if is_a.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))
        return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
    return values
