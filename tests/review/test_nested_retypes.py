"""Fields inside columns fare as columns of their own: in their values, and under contracts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import permutations, product
from operator import attrgetter

import pytest

from schemactl.inference.evidence import Position, observe
from schemactl.inference.nested_schema import resolve_nested
from schemactl.review.comparison import Side
from schemactl.review.report import Finding
from schemactl.review.retypes import leaf_full_type
from schemactl.review.review import ReviewSettings, compare, review
from schemactl.review.severity import Impact, Severity
from schemactl.schema.judgment import judge
from schemactl.schema.nested_types import Leaf
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

MODULE = "schemactl.normalization.normalizers.nested"
LEAVES = (
    *("bigint", "double", "boolean", "string", "binary", "date", "time(6)", "time(3)", "timestamp", "timestamp_ntz"),
    *("decimal(10,2)", "decimal(12,2)", "decimal(12,4)", "decimal(10,4)", "decimal(38,0)"),
)


AXES = ("readers", "writers", "data")
RANK = attrgetter("rank")


def shop(properties: dict, contract: object = None) -> Schema:
    """A schema with one column, ``v``."""
    made = new_schema("shop")
    made = replace(made, normalizers={**made.normalizers, "json": {"module": MODULE}})
    hints = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}}
    stated = hints if contract is None else {**hints, "schema_contract": contract}
    return made.with_table(Table("orders", {"v": Column("v", properties)}, stated))


def keeping(kind: str, contract: object = None) -> Schema:
    return shop({"data_type": "json", "nullable": True, "x-spark-type": kind}, contract)


def found(base: Schema, head: Schema) -> tuple[Finding, ...]:
    return review(compare(Side(base), Side(head), date(2026, 1, 1)), ReviewSettings())


def column_of(name: str) -> dict:
    full = leaf_full_type(Leaf(name))
    assert full is not None
    sizes = {"precision": full.precision, "scale": full.scale, "timezone": full.timezone}
    return {"data_type": str(full.data_type), **{key: value for key, value in sizes.items() if value is not None}}


@pytest.mark.parametrize(("before", "after"), list(permutations(LEAVES, 2)))
def test_a_field_fares_as_a_column_of_its_own(before: str, after: str) -> None:
    reported = found(shop(column_of(before)), shop(column_of(after)))
    impacts = [each.impact for each in reported if each.rule.startswith("D")]
    expected = Impact(*(max((getattr(each, axis) for each in impacts), key=RANK) for axis in AXES))

    (field,) = found(keeping(f"struct<a:{before}>"), keeping(f"struct<a:{after}>"))

    assert (field.rule, field.impact) == ("D313", expected)
    assert field.severity == max((each.severity for each in reported), key=RANK)


STORED = "struct<a:bigint,b:array<struct<c:string>>,m:map<string,bigint>>"
RECORDS = {
    "nothing new": {"a": 1, "b": [{"c": "x"}], "m": {"eur": 1}},
    "a new field": {"a": 1, "z": 1},
    "a new field in a list": {"b": [{"c": "x", "d": 1}]},
    "another type": {"a": "x"},
    "another type in a list": {"b": [{"c": 1}]},
    "another type in a map": {"m": {"eur": "x"}},
    "a number for an object": {"b": 1},
    "absent fields": {},
}


@pytest.mark.parametrize(
    "contract", ["evolve", {"columns": "freeze"}, {"data_type": "freeze"}, "freeze", "discard_row"]
)
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_the_contract_is_broken_in_a_review_where_a_load_is_refused(contract: object, record: dict) -> None:
    base = keeping(STORED, contract)
    evidence = observe([(Position("orders.jsonl", 1), {"v": record})])
    head = resolve_nested(evidence, base, "orders").schema

    violations = judge(base, head).violations
    reported = [each for each in found(base, head) if each.is_violation]

    assert bool(reported) == bool(violations)
    assert all(each.column == "v" and "`v" in each.message for each in reported)


WRITTEN = {"bigint": 7, "double": 1.5, "boolean": True, "string": "plain"}
HEADS = ("bigint", "double", "boolean", "string", "decimal(38,0)", "date", "string COMMENT 'json'")


@pytest.mark.parametrize(("before", "after"), [pair for pair in product(WRITTEN, HEADS) if pair[0] != pair[1]])
def test_a_retyped_field_breaks_writers_under_a_frozen_contract_where_their_loads_are_refused(
    before: str, after: str
) -> None:
    head = keeping(f"struct<a:{after}>", {"data_type": "freeze"})
    evidence = observe([(Position("orders.jsonl", 1), {"v": {"a": WRITTEN[before]}})])
    is_refused = judge(head, resolve_nested(evidence, head, "orders").schema).is_refused

    base = keeping(f"struct<a:{before}>")
    (free,) = found(base, keeping(f"struct<a:{after}>"))
    (field,) = (each for each in found(base, head) if each.rule == "D313")

    assert field.impact.writers is (Severity.ERROR if is_refused else free.impact.writers)


@pytest.mark.parametrize("contract", [None, {"data_type": "freeze"}, {"columns": "freeze"}])
def test_a_field_that_is_gone_breaks_writers_where_their_loads_are_refused(contract: object) -> None:
    head = keeping("struct<a:bigint>", contract)
    evidence = observe([(Position("orders.jsonl", 1), {"v": {"a": 1, "b": 1}})])
    is_refused = judge(head, resolve_nested(evidence, head, "orders").schema).is_refused

    (field,) = (each for each in found(keeping("struct<a:bigint,b:bigint>", contract), head) if each.rule == "C215")

    assert (field.impact.writers == "error") == is_refused
