"""Merges new rows into old rows of Spark's tables by ``destinations._merge``; no row goes through the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.destinations._load import Chain
from schemactl.destinations._merge import Relations, plan_merge
from schemactl.engine.spark.sql import quoted
from schemactl.schema.dispositions import Merge
from schemactl.schema.quoting import quote
from schemactl.schema.types import Table

_TIE: Final = "_schemactl_tie"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table: the stored rows, and the rows of a load; it has at least one kind.

    Attributes:
        superseded: rows that a load does not bring; old rows with their merge keys go all the same.
    """

    table: Table
    old: DataFrame | None
    new: DataFrame | None
    superseded: DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows of a table after a merge: all rows, or only the added rows if no old row goes."""

    rows: DataFrame
    overwrites: bool


def merge_tables(spark: SparkSession, family: Sequence[Rows], merge: Merge) -> Mapping[str, Merged]:
    """Return the changes to a root table and its nested tables, parents first; some may stay as they are.

    Rows have the columns of old and of new rows; missing values are null.
    """
    frames: dict[str, DataFrame] = {}
    columns: dict[str, list[str]] = {}
    for number, rows in enumerate(family):
        any_rows = rows.new if rows.old is None else rows.old
        assert any_rows is not None, rows.table.name
        old = any_rows.where("false") if rows.old is None else rows.old
        new = any_rows.where("false") if rows.new is None else rows.new
        old, new = _extended(old, new), _extended(new, old)
        columns[rows.table.name] = new.columns
        # Spark does not hash maps; texts of JSON distinguish them as well.
        values = {field.name: F.col(quoted(field.name)) for field in new.schema.fields}
        maps = [field.name for field in new.schema.fields if "map<" in field.dataType.simpleString()]
        values |= {name: F.to_json(F.struct(values[name])) for name in maps}
        content = F.xxhash64(*values.values())
        frames[f"_schemactl_old_{number}"], frames[f"_schemactl_new_{number}"] = old, new.withColumn(_TIE, content)
    if family[0].superseded is not None:
        frames["_schemactl_superseded"] = family[0].superseded
    relations = Relations(
        old={rows.table.name: quote(f"_schemactl_old_{number}") for number, rows in enumerate(family)},
        new={rows.table.name: quote(f"_schemactl_new_{number}") for number, rows in enumerate(family)},
        columns=columns,
        tie=f"n.{_TIE}",
        superseded=quote("_schemactl_superseded") if "_schemactl_superseded" in frames else None,
    )
    root, *nested = (rows.table for rows in family)
    keys, effects = plan_merge(Chain(root, tuple(nested), {}), merge, relations, "_schemactl_keys")
    for name, query in keys.items():
        frames[name] = _select(spark, query, frames)
    merged: dict[str, Merged] = {}
    for rows, effect in zip(family, effects, strict=True):
        parts = []
        overwrites = effect.goes is not None and rows.old is not None
        if overwrites:
            old_rows = f"SELECT o.* FROM {relations.old[rows.table.name]} o"
            parts.append(_select(spark, f"{old_rows} WHERE ({effect.goes}) IS NOT TRUE", frames))
            if effect.ends is not None and merge.valid_to is not None:
                ended = _select(spark, f"{old_rows} WHERE {effect.goes}", frames)
                moment = F.lit(merge.boundary).cast(ended.schema[merge.valid_to].dataType)
                parts.append(ended.withColumn(merge.valid_to, moment))
        if effect.comes is not None:
            parts.append(_select(spark, effect.comes, frames))
        if parts:
            merged[rows.table.name] = Merged(reduce(DataFrame.unionByName, parts), overwrites)
    return merged


def _select(spark: SparkSession, query: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of a query over frames by the names that they have in the SQL of ``destinations._merge``."""
    import sqlglot

    (written,) = sqlglot.transpile(query, read="postgres", write="spark")
    # Spark reads names in braces as frames.
    written = written.replace("{", "{{").replace("}", "}}")
    used: dict[str, Any] = {name: frame for name, frame in frames.items() if quoted(name) in written}
    for name in used:
        written = written.replace(quoted(name), f"{{{name}}}")
    return spark.sql(written, **used)


def _extended(frame: DataFrame, other: DataFrame) -> DataFrame:
    kinds, other_kinds = ({field.name: field.dataType for field in rows.schema.fields} for rows in (frame, other))
    if kinds.items() >= other_kinds.items():
        return frame
    # If one side has more fields in a struct, both sides get all fields.
    return frame.unionByName(other.where("false"), allowMissingColumns=True)


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
        for name, former in before.items():
            spark.conf.unset(name) if former is None else spark.conf.set(name, former)
