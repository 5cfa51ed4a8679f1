"""Steps end where they take more memory than they may, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schemactl.memory import memory_limit

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")

MB = 1 << 20


class TooLarge(Exception):
    pass


def take(megabytes: int) -> int:
    return len(bytearray(megabytes * MB))


def test_a_step_that_takes_too_much_gives_the_error_and_the_limit_is_gone_afterwards():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(TooLarge), memory_limit(64 * MB, TooLarge):
        take(256)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert take(256)


def test_what_the_process_has_taken_before_does_not_count():
    kept = bytearray(200 * MB)
    with memory_limit(100 * MB, TooLarge):
        assert take(50)
    assert kept


def test_many_small_things_count():
    with pytest.raises(TooLarge), memory_limit(64 * MB, TooLarge):
        list(map(str, range(10_000_000)))


def test_files_that_are_only_mapped_do_not_count(tmp_path: Path):
    import mmap

    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(256 * MB)
    with memory_limit(64 * MB, TooLarge), path.open("rb") as file:
        assert len(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) == 256 * MB


def test_a_limit_inside_another_does_not_lift_it():
    with memory_limit(64 * MB, RuntimeError), pytest.raises(TooLarge), memory_limit(1024 * MB, TooLarge):
        take(256)


STARTS_ANOTHER = f"""
import subprocess, sys
from schemactl.memory import memory_limit
with memory_limit({64 * MB}, ValueError):
    sys.exit(subprocess.run([sys.executable, "-IS", "-c", "bytearray({256 * MB})"]).returncode)
"""


def test_processes_that_a_step_starts_have_the_limit():
    command = [sys.executable, "-c", STARTS_ANOTHER]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.strip().rpartition("\n")[2]) == (1, "MemoryError")


def test_no_limit_means_none():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(0, TooLarge):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
