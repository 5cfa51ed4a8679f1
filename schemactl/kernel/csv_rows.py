"""Reads CSV row by row, as Spark's parser finds rows: for files whose quotes or line ends are not right throughout.

Well-formed files are cut into cells at once (``kernel.cells``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import pyarrow as pa

from schemactl.kernel.cells import CsvLayout, TextRows

KEY_CHARACTERS: Final = 100
"""Of a broken cell's beginning that are kept."""
IGNORED: Final = '"\r\n'
"""Characters that are left out of a broken cell's text, as Spark changes it."""
_ROWS_AT_ONCE: Final = 2_000
_SHOWN: Final = 60
_KEPT: Final = 400
_WITHOUT_IGNORED: Final = str.maketrans("", "", IGNORED)


@dataclass(frozen=True, slots=True)
class BrokenCell:
    """A cell whose opening quote, at ``line`` and ``column`` counted from 1, has no closing one.

    Attributes:
        index: the cell's number in its row, from 0.
        last_line: the line on which the cell ends.
        is_open: whether it goes on to the end of the file.
        letters: its length in characters, without quotes and line ends, which Spark changes.
        start: its beginning, also without quotes and line ends, up to ``KEY_CHARACTERS``.
        text: its beginning, for messages.
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
        """Return whether it takes nothing but itself: Spark reads it as it is, with its quotes."""
        return not self.is_open and self.line == self.last_line


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row.

    Attributes:
        line: the number of its first line, counted from 1.
        row: its number in a spreadsheet, which also counts blank lines.
        text: its beginning, as in the file.
        broken: cells with a quote that does not close.
        values: the values of its cells, if they are requested, with LF as line end.
    """

    line: int
    row: int
    cells: int
    text: str
    broken: tuple[BrokenCell, ...] = ()
    values: tuple[str, ...] = ()


def walk_rows(
    lines: Iterable[str], separator: str, first_line: int = 1, *, keeps_values: bool = False, line_end: str = "\n"
) -> Iterator[CsvRow]:
    r"""Yield the rows of a file, without empty lines.

    The lines end with the file's line end, or without it, and lack a byte order mark. They may contain other line ends,
    which Excel writes within cells. ``first_line`` is the number of the first line.

    >>> [(row.line, row.row, row.cells) for row in walk_rows(['a,"b\n', 'c",d\n', "\n", "e\n"], ",")]
    [(1, 1, 3), (4, 3, 1)]
    """
    row: _Row | None = None
    following, count = first_line, 0
    for line in lines:
        body = line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line
        # A carriage return before the line end of the file is a part of the last cell.
        line_rest = line[len(body) :].removesuffix(line_end) if keeps_values else ""
        number, following = following, following + 1 + _count_breaks(body)
        count += row is None
        if row is None and '"' not in body:
            if body:
                values = tuple((body + line_rest).split(separator)) if keeps_values else ()
                yield CsvRow(number, count, body.count(separator) + 1, body[:_KEPT], values=values)
            continue
        row = row or _Row(number, count, keeps_values=keeps_values)
        row.take(body, number, separator, line_rest)
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
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        if len(self.text) < KEY_CHARACTERS:
            self.text += ("\n" if self.text else "") + text[:KEY_CHARACTERS]
        bare = text.translate(_WITHOUT_IGNORED)
        self.letters += len(bare)
        self.start += bare[: KEY_CHARACTERS - len(self.start)]


@dataclass(slots=True)
class _Row:
    """A row while it is read; ``cell`` is the open quoted cell at the end of a line."""

    line: int
    row: int
    cells: int = 1
    text: str = ""
    cell: _Cell | None = None
    broken: list[BrokenCell] = field(default_factory=list)
    keeps_values: bool = False
    values: list[str] = field(default_factory=list)

    def done(self) -> CsvRow:
        return CsvRow(self.line, self.row, self.cells, self.text, tuple(self.broken), tuple(self.values))

    def take(self, body: str, number: int, separator: str, line_rest: str = "") -> None:
        """Read a line, starting at a cell's start or within quotes, as the last line ended.

        ``line_rest`` is the text between the line and its end, and belongs to the last cell.
        """
        if len(self.text) < _KEPT:
            self.text += ("\n" if self.text else "") + body[:_KEPT]
        position: int | None = 0
        while position is not None:
            if self.cell is None and body.startswith('"', position):
                line = number + _count_breaks(body[:position])
                column = position - max(body.rfind("\n", 0, position), body.rfind("\r", 0, position))
                self.cell = _Cell(line, column, self.cells - 1, line)
                position += 1
            if self.cell is None:
                end = body.find(separator, position)
                self._keep(body[position:end] if end >= 0 else body[position:] + line_rest)
                position = self._next_cell(end, separator)
            else:
                position = self._in_quotes(self.cell, body, position, number, separator)
                if self.cell is not None and self.keeps_values:
                    self.cell.lines[-1] += line_rest

    def end_cell(self, text: str, number: int, *, is_open: bool) -> None:
        """Note that the cell's quote does not close."""
        if (cell := self.cell) is not None:
            cell.add(text)
            self._keep('"' + "\n".join((*cell.lines, text)))
            properties = (cell.line, cell.column, cell.index, number, is_open, cell.letters, cell.start, cell.text)
            self.broken.append(BrokenCell(*properties))
            self.cell = None

    def _keep(self, value: str) -> None:
        if self.keeps_values:
            self.values.append(value)

    def _next_cell(self, end: int, separator: str) -> int | None:
        if end < 0:
            return None
        self.cells += 1
        return end + len(separator)

    def _in_quotes(self, cell: _Cell, body: str, start: int, number: int, separator: str) -> int | None:
        """Return the start of the next cell, None if the line ends first."""
        quote = _find_single(body, start)
        if quote is None:
            cell.add(body[start:])
            if self.keeps_values:
                cell.lines.append(body[start:])
            cell.last_line = number + _count_breaks(body)
            return None
        after = quote + 1
        while after < len(body) and body[after] <= " " and not body.startswith(separator, after):
            after += 1
        if after == len(body) or body.startswith(separator, after):
            self.cell = None
            self._keep("\n".join((*cell.lines, body[start:quote])).replace('""', '"'))
            return self._next_cell(after if after < len(body) else -1, separator)
        end = body.find(separator, after)
        text = body[start : end if end >= 0 else None]
        self.end_cell(text, number + _count_breaks(body[:start] + text), is_open=False)
        return self._next_cell(end, separator)


def _count_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r")


def _find_single(body: str, start: int) -> int | None:
    """Return the position of the next quote that is not doubled."""
    while (quote := body.find('"', start)) >= 0:
        if not body.startswith('"', quote + 1):
            return quote
        start = quote + 2
    return None


def fault_text(cell: BrokenCell) -> str:
    """Return a broken cell in words, its place first; no JSON."""
    until = "contains the rest of the file" if cell.is_open else f"continues to line {cell.last_line}"
    beginning = " ".join(cell.text.split())[:_SHOWN]
    return (
        f'line {cell.line}, column {cell.column}: the quote of this cell is not closed; the cell {until}: "{beginning}'
    )


def read_malformed(lines: Iterator[str], layout: CsvLayout) -> Iterator[TextRows]:
    """Yield the rows of a whole file in batches, without the header; lines as in ``walk_rows``."""
    for _ in range(layout.skipped_lines):
        next(lines, None)
    line_end, first_line = layout.line_end.decode() or "\n", 1 + layout.skipped_lines
    rows = walk_rows(lines, layout.separator, first_line, keeps_values=True, line_end=line_end)
    for _ in range(layout.header_rows - layout.skipped_lines):
        next(rows, None)
    while some_rows := list(islice(rows, _ROWS_AT_ONCE)):
        yield _text_rows(some_rows, layout)


def _text_rows(rows: Sequence[CsvRow], layout: CsvLayout) -> TextRows:
    """Return rows as columns; a row is bad if it has more cells than columns, or a quote that does not close."""
    width = len(layout.names)
    cells = [
        [*(cell or None for cell in row.values[: width + 1]), *[None] * (width + 1 - len(row.values))] for row in rows
    ]
    *columns, surplus = (pa.array(column, pa.string()) for column in zip(*cells, strict=True))
    faults = [
        next((fault_text(cell) for cell in row.broken if not cell.is_harmless and cell.index <= width), None)
        or (None if extra is None else f"more cells than columns: {', '.join(filter(None, values))}")
        for row, values, extra in zip(rows, cells, surplus.to_pylist(), strict=True)
    ]
    return layout.taken_columns(columns, pa.array(faults, pa.string()))
