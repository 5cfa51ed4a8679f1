"""The memory of this machine: how large a document may be for it, and how much a step may take."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

_ASSUMED_BYTES: Final = 4 << 30
_CGROUP_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_TIMES: Final = 20
"""A document of many small objects takes nine to eleven times its size in memory, and Java half a GB more."""

_LEAST_LIMIT: Final = 32 << 20
_MOST_LIMIT: Final = (2 << 30) - (64 << 20)
"""An Arrow string array holds 2 GiB: the largest document, and the documents that are read together with it."""


@cache
def largest_document() -> int:
    """Return how many bytes a document may have on this machine."""
    return min(max(_LEAST_LIMIT, (machine_memory_mb() << 20) // _TIMES), _MOST_LIMIT)


def why_too_large(size: int) -> str | None:
    """Return why a document, or a row, of so many bytes is too much to parse on this machine, if it is."""
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


@contextmanager
def memory_limit(size: int, error: Callable[[], Exception]) -> Iterator[None]:
    """Raise an error if the body takes more memory; only Linux has such a limit.

    The limit counts writable memory (``RLIMIT_DATA``, setrlimit(2)), not mapped files such as the packs of git.
    Processes that the body starts get the same limit.

    Args:
        size: the limit in bytes, beyond the memory that the process already has; 0 for no limit.
        error: creates the error.
    """
    size_match = re.search(r"^VmData:\s+(\d+) kB$", _read(Path("/proc/self/status")), re.MULTILINE)
    if not size or sys.platform != "linux" or size_match is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [(int(size_match[1]) << 10) + size, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    is_exceeded = False
    try:
        yield
    except MemoryError:
        is_exceeded = True
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    if is_exceeded:  # with the limit gone there is room for the error
        raise error()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
