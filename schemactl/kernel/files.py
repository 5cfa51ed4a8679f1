"""Opens files on Spark's workers and reads their records; Spark hands over which files, and reads nothing of them."""

from __future__ import annotations

import io
import os
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import IO, Final, TypeVar

import orjson
import pyarrow as pa

from schemactl.kernel.cells import CsvLayout, TextRows, cut_cells, skip_row, split_rows
from schemactl.kernel.csv_rows import read_malformed
from schemactl.kernel.opening import open_bytes, reason_of
from schemactl.kernel.selection import select_documents, select_elements, select_in_text, select_lines
from schemactl.kernel.splitting import (
    BYTE_ORDER_MARK,
    ListPart,
    blocks_of,
    skip_line,
    split_elements,
    split_lines,
    split_part,
)
from schemactl.memory import why_too_large
from schemactl.schema.record_selection import RecordSelection

READ_BYTES: Final = 1 << 21
"""Records of a block are parsed together. Of blocks from 256 KB to 4 MB these took the least time for documents of 0.5
and 0.7 KB: a tenth to a fifth less than 1 MB."""
ROWS_BYTES: Final = 1 << 22
"""Rows of many columns cost little more in large blocks, as each column of a block has a price."""
HEAD_BYTES: Final = 1 << 12
"""The number of bytes at the beginning of a document that show whether it is a list."""
LONG_LINE_BYTES: Final = 1 << 25
"""A line of more bytes is read block by block if it is a document that has records inside."""

Records = TypeVar("Records", bytes, list[bytes])
"""Rows that follow one another, or a list of documents."""

PIECES: Final = "file string, block bigint, texts binary"
"""The number of a piece in its file, and its records as a pickled list: Spark is slow with arrays of strings."""

TEXTS: Final = "file string, block bigint, text binary"
"""Records one by one."""


class Form(StrEnum):
    """The form of the records of a file."""

    LINES = "lines"
    ELEMENTS = "elements"
    TEXTS = "texts"
    """Lines of plain text, each the document ``{"value": LINE}``."""
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, or all of it.

    Attributes:
        file: its address, as Spark writes it.
        suffix: one of ``opening.SUFFIXES``.
        start, size: the part, in bytes; a size of None means the whole file.
        before: the state at the start of a part of a list.
        is_in_cell: whether a part of rows begins within a quoted cell.
        selection: the selection of records inside JSON documents; None if each document is a record.
    """

    file: str
    path: str
    suffix: str
    encoding: str
    form: Form
    start: int = 0
    size: int | None = None
    before: ListPart | None = None
    layout: CsvLayout | None = None
    is_in_cell: bool = False
    selection: RecordSelection | None = None

    def open(self) -> IO[bytes]:
        """Open the file, decompressed, where the part begins."""
        opened = open_bytes(self.path, self.suffix)
        if self.start:
            opened.seek(self.start)
        return opened

    def is_list(self) -> bool:
        """Return whether a document is a list; False if it begins with many blanks."""
        with suppress(OSError, EOFError), self.open() as opened:
            return opened.read(HEAD_BYTES).decode(self.encoding, "replace").lstrip("\ufeff \t\r\n").startswith("[")
        return False

    def has_long_line(self) -> bool:
        """Return whether the first line has more than ``LONG_LINE_BYTES``."""
        with suppress(OSError, EOFError), self.open() as opened:
            read = 0
            for block in _blocks(opened, self.encoding, READ_BYTES):
                read += len(block)
                if b"\n" in block or b"\r" in block:
                    return False
                if read > LONG_LINE_BYTES:
                    return True
        return False


class UnreadableFileError(Exception):
    """A file that cannot be read: its address and the reason, for people."""

    def __str__(self) -> str:
        return f"UnreadableFileError: {super().__str__()}"


def parts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[FilePart]:
    """Yield the parts of files of shares: pickled tuples of parts, in a column ``share``."""
    for batch in batches:
        for share in batch.column("share").to_pylist():
            yield from pickle.loads(share)


def read_cells(file_part: FilePart) -> Iterator[TextRows]:
    """Yield the rows of a part of a file, some that follow one another at once."""
    with wrapped_errors(file_part):
        yield from _rows(file_part)


def read_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of shares (``parts_of``) in pieces of about a megabyte, parsed on any core (``PIECES``)."""
    for file_part in parts_of(batches):
        yield from _pieces(file_part.file, read_records(file_part))


def split_contents(
    batches: Iterable[pa.RecordBatch], selection: RecordSelection | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the elements of files that came whole (``file``, ``content``), or the records that are selected of them."""
    for batch in batches:
        for file, content in zip(batch.column("file").to_pylist(), batch.column("content").to_pylist(), strict=True):
            open_blocks = partial(blocks_of, content, READ_BYTES)
            if selection is None:
                yield from _pieces(file, split_elements(open_blocks()))
            else:
                yield from _pieces(file, select_elements(open_blocks, selection, partial(_check_record, file)))


def select_texts(batches: Iterable[pa.RecordBatch], selection: RecordSelection) -> Iterator[pa.RecordBatch]:
    """Yield the records of documents that are lines: columns ``file``, ``block`` and ``text`` (binary)."""
    for batch in batches:
        files, blocks, records = [], [], []
        for file, block, text in zip(*(batch.column(name).to_pylist() for name in batch.schema.names), strict=True):
            if text is None or not text.strip():
                continue
            selected = select_in_text(text, selection, partial(_check_record, file))
            files += [file] * len(selected)
            blocks += [block] * len(selected)
            records += selected
        columns = [pa.array(files, pa.string()), pa.array(blocks, pa.int64()), pa.array(records, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["file", "block", "text"])


def _check_record(file: str, size: int) -> None:
    if reason := why_too_large(size):
        raise UnreadableFileError(f"{file}: a record has more than {reason}")


def read_records(file_part: FilePart) -> Iterator[list[bytes]]:
    """Yield the records of a part of a file, some that follow one another at once."""
    with wrapped_errors(file_part):
        if file_part.selection is not None:
            yield from _selected_records(file_part, file_part.selection)
        elif file_part.form is Form.LINES:
            yield from _lines(file_part)
        elif file_part.form is Form.TEXTS:
            for lines in _lines(file_part):
                yield [orjson.dumps({"value": line.decode("utf-8", "replace")}) for line in lines]
        elif file_part.layout is not None:
            for rows in _rows(file_part):
                yield rows.documents(file_part.layout.names)
        else:
            # The size of an object of a store is only known as it is read.
            size = os.stat(file_part.path).st_size if file_part.size is None and "://" not in file_part.path else 0  # noqa: PTH116
            if (reason := why_too_large(size)) and not file_part.is_list():
                raise UnreadableFileError(f"{file_part.file}: document 1 has {reason}")
            with file_part.open() as opened:
                blocks = _blocks(opened, file_part.encoding, READ_BYTES)
                split: Callable[[Iterable[bytes]], Iterator[list[bytes]]] = split_elements
                if file_part.before is not None and file_part.size is not None:
                    split = partial(split_part, before=file_part.before, size=file_part.size)
                yield from _bounded(file_part, "document", split, blocks)


def _selected_records(file_part: FilePart, selection: RecordSelection) -> Iterator[list[bytes]]:
    """Yield the records inside the documents of a part."""
    check = partial(_check_record, file_part.file)
    are_lines = file_part.form is Form.LINES
    if are_lines and not (file_part.size is None and file_part.has_long_line()):
        yield from select_lines(_lines(file_part), selection, check)
        return
    with ExitStack() as stack:

        def open_blocks() -> Iterator[bytes]:
            return _blocks(stack.enter_context(file_part.open()), file_part.encoding, READ_BYTES)

        if are_lines:
            yield from select_documents(open_blocks, selection, check, are_many=True)
        else:
            yield from select_elements(open_blocks, selection, check)


@contextmanager
def wrapped_errors(file_part: FilePart) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except EOFError as error:
        raise UnreadableFileError(f"{file_part.file}: the compressed file ends too early") from error
    except (OSError, zlib.error) as error:
        raise UnreadableFileError(f"{file_part.file}: the file cannot be read: {reason_of(error)}") from error


def _rows(file_part: FilePart) -> Iterator[TextRows]:
    """Yield the rows that begin in a part of a file of CSV, all of it if it is malformed; its header is left out."""
    assert file_part.layout is not None
    if not file_part.layout.is_well_formed:
        encoding = "utf-8-sig" if file_part.encoding == "UTF-8" else file_part.encoding
        line_end = file_part.layout.line_end.decode() or "\n"
        with (
            file_part.open() as opened,
            io.TextIOWrapper(opened, encoding, errors="replace", newline=line_end) as lines,
        ):
            yield from read_malformed(lines, file_part.layout)
        return
    size, skipped, is_first = file_part.size, 0, not file_part.start
    with file_part.open() as opened:
        if file_part.start:
            # A row is of the part that it begins in; the byte before may be the end of another.
            opened.seek(file_part.start - 1)
            is_inside = file_part.is_in_cell ^ (opened.read(1) == b'"')
            opened.seek(file_part.start - 1)
            skipped_bytes, blocks = skip_row(
                _blocks(opened, file_part.encoding, ROWS_BYTES), file_part.layout.line_end, is_inside
            )
            size = None if size is None else size - (skipped_bytes - 1)
        else:
            blocks, skipped = _blocks(opened, file_part.encoding, ROWS_BYTES), file_part.layout.header_rows
        if size is not None and size <= 0:
            return
        split = partial(split_rows, line_end=file_part.layout.line_end, size=size)
        for text in _bounded(file_part, "row", split, blocks):
            if reason := why_too_large(len(text) - ROWS_BYTES):
                raise UnreadableFileError(f"{file_part.file}: a row has {reason}")
            rows = cut_cells(text.removeprefix(BYTE_ORDER_MARK) if is_first else text, file_part.layout)
            is_first = False
            remaining_rows = rows.skip(skipped)
            skipped = max(skipped - len(rows.faults), 0)
            yield remaining_rows


def _lines(file_part: FilePart) -> Iterator[list[bytes]]:
    size = file_part.size
    with file_part.open() as opened:
        blocks = _blocks(opened, file_part.encoding, READ_BYTES)
        if file_part.start:
            # A line is of the part that it begins in; the byte before may be the end of another.
            opened.seek(file_part.start - 1)
            skipped, blocks = skip_line(blocks)
            size = None if size is None else size - (skipped - 1)
            if size is not None and size <= 0:
                return
        for lines in _bounded(file_part, "document", partial(split_lines, size=size), blocks):
            # Concatenated files have byte order marks; one byte is found much faster than three, or than by lines.
            has_mark = BYTE_ORDER_MARK[:1] in b"".join(lines)
            yield [line.removeprefix(BYTE_ORDER_MARK) for line in lines] if has_mark else lines


def _bounded(
    file_part: FilePart, kind: str, split: Callable[[Iterable[bytes]], Iterator[Records]], blocks: Iterable[bytes]
) -> Iterator[Records]:
    """Yield the records that ``split`` cuts from blocks; fail on a record that is too large for this machine.

    A small compressed file may contain a huge record.
    """
    pending = 0

    def counted() -> Iterator[bytes]:
        nonlocal pending
        for block in blocks:
            pending += len(block)
            if reason := why_too_large(pending - ROWS_BYTES):
                raise UnreadableFileError(f"{file_part.file}: a {kind} has more than {reason}")
            yield block

    for records in split(counted()):
        pending = 0 if records else pending
        yield records


def _blocks(opened: IO[bytes], encoding: str, size: int) -> Iterator[bytes]:
    """Yield a file as UTF-8, about ``size`` bytes at a time."""
    if encoding == "UTF-8":
        yield from iter(partial(opened.read, size), b"")
        return
    with io.TextIOWrapper(opened, encoding, errors="replace") as text:
        yield from (block.encode() for block in iter(partial(text.read, size), ""))


def _pieces(file: str, records: Iterable[list[bytes]]) -> Iterator[pa.RecordBatch]:
    pending: list[bytes] = []
    size = number = 0
    for texts in records:
        pending += texts
        size += sum(map(len, texts)) + len(texts)  # a file may have billions of empty lines
        if size >= READ_BYTES:
            yield _piece(file, number, pending)
            pending, size, number = [], 0, number + 1
    yield _piece(file, number, pending)


def _piece(file: str, number: int, texts: list[bytes]) -> pa.RecordBatch:
    columns = [pa.array([file]), pa.array([number], pa.int64()), pa.array([pickle.dumps(texts)])]
    return pa.RecordBatch.from_arrays(columns, ["file", "block", "texts"])
