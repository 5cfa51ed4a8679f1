"""The memory of this machine, and how large a document may be for it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

_ASSUMED_BYTES: Final = 4 << 30
_CGROUP_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_TIMES: Final = 20
"""A document of many small objects takes nine to eleven times its size, Java beside it half a GB."""

_LEAST_LIMIT: Final = 32 << 20


@cache
def largest_document() -> int:
    """Return how many bytes a document may have on this machine."""
    return max(_LEAST_LIMIT, (machine_memory_mb() << 20) // _TIMES)


def why_too_large(size: int) -> str | None:
    """Return why a document, or a row, of so many bytes is not parsed on this machine; None where it is."""
    limit = largest_document()
    if size <= limit:
        return None
    has = f"{size >> 20:,} MB, and on a machine with {machine_memory_mb():,} MB of memory"
    return f"{has} no more than {limit >> 20:,} MB can be parsed"


def machine_memory_mb(limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """Return the memory in MiB that this process may use: the machine's, or its container's if less."""
    sizes = [int(text) for text in map(_read, limits) if text.isdigit()]
    try:
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        sizes.append(_ASSUMED_BYTES)
    return min(sizes) // 1024**2


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
