"""Cuts one JSON document that is a list into its elements, a block of bytes at a time; nothing is parsed.

Quotes, escapes and brackets are found by numpy; an element is whatever stands between two commas of the list itself.
"""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

_Places: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

_BLANKS: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_QUOTE, _OPEN, _CLOSE, _COMMA, _BACKSLASH = 1, 2, 3, 4, 5
_KINDS: Final = np.zeros(256, np.uint8)
for _octets, _kind in ((b'"', _QUOTE), (b"[{", _OPEN), (b"]}", _CLOSE), (b",", _COMMA), (b"\\", _BACKSLASH)):
    _KINDS[list(_octets)] = _kind


def split_elements(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the elements of a list, those of each block together; a document that is no list is one element.

    What is no JSON gives elements that are none: of a list without an end the last one, what follows a document, and
    where a comma stands too many.

    Args:
        blocks: the document as UTF-8, cut anywhere.
    """
    blocks = iter(blocks)
    start = b""
    for block in blocks:
        start = (start + block).removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANKS)
        if len(start) >= len(_BYTE_ORDER_MARK):
            break
    if not start.startswith(b"["):
        yield [b"".join((start, *blocks))]
        return
    splitter = _Splitter()
    yield splitter.split(start[1:])
    for block in blocks:
        yield splitter.split(block)
    yield splitter.finish()


class _Splitter:
    """Where in the list the last block ended."""

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._depth = 1
        self._is_in_text = False
        self._is_escaped = False
        self._is_first = True

    def split(self, block: bytes) -> list[bytes]:
        """Return the elements that end in a block."""
        elements: list[bytes] = []
        at = 0
        for place, is_end in self._separators(block):
            self._open.append(block[at:place])
            at = place + 1
            element = b"".join(self._open)
            self._open.clear()
            is_blank = not element.strip(_BLANKS)
            if not (is_end and is_blank and self._is_first):
                # Nothing between two commas is no value.
                elements.append(b"," if is_blank else element)
            self._is_first = False
        self._open.append(block[at:])
        return elements

    def finish(self) -> list[bytes]:
        """Return what is left: nothing of a list that has ended."""
        rest = b"".join(self._open)
        if self._depth > 0:
            return [b"[" + rest]
        return [b"]" + rest] if rest.strip(_BLANKS) else []

    def _separators(self, block: bytes) -> Iterator[tuple[int, bool]]:
        """Yield where the list has a comma or its end, and which of the two."""
        kinds = _KINDS[np.frombuffer(block, np.uint8)]
        places = np.flatnonzero(kinds)
        kinds = kinds[places]
        quotes = self._quotes(places, kinds, len(block))
        marks = (kinds != _QUOTE) & (kinds != _BACKSLASH)
        places, kinds = places[marks], kinds[marks]
        are_in_text = (np.searchsorted(quotes, places) + self._is_in_text) % 2 == 1
        self._is_in_text = (len(quotes) + self._is_in_text) % 2 == 1
        places, kinds = places[~are_in_text], kinds[~are_in_text]
        if self._depth <= 0:
            return
        steps = (kinds == _OPEN).astype(np.int64) - (kinds == _CLOSE)
        depths = self._depth + np.cumsum(steps)
        ends = np.flatnonzero(depths == 0)
        last = ends[0] if len(ends) else len(depths)
        found = np.flatnonzero((kinds[:last] == _COMMA) & (depths[:last] == 1))
        for place in places[found].tolist():
            yield place, False
        if len(ends):
            self._depth = 0
            yield int(places[last]), True
        elif len(depths):
            self._depth = int(depths[-1])

    def _quotes(self, places: _Places, kinds: np.ndarray[Any, np.dtype[np.uint8]], size: int) -> _Places:
        """Return where texts begin and end: the quotes that no backslash stands before that counts."""
        quotes: _Places = places[kinds == _QUOTE]
        slashes = places[kinds == _BACKSLASH]
        if self._is_escaped:
            # The last block ended in a backslash.
            quotes = quotes[quotes != 0]
            if len(slashes) and slashes[0] == 0:
                slashes = slashes[1:]
            self._is_escaped = False
        if not len(slashes):
            return quotes
        begins = np.concatenate(([True], np.diff(slashes) != 1))
        first_of_run = slashes[begins][np.cumsum(begins) - 1]
        if slashes[-1] == size - 1:
            self._is_escaped = bool((slashes[-1] - first_of_run[-1]) % 2 == 0)
        before = np.searchsorted(slashes, quotes - 1)
        before = np.minimum(before, len(slashes) - 1)
        is_after = slashes[before] == quotes - 1
        is_escaped = is_after & ((quotes - first_of_run[before]) % 2 == 1)
        left: _Places = quotes[~is_escaped]
        return left


# --- on Spark's workers ---

PIECES: Final = "file string, block bigint, texts array<binary>"
"""What ``split_files`` and ``split_contents`` yield: elements that follow one another, and the number of the piece."""

_READ_BYTES: Final = 1 << 20
_OPENERS: Final[dict[str, Callable[[str, str], Any]]] = {"": open, ".gz": gzip.open, ".bz2": bz2.open}
SUFFIXES: Final = tuple(_OPENERS)
"""How names of files end that are read without Spark; those of files that are not compressed end in anything else."""


def split_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the elements of files: columns ``file`` (address), ``path``, ``suffix`` and ``encoding``."""
    for batch in batches:
        for row in batch.to_pylist():
            with _OPENERS[row["suffix"]](row["path"], "rb") as opened:
                yield from _pieces(row["file"], split_elements(_blocks(opened, row["encoding"])))


def split_contents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the elements of files that came whole: columns ``file`` and ``content`` (binary, UTF-8)."""
    for batch in batches:
        for file, content in zip(batch.column("file").to_pylist(), batch.column("content").to_pylist(), strict=True):
            blocks = (content[at : at + _READ_BYTES] for at in range(0, len(content), _READ_BYTES))
            yield from _pieces(file, split_elements(blocks))


def _blocks(opened: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a file a block at a time, as UTF-8."""
    if encoding == "UTF-8":
        yield from iter(partial(opened.read, _READ_BYTES), b"")
        return
    with io.TextIOWrapper(opened, encoding, errors="replace") as text:
        yield from (part.encode() for part in iter(partial(text.read, _READ_BYTES), ""))


def _pieces(file: str, elements: Iterable[list[bytes]]) -> Iterator[pa.RecordBatch]:
    """Yield the elements of a file in pieces of about a megabyte, which are parsed on any core."""
    held: list[bytes] = []
    size = number = 0
    for found in elements:
        held += found
        size += sum(map(len, found))
        if size >= _READ_BYTES:
            yield _piece(file, number, held)
            held, size, number = [], 0, number + 1
    yield _piece(file, number, held)


def _piece(file: str, number: int, texts: list[bytes]) -> pa.RecordBatch:
    columns = [
        pa.array([file], pa.string()), pa.array([number], pa.int64()), pa.array([texts], pa.list_(pa.binary())),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, ["file", "block", "texts"])
