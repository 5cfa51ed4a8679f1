"""Tables and views of Spark's catalogs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import allow_all_types, columnar_batch
from schemactl.schema.paths import Path
from schemactl.store.sources import TABLE_PREFIX


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield each table."""
    allow_all_types(spark)
    for table in inputs:
        frame = spark.table(table.path.removeprefix(TABLE_PREFIX))
        # For most tables, Spark reports all columns as nullable, so this does not declare anything.
        required: dict[Path, bool] = {(field.name,): False for field in frame.schema.fields if not field.nullable}
        yield columnar_batch(frame, F.lit(table.path), Numbering.PARTITION, required)
