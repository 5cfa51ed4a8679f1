"""Texts of files in any encoding, and the places that records have in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import UTF8, Input
from schemactl.engine.spark.places import place_columns
from schemactl.grouping import group_by


def read_lines(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[DataFrame]:
    """Yield frames of lines with their places and ``text``; ends of lines and byte order marks left off."""
    for encoding, files in by_encoding(inputs).items():
        paths = [file.address for file in files]
        if encoding == UTF8:
            lines = spark.read.text(paths)
            yield lines.select(*place_columns(lines), without_mark(F.col("value")).alias("text"))
        else:
            cut = F.posexplode(F.split("content", "\r\n|\n|\r")).alias("number", "text")
            frame = _read_decoded(spark, paths, encoding).select("file", cut)
            block = F.lit(0).cast("bigint").alias("block")  # they are cut out of the file in one piece
            yield frame.select("file", block, F.col("number").cast("bigint").alias("id"), "text")


def read_whole(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[DataFrame]:
    """Yield frames of whole files, ``file`` and ``content`` (string)."""
    for encoding, files in by_encoding(inputs).items():
        paths = [file.address for file in files]
        if encoding == UTF8:
            frame = spark.read.text(paths, wholetext=True)
            yield frame.select(
                F.col("_metadata.file_path").alias("file"), without_mark(F.col("value")).alias("content")
            )
        else:
            yield _read_decoded(spark, paths, encoding)


def without_mark(text: Column) -> Column:
    """Leave off a byte order mark."""
    return F.when(text.startswith("\ufeff"), F.substring(text, 2, 2**31 - 1)).otherwise(text)


def by_encoding(inputs: Sequence[Input]) -> dict[str, list[Input]]:
    """Return the inputs of each encoding."""
    return group_by(inputs, lambda file: file.encoding)


def _read_decoded(spark: SparkSession, paths: list[str], encoding: str) -> DataFrame:
    # The reader of texts undoes compressions, and leaves bytes as they are.
    frame = spark.read.text(paths, wholetext=True)
    text = without_mark(F.decode(F.col("value").cast("binary"), encoding))
    return frame.select(F.col("_metadata.file_path").alias("file"), text.alias("content"))
