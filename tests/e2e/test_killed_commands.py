"""What a command leaves that is killed with no chance to tidy up: nothing, after the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schemactl.store.temporary_folders import remove_left

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"),
]

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 120
JAVA_LIMIT_SECONDS = 10
SPARK = ("--master", "local[1]", "--conf", "spark.driver.memory=768m")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with data; temporary files stay beside it."""
    folder, temporary = tmp_path / "work", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.chdir(folder)
    (folder / "orders.jsonl").write_text('{"id": 1, "lines": [{"n": 1}]}\n{"id": "idx-2"}\n')
    return folder


def start(*args: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([COMMAND, *args, "--name", "shop", *SPARK], stdout=pipe, stderr=pipe, text=True)


def java_of(command: int) -> int:
    """Return the id of the Java process that a command has started."""
    limit = time.monotonic() + TIME_LIMIT_SECONDS
    while time.monotonic() < limit:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if name == "java" and int(rest.split()[1]) == command:
                return int(path.parent.name)
        time.sleep(0.05)
    raise AssertionError("no Java was started")


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_load_leaves_no_java_and_the_next_command_removes_its_folders(work: Path) -> None:
    temporary = Path(os.environ["TMPDIR"])
    process = start("normalize", "orders.jsonl")
    java = java_of(process.pid)
    try:
        limit = time.monotonic() + TIME_LIMIT_SECONDS
        while not list(temporary.glob("schemactl-spark-*/schemactl-rows-*/*")) and time.monotonic() < limit:
            time.sleep(0.02)
        # Stopped, Java does not see the end of its pipe, no more than one that does nothing but collect garbage.
        os.kill(java, signal.SIGSTOP)
        process.kill()
        process.communicate()
        killed = time.monotonic()
        left = sorted(path.name.split("-")[1] for path in temporary.glob("schemactl-*"))
        assert left == ["spark"]

        remove_left(temporary)
        assert is_there(java)
        assert list(temporary.glob("schemactl-spark-*/schemactl-rows-*"))  # Java might still write to it

        while is_there(java) and time.monotonic() < killed + JAVA_LIMIT_SECONDS:
            time.sleep(0.1)
        assert not is_there(java)
    finally:
        if is_there(java):
            os.kill(java, signal.SIGKILL)

    following = start("infer", "orders.jsonl")
    out, err = following.communicate(timeout=TIME_LIMIT_SECONDS)
    assert (following.returncode, err) == (0, ""), out
    assert list(temporary.iterdir()) == []
