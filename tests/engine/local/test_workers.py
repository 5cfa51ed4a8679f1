"""Worker processes of this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from schemactl.engine.local.workers import Workers


def test_a_worker_imports_no_module_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    (tmp_path / "json.py").write_text("import os; open('imported', 'w').close(); os._exit(0)")
    workers = Workers(1)
    (process,) = workers.start()
    assert process.stdin is not None
    process.stdin.close()
    process.wait(timeout=60)
    workers.close()
    assert not (tmp_path / "imported").exists()
