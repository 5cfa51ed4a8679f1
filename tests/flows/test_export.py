"""A schema as the text of a format: what is exported, and where it goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.flows.export import ExportRequest, export
from schemactl.formats import Loss, dlt
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    folder = tmp_path / "schemas" / "export"
    folder.mkdir(parents=True)
    for name in ("shop", "stock"):
        (folder / f"{name}.schema.yaml").write_text(dlt.write(bump(new_schema(name))))
    return folder


def request(exports: Path, reference: str, output: Path | str | None = None) -> ExportRequest:
    return ExportRequest(reference, "dlt", None if output is None else str(output), exports.parent)


def test_a_stored_schema_is_exported_as_it_stands(exports: Path):
    (exported,) = export(request(exports, "shop"))
    assert exported.text == (exports / "shop.schema.yaml").read_text()
    assert exported.path is None


def test_an_old_file_is_brought_up_to_date_and_hashed(exports: Path, tmp_path: Path):
    old = tmp_path / "old.yaml"
    old.write_text((exports / "shop.schema.yaml").read_text().replace("engine_version: 11", "engine_version: 9"))
    (exported,) = export(request(exports, str(old)))
    document = dlt.read(exported.text, "new.yaml")
    assert document.stated_engine_version == 11
    assert document.stated_hash == version_hash(document.schema)
    assert not document.is_edited


def test_a_file_edited_by_hand_gets_the_hash_of_its_content(exports: Path):
    file = exports / "shop.schema.yaml"
    file.write_text(file.read_text().replace("data_type: bigint", "data_type: text"))
    (exported,) = export(request(exports, "shop"))
    document = dlt.read(exported.text, "new.yaml")
    assert not document.is_edited
    assert document.schema.version == 2


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_folder_gets_a_file_for_each_schema(exports: Path, tmp_path: Path, slash: str):
    target = tmp_path / "out"
    exported = export(request(exports, "export:", f"{target}{slash}"))
    assert [each.path for each in exported] == [target / "shop.schema.yaml", target / "stock.schema.yaml"]
    assert (target / "stock.schema.yaml").read_text() == (exports / "stock.schema.yaml").read_text()


def test_one_schema_goes_to_the_file_that_is_named_or_into_the_folder(exports: Path, tmp_path: Path):
    assert export(request(exports, "shop", tmp_path / "a" / "b.yaml"))[0].path == tmp_path / "a" / "b.yaml"
    assert export(request(exports, "shop", f"{tmp_path}/c/"))[0].path == tmp_path / "c" / "shop.schema.yaml"
    assert export(request(exports, "shop", tmp_path))[0].path == tmp_path / "shop.schema.yaml"


def test_a_file_that_ends_in_json_is_json(exports: Path, tmp_path: Path):
    (exported,) = export(request(exports, "shop", tmp_path / "shop.json"))
    assert exported.text.startswith("{")
    assert dlt.read(exported.text, "shop.json").schema.name == "shop"


def test_several_schemas_are_no_one_text(exports: Path, tmp_path: Path):
    file = tmp_path / "file.yaml"
    file.touch()
    for output in (None, file):
        with pytest.raises(InputError, match="names 2 schemas: `shop`, `stock`"):
            export(request(exports, "export:", output))
    assert file.read_text() == ""


def test_a_database_is_exported_as_a_schema_that_can_be_read(exports: Path, tmp_path: Path):
    import sqlite3

    database = tmp_path / "shop.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER NOT NULL, note TEXT)")
    connection.close()
    (exported,) = export(request(exports, f"sqlite:///{database}"))
    document = dlt.read(exported.text, "new.yaml")
    assert list(document.schema.tables["orders"].columns) == ["id", "note"]
    assert not document.schema.tables["orders"].columns["id"].nullable
    assert not document.is_edited


def test_an_unknown_naming_convention_is_reported(exports: Path):
    path = exports / "shop.schema.yaml"
    path.write_text(path.read_text().replace("names: snake_case", "names: snake_cas"))
    with pytest.raises(InputError, match="no naming convention `snake_cas`"):
        export(request(exports, "shop"))


def test_an_unknown_format_is_reported_with_those_that_are_known(exports: Path):
    with pytest.raises(InputError) as caught:
        export(ExportRequest("shop", "dtl", None, exports.parent))
    assert caught.value.hint == "did you mean `dlt`?"


def test_a_table_that_is_named_stands_alone_where_a_file_holds_one(exports: Path, tmp_path: Path):
    columns = {"id": Column("id", {"data_type": "bigint"})}
    orders = Table("orders", columns, {"resource": "orders"})
    lines = Table("orders__lines", columns, {"parent": "orders"})
    schema = new_schema("shop").with_table(lines).with_table(orders)
    (exports / "shop.schema.yaml").write_text(dlt.write(bump(schema)))
    asked = ExportRequest("shop", "sparkddl", None, exports.parent, table="orders")
    (exported,) = export(asked)
    assert exported.text == "id BIGINT\n"
    assert exported.losses == (Loss("orders__lines", "table"),)
    with pytest.raises(InputError, match="--strict"):
        export(replace(asked, is_strict=True))
    assert len(export(replace(asked, output=f"{tmp_path}/"))) == 2
    with pytest.raises(InputError, match="and the schema has several") as caught:
        export(replace(asked, table=None))
    assert "`--table`" in (caught.value.hint or "")
