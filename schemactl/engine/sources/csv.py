"""CSV with a header: columns are read as texts, and the detectors say what they are."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
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
_STATED_SEPARATOR = re.compile(r'"?sep=(?P<separator>[^"\r\n])"?(?:\r\n|\n|\r)', re.IGNORECASE)
"""A line that Excel writes before the header, or asks for."""
_LINE_END = re.compile(r"(?P<row>[^\r\n]*)(?P<end>\r\n|\n|\r)")


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, those of one header together. A row may end early; one that is too long is bad."""
    groups: dict[tuple[str, str | None, str, str], list[Input]] = {}
    for each in inputs:
        stated, head = stated_separator(_head(spark, each))
        groups.setdefault((each.encoding, stated, *first_row_of(head)), []).append(each)
    for (encoding, stated, first_row, line_end), files in groups.items():
        sep = stated or separator or find_separator(first_row)
        # A quoted cell may hold line breaks, which only a reader of whole files sees.
        options: dict[str, str | bool] = {
            "header": True, "sep": sep, "multiLine": True, "encoding": encoding,
            "quote": '"', "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
        }  # fmt: skip
        if line_end and not {"\r", "\n"}.isdisjoint(first_row):
            # Spark takes the file's first line end, be it in quotes, for that of all rows.
            options["lineSep"] = line_end
        names = _names(first_row, sep) if stated else spark.read.options(**options).csv(files[0].address).columns
        if names:
            row = StructType([StructField(name, StringType()) for name in (*names, _SURPLUS)])
            rows = spark.read.options(**options).schema(row).csv([each.address for each in files])
            # What Spark leaves out as the header is the line that states the separator.
            yield rows_as_documents(
                rows.where(~_is_header(_cells(first_row, sep), names)) if stated else rows, _SURPLUS
            )


def stated_separator(text: str) -> tuple[str | None, str]:
    r"""Return the separator that a line before the header states, None where there is no such line, and what follows.

    >>> stated_separator("sep=;\nid;name\n")
    (';', 'id;name\n')
    """
    found = _STATED_SEPARATOR.match(text)
    return (found["separator"], text[found.end() :]) if found else (None, text)


def _cells(row: str, separator: str) -> list[str]:
    return next(csv.reader(io.StringIO(row, newline=""), delimiter=separator), [])


def _names(row: str, separator: str) -> list[str]:
    """Return the names of columns as Spark makes them of a header: blank and equal ones get their number."""
    cells = _cells(row, separator)
    met = Counter(cell.lower() for cell in cells)
    return [f"{cell}{at}" if met[cell.lower()] > 1 else cell or f"_c{at}" for at, cell in enumerate(cells)]


def _is_header(cells: Sequence[str], names: Sequence[str]) -> Column:
    is_same = F.lit(True)
    for cell, name in zip(cells, names, strict=True):
        is_same &= F.coalesce(F.col("`" + name.replace("`", "``") + "`"), F.lit("")) == cell
    return is_same


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


def _head(spark: SparkSession, file: Input) -> str:
    if file.is_local and (head := read_head(file)):
        return head
    # Elsewhere, or compressed so that only Spark can read it.
    return "".join(f"{row['value']}\n" for row in spark.read.text(file.address).take(2))
