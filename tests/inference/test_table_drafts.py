"""Nested tables of merges, and of nothing else, get the key of their root row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

EMPTY = new_schema("demo")
EVIDENCE = observe([(Position("data.jsonl", 1), {"id": 1, "l": [{"m": [2]}]})])


def merged(strategy=None, **config):
    """Return a schema whose table ``data`` is merged."""
    how = {"write_disposition": "merge", "resource": "data", **({"x-merge-strategy": strategy} if strategy else {})}
    schema = EMPTY.with_table(Table("data", {"id": Column("id", {"primary_key": True, "nullable": False})}, how))
    section = {**schema.normalizers["json"], "config": config} if config else schema.normalizers["json"]
    return replace(schema, normalizers={**schema.normalizers, "json": section})


@pytest.mark.parametrize("strategy", [None, "delete-insert", "upsert", "insert-only"])
def test_loads_that_merge_pass_the_key_of_the_root_row_on(strategy):
    resolution = resolve(EVIDENCE, merged(strategy), "data", ResolveOptions(is_loaded=True))
    assert all("_dlt_root_id" in resolution.schema.tables[table].columns for table in ("data__l", "data__l__m"))
    assert resolution.schema.normalizers["json"]["config"]["propagation"]["tables"] == {
        "data": {"_dlt_id": "_dlt_root_id"}
    }


@pytest.mark.parametrize(
    ("schema", "is_loaded"),
    [(merged(), False), (merged("scd2"), True), (merged(root_key_propagation=False), True), (EMPTY, True)],
)
def test_other_data_needs_no_key_of_the_root_row(schema, is_loaded):
    resolution = resolve(EVIDENCE, schema, "data", ResolveOptions(is_loaded=is_loaded))
    assert "_dlt_root_id" not in resolution.schema.tables["data__l"].columns


def test_nothing_is_written_down_where_nothing_is_passed_on():
    assert resolve(EVIDENCE, EMPTY, "data").schema.normalizers == EMPTY.normalizers


def test_a_root_key_in_a_nested_table_asks_for_it_from_the_next_load_on():
    key = {"data_type": "text", "root_key": True}
    nested = Table("data__l", {"_dlt_root_id": Column("_dlt_root_id", key)}, {"parent": "data"})
    schema = EMPTY.with_table(Table("data", {}, {"resource": "data"})).with_table(nested)
    once = resolve(EVIDENCE, schema, "data")
    assert once.schema.normalizers["json"]["config"]["propagation"]["tables"] == {"data": {"_dlt_id": "_dlt_root_id"}}
    assert "_dlt_root_id" in resolve(EVIDENCE, once.schema, "data").schema.tables["data__l__m"].columns
