"""Merges new files of Parquet into those of a table's folder, as new files; the old ones stay untouched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from schemactl.engine.dispositions import Merge
from schemactl.engine.input import Input
from schemactl.engine.merge import merge_tables, rows_of
from schemactl.engine.session.running import running_session
from schemactl.schema.types import Table

FILE_BYTES: Final = 128 << 20
"""How much a file holds about, where a table takes several."""

_WRITER: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.timestampNanosTypes.enabled": "true",
}


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A table of a merge, in files; it has some, old or new.

    Attributes:
        table: with hints.
        old: the files that are there.
        new: what the load brings.
        target: the folder that the merged files are written to; it does not exist.
        superseded: rows that the load does not bring; old ones with their merge keys go all the same.
    """

    table: Table
    old: tuple[Path, ...]
    new: tuple[Path, ...]
    target: Path
    superseded: tuple[Path, ...] = ()


def rewrite_tables(family: Sequence[Rewrite], merge: Merge) -> None:
    """Write the files of merged tables, with the session that is open.

    Args:
        family: a root table and those nested in it, parents first.
        merge: how they are merged.

    Raises:
        DestinationError: Spark failed, or a table lacks a column that links its rows.
        EngineError: no session is open, and none can be opened.
    """
    with running_session() as spark, configured(spark):
        rows = [
            rows_of(each.table, _read(spark, each.old), _read(spark, each.new), _read(spark, each.superseded))
            for each in family
        ]
        merged = merge_tables(rows, merge)
        for each in family:
            size = sum(file.stat().st_size for file in (*each.old, *each.new))
            frame = merged[each.table.name].coalesce(1 + size // FILE_BYTES)
            frame.write.parquet(each.target.absolute().as_uri())


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


def _read(spark: SparkSession, files: Sequence[Path]) -> DataFrame | None:
    addresses = (Input(str(file), "parquet").address for file in files)
    return spark.read.option("mergeSchema", True).parquet(*addresses) if files else None
