"""Columns are reported with what they take of sources that state types, variants with their own values alone."""

from __future__ import annotations

from schemactl.inference.evidence import ClassEvidence, Evidence, FileEvidence, Position, merge, observe
from schemactl.inference.findings import find_tables
from schemactl.inference.resolve import resolve
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

FILES = {"a.parquet": FileEvidence(10, records=10)}


def values(count, number=1, **facts):
    return ClassEvidence(count, Position("a.parquet", number), **facts)


def columns_of(evidence, before=None):
    before = before or new_schema("demo")
    resolution = resolve(evidence, before, "data")
    tables = find_tables(before, resolution.schema, resolution, evidence)
    return {column.name: column for table in tables if table.name == "data" for column in table.columns}


def test_a_column_of_a_stated_type_is_reported_with_its_evidence():
    counted = {("n",): {"bigint": values(7, 2, examples=("5",), least=1.0, greatest=9.0), "null": values(3)}}
    column = columns_of(Evidence(files=FILES, declared={("n",): {"data_type": "bigint"}}, counted=counted))["n"]
    assert (column.values, column.total, column.nulls, column.range) == (7, 7, 3, (1.0, 9.0))
    assert (column.kinds, column.first, column.examples) == ({"bigint": 7}, Position("a.parquet", 2), ("5",))


def test_values_that_do_not_fit_the_schema_count_for_the_variant_alone():
    known = new_schema("demo")
    known = known.with_table(Table("data", {"n": Column("n", {"data_type": "bigint", "nullable": True})}, {}))
    evidence = Evidence(
        files=FILES,
        declared={("n",): {"data_type": "text"}},
        conflicting_types={("n",): frozenset({"text", "bigint"})},
        counted={("n",): {"bigint": values(6), "text": values(4, 7)}},
    )
    variant = columns_of(evidence, known)["n__v_text"]
    assert (variant.variant_of, variant.values, variant.total) == ("n", 4, 10)
    assert variant.first == Position("a.parquet", 7)


def test_types_that_do_not_agree_are_reported_by_kind():
    evidence = Evidence(
        files=FILES,
        declared={("n",): {"data_type": "double"}},
        conflicting_types={("n",): frozenset({"bigint", "double"})},
        counted={("n",): {"bigint": values(6), "double": values(4)}},
    )
    assert columns_of(evidence)["n"].kinds == {"bigint": 6, "double": 4}


def test_documents_and_stated_types_count_together():
    typed = Evidence(files=FILES, declared={("n",): {"data_type": "bigint"}}, counted={("n",): {"bigint": values(6)}})
    documents = observe([(Position("b.jsonl", 1), {"n": 1}), (Position("b.jsonl", 2), {"n": 2})])
    column = columns_of(merge(typed, documents))["n"]
    assert (column.values, column.total, column.kinds) == (8, 8, {"bigint": 8})


def test_counts_change_no_schema():
    typed = Evidence(files=FILES, declared={("n",): {"data_type": "bigint"}})
    counted = Evidence(
        files=FILES, declared=typed.declared, counted={("n",): {"bigint": values(6)}, ("x",): {"text": values(1)}}
    )
    assert resolve(typed, new_schema("demo"), "data") == resolve(counted, new_schema("demo"), "data")
