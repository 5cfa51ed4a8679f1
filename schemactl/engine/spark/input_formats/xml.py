"""XML: the elements below the root are records; values are read as strings, and detectors decide their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from schemactl.engine.input import Input
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.reading.rows import rows_as_documents
from schemactl.engine.xml_elements import XmlElements


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the records of the files, grouped by element name."""
    groups: dict[tuple[str, str], list[str]] = {}
    for file in inputs:
        groups.setdefault((file.encoding, XmlElements(file).record_tag()), []).append(file.address)
    for (encoding, tag), paths in groups.items():
        options: dict[str, str | bool] = {"rowTag": tag, "inferSchema": False, "encoding": encoding, "mode": "FAILFAST"}
        yield rows_as_documents(spark.read.options(**options).xml(paths))
