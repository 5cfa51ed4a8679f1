"""``export`` and ``import`` with formats of others: losses, tables, merging."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.store.text import read_text

FOREIGN = {"type": "object", "properties": {"id": {"type": "integer", "examples": [1]}, "note": {"type": "string"}}}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = Table("orders__lines", {"sku": Column("sku", {"data_type": "text"})}, {"parent": "orders"})
    columns = {name: Column(name, {"data_type": "bigint", "nullable": False}) for name in ("id", "total")}
    marks = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}}
    schema = new_schema("shop").with_table(Table("orders", columns, marks)).with_table(lines)
    (tmp_path / "schemas" / "export").mkdir(parents=True)
    (tmp_path / "schemas" / "export" / "shop.schema.yaml").write_text(dlt.write(bump(schema)))
    (tmp_path / "orders.schema.json").write_text(json.dumps(FOREIGN))
    return tmp_path


def stored(work: Path):
    return dlt.read(read_text(work / "schemas" / "export" / "shop.schema.yaml"), "schema.yaml").schema


def test_nested_tables_are_folded_where_asked(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--to", "jsonschema", "--nested"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["$defs"]) == ["orders"]
    assert document["$defs"]["orders"]["properties"]["lines"]["type"] == ["array", "null"]


def test_one_table_is_exported_with_what_is_nested_in_it(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--to", "jsonschema", "--table", "orders__lines"]) == 0
    assert list(json.loads(capsys.readouterr().out)["$defs"]) == ["orders__lines"]
    assert run(["export", "shop", "--to", "jsonschema", "--table", "order"]) == 2
    assert "did you mean `orders`" in capsys.readouterr().err


def test_a_loss_on_import_is_reported_and_an_error_where_asked(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["import", "orders.schema.json", "--name", "other", "--dry-run"]) == 0
    assert "not in the schema: orders.id: `examples: [1]`\n" in capsys.readouterr().err
    assert run(["import", "orders.schema.json", "--name", "other", "--strict"]) == 2
    assert not list(work.glob("schemas/*/other*"))


def test_a_dry_run_shows_changes_and_writes_nothing(work: Path, capsys: pytest.CaptureFixture[str]):
    before = stored(work)
    assert run(["import", "orders.schema.json", "--name", "shop", "--dry-run"]) == 0
    assert "orders.total" in capsys.readouterr().out
    assert stored(work) == before


def test_an_import_replaces_or_merges(work: Path):
    assert run(["import", "orders.schema.json", "--name", "shop", "--merge"]) == 0
    merged = stored(work)
    assert list(merged.tables["orders"].columns) == ["id", "total", "note"]
    assert "orders__lines" in merged.tables
    assert run(["import", "orders.schema.json", "--name", "shop"]) == 0
    replaced = stored(work)
    assert list(replaced.tables["orders"].columns) == ["id", "note"]
    assert "orders__lines" not in replaced.tables
    assert replaced.tables["orders"].normalizer_hint("seen-data") is True


def test_a_loss_on_export_is_reported_and_an_error_where_asked(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--to", "bigquery", "--table", "orders__lines"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["export", "shop", "--to", "sparkddl", "--output", "out/"]) == 0
    assert "not in sparkddl: orders__lines: `parent: orders`\n" in capsys.readouterr().err
    assert sorted(path.name for path in Path("out").iterdir()) == ["orders.ddl", "orders__lines.ddl"]
    assert run(["export", "shop", "--to", "sparkddl", "--output", "strict/", "--strict"]) == 2
    assert not Path("strict").exists()


def test_a_file_of_one_table_is_asked_for_its_table(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--to", "bigquery"]) == 2
    assert "the schema has several: `orders`, `orders__lines`" in capsys.readouterr().err
    assert run(["export", "shop", "--to", "bigquery", "--nested"]) == 0


def test_arc_names_its_table_by_the_file(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--to", "arc", "--nested"]) == 0
    assert "table" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["jsonschema", "avro", "spark", "sparkddl", "bigquery", "dbt", "odcs", "protobuf", "dlt"]
)
def test_a_file_is_reported_by_its_name_and_content(work: Path, name: str):
    assert run(["export", "shop", "--to", name, "--table", "orders__lines", "--output", "out/", "--quiet"]) == 0
    (file,) = Path("out").iterdir()
    plain = file.rename(f"orders__lines.{file.suffix[1:]}")
    assert run(["import", str(plain), "--name", "again", "--quiet"]) == 0
    again = dlt.read(read_text(work / "schemas" / "export" / "again.schema.yaml"), "schema.yaml").schema
    assert again.tables["orders__lines"].columns["sku"].data_type == "text"


def test_files_of_bytes_go_out_and_come_in(work: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    selected = ["export", "shop", "--table", "orders__lines", "--to"]
    assert run([*selected, "parquet", "--output", "orders__lines.parquet"]) == 0
    assert run(["import", "orders__lines.parquet", "--name", "lines"]) == 0
    lines = dlt.read(read_text(work / "schemas/export/lines.schema.yaml"), "schema.yaml").schema
    assert list(lines.tables["orders__lines"].columns) == ["sku"]
    capfdbinary.readouterr()
    assert run([*selected, "arrow"]) == 0
    assert capfdbinary.readouterr().out[:6] == b"ARROW1"
    assert run(["import", "none.parquet", "--name", "lines"]) == 2
    (work / "empty.parquet").touch()
    assert run(["import", "empty.parquet", "--name", "lines"]) == 2
    assert b"this is not a Parquet file" in capfdbinary.readouterr().err
