"""Chooses the records and rows of a sample: the same ones on any engine, however files are cut into partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import pyarrow as pa

BUCKETS: Final = 1_000_000
"""Records and rows fall into these buckets by a hash; a sample consists of the first buckets."""

_GOLDEN_RATIO: Final = 0x9E3779B97F4A7C15
"""Its multiples modulo 2**64 spread evenly over that range (Knuth, The Art of Computer Programming, 6.4)."""


def is_sampled(text: bytes, share: float) -> bool:
    """Return whether a record is in a sample, which depends only on its text."""
    return crc32(text) % BUCKETS < round(share * BUCKETS)


@dataclass(frozen=True, slots=True)
class RowSample:
    """A share of rows (0 to 1), which their numbers in their files decide.

    ``before`` has the number of rows before each block in its file, by file name (as shown to people) and block.
    """

    share: float
    before: Mapping[tuple[str, int], int]

    def mask(self, file: str, block: int, offset: int, count: int) -> pa.BooleanArray:
        """Return which rows that follow one another in a block are in the sample; the first is at ``offset``."""
        import numpy as np  # which takes as long to import as a small file to read

        first = self.before[file, block] + offset
        numbers = np.arange(first, first + count, dtype=np.uint64)
        with np.errstate(over="ignore"):
            hashes = numbers * np.uint64(_GOLDEN_RATIO) + np.uint64(crc32(file.encode("utf-8", "replace")) << 32)
        return pa.array((hashes >> np.uint64(32)) % np.uint64(BUCKETS) < round(self.share * BUCKETS))
