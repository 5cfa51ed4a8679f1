"""Reads the header of CSV: a separator that is stated or found, names in quotes, and what ends the line."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Final

SEPARATORS: Final = {"tsv": "\t"}
"""The separators that formats state; others are found in the header."""

_SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*"')
_HEADER_END = re.compile(
    # A quote opens a name only where it begins.
    r'(?P<row>(?:(?:\A|(?<=[,;\t|]))"(?:[^"]|"")*+"|[^"\r\n]|(?<=[^,;\t|])")*+)(?P<end>\r\n|\n|\r)'
)
_STATED_SEPARATOR = re.compile(r'"?sep=(?P<separator>[^"\r\n])"?(?:\r\n|\n|\r)', re.IGNORECASE)
"""A line that Excel writes before the header, or asks for."""
_LINE_END = re.compile(r"(?P<row>[^\r\n]*)(?P<end>\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The first lines of a file.

    Attributes:
        is_stated: whether a line before the header states the separator.
        row: the header, whose quoted names may hold line breaks.
        line_end: what ends it, empty where nothing does.
    """

    separator: str
    is_stated: bool
    row: str
    line_end: str

    def cells(self) -> list[str]:
        """Return the names, none where one of them is longer than Python takes."""
        try:
            return next(csv.reader(io.StringIO(self.row, newline=""), delimiter=self.separator), [])
        except csv.Error:
            return []


def read_header(text: str, separator: str | None = None) -> CsvHeader:
    r"""Return the header that a file begins with, a byte order mark left off; of an open quote, the first line.

    Lines that hold nothing may stand before it. ``separator`` is that of a file that states none; None to find it.

    >>> read_header('sep=;\nid;name\n').cells()
    ['id', 'name']
    >>> read_header('a,"b\nc"\r\n1,2\r\n')
    CsvHeader(separator=',', is_stated=False, row='a,"b\nc"', line_end='\r\n')
    """
    stated = _STATED_SEPARATOR.match(text)
    text = (text[stated.end() :] if stated else text).lstrip("\r\n")
    end = _HEADER_END.match(text) or _LINE_END.match(text)
    row, line_end = (end["row"], end["end"]) if end else (text, "")
    return CsvHeader(
        stated["separator"] if stated else separator or find_separator(row), stated is not None, row, line_end
    )


def find_separator(line: str) -> str:
    """Return the separator that a header has most of, outside of quotes; a comma where it has none.

    >>> find_separator('name;"amount, EUR, net"')
    ';'
    """
    bare = _QUOTED.sub("", line)
    return max(_SEPARATORS, key=bare.count)
