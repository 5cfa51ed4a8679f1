"""Rows of CSV as Spark's parser finds them, with the cells whose quotes go wrong. Values are left to Spark.

A quote opens a cell only where it begins (RFC 4180, 2). Within, a quote that is not doubled closes the cell if only
blanks stand between it and a separator or an end of line; else the cell goes on to the next of these, quotes and all
(univocity's ``STOP_AT_DELIMITER``, which Spark sets).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

KEY_CHARACTERS: Final = 100
"""Of a broken cell's beginning that are kept."""
IGNORED: Final = '"\r\n'
"""What is left out of a broken cell's text, as Spark changes it."""

_KEPT: Final = 400
_WITHOUT_IGNORED = str.maketrans("", "", IGNORED)


@dataclass(frozen=True, slots=True)
class BrokenCell:
    """A cell whose opening quote has no closing one.

    Attributes:
        line, column: where the quote stands, counted from 1.
        index: the cell's number in its row, from 0.
        last_line: the line on which the cell ends.
        is_open: whether it goes on to the end of the file.
        letters: its length in characters, quotes and line ends left out: Spark changes these.
        start: how it begins, without them too: up to ``KEY_CHARACTERS``.
        text: how it begins, for a person.
    """

    line: int
    column: int
    index: int
    last_line: int
    is_open: bool
    letters: int
    start: str
    text: str

    @property
    def is_harmless(self) -> bool:
        """Whether it takes nothing but itself: Spark reads it as it stands, with its quotes."""
        return not self.is_open and self.line == self.last_line


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row.

    Attributes:
        line: where it begins, counted from 1.
        cells: how many it has.
        text: how it begins, as it stands in the file.
        broken: cells with a quote that does not close.
    """

    line: int
    cells: int
    text: str
    broken: tuple[BrokenCell, ...] = ()


def read_rows(lines: Iterable[str], separator: str, first_line: int = 1) -> Iterator[CsvRow]:
    r"""Yield the rows of a file; lines that hold nothing are none.

    Args:
        lines: of the file's own line end, with it or without; a byte order mark left off. Other line ends may stand in
            them, as Excel writes them within cells.
        separator: between cells.
        first_line: the number of the first one.

    >>> [(row.line, row.cells) for row in read_rows(['a,"b\n', 'c",d\n', "\n", "e\n"], ",")]
    [(1, 3), (4, 1)]
    """
    row: _Row | None = None
    following = first_line
    for line in lines:
        body = line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line
        number, following = following, following + 1 + _count_breaks(body)
        if row is None and '"' not in body:
            if body:
                yield CsvRow(number, body.count(separator) + 1, body[:_KEPT])
            continue
        row = row or _Row(number)
        row.take(body, number, separator)
        if row.cell is None:
            yield row.done()
            row = None
    if row is not None:
        row.end_cell("", row.cell.last_line if row.cell else row.line, is_open=True)
        yield row.done()


@dataclass(slots=True)
class _Cell:
    """A quoted cell while it is read."""

    line: int
    column: int
    index: int
    last_line: int
    letters: int = 0
    start: str = ""
    text: str = ""

    def add(self, text: str) -> None:
        if len(self.text) < KEY_CHARACTERS:
            self.text += ("\n" if self.text else "") + text[:KEY_CHARACTERS]
        bare = text.translate(_WITHOUT_IGNORED)
        self.letters += len(bare)
        self.start += bare[: KEY_CHARACTERS - len(self.start)]


@dataclass(slots=True)
class _Row:
    """A row while it is read; ``cell`` is the quoted one that a line ends within."""

    line: int
    cells: int = 1
    text: str = ""
    cell: _Cell | None = None
    broken: list[BrokenCell] = field(default_factory=list)

    def done(self) -> CsvRow:
        return CsvRow(self.line, self.cells, self.text, tuple(self.broken))

    def take(self, body: str, number: int, separator: str) -> None:
        """Read a line from where the last one left off: at a cell's start, or within quotes."""
        if len(self.text) < _KEPT:
            self.text += ("\n" if self.text else "") + body[:_KEPT]
        at: int | None = 0
        while at is not None:
            if self.cell is None and body.startswith('"', at):
                line = number + _count_breaks(body[:at])
                column = at - max(body.rfind("\n", 0, at), body.rfind("\r", 0, at))
                self.cell = _Cell(line, column, self.cells - 1, line)
                at += 1
            if self.cell is None:
                at = self._next_cell(body.find(separator, at), separator)
            else:
                at = self._in_quotes(self.cell, body, at, number, separator)

    def end_cell(self, text: str, number: int, *, is_open: bool) -> None:
        """Note that the cell's quote does not close."""
        if (cell := self.cell) is not None:
            cell.add(text)
            found = (cell.line, cell.column, cell.index, number, is_open, cell.letters, cell.start, cell.text)
            self.broken.append(BrokenCell(*found))
            self.cell = None

    def _next_cell(self, end: int, separator: str) -> int | None:
        if end < 0:
            return None
        self.cells += 1
        return end + len(separator)

    def _in_quotes(self, cell: _Cell, body: str, at: int, number: int, separator: str) -> int | None:
        """Return where the next cell starts, None where the line ends first."""
        quote = _find_single(body, at)
        if quote is None:
            cell.add(body[at:])
            cell.last_line = number + _count_breaks(body)
            return None
        after = quote + 1
        while after < len(body) and body[after] <= " " and not body.startswith(separator, after):
            after += 1
        if after == len(body) or body.startswith(separator, after):
            self.cell = None
            return self._next_cell(after if after < len(body) else -1, separator)
        end = body.find(separator, after)
        text = body[at : end if end >= 0 else None]
        self.end_cell(text, number + _count_breaks(body[:at] + text), is_open=False)
        return self._next_cell(end, separator)


def _count_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r")


def _find_single(body: str, at: int) -> int | None:
    """Return where the next quote stands that is not doubled."""
    while (quote := body.find('"', at)) >= 0:
        if not body.startswith('"', quote + 1):
            return quote
        at = quote + 2
    return None
