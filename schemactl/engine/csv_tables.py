"""Files of CSV as tables: those of one header together, with the names of their columns and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from schemactl.engine.csv_faults import BrokenCell, CsvFaults, warn_of_csv
from schemactl.engine.csv_header import CsvHeader, read_header
from schemactl.engine.input import Input
from schemactl.engine.input_warnings import warn_of_renamed
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.partitions import Gaps

FindFaults = Callable[[Input, CsvHeader], Mapping[str, CsvFaults]]
"""Returns what is wrong with a file by its path; by those of its files for a folder of an object store."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Files with one header.

    Attributes:
        faults: by path.
        broken_headers: files whose header has a quote that never closes: each is one bad record.
    """

    header: CsvHeader
    files: tuple[Input, ...]
    faults: Mapping[str, CsvFaults]
    broken_headers: Mapping[Input, BrokenCell]

    @property
    def gaps(self) -> Gaps:
        """Rows that are no records, by path."""
        return {path: faults.gaps for path, faults in self.faults.items()}

    def layout(self) -> CsvLayout:
        """Return the layout of its files."""
        header = self.header
        header_rows = 1 + header.is_stated
        return CsvLayout(tuple(self.names()), header.separator, header.line_end.encode(), header_rows=header_rows)

    def names(self) -> list[str]:
        """Return the names of columns."""
        return column_names(self.header.cells())

    def well_formed(self, files: Sequence[Input]) -> list[Input]:
        """Return those of some files in which any reader finds the same cells; a warning names renamed columns."""
        header = self.header
        is_plain = bool(header.cells() and header.line_end and header.separator.isascii())
        if not is_plain or not {"\r", "\n"}.isdisjoint(header.row):
            return []
        sound = [file for file in files if self.faults[file.path].is_well_formed]
        if sound:
            warn_of_renamed(header.cells(), self.names(), [file.path for file in sound])
        return sound


def read_csv_tables(
    inputs: Sequence[Input], separator: str | None, read_head: Callable[[Input], str], find_faults: FindFaults
) -> Iterator[CsvTable]:
    """Yield the files of each header; warnings say what stops nothing.

    Args:
        inputs: the files.
        separator: that the format states; None to find it in the header.
        read_head: returns the beginning of a file.
        find_faults: looks through a file.

    Raises:
        InputError: a file cannot be read.
    """
    groups: dict[tuple[str, CsvHeader], list[Input]] = {}
    for file in inputs:
        groups.setdefault((file.encoding, read_header(read_head(file), separator)), []).append(file)
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


def column_names(cells: Sequence[str]) -> list[str]:
    """Return names as Spark makes them of a header: blank and equal ones get their number, here one that is free."""
    names: list[str] = []
    others = set(cells)
    for number, (cell, numbered) in enumerate(zip(cells, numbered_cells(cells), strict=True)):
        free = (f"{cell or '_c'}{'_' * blanks}{number}" for blanks in count())
        names.append(cell if cell == numbered else next(name for name in free if name not in others))
        others.add(names[-1])
    return names


def numbered_cells(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header, those that are blank or equal with their number."""
    counts = Counter(cells)
    return [f"{cell or '_c'}{number}" if counts[cell] > 1 or not cell else cell for number, cell in enumerate(cells)]
