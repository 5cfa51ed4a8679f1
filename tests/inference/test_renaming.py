"""Names of tables and columns under another convention, made anew from the keys of the data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from resolved_columns import evidence_of

from schemactl.errors import InputError
from schemactl.inference.lineage import Lineage, lineage_of
from schemactl.inference.renaming import find_names
from schemactl.inference.resolve import resolve
from schemactl.inference.source_names import resolve_data
from schemactl.schema.naming import CONVENTIONS
from schemactl.schema.templates import new_schema

DOCUMENTS = [
    {"orderId": 1, "shipTo": {"zipCode": "x"}, "lineItems": [{"skuNo": "a", "subParts": [[1], [2]]}], "__odd key": 1},
    {"orderId": "x", "lineItems": [{"skuNo": {"deep": 1}}]},
]


def schema_of(documents, convention="snake_case", **more):
    before = replace(new_schema("shop", convention), **more)
    evidence = evidence_of(documents)
    resolution = resolve(evidence, before, "Orders")
    return resolution.schema, lineage_of(evidence, resolution, resolution.schema)


def own(schema):
    return {
        name: [column for column in table.columns if not column.startswith("_dlt")]
        for name, table in schema.tables.items()
        if not name.startswith("_dlt")
    }


def test_names_are_those_that_the_keys_have_under_the_other_convention():
    schema, lineage = schema_of(DOCUMENTS)
    after = find_names(schema, "direct", lineage).of_schema(schema)
    assert own(after) == {
        "Orders": ["orderId", "__odd key", "shipTo▶zipCode", "orderId▶v_text"],
        "Orders▶lineItems": ["skuNo", "skuNo▶deep"],
        "Orders▶lineItems▶subParts": [],
        "Orders▶lineItems▶subParts▶list": ["value"],
    }
    assert after.normalizers["names"] == "direct"
    assert after.tables["Orders▶lineItems"].parent == "Orders"
    assert after.tables["Orders▶lineItems"].properties["x-renamed-from"] == "orders__line_items"
    assert after.tables["Orders"].columns["orderId▶v_text"].properties["x-renamed-from"] == "order_id__v_text"


@pytest.mark.parametrize("convention", [name for name in CONVENTIONS if name != "s3_tables"])
@pytest.mark.parametrize("first", ["snake_case", "direct", "sql_cs_v1"])
def test_later_data_goes_to_the_same_columns(first, convention):
    schema, lineage = schema_of(DOCUMENTS, first)
    renaming = find_names(schema, convention, lineage)
    after = renaming.of_schema(schema)
    again = resolve_data(evidence_of(DOCUMENTS), after, "Orders", separates=False).schema
    assert own(again) == own(after)
    for table, column in renaming.of_lineage(lineage).sources:
        assert column is None or column in after.tables[table].columns


def test_there_and_back_are_the_same_names():
    schema, lineage = schema_of(DOCUMENTS)
    there = find_names(schema, "direct", lineage)
    back = find_names(there.of_schema(schema), "snake_case", there.of_lineage(lineage))
    after = back.of_schema(there.of_schema(schema))
    assert own(after) == own(schema)
    assert after.tables["orders"].columns["order_id"].properties["x-renamed-from"] == "orderId"
    assert back.of_lineage(there.of_lineage(lineage)) == lineage


def test_keys_that_share_a_column_go_on_sharing_it():
    documents = [{"Id": 1, "shipTo": {"zip": 1}}, {"id": 2, "ShipTo": {"zip": 2}}]
    schema, lineage = schema_of(documents)
    after = find_names(schema, "direct", lineage).of_schema(schema)
    assert own(after) == {"Orders": ["Id", "shipTo▶zip"]}
    assert after.tables["Orders"].properties["x-source-names"] == {"$.id": "Id", "$.ShipTo": "shipTo"}
    assert own(resolve_data(evidence_of(documents), after, "Orders", separates=False).schema) == own(after)


def test_columns_of_no_data_are_named_by_their_names():
    documents = [{key: value for key, value in each.items() if key != "__odd key"} for each in DOCUMENTS]
    schema, _ = schema_of(documents, "direct")
    after = find_names(schema, "snake_case", Lineage()).of_schema(schema)
    assert own(after) == own(schema_of(documents)[0])


def test_names_in_settings_follow_and_patterns_stay():
    settings = {"default_hints": {"unique": ["order_id", "re:_id$"]}, "preferred_types": {"sku_no": "text"}}
    schema, lineage = schema_of(DOCUMENTS, settings=settings)
    after = find_names(schema, "direct", lineage).of_schema(schema)
    assert after.settings == {
        "default_hints": {"unique": ["orderId", "re:_id$"]},
        "preferred_types": {"skuNo": "text"},
    }


def test_names_that_would_become_one_are_refused():
    schema, lineage = schema_of([{"Id": 1, "id": 2}], "direct")
    with pytest.raises(InputError, match="`Id` and `id` of `Orders` would both be `id`"):
        find_names(schema, "snake_case", lineage)


def test_a_convention_that_renames_dlts_own_tables_is_refused():
    schema, lineage = schema_of(DOCUMENTS)
    with pytest.raises(InputError, match="dlt's own `_dlt_version` another name"):
        find_names(schema, "s3_tables", lineage)
