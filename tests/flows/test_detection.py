"""Types of texts: what CSV, TSV and XML get by default, `--detect`, and what the report says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dlt
import pytest
import yaml
from dlt.sources.filesystem import filesystem, read_csv

from schemactl.errors import InputError
from schemactl.flows.infer import InferRequest, evolve_all
from schemactl.flows.root_tables import TableData
from schemactl.formats.dlt import read
from schemactl.inference.evidence import Position, observe
from schemactl.inference.report import InferenceReport
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

ROWS = [
    {"id": "1", "price": "1.50", "paid": "true", "day": "2024-05-06", "note": "x", "zip": "00123", "mixed": "1"},
    {"id": "-20", "price": "3", "paid": "False", "day": None, "note": "7", "zip": "10115", "mixed": "n/a"},
]


class Shop:
    def __init__(self, root: Path) -> None:
        self.root = root

    def feed(self, *documents: Any, file: str = "orders.csv", **asked: Any) -> InferenceReport:
        evidence = observe((Position(file, number), each) for number, each in enumerate(documents, 1))
        request = InferRequest(sources=(file,), name="shop", schemas=self.root, **{"table": "orders", **asked})
        return evolve_all([TableData(request, evidence)], SchemasFolder.at(self.root))

    @property
    def stored(self) -> Any:
        [path] = self.root.glob("export/*.schema.*")
        return read(path.read_text(), str(path)).schema

    def types(self, table: str = "orders") -> dict[str, str]:
        columns = self.stored.tables[table].columns.values()
        return {each.name: str(each.data_type) for each in columns if not each.name.startswith("_dlt")}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


TYPED = {"id": "bigint", "price": "double", "paid": "bool", "day": "date"}
TEXTS = {"note": "text", "zip": "text", "mixed": "text"}


@pytest.mark.parametrize("file", ["orders.csv", "a.b/orders.TSV", "orders.tab", "orders.xml.gz"])
def test_columns_of_texts_get_the_types_of_all_their_texts(shop: Shop, file: str) -> None:
    report = shop.feed(*ROWS, file=file)
    assert shop.types() == TYPED | TEXTS
    assert shop.stored.settings["detections"] == ["iso_timestamp"]
    reasons = {column.name: column.reason for column in report.tables[0].columns}
    assert (reasons["id"], reasons["price"], reasons["note"]) == ("digits", "digits, number", None)


@pytest.mark.parity
def test_numbers_and_bools_are_those_that_dlt_reads_by_pandas(shop: Shop, tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("id,price,share,paid,note\n1,1.50,.5,true,x\n-20,3,1.,False,y\n")
    pipeline = dlt.pipeline("csv", pipelines_dir=str(tmp_path / "pipelines"), destination="duckdb")
    source = (filesystem(str(tmp_path), file_glob="*.csv") | read_csv()).with_name("orders")
    pipeline.extract(source)
    pipeline.normalize()
    theirs = pipeline.default_schema.tables["orders"]["columns"]
    rows = [{key: row[key] for key in ("id", "price", "paid", "note")} for row in ROWS]
    shop.feed({**rows[0], "share": ".5"}, {**rows[1], "share": "1."})
    assert shop.types() == {name: column["data_type"] for name, column in theirs.items() if not name.startswith("_dlt")}


def test_other_sources_keep_their_texts_and_a_hint_reports_of_numbers(shop: Shop) -> None:
    report = shop.feed(*ROWS, file="orders.jsonl")
    assert set(shop.types().values()) == {"text"}
    (hint,) = (hint for hint in report.hints if "--detect" in hint)
    assert "`orders.id`, `orders.price` look like numbers; add `--detect=+digits,+number`" in hint
    assert shop.feed(*ROWS, file="orders.jsonl").hints == ()


def test_a_schema_with_rules_of_its_own_and_a_table_that_is_there_keep_their_texts(shop: Shop) -> None:
    shop.feed({"id": "1"}, file="orders.jsonl")
    shop.feed({"id": "2", "price": "3"})
    assert shop.types() == {"id": "text", "price": "text"}


def test_a_table_that_is_there_by_a_shortened_name_is_not_new(shop: Shop) -> None:
    asked: Any = {"table": "orders_of_" + "x" * 30, "max_identifier_length": 24}
    name = shop.feed({"id": "1"}, file="orders.jsonl", **asked).table
    assert len(name) == 24
    shop.feed({"id": "2", "price": "3"}, **asked)
    assert shop.types(name) == {"id": "text", "price": "text"}


@pytest.mark.parametrize(
    ("asked", "types", "settings", "table"),
    [
        ("-iso_date", {"day": "text"}, ["iso_timestamp"], ["digits", "number", "bool"]),
        ("+timestamp", {}, ["iso_timestamp", "timestamp"], ["digits", "number", "bool", "iso_date"]),
        ("-iso_timestamp", {}, [], ["digits", "number", "bool", "iso_date"]),
        ("+iso_date", {}, ["iso_timestamp"], ["digits", "number", "bool", "iso_date"]),
        ("-digits,-number,-bool,-iso_date", dict.fromkeys(TYPED, "text"), ["iso_timestamp"], None),
    ],
)
def test_a_changed_list_of_new_texts_is_the_default_less_or_plus_detectors(
    shop: Shop, asked: str, types: Any, settings: Any, table: Any
) -> None:
    report = shop.feed(*ROWS, detect=asked)
    assert shop.types() == TYPED | TEXTS | types
    assert shop.stored.settings["detections"] == settings
    assert shop.stored.tables["orders"].properties.get("x-detections") == table
    assert not any("--detect" in hint for hint in report.hints)


def test_a_changed_list_holds_for_all_new_tables_of_a_call(shop: Shop) -> None:
    evidence = observe((Position("a.csv", number), each) for number, each in enumerate(ROWS, 1))
    call = InferRequest(("a.csv",), "shop", table="orders", schemas=shop.root, detect="+timestamp,-iso_timestamp")
    other = replace(call, table="items")
    evolve_all([TableData(call, evidence), TableData(other, evidence)], SchemasFolder.at(shop.root))
    assert shop.types("orders") == shop.types("items") == TYPED | TEXTS
    assert shop.stored.settings["detections"] == ["timestamp"]


@pytest.mark.parametrize("hints", [
    Hints(columns=(parse_column("note:text"), parse_column("zip:text,primary_key"))),
    Hints(write_disposition="merge"),
    Hints(schema=Schema(name="shop",
              tables={"orders": Table("orders", {"note": Column("note", {"data_type": "text"})})})),
])  # fmt: skip
def test_what_a_call_states_of_a_new_table_leaves_its_other_texts_to_the_detectors(shop: Shop, hints: Hints) -> None:
    report = shop.feed(*ROWS, hints=hints)
    assert shop.types() == TYPED | TEXTS
    assert report.hints == ()


def test_a_stated_type_goes_before_the_detectors(shop: Shop) -> None:
    shop.feed(*ROWS, hints=Hints(columns=(parse_column("id:text"),)))
    assert shop.types() == TYPED | TEXTS | {"id": "text"}


@pytest.mark.parametrize(
    ("settings", "properties"),
    [
        ({"preferred_types": {"note": "text"}}, {}),
        ({"detections": ["iso_date"]}, {}),
        ({}, {"x-detections": []}),
    ],
)
def test_rules_of_a_call_stand_for_those_of_texts(shop: Shop, settings: Any, properties: Any) -> None:
    stated = Schema(name="shop", tables={"orders": Table("orders", {}, properties)}, settings=settings)
    shop.feed({"id": "1"}, hints=Hints(schema=stated))
    assert shop.types() == {"id": "text"}


def test_later_columns_of_a_table_are_detected_as_the_first_ones(shop: Shop) -> None:
    shop.feed({"id": "1"})
    shop.feed({"id": "n/a", "size": "2"})
    assert shop.types() == {"id": "bigint", "size": "bigint", "id__v_text": "text"}


def test_what_is_longer_than_64_bits_stays_text(shop: Shop) -> None:
    shop.feed({"ean": "9" * 18, "card": "9" * 19, "n": "1"}, {"ean": "1", "card": "1", "n": "2e3"})
    assert shop.types() == {"ean": "bigint", "card": "text", "n": "double"}


@pytest.mark.parametrize(
    ("asked", "types", "settings", "table"),
    [
        ("all_text", {"a": "text", "b": "text", "c": "text"}, [], ["all_text"]),
        ("-iso_timestamp", {"a": "text", "b": "bigint", "c": "text"}, [], None),
        ("+digits", {"a": "timestamp", "b": "bigint", "c": "bigint"}, ["iso_timestamp"], ["digits"]),
        ("digits, iso_date", {"a": "text", "b": "bigint", "c": "bigint"}, ["iso_date"], ["digits"]),
    ],
)
def test_the_list_is_stated(shop: Shop, asked: str, types: Any, settings: Any, table: Any) -> None:
    shop.feed({"a": "2024-05-06T07:08:09Z", "b": 1, "c": "5"}, file="orders.jsonl", detect=asked)
    assert shop.types() == types
    assert shop.stored.settings["detections"] == settings
    assert shop.stored.tables["orders"].properties.get("x-detections") == table


def test_another_list_holds_for_new_columns_and_the_report_says_so(shop: Shop) -> None:
    shop.feed({"a": "5"}, file="orders.jsonl")
    report = shop.feed({"a": "5", "b": "6"}, file="orders.jsonl", detect="+digits")
    assert report.hints == (
        "detectors of table `orders` are now `digits`, `iso_timestamp`; existing columns keep their types",
    )
    assert shop.types() == {"a": "text", "b": "bigint"}
    shop.feed({"c": "7"}, file="orders.jsonl")
    assert shop.types()["c"] == "bigint"


@pytest.mark.parametrize(("asked", "message"), [("digit", "`digit`"), ("digits,-bool", "both names")])
def test_a_wrong_list_is_reported(shop: Shop, asked: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        shop.feed({"a": "5"}, detect=asked)


def test_the_report_says_why_a_column_has_its_type(shop: Shop) -> None:
    shop.feed({"x": 1}, file="orders.jsonl")
    [path] = shop.root.glob("import/*")
    path.write_text(path.read_text().replace("settings:\n", "settings:\n  preferred_types:\n    re:_s$: double\n"))
    report = shop.feed({"a": "x", "at": "2024-05-06T07:08:09Z", "n_s": 1}, {"a": 5}, file="orders.jsonl")
    reasons = {column.name: column.reason for column in report.tables[0].columns if column.reason}
    assert reasons == {
        "a": "text came first (orders.jsonl:1)",
        "at": "iso_timestamp",
        "n_s": "preferred_types re:_s$",
    }


def test_dlt_takes_a_schema_with_our_detectors(shop: Shop) -> None:
    shop.feed(*ROWS)
    [path] = shop.root.glob("export/*.schema.*")
    theirs = dlt.Schema.from_dict(yaml.safe_load(path.read_text()))
    assert theirs.stored_version_hash == shop.stored.version_hash
