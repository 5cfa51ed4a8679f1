"""Searches CSV files for faults that Spark reads silently: quotes that do not close, and mixed line ends.

The bytes around each quote show at disk speed whether a file has faults; only a faulty file is read row by row
(``walk_rows``). In files that only Spark can read, only the number of quotes is checked.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from schemactl.engine.csv_header import CsvHeader
from schemactl.engine.input import UTF8, Input, open_input, read_errors, wrong_encoding
from schemactl.engine.input_warnings import warn
from schemactl.errors import InputError, Location, Problem
from schemactl.examples import mask_examples
from schemactl.kernel.csv_rows import BrokenCell, walk_rows

MOST_BROKEN: Final = 10_000
"""Broken cells of a file that are reported one by one."""
_BLANK_LINE: Final = re.compile(rb"(?:\n\r?\n|\r\r)[^\r\n]")
"""One with something behind it, outside of quotes or within."""
_BLANK_ENDS: Final = (b"\n\n", b"\n\r\n", b"\r\r")
_BLOCK: Final = 1 << 22
_QUOTE, _LF, _CR = ord('"'), ord("\n"), ord("\r")
_REPORTED = re.compile(r"line (?P<line>\d+), column (?P<column>\d+): (?P<what>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CsvFaults:
    """The faults of a file.

    Attributes:
        broken: cells whose quote never closes, or not on its line.
        header: the broken cell that contains the header; None if the header can be read.
        harmless: the first cell that keeps its quotes because an inner quote is not doubled, and the number of such
            cells.
        other_end: the first line with another line end than the header; None if all line ends are equal.
        gaps: for each row that is not a record (header and blank lines), the number of records before it.
        is_well_formed: whether all quotes and line ends are right, so that any reader finds the same cells.
        starts: the offsets of blocks of the file, in bytes, and whether a block starts within a quoted cell.
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
    """Looks at the octets of a file block by block; the last two bytes of a block are checked with the next block."""

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
        """Return whether quotes are right, and no cell contains characters that readers interpret differently."""
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
            joined = (self.tail or self.line_end) + block
            # The expression takes longer than all else, and blank lines are rare.
            self.has_blanks = (
                any(ends in joined for ends in _BLANK_ENDS[: 3 if b"\r" in joined else 1])
                and _BLANK_LINE.search(joined) is not None
            )
            self.tail = joined[-3:]
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

        codes = numpy.frombuffer(octets, dtype=numpy.uint8)
        quotes = numpy.flatnonzero(codes[1:-1] == _QUOTE) + 1
        if self.other_end is None and self._may_end_otherwise(octets):
            self.other_end = self._other_end(codes, quotes)
        opening, closing = quotes[self.quotes & 1 :: 2], quotes[1 - (self.quotes & 1) :: 2]
        before, after = codes[opening - 1], codes[closing + 1]
        # The second of two quotes that mean one reads as an opening one behind a closing one.
        begins = (before == self.separator[-1]) | (before == self.line_end[-1]) | (before == _QUOTE)
        ends = (after == self.separator[0]) | (after == self.line_end[0]) | (after == _QUOTE)
        self.is_odd = not (begins.all() and ends.all())
        self.quotes += len(quotes)

    def _other_end(self, codes: Any, quotes: Any) -> int | None:
        """Return the line of the first line feed outside of quotes that is not the header's kind of line end."""
        import numpy

        feeds = numpy.flatnonzero(codes[1:-1] == _LF) + 1
        other_feeds = feeds[(codes[feeds - 1] == _CR) != (self.line_end == b"\r\n")]
        outside = other_feeds[(numpy.searchsorted(quotes, other_feeds) + self.quotes) % 2 == 0]
        return self.lines + int(numpy.searchsorted(feeds, outside[0])) + 1 if len(outside) else None


def find_csv_faults(file: Input, header: CsvHeader) -> CsvFaults:
    """Return the faults of a file that is readable here."""
    with read_errors(file.path):
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


def read_fault(text: str, path: str) -> Problem | None:
    """Return the problem that ``fault_text`` has written, None for other texts."""
    match = _REPORTED.match(text)
    if match is None:
        return None
    description, quote, text = match["what"].partition(': "')
    message = description + "".join(f"{quote}{example}" for example in mask_examples((text,), is_personal=False))
    return Problem(message, Location(path, int(match["line"]), int(match["column"])))


def key_of(cell: BrokenCell) -> str:
    """Return the key of a broken cell among the values of its column."""
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
    """Return the faults of a text, read row by row."""
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
        # The number of records before this row is its number without the header.
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
    """Warn of harmless faults in CSV files: quotes that are not doubled, mixed line ends."""
    for path, file_faults in faults.items():
        if file_faults.harmless:
            cell, cells = file_faults.harmless
            many = "this cell has" if cells == 1 else f"this cell and {cells - 1:,} more have"
            location = Location(path, cell.line, cell.column)
            warn(
                f"{location}: {many} quotes inside that are not doubled: reading the cell unchanged, with all quotes",
                [path],
            )
        if file_faults.other_end:
            warn(
                f"{Location(path, file_faults.other_end)}: this line ends in another way than the header, "
                "by CR LF or by LF: the header's line end is that of all rows, and the other one a part of a cell",
                [path],
            )
