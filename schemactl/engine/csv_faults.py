"""Looks through files of CSV for what Spark reads without a word: quotes that do not close, line ends of two kinds.

Whether there is anything is found at the speed of the disk, from the octets beside each quote; only a file that has
something is read row by row (``walk_rows``). Of what Spark alone can read, only whether its quotes are even is checked.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from schemactl.engine.csv_header import CsvHeader
from schemactl.engine.input import UTF8, Input, open_input, wrong_encoding
from schemactl.engine.input_warnings import warn
from schemactl.errors import InputError, Location, Problem
from schemactl.examples import mask_examples

KEY_CHARACTERS: Final = 100
"""Of a broken cell's beginning that are kept."""
IGNORED: Final = '"\r\n'
"""What is left out of a broken cell's text, as Spark changes it."""
MOST_BROKEN: Final = 10_000
"""Broken cells of a file that are reported one by one."""
_BLANK_LINE: Final = re.compile(rb"(?:\n\r?\n|\r\r)[^\r\n]")
"""One with something behind it, outside of quotes or within."""
_BLANK_ENDS: Final = (b"\n\n", b"\n\r\n", b"\r\r")
_BLOCK: Final = 1 << 22
_QUOTE, _LF, _CR = ord('"'), ord("\n"), ord("\r")
_SHOWN = 60
_REPORTED = re.compile(r"line (?P<line>\d+), column (?P<column>\d+): (?P<what>.*)", re.DOTALL)
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
        """Return whether it takes nothing but itself: Spark reads it as it stands, with its quotes."""
        return not self.is_open and self.line == self.last_line


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row.

    Attributes:
        line: where it begins, counted from 1.
        row: its number as a spreadsheet counts rows: the blank lines before it are some.
        text: how it begins, as it stands in the file.
        broken: cells with a quote that does not close.
        values: of its cells, where they are kept: line ends in them are LF.
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
    r"""Yield the rows of a file; lines that hold nothing are none.

    The lines are of the file's own line end, with it or without, a byte order mark left off. Other line ends may stand
    in them, as Excel writes them within cells. ``first_line`` is the number of the first one.

    >>> [(row.line, row.row, row.cells) for row in walk_rows(['a,"b\n', 'c",d\n', "\n", "e\n"], ",")]
    [(1, 1, 3), (4, 3, 1)]
    """
    row: _Row | None = None
    following, count = first_line, 0
    for line in lines:
        body = line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line
        # A carriage return before the line end of the file is a part of the last cell.
        rest = line[len(body) :].removesuffix(line_end) if keeps_values else ""
        number, following = following, following + 1 + _count_breaks(body)
        count += row is None
        if row is None and '"' not in body:
            if body:
                values = tuple((body + rest).split(separator)) if keeps_values else ()
                yield CsvRow(number, count, body.count(separator) + 1, body[:_KEPT], values=values)
            continue
        row = row or _Row(number, count, keeps_values=keeps_values)
        row.take(body, number, separator, rest)
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
    """A row while it is read; ``cell`` is the quoted one that a line ends within."""

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

    def take(self, body: str, number: int, separator: str, rest: str = "") -> None:
        """Read a line from where the last one left off: at a cell's start, or within quotes.

        ``rest`` stands between the line and its end, and is a part of the last cell.
        """
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
                end = body.find(separator, at)
                self._keep(body[at:end] if end >= 0 else body[at:] + rest)
                at = self._next_cell(end, separator)
            else:
                at = self._in_quotes(self.cell, body, at, number, separator)
                if self.cell is not None and self.keeps_values:
                    self.cell.lines[-1] += rest

    def end_cell(self, text: str, number: int, *, is_open: bool) -> None:
        """Note that the cell's quote does not close."""
        if (cell := self.cell) is not None:
            cell.add(text)
            self._keep('"' + "\n".join((*cell.lines, text)))
            found = (cell.line, cell.column, cell.index, number, is_open, cell.letters, cell.start, cell.text)
            self.broken.append(BrokenCell(*found))
            self.cell = None

    def _keep(self, value: str) -> None:
        if self.keeps_values:
            self.values.append(value)

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
            if self.keeps_values:
                cell.lines.append(body[at:])
            cell.last_line = number + _count_breaks(body)
            return None
        after = quote + 1
        while after < len(body) and body[after] <= " " and not body.startswith(separator, after):
            after += 1
        if after == len(body) or body.startswith(separator, after):
            self.cell = None
            self._keep("\n".join((*cell.lines, body[at:quote])).replace('""', '"'))
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


@dataclass(frozen=True, slots=True)
class CsvFaults:
    """The faults of a file.

    Attributes:
        broken: cells whose quote never closes, or not on its line.
        header: the one of them that takes the header, None where the header can be read.
        harmless: the first cell that keeps its quotes because one within is not doubled, and how many there are.
        other_end: the line that first ends in another way than the header, None where all end alike.
        gaps: how many records stand before each row that is none: the header, and blank lines.
        is_well_formed: whether quotes and line ends are right throughout, so that any reader finds the same cells.
        starts: where blocks of the file begin, in bytes, and whether that is within a quoted cell.
    """

    broken: tuple[BrokenCell, ...] = ()
    header: BrokenCell | None = None
    harmless: tuple[BrokenCell, int] | None = None
    other_end: int | None = None
    gaps: tuple[int, ...] = (0,)
    is_well_formed: bool = False
    starts: Mapping[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Look:
    """Looks at the octets of a file block by block; the last two of a block are looked at with the next one."""

    separator: bytes
    line_end: bytes
    quotes: int = 0
    lines: int = 0
    is_odd: bool = False
    has_blanks: bool = False
    other_end: int | None = None
    rest: bytes = b""
    tail: bytes = b""
    returns: int = 0
    pairs: int = 0
    has_nulls: bool = False
    starts: dict[int, bool] = field(default_factory=dict)

    @property
    def is_well_formed(self) -> bool:
        """Return whether quotes are right, and nothing else stands in cells that readers take in more than one way."""
        match self.line_end:
            case b"\r":
                has_other_ends = self.lines > 0
            case b"\n":
                has_other_ends = self.returns > 0
            case _:
                has_other_ends = self.returns != self.pairs
        return not (self.is_odd or self.other_end or self.has_nulls or has_other_ends)

    def take(self, block: bytes, *, is_last: bool = False) -> None:
        """Look at every octet whose neighbors are known."""
        if not self.has_blanks:
            seen = (self.tail or self.line_end) + block
            # The expression takes longer than all else, and blank lines are rare.
            self.has_blanks = (
                any(each in seen for each in _BLANK_ENDS[: 3 if b"\r" in seen else 1])
                and _BLANK_LINE.search(seen) is not None
            )
            self.tail = seen[-3:]
        if b"\r" in block or self.returns:
            self.returns += block.count(b"\r")
            self.pairs += block.count(b"\r\n") + (self.rest.endswith(b"\r") and block.startswith(b"\n"))
        self.has_nulls = self.has_nulls or b"\0" in block
        octets = (self.rest or self.line_end[-1:]) + block + (self.line_end[:1] if is_last else b"")
        self.rest = octets[-2:]
        if not self.is_odd and (b'"' in octets or self._may_end_otherwise(octets)):
            self._look_at(octets)
        self.lines += octets.count(b"\n", 1, -1)

    def _may_end_otherwise(self, octets: bytes) -> bool:
        """Return whether lines may end in another way than the header."""
        match self.line_end:
            case b"\n":
                return b"\r" in octets
            case b"\r\n":
                return octets.count(b"\n") != octets.count(b"\r\n")
            case _:
                return False

    def _look_at(self, octets: bytes) -> None:
        import numpy

        found = numpy.frombuffer(octets, dtype=numpy.uint8)
        quotes = numpy.flatnonzero(found[1:-1] == _QUOTE) + 1
        if self.other_end is None and self._may_end_otherwise(octets):
            self.other_end = self._other_end(found, quotes)
        opening, closing = quotes[self.quotes & 1 :: 2], quotes[1 - (self.quotes & 1) :: 2]
        before, after = found[opening - 1], found[closing + 1]
        # The second of two quotes that stand for one reads as an opening one behind a closing one.
        begins = (before == self.separator[-1]) | (before == self.line_end[-1]) | (before == _QUOTE)
        ends = (after == self.separator[0]) | (after == self.line_end[0]) | (after == _QUOTE)
        self.is_odd = not (begins.all() and ends.all())
        self.quotes += len(quotes)

    def _other_end(self, found: Any, quotes: Any) -> int | None:
        """Return the line of the first line feed outside of quotes that is not the header's kind of line end."""
        import numpy

        feeds = numpy.flatnonzero(found[1:-1] == _LF) + 1
        others = feeds[(found[feeds - 1] == _CR) != (self.line_end == b"\r\n")]
        outside = others[(numpy.searchsorted(quotes, others) + self.quotes) % 2 == 0]
        return self.lines + int(numpy.searchsorted(feeds, outside[0])) + 1 if len(outside) else None


def find_csv_faults(file: Input, header: CsvHeader) -> CsvFaults:
    """Return what is wrong with a file that is readable here.

    Raises:
        InputError: the file is not in its encoding, or more is wrong than is reported one by one.
    """
    try:
        line_end = header.line_end
        look = _look_at(file, header.separator, line_end or "\n")
        gaps = () if header.is_record else (0,)
        sound = CsvFaults(gaps=gaps, is_well_formed=look.is_well_formed, starts=look.starts)
        if not look.is_odd and not look.has_blanks:
            return replace(sound, other_end=look.other_end)
        encoding = "utf-8-sig" if file.encoding == UTF8 else file.encoding
        with open_input(file) as binary, io.TextIOWrapper(binary, encoding, newline=line_end or None) as opened:
            walked = walk_faults(opened, file.path, header)
            return walked if look.is_odd else replace(sound, other_end=look.other_end, gaps=walked.gaps)
    except EOFError as error:
        raise InputError("the compressed file ends too early", at=Location(file.path)) from error
    except (OSError, zlib.error) as error:
        raise InputError("the file cannot be read", at=Location(file.path)) from error


def fault_text(cell: BrokenCell) -> str:
    """Return a broken cell in words, its place first; no JSON."""
    until = "takes the rest of the file" if cell.is_open else f"goes on to line {cell.last_line}"
    shown = " ".join(cell.text.split())[:_SHOWN]
    return f'line {cell.line}, column {cell.column}: the quote of this cell never closes, it {until}: "{shown}'


def read_fault(text: str, path: str) -> Problem | None:
    """Return the problem that ``fault_text`` has written, None for other texts."""
    found = _REPORTED.match(text)
    if found is None:
        return None
    what, quote, text = found["what"].partition(': "')
    message = what + "".join(f"{quote}{each}" for each in mask_examples((text,), is_personal=False))
    return Problem(message, Location(path, int(found["line"]), int(found["column"])))


def key_of(cell: BrokenCell) -> str:
    """Return what a broken cell is known by among the values of its column."""
    return f"{cell.letters}:{cell.start}"


def _look_at(file: Input, separator: str, line_end: str) -> _Look:
    look = _Look(separator.encode(), line_end.encode())
    decoder = codecs.getincrementaldecoder(file.encoding)()
    start, is_inside = 0, False
    with open_input(file) as opened:
        while True:
            block = opened.read(_BLOCK)
            if block:
                look.starts[start] = is_inside
            start, is_inside = start + len(block), is_inside ^ bool(block.count(b'"') & 1)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = look.lines + (look.rest + block[: max(0, error.start - pending)]).count(b"\n", 1) + 1
                raise wrong_encoding(file, line) from error
            octets = block if file.encoding == UTF8 else text.encode(errors="surrogatepass")
            if not (look.quotes or look.lines) and octets.startswith(codecs.BOM_UTF8):
                octets = octets.removeprefix(codecs.BOM_UTF8)
            look.take(octets, is_last=not block)
            if not block:
                look.is_odd = look.is_odd or look.quotes % 2 == 1
                return look


def walk_faults(text: Iterable[str], path: str, header: CsvHeader) -> CsvFaults:
    """Return the faults of a text, read row by row.

    Raises:
        InputError: more is wrong than is reported one by one.
    """
    lines = iter(text)
    for _ in range(header.skipped_lines):
        next(lines, None)
    header_rows = int(not header.is_record)
    first = next(lines, "").removeprefix("\ufeff")
    broken: list[BrokenCell] = []
    harmless: BrokenCell | None = None
    count = 0
    gaps: list[int] = []
    for number, row in enumerate(walk_rows(chain([first], lines), header.separator, header.skipped_lines + 1)):
        # As many rows before this one are records as its number says, the header left out.
        gaps += [max(number - header_rows, 0)] * (row.row - number - (1 - header_rows) - len(gaps))
        for cell in row.broken:
            if cell.is_harmless:
                harmless, count = harmless or cell, count + 1
            elif number < header_rows:
                return CsvFaults(header=cell)
            else:
                broken.append(cell)
        if len(broken) > MOST_BROKEN:
            message = f"more than {MOST_BROKEN:,} cells have a quote that does not close"
            raise InputError(message, at=Location(path, broken[0].line, broken[0].column))
    return CsvFaults(tuple(broken), harmless=(harmless, count) if harmless else None, gaps=tuple(gaps))


def warn_of_csv(faults: Mapping[str, CsvFaults]) -> None:
    """Report what stops nothing in files of CSV: quotes that are not doubled, line ends of two kinds."""
    for path, found in faults.items():
        if found.harmless:
            cell, cells = found.harmless
            many = "this cell has" if cells == 1 else f"this cell and {cells - 1:,} more have"
            at = Location(path, cell.line, cell.column)
            warn(f"{at}: {many} quotes inside that are not doubled: read as it stands, with all quotes", [path])
        if found.other_end:
            warn(
                f"{Location(path, found.other_end)}: this line ends in another way than the header, by CR LF or by LF: "
                "Spark takes the header's line end for that of all rows, and the other one as part of a cell",
                [path],
            )
