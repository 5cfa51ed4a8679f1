"""Reviews of a change of a schema and of its readers at once: the readers of both git revisions are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats.dlt import write
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from tests.readers.test_dbt_manifest import SOURCE, manifest, node
from tests.store.test_revision import commit, git

SCHEMA = Path("schemas/export/shop.schema.yaml")


def save_schema(*columns: str) -> None:
    SCHEMA.parent.mkdir(parents=True, exist_ok=True)
    table = Table("orders", {name: Column(name, {"data_type": "bigint"}) for name in columns})
    SCHEMA.write_text(write(new_schema("shop").with_table(table)))


def save_query(name: str, sql: str) -> None:
    Path("queries").mkdir(exist_ok=True)
    Path("queries", name).write_text(sql)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose working tree drops two columns and changes four queries."""
    monkeypatch.chdir(tmp_path)
    save_schema("id", "amount", "note")
    save_query("repaired.sql", "select amount + 1 from shop.orders")
    save_query("broken.sql", "select amount, note from shop.orders")
    save_query("gone.sql", "select id from shop.orders where note > 1")
    save_query("unclear.sql", "select note from shop.orders")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "first")
    save_schema("id")
    save_query("repaired.sql", "select id + 1 from shop.orders")
    Path("queries/gone.sql").unlink()
    save_query("unclear.sql", "select {{ columns() }} from shop.orders")
    save_query("new.sql", "select amount from shop.orders")
    return tmp_path


def dropped_columns(capsys: pytest.CaptureFixture[str], *call: str, code: int = 1) -> dict[str, dict[str, Any]]:
    assert run(["diff", *call, "--format", "json"]) == code
    report = json.loads(capsys.readouterr().out)
    check_document(report, "diff")
    return {finding["column"]: finding for finding in report["reviews"][0]["findings"] if finding["rule"] == "C204"}


def names(finding: dict[str, Any], key: str) -> list[str]:
    return [reader["name"].removeprefix("queries/") for reader in finding[key]]


@pytest.mark.parametrize("head", [(), ("git:change",)])
def test_queries_of_both_revisions_say_what_the_change_repairs(
    head: tuple[str, ...], work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if head:
        git(work, "switch", "-q", "-c", "change")
        commit(work, "change")
        git(work, "switch", "-q", "main")
    findings = dropped_columns(capsys, "git:main", *head, "--readers", "sql:queries/*.sql")
    assert names(findings["amount"], "readers") == ["broken.sql", "new.sql"]
    assert names(findings["amount"], "repaired") == ["repaired.sql"]
    assert names(findings["note"], "readers") == ["broken.sql", "unclear.sql"]
    assert names(findings["note"], "repaired") == ["gone.sql"]


def test_a_column_that_only_repaired_queries_read_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("broken.sql", "unclear.sql", "new.sql"):
        Path("queries", name).unlink()
    findings = dropped_columns(capsys, "git:main", "--readers", "sql:queries?complete=true")
    assert {column: (finding["answer"], finding["impact"]["readers"]) for column, finding in findings.items()} == {
        "amount": ("not read", "info"),
        "note": ("not read", "info"),
    }
    assert names(findings["note"], "repaired") == ["broken.sql", "gone.sql", "unclear.sql"]


def test_the_text_names_repaired_readers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    Path("queries/broken.sql").unlink()
    run(["diff", "git:main", "--readers", "sql:queries/*.sql"])
    out = capsys.readouterr().out
    unclear = "cannot tell whether `queries/unclear.sql` reads the column: a template that may be any SQL"
    repaired = "repaired in this change: `queries/broken.sql`, `queries/repaired.sql`"
    assert f"breaks 1 reader: `queries/new.sql` (line 1); {unclear}; {repaired}\n" in out


def test_without_a_revision_nothing_is_repaired(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "base.yaml").write_text(git(work, "show", f"main:{SCHEMA}"))
    findings = dropped_columns(capsys, "base.yaml", str(SCHEMA), "--readers", "sql:queries/*.sql")
    assert [names(finding, "repaired") for finding in findings.values()] == [[], []]


def test_all_readers_may_come_or_go_with_a_change(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in Path("queries").iterdir():
        path.unlink()
    findings = dropped_columns(capsys, "git:main", "--readers", "sql:queries/*.sql")
    assert names(findings["amount"], "repaired") == ["broken.sql", "repaired.sql"]
    Path("more").mkdir()
    Path("more/a.sql").write_text("select amount from shop.orders")
    findings = dropped_columns(capsys, "git:main", "--readers", "sql:more/*.sql")
    assert names(findings["amount"], "readers") == ["more/a.sql"]


def test_a_pattern_without_files_on_both_sides_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "git:main", "--readers", "sql:querys/*.sql"]) == 2
    assert "no file matches `querys/*.sql`" in capsys.readouterr().err


def test_two_manifests_say_what_the_change_repairs(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "production.json").write_text(manifest())
    (work / "manifest.json").write_text(manifest().replace("id, amount + 1 as a", "id"))
    source = "dbt:manifest.json?dataset=raw&base=production.json"
    amount = dropped_columns(capsys, "git:main", "--readers", source)["amount"]
    assert (names(amount, "readers"), names(amount, "repaired")) == ([], ["stg_orders"])
    source = "dbt:production.json?dataset=raw&base=manifest.json"
    amount = dropped_columns(capsys, "git:main", "--readers", source)["amount"]
    assert (names(amount, "readers"), names(amount, "repaired")) == (["stg_orders"], [])


def test_a_test_of_dbt_that_goes_with_its_column_is_repaired(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = work / "models/sources.yml"
    tests = "        tests: [not_null, {accepted_values: {values: [1]}}]"
    head = "sources:\n- name: shop\n  tables:\n  - name: orders\n    columns:\n    - name: id\n"
    git(work, "stash", "-q", "-u")
    path.parent.mkdir()
    path.write_text(f"{head}{tests[2:]}\n    - name: amount\n{tests[2:]}\n")
    (work / "models/stg.sql").write_text("select id from {{ source('shop', 'orders') }}")
    commit(work, "tests")
    git(work, "stash", "pop", "-q")
    path.write_text(head)
    content = json.loads(manifest())
    content["sources"] = {SOURCE: {"schema": "shop", "source_name": "shop", "name": "orders"}}
    raw_code = (work / "models/stg.sql").read_text()
    content["nodes"] = {"model.shop.stg": node("stg", SOURCE, raw_code=raw_code, compiled_code="select id from orders")}
    (work / "target").mkdir()
    (work / "target/manifest.json").write_text(json.dumps(content))
    finding = dropped_columns(capsys, "git:main", "--readers", "dbt:target/manifest.json")["amount"]
    assert names(finding, "readers") == []
    assert names(finding, "repaired") == [
        "source_accepted_values_shop_orders_amount",
        "source_not_null_shop_orders_amount",
    ]


def test_the_owner_of_a_file_is_that_of_the_base(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(work, "stash", "-q", "-u")
    (work / "CODEOWNERS").write_text("*.sql @base")
    commit(work, "owners")
    git(work, "stash", "pop", "-q")
    (work / "CODEOWNERS").write_text("*.sql @head")
    findings = dropped_columns(capsys, "git:main", "--readers", "sql:queries/*.sql")
    assert {reader["owner"] for reader in findings["amount"]["readers"] + findings["amount"]["repaired"]} == {"@base"}
    assert run(["readers", "orders.id", "--readers", "sql:queries/*.sql", "--format", "csv"]) == 0
    assert "@head" in capsys.readouterr().out


def test_a_deleted_reader_has_its_owner(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(work, "stash", "-q", "-u")
    (work / "CODEOWNERS").write_text("*.sql @base")
    commit(work, "owners")
    git(work, "stash", "pop", "-q")
    for path in Path("queries").iterdir():
        path.unlink()
    findings = dropped_columns(capsys, "git:main", "--readers", "sql:queries/*.sql")
    assert {reader["owner"] for reader in findings["amount"]["repaired"]} == {"@base"}


def test_owners_that_cannot_be_read_are_a_warning(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "CODEOWNERS").symlink_to("/etc/hostname")
    assert run(["readers", "--readers", "sql:queries/*.sql"]) == 0
    printed = capsys.readouterr()
    assert "queries/repaired.sql" in printed.out
    assert "the owners of readers are unknown: " in printed.err
    assert "is a link out of the repository" in printed.err
