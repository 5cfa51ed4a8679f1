"""Processes that are ended when the one that started them is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schemactl.engine.spark.session.driver import GRACE_SECONDS, kill_with_us

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")

# The group is deaf to all but a kill, as a Java that collects garbage.
STARTER = """
import subprocess, sys, time
from schemactl.engine.spark.session.driver import kill_with_us
deaf = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM HUP; sleep 600 & sleep 600"], start_new_session=True,
                        stdout=subprocess.DEVNULL)
with kill_with_us(deaf.pid):
    print(deaf.pid, flush=True)
    time.sleep(600)
"""


def members(group: int) -> list[int]:
    """Ids of the processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def test_a_group_that_does_not_end_by_itself_is_killed_after_its_starter() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        group = int(starter.stdout.readline())
        try:
            starter.kill()
            starter.wait()
            assert members(group)
            limit = time.monotonic() + GRACE_SECONDS + 120
            while members(group) and time.monotonic() < limit:
                time.sleep(0.1)
            assert members(group) == []
        finally:
            for each in members(group):
                os.kill(each, signal.SIGKILL)


def test_a_group_that_is_still_there_at_the_end_of_the_block_is_left_to_its_starter() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        with kill_with_us(process.pid):
            pass
        assert process.poll() is None
        process.kill()


def test_without_a_shell_the_block_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError("/bin/sh")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with kill_with_us(2**22):
        ran = True
    assert ran
