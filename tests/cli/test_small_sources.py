"""Which input is so small that Java compiles Spark's code once only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemactl.cli.options import is_small


@pytest.mark.parametrize(
    ("megabytes", "expected"),
    [((1,), True), ((40, 24), True), ((40, 25), False), ((), True)],
)
def test_files_are_small_up_to_64_mb_in_all(tmp_path: Path, megabytes: tuple[int, ...], expected: bool) -> None:
    for number, size in enumerate(megabytes):
        (tmp_path / f"{number}.jsonl").touch()
        os.truncate(tmp_path / f"{number}.jsonl", size << 20)
    assert is_small([str(path) for path in tmp_path.iterdir()]) is expected


@pytest.mark.parametrize("source", ["folder", "s3://bucket/a.jsonl", "table:a.b.c", "*.jsonl"])
def test_what_is_no_file_of_this_machine_may_be_large(tmp_path: Path, monkeypatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.jsonl").write_text("{}")
    assert not is_small(["a.jsonl", source])
