"""``schemactl show``, ``list``, ``check`` and ``fmt``: what is printed, written, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.inference.lineage import Lineage, TableLineage, to_json
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

IMPORT, EXPORT = Path("schemas/import/shop.schema.yaml"), Path("schemas/export/shop.schema.yaml")
BARE = "# ours\nsettings:\n  preferred_types: {id: text}\n"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    columns = {
        "id": Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True}),
        "_dlt_id": Column("_dlt_id", {"data_type": "text", "nullable": False}),
    }
    orders = Table("orders", columns, {"write_disposition": "merge", "resource": "orders"})
    lines = Table("orders__lines", {"sku": Column("sku", {"data_type": "text"})}, {"parent": "orders"})
    EXPORT.parent.mkdir(parents=True)
    # The nested table first: the tree puts it below its parent all the same.
    EXPORT.write_text(dlt.write(bump(new_schema("shop").with_table(lines).with_table(orders))))


def document(capsys: pytest.CaptureFixture[str], *call: str) -> dict[str, Any]:
    capsys.readouterr()
    run([*call, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    check_document(found, call[0])
    return found


def test_a_schema_is_shown_as_a_tree(capsys: pytest.CaptureFixture[str]):
    assert run(["show", "shop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("shop: version 1, 2 tables, 3 columns, hash ")
    assert lines[2:] == [
        "orders (merge, 2 columns)",
        "├── id: bigint, not null, primary_key",
        "└── orders__lines (1 column)",
        "    └── sku: text",
    ]
    run(["show", "--verbose"])
    assert "_dlt_loads (skip, 5 columns)" in capsys.readouterr().out
    (shop,) = document(capsys, "show")["schemas"]
    assert [table["parent"] for table in shop["tables"]] == [None, None, "orders", None]


def test_lineage_names_the_paths_that_feed_tables_and_columns(capsys: pytest.CaptureFixture[str]):
    lines = TableLineage(("$.lines[*]",), {"sku": {"$.lines[*].SKU": ("text",), "$.lines[*].Sku": ("text",)}})
    EXPORT.with_name("shop.lineage.json").write_text(to_json(Lineage({"orders__lines": lines})))
    assert run(["show", "shop", "--lineage"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "orders (merge, 2 columns)",
        "├── id: bigint, not null, primary_key",
        "└── orders__lines (1 column) from $.lines[*]",
        "    └── sku: text from $.lines[*].SKU, $.lines[*].Sku",
    ]
    (shop,) = document(capsys, "show", "--lineage")["schemas"]
    (table,) = (each for each in shop["tables"] if each["name"] == "orders__lines")
    assert table["sources"] == ["$.lines[*]"]
    assert table["columns"][0]["sources"] == ["$.lines[*].SKU", "$.lines[*].Sku"]
    EXPORT.with_name("shop.lineage.json").write_text("[]")
    assert run(["show", "shop", "--lineage"]) == 2
    assert "this is not lineage" in capsys.readouterr().err


def test_schemas_are_listed_with_what_is_not_taken_over(capsys: pytest.CaptureFixture[str]):
    assert run(["list"]) == 0
    assert capsys.readouterr().out == "shop: version 1, 2 tables, 3 columns\n"
    IMPORT.parent.mkdir()
    IMPORT.write_text(BARE)
    run(["list"])
    assert capsys.readouterr().out.endswith(", import edit not applied\n")
    assert [each["is_pending"] for each in document(capsys, "list")["schemas"]] == [True]


def test_files_are_checked(capsys: pytest.CaptureFixture[str]):
    IMPORT.parent.mkdir()
    IMPORT.write_text(BARE)
    assert run(["check"]) == 0
    assert capsys.readouterr().out == "2 files checked, no problem\n"
    EXPORT.write_text(EXPORT.read_text().replace("data_type: bigint\n", "data_type: text\n"))
    IMPORT.write_text("normalizers: {names: snak_case}\ntables: {orders: {colums: {}}}\n")
    assert run(["check"]) == 1
    out = capsys.readouterr().out
    assert f"{EXPORT}:2:1: error: the export file was edited by hand" in out
    assert f"{IMPORT}:2:" in out
    assert "2 files checked, problems in 2" in out
    IMPORT.write_text("normalizers: {names: snak_case}\n")
    assert run(["check", str(IMPORT), "--quiet"]) == 1
    assert f"{IMPORT}:1:15: error: there is no naming convention `snak_case`" in capsys.readouterr().out
    assert run(["check", "nowhere.yaml"]) == 2
    assert [len(each["problems"]) for each in document(capsys, "check")["files"]] == [1, 1]


def test_a_file_that_is_not_text_hides_no_other(capsys: pytest.CaptureFixture[str]):
    IMPORT.parent.mkdir()
    IMPORT.with_name("broken.schema.yaml").write_text("tables: {orders: {colums: {}}}\n")
    IMPORT.with_name("wide.schema.yaml").write_text(BARE, encoding="utf-16")
    assert run(["check"]) == 1
    out = capsys.readouterr().out
    assert f"{IMPORT.with_name('wide.schema.yaml')}:1:1: error: " in out
    assert f"{IMPORT.with_name('broken.schema.yaml')}:1:" in out


def test_a_file_written_by_hand_becomes_one_that_dlt_takes(capsys: pytest.CaptureFixture[str]):
    IMPORT.parent.mkdir()
    IMPORT.write_text(BARE)
    assert run(["fmt", "--check"]) == 1
    assert capsys.readouterr().out == f"would write {IMPORT}\n1 file unchanged\n"
    assert IMPORT.read_text() == BARE
    assert run(["fmt"]) == 0
    assert f"wrote {IMPORT}\n" in capsys.readouterr().out
    text = IMPORT.read_text()
    assert text.startswith("# ours\n")
    assert "engine_version: 11" in text
    assert run(["fmt", "--check"]) == 0
    assert [each["is_changed"] for each in document(capsys, "fmt")["files"]] == [False, False]


def test_a_folder_without_schemas_is_reported(capsys: pytest.CaptureFixture[str]):
    EXPORT.unlink()
    for command in ("list", "check", "fmt", "show"):
        assert run([command]) == 2
        assert "there is no schema in" in capsys.readouterr().err


def test_a_value_for_stored_rows_that_the_column_cannot_hold_is_no_sound_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    column = "id: {data_type: bigint, nullable: false, x-backfill: abc}"
    Path("w.yaml").write_text(f"name: w\ntables:\n  t:\n    columns:\n      {column}\n")
    assert run(["check", "w.yaml"]) == 1
    printed = capsys.readouterr().out
    assert "w.yaml:5:" in printed
    assert "`x-backfill` of `t.id` cannot fill stored rows: `abc` is not a `bigint`" in printed


@pytest.mark.parametrize(
    ("stated", "place", "message"),
    [
        ("d: {data_type: decimal, precision: 5, scale: 9}", "5:45", "the scale is larger than the precision"),
        ("d: {data_type: text, x-enum: 5}", "5:28", "`x-enum` of `t.d` is `5`, not a list of values"),
        ("d: {data_type: bigint, x-minimum: a}", "5:30", "`x-minimum` of `t.d` is no limit: `a` is not a `bigint`"),
        ("d: {data_type: date, x-maximum: soon}", "5:28", "`x-maximum` of `t.d` is no limit: `soon` is not a `date`"),
    ],
)
def test_check_finds_what_no_column_can_be(
    stated: str, place: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.schema.yaml").write_text(f"name: a\ntables:\n  t:\n    columns:\n      {stated}\n")
    assert run(["check", "a.schema.yaml"]) == 1
    printed = capsys.readouterr().out
    assert f"a.schema.yaml:{place}: error: " in printed
    assert message in printed


@pytest.mark.parametrize(
    "stated",
    [
        "d: {data_type: decimal, precision: 5}",
        "d: {data_type: bigint, x-minimum: 0.5, x-enum: {1: open, 2: closed}}",
        "d: {data_type: date, x-minimum: 2020-01-01, x-maximum: '2030-01-01'}",
        "d: {x-minimum: a}",
    ],
)
def test_check_takes_what_a_column_can_be(stated: str) -> None:
    Path("a.schema.yaml").write_text(f"name: a\ntables:\n  t:\n    columns:\n      {stated}\n")
    assert run(["check", "a.schema.yaml"]) == 0


def test_check_looks_for_the_tables_of_references_in_all_schemas_of_the_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reference = "{columns: [d], referenced_table: order, referenced_columns: [id]}"
    file = Path("a.schema.yaml")
    file.write_text(
        f"name: a\ntables:\n  t:\n    columns: {{d: {{data_type: bigint}}}}\n    references: [{reference}]\n"
    )
    assert run(["check", "a.schema.yaml"]) == 1
    assert "a.schema.yaml:5:33: error: the table `order`, which `references` of `t` names" in capsys.readouterr().out
    file.write_text(file.read_text().replace("order,", "orders,"))
    assert run(["check", "a.schema.yaml"]) == 0
