"""Opens files of this machine, compressed or not; it loads nothing that is slow to import."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from typing import IO, Any, Final


def _open_zstandard(path: str, _mode: str) -> IO[bytes]:
    import pyarrow

    opened: IO[bytes] = io.BufferedReader(pyarrow.CompressedInputStream(path, "zstd"))
    return opened


_OPENERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "": open, ".gz": gzip.open, ".bz2": bz2.open, ".zst": _open_zstandard,
}  # fmt: skip
SUFFIXES: Final = tuple(_OPENERS)
"""How names of files end that are read without Spark; those of files that are not compressed end in anything else."""


def open_bytes(path: str, suffix: str) -> IO[bytes]:
    """Open a file decompressed; ``suffix`` is one of ``SUFFIXES``."""
    opened: IO[bytes] = _OPENERS[suffix](path, "rb")
    return opened
