"""CSV with a header: columns are read as texts, and the detectors say what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from schemactl.engine.input import Input, read_head
from schemactl.engine.sources import Documents
from schemactl.engine.sources._rows import rows_as_documents

ENDINGS = (".csv",)

_SURPLUS = "__schemactl_surplus"
"""The column of cells that have no column."""

_SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*"')


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, those of one header together. A row may end early; one that is too long is bad."""
    groups: dict[tuple[str, str], list[Input]] = {}
    for each in inputs:
        groups.setdefault((each.encoding, _first_line(spark, each)), []).append(each)
    for (encoding, first_line), files in groups.items():
        # A quoted cell may hold line breaks, which only a reader of whole files sees.
        options: dict[str, str | bool] = {
            "header": True, "sep": separator or find_separator(first_line), "multiLine": True, "encoding": encoding,
            "quote": '"', "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
        }  # fmt: skip
        if names := spark.read.options(**options).csv(files[0].address).columns:
            row = StructType([StructField(name, StringType()) for name in (*names, _SURPLUS)])
            rows = spark.read.options(**options).schema(row).csv([each.address for each in files])
            yield rows_as_documents(rows, _SURPLUS)


def find_separator(line: str) -> str:
    """Return the separator that a header has most of, outside of quotes; a comma where it has none.

    >>> find_separator('name;"amount, EUR, net"')
    ';'
    """
    bare = _QUOTED.sub("", line)
    return max(_SEPARATORS, key=bare.count)


def _first_line(spark: SparkSession, file: Input) -> str:
    if file.is_local and (head := read_head(file)):
        return head.partition("\n")[0]
    # Elsewhere, or compressed so that only Spark can read it.
    first = spark.read.text(file.address).first()
    return first["value"] if first else ""
