"""``schemactl readers``: sources, and the views of databases."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import duckdb
import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.flows.reader_sources import ReaderSource, parse_reader_source
from schemactl.flows.readers import ReadersRequest, list_readers, read_readers
from schemactl.formats.dlt import write
from schemactl.review.readers import Answer
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

pytestmark = pytest.mark.usefixtures("work")

ORDERS = Table("orders", {name: Column(name, {"data_type": "bigint"}) for name in ("id", "amount", "note")})


@pytest.fixture
def shop() -> Schema:
    return new_schema("shop").with_table(ORDERS)


SOURCES = {
    "sql:queries/**/*.sql": ReaderSource("sql", "queries/**/*.sql"),
    "sql:q?.sql?dialect=postgresql&dataset=raw": ReaderSource("sql", "q?.sql", "postgres", "raw"),
    "dbt:target/manifest.json?database=db&complete=true": ReaderSource(
        "dbt", "target/manifest.json", database="db", is_complete=True
    ),
    "duckdb:///shop.duckdb?dataset=raw": ReaderSource("duckdb", "duckdb:///shop.duckdb?dataset=raw", dataset="raw"),
}


@pytest.mark.parametrize(("text", "source"), SOURCES.items())
def test_a_source_has_a_kind_a_place_and_keys(text: str, source: ReaderSource) -> None:
    assert parse_reader_source(text) == source


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queries", "`queries` is not a source of readers"),
        ("sqll:queries", "`sqll:queries` is not a source of readers"),
        ("sql:q.sql?dialekt=x", "`dialekt` is not a key of a source of readers"),
        ("sql:q.sql?dialect=duckbd", "there is no dialect `duckbd`"),
        ("sql:q.sql?complete=maybe", "`complete=maybe`"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_reader_source(text)
    assert message in refused.value.message


def read(shop: Schema, *sources: str) -> dict[str, str]:
    readership = read_readers(tuple(map(parse_reader_source, sources)), "shop", [shop])
    return {column: readership.answer("orders", column).value for column in ORDERS.columns}


def test_files_are_read_by_pattern_and_folder(shop: Schema, work: Path) -> None:
    (work / "queries" / "daily").mkdir(parents=True)
    (work / "queries" / "daily" / "a.sql").write_text("select id from shop.orders where note > '{{ ds }}'")
    expected = {"id": "read", "amount": "not read", "note": "read"}
    assert read(shop, "sql:queries/**/*.sql") == read(shop, "sql:queries") == expected


def test_a_template_that_may_be_any_sql_may_read_everything(shop: Schema, work: Path) -> None:
    (work / "a.sql").write_text("select id, {{ columns() }} from shop.orders")
    assert read(shop, "sql:a.sql") == {"id": "read", "amount": "cannot tell", "note": "cannot tell"}


def test_views_of_duckdb_are_read_in_all_datasets_and_macros_cannot_be_told(shop: Schema) -> None:
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("create schema shop; create schema reporting")
        connection.execute("create table shop.orders (id bigint, amount bigint, note bigint)")
        connection.execute("create view reporting.daily as select sum(amount) as total from shop.orders")
        connection.execute("create macro last_note() as table select max(note) from shop.orders")
    assert read(shop, "duckdb:///data.duckdb") == {"id": "cannot tell", "amount": "read", "note": "cannot tell"}


def test_views_of_sqlite_are_read(shop: Schema) -> None:
    with sqlite3.connect("shop.db") as connection:
        connection.execute("create table orders (id bigint, amount bigint, note bigint)")
        connection.execute("create view daily as select amount from orders")
    assert read(shop, "sqlite:///shop.db") == {"id": "not read", "amount": "read", "note": "not read"}


def folder_with(shop: Schema, work: Path) -> SchemasFolder:
    (work / "schemas" / "export").mkdir(parents=True)
    (work / "schemas" / "export" / "shop.schema.yaml").write_text(write(shop))
    return SchemasFolder.at("schemas")


def request(folder: SchemasFolder, *, name: str | None = None, answers: tuple[Answer, ...] = ()) -> ReadersRequest:
    sources = (parse_reader_source("sql:a.sql"),)
    return ReadersRequest(reference="export:", schemas=folder, sources=sources, name=name, answers=answers)


def test_columns_are_listed_by_name_and_by_answer(shop: Schema, work: Path) -> None:
    folder = folder_with(shop, work)
    (work / "a.sql").write_text("select id from shop.orders")

    def columns(name: str | None = None, answers: tuple[Answer, ...] = ()) -> list[str | None]:
        (report,) = list_readers(request(folder, name=name, answers=answers))
        return [row.column for row in report.columns if row.column is not None]

    assert columns() == columns("orders") == ["id", "amount", "note"]
    assert columns("orders.id") == ["id"]
    assert columns(answers=(Answer.NOT_READ,)) == ["amount", "note"]
    with pytest.raises(InputError, match=r"there is no table or column `orders.amont`") as refused:
        columns("orders.amont")
    assert refused.value.hint == "did you mean `orders.amount`?"


def test_the_steps_of_a_plan_name_the_readers_that_they_break(
    shop: Schema, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("create schema shop; create table shop.orders (id bigint, amount text, note bigint)")
    (work / "shop.yaml").write_text(write(shop))
    (work / "a.sql").write_text("select amount || 'x' from shop.orders")
    (work / "b.sql").write_text("select amount from shop.orders")
    call = ["migrate", "plan", "shop.yaml", "--to", "duckdb:///data.duckdb"]
    assert run([*call, "--readers", "sql:*.sql", "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    broken = [(step["number"], [reader["name"] for reader in step["readers"]]) for step in plan["readers"]]
    assert broken == [(3, ["a.sql"])]  # two steps create dlt's own tables
    assert run([*call, "--readers", "sql:*.sql"]) == 0
    assert "readers: step 3 breaks 1 reader: `a.sql` (line 1)" in capsys.readouterr().out


def test_a_list_without_sources_is_refused(shop: Schema, work: Path) -> None:
    folder = folder_with(shop, work)
    with pytest.raises(InputError, match="no readers are declared"):
        list_readers(ReadersRequest(reference="export:", schemas=folder, sources=()))


def review_of_dropped_columns(shop: Schema, work: Path, source: str, capsys: pytest.CaptureFixture[str]) -> dict:
    without_amount = Table("orders", {"id": ORDERS.columns["id"]})
    (work / "before.yaml").write_text(write(shop))
    (work / "after.yaml").write_text(write(shop.with_table(without_amount)))
    (work / "a.sql").write_text("with o as (select * from shop.orders)\nselect amount + 1 from o")
    run(["diff", "before.yaml", "after.yaml", "--readers", source, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    check_document(report, "diff")
    return {finding["column"]: finding for finding in report["reviews"][0]["findings"] if finding["rule"] == "C204"}


def test_a_review_names_the_readers_that_break(shop: Schema, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = review_of_dropped_columns(shop, work, "sql:a.sql", capsys)
    (reader,) = findings["amount"]["readers"]
    assert (reader["name"], reader["uses"][0]["location"]) == ("a.sql", {"path": "a.sql", "line": 2})
    assert (findings["note"]["answer"], findings["note"]["readers"]) == ("not read", [])
    assert {finding["impact"]["readers"] for finding in findings.values()} == {"error"}


def test_a_column_that_nobody_reads_breaks_no_reader_if_all_are_declared(
    shop: Schema, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = review_of_dropped_columns(shop, work, "sql:a.sql?complete=true", capsys)
    assert {column: finding["impact"]["readers"] for column, finding in findings.items()} == {
        "amount": "error",
        "note": "info",
    }


@pytest.mark.parametrize("form", ["markdown", "github", "gitlab", "sarif", "junit"])
def test_a_plan_names_readers_in_the_formats_of_ci_systems(
    form: str, shop: Schema, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("create schema shop; create table shop.orders (id bigint, amount text, note bigint)")
    (work / "shop.yaml").write_text(write(shop))
    (work / "a.sql").write_text("select id,\namount || 'x' from shop.orders")
    call = ["migrate", "plan", "shop.yaml", "--to", "duckdb:///data.duckdb", "--readers", "sql:*.sql"]
    assert run([*call, "--format", form]) == 0
    out = capsys.readouterr().out
    assert "M207" in out
    assert "breaks 1 reader: `a.sql` (line 2)" in out
    if form == "sarif":
        (result,) = [result for result in json.loads(out)["runs"][0]["results"] if result["ruleId"] == "M207"]
        (related,) = result["relatedLocations"]
        assert related["physicalLocation"]["region"] == {"startLine": 2}
    (work / "a.sql").write_text("select id from shop.orders")
    assert run([*call, "--format", form]) == 0
    assert "M207" not in capsys.readouterr().out


def test_a_list_says_which_uses_are_indirect_and_that_a_star_cannot_be_told(
    shop: Schema, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_with(shop, work)
    (work / "a.sql").write_text("create view daily as select amount from shop.orders")
    (work / "b.sql").write_text("select 1\nfrom daily where amount > 1")
    (work / "c.sql").write_text("select * from shop.orders")
    call = ["readers", "--readers", "sql:*.sql"]
    assert run(call) == 0
    out = capsys.readouterr().out
    assert "b.sql: where (line 2, indirect)" in out
    assert "a.sql: select (line 1)" in out
    assert run([*call, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    check_document(report, "readers")
    rows = {row["column"]: row for row in report["schemas"][0]["columns"]}
    assert [(use["reader"], use["is_indirect"]) for use in rows["amount"]["uses"]] == [
        ("a.sql", False),
        ("c.sql", False),
        ("b.sql", True),
    ]
    assert rows["note"]["answer"] == "cannot tell"
    (doubt,) = rows["note"]["cannot_tell"]
    assert (doubt["name"], doubt["reason"], doubt["location"]) == ("c.sql", "`select *`", {"path": "c.sql", "line": 1})
