"""Groups CSV files into tables by header, with column names and faults."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

from schemactl.engine.csv_faults import CsvFaults, warn_of_csv
from schemactl.engine.csv_header import CsvHeader, looks_like_record, read_header
from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn, warn_of_renamed
from schemactl.errors import backquoted
from schemactl.examples import mask_examples
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.csv_rows import BrokenCell, walk_rows
from schemactl.kernel.partitions import Gaps

_COMPARED_ROWS: Final = 100
"""The rows that a header is compared with."""
_CUT_BYTES: Final = 1 << 19
_MOST_SHOWN: Final = 5

FindFaults = Callable[[Input, CsvHeader], Mapping[str, CsvFaults]]
"""Returns the faults of a file by its path; for a folder of an object store, the faults of its files."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Files with one header.

    Attributes:
        faults: the faults by path.
        broken_headers: files whose header has a quote that never closes: each is one bad record.
    """

    header: CsvHeader
    files: tuple[Input, ...]
    faults: Mapping[str, CsvFaults]
    broken_headers: Mapping[Input, BrokenCell]

    @property
    def gaps(self) -> Gaps:
        """Rows that are not records, by path."""
        return {path: faults.gaps for path, faults in self.faults.items()}

    @property
    def starts(self) -> dict[str, Mapping[int, bool]]:
        """The offsets at which parts of files may begin (``parts.cut_csv``), by path."""
        return {path: faults.starts for path, faults in self.faults.items()}

    def layouts(self, files: Sequence[Input]) -> Iterator[tuple[CsvLayout, list[Input]]]:
        """Yield the layouts of well-formed and malformed files, with these files; a warning names renamed columns."""
        header, names = self.header, self.names()
        is_plain = bool(header.line_end and header.separator.isascii()) and {"\r", "\n"}.isdisjoint(header.row)
        header_rows = header.skipped_lines + (not header.is_record)
        for is_well_formed in (True, False) if names else ():
            if group := [
                file for file in files if (is_plain and self.faults[file.path].is_well_formed) is is_well_formed
            ]:
                self.warn_of_renamed(names, group)
                line_end = header.line_end.encode()
                layout = CsvLayout(tuple(names), header.separator, line_end, header_rows, header.skipped_lines)
                yield replace(layout, is_well_formed=is_well_formed), group

    def names(self) -> list[str]:
        return column_names(self.header.cells())

    def warn_of_renamed(self, names: Sequence[str], files: Sequence[Input]) -> None:
        """Report columns whose names in the header are blank or repeated, with their new names."""
        if not self.header.is_record:
            warn_of_renamed(self.header.cells(), names, [file.path for file in files])


def read_csv_tables(
    inputs: Sequence[Input], separator: str | None, read_head: Callable[[Input], str], find_faults: FindFaults
) -> Iterator[CsvTable]:
    """Yield the files of each header; harmless faults become warnings.

    ``separator`` is the one that the format sets; None to detect it in the header.
    """
    groups: dict[tuple[str, CsvHeader], list[Input]] = {}
    for file in inputs:
        head = read_head(file)
        header = read_header(head, separator, file.has_header)
        if file.has_header is None:
            _warn_of_record(file, header, head)
        groups.setdefault((file.encoding, header), []).append(file)
    for (_, header), files in groups.items():
        faults: dict[str, CsvFaults] = {}
        broken_headers: dict[Input, BrokenCell] = {}
        readable: list[Input] = []
        for file in files:
            file_faults = find_faults(file, header)
            broken = next((fault.header for fault in file_faults.values() if fault.header), None)
            if broken is None:
                readable.append(file)
                faults |= file_faults
            else:
                broken_headers[file] = broken
        warn_of_csv(faults)
        yield CsvTable(header, tuple(readable), faults, broken_headers)


def _warn_of_record(file: Input, header: CsvHeader, head: str) -> None:
    """Warn of a first row that looks like a record: as names it would be lost."""
    line_end = header.line_end or "\n"
    lines = io.StringIO(head, newline=line_end)
    rows = walk_rows(islice(lines, header.skipped_lines, None), header.separator, keeps_values=True, line_end=line_end)
    # The last row of the head may be cut.
    first_rows = [row.values for row in islice(rows, 1, _COMPARED_ROWS)][: -1 if len(head) > _CUT_BYTES else None]
    cells = header.cells()
    if first_rows and looks_like_record(cells, first_rows):
        examples = backquoted(mask_examples(cells[:_MOST_SHOWN], is_personal=False))
        way = "use `--no-header` to read it as a record, or `--header` to end this warning"
        message = f"the first row is read as names of columns, but looks like a record: {examples}; {way}"
        warn(f"{file.path}: {message}", [file.path])


def column_names(cells: Sequence[str]) -> list[str]:
    """Return names as Spark derives them from a header: blank and equal names get their number, here a free number."""
    names: list[str] = []
    taken_names = set(cells)
    for number, (cell, numbered) in enumerate(zip(cells, numbered_cells(cells), strict=True)):
        free = (f"{cell or '_c'}{'_' * blanks}{number}" for blanks in count())
        names.append(cell if cell == numbered else next(name for name in free if name not in taken_names))
        taken_names.add(names[-1])
    return names


def numbered_cells(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header; blank and repeated cells get their number."""
    counts = Counter(cells)
    return [f"{cell or '_c'}{number}" if counts[cell] > 1 or not cell else cell for number, cell in enumerate(cells)]
