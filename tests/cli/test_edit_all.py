"""``schemactl edit``: renames, drops, descriptions, new tables, hints to unset, and names that are nearly right."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from terminals import Person

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.types import Schema

IMPORT, EXPORT = Path("schemas/import/shop.schema.yaml"), Path("schemas/export/shop.schema.yaml")
COMMENTED = """\
# ours
name: shop
tables:
  orders:
    columns:
      # the key
      id: {data_type: bigint, primary_key: true}
      note:  # free text
        data_type: text
        unique: true
        description: a note
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema whose import file declares two of the columns that its data has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("SCHEMACTL_ENGINE", "local")
    IMPORT.parent.mkdir(parents=True)
    IMPORT.write_text(COMMENTED)
    assert infer("") == 0


ROW = '{"id": 1, "note": "a", "Amount": 2.5, "ship": {"city": "b", "zip": "1"}, "lines": [{"sku": "x", "qty": 1}]}\n'


def infer(row: str = ROW) -> int:
    Path("orders.jsonl").write_text(ROW + row)
    return run(["infer", "orders.jsonl", "--name", "shop", "--quiet"])


def edit(*arguments: str) -> int:
    return run(["edit", "shop", *arguments])


def sync() -> Schema:
    """Apply the edit, and return the whole schema, in which a second edit finds nothing pending."""
    assert run(["sync", "shop", "--yes", "--quiet"]) == 0
    assert run(["sync", "shop", "--check", "--quiet"]) == 0
    return exported()


def imported() -> Schema:
    schema: Schema = dlt.read(IMPORT.read_text(), str(IMPORT)).schema
    return schema


def exported() -> Schema:
    schema: Schema = dlt.read(EXPORT.read_text(), str(EXPORT)).schema
    return schema


def columns(schema: Schema, table: str = "orders") -> list[str]:
    return [name for name in schema.tables[table].columns if not name.startswith("_dlt")]


ALL = ["id", "note", "amount", "ship__city", "ship__zip"]


def test_a_declared_column_is_renamed_in_its_line_with_its_comments(capsys):
    assert edit("--rename", "orders.note=remark") == 0
    assert "orders.remark: column renamed from `note`" in capsys.readouterr().out
    text = IMPORT.read_text()
    assert "      remark:  # free text\n" in text
    assert text.startswith("# ours\n")
    assert imported().tables["orders"].columns["remark"].properties["x-renamed-from"] == "note"
    schema = sync()
    assert columns(schema) == ["id", "remark", *ALL[2:]]
    assert schema.tables["orders"].columns["remark"].properties["unique"] is True


def test_a_column_of_data_is_renamed_and_keeps_its_type_and_later_data():
    assert edit("--rename", "amount=total") == 0
    assert imported().tables["orders"].columns["total"].properties == {"x-renamed-from": "amount"}
    schema = sync()
    assert columns(schema) == ["id", "note", "total", *ALL[3:]]
    assert schema.tables["orders"].columns["total"].data_type == "double"
    assert infer('{"id": 2, "Amount": 3.5}\n') == 0
    assert columns(exported()) == columns(schema)


def test_a_field_of_an_object_gets_later_data_under_its_new_name(capsys):
    assert edit("--rename", "ship.city=ship__town") == 0
    assert "again" not in capsys.readouterr().err
    schema = sync()
    assert infer('{"id": 2, "ship": {"city": "c"}}\n') == 0
    assert columns(exported()) == columns(schema) == ["id", "note", "amount", "ship__town", "ship__zip"]


def test_a_name_outside_of_its_object_is_warned_of(capsys):
    assert edit("--rename", "ship.city=town") == 0
    errors = " ".join(capsys.readouterr().err.split())
    assert "later data adds `orders.ship__city` again from `$.ship.city`" in errors


def test_a_column_that_a_dlt_pipeline_loads_is_warned_of(capsys):
    assert infer('{"id": 2, "amount": 3}\n') == 0
    EXPORT.with_name("shop.lineage.json").unlink()  # as dlt leaves the folder
    assert edit("--rename", "orders.amount=total") == 0
    errors = " ".join(capsys.readouterr().err.split())
    assert "a dlt pipeline adds `orders.amount` again, unless you also rename its key in the pipeline" in errors


def test_a_column_without_loads_is_renamed_without_a_warning(capsys):
    EXPORT.write_text(EXPORT.read_text().replace("seen-data: true", "seen-data: false"))
    EXPORT.with_name("shop.lineage.json").unlink()
    assert edit("--rename", "orders.amount=total") == 0
    assert "dlt pipeline" not in capsys.readouterr().err


def test_columns_swap_their_names():
    assert edit("--rename", "ship__city=ship__zip", "--rename", "ship__zip=ship__city") == 0
    schema = sync()
    declared = {name: schema.tables["orders"].columns[name].properties.get("x-renamed-from") for name in ALL[3:]}
    assert declared == {"ship__city": "ship__zip", "ship__zip": "ship__city"}


def test_a_rename_of_a_rename_names_what_a_destination_knows():
    edit("--rename", "note=remark")
    edit("--rename", "remark=comment")
    assert imported().tables["orders"].columns["comment"].properties["x-renamed-from"] == "note"
    sync()
    edit("--rename", "comment=text")
    assert imported().tables["orders"].columns["text"].properties["x-renamed-from"] == ["comment", "note"]
    assert columns(sync()) == ["id", "text", *ALL[2:]]


def test_a_rename_that_is_taken_back_before_it_is_applied_leaves_nothing():
    edit("--rename", "note=remark")
    edit("--rename", "remark=note")
    assert imported().tables["orders"].columns["note"].properties == {
        "data_type": "text",
        "unique": True,
        "description": "a note",
    }
    assert run(["diff", "--quiet"]) == 0


def test_a_table_is_renamed_with_its_nested_tables():
    assert edit("--column", "orders__lines.sku:text,unique") == 0
    assert edit("--rename", "orders=sales") == 0
    assert imported().tables["sales__lines"].parent == "sales"
    assert IMPORT.read_text().startswith("# ours\n")
    schema = sync()
    assert {name: table.parent for name, table in schema.tables.items() if not name.startswith("_dlt")} == {
        "sales": None,
        "sales__lines": "sales",
    }
    assert schema.tables["sales"].properties["x-renamed-from"] == "orders"
    assert columns(schema, "sales__lines") == ["sku", "qty"]


def test_references_follow_new_names():
    reference = "    references: [{columns: [id], referenced_table: orders, referenced_columns: [id]}]\n"
    IMPORT.write_text(f"{COMMENTED}  returns:\n    columns: {{id: {{data_type: bigint}}}}\n{reference}")
    assert edit("--rename", "orders.id=key", "--rename", "returns.id=order_key") == 0
    assert edit("--rename", "orders=sales") == 0
    (reference,) = imported().tables["returns"].properties["references"]
    assert reference == {"columns": ["order_key"], "referenced_table": "sales", "referenced_columns": ["key"]}
    assert run(["check"]) == 0


def test_a_declared_column_is_dropped_with_its_comment_and_its_key_is_excluded():
    assert edit("--drop", "orders.note") == 0
    assert "note" not in IMPORT.read_text().replace("path:$.note", "")
    assert imported().tables["orders"].properties["filters"] == {"excludes": ["path:$.note"]}
    assert columns(sync()) == ["id", *ALL[2:]]
    assert infer('{"id": 2, "note": "again"}\n') == 0
    assert columns(exported()) == ["id", *ALL[2:]]


@pytest.mark.parametrize(
    ("name", "table", "pattern", "remaining"),
    [
        ("amount", "orders", "path:$.Amount", ["id", "note", "ship__city", "ship__zip"]),
        ("ship.zip", "orders", "path:$.ship.zip", ["id", "note", "amount", "ship__city"]),
        ("lines.qty", "orders__lines", "path:$.lines[*].qty", ["sku"]),
        ("orders__lines.qty", "orders__lines", "path:$.lines[*].qty", ["sku"]),
    ],
)
def test_a_column_that_data_brought_is_dropped_in_one_step(name, table, pattern, remaining, capsys):
    assert edit("--drop", name) == 0
    assert "column removed" in capsys.readouterr().out
    assert imported().tables[table].properties["filters"]["excludes"] == [pattern]
    assert columns(sync(), table) == remaining
    assert infer() == 0
    assert columns(exported(), table) == remaining


def test_a_filter_that_a_person_writes_drops_what_data_brought():
    IMPORT.write_text(COMMENTED + "    filters:\n      excludes: ['re:^ship__']\n      includes: [ship__zip]\n")
    assert columns(sync()) == ["id", "note", "amount", "ship__zip"]


def test_a_filter_that_was_there_before_drops_nothing():
    IMPORT.write_text(COMMENTED + "    filters:\n      excludes: [later]\n")
    sync()
    text = EXPORT.read_text().replace(
        "      amount:\n", "      later:\n        data_type: text\n        nullable: true\n      amount:\n"
    )
    EXPORT.write_text(text)
    assert run(["fmt", "--quiet"]) == 0
    assert edit("--describe", "orders=all orders") == 0
    assert columns(sync()) == ["id", "note", "later", *ALL[2:]]


def test_a_drop_asks_before_it_is_applied(capsys, monkeypatch):
    edit("--drop", "amount")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(["sync", "shop"]) == 2
    printed = capsys.readouterr()
    assert "orders.amount: column removed, was double (from data)" in printed.out
    assert "amount" in exported().tables["orders"].columns


def test_several_edits_are_made_at_once(capsys):
    assert edit(
        "--add-table", "stores", "--column", "stores.id:bigint,primary_key", "--describe", "stores=where we sell",
        "--rename", "orders.amount=total", "--column", "orders.total:decimal(10,2)",
        "--describe", "orders.total=gross = all",
        "--drop", "orders.note", "--unset", "orders.id:primary_key",
    ) == 0  # fmt: skip
    schema = sync()
    assert columns(schema) == ["id", "total", "ship__city", "ship__zip"]
    total = schema.tables["orders"].columns["total"]
    assert (total.data_type, total.properties["precision"]) == ("decimal", 10)
    assert total.properties["description"] == "gross = all"
    assert "primary_key" not in schema.tables["orders"].columns["id"].properties
    assert schema.tables["stores"].properties["description"] == "where we sell"
    assert schema.tables["stores"].columns["id"].properties["primary_key"] is True
    assert run(["check"]) == 0


def test_a_column_of_data_is_described_and_keeps_its_type():
    assert edit("--describe", "amount=in euros") == 0
    assert imported().tables["orders"].columns["amount"].properties == {"description": "in euros"}
    amount = sync().tables["orders"].columns["amount"]
    assert (amount.data_type, amount.properties["description"]) == ("double", "in euros")


def test_a_table_is_added_below_another_one():
    assert edit("--add-table", "orders__refunds", "--column", "orders__refunds.sum:decimal") == 0
    assert sync().tables["orders__refunds"].parent == "orders"


def test_a_schema_begins_with_a_table():
    assert (
        run(["edit", "crm", "--add-table", "Contacts", "--column", "id:bigint", "--describe", "contacts=people"]) == 0
    )
    document = dlt.read(Path("schemas/import/crm.schema.yaml").read_text(), "crm.schema.yaml")
    table = document.schema.tables["contacts"]
    assert list(table.columns) == ["id"]
    assert table.properties["description"] == "people"


def test_hints_are_unset_and_a_comment_stays():
    assert edit("--unset", "orders.note:unique,description") == 0
    assert imported().tables["orders"].columns["note"].properties == {"data_type": "text"}
    assert "note:  # free text" in IMPORT.read_text()
    assert "unique" not in sync().tables["orders"].columns["note"].properties
    assert edit("--write-disposition", "merge") == 0
    assert edit("--unset", "orders:write_disposition") == 0


def test_a_contract_is_unset():
    assert edit("--contract", "columns=freeze") == 0
    assert edit("--unset", "schema_contract") == 0
    assert "schema_contract" not in imported().settings
    assert edit("--unset", "schema_contract") == 2


def test_a_column_without_hints_is_left_to_data():
    edit("--column", "amount:decimal(10,2)")
    sync()
    assert edit("--unset", "amount:data_type") == 0
    assert "amount" not in imported().tables["orders"].columns


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--rename", "orders.amout=total"], "there is no column `amout` in `orders`", "did you mean `amount`?"),
        (["--rename", "amout=total"], "there is no column `amout` in `orders`", "did you mean `amount`?"),
        (["--drop", "orders.amuont"], "there is no column `amuont` in `orders`", "did you mean `amount`?"),
        (["--describe", "order.amount=x"], "there is no table `order` in `shop`", "did you mean `orders`?"),
        (["--describe", "order=x"], "there is no table `order` in `shop`", "did you mean `orders`?"),
        (["--rename", "oders=sales"], "there is no table `oders` in `shop`", "did you mean `orders`?"),
        (["--describe", "notes=x"], "there is no column `notes` in `orders`", "did you mean `note`?"),
        (["--unset", "orders.notes:unique"], "there is no column `notes` in `orders`", "did you mean `note`?"),
        (["--unset", "orders.note:uniqe"], "the import file does not set `uniqe`", "did you mean `unique`?"),
        (["--unset", "amount:nullable"], "the import file sets nothing for `orders.amount`", "only data"),
        (["--unset", "amount"], "`amount` names no hint", "orders.amount:unique"),
        (["--drop", "orders.zzz"], "there is no column `zzz` in `orders`", "known: id, note"),
        (["--drop", "orders"], "`orders` is a table, not a column", "`orders.COLUMN`"),
        (["--drop", "_dlt_id"], "`_dlt_id` has a name that dlt reserves", ""),
        (["--drop", "amount", "--drop", "orders.amount"], "`orders.amount` is dropped twice", ""),
        (["--drop", "amount", "--rename", "amount=total"], "`orders.amount` is dropped and changed", ""),
        (["--rename", "amount=total", "--rename", "amount=sum"], "`orders.amount` is renamed twice", ""),
        (["--rename", "amount=total", "--rename", "note=total"], "`total` would be the name of two", ""),
        (["--rename", "amount=amount"], "`amount` is named so already", ""),
        (["--rename", "amount=note"], "`note` is a column of `orders` already", ""),
        (["--rename", "amount=_dlt_x"], "`_dlt_x` has a name that dlt reserves", ""),
        (["--rename", "amount"], "`amount` is not a rename", "orders.amount=total"),
        (["--rename", "amount="], "`amount=` is not a rename", ""),
        (["--rename", "orders=sales", "--drop", "orders.note"], "`orders` is renamed, and a column of it dropped", ""),
        (["--rename", "orders=orders__lines"], "`orders__lines` is a table already", ""),
        (["--rename", "amount=total", "--column", "amount:bigint"], "`orders.amount` is renamed, and used again", ""),
        (["--describe", "amount"], "`amount` gives no description", ""),
        (["--describe", "amount="], "`amount=` gives no description", ":description"),
        (["--add-table", "orders"], "there is a table `orders` already", "--column orders.NAME:TYPE"),
        (["--add-table", "_dlt_x"], "`_dlt_x` has a name that dlt reserves", ""),
        (["--drop", "amount", "--naming", "direct"], "cannot be combined", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nonsense_is_refused_and_nothing_is_written(arguments, message, hint, capsys):
    text = IMPORT.read_text()
    assert edit(*arguments) == 2
    errors = " ".join(capsys.readouterr().err.split())
    assert message in errors
    assert hint in errors
    assert IMPORT.read_text() == text


def test_a_name_without_a_table_needs_one_root_table(capsys):
    edit("--add-table", "stores", "--column", "stores.id:bigint")
    assert edit("--drop", "amount") == 2
    assert "`orders.amount`" in capsys.readouterr().err
    assert edit("--table", "orders", "--drop", "amount") == 0
    assert edit("--drop", "lines.qty") == 0
    assert "filters" in imported().tables["orders__lines"].properties


def test_a_table_and_a_column_of_one_name_are_told_apart(capsys):
    edit("--column", "orders.orders:text")
    assert edit("--describe", "orders=x") == 2
    assert "`orders` is a table and a column" in capsys.readouterr().err
    assert edit("--describe", "orders.orders=x") == 0


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Person:
    questions = Person()

    def answer(*lines: str) -> None:
        monkeypatch.setattr("sys.stderr", questions)
        monkeypatch.setattr("sys.stdin", Person("".join(f"{line}\n" for line in lines)))

    questions.answer = answer
    return questions


def test_a_person_is_asked_about_a_name_that_is_nearly_right(answers):
    answers.answer("yes")
    assert edit("--drop", "orders.amout") == 0
    assert "there is no column `amout` in `orders`: use `amount`?" in answers.getvalue()
    assert columns(sync()) == ["id", "note", "ship__city", "ship__zip"]


def test_a_person_who_means_no_other_name_gets_the_error(answers):
    answers.answer("no")
    assert edit("--rename", "orders.amout=total") == 2
    assert "did you mean `amount`?" in answers.getvalue()


def test_a_new_column_with_a_name_like_another_is_asked_about(answers):
    answers.answer("yes")
    assert edit("--column", "amout:decimal(10,2)") == 0
    assert "there is no column `amout` in `orders`: use `amount`?" in answers.getvalue()
    assert imported().tables["orders"].columns["amount"].data_type == "decimal"
    answers.answer("no")
    assert edit("--column", "amout:text") == 0
    assert imported().tables["orders"].columns["amout"].data_type == "text"


def test_a_column_of_a_table_with_a_name_like_another_is_asked_about(answers):
    answers.answer("yes")
    assert edit("--column", "oders.amount:decimal(10,2)") == 0
    assert "there is no table `oders`: use `orders`?" in answers.getvalue()
    assert imported().tables["orders"].columns["amount"].data_type == "decimal"


def test_a_new_table_with_a_name_like_another_is_asked_about(answers):
    answers.answer("no")
    assert edit("--add-table", "oders") == 2
    assert "did you mean `orders`?" in answers.getvalue()
    answers.answer("yes")
    assert edit("--add-table", "oders") == 0
