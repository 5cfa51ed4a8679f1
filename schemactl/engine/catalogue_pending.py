"""Loads into a Spark catalog that are certain: a table beside the others holds their steps until all are taken.

Each step can be taken again, by the next load where one was killed: rows are appended unless their key is there, tables
are overwritten, or the new one takes the old one's name. ``catalogue_load`` makes the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from schemactl.engine.catalogue import SESSION_CATALOGUE, HeldTable, Namespace, Tables, held_tables, select, take_place
from schemactl.engine.sql import quoted
from schemactl.errors import DestinationError

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
class Target:
    """Where a load goes, and what is there."""

    spark: SparkSession
    namespace: Namespace
    held: Mapping[str, HeldTable] = field(default_factory=dict)


def read_pending(target: Target) -> Pending | None:
    """Return the load that a killed command left certain, None where there is none."""
    tables = [target.namespace.table(name) for name in target.held if name.startswith(PENDING)]
    rows = [row for table in tables for row in select(target.spark, f"SELECT load FROM {table}")]
    if not rows:
        return None  # none, or killed as it was made
    load = json.loads(rows[0]["load"])
    return Pending(load["load_id"], load["schema_name"], tuple(Step(**step) for step in load["steps"]))


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


def commit(target: Target, pending: Pending) -> None:
    """Make a staged load certain, and carry it out."""
    frame = target.spark.createDataFrame([(json.dumps(asdict(pending)),)], "load string")
    create_table(target, PENDING, frame)
    carry_out(refreshed(target), pending)


def _check_whole(target: Target, pending: Pending) -> None:
    """Find out whether the steps of a load can be taken before the first one is.

    Raises:
        DestinationError: one of its tables is gone.
    """
    needed = [step.source for step in pending.steps if step.source is not None and not step.takes_place]
    needed += [step.table for step in pending.steps if step.source is not None and not step.takes_place]
    gone = [name for name in needed if name not in target.held]
    if gone:
        raise DestinationError(
            f"load `{pending.load_id}` into {target.namespace} broke off, and its table `{gone[0]}` is gone",
            hint=f"another load may have been under way; drop `{PENDING}` to give it up, then load again",
        )


def carry_out(target: Target, pending: Pending) -> None:
    """Take the steps of a load that is certain, those again that were taken before."""
    _check_whole(target, pending)
    for step in pending.steps:
        _take(target, step)
    # First what makes it certain: without it, what is left of the load is nothing.
    _drop(target, PENDING)
    forget(refreshed(target))


def forget(target: Target) -> None:
    """Drop the tables of a load that is not certain, or done."""
    for head in (PENDING, NEW):
        _drop(target, head)


def _drop(target: Target, head: str) -> None:
    for name in target.held:
        if name.startswith(head):
            target.spark.sql(f"DROP TABLE IF EXISTS {target.namespace.table(name)}")


def place_of(target: Target) -> tuple[str, ...]:
    """Return what distinguishes a schema from those of other catalogs with its name."""
    settings = ("spark.sql.warehouse.dir", "spark.hadoop.hive.metastore.uris")
    return (str(target.namespace), *(str(target.spark.conf.get(name, "")) for name in settings))


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


def create_table(target: Target, name: str, frame: DataFrame) -> str:
    """Make a table of a frame; one of this name that a killed load left is gone by then.

    In Spark's own catalog the table is there before its files are: were it killed else, these would be in the way of
    each load that follows, and no statement of SQL would remove them.

    Returns:
        The table's name: another one where files that belong to no table have this one.
    """
    if target.namespace.catalogue != SESSION_CATALOGUE:
        frame.write.mode("errorifexists").saveAsTable(target.namespace.table(name))
        return name
    made = next(each for each in _numbered(name) if _create_empty(target, each, frame))
    frame.write.insertInto(target.namespace.table(made))
    return made


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _create_empty(target: Target, name: str, frame: DataFrame) -> bool:
    """Make a table without rows; return whether there was room for its files."""
    try:
        target.spark.catalog.createTable(target.namespace.table(name), source="parquet", schema=frame.schema)
    except PySparkException as error:
        if error.getCondition() != "LOCATION_ALREADY_EXISTS":
            raise
        return False
    return True
