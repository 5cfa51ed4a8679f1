"""The engine of data pipelines: Spark distributes partitions over its workers, which run the kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from schemactl.engine.input import Input, compression_of
from schemactl.engine.input_formats import SPARK_FORMATS
from schemactl.engine.inputs import by_format
from schemactl.engine.protocol import Batch, Engine, Records, RowPlaces
from schemactl.engine.spark import session
from schemactl.engine.spark.batches import Documents, FileRows, TextRows
from schemactl.engine.spark.reading.files import file_documents
from schemactl.engine.spark.reading.rows import rows_as_documents
from schemactl.engine.spark.session import SparkOptions, reading
from schemactl.engine.spark.shipping import run_kernel, shares_this_machine
from schemactl.errors import InputError, Location
from schemactl.progress import Progress
from schemactl.schema.dispositions import dedup_sort, named

_MOST_TASKS: Final = 64

_SMALL_BYTES: Final = 1 << 25
"""The bytes that the kernel reads in a second or two, which it takes to start Spark's Python workers."""


@contextmanager
def open_spark_engine(options: SparkOptions, progress: Progress) -> Iterator[Engine]:
    """Start Spark, and end it at the end of the block."""
    progress("starting Spark", None)
    with session.open_session(options, progress) as spark:
        yield SparkEngine(spark)


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """A Spark session as an engine (``engine.protocol.Engine``)."""

    spark: SparkSession
    session_origin: str = ""
    name: str = "spark"

    def read(self, inputs: Sequence[Input], null_values: Sequence[str] = ()) -> list[Batch]:
        batches: list[Batch] = []
        for name, group in by_format(inputs).items():
            if name not in SPARK_FORMATS:
                message = f"Spark does not read files of the format `{name}`"
                hint = "read it on this machine: `--engine local`"
                raise InputError(message, at=Location(group[0].path), hint=hint)
            batches += SPARK_FORMATS[name].read(self.spark, group)
        is_small = shares_this_machine(self.spark) and _are_small(inputs)
        return [self._prepared(batch, null_values, is_small) for batch in batches]

    def _prepared(self, batch: Batch, null_values: Sequence[str], is_small: bool) -> Batch:
        if not isinstance(batch, Documents):
            return batch
        match batch.rows:
            case FileRows(layout=layout) as rows if null_values:
                read = file_documents(self.spark, rows.with_layout(replace(layout, null_values=tuple(null_values))))
            case TextRows(frame=frame, cells=cells, fault=fault) if null_values:
                read = rows_as_documents(frame, cells, fault, null_values)
            case _:
                read = batch
        return replace(read, gaps=batch.gaps, is_small=is_small)

    def run(self, records: Records, module: str, function: str, /, **arguments: Any) -> list[Any]:
        return run_kernel(self.spark, records, module, function, **arguments)

    def distribute(self, texts: Sequence[str]) -> Records:
        frame = self.spark.createDataFrame(pa.table({"part": list(texts)}))
        return frame.repartition(min(len(texts), _MOST_TASKS))

    def explaining(self, inputs: Sequence[Input]) -> AbstractContextManager[None]:
        return reading(inputs)

    def write_superseded(self, places: RowPlaces, target: Path) -> bool:
        addresses = {number: f"{places.folder}/{file}" for number, file in places.files.items()}
        numbers_by_file = {Path(address).name: number for number, address in addresses.items()}
        rows = self.spark.read.parquet(*addresses.values())
        numbers = F.from_json(F.lit(json.dumps(numbers_by_file)), "map<string, bigint>")
        partition_number = F.element_at(numbers, F.substring_index(F.col("_metadata.file_path"), "/", -1)).alias("part")
        columns = list(places.columns)
        key = [f"c{columns.index(name)}" for name in named(places.table, "primary_key")]
        sort = dedup_sort(places.table)
        order = [F.col(name) for name in ("file", "line", "indexes", "list")]
        if sort is not None:
            nulls_last = F.desc_nulls_last if sort[1] else F.asc_nulls_last
            order.insert(0, nulls_last(f"c{columns.index(sort[0])}"))
        rank = F.row_number().over(Window.partitionBy(*key).orderBy(*order)).alias("rank")
        superseded = rows.select(partition_number, "ordinal", rank).where("rank > 1").select("part", "ordinal")
        superseded.write.parquet(target.as_uri())
        return not self.spark.read.parquet(target.as_uri()).isEmpty()


def _are_small(inputs: Sequence[Input]) -> bool:
    """Return whether inputs are so small that their records are worked on here, without Python workers."""
    if not all(file.is_local and not compression_of(file.path) for file in inputs):
        return False
    return sum(file.stored_size() or 0 for file in inputs) <= _SMALL_BYTES
