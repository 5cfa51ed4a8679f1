"""A Spark that the commands of several tests share, as a user's do with ``--keep-spark``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 300


@pytest.fixture(scope="session")
def keep_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[pytest.MonkeyPatch], Path]]:
    """Has the commands of a test use the Spark that the first one has left; returns their working folder.

    A kept Spark serves one folder: it is emptied for each test. At the end nothing is left of Spark.
    """
    tmp_path_factory.getbasetemp()  # before TMPDIR is another one
    # Sockets need a short path.
    top = Path(tempfile.mkdtemp(prefix="kept-", dir="/tmp"))
    work, temporary = top / "work", top / "tmp"
    work.mkdir()
    temporary.mkdir()
    kept = {"XDG_RUNTIME_DIR": str(top), "TMPDIR": str(temporary), "SCHEMACTL_KEEP_SPARK": "10m"}

    def use(monkeypatch: pytest.MonkeyPatch) -> Path:
        for name in [name for name in os.environ if name.startswith("SCHEMACTL_")] + ["COLUMNS", "FORCE_COLOR"]:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
        for path in work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, value in kept.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(work)
        return work

    yield use
    stop = [COMMAND, "engine", "stop"]
    subprocess.run(stop, env={**os.environ, **kept}, timeout=TIME_LIMIT_SECONDS, capture_output=True, check=True)
    left = list(temporary.iterdir())
    shutil.rmtree(top)
    assert left == []
