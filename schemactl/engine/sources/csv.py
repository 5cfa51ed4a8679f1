"""CSV with a header: columns are read as texts, and the detectors say what they are."""

from __future__ import annotations

import csv as dialects
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from schemactl.engine.inputs import Input, read_head
from schemactl.engine.sources import Documents
from schemactl.engine.sources._rows import rows_as_documents

ENDINGS = (".csv",)

_BAD = "__schemactl_bad"
_SEPARATORS = ",;\t|"


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, those of one header together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in inputs:
        first_line, found = _look(each)
        groups.setdefault((each.encoding, separator or found, first_line), []).append(each.path)
    for (encoding, found, _), paths in groups.items():
        # A quoted cell may hold line breaks, which only a reader of whole files sees.
        options: dict[str, str | bool] = {
            "header": True, "sep": found, "multiLine": True, "encoding": encoding, "quote": '"', "escape": '"',
            "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
        }  # fmt: skip
        names = spark.read.options(**options).csv(paths[0]).columns
        row = StructType([StructField(name, StringType()) for name in (*names, _BAD)])
        reader = spark.read.options(**options, columnNameOfCorruptRecord=_BAD)
        yield rows_as_documents(reader.schema(row).csv(paths), _BAD)


def _look(file: Input) -> tuple[str, str]:
    """Return the header line and the separator; both are Spark's to find where the file is not on this machine."""
    if not file.is_local:
        return "", ","
    head = read_head(file)
    first_line = head.partition("\n")[0]
    try:
        return first_line, dialects.Sniffer().sniff(first_line, _SEPARATORS).delimiter
    except dialects.Error:
        return first_line, ","
