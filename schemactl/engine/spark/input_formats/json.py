"""JSON files of one document each: an object is one record, a list has a record for each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.reading.files import read_files, split_inputs
from schemactl.engine.spark.reading.texts import read_whole
from schemactl.engine.spark.shipping import for_workers
from schemactl.kernel.files import PIECES, Form


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the elements of lists, and all other documents; workers read files unless only Spark can."""
    worker_inputs, spark_inputs = split_inputs(spark, inputs)
    yield from read_files(spark, worker_inputs, Form.ELEMENTS)
    if spark_inputs:
        for frame in read_whole(spark, spark_inputs):
            contents = frame.select("file", F.col("content").cast("binary").alias("content"))
            split = for_workers(spark, "schemactl.kernel.files", "split_contents", selection=spark_inputs[0].selection)
            pieces = contents.mapInArrow(split, PIECES)
            cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
            # A file is cut up by one task; its pieces are parsed by all.
            yield Documents(pieces.repartition(cores) if len(spark_inputs) < cores else pieces, is_for_workers=True)
