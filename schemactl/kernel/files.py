"""Opens files on Spark's workers and reads their records; Spark hands over which files, and reads nothing of them."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import IO, Any, Final

import pyarrow as pa

from schemactl.kernel.splitting import (
    BYTE_ORDER_MARK,
    ListPart,
    skip_line,
    split_elements,
    split_lines,
    split_part,
)

READ_BYTES: Final = 1 << 20
_OPENERS: Final[dict[str, Callable[[str, str], Any]]] = {"": open, ".gz": gzip.open, ".bz2": bz2.open}
SUFFIXES: Final = tuple(_OPENERS)
"""How names of files end that are read without Spark; those of files that are not compressed end in anything else."""

PIECES: Final = "file string, block bigint, texts array<binary>"
"""Records that follow one another, and the number of the piece in its file."""


class Form(StrEnum):
    """What the records of a file are."""

    LINES = "lines"
    ELEMENTS = "elements"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, or all of it.

    Attributes:
        file: its address, as Spark writes it.
        path: where it is opened.
        suffix: of ``SUFFIXES``.
        encoding: of the text.
        form: of its records.
        start, size: of the part, in bytes; a size of None is all.
        before: what holds where a part of a list begins.
    """

    file: str
    path: str
    suffix: str
    encoding: str
    form: Form
    start: int = 0
    size: int | None = None
    before: ListPart | None = None

    def open(self) -> IO[bytes]:
        """Open the file, decompressed, where the part begins."""
        opened: IO[bytes] = _OPENERS[self.suffix](self.path, "rb")
        if self.start:
            opened.seek(self.start)
        return opened


class UnreadableFileError(Exception):
    """A file that cannot be read: its address and the reason, for people."""

    def __str__(self) -> str:
        return f"UnreadableFileError: {super().__str__()}"


def read_share(share: bytes) -> Iterator[tuple[str, int, list[bytes]]]:
    """Yield the records of a share: address of the file, number of the block, records that follow one another."""
    parts: tuple[FilePart, ...] = pickle.loads(share)
    for part in parts:
        for texts in _records(part):
            yield part.file, part.start, texts


def read_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the records of files in pieces of about a megabyte (``PIECES``), which are parsed on any core.

    Args:
        batches: column ``share`` (binary): pickled ``FilePart``s.
    """
    for batch in batches:
        for share in batch.column("share").to_pylist():
            parts: tuple[FilePart, ...] = pickle.loads(share)
            for part in parts:
                yield from _pieces(part.file, _records(part))


def split_contents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the elements of files that came whole: columns ``file`` and ``content`` (binary, UTF-8)."""
    for batch in batches:
        for file, content in zip(batch.column("file").to_pylist(), batch.column("content").to_pylist(), strict=True):
            blocks = (content[at : at + READ_BYTES] for at in range(0, len(content), READ_BYTES))
            yield from _pieces(file, split_elements(blocks))


def _records(part: FilePart) -> Iterator[list[bytes]]:
    """Yield the records of a part.

    Raises:
        UnreadableFileError: the file cannot be read, or its compression is broken.
    """
    try:
        if part.form is Form.LINES:
            yield from _lines(part)
        else:
            with part.open() as opened:
                blocks = _blocks(opened, part.encoding)
                if part.before is not None and part.size is not None:
                    yield from split_part(blocks, part.before, part.size)
                else:
                    yield from split_elements(blocks)
    except EOFError as error:
        raise UnreadableFileError(f"{part.file}: the compressed file ends too early") from error
    except (OSError, zlib.error) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UnreadableFileError(f"{part.file}: the file cannot be read: {reason}") from error


def _lines(part: FilePart) -> Iterator[list[bytes]]:
    with part.open() as opened:
        if not part.start:
            for lines in split_lines(_blocks(opened, part.encoding), part.size):
                yield _without_marks(lines)
            return
        # A line is of the part that it begins in; the byte before may be the end of another.
        opened.seek(part.start - 1)
        skipped, blocks = skip_line(_blocks(opened, part.encoding))
        size = None if part.size is None else part.size - (skipped - 1)
        if size is None or size > 0:
            for lines in split_lines(blocks, size):
                yield _without_marks(lines)


def _without_marks(lines: list[bytes]) -> list[bytes]:
    """Leave off byte order marks, which stand where files were put together."""
    return [line.removeprefix(BYTE_ORDER_MARK) for line in lines]


def _blocks(opened: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a file a block at a time, as UTF-8."""
    if encoding == "UTF-8":
        yield from iter(partial(opened.read, READ_BYTES), b"")
        return
    with io.TextIOWrapper(opened, encoding, errors="replace") as text:
        yield from (part.encode() for part in iter(partial(text.read, READ_BYTES), ""))


def _pieces(file: str, records: Iterable[list[bytes]]) -> Iterator[pa.RecordBatch]:
    held: list[bytes] = []
    size = number = 0
    for found in records:
        held += found
        size += sum(map(len, found))
        if size >= READ_BYTES:
            yield _piece(file, number, held)
            held, size, number = [], 0, number + 1
    yield _piece(file, number, held)


def _piece(file: str, number: int, texts: list[bytes]) -> pa.RecordBatch:
    columns = [
        pa.array([file], pa.string()), pa.array([number], pa.int64()), pa.array([texts], pa.list_(pa.binary())),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, ["file", "block", "texts"])
