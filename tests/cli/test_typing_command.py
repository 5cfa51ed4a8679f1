"""``schemactl typing draft``, the hints of ``infer`` that name it, and loads by the types that it applies."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_schemas import check_document
from terminals import Person

from schemactl.cli.app import run
from schemactl.formats import arc, dlt

ORDERS = [
    {"id": 1, "ordered": "31/12/2020", "total": "$1,234.50", "vat": "19%", "price": "1.234,50", "name": "ann"},
    {"id": 2, "ordered": "01/02/2021", "total": "$5", "vat": "7%", "price": "12,5", "name": "bob"},
    {"id": 3, "ordered": "13/02/2021", "total": "-$7.25", "vat": "7.5%", "price": "3", "name": "eve"},
    {"id": 4, "ordered": "14/02/2021", "total": "$8", "vat": "0%", "price": "4,75", "name": "dan"},
    {"id": 5, "ordered": "15/02/2021", "total": "free", "vat": "0%", "price": "9,99", "name": "joe"},
]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_commands: None) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


@pytest.fixture(params=["csv", "jsonl"])
def source(request: pytest.FixtureRequest) -> str:
    """Five orders, whose last amount is no number."""
    name = f"orders.{request.param}"
    if request.param == "csv":
        lines = [";".join(ORDERS[0]), *(";".join(map(str, order.values())) for order in ORDERS)]
    else:
        lines = list(map(json.dumps, ORDERS))
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def hints(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    capsys.readouterr()
    assert run(["infer", *arguments, "--format", "json"]) in (0, 1)
    texts: list[str] = json.loads(capsys.readouterr().out)["hints"]
    return texts


def drafted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["typing", "draft", *arguments, "--format", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    check_document(document, "typing-draft")
    return document


def test_infer_says_which_texts_look_like_values_and_names_the_command(source: str, capsys: pytest.CaptureFixture[str]):
    by_column = {hint.split("`")[1]: hint for hint in hints(capsys, source, "--name", "shop")}
    place = "orders.csv, row 6" if source.endswith("csv") else "orders.jsonl:5"
    assert by_column["orders.ordered"].endswith("looks like dates: 5 of 5 texts")
    total = f"looks like money: 4 of 5 texts; the first exception is `free` in {place}"
    assert by_column["orders.total"].endswith(total)
    assert "looks like percentages: 5 of 5" in by_column["orders.vat"]
    assert "looks like numbers with separators: 5 of 5" in by_column["orders.price"]
    assert "orders.name" not in by_column
    assert f"schemactl typing draft {source} --name shop" in by_column
    assert hints(capsys, source, "--name", "shop") == [], "columns that the schema has are not new"


def test_values_of_exceptions_are_masked_on_request(source: str, capsys: pytest.CaptureFixture[str]):
    assert "`free`" not in " ".join(hints(capsys, source, "--name", "shop", "--examples", "masked"))
    assert "a value" in " ".join(hints(capsys, source, "--name", "other", "--examples", "none"))


def test_ambiguous_dates_are_said_and_asked_for(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    Path("days.csv").write_text("day,n\n01/02/2021,a\n03/04/2021,b\n")
    assert "--dates day-first" in hints(capsys, "days.csv", "--check")[-1]
    assert run(["typing", "draft", "days.csv", "--name", "shop"]) == 2
    error = capsys.readouterr().err
    assert "`01/02/2021`" in error
    assert "--dates month-first" in error

    monkeypatch.setattr(sys, "stdin", Person("month\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert drafted(capsys, "days.csv", "--name", "shop")["fields"][0]["formatters"] == ["MM/dd/uuuu"]
    assert drafted(capsys, "days.csv", "--name", "shop", "--dates", "day-first")["fields"][0]["formatters"] == [
        "dd/MM/uuuu"
    ]


def test_a_draft_is_a_file_of_arc_and_writes_no_schema(source: str, capsys: pytest.CaptureFixture[str]):
    assert run(["typing", "draft", source, "--name", "shop", "--output", "shop.arc.json"]) == 0
    assert "`total`: 1 of 5 texts cannot be typed, the first is `free`" in capsys.readouterr().err
    columns = arc.read(Path("shop.arc.json").read_text(), "shop.arc.json").schema.tables["shop"].columns
    types = {name: str(column.data_type) for name, column in columns.items()}
    assert {name: types[name] for name in ("ordered", "total", "vat", "price", "name")} == {
        "ordered": "date", "total": "decimal", "vat": "decimal", "price": "decimal", "name": "text",
    }  # fmt: skip
    assert not Path("schemas").exists()


def test_later_loads_type_texts_by_an_applied_draft(source: str, capsys: pytest.CaptureFixture[str]):
    document = drafted(capsys, source, "--name", "shop", "--apply")
    assert document["exceptions"] == [{"column": "total", "texts": 5, "exceptions": 1}]
    assert document["applied"]["written"]
    for load in ("1", "2"):
        command = ["normalize", source, "--name", "shop", "--to", "duckdb:///data.duckdb", "--load-id", load]
        assert run(command) == 0, capsys.readouterr().err
    with duckdb.connect("data.duckdb") as connection:
        rows = connection.sql(
            "SELECT ordered, total, vat, price, json_array_length(_errors) FROM shop.orders "
            "WHERE id IN (1, 5) AND _dlt_load_id = '2' ORDER BY id"
        ).fetchall()
    assert rows == [
        (date(2020, 12, 31), Decimal("1234.50"), Decimal("0.190"), Decimal("1234.50"), 0),
        (date(2021, 2, 15), None, Decimal("0.000"), Decimal("9.99"), 1),
    ]
    assert run(["infer", source, "--name", "shop", "--check"]) == 0, "a second look changes nothing"


def test_an_existing_schema_keeps_what_a_draft_does_not_change(source: str):
    assert run(["infer", source, "--name", "shop", "--column", "name:text,unique"]) == 0
    assert run(["typing", "draft", source, "--name", "shop", "--apply"]) == 0
    path = Path("schemas/export/shop.schema.yaml")
    columns = dlt.read(path.read_text(), str(path)).schema.tables["orders"].columns
    assert columns["name"].properties["unique"] is True
    assert str(columns["ordered"].data_type) == "date"
    assert "_dlt_id" in columns


@pytest.mark.parametrize("in_git", [True, False])
@pytest.mark.parametrize(
    "edit", [["--describe", "orders=Sold"], ["--column", "orders.name:text,unique"], ["--drop", "orders.name"]]
)
def test_an_edit_of_the_import_file_keeps_an_applied_draft(source: str, edit: list[str], in_git: bool):
    assert run(["infer", source, "--name", "shop"]) == 0
    assert run(["typing", "draft", source, "--name", "shop", "--apply"]) == 0
    if in_git:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        for call in (("init", "-q"), ("add", "schemas"), (*identity, "commit", "-qm", "one")):
            subprocess.run(("git", *call), check=True)
    assert run(["edit", "shop", *edit]) == 0
    assert run(["sync", "shop", "--yes"]) == 0
    path = Path("schemas/export/shop.schema.yaml")
    table = dlt.read(path.read_text(), str(path)).schema.tables["orders"]
    assert table.properties["x-typing"] is True
    assert all("x-typing" in table.columns[name].properties for name in ("ordered", "total", "vat", "price"))


def test_an_edited_type_ends_the_draft_of_its_column(source: str, capsys: pytest.CaptureFixture[str]):
    assert run(["infer", source, "--name", "shop"]) == 0
    assert run(["typing", "draft", source, "--name", "shop", "--apply"]) == 0
    capsys.readouterr()
    assert run(["edit", "shop", "--column", "orders.total:text"]) == 0
    assert "orders.total: `x-typing` removed" in capsys.readouterr().out


def test_a_frozen_schema_refuses_a_draft(source: str, capsys: pytest.CaptureFixture[str]):
    run(["infer", source, "--name", "shop"])
    run(["edit", "shop", "--contract", "data_type=freeze"])
    run(["sync", "shop", "--yes"])
    before = Path("schemas/export/shop.schema.yaml").read_text()
    assert run(["typing", "draft", source, "--name", "shop", "--apply"]) == 1
    assert Path("schemas/export/shop.schema.yaml").read_text() == before


def test_rows_of_an_applied_draft_can_be_refused(capsys: pytest.CaptureFixture[str]):
    Path("orders.csv").write_text("total\n$5\n$6\n$7\n$8\nfree\n")
    assert run(["typing", "draft", "orders.csv", "--name", "shop", "--apply"]) == 0
    assert run(["infer", "orders.csv", "--name", "shop", "--typing-errors", "fail"]) == 1
    Path("orders.jsonl").write_text('{"total": "$5"}\n')
    assert run(["infer", "orders.jsonl", "--name", "shop", "--table", "orders", "--typing-errors", "fail"]) == 2
    assert "does not work for JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, ["nowhere.csv"], "nowhere.csv"),
        ("a,b\nann,bob\n", ["data.csv"], "no text of `data.csv` is a date"),
        ("", ["data.csv"], "data.csv"),
        ("a\n$5\n", ["data.csv", "--apply", "--output", "x.arc.json"], "cannot be used together"),
    ],
)
def test_wrong_calls(capsys: pytest.CaptureFixture[str], content: str | None, arguments: list[str], message: str):
    if content is not None:
        Path("data.csv").write_text(content)
    assert run(["typing", "draft", *arguments, "--name", "shop"]) == 2
    assert message in capsys.readouterr().err
    assert run(["typing", "draft", "data.csv", "--name", "a-b"]) == 2
