"""Merged schema files are files that dlt takes, with the hash and version that it computes."""

from __future__ import annotations

import pytest
import yaml
from dlt.common.schema import Schema as DltSchema
from hypothesis import given
from hypothesis import strategies as st

from schemactl.flows.merge import merge_texts
from schemactl.formats.dlt import write
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

PATH = "schemas/export/shop.schema.yaml"
hints = st.fixed_dictionaries(
    {"data_type": st.sampled_from(("text", "bigint", "double"))},
    optional={"nullable": st.booleans(), "description": st.text("ab é#:", max_size=5), "x-note": st.integers(-9, 9)},
)
columns = st.dictionaries(st.sampled_from("abcdefgh"), hints, min_size=1, max_size=5)
tables = st.dictionaries(st.sampled_from(("orders", "carts", "stores")), columns, min_size=1)


def schema_of(drawn, base=None):
    schema = base or new_schema("shop")
    for name, table in drawn.items():
        items = {key: Column(key, properties) for key, properties in table.items()}
        schema = schema.with_table(Table(name, items, {"write_disposition": "append", "resource": name}))
    return bump(schema)


@given(tables, tables, tables)
def test_dlt_takes_every_merge_without_conflict_as_it_is(before, first, second):
    base = schema_of(before)
    ours, theirs = schema_of(first, base), schema_of(second, base)
    merged = merge_texts(*(write(schema, PATH) for schema in (base, ours, theirs)), PATH)
    if not merged.is_clean:
        return
    stored = yaml.safe_load(merged.text)
    schema = DltSchema.from_dict(stored)
    assert (schema.version_hash, schema.version) == (stored["version_hash"], stored["version"])
    assert not schema.is_modified
    ancestors = {schema.version_hash, *schema.previous_hashes}
    assert {ours.version_hash, theirs.version_hash} <= ancestors


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_dlt_exports_a_merged_schema_with_the_same_hash(ending):
    base = schema_of({"orders": {"a": {"data_type": "bigint"}}})
    ours = schema_of({"orders": {"a": {"data_type": "bigint"}, "b": {"data_type": "text"}}}, base)
    theirs = schema_of({"orders": {"a": {"data_type": "bigint"}, "c": {"data_type": "text"}}}, base)
    path = f"schemas/export/shop.schema.{ending}"
    merged = merge_texts(*(write(schema, path) for schema in (base, ours, theirs)), path)
    schema = DltSchema.from_dict(yaml.safe_load(merged.text))
    assert list(schema.tables["orders"]["columns"]) == ["a", "b", "c"]
    assert yaml.safe_load(schema.to_pretty_yaml())["version_hash"] == yaml.safe_load(merged.text)["version_hash"]
