"""The tests of the core are collected where Python lacks what Windows lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

WITHOUT_POSIX = """
import os, signal, sys
import pytest
sys.path.insert(0, "tests")
import platforms
platforms.IS_POSIX = platforms.IS_ROOT = False
for name in ("fork", "geteuid", "mkfifo", "killpg"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGVTALRM"):
    delattr(signal, name)
marks = "not (spark or e2e or parity or destinations)"
sys.exit(pytest.main(["--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", marks, "tests"]))
"""


def test_no_test_of_the_core_fails_as_it_is_collected() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX], cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "error" not in done.stdout.splitlines()[-1]
