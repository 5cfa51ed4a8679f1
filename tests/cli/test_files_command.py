"""``schemactl files`` on the command line: text, JSON, questions and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_schemas import check_document

from schemactl.cli.app import run

TO = ("--to", "duckdb:///shop.duckdb")


@pytest.fixture(autouse=True)
def _loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    Path("a.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    Path("b.jsonl").write_text('{"id": 3}\n')
    assert run(["normalize", "a.jsonl", "b.jsonl", "--name", "shop", "--engine", "local", *TO]) == 0
    capsys.readouterr()


def test_files_are_listed_as_text_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["files", "list", "shop", *TO]) == 0
    title, _, header, *lines = capsys.readouterr().out.splitlines()
    assert title == "shop: 2 files in 1 load into duckdb:///shop.duckdb"
    assert header.split() == ["file", "load", "time", "(UTC)", "size", "rows", "rejects", "state"]
    assert [line.split()[0] for line in lines] == [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl"]
    assert [line.split()[-3:] for line in lines] == [["2", "0", "loaded"], ["1", "0", "loaded"]]

    assert run(["files", "list", "shop", "b*", *TO, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "files-list")
    [file] = document["files"]
    assert (file["path"], file["rows"], file["rejects"]) == (f"{tmp_path}/b.jsonl", 1, 0)
    assert (file["state"], file["bytes"]) == ("loaded", 10)


def test_forget_asks_and_makes_a_file_new_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["files", "forget", "shop", "a.jsonl", *TO]) == 2
    assert "no terminal for confirmation" in capsys.readouterr().err
    assert run(["files", "forget", "shop", "a.jsonl", *TO, "--yes", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "files-forget")
    assert [file["state"] for file in document["files"]] == ["forgotten"]
    assert run(["files", "forget", "shop", "b.jsonl", *TO, "--yes"]) == 0
    assert "forgot 1 file: the next `--new-only` loads them again" in capsys.readouterr().out
    load = ["normalize", "a.jsonl", "b.jsonl", "--name", "shop", "--engine", "local", *TO, "--new-only"]
    assert run([*load, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    check_document(report, "normalize")
    assert (report["documents"], report["skipped"], report["waiting"]) == (3, 0, 0)
    assert [load["files"] for load in report["loads"]] == [2]


def test_wrong_names_are_reported_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["list", "shop", "--to", "duckdb:///none.duckdb"], ""),
        (["list", "shop", "c.jsonl", *TO], "no loaded file matches `c.jsonl`"),
        (["forget", "shop", *TO], "GLOB"),
        (["forget", "other", "a.jsonl", *TO, "--yes"], "no loaded file matches `a.jsonl`"),
        (["list", "shop", "--to", "snowflake:x"], "there is no destination `snowflake`"),
    ):
        code = run(["files", *arguments])
        assert (code, message in capsys.readouterr().err) == (2 if message else 0, True), arguments
