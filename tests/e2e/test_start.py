"""What commands import before they work: nothing that this very call does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from migrated_datasets import ADDED, FIRST, put

HEAVY = {
    *("dateutil", "deepdiff", "duckdb", "numpy", "pandas", "psycopg", "pyarrow", "pydantic", "pyspark"),
    *("ruamel.yaml", "sqlglot"),
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(FIRST, "a.yaml")
    put(ADDED, "b.yaml")
    return tmp_path


LIST_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from schemactl.cli.app import main
main()
"""


def _imported(*args: str) -> set[str]:
    call = [sys.executable, "-c", LIST_MODULES, *args]
    # Of its own: what others have left in the machine's would be removed.
    surroundings = {**os.environ, "TMPDIR": str(Path.cwd())}
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, env=surroundings)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_diff_of_two_files_imports_no_destination_and_no_lock() -> None:
    imported = _imported("diff", "a.yaml", "b.yaml")

    assert "schemactl.flows.diff" in imported
    assert not {name for name in imported if name.startswith("schemactl.destinations.")}
    assert not imported & {"filelock", "importlib.metadata", "schemactl.migration.planner", *HEAVY}


def test_help_imports_the_commands_alone() -> None:
    imported = _imported("--help")

    assert "schemactl.cli.commands.diff" in imported
    parts = {name.split(".")[1] for name in imported if name.startswith("schemactl.")}
    assert not parts & {"destinations", "engine", "flows", "formats", "inference", "kernel", "migration", "review"}
    assert not imported & {"filelock", "importlib.metadata", "rich", "yaml", *HEAVY}


def test_migration_imports_its_own_destination_alone() -> None:
    imported = _imported("migrate", "plan", "a.yaml", "--to", "sqlite:///x.db")

    kinds = {name.split(".")[2] for name in imported if name.startswith("schemactl.destinations.")}
    assert {kind for kind in kinds if not kind.startswith("_")} == {"sqlite"}
