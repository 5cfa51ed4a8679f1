"""Avro files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import ColumnarRows
from schemactl.engine.spark.places import Numbering
from schemactl.engine.spark.reading.columnar import columnar_batch
from schemactl.errors import InputError, Location

_PACKAGE: Final = "spark-avro_2.13"
"""Its Scala version is the one that Spark 4 is built for."""


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[ColumnarRows]:
    """Yield the rows of all files together.

    Raises:
        InputError: Spark lacks its reader, which is a package of its own.
    """
    try:
        frame = spark.read.format("avro").load([each.address for each in inputs])
    except AnalysisException as error:
        if "data source: avro" not in str(error):
            raise
        hint = (
            f"let Spark fetch it: `--conf spark.jars.packages=org.apache.spark:{_PACKAGE}:{spark.version}`; where it "
            f"cannot, name the file: `--conf spark.jars={_PACKAGE}-{spark.version}.jar`"
        )
        message = "Spark reads Avro by a package of its own, which is not here"
        raise InputError(message, at=Location(inputs[0].path), hint=hint) from error
    yield columnar_batch(frame, F.col("_metadata.file_path"), Numbering.BLOCK)
