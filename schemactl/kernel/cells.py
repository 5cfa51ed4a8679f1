"""Cuts well-formed CSV into rows and cells, a block of bytes at a time; cutting a part of a file gives the same rows.

Well-formed: each quote opens or closes a cell or means a quote within it, and all rows have the same line end
(``engine.csv_faults``). Rows and cells then equal the rows and cells of Spark's reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.grouping import group_by
from schemactl.kernel.splitting import BYTE_ORDER_MARK

_QUOTE: Final = b'"'
_AT_ONCE: Final = 1_000
"""Rows that become documents together: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """The layout of the rows of a file.

    Attributes:
        separator: the cell separator; one ASCII character.
        header_rows: the number of rows at the beginning of the file that are not records.
        skipped_lines: the number of header rows before the column names.
        taken: the numbers of the columns to read; None for all columns.
        is_well_formed: whether all quotes and line ends are right; otherwise rows are read one by one (``csv_rows``).
    """

    names: tuple[str, ...]
    separator: str
    line_end: bytes
    header_rows: int = 1
    skipped_lines: int = 0
    null_values: tuple[str, ...] = ()
    taken: tuple[int, ...] | None = None
    is_well_formed: bool = True

    def taken_columns(self, columns: Sequence[pa.Array], faults: pa.Array) -> TextRows:
        """Return the columns that are read, of all columns of some rows, with nulls for the texts that mean null."""
        if self.taken is not None:
            columns = [columns[number] for number in self.taken]
        if self.null_values:
            nulls = pa.array(self.null_values, pa.string())
            missing = pa.scalar(None, pa.string())
            columns = [pc.if_else(pc.is_in(column, value_set=nulls), missing, column) for column in columns]
        return TextRows(list(columns), faults)


@dataclass(frozen=True, slots=True)
class TextRows:
    """Consecutive rows.

    Attributes:
        columns: the strings of each column that is read; null if a cell is empty, quoted or not, or missing.
        faults: why a row is bad, in words that are not JSON; null for a good row.
    """

    columns: list[pa.Array]
    faults: pa.Array

    def skip(self, rows: int) -> TextRows:
        """Return the rows without the first ``rows`` rows."""
        return TextRows([column.slice(rows) for column in self.columns], self.faults.slice(rows))

    def documents(self, names: Sequence[str]) -> list[bytes]:
        """Return each row as JSON, empty cells left out; a bad one in words that are not JSON."""
        texts: list[bytes] = []
        for start in range(0, len(self.faults), _AT_ONCE):
            columns = [column.slice(start, _AT_ONCE) for column in self.columns]
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            if any(column.null_count for column in columns):
                objects = (
                    {name: cell for name, cell in zip(names, row, strict=True) if cell is not None} for row in rows
                )
            else:
                objects = (dict(zip(names, row, strict=True)) for row in rows)
            texts += map(orjson.dumps, objects)
        if self.faults.null_count < len(self.faults):
            faults = self.faults.to_pylist()
            return [text if fault is None else fault.encode() for text, fault in zip(texts, faults, strict=True)]
        return texts


def split_rows(blocks: Iterable[bytes], line_end: bytes, size: int | None = None) -> Iterator[bytes]:
    """Yield pieces of whole rows of a file, up to the last row that begins within ``size`` bytes (None for all rows).

    The blocks begin with a row, and are cut anywhere.
    """
    mark, is_inside = line_end[-1:], False
    pending: list[bytes] = []
    for block in blocks:
        if size is not None and size <= len(block):
            last_byte = size - 1
            end = _first_end(block, mark, last_byte, is_inside ^ _has_odd_quotes(block, 0, last_byte))
            if end:
                yield b"".join((*pending, block[:end]))
                return
            pending.append(block)
            is_inside ^= _has_odd_quotes(block)
            size = 1  # the row goes on, however long it is
            continue
        is_inside ^= _has_odd_quotes(block)
        if end := _last_end(block, mark, is_inside):
            yield b"".join((*pending, block[:end]))
            pending = [block[end:]]
        else:
            pending.append(block)
        size = None if size is None else size - len(block)
    if any(pending):
        yield b"".join(pending)


def skip_row(blocks: Iterable[bytes], line_end: bytes, is_inside: bool) -> tuple[int, Iterator[bytes]]:
    """Skip to the end of the first row; return the number of skipped bytes and the remaining blocks.

    ``is_inside`` tells whether a quoted cell is open at the start of the blocks.
    """
    blocks, skipped = iter(blocks), 0
    for block in blocks:
        if end := _first_end(block, line_end[-1:], 0, is_inside):
            return skipped + end, chain((block[end:],), blocks)
        skipped += len(block)
        is_inside ^= _has_odd_quotes(block)
    return skipped, iter(())


def _first_end(block: bytes, mark: bytes, start: int, is_inside: bool) -> int:
    """Return the end of the row that contains a position of a block; 0 if the row does not end in the block."""
    while (mark_index := block.find(mark, start)) >= 0:
        is_inside ^= _has_odd_quotes(block, start, mark_index)
        start = mark_index + 1
        if not is_inside:
            return start
    return 0


def _last_end(block: bytes, mark: bytes, is_inside: bool) -> int:
    """Return the end of the last row that ends in a block; 0 if no row ends.

    ``is_inside`` tells whether a quoted cell is open at the end of the block.
    """
    end = len(block)
    while (mark_index := block.rfind(mark, 0, end)) >= 0:
        is_inside ^= _has_odd_quotes(block, mark_index, end)
        end = mark_index
        if not is_inside:
            return end + 1
    return 0


def _has_odd_quotes(block: bytes, start: int = 0, end: int | None = None) -> bool:
    return bool(block.count(_QUOTE, start, end) & 1)


def cut_cells(rows: bytes, layout: CsvLayout) -> TextRows:
    """Return the cells of whole rows, without blank lines."""
    text = rows if layout.line_end == b"\n" else rows.replace(layout.line_end, b"\n")
    width = len(layout.names)
    columns, unlike = _parse(text, width, layout)
    faults = pa.nulls(len(columns[0]), pa.string())
    if unlike:
        columns, faults = _with_unlike(columns, unlike, layout)
    return layout.taken_columns(columns, faults)


def _parse(text: bytes, width: int, layout: CsvLayout) -> tuple[list[pa.Array], list[Any]]:
    """Return the columns of the rows that have as many cells, and the other rows as pyarrow describes them."""
    import pyarrow.csv

    unlike: list[Any] = []
    if not text.strip(b"\n"):
        return [pa.array([], pa.string())] * width, unlike

    def leave_out(row: Any) -> str:
        unlike.append(row)
        return "skip"

    has_quotes = _QUOTE in text
    # pyarrow takes a byte order mark off each text.
    marked = BYTE_ORDER_MARK + text if text.startswith(BYTE_ORDER_MARK) else text
    names = list(map(str, range(width)))
    read = pyarrow.csv.read_csv(
        pa.py_buffer(marked),
        pyarrow.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(marked) + 1),
        pyarrow.csv.ParseOptions(
            delimiter=layout.separator, quote_char='"' if has_quotes else False, newlines_in_values=has_quotes,
            invalid_row_handler=leave_out,
        ),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True,
            check_utf8=False,
        ),
    )  # fmt: skip
    return [column.combine_chunks() for column in read.columns], unlike


def _with_unlike(
    columns: Sequence[pa.Array], unlike: Sequence[Any], layout: CsvLayout
) -> tuple[list[pa.Array], pa.Array]:
    """Return all rows in order, and why some are bad: rows with a cell behind the last column."""
    width = len(layout.names)
    rows_by_width: dict[int, list[Any]] = group_by(unlike, lambda row: row.actual_columns)
    total = len(columns[0]) + len(unlike)
    order = sorted(set(range(total)).difference(row.number - 1 for row in unlike))
    column_groups = [list(columns)]
    faults = [pa.nulls(len(columns[0]), pa.string())]
    for cells, rows in rows_by_width.items():
        order += [row.number - 1 for row in rows]
        unlike_columns, _ = _parse("\n".join(row.text for row in rows).encode(), cells, layout)
        column_groups.append([*unlike_columns[:width], *[pa.nulls(len(rows), pa.string())] * (width - cells)])
        faults.append(_surplus(unlike_columns[: width + 1]) if cells > width else pa.nulls(len(rows), pa.string()))
    indices = pa.array(sorted(range(total), key=order.__getitem__), pa.int64())
    merged = [pa.concat_arrays(arrays).take(indices) for arrays in zip(*column_groups, strict=True)]
    return merged, pa.concat_arrays(faults).take(indices)


def _surplus(cells: Sequence[pa.Array]) -> pa.Array:
    """Return a message for rows whose last cell is not empty, null otherwise."""
    words = [
        None if row[-1] is None else f"more cells than columns: {', '.join(filter(None, row))}"
        for row in zip(*(column.to_pylist() for column in cells), strict=True)
    ]
    return pa.array(words, pa.string())
