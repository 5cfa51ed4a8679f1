"""Folds and rollbacks that are killed at random moments lose no value, and move none to a wrong column."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "killed_folds.py"


@pytest.mark.parametrize("kind", ["sqlite", "parquet", "delta", "mysql"])
def test_no_value_is_lost_whenever_a_fold_is_killed(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    addresses = {"sqlite": "sqlite:///made.db", "parquet": "parquet:warehouse", "delta": "delta:lake"}
    to = addresses.get(kind) or f"{request.getfixturevalue('mariadb_url')}&dataset=killed"
    command = [sys.executable, str(SCRIPT), to, "3", "7"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "killed commands" in done.stdout
