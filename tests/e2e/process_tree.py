"""Processes that a command has started, and whether they still run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, and theirs."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = [tuple(map(int, line.split())) for line in listed.splitlines()]
    descendants, ancestors = [], [pid]
    while ancestors:
        ancestor = ancestors.pop()
        children = [child for child, parent in parents if parent == ancestor]
        descendants += children
        ancestors += children
    return descendants


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], object], limit_seconds: float) -> bool:
    """Return whether a condition holds before the time is over."""
    limit = time.monotonic() + limit_seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True
