"""Opens files of this machine and objects of stores, compressed or not; it loads nothing slow to import for files."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import zlib
from collections.abc import Callable
from typing import IO, Any, Final

_STORE_BYTES: Final = 1 << 20
"""The bytes of one request to a store, as each request takes some milliseconds."""


def _open_plain(source: str | IO[bytes], _mode: str) -> IO[bytes]:
    return open(source, "rb") if isinstance(source, str) else source  # noqa: PTH123 - thousands of files


def _open_zstandard(source: str | IO[bytes], _mode: str) -> IO[bytes]:
    import pyarrow

    opened: IO[bytes] = io.BufferedReader(pyarrow.CompressedInputStream(source, "zstd"))
    return opened


_OPENERS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "": _open_plain, ".gz": gzip.open, ".bz2": bz2.open, ".zst": _open_zstandard,
}  # fmt: skip
SUFFIXES: Final = tuple(_OPENERS)
"""Suffixes of compressed files that are read without Spark; the empty one means any uncompressed file."""


def reason_of(error: OSError | zlib.error) -> str:
    """Return why a file cannot be read, as the end of a sentence; pyarrow puts the path into the system's words."""
    code = error.errno if isinstance(error, OSError) else None
    return (os.strerror(code) if code else str(error)).lower()


def open_bytes(path: str, suffix: str) -> IO[bytes]:
    """Open a file, or an object of a store by its address, decompressed; ``suffix`` is one of ``SUFFIXES``."""
    source: str | IO[bytes] = path
    if "://" in path:
        from schemactl.kernel.stores import open_object

        source = io.BufferedReader(open_object(path), _STORE_BYTES)
    opened: IO[bytes] = _OPENERS[suffix](source, "rb")
    return opened


def random_access(path: str, *, is_mapped: bool = False) -> Any:
    """Return the source for pyarrow's readers of a file, or of an object of a store by its address.

    A file may be mapped into memory, so that record batches are not copied.
    """
    if "://" in path:
        from schemactl.kernel.stores import open_object

        return open_object(path)
    if is_mapped:
        import pyarrow

        return pyarrow.memory_map(path)
    return path
