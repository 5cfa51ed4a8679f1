"""``schemactl merge`` and ``merge-driver``: their arguments, outputs and exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats.dlt import read, write
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


def text_of(*columns: tuple[str, str]) -> str:
    items = {name: Column(name, {"data_type": kind}) for name, kind in columns}
    table = Table("orders", items, {"write_disposition": "append", "resource": "orders"})
    return write(bump(new_schema("shop").with_table(table)))


ID = ("id", "bigint")
TEXTS = {
    "base": text_of(ID),
    "ours": text_of(ID, ("city", "text")),
    "theirs": text_of(ID, ("vip", "bool")),
    "odd": text_of(ID, ("city", "json")),
}
FILES = ["base.yaml", "ours.yaml", "theirs.yaml"]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    for name, text in TEXTS.items():
        Path(f"{name}.yaml").write_text(text)


def columns_of(text: str) -> list[str]:
    return list(read(text, "shop.schema.yaml").schema.tables["orders"].columns)


def test_the_merged_file_goes_to_standard_output_and_the_report_to_standard_error(capsys):
    assert run(["merge", *FILES]) == 0
    printed = capsys.readouterr()
    assert columns_of(printed.out) == ["id", "city", "vip"]
    assert printed.err == "ours.yaml: merged, 1 change from theirs\n  orders.vip: new column, bool\n"


def test_one_side_can_be_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXTS["ours"].encode())))
    assert run(["merge", "base.yaml", "-", "theirs.yaml", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert columns_of(printed.out) == ["id", "city", "vip"]
    assert printed.err == ""


def test_the_merged_file_can_be_written(capsys):
    assert run(["merge", *FILES, "--output", "new/shop.schema.yaml"]) == 0
    assert columns_of(Path("new/shop.schema.yaml").read_text()) == ["id", "city", "vip"]
    assert capsys.readouterr().out.endswith("wrote new/shop.schema.yaml\n")


def test_a_conflict_exits_with_1_and_stays_in_the_text(capsys):
    assert run(["merge", "base.yaml", "ours.yaml", "odd.yaml", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert "<<<<<<< ours: `orders.city` is `text` in ours and `json` in theirs\n" in printed.out
    assert "conflict: `orders.city` is `text` in ours and `json` in theirs" in printed.err


def test_the_json_document_has_conflicts_with_both_values(capsys):
    assert run(["merge", "base.yaml", "ours.yaml", "odd.yaml", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    check_document(document, "merge")
    (file,) = document["files"]
    assert file["conflicts"] == [
        {
            "table": "orders",
            "column": "city",
            "property": "data_type",
            "message": "`orders.city` is `text` in ours and `json` in theirs",
            "base": {},
            "ours": {"data_type": "text"},
            "theirs": {"data_type": "json"},
        }
    ]
    assert not file["is_clean"]
    assert "<<<<<<< ours" in file["text"]
    assert run(["merge", *FILES, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "merge")
    assert [change["kind"] for change in document["files"][0]["changes"]] == ["ColumnAdded"]


def put(folder: str, **names: str) -> None:
    for path, name in names.items():
        file = Path(folder, path.replace("__", "/")).with_suffix(".schema.yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TEXTS[name])


def test_folders_are_merged_file_by_file(capsys):
    put("b", import__shop="base", export__shop="base", export__old="base", export__gone="base")
    put("o", import__shop="ours", export__shop="ours", export__old="base", export__new="ours")
    put("t", import__shop="theirs", export__shop="base", export__gone="base", export__other="theirs")
    assert run(["merge", "b", "o", "t", "--output", "merged"]) == 0
    written = {str(path.relative_to("merged")) for path in Path("merged").rglob("*") if path.is_file()}
    assert written == {
        "import/shop.schema.yaml", "export/shop.schema.yaml", "export/new.schema.yaml", "export/other.schema.yaml",
    }  # fmt: skip
    assert columns_of(Path("merged/import/shop.schema.yaml").read_text()) == ["id", "city", "vip"]
    assert columns_of(Path("merged/export/shop.schema.yaml").read_text()) == ["id", "city"]
    assert "export/old.schema.yaml: deleted, as one side did" in capsys.readouterr().out


def test_a_file_that_one_side_deleted_and_the_other_changed_conflicts(capsys):
    put("b", export__shop="base", export__more="base")
    put("o", export__shop="ours", export__more="base")
    put("t", export__more="base")
    assert run(["merge", "b", "o", "t"]) == 1
    assert "`export/shop.schema.yaml` is changed in ours and deleted in theirs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["base.yaml", "ours.yaml", "their.yaml"], "there is no file `their.yaml`", "did you mean `theirs.yaml`?"),
        (["base.yaml", "-", "-"], "only one of BASE, OURS and THEIRS can be `-`", ""),
        (["base.yaml", "ours.yaml", "folder"], "BASE, OURS and THEIRS are files and folders", "name three files"),
        (["base.yaml", "ours.yaml", "text.yaml"], "the file is not a mapping", ""),
        (["base.yaml", "ours.yaml", "empty.yaml"], "`ours.yaml` is empty in theirs", ""),
        (["empty", "empty", "empty"], "there is no schema in `empty`", "NAME.schema.yaml"),
    ],
)
def test_wrong_input_is_refused(arguments, message, hint, capsys):
    put("folder", export__shop="base")
    Path("text.yaml").write_text("just text\n")
    Path("empty.yaml").write_text("")
    Path("empty").mkdir()
    assert run(["merge", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert hint in printed


def driver(*names: str, size: str = "7") -> int:
    return run(["merge-driver", *(f"{name}.yaml" for name in names), size, "schemas/export/shop.schema.yaml"])


def test_the_driver_replaces_our_file(capsys):
    assert driver("base", "ours", "theirs") == 0
    assert columns_of(Path("ours.yaml").read_text()) == ["id", "city", "vip"]
    assert Path("theirs.yaml").read_text() == TEXTS["theirs"]
    assert capsys.readouterr().out.startswith("schemas/export/shop.schema.yaml: merged, 1 change from theirs\n")


def test_the_driver_exits_with_1_for_a_conflict():
    assert driver("base", "ours", "odd", size="9") == 1
    assert "<<<<<<<<< ours: `orders.city`" in Path("ours.yaml").read_text()


def test_the_driver_takes_an_empty_ancestor():
    Path("base.yaml").write_text("")
    assert driver("base", "ours", "theirs") == 0
    assert columns_of(Path("ours.yaml").read_text()) == ["id", "city", "vip"]


def test_the_driver_never_leaves_our_side_alone_for_a_merge(capsys):
    Path("theirs.yaml").write_text(TEXTS["theirs"].replace("name: shop", "name: ["))
    assert driver("base", "ours", "theirs") == 1
    text = Path("ours.yaml").read_text()
    assert "city" in text
    assert "vip" in text
    assert "merged line by line, check the whole file" in capsys.readouterr().out


def test_the_driver_prints_json(capsys):
    arguments = [*FILES, "7", "schemas/export/shop.schema.yaml", "--format", "json"]
    assert run(["merge-driver", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "merge-driver")
    assert document["written"] == ["ours.yaml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "git passes five arguments: BASE OURS THEIRS SIZE PATH"),
        (FILES, "git passes five arguments"),
        ([*FILES, "seven", "p"], "`seven` is not the size of a conflict marker"),
        ([*FILES, "0", "p"], "`0` is not the size of a conflict marker"),
        (["--install", "base.yaml"], "`--install` takes no files"),
        (["--install"], "is not in a git repository"),
    ],
)
def test_a_wrong_call_of_the_driver_is_refused(arguments, message, capsys):
    assert run(["merge-driver", *arguments]) == 2
    assert message in capsys.readouterr().err
