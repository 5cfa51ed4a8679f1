"""``schemactl sync`` around its flow: what is printed, asked, and the exit code."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_schemas import check_document
from schema_parts import put_schema

from schemactl.cli.app import run
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

IMPORT, EXPORT = Path("schemas/import/shop.schema.yaml"), Path("schemas/export/shop.schema.yaml")


def schema_of(*columns: Column, has_data: bool = False) -> Schema:
    marks = {"x-normalizer": {"seen-data": True}} if has_data else {}
    table = Table(
        "orders",
        {column.name: column for column in columns},
        {"write_disposition": "append", "resource": "orders", **marks},
    )
    return bump(new_schema("shop").with_table(table))


ID, NOTE = Column("id", {"data_type": "bigint", "nullable": True}), Column("note", {"data_type": "text"})


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema whose import file states a note, and whose data brought an id."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    first = schema_of(NOTE)
    put_schema(IMPORT, first)
    put_schema(EXPORT, bump(replace(schema_of(NOTE, ID, has_data=True), version_hash=first.version_hash)))


def test_an_edit_is_taken_over_and_shown(capsys: pytest.CaptureFixture[str]):
    assert run(["sync", "--check"]) == 0
    assert capsys.readouterr().out == "up to date\n"
    put_schema(IMPORT, schema_of(NOTE, Column("place", {"data_type": "text"})))
    assert run(["sync", "shop", "--check"]) == 1
    assert "the import file has unapplied edits" in capsys.readouterr().out
    assert run(["sync", "shop"]) == 0
    out = capsys.readouterr().out
    assert "  orders.place: new column, text" in out
    assert out.endswith(f"wrote {EXPORT}\n")
    assert run(["sync", "--check"]) == 0
    assert run(["diff"]) == 0


def test_what_data_brought_is_not_dropped_without_a_question(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    put_schema(IMPORT, schema_of())
    assert run(["sync", "shop"]) == 2
    captured = capsys.readouterr()
    assert "orders.note: column removed, was text (from data)" in captured.out
    assert "`--yes` agrees beforehand" in captured.err
    answers = io.StringIO("no\nyes\n")
    monkeypatch.setattr(answers, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", answers)
    assert run(["sync", "shop"]) == 1
    assert "note" in EXPORT.read_text()
    assert run(["sync", "shop"]) == 0
    assert "note" not in EXPORT.read_text()
    assert "drop `orders.note`, which came from data?" in capsys.readouterr().err


def test_the_document_follows_its_schema(capsys: pytest.CaptureFixture[str]):
    put_schema(IMPORT, schema_of())
    assert run(["sync", "--yes", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    check_document(found, "sync")
    (shop,) = found["schemas"]
    assert (shop["is_pending"], shop["dropped"], shop["written"]) == (False, ["orders.note"], [str(EXPORT)])


def test_a_name_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]):
    assert run(["sync", "shpo"]) == 2
    assert "did you mean `shop`?" in capsys.readouterr().err


def test_importing_the_import_file_says_what_it_drops(capsys: pytest.CaptureFixture[str]):
    put_schema(IMPORT, schema_of(Column("place", {"data_type": "text"})))
    call = ["import", str(IMPORT), "--name", "shop"]
    assert run([*call, "--check"]) == 1
    out = capsys.readouterr().out
    assert "orders.id: column removed" in out
    assert "no changes" not in out
