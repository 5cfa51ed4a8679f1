"""What a changed type inside columns breaks in the data, counted as with columns: by evidence, or by an engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import LOCAL

from schemactl.engine.input import shown_path
from schemactl.errors import Location
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.survival import DataRequest, Question, count_survivors
from schemactl.formats.dlt import write as write_schema
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved_evidence import write_evidence
from schemactl.review.report import Counted, Finding
from schemactl.review.severity import Severity
from schemactl.schema.hash import bump
from schemactl.schema.nested_types import INSIDE, FieldPath
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

MODULE = "schemactl.normalization.normalizers.nested"


def keeping(kind: str | None, name: str = "v", **hints: Any) -> Schema:
    """A schema that keeps objects in one column."""
    made = new_schema("shop")
    made = replace(made, normalizers={**made.normalizers, "json": {"module": MODULE}})
    stated = {} if kind is None else {"x-spark-type": kind}
    columns = {name: Column(name, {"data_type": "json", "nullable": True, **stated, **hints})}
    properties = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}}
    return bump(made.with_table(Table("orders", columns, properties)))


def ask(base: Schema, head: Schema, field: FieldPath, *sources: Path, column: str = "v") -> Counted | None:
    question = Question("orders", column, "field", field)
    request = DataRequest(tuple(map(str, sources)), table="orders", engine=LOCAL)
    return count_survivors(base, head, [question], request).get(question)


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    def save(*values: Any) -> Path:
        pairs = [(Position("orders.jsonl", number), {"v": value}) for number, value in enumerate(values, start=1)]
        file = tmp_path / "orders.evidence.json"
        file.write_text(write_evidence(observe(pairs)), encoding="utf-8")
        return file

    return save


@pytest.mark.parametrize(
    ("base", "head", "field"),
    [
        ("struct<a:string>", "struct<a:bigint>", ("a",)),
        ("struct<a:struct<a:string>>", "struct<a:struct<a:bigint>>", ("a", "a")),
        ("array<string>", "array<bigint>", (INSIDE,)),
        ("array<array<string>>", "array<array<bigint>>", (INSIDE, INSIDE)),
        ("map<string,string>", "map<string,bigint>", (INSIDE,)),
        ("struct<a:array<struct<b:string>>>", "struct<a:array<struct<b:bigint>>>", ("a", INSIDE, "b")),
        ("map<string,array<string>>", "map<string,array<bigint>>", (INSIDE, INSIDE)),
    ],
)
def test_texts_that_are_no_numbers_are_counted_wherever_they_stand(
    saved: Callable[..., Path], base: str, head: str, field: FieldPath
) -> None:
    def wrapped(text: Any, at: FieldPath, kind: str) -> Any:
        if not at:
            return text
        inner = kind.partition("<")[2]
        if at[0] is not INSIDE:
            return {at[0]: wrapped(text, at[1:], inner.partition(":")[2])}
        if kind.startswith("map"):
            return {f"key {text}": wrapped(text, at[1:], inner.partition(",")[2])}
        return [wrapped(text, at[1:], inner)]

    source = saved(*(wrapped(text, field, base) for text in ("1", "many", None, "12", "few")))

    counted = ask(keeping(base), keeping(head), field, source)

    assert counted is not None
    assert (counted.values, counted.bad, counted.first) == (4, 2, Location("orders.jsonl", 2))
    assert counted.examples == ("many", "few")


def test_fields_of_the_same_name_elsewhere_do_not_count(saved: Callable[..., Path]) -> None:
    base, head = keeping("struct<a:string,b:struct<a:string>>"), keeping("struct<a:string,b:struct<a:bigint>>")
    counted = ask(base, head, ("b", "a"), saved({"a": "x", "b": {"a": "1"}}, {"a": "y"}, {"b": None}))
    assert counted == Counted(1, 0)


def test_objects_and_lists_do_not_become_numbers(saved: Callable[..., Path]) -> None:
    base, head = keeping("struct<a:string COMMENT 'json'>"), keeping("struct<a:bigint>")
    counted = ask(base, head, ("a",), saved({"a": 1}, {"a": [1]}, {"a": {"b": 1}}, {"a": None}, {}))
    assert counted is not None
    assert (counted.values, counted.bad, counted.first) == (3, 2, Location("orders.jsonl", 2))


def test_json_texts_that_become_objects_are_counted_with_all_that_is_in_them(saved: Callable[..., Path]) -> None:
    head = keeping("struct<a:bigint,l:array<struct<b:double>>,j:string COMMENT 'json'>")
    fit = {"a": 1, "l": [{"b": 1.5}, {"b": 2.5}, None], "j": [1, "x"], "new": "x"}

    counted = ask(keeping(None), head, (), saved(fit))
    assert counted is not None
    assert counted.bad == 0

    counted = ask(keeping(None), head, (), saved(fit, [1], {"a": "x"}, {"l": {"b": 1.0}}, {"l": [5, {"b": "y"}]}))
    assert counted is not None
    assert (counted.bad, counted.first) == (5, Location("orders.jsonl", 2))
    # Of objects and lists evidence keeps no examples.
    assert {json.dumps(example) for example in counted.examples} == {'"x"', "5", '"y"'}


def test_a_field_that_the_data_never_holds_has_no_values(saved: Callable[..., Path]) -> None:
    base, head = keeping("struct<a:string>"), keeping("struct<a:bigint>")
    assert ask(base, head, ("a",), saved({"b": "x"})) == Counted(0, 0)


def test_what_evidence_cannot_report_is_left_out(saved: Callable[..., Path]) -> None:
    base, head = keeping("struct<a:decimal(10,2)>"), keeping("struct<a:decimal(6,2)>")
    assert ask(base, head, ("a",), saved({"a": 1.5}, {"a": 12345.5})) is None


# data


def findings(base: Schema, head: Schema, data: Path, folder: Path) -> list[Finding]:
    files = folder / "base.yaml", folder / "head.yaml"
    for file, each in zip(files, (base, head), strict=True):
        file.write_text(write_schema(each), encoding="utf-8")
    request = DiffRequest(
        base=str(files[0]), head=str(files[1]), schemas=folder / "schemas", today=date(2026, 1, 1),
        data=DataRequest((str(data),), table="orders", engine=LOCAL),
    )  # fmt: skip
    (review,) = diff_schemas(request).reviews
    return [each for each in review.findings if each.rule == "D313"]


def test_a_diff_reports_of_each_field_how_many_values_do_not_survive(tmp_path: Path) -> None:
    documents = [
        {"v": {"n": "12", "price": 1.25, "lines": [{"qty": "1"}, {"qty": "x"}], "rates": {"eur": "1.5", "usd": 2}}},
        {"v": {"n": "7", "price": 12345.5, "lines": [{"qty": "y"}], "rates": {"gbp": "much"}}},
        {"v": {"n": "8", "price": 12.345}},
        {"v": None},
    ]
    data = tmp_path / "orders.jsonl"
    data.write_text("".join(f"{json.dumps(each)}\n" for each in documents), encoding="utf-8")
    at = shown_path(data.as_uri())
    before = "struct<n:string,price:decimal(10,3),lines:array<struct<qty:string>>,rates:map<string,string>>"
    after = "struct<n:bigint,price:decimal(7,3),lines:array<struct<qty:bigint>>,rates:map<string,double>>"

    reported = {each.message.split("`")[1]: each for each in findings(keeping(before), keeping(after), data, tmp_path)}

    assert {name: each.counted for name, each in reported.items()} == {
        "orders.v.n": Counted(3, 0),
        "orders.v.price": Counted(3, 1, (12345.5,), Location(at, 2)),
        "orders.v.lines[].qty": Counted(3, 2, ("x", "y"), Location(at, 1)),
        "orders.v.rates[]": Counted(3, 1, ("much",), Location(at, 2)),
    }
    impacts = {name: each.impact.data for name, each in reported.items()}
    assert impacts.pop("orders.v.n") is Severity.NONE
    assert set(impacts.values()) == {Severity.ERROR}


def test_fields_whose_source_states_their_types_are_left_out(tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"v": [{"a": "x"}]}), rows)
    base, head = keeping("struct<a:string>"), keeping("struct<a:bigint>")
    assert ask(base, head, ("a",), rows) is None


def test_fields_of_a_renamed_column_are_found_by_its_old_name(tmp_path: Path) -> None:
    data = tmp_path / "orders.jsonl"
    data.write_text('{"v": {"a": "1"}}\n{"v": {"a": "x"}}\n', encoding="utf-8")
    base = keeping("struct<a:string>")
    head = keeping("struct<a:bigint>", "w", **{"x-renamed-from": "v"})

    (finding,) = findings(base, head, data, tmp_path)

    assert finding.column == "w"
    assert finding.counted == Counted(2, 1, ("x",), Location(shown_path(data.as_uri()), 2))
