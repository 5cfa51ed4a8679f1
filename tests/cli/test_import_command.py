"""``schemactl import`` and ``export`` around their flows: what is printed, and the exit code."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table


def with_columns(contract: str | None = None, **columns: str) -> Schema:
    table = Table("orders", {name: Column(name, {"data_type": type_}) for name, type_ in columns.items()})
    stated = new_schema("shop").with_table(replace(table, properties={"write_disposition": "append"}))
    return bump(replace(stated, settings={"schema_contract": contract} if contract else {}))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def put(schema: Schema) -> None:
    Path("new.yaml").write_text(dlt.write(schema))


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    check_document(found, "import")
    return found


def test_what_changed_is_printed(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns(id="bigint"))
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("wrote schemas/import/shop.schema.yaml, ")
    put(with_columns(id="text"))
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    assert "  orders.id: type bigint -> text\n" in capsys.readouterr().out


def test_a_check_finds_what_is_pending(work: Path):
    put(with_columns(id="bigint"))
    assert run(["import", "new.yaml", "--name", "shop", "--check"]) == 1
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    assert run(["import", "new.yaml", "--name", "shop", "--check"]) == 0


def test_all_losses_are_listed_where_asked(work: Path, capsys: pytest.CaptureFixture[str]):
    columns = ", ".join(f"c{number} point" for number in range(5))
    Path("t.sql").write_text(f"CREATE TABLE t ({columns})")
    assert run(["import", "t.sql", "--name", "shop", "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "c2: type" in said
    assert "c4" not in said
    assert " and 2 more (--verbose lists all)\n" in said
    assert run(["import", "t.sql", "--name", "shop", "--dry-run", "-v"]) == 0
    said = capsys.readouterr().err
    assert [f"t.c{number}: type" in said for number in range(5)] == [True] * 5
    assert "more" not in said


def test_a_broken_contract_is_reported_and_fails(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns("freeze", id="bigint"))
    run(["import", "new.yaml", "--name", "shop"])
    put(with_columns("freeze", id="bigint", note="text"))
    assert run(["import", "new.yaml", "--name", "shop"]) == 1
    out = capsys.readouterr().out
    assert "contract: `orders.note`: columns is freeze" in out
    assert out.endswith("nothing written\n")


def test_the_document_follows_its_schema(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns("freeze", id="bigint"))
    run(["import", "new.yaml", "--name", "shop", "--format", "json"])
    assert document(capsys)["before"] is None
    put(with_columns("freeze", id="bigint", note="text"))
    assert run(["import", "new.yaml", "--name", "shop", "--format", "json"]) == 1
    found = document(capsys)
    assert [change["kind"] for change in found["changes"]] == ["ColumnAdded"]
    assert [violation["column"] for violation in found["violations"]] == ["note"]
    assert found["written"] == []


def test_an_export_goes_to_standard_output_or_says_where(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns(id="bigint"))
    run(["import", "new.yaml", "--name", "shop"])
    capsys.readouterr()
    assert run(["export", "shop", "--to", "dlt"]) == 0
    # The link to the import file is of the folder alone.
    assert Path("schemas/export/shop.schema.yaml").read_text().startswith(capsys.readouterr().out)
    assert run(["export", "shop", "--output", "out/"]) == 0
    assert capsys.readouterr().err == "wrote out/shop.schema.yaml\n"


def test_a_dash_is_standard_output_and_input(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pipe(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    pipe("create table orders (id bigint);")
    assert run(["import", "-", "--dialect", "postgresql", "--name", "shop"]) == 0
    capsys.readouterr()
    assert run(["export", "shop", "--to", "sql", "--output", "-"]) == 0
    written = capsys.readouterr().out
    assert written.startswith('CREATE TABLE "orders"')
    assert run(["diff", "shop", "shop", "--output", "-", "--report", "json=-"]) == 0
    assert capsys.readouterr().out.endswith("no changes\n")
    assert not Path("-").exists()
    pipe("create table (")
    assert run(["import", "-", "--from", "sql", "--name", "shop"]) == 2
    assert "<stdin>:1:" in capsys.readouterr().err


DBT = """
models:
- name: customers
  config: {contract: {enforced: true}}
  columns: [{name: id, data_type: varchar(3)}, {name: at, data_type: timestamp}]
  versions: [{v: 1}, {v: 2}]
"""


def test_models_of_dbt_are_imported_by_version_and_dialect(work: Path, capsys: pytest.CaptureFixture[str]):
    Path("models.yml").write_text(DBT)
    assert run(["import", "models.yml", "--name", "shop", "--versions", "all", "--dialect", "postgresql"]) == 0
    capsys.readouterr()
    assert run(["show", "shop"]) == 0
    shown = capsys.readouterr().out
    assert "customers_v1" in shown
    assert "customers_v2" in shown
    assert "timezone: false" in Path("schemas/export/shop.schema.yaml").read_text()
    assert run(["import", "models.yml", "--name", "other"]) == 0
    assert "customers: `version: 1`" in capsys.readouterr().err
    assert run(["import", "models.yml", "--name", "other", "--strict"]) == 2
    assert run(["import", "models.yml", "--from", "odcs", "--name", "other", "--versions", "all"]) == 2
    assert "the format `odcs` has no versions of tables" in capsys.readouterr().err


def test_an_enforced_contract_of_dbt_compares_types_and_no_sizes(work: Path, capsys: pytest.CaptureFixture[str]):
    Path("models.yml").write_text(DBT)
    assert run(["import", "models.yml", "--name", "shop"]) == 0
    Path("models.yml").write_text(DBT.replace("varchar(3)", "varchar(10)"))
    assert run(["import", "models.yml", "--name", "shop"]) == 0
    Path("models.yml").write_text(DBT.replace("varchar(3)", "int"))
    assert run(["import", "models.yml", "--name", "shop"]) == 1
    assert "data_type is freeze" in capsys.readouterr().out


def test_an_export_refuses_an_output_that_does_not_exist(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "shop", "--format", "yml"]) == 2
    assert "`yml` is not a value of `--format`" in capsys.readouterr().err


def test_what_is_imported_is_wrapped_to_the_terminal(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "60")
    put(with_columns(id="bigint"))
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    put(with_columns(**{f"{name}_amount_of_the_whole_order_before_taxes": "text" for name in "ab"}))
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert "shop.schema.yaml" in lines[-1]


def test_tables_that_every_schema_has_are_not_counted(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns(id="bigint", note="text"))
    assert run(["import", "new.yaml", "--name", "shop"]) == 0
    assert capsys.readouterr().out.startswith("shop: new schema, 1 table, 2 columns, hash ")


def test_a_quiet_import_says_only_what_is_pending_or_forbidden(work: Path, capsys: pytest.CaptureFixture[str]):
    put(with_columns("freeze", id="bigint"))
    assert run(["import", "new.yaml", "--name", "shop", "--check", "--quiet"]) == 1
    assert capsys.readouterr().out == "nothing written: the schema would change\n"
    assert run(["import", "new.yaml", "--name", "shop", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    put(with_columns("freeze", id="bigint", note="text"))
    assert run(["import", "new.yaml", "--name", "shop", "--quiet"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("contract: `orders.note`: columns is freeze")
    assert out[-1] == "nothing written"
