"""Readers beside columns: ``show --readers`` and ``export --readers``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats import html, markdown, mermaid
from schemactl.formats._readers import ReaderNames
from schemactl.formats.dlt import write
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

SCHEMA = new_schema("shop").with_table(
    Table("orders", {name: Column(name, {"data_type": "bigint"}) for name in ("id", "amount", "note")})
)
SOURCE = "sql:queries/*.sql"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("schemas/export").mkdir(parents=True)
    Path("schemas/export/shop.schema.yaml").write_text(write(SCHEMA))
    Path("queries").mkdir()
    for number in range(7):
        Path(f"queries/q{number}.sql").write_text("select id from shop.orders")
    Path("queries/star.sql").write_text("with o as (select id, note from shop.orders) select * from o")
    Path("queries/more.sql").write_text("select * from shop.orders")
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *call: str) -> str:
    assert run([*call]) == 0
    return capsys.readouterr().out


def test_show_names_the_first_readers_of_each_column(capsys: pytest.CaptureFixture[str]) -> None:
    names = "queries/q0.sql, queries/q1.sql, queries/q2.sql, queries/q3.sql"
    printed = output(capsys, "show", "--readers", SOURCE)
    assert f"id: bigint, read by queries/more.sql, {names} and 4 more\n" in printed
    assert "amount: bigint, cannot tell: queries/more.sql\n" in printed
    assert "read by" not in output(capsys, "show")


@pytest.mark.parametrize("call", [("--readers",), ("--readers", "shop"), ("shop", "--readers"), ("--readers", SOURCE)])
def test_readers_alone_means_those_of_the_settings(call: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    if SOURCE not in call:
        Path("schemactl.toml").write_text('[[readers]]\nkind = "sql"\nwhere = "queries"\n')
    document = json.loads(output(capsys, "show", *call, "--format", "json"))
    check_document(document, "show")
    (columns,) = (table["columns"] for table in document["schemas"][0]["tables"] if table["name"] == "orders")
    assert columns[1]["readers"] == {"answer": "cannot tell", "names": ["queries/more.sql"]}


def test_a_document_without_readers_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, "show", "--format", "json"))
    check_document(document, "show")
    assert {column["readers"] for table in document["schemas"][0]["tables"] for column in table["columns"]} == {None}


def test_readers_that_nothing_declares_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "--readers"]) == 2
    assert "no readers are declared" in capsys.readouterr().err


EXPORTS = {
    "markdown": r"\| amount \| bigint \| yes \|  \|  \| cannot tell: queries/more.sql \|",
    "html": r'<td data-label="readers">cannot tell: queries/more.sql</td>',
    "mermaid": r'"orders" \|\|\.\.o\{ "queries/more.sql" : "reads id, amount\?, note"',
}


@pytest.mark.parametrize(("name", "pattern"), EXPORTS.items())
def test_exports_name_readers_on_request(name: str, pattern: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(pattern, output(capsys, "export", "shop", "--to", name, "--readers", SOURCE))
    assert "queries/" not in output(capsys, "export", "shop", "--to", name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("--to", "avro"), "the format `avro` does not show readers (`--readers`)"),
        (("--to", "html", "--nested"), "`--nested` and `--readers` cannot be used together"),
    ],
)
def test_exports_without_place_for_readers_are_refused(
    call: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "shop", *call, "--readers", SOURCE]) == 2
    assert message in capsys.readouterr().err


EVIL = 'a|b`c"<script>x()</script>\n%%{init}%% {{ x }} {% y %} #lt; &amp; \\ *b* \x1b[31m\x9b\u202e orders'


def test_names_of_readers_stay_in_their_place() -> None:
    readers = {("orders", "id"): ReaderNames("read", (EVIL, "orders"))}
    plain = {("orders", "id"): ReaderNames("read", ("x", "y"))}
    page, text = html.write(SCHEMA, readers=readers), markdown.write(SCHEMA, readers=readers)
    assert page.count("<script>") == 1
    assert "{{" not in page.partition("<main>")[2].partition("</main>")[0]
    rows = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}
    assert not re.search(r"<script|(?<!\\)\{\{|(?<!\\)`", text)
    diagram = mermaid.write(SCHEMA, readers=readers)
    assert len(diagram.splitlines()) == len(mermaid.write(SCHEMA, readers=plain).splitlines())
    assert not re.search(r"%%|#lt|<script|&amp;", diagram)
    for written in (page, text, diagram):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", written.replace("\t", ""))
    assert '"orders_" : "reads id"' in diagram  # a reader that has the name of the table
