"""BigQuery's table schemas as a format of schemas, beside the types that dlt makes there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dlt.destinations.impl.bigquery.factory import BigQueryTypeMapper
from dlt.destinations.impl.bigquery.factory import bigquery as destination

from schemactl.errors import InputError
from schemactl.formats import bigquery
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Table

_SQL = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL"}


def field(**stated: Any) -> dict[str, Any]:
    schema = new_schema("shop").with_table(Table("orders", {"a": Column("a", stated)}))
    (found,) = json.loads(bigquery.write(schema))
    return found


def read(*fields: dict[str, Any]):
    document = bigquery.read(json.dumps(fields), "orders.bigquery.json")
    return {
        name: dict(each.properties) for name, each in document.schema.tables["orders"].columns.items()
    }, document.losses


@pytest.mark.parametrize(
    "stated",
    [
        *({"data_type": str(kind)} for kind in DataType if kind not in ("decimal", "wei")),
        {"data_type": "text", "precision": 20},
        {"data_type": "binary", "precision": 16},
        {"data_type": "decimal", "precision": 10, "scale": 2},
        {"data_type": "timestamp", "timezone": False},
    ],
)  # fmt: skip
def test_types_are_those_of_dlt(stated: dict[str, Any]):
    mapper = BigQueryTypeMapper(destination().capabilities())
    made = mapper.to_destination_type({"name": "a", "nullable": True, **stated}, {"name": "t"})
    found = field(**stated)
    sizes = [found[key] for key in ("maxLength", "precision", "scale") if key in found]
    written = _SQL.get(found["type"], found["type"]) + (f"({','.join(sizes)})" if sizes else "")
    assert written == made.replace(" ", "")


def test_lists_are_repeated_and_objects_records():
    lat = {"name": "lat", "type": "FLOAT", "mode": "NULLABLE"}
    spark_type = "array<struct<sku:string,at:struct<lat:double>>>"
    stated = {"data_type": "json", "x-spark-type": spark_type, "description": "Lines", "nullable": True}
    found = field(**stated, **{"x-fields": {"sku": {"nullable": False}}})
    assert found == {
        "name": "a",
        "type": "RECORD",
        "mode": "REPEATED",
        "description": "Lines",
        "fields": [
            {"name": "sku", "type": "STRING", "mode": "REQUIRED"},
            {"name": "at", "type": "RECORD", "mode": "NULLABLE", "fields": [lat]},
        ],
    }
    columns, _ = read(found)
    assert columns["a"] == {**stated, "x-fields": {"sku": {"nullable": False}}}


def test_what_bigquery_has_not_is_json():
    assert field(**{"data_type": "json", "x-spark-type": "map<string,double>"})["type"] == "JSON"
    assert field(**{"data_type": "json", "x-spark-type": "array<array<bigint>>"})["type"] == "JSON"


def test_large_numbers_are_bignumeric():
    assert field(data_type="decimal", precision=38, scale=18)["type"] == "BIGNUMERIC"
    assert field(data_type="decimal", precision=38, scale=9)["type"] == "NUMERIC"
    assert field(data_type="decimal", precision=38, scale=0)["type"] == "BIGNUMERIC"


def test_decimals_have_the_sizes_that_dlt_gives_them():
    narrow, wide = field(data_type="decimal", precision=10), field(data_type="decimal", scale=12)
    assert (narrow["type"], narrow["precision"], narrow["scale"]) == ("NUMERIC", "10", "9")
    assert (wide["type"], wide["precision"], wide["scale"]) == ("BIGNUMERIC", "38", "12")
    assert "precision" not in field(data_type="decimal")
    assert "maxLength" not in field(data_type="text", scale=2)


def test_decimals_that_bignumeric_has_no_room_for_are_texts():
    assert field(data_type="decimal", precision=76, scale=38)["type"] == "BIGNUMERIC"
    for precision, scale in ((50, 40), (50, 2)):
        wide = field(data_type="decimal", precision=precision, scale=scale)
        assert (wide["type"], wide.get("precision")) == ("STRING", None)
    with pytest.raises(InputError, match=r"BigQuery has no decimal\(5,9\)"):
        field(data_type="decimal", precision=5, scale=9)


def test_a_schema_of_others():
    columns, losses = read(
        {"name": "Id", "type": "INT64", "mode": "REQUIRED", "policyTags": {"names": ["p"]}},
        {"name": "place", "type": "GEOGRAPHY"},
        {"name": "big", "type": "BIGNUMERIC"},
        {"name": "at", "type": "DATETIME"},
    )
    assert columns == {
        "id": {"data_type": "bigint", "nullable": False},
        "place": {"data_type": "text", "nullable": True},
        "big": {"data_type": "wei", "nullable": True},
        "at": {"data_type": "timestamp", "timezone": False, "nullable": True},
    }
    assert [(loss.path, loss.item) for loss in losses] == [("orders.Id", "policyTags"), ("orders.place", "type")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "a"}', "a.json:1:1: this is not a BigQuery table schema"),
        ('[{"name": "a"}]', "a.json:1:2: an item of the document has no `type`"),
        ('{"schema": 7}', "a.json:1:12: `schema` must be an object"),
        ('{"fields": {"a": "STRING"}}', "a.json:1:12: `fields` must be a list"),
        ('[{"name": "a", "type": "RECORD", "fields": 7}]', "a.json:1:44: `fields` must be a list"),
        ('[{"name": "a", "type": "struct", "fields": [{}]}]', "a.json:1:45: an item of `fields` has no `name`"),
    ],
)
def test_what_is_no_table_schema_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(InputError) as caught:
        bigquery.read(text, "a.json")
    assert str(caught.value) == message
