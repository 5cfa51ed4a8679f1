"""Loads and replays that are killed at random moments leave each record in one place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "killed_rejects.py"


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "parquet", "delta"])
def test_each_record_is_in_one_place_whenever_a_command_is_killed(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    addresses = {"duckdb": "duckdb:///made.duckdb", "parquet": "warehouse", "delta": "delta:lake"}
    to = addresses.get(kind) or f"{request.getfixturevalue('postgres_database')}?dataset=killed"
    command = [sys.executable, str(SCRIPT), to, "2", "7"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "killed commands" in done.stdout
