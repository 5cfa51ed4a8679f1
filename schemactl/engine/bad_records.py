"""Rereads records that could not be read, to report line, column and reason if the file is on this machine.

Files are streamed. Spark numbers records, which equals lines only if each record has one line (``Position``). A record
that is not found again is reported by its number.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final, cast

from schemactl.engine.csv_faults import read_fault
from schemactl.engine.csv_header import SEPARATORS, read_header
from schemactl.engine.input import UTF8, Input, open_input, read_head
from schemactl.errors import Location, Problem
from schemactl.examples import mask_examples
from schemactl.grouping import group_by
from schemactl.kernel.csv_rows import CsvRow, walk_rows
from schemactl.kernel.parsing import DECODER
from schemactl.kernel.partitions import BadRecord
from schemactl.kernel.selection import read_selection_fault, select_in_text
from schemactl.schema.record_selection import RecordSelection

BLANKS: Final = " \t\r\n"

UNCLOSED: Final = "a string has no closing quote"

MOST_CHARACTERS: Final = 1 << 24
"""Of a record that is looked at again; it is held whole."""

_SHOWN = 100
_TAKEN = 1 << 16
_STRING = r'"(?:[^"\\]|\\.)*+"'
_ATOM = re.compile(rf"{_STRING}|(?P<atom>-?Infinity|NaN|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)", re.DOTALL)
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"(?P<pair>{_HIGH}{_LOW})|(?P<half>{_HIGH}|{_LOW})|\\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a text, and the character that it is at, counted from 0."""

    offset: int
    reason: str


def find_fault(text: str) -> Fault | None:
    """Return the reason why a text is not one JSON document, None if it is one."""
    start = len(text) - len(text.lstrip(BLANKS))
    end = scan_value(text, start)
    if isinstance(end, Fault):
        return end
    remainder_start = end + len(text[end:]) - len(text[end:].lstrip(BLANKS))
    if remainder_start == len(text):
        return None
    is_number = text[remainder_start].isdigit() and text[remainder_start - 1 : remainder_start] == "0"
    return Fault(remainder_start, "a number starts with 0" if is_number else "something follows the document")


def scan_value(text: str, start: int) -> int | Fault:
    """Return the end of the JSON value that begins at ``start``, or the fault in it."""
    try:
        _, end = DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Fault(error.pos, _reason(text, error))
    except RecursionError:
        return Fault(start, "this nests too deep")
    except ValueError as error:  # JSON, or Python's parser, allows more than ours
        atoms = (match for match in _ATOM.finditer(text, start) if match["atom"])
        return Fault(next((match.start() for match in atoms if not _is_number(match["atom"])), start), str(error))
    halves = (match.start() for match in _ESCAPE.finditer(text, start, end) if match["half"])
    half = next(halves, None) if "\\u" in text else None
    return end if half is None else Fault(half, "a surrogate pair is incomplete")


def _is_number(text: str) -> bool:
    try:
        DECODER.decode(text)
    except ValueError:
        return False
    return True


def _reason(text: str, error: json.JSONDecodeError) -> str:
    if text[error.pos : error.pos + 1].isdigit() and re.search(r"(?<![0-9.eE+])-?0\Z", text[: error.pos][-3:]):
        return "a number starts with 0"
    if error.msg.startswith("Unterminated string"):
        return UNCLOSED
    # Python's message ends with the position.
    return (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")


def explain_bad_records(bad: Iterable[BadRecord], inputs: Iterable[Input]) -> list[Problem]:
    """Return the faults of records, which are sorted by place, and their places."""
    inputs_by_path = {file.path: file for file in inputs}
    by_file = group_by(bad, lambda record: record.position.file)
    return [problem for path, records in by_file.items() for problem in _explain(records, inputs_by_path.get(path))]


def _explain(records: list[BadRecord], file: Input | None) -> Iterator[Problem]:
    problems: Mapping[int, Problem] = {}
    if file is not None and file.is_reachable:
        # A record that has vanished since keeps its number.
        with suppress(OSError, EOFError):
            problems = _look_again(file, records)
    is_csv = file is not None and file.format in ("csv", "tsv")
    for record in records:
        reported = read_fault(record.text, record.position.file) if is_csv else None
        yield problems.get(record.position.number) or reported or _by_number(record, file)


def _look_again(file: Input, records: list[BadRecord]) -> Mapping[int, Problem]:
    if file.selection is not None:
        if file.format == "ndjson":
            return _in_selected_lines(file, file.selection, {record.position.number for record in records})
        broken = [record.position.number for record in records if not read_selection_fault(record.text)]
        return _in_document(file, broken[0]) if broken else {}
    match file.format:
        case "ndjson":
            return _in_lines(file, records)
        case "json":
            return _in_document(file, records[0].position.number)
        case "csv" | "tsv":
            return _in_rows(file, records)
        case _:
            return {}


def _by_number(record: BadRecord, file: Input | None) -> Problem:
    number, path = record.position.number, record.position.file
    if fault := read_selection_fault(record.text):
        return Problem(fault[0], Location(path), fault[1])
    is_line = file is not None and file.format == "ndjson" and file.selection is None
    if is_line or (file is not None and record.position.location.row):
        return Problem(f"unreadable record{_quote(record.text)}", record.position.location)
    return Problem(f"record {number:,} cannot be read{_quote(record.text)}", Location(path))


def _quote(text: str) -> str:
    """Return the text of a record behind a colon, as far as values of rows may be shown."""
    return "".join(f": {example}" for example in mask_examples((on_one_line(text),), is_personal=False))


def on_one_line(text: str) -> str:
    r"""Return the beginning of a text, blanks and line breaks as one blank each.

    >>> on_one_line('{"a": 1,\n   "b"')
    '{"a": 1, "b"'
    """
    joined = " ".join(text.split())
    return joined if len(joined) <= _SHOWN else f"{joined[: _SHOWN - 1]}…"


def _open(file: Input, newline: str | None = None) -> IO[str]:
    """Open a file as text; invalid bytes become surrogates."""
    binary = open_input(file)
    if file.encoding == UTF8:
        return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline=newline)
    return io.TextIOWrapper(binary, encoding=file.encoding, errors="replace", newline=newline)


def _in_lines(file: Input, records: Iterable[BadRecord]) -> dict[int, Problem]:
    bad_numbers = {record.position.number for record in records}
    problems: dict[int, Problem] = {}
    with _open(file) as opened:
        for number, line in enumerate(_lines(opened), start=1):
            if number in bad_numbers and line is not None:
                text = line.removeprefix("\ufeff").rstrip("\n") if number == 1 else line.rstrip("\n")
                if (fault := (_no_unicode(text) or find_fault(text))) is not None:
                    problems[number] = _problem(fault, text, Location(file.path, number, fault.offset + 1))
            if len(problems) == len(bad_numbers) or number >= max(bad_numbers):
                break
    return problems


def _lines(opened: IO[str]) -> Iterator[str | None]:
    """Yield lines with their ends, and None in place of too long lines."""
    while line := opened.readline(MOST_CHARACTERS):
        is_whole = True
        while not line.endswith("\n") and len(line) == MOST_CHARACTERS:
            is_whole = False
            line = opened.readline(MOST_CHARACTERS)
        yield line if is_whole else None


def _no_unicode(text: str) -> Fault | None:
    octet_match = re.search("[\udc80-\udcff]", text)
    if octet_match is None:
        return None
    return Fault(octet_match.start(), f"the byte 0x{ord(octet_match[0]) - 0xDC00:02X} is not UTF-8")


def _problem(fault: Fault, text: str, location: Location) -> Problem:
    around = text[max(0, fault.offset - _SHOWN // 2) :] if fault.offset > _SHOWN // 2 else text
    start = "…" if around is not text else ""
    quoted = _quote(start + re.sub("[\udc80-\udcff]", "\ufffd", around[: 4 * _SHOWN]))
    return Problem(f"unreadable record, {fault.reason}{quoted}", location)


def _in_selected_lines(file: Input, selection: RecordSelection, bad_numbers: set[int]) -> dict[int, Problem]:
    problems: dict[int, Problem] = {}
    number = 0
    with _open(file) as opened:
        for line_number, line in enumerate(_lines(opened), start=1):
            if line is None or number >= max(bad_numbers):
                break
            text = line.removeprefix("\ufeff").rstrip("\n") if line_number == 1 else line.rstrip("\n")
            if not text.strip():
                continue
            for record in select_in_text(text.encode(errors="surrogateescape"), selection, lambda _: None):
                number += 1
                if number in bad_numbers:
                    location = Location(file.path, line_number)
                    if selection_fault := read_selection_fault(record.decode(errors="replace")):
                        problems[number] = Problem(selection_fault[0], location, selection_fault[1])
                    elif fault := (_no_unicode(text) or find_fault(text)):
                        location = Location(file.path, line_number, fault.offset + 1)
                        problems[number] = _problem(fault, text, location)
    return problems


@dataclass(slots=True)
class _Window:
    """A part of a file; consumed text is dropped, and its end position is kept."""

    opened: IO[str]
    text: str = ""
    line: int = 1
    column: int = 1
    is_last: bool = False

    def grow(self) -> None:
        """Read as much again as there is."""
        read = self.opened.read(max(_TAKEN, len(self.text)))
        self.is_last = not read
        self.text += read

    def take(self, end: int) -> None:
        """Forget the text before ``end``."""
        location = self.location("", end)
        self.line, self.column = location.line or 1, location.column or 1
        self.text = self.text[end:]

    def take_blanks(self) -> None:
        """Skip blanks, so that the window starts with a character or the file ends."""
        self.take(len(self.text) - len(self.text.lstrip(BLANKS)))
        while not self.text and not self.is_last:
            self.grow()
            self.take(len(self.text) - len(self.text.lstrip(BLANKS)))

    def location(self, path: str, offset: int) -> Location:
        """Return the place of a character."""
        breaks = self.text.count("\n", 0, offset)
        if not breaks:
            return Location(path, self.line, self.column + offset)
        return Location(path, self.line + breaks, offset - self.text.rfind("\n", 0, offset))


def _in_document(file: Input, number: int) -> dict[int, Problem]:
    """Return the fault of a document, by the number of its first bad record."""
    with _open(file) as opened:
        window = _Window(opened)
        try:
            fault = _fault_in_document(window)
        except _TooLargeError:
            return {}
        if fault is None:
            return {}
        return {number: _problem(fault, window.text, window.location(file.path, fault.offset))}


def _fault_in_document(window: _Window) -> Fault | None:
    """Find the first fault; the window then begins with the value that has it."""
    window.take_blanks()
    if window.text.startswith("["):
        window.take(1)
        fault = _fault_in_list(window)
    else:
        fault = _fault_in_value(window)
    if fault is not None:
        return fault
    window.take_blanks()
    return Fault(0, "something follows the document") if window.text else None


def _fault_in_list(window: _Window) -> Fault | None:
    window.take_blanks()
    if window.text.startswith("]"):
        window.take(1)
        return None
    while True:
        if (fault := _fault_in_value(window)) is not None:
            return fault
        window.take_blanks()
        match window.text[:1]:
            case "]":
                window.take(1)
                return None
            case ",":
                window.take(1)
                window.take_blanks()
            case "":
                return Fault(0, "the list is not closed")
            case _:
                return Fault(0, "expecting `,` or `]` after an element")


def _fault_in_value(window: _Window) -> Fault | None:
    """Consume a value of the window, or return the fault in it."""
    while True:
        end_or_fault = scan_value(window.text, 0)
        end = end_or_fault.offset if isinstance(end_or_fault, Fault) else end_or_fault
        is_inside = end < len(window.text) - _TAKEN // 2
        is_open = isinstance(end_or_fault, Fault) and end_or_fault.reason == UNCLOSED
        if not window.is_last and (is_open or not is_inside):
            if len(window.text) > MOST_CHARACTERS:
                raise _TooLargeError
            window.grow()
            continue
        octet = _no_unicode(window.text[:end])
        if octet is not None or isinstance(end_or_fault, Fault):
            return octet or cast(Fault, end_or_fault)
        window.take(end_or_fault)
        return None


class _TooLargeError(Exception):
    """A value is larger than the window."""


def _in_rows(file: Input, records: Iterable[BadRecord]) -> dict[int, Problem]:
    """Find rows that are too long."""
    records_by_row = {record.position.number: record for record in records}
    first = read_header(read_head(file), SEPARATORS.get(file.format), file.has_header)
    separator = first.separator
    problems: dict[int, Problem] = {}
    with _open(file, newline=first.line_end or None) as opened:
        if first.sets_separator:
            opened.readline()
        header: CsvRow | None = None
        for row in walk_rows(opened, separator, 1 + first.sets_separator):
            header = header or row
            is_too_long = row.cells > header.cells and all(cell.is_harmless for cell in row.broken)
            if row.row in records_by_row and is_too_long and _is_of(row, records_by_row[row.row], separator):
                counts = f"more cells ({row.cells}) than columns ({header.cells})"
                problems[row.row] = Problem(
                    f"this row has {counts}{_quote(row.text)}", Location(file.path, row.line, row=row.row)
                )
            if row.row >= max(records_by_row):
                break
    return problems


def _is_of(row: CsvRow, record: BadRecord, separator: str) -> bool:
    """Return whether a row is the record: the file may have changed since it was read."""
    shown_text, row_text = _letters(record.text.partition(":")[2], separator), _letters(row.text, separator)
    shown_length = min(len(shown_text), len(row_text))
    return shown_text[:shown_length] == row_text[:shown_length]


def _letters(text: str, separator: str) -> str:
    return re.sub(rf'[\s,"{re.escape(separator)}]', "", text)
