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
_HEADER_END = re.compile(r'(?P<row>(?:[^"\r\n]|"[^"]*")*+)(?P<end>\r\n|\n|\r)')
_LINE_END = re.compile(r"(?P<row>[^\r\n]*)(?P<end>\r\n|\n|\r)")


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, those of one header together. A row may end early; one that is too long is bad."""
    groups: dict[tuple[str, str, str], list[Input]] = {}
    for each in inputs:
        groups.setdefault((each.encoding, *_first_row(spark, each)), []).append(each)
    for (encoding, first_row, line_end), files in groups.items():
        # A quoted cell may hold line breaks, which only a reader of whole files sees.
        options: dict[str, str | bool] = {
            "header": True, "sep": separator or find_separator(first_row), "multiLine": True, "encoding": encoding,
            "quote": '"', "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
        }  # fmt: skip
        if line_end and not {"\r", "\n"}.isdisjoint(first_row):
            # Spark takes the file's first line end, be it in quotes, for that of all rows.
            options["lineSep"] = line_end
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


def first_row_of(text: str) -> tuple[str, str]:
    r"""Return the header, whose quoted names may hold line breaks, and what ends it; of an open quote, the first line.

    >>> first_row_of('a,"b\nc"\r\n1,2\r\n')
    ('a,"b\nc"', '\r\n')
    """
    end = _HEADER_END.match(text) or _LINE_END.match(text)
    return (end["row"], end["end"]) if end else (text, "")


def _first_row(spark: SparkSession, file: Input) -> tuple[str, str]:
    if file.is_local and (head := read_head(file)):
        return first_row_of(head)
    # Elsewhere, or compressed so that only Spark can read it.
    first = spark.read.text(file.address).first()
    return (first["value"] if first else ""), "\n"
