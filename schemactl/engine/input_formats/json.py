"""JSON files of one document each: an object is one record, a list has a record for each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import COMPRESSIONS, Input
from schemactl.engine.input_formats import Documents
from schemactl.engine.reading.texts import read_whole
from schemactl.engine.shipping import for_workers, shares_this_machine
from schemactl.kernel.splitting import PIECES, SUFFIXES

ENDINGS = (".json",)


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the elements of lists, and documents that are none; files are cut up by workers, unread by Spark.

    Spark reads those that only it can: in object stores, of a cluster, and of other compressions.
    """
    is_near = shares_this_machine(spark)
    direct = [each for each in inputs if is_near and each.is_local and _suffix(each) in SUFFIXES]
    if direct:
        yield _documents(spark, _split_files(spark, direct), len(direct))
    if others := [each for each in inputs if each not in direct]:
        for frame in read_whole(spark, others):
            contents = frame.select("file", F.col("content").cast("binary").alias("content"))
            split = for_workers(spark, "schemactl.kernel.splitting", "split_contents")
            yield _documents(spark, contents.mapInArrow(split, PIECES), len(others))


def _suffix(file: Input) -> str:
    suffix = Path(file.path).suffix
    return suffix if suffix in COMPRESSIONS else ""


def _split_files(spark: SparkSession, files: Sequence[Input]) -> DataFrame:
    rows = [(_address(each), str(Path.cwd() / each.path), _suffix(each), each.encoding) for each in files]
    frame = spark.createDataFrame(rows, "file string, path string, suffix string, encoding string")
    return frame.mapInArrow(for_workers(spark, "schemactl.kernel.splitting", "split_files"), PIECES)


def _address(file: Input) -> str:
    """Return the address of a local file as Spark writes it."""
    return (Path.cwd() / file.path).as_uri()


def _documents(spark: SparkSession, pieces: DataFrame, files: int) -> Documents:
    cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    # A file is cut up by one task; its pieces are parsed by all.
    spread = pieces.repartition(cores) if files < cores else pieces
    elements = spread.select("file", "block", F.posexplode("texts").alias("at", "element"))
    at, text = F.col("at").cast("bigint").alias("id"), F.col("element").cast("string").alias("text")
    return Documents(elements.select("file", "block", at, text))
