"""``schemactl edit``: hints in the import file, whose comments stay."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.flows.infer import InferRequest, evolve_all
from schemactl.flows.lineage import lineage_in
from schemactl.flows.root_tables import TableData
from schemactl.formats import dlt
from schemactl.inference.evidence import Position, observe
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.lock import locked_schemas

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
    assert "next: `schemactl sync shop` applies the edit" in capsys.readouterr().out
    assert imported().tables["orders"].columns["id"].properties["primary_key"] is True
    assert run(["sync", "shop"]) == 0
    assert run(["diff"]) == 0


@pytest.mark.parametrize("command", ["plan", "apply", "status"])
def test_migrate_tells_of_edits_that_the_schema_lacks(command: str, capsys: pytest.CaptureFixture[str]):
    run(["edit", "shop", "--table", "orders", "--column", "id:bigint"])
    run(["sync", "shop"])
    confirmation = ["--yes"] if command == "apply" else []
    migrate = ["migrate", command, "shop", "--to", "sqlite:///shop.db", *confirmation]
    run(["migrate", "apply", "shop", "--to", "sqlite:///shop.db", "--yes"])
    capsys.readouterr()
    run(migrate)
    assert "sync" not in capsys.readouterr().err
    run(["edit", "shop", "--table", "orders", "--column", "note:text"])
    run(migrate)
    warning = f"warning: `{IMPORT}` has edits that the schema lacks: `schemactl sync shop` applies them"
    assert warning in capsys.readouterr().err.splitlines()


def test_a_file_that_comes_about_meanwhile_is_not_overwritten():
    run(["edit", "shop", "--table", "orders", "--column", "id:bigint"])
    run(["sync", "shop"])
    text = f"# ours\n{IMPORT.read_text()}"
    IMPORT.unlink()
    with locked_schemas(Path("schemas")):
        edit = subprocess.Popen([sys.executable, "-m", "schemactl", "edit", "shop", "--column", "note:text"])
        time.sleep(2)  # it has read that there is no file, and waits for the lock
        IMPORT.write_text(text)
    edit.wait()
    assert IMPORT.read_text().startswith("# ours\n")


def test_contracts_that_are_stated_apart_are_one(capsys: pytest.CaptureFixture[str]):
    call = ["edit", "shop", "--table", "t", "--column", "a:text", "--contract", "columns=evolve"]
    assert run([*call, "--contract", "data_type=discard_row"]) == 0
    assert imported().settings["schema_contract"] == {"columns": "evolve", "data_type": "discard_row"}
    assert run([*call, "--contract", "columns=freeze"]) == 2
    assert "the contract sets `columns` twice" in capsys.readouterr().err


def test_the_result_is_a_document(capsys: pytest.CaptureFixture[str]):
    assert run(["edit", "shop", "--table", "t", "--column", "a:text", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    check_document(found, "edit")
    assert (found["name"], found["path"], found["written"]) == ("shop", str(IMPORT), [str(IMPORT)])
    assert [each["kind"] for each in found["changes"]] == ["TableAdded"]
    assert run(["edit", "shop", "--table", "t", "--column", "a:text", "--format", "yaml"]) == 2


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
    assert capsys.readouterr().out == f"{IMPORT} already has this content\n"
    assert IMPORT.read_text() == text


@pytest.mark.parametrize(("call", "message"), [
    (["edit", "shop"], "no changes given"),
    (["edit", "shop", "--column", "id:bigin"], "did you mean `bigint`?"),
    (["edit", "shop", "--column", "id:bigint"], "there is no schema `shop`"),
    (["edit", "shop", "--column", "id:bigint", "--naming", "direct"], "cannot be combined with other changes"),
    (["edit", "shop", "--naming", "direct"], "there is no schema `shop`"),
    (["edit", "shop", "--table", "t", "--column", "a:text", "--contract", "columns=freze"], "did you mean `freeze`?"),
    (["edit", "no-name", "--table", "t", "--column", "a:text"], "cannot name a schema"),
])  # fmt: skip
def test_a_wrong_call_is_reported_and_writes_nothing(call: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert run(call) == 2
    assert message in capsys.readouterr().err
    assert not IMPORT.exists()


def test_a_type_without_a_size_takes_the_size_away(capsys: pytest.CaptureFixture[str]):
    run(["edit", "shop", "--table", "orders", "--column", "note:text(80)", "--column", "total:decimal(10,2)"])
    run(["sync", "shop"])
    assert run(["edit", "shop", "--column", "orders.note:text", "--column", "total:decimal(12)"]) == 0
    assert "orders.note: type text(80) -> text" in capsys.readouterr().out
    assert run(["sync", "shop"]) == 0
    columns = exported().tables["orders"].columns
    assert columns["note"].properties == {"data_type": "text"}
    assert columns["total"].properties == {"data_type": "decimal", "precision": 12}


@pytest.mark.parametrize(
    ("hint", "warning"),
    [
        ("amout:double", "`amout` is a new column of `orders`; did you mean `amount`?"),
        ("orders.amuont:double", "`amuont` is a new column of `orders`; did you mean `amount`?"),
        ("totl_net:double", "`totl_net` is a new column of `orders`; did you mean `total_net`?"),
        ("statis:text", "`statis` is a new column of `orders`; did you mean `status`?"),
        ("oders.id:bigint", "`orders__oders` is a new table; did you mean `orders`?"),
        ("amount_net:double", None),
        ("address_2:text", None),
        ("is_invalid:bool", None),
        ("amount:decimal", None),
    ],
)
def test_a_new_name_that_is_nearly_one_of_the_schema_is_reported(
    hint: str, warning: str | None, capsys: pytest.CaptureFixture[str]
):
    columns = ("amount:double", "total_net:double", "status:text", "address_1:text", "is_valid:bool")
    run(["edit", "shop", "--table", "orders", *(f"--column={column}" for column in columns)])
    run(["sync", "shop"])
    assert "did you mean" not in capsys.readouterr().err
    assert run(["edit", "shop", "--table", "orders", "--column", hint]) == 0
    errors = " ".join(capsys.readouterr().err.split())
    assert errors.count("did you mean") == (warning is not None)
    assert warning is None or warning in errors


EXPORT = Path("schemas/export/shop.schema.yaml")


def infer_orders() -> None:
    documents = {"orderId": 1, "lineItems": [{"skuNo": "a"}]}
    request = InferRequest(sources=("orders.jsonl",), name="shop", table="orders", schemas=Path("schemas"))
    evidence = observe([(Position("orders.jsonl", 1), documents)])
    evolve_all([TableData(request, evidence)], SchemasFolder.at(Path("schemas")))


def infer_hints(*columns: str) -> None:
    """Infer the schema with an import file that states no more than these columns."""
    hints = Hints(tuple(map(parse_column, columns)))
    document = {"orderId": 1, "note": "a", "ship": {"city": "b"}, "lineItems": [{"skuNo": "a"}]}
    request = InferRequest(sources=("orders.jsonl",), name="shop", table="orders", schemas=Path("schemas"), hints=hints)
    evidence = observe([(Position("orders.jsonl", 1), document)])
    evolve_all([TableData(request, evidence)], SchemasFolder.at(Path("schemas")))


def test_a_nested_table_stays_nested_though_the_import_file_does_not_state_it(capsys: pytest.CaptureFixture[str]):
    infer_hints("orderId:bigint")
    assert "orders__line_items" not in imported().tables
    assert run(["edit", "shop", "--table", "orders__line_items", "--column", "qty:double"]) == 0
    assert "orders__line_items.qty: new column, double" in capsys.readouterr().out
    assert imported().tables["orders__line_items"].properties == {"parent": "orders"}
    assert run(["sync", "shop", "--yes"]) == 0
    assert exported().tables["orders__line_items"].parent == "orders"


def test_an_edit_says_what_changes_in_the_schema_and_not_in_the_file(capsys: pytest.CaptureFixture[str]):
    infer_hints("orderId:bigint")
    assert run(["edit", "shop", "--column", "note:bigint"]) == 0
    assert "orders.note: type text -> bigint" in capsys.readouterr().out
    assert run(["edit", "shop", "--column", "ship__city:text"]) == 0
    assert "new column" not in capsys.readouterr().out


def test_a_field_of_an_object_is_the_column_that_it_became(capsys: pytest.CaptureFixture[str]):
    infer_hints("orderId:bigint")
    assert run(["edit", "shop", "--column", "ship.city:text,x-pii=true"]) == 0
    assert imported().tables["orders"].columns["ship__city"].properties["x-pii"] is True
    capsys.readouterr()
    assert run(["edit", "shop", "--column", "note.text:text"]) == 2
    assert "`note` is a column of `orders`, and no table" in capsys.readouterr().err
    assert run(["edit", "shopp", "--column", "note:text"]) == 2
    assert "did you mean `shop`?" in capsys.readouterr().err


def exported() -> Schema:
    found: Schema = dlt.read(EXPORT.read_text(), str(EXPORT)).schema
    return found


def test_names_are_made_anew_in_both_files_and_in_the_lineage(capsys: pytest.CaptureFixture[str]):
    infer_orders()
    run(["edit", "shop", "--column", "order_id:bigint,unique"])
    IMPORT.write_text("# ours\n" + IMPORT.read_text())
    run(["sync", "shop"])
    capsys.readouterr()
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    out = capsys.readouterr().out
    assert "orders.orderId: column renamed from `order_id`" in out
    assert "`schemactl migrate plan shop --to DEST` renames" in out
    assert IMPORT.read_text().startswith("# ours\n")
    assert imported().tables["orders"].columns["orderId"].properties["unique"] is True
    assert exported().tables["orders▶lineItems"].columns["skuNo"].properties["x-renamed-from"] == "sku_no"
    assert exported().imported_version_hash == imported().version_hash
    assert lineage_in(EXPORT.parent, "shop").sources["orders▶lineItems", "skuNo"] == ("$.lineItems[*].skuNo",)
    assert run(["check"]) == 0
    assert run(["diff"]) == 0
    before = exported()
    infer_orders()
    assert exported() == before
    capsys.readouterr()
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    assert capsys.readouterr().out == f"{EXPORT} already has this content\n"


def test_a_file_of_sqlite_is_renamed_and_taken_back():
    infer_orders()
    to = ["--to", "sqlite:///shop.sqlite", "--yes", "--quiet"]
    assert run(["migrate", "apply", "shop", *to]) == 0
    with closing(sqlite3.connect("shop.sqlite")) as database:
        database.execute("INSERT INTO orders (order_id, _dlt_load_id, _dlt_id) VALUES (1, 'l', 'k')")
        database.commit()
        assert run(["edit", "shop", "--naming", "direct"]) == 0
        assert run(["migrate", "apply", "shop", *to]) == 0
        assert database.execute('SELECT "orderId" FROM orders').fetchall() == [(1,)]
        assert database.execute('SELECT "skuNo" FROM "orders▶lineItems"').fetchall() == []
        before = exported()
        infer_orders()
        assert exported() == before
        assert run(["migrate", "rollback", "shop", *to]) == 0
        assert database.execute("SELECT order_id FROM orders").fetchall() == [(1,)]
        assert database.execute("SELECT sku_no FROM orders__line_items").fetchall() == []


def test_what_was_begun_is_brought_to_its_end():
    infer_orders()
    before = {path: path.read_text() for path in EXPORT.parent.iterdir()}
    run(["edit", "shop", "--naming", "direct"])
    whole = exported()
    for path, text in before.items():
        path.write_text(text)
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    assert exported().tables == whole.tables
    assert run(["diff"]) == 0


def test_an_edit_that_is_not_taken_over_comes_first(capsys: pytest.CaptureFixture[str]):
    infer_orders()
    run(["edit", "shop", "--column", "order_id:bigint,unique"])
    assert run(["edit", "shop", "--naming", "direct"]) == 2
    assert "`schemactl sync shop`" in capsys.readouterr().err
    assert "order_id" in imported().tables["orders"].columns


NAMED = """\
# ours
name: shop
tables:
  # all of them
  orders:  # from the till
    columns:
      # who
      ship_to__zip: {data_type: text}  # five digits
      "paid__at":  # quoted
        data_type: timestamp
    resource: orders
  orders__lines:  # nested
    parent: orders
    columns:
      # what
      sku_no: {data_type: text}
"""


def test_comments_beside_keys_stay_where_names_are_made_anew():
    IMPORT.parent.mkdir(parents=True)
    IMPORT.write_text(NAMED)
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    lines = IMPORT.read_text().splitlines()
    for line in NAMED.replace("orders__lines:", "orders▶lines:").replace("paid__at", "paid▶at").splitlines():
        assert line in lines or "ship_to" in line
    assert "      ship_to▶zip: {data_type: text, x-renamed-from: ship_to__zip}  # five digits" in lines
    assert lines[lines.index("  orders▶lines:  # nested") + 1] == "    parent: orders"
    assert run(["fmt", "--check", str(IMPORT)]) == 0


def test_keys_of_json_are_made_anew_where_they_stand():
    path = IMPORT.with_suffix(".json")
    path.parent.mkdir(parents=True)
    columns = '"columns": {\n    "id":   {"data_type": "bigint"},\n    "a__b": {}\n   }'
    path.write_text(
        f'{{\n "name":  "shop",\n "engine_version": 11,\n "tables": {{\n  "orders": {{\n   {columns}\n  }}\n }}\n}}\n'
    )
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    text = path.read_text()
    assert '\n    "id":   {"data_type": "bigint"},\n    "a▶b": {\n     "x-renamed-from": "a__b"\n    }\n' in text
    assert text.startswith('{\n "name":  "shop",\n')


def test_a_file_whose_columns_come_by_an_alias_keeps_its_comments_in_new_names():
    IMPORT.parent.mkdir(parents=True)
    IMPORT.write_text(
        "# ours\nname: shop\ntables:\n  a:  # first\n    columns: &same\n      x__y: {data_type: text}\n"
        "  b:\n    columns: *same\n"
    )
    assert run(["edit", "shop", "--naming", "direct"]) == 0
    assert IMPORT.read_text().startswith("# ours\n")
    assert "  a:  # first\n" in IMPORT.read_text()
    assert list(imported().tables["b"].columns) == ["x▶y"]
