"""Records inside documents (``--records``): inferred, loaded, and remembered by the schema."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pytest
import yaml
from loading_shop import LOCAL, Shop

from schemactl.errors import InputError, Location
from schemactl.flows.infer import infer, infer_documents
from schemactl.flows.request import InferRequest
from schemactl.flows.schemas import open_schemas
from schemactl.flows.survival import DataRequest, Question, count_survivors
from schemactl.flows.sync import sync_schemas
from schemactl.formats.dlt import read
from schemactl.inference.evidence import Position
from schemactl.inference.report import InferenceReport
from schemactl.kernel.dispatch import Dispatch
from schemactl.normalization.report import Outcome
from schemactl.review.report import Counted
from schemactl.schema.record_selection import SETTING, parse_selection
from schemactl.store.folder import SchemasFolder

PAGES: list[dict[str, Any]] = [
    {"page": 1, "meta": {"cursor": "a"}, "data": [{"id": 1, "tags": ["x"]}, {"id": 2}], "next": "b"},
    {"page": 2, "meta": {"cursor": "b"}, "data": [{"id": 3, "price": 1.5}]},
    {"page": 3, "data": []},
]
ROWS = [(1, 1, "a"), (2, 1, "a"), (3, 2, "b")]


def request(*sources: str, records: str | None = None, keep: tuple[str, ...] = (), **options: Any) -> InferRequest:
    selection = None if records is None else parse_selection(records, keep)
    base = InferRequest(sources, "shop", "orders", Path("schemas"), engine=LOCAL, selection=selection)
    return replace(base, **options)


def setting(folder: str) -> Any:
    return read((Path("schemas") / folder / "shop.schema.yaml").read_text(), "").schema.settings.get(SETTING)


def columns(report: InferenceReport) -> list[str]:
    return [f"{table.name}.{column.name}" for table in report.tables for column in table.columns if column.sources]


@pytest.mark.parametrize("form", ["lines", "lines.gz", "list", "pretty", "utf16"])
def test_each_element_of_the_list_is_a_row(shop: Shop, form: str) -> None:
    lines = "".join(json.dumps(page) + "\n" for page in PAGES)
    match form:
        case "lines":
            Path("pages.jsonl").write_text(lines)
        case "lines.gz":
            Path("pages.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        case "list":
            Path("pages.json").write_text(json.dumps(PAGES))
        case "pretty":
            for page in PAGES:
                Path(f"pages{page['page']}.json").write_text(json.dumps(page, indent=2))
        case _:
            Path("pages.json").write_text(json.dumps(PAGES, indent=1), encoding="utf-16")
    selection = parse_selection("data", ["page", "meta.cursor"])
    report = shop.load("pages*", to="duckdb:///loaded.duckdb", selection=selection)
    assert (report.outcome, report.rows_loaded) == (Outcome.LOADED, 4)
    with duckdb.connect("loaded.duckdb") as connection:
        assert connection.sql("from shop.orders select id, page, meta__cursor order by id").fetchall() == ROWS


def test_the_schema_remembers_the_path_for_the_next_call(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    first = infer(request("a.json", records="data[*]", keep=("page", "meta.cursor")))
    assert setting("export") == setting("import") == {"path": "$.data", "keep": ["page", "meta.cursor"]}
    assert "schema `shop` remembers `--records data --keep page,meta.cursor`; `--records '$'` removes it" in first.hints

    Path("b.json").write_text(json.dumps(PAGES[1]))
    report = infer(request("b.json"))
    assert columns(report) == ["orders.price"]
    assert (report.documents, report.hints) == (1, ())

    forgotten = infer(request("a.json", records="$"))
    assert setting("export") is None
    assert "orders__data.id" in columns(forgotten)


def test_a_check_remembers_nothing(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    infer(request("a.json"))
    assert infer(request("a.json", records="data", is_check=True)).changes_schema
    assert setting("export") is None


def test_a_path_in_hints_or_in_the_import_file_counts(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    infer(request("a.json", records="meta"))
    import_file = Path("schemas/import/shop.schema.yaml")
    import_file.write_text(import_file.read_text().replace("path: $.meta", "path: $.data"))
    assert "orders.id" in columns(infer(request("a.json")))


def test_an_edited_import_file_that_says_nothing_keeps_the_path(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    infer(request("a.json", records="data"))
    import_file = Path("schemas/import/shop.schema.yaml")
    text = import_file.read_text().replace("  x-records:\n    path: $.data\n", "")
    import_file.write_text(text.replace("write_disposition: append", "write_disposition: merge"))
    assert SETTING not in text
    sync_schemas(("shop",), "schemas", lambda _: True)
    assert setting("export") == {"path": "$.data"}
    assert infer(request("a.json")).documents == 2


def test_a_path_that_matches_nothing_is_an_error(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0], indent=1))
    with pytest.raises(InputError) as caught:
        infer(request("a.json", records="dta"))
    message = "`--records dta` matches nothing: there is no `dta`: the object has `page`, `meta`, `data`, `next`"
    assert (caught.value.message, caught.value.hint) == (message, "did you mean `data`?")
    assert not Path("schemas").exists()
    with pytest.raises(InputError, match="matches nothing"):
        infer(request("a.json", records="dta", on_bad_record="skip"))


def test_a_page_without_the_list_stops_or_is_skipped(work: Path) -> None:
    lines = [*PAGES, {"error": "rate limited"}, {"data": None}]
    Path("a.jsonl").write_text("\n".join(json.dumps(page) for page in lines))
    with pytest.raises(InputError) as caught:
        infer(request("a.jsonl", records="data"))
    assert list(map(str, caught.value.problems)) == ["a.jsonl:4: there is no `data`: the object has `error`"]
    report = infer(request("a.jsonl", records="data", on_bad_record="skip"))
    assert [(file.documents, file.bad) for file in report.files] == [(3, 1)]


def test_a_key_that_no_document_has_is_an_error(work: Path) -> None:
    Path("a.jsonl").write_text("\n".join(map(json.dumps, PAGES)))
    with pytest.raises(InputError, match="`--keep nxt` matches nothing"):
        infer(request("a.jsonl", records="data", keep=("page", "nxt")))
    infer(request("a.jsonl", records="data", keep=("page", "next")))
    Path("last.json").write_text(json.dumps(PAGES[1]))
    assert infer(request("last.json")).documents == 1


@pytest.mark.parametrize(("name", "hint"), [("a.csv", None), ("a.xml", "`--input-format xml:TAG`")])
def test_other_formats_have_no_records_inside(work: Path, name: str, hint: str | None) -> None:
    Path(name).write_text("<a><b><id>1</id></b></a>" if name.endswith("xml") else "id,name\n1,x\n")
    with pytest.raises(InputError, match="`--records` reads JSON, and this file is read as") as caught:
        infer(request(name, records="data"))
    assert hint is None or hint in (caught.value.hint or "")


def test_whole_documents_are_read_as_without_an_option(work: Path) -> None:
    Path("a.jsonl").write_text('{"id": 1}\n[{"id": 2}]\n')
    plain = infer(request("a.jsonl", is_check=True))
    assert infer(request("a.jsonl", records="$", is_check=True)).tables == plain.tables
    Path("a.csv").write_text("id\n5\n")
    assert infer(request("a.csv", records="$")).documents == 1


def test_other_formats_ignore_a_remembered_path(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    infer(request("a.json", records="data"))
    Path("b.csv").write_text("id\n5\n")
    assert infer(request("b.csv")).documents == 1


def test_rejected_records_have_the_number_of_the_record(shop: Shop) -> None:
    shop.write("pages.jsonl", {"data": [{"id": 1}, {"id": 2}]})
    shop.load("pages.jsonl", selection=parse_selection("data"))
    shop.write("more.jsonl", {"data": [{"id": 3}, {"id": 4}]}, {"data": [{"id": "x"}]})
    report = shop.load("more.jsonl", contract="data_type=discard_row")
    assert report.inference is not None
    (violation,) = report.inference.violations
    assert (str(violation.first), violation.values) == ("more.jsonl:3", 1)
    assert [counts.rejected for counts in report.tables if counts.name == "orders"] == [1]


# --- the hint ---


@pytest.mark.parametrize(
    ("document", "hint"),
    [
        (
            {"page": 1, "data": [{"id": number} for number in range(10)], "meta": {"next": "x"}},
            "the document has one long list, `data`, and little else: `--records data` makes its elements rows; "
            "add keys next to it with `--keep meta.next,page`",
        ),
        (
            {"result": {"items": [{"id": number} for number in range(10)]}},
            "the document has one long list, `result.items`, and little else: `--records result.items` makes its "
            "elements rows",
        ),
        ({"page": 1, "data": [{"id": number} for number in range(9)]}, None),
        ({"page": 1, "data": list(range(50))}, None),
        ({"a": [{"id": 1}] * 20, "b": [{"id": 1}] * 20}, None),
        ({**{f"k{number}": number for number in range(11)}, "data": [{"id": 1}] * 20}, None),
    ],
)
def test_one_long_list_and_little_else_is_said(work: Path, document: Any, hint: str | None) -> None:
    Path("a.json").write_text(json.dumps(document))
    hints = [each for each in infer(request("a.json")).hints if "long list" in each]
    assert hints == ([hint] if hint else [])
    assert not any("long list" in each for each in infer(request("a.json")).hints)


def test_documents_in_memory_have_the_hint_too(work: Path) -> None:
    pages = [{"data": [{"id": number} for number in range(20)]} for _ in range(2)]
    documents = [(Position("documents", number), page) for number, page in enumerate(pages, 1)]
    report = infer_documents(request("documents"), documents)
    assert any(hint.startswith("each document has one long list, `data`") for hint in report.hints)


def test_a_remembered_path_has_no_hint(work: Path) -> None:
    Path("a.json").write_text(json.dumps({"data": [{"rows": [{"id": 1}] * 20}]}))
    assert not any("long list" in hint for hint in infer(request("a.json", records="data")).hints)


def test_the_setting_is_part_of_the_schema(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    report = infer(request("a.json", records="data"))
    opened = open_schemas(SchemasFolder.at(Path("schemas")), "shop")
    assert opened.schema is not None
    assert opened.schema.version_hash == report.after_hash


def test_a_review_counts_the_records_that_the_base_remembers(work: Path) -> None:
    Path("a.jsonl").write_text("\n".join(map(json.dumps, PAGES)))
    base = infer(request("a.jsonl", records="data", keep=("page",))).schema
    assert base is not None
    table = base.tables["orders"]
    columns = {**table.columns, "price": table.columns["price"].with_properties({"data_type": "bigint"})}
    head = replace(base, tables={**base.tables, "orders": replace(table, columns=columns)}, settings={})
    question = Question("orders", "price", "type")
    counted = count_survivors(base, head, [question], DataRequest(("a.jsonl",), table="orders", engine=LOCAL))
    assert counted == {question: Counted(1, 1, (1.5,), Location("a.jsonl", 3))}


@pytest.mark.parametrize("options", [{"dispatch": Dispatch(("kind",), {}, "orders")}, {"sample": "2"}])
def test_other_options_see_records_and_not_documents(work: Path, options: dict[str, Any]) -> None:
    Path("a.jsonl").write_text(json.dumps({"data": [{"id": 1, "kind": "x"}, {"id": 2, "kind": "y"}, {"id": 3}]}))
    report = infer(request("a.jsonl", records="data", **options))
    expected = [("orders", 2)] if "sample" in options else [("x", 1), ("y", 1), ("orders", 1)]
    assert sorted((file.table, file.documents) for file in report.files) == sorted(expected)


def test_dlt_reads_a_schema_that_remembers_records(work: Path) -> None:
    Path("a.json").write_text(json.dumps(PAGES[0]))
    report = infer(request("a.json", records="data", keep=("page",)))
    stored = yaml.safe_load(Path("schemas/export/shop.schema.yaml").read_text())
    theirs = dlt.Schema.from_dict(stored)
    assert (theirs.version_hash, theirs.settings[SETTING]) == (report.after_hash, setting("export"))
