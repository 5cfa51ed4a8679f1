"""Loads Parquet into tables of a Spark catalogue, which commits each table on its own.

So a load first puts everything that it will write into tables of its own in the same schema (``_schemactl_new_…``),
the rows to be appended, or all rows that a table will hold. Then one table more, ``_schemactl_pending``, tells the
steps: from then on the load is certain. Each step can be taken again: rows are appended unless their key is there,
tables are overwritten, or the new one takes the old one's name, where the rows have fields that the old one cannot
hold. What is left of a load that was killed before is dropped, after it is carried out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.catalogue import (
    SESSION_CATALOGUE,
    HeldTable,
    Namespace,
    column_type,
    held_tables,
    quoted,
    select,
)
from schemactl.engine.catalogue_copy import fill_copy, take_place
from schemactl.engine.catalogue_growth import Structures, added_fields, as_grown, grown_schema, grows
from schemactl.engine.catalogue_tables import Tables
from schemactl.engine.dispositions import Merge, complete
from schemactl.engine.input import Input
from schemactl.engine.merge import merge_tables, rows_of
from schemactl.schema.nested_ddl import read_type
from schemactl.schema.types import Table

PENDING: Final = "_schemactl_pending"
NEW: Final = "_schemactl_new_"


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to one table.

    Attributes:
        source: the table that holds the rows; None to empty the table.
        overwrites: the rows are all that the table holds afterwards.
        key: the column by which rows are not appended twice; all columns where it is None.
        takes_place: the table that holds the rows takes the other one's place, and its name.
    """

    table: str
    source: str | None
    overwrites: bool = False
    key: str | None = None
    takes_place: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """A load that is certain.

    Attributes:
        steps: in their order, the tables in which loads are kept last.
    """

    load_id: str
    schema_name: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Brought:
    """A table of a load.

    Attributes:
        files: new rows; none where the table is emptied, or is merged with others that have some.
        key: the column that tells the rows; None where all columns do.
        overwrites: the old rows go.
        structures: what columns of structs, lists and maps hold afterwards, in the tables that are there.
        superseded: files of rows that do not come; in a merge, old rows with their merge keys go all the same.
    """

    table: Table
    files: tuple[Path, ...]
    key: str | None = None
    overwrites: bool = False
    structures: Structures = field(default_factory=dict)
    superseded: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """Where a load goes, and what is there."""

    spark: SparkSession
    namespace: Namespace
    held: Mapping[str, HeldTable] = field(default_factory=dict)


def read_pending(target: Target) -> Pending | None:
    """Return the load that a killed command left certain, None where there is none."""
    if PENDING not in target.held:
        return None
    rows = select(target.spark, f"SELECT load FROM {target.namespace.table(PENDING)}")
    if not rows:
        return None  # killed as it was made
    told = json.loads(rows[0]["load"])
    return Pending(told["load_id"], told["schema_name"], tuple(Step(**step) for step in told["steps"]))


def recover(target: Target) -> Target:
    """Finish or forget what a killed load has left; return what is there then."""
    pending = read_pending(target)
    if pending is not None:
        carry_out(target, pending)
    else:
        forget(target)
    return refreshed(target)


def refreshed(target: Target) -> Target:
    """Return a target with what is there now."""
    return Target(target.spark, target.namespace, held_tables(target.spark, target.namespace))


def prepare(target: Target, tables: Sequence[Table], structures: Mapping[str, Structures]) -> Target:
    """Make the schema, the tables, the columns and, where a statement can, the fields that are missing.

    Args:
        target: where the load goes.
        tables: of the load.
        structures: what their columns of structs, lists and maps are to hold, by table.

    Returns:
        The target with what is there then.
    """
    target.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {target.namespace}")
    for table in tables:
        held = target.held.get(table.name)
        columns = [each for each in complete(table) if held is None or each.name not in held.columns]
        listed = [f"{quoted(each.name)} {column_type(each)}" for each in columns]
        name = target.namespace.table(table.name)
        if held is None:
            target.spark.sql(f"CREATE TABLE {name} ({', '.join(listed)}){_using(target)}")
            continue
        if not grows_by_copy(target.namespace):
            listed += _new_fields(held, structures.get(table.name, {}))
        if listed:
            target.spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(listed)})")
    return refreshed(target)


def grows_by_copy(namespace: Namespace) -> bool:
    """Return whether tables get new fields inside their columns by a copy; other catalogues have a statement."""
    return namespace.catalogue == SESSION_CATALOGUE


def _new_fields(held: HeldTable, structures: Structures) -> list[str]:
    return [
        each
        for name, of in structures.items()
        if name in held.columns
        for each in added_fields(name, read_type(held.columns[name]), of)
    ]


def stage(target: Target, brought: Sequence[Brought], merge: Merge | None) -> tuple[Step, ...]:
    """Put the rows of tables that belong together beside the tables, and return the steps that bring them in."""
    new = {each.table.name: _rows_in(target, each, each.files) for each in brought}
    if merge is not None:
        family = [
            rows_of(
                each.table,
                _old_rows(target, each),
                new[each.table.name],
                _rows_in(target, each, each.superseded),
            )
            for each in brought
        ]
        frames: Mapping[str, DataFrame | None] = merge_tables(family, merge)
    else:
        frames = new
    return tuple(
        _staged(target, each, frames[each.table.name], overwrites=each.overwrites or merge is not None)
        for each in brought
    )


def _staged(target: Target, each: Brought, frame: DataFrame | None, *, overwrites: bool) -> Step:
    name = each.table.name
    if frame is None:
        return Step(name, None, overwrites=True)
    old = _old_rows(target, each)
    takes_place = name in target.held and grows(target.held[name].columns, each.structures)
    if not overwrites and old is not None and (takes_place or _shares_key(frame, old, each.key)):
        # Rows are not told from those that an earlier step of this load has appended: all are written anew.
        frame, overwrites = old.unionByName(frame, allowMissingColumns=True), True
    if takes_place:
        _create_grown(target, each, frame)
    else:
        _create(target, f"{NEW}{name}", frame)
    return Step(name, f"{NEW}{name}", overwrites, each.key, takes_place)


def _create_grown(target: Target, each: Brought, frame: DataFrame) -> None:
    """Make a table like the one that is there, of rows with more fields inside its columns."""
    name = each.table.name
    there = target.spark.table(target.namespace.table(name)).schema
    kinds = grown_schema(there, each.structures)
    values = [
        F.col(quoted(field.name)) if field.name in frame.columns else F.lit(None).cast(field.dataType)
        for field in kinds.fields
    ]
    named = [value.alias(field.name) for value, field in zip(values, kinds.fields, strict=True)]
    fill_copy(Tables(target.spark, target.namespace), name, f"{NEW}{name}", kinds, frame.select(*named))


def _shares_key(frame: DataFrame, other: DataFrame, key: str | None) -> bool:
    names = [key] if key else frame.columns
    keys = [F.col(quoted(name)) for name in names]
    return bool(frame.select(*keys).intersect(other.select(*keys)).take(1))


def stage_rows(target: Target, table: Table, rows: Sequence[Mapping[str, Any]]) -> Step:
    """Put rows of ours beside one of the tables in which loads are kept."""
    from schemactl.engine.coercions.stored import stored_type

    columns = complete(table)
    kinds = ", ".join(f"{quoted(each.name)} {stored_type(each).simpleString()}" for each in columns)
    frame = target.spark.createDataFrame([tuple(row[each.name] for each in columns) for row in rows], kinds)
    _create(target, f"{NEW}{table.name}", frame)
    return Step(table.name, f"{NEW}{table.name}")


def commit(target: Target, pending: Pending) -> None:
    """Make a staged load certain, and carry it out."""
    frame = target.spark.createDataFrame([(json.dumps(asdict(pending)),)], "load string")
    _create(target, PENDING, frame)
    carry_out(refreshed(target), pending)


def carry_out(target: Target, pending: Pending) -> None:
    """Take the steps of a load that is certain, those again that were taken before."""
    for step in pending.steps:
        _take(target, step)
    target.spark.sql(f"DROP TABLE IF EXISTS {target.namespace.table(PENDING)}")
    forget(refreshed(target))


def forget(target: Target) -> None:
    """Drop the tables of a load that is not certain, or done."""
    for name in target.held:
        if name.startswith(NEW) or name == PENDING:
            target.spark.sql(f"DROP TABLE IF EXISTS {target.namespace.table(name)}")


def _take(target: Target, step: Step) -> None:
    spark, table = target.spark, target.namespace.table(step.table)
    if step.takes_place and step.source is not None:
        if step.source in target.held:  # else it has done so already
            take_place(Tables(spark, target.namespace), step.table, step.source)
        return
    if step.source is None:
        if step.table in target.held:
            spark.sql(f"TRUNCATE TABLE {table}")
        return
    source = target.namespace.table(step.source)
    columns = list(target.held[step.source].columns)
    listed = ", ".join(quoted(name) for name in columns)
    if step.overwrites:
        nulls = [name for name in target.held[step.table].columns if name not in columns]
        wanted = ", ".join([listed, *(f"NULL AS {quoted(name)}" for name in nulls)])
        spark.sql(f"INSERT OVERWRITE TABLE {table} BY NAME SELECT {wanted} FROM {source}")
        return
    key = [step.key] if step.key else columns
    same = " AND ".join(f"n.{quoted(name)} <=> t.{quoted(name)}" for name in key)
    spark.sql(
        f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {source} n "
        f"WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {same})"
    )


def _create(target: Target, name: str, frame: DataFrame) -> None:
    """Make a table of a frame; one of this name that a killed load left is gone by then."""
    writer = frame.write.mode("errorifexists")
    if target.namespace.catalogue == SESSION_CATALOGUE:
        writer = writer.format("parquet")
    writer.saveAsTable(target.namespace.table(name))


def _using(target: Target) -> str:
    return " USING parquet" if target.namespace.catalogue == SESSION_CATALOGUE else ""


def _old_rows(target: Target, each: Brought) -> DataFrame | None:
    if each.table.name not in target.held:
        return None
    return as_grown(target.spark.table(target.namespace.table(each.table.name)), each.structures)


def _rows_in(target: Target, each: Brought, files: Sequence[Path]) -> DataFrame | None:
    if not files:
        return None
    addresses = (Input(str(file), "parquet").address for file in files)
    return as_grown(target.spark.read.parquet(*addresses), each.structures)
