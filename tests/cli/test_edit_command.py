"""``schemactl edit``: hints in the import file, whose comments stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.types import Schema

IMPORT = Path("schemas/import/shop.schema.yaml")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


def imported() -> Schema:
    found: Schema = dlt.read(IMPORT.read_text(), str(IMPORT)).schema
    return found


def test_a_schema_begins_with_an_edit(capsys: pytest.CaptureFixture[str]):
    assert run(["edit", "shop", "--table", "orders", "--column", "id:bigint,primary_key"]) == 0
    assert "`schemactl sync shop` takes it over" in capsys.readouterr().out
    assert imported().tables["orders"].columns["id"].properties["primary_key"] is True
    assert run(["sync", "shop"]) == 0
    assert run(["diff"]) == 0


def test_comments_stay_and_the_hash_is_that_of_the_content(capsys: pytest.CaptureFixture[str]):
    run(["edit", "shop", "--table", "orders", "--column", "id:bigint"])
    IMPORT.write_text("# ours\n" + IMPORT.read_text().replace("      id:\n", "      id: # the key\n"))
    call = ["edit", "shop", "--column", "note:text", "--write-disposition", "merge", "--contract", "columns=freeze"]
    assert run(call) == 0
    text = IMPORT.read_text()
    assert text.startswith("# ours\n")
    assert "id: # the key" in text
    assert imported().tables["orders"].properties["write_disposition"] == "merge"
    assert imported().settings["schema_contract"] == {"columns": "freeze"}
    assert run(["fmt", "--check", str(IMPORT)]) == 0
    capsys.readouterr()
    assert run(call) == 0
    assert capsys.readouterr().out == f"{IMPORT} states that already\n"
    assert IMPORT.read_text() == text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["edit", "shop"], "nothing is stated"),
        (["edit", "shop", "--column", "id:bigin"], "did you mean `bigint`?"),
        (["edit", "shop", "--column", "id:bigint"], "names no table"),
        (
            ["edit", "shop", "--table", "t", "--column", "a:text", "--contract", "columns=freze"],
            "did you mean `freeze`?",
        ),
        (["edit", "no-name", "--table", "t", "--column", "a:text"], "cannot name a schema"),
    ],
)
def test_a_wrong_call_is_reported_and_writes_nothing(call: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert run(call) == 2
    assert message in capsys.readouterr().err
    assert not IMPORT.exists()
