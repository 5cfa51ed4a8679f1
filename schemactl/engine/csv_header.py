"""Reads the header of CSV: the declared or detected separator, names in quotes, and the line end."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

SEPARATORS: Final = {"tsv": "\t"}
"""The separators that formats set; for other formats, the header decides."""

_SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*"')
_HEADER_END = re.compile(
    # A quote opens a name only at its beginning.
    r'(?P<row>(?:(?:\A|(?<=[,;\t|]))"(?:[^"]|"")*+"|[^"\r\n]|(?<=[^,;\t|])")*+)(?P<end>\r\n|\n|\r)'
)
_SEPARATOR_LINE = re.compile(r'"?sep=(?P<separator>[^"\r\n])"?(?:\r\n|\n|\r)', re.IGNORECASE)
"""A line before the header that sets the separator, a convention of Excel."""
_LINE_END = re.compile(r"(?P<row>[^\r\n]*)(?P<end>\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The first lines of a file.

    Attributes:
        sets_separator: whether a line before the header sets the separator.
        is_record: whether the first row is a record, and columns have no names.
        row: the header, whose quoted names may hold line breaks.
        line_end: the line end of the header, if any.
    """

    separator: str
    sets_separator: bool
    row: str
    line_end: str
    is_record: bool = False

    def cells(self) -> list[str]:
        """Return the names; empty if a name exceeds Python's limit. If the first row is a record, names are blank."""
        try:
            cells = next(csv.reader(io.StringIO(self.row, newline=""), delimiter=self.separator), [])
        except csv.Error:
            return []
        return [""] * len(cells) if self.is_record else cells

    @property
    def skipped_lines(self) -> int:
        return int(self.sets_separator)


def read_header(text: str, separator: str | None = None, has_header: bool | None = None) -> CsvHeader:
    r"""Return the header of a file without its byte order mark; if a quote does not close, the first line.

    Empty lines may come before it. ``separator`` applies if the file does not set one; None to detect it.
    ``has_header`` is False if the first row is a record.

    >>> read_header('sep=|\nid|name\n').cells()
    ['id', 'name']
    >>> read_header('a,"b\nc"\r\n1,2\r\n')
    CsvHeader(separator=',', sets_separator=False, row='a,"b\nc"', line_end='\r\n', is_record=False)
    """
    separator_line = _SEPARATOR_LINE.match(text)
    text = (text[separator_line.end() :] if separator_line else text).lstrip("\r\n")
    end = _HEADER_END.match(text) or _LINE_END.match(text)
    row, line_end = (end["row"], end["end"]) if end else (text, "")
    return CsvHeader(
        separator_line["separator"] if separator_line else separator or find_separator(row),
        separator_line is not None,
        row,
        line_end,
        is_record=has_header is False,
    )


def find_separator(line: str) -> str:
    """Return the separator that occurs most often in a header, outside of quotes; a comma if none occurs.

    >>> find_separator('name;"amount, EUR, net"')
    ';'
    """
    bare = _QUOTED.sub("", line)
    return max(_SEPARATORS, key=bare.count)


_VALUE_KINDS: Final = {
    "number": re.compile(r"[+-]?\d[\d ,.'_]*(?:[eE][+-]?\d+)?"),
    "time": re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d\d:\d\d(?::\d\d.*)?"),
    "bool": re.compile(r"true|false|yes|no", re.IGNORECASE),
}


def looks_like_record(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a file looks like the rows below it, and not like names.

    It does if there are columns of numbers, times or truth values, and the first row has such a value in each of them,
    as DuckDB finds a file without a header.

    >>> looks_like_record(["1", "Ann"], [["2", "Bob"], ["3", "Cy"]])
    True
    >>> looks_like_record(["id", "Ann"], [["2", "Bob"]])
    False
    """
    kinds = [_kind_of(row[number] for row in rows if number < len(row)) for number in range(len(header))]
    columns_of_kinds = [(name, kind) for name, kind in zip(header, kinds, strict=True) if kind is not None]
    return bool(columns_of_kinds) and all(_VALUE_KINDS[kind].fullmatch(name.strip()) for name, kind in columns_of_kinds)


def _kind_of(cells: Iterable[str]) -> str | None:
    """Return the kind of all non-blank cells of a column; None for texts and for columns without cells."""
    values = [cell.strip() for cell in cells if cell.strip()]
    kinds = (kind for kind, pattern in _VALUE_KINDS.items() if all(map(pattern.fullmatch, values)))
    return next(kinds, None) if values else None
