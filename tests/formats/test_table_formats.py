"""Arrow, Parquet, Iceberg and Delta Lake as formats of schemas, beside their own libraries.

Tests import pyiceberg themselves: it takes half a second, in each process that collects this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from fixture_documents import inferred
from hypothesis import given
from pyarrow import parquet as pq
from test_round_trips import schemas

from schemactl.errors import InputError
from schemactl.formats import FORMATS, arrow, delta, iceberg, parquet
from schemactl.formats._losses import describe_loss
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

NESTED = "struct<a:int,b:array<struct<c:string>>,m:map<string,double>>"
STATED: dict[str, dict[str, Any]] = {
    "id": {"data_type": "bigint", "nullable": False, "primary_key": True, "x-id": 7},
    "day": {"data_type": "date", "partition": True},
    "at": {"data_type": "timestamp", "timezone": False},
    "seen": {"data_type": "timestamp", "precision": 3},
    "clock": {"data_type": "time"},
    "price": {"data_type": "decimal", "precision": 10, "scale": 2, "description": "In euro"},
    "lines": {"data_type": "json", "x-spark-type": NESTED},
}


def shop() -> Schema:
    columns = {name: Column(name, {"nullable": True, **stated}) for name, stated in STATED.items()}
    properties = {"write_disposition": "merge", "resource": "orders", "description": "All orders"}
    return new_schema("shop").with_table(Table("orders", columns, properties))


def one_table(schema: Schema) -> Schema:
    (first, *_) = data_tables(schema)
    return new_schema("shop").with_table(first)


def columns_of(document: Any, table: str = "orders") -> dict[str, dict[str, Any]]:
    return {name: dict(each.properties) for name, each in document.schema.tables[table].columns.items()}


# --- Arrow and Parquet ---


def test_arrow_and_pyarrow_s_parquet_hold_the_same_types(tmp_path: Path):
    (tmp_path / "a.arrow").write_bytes(arrow.write(shop()))
    (tmp_path / "a.parquet").write_bytes(parquet.write(shop()))
    (tmp_path / "a.arrows").write_bytes(arrow.write(shop(), "a.arrows"))
    found = pq.read_schema(tmp_path / "a.parquet")
    assert found.equals(pa.ipc.open_file(tmp_path / "a.arrow").schema)
    assert found.equals(pa.ipc.open_stream((tmp_path / "a.arrows").read_bytes()).schema)
    assert {name: str(found.field(name).type) for name in ("at", "seen", "clock", "price")} == {
        "at": "timestamp[us]", "seen": "timestamp[ms, tz=UTC]", "clock": "time64[us]", "price": "decimal128(10, 2)",
    }  # fmt: skip
    assert not found.field("id").nullable
    assert pq.ParquetFile(tmp_path / "a.parquet").schema.column(0).name == "id"


def test_a_parquet_file_of_others_with_rows(tmp_path: Path):
    path = tmp_path / "orders.parquet"
    fields = [
        pa.field("Id", pa.uint32(), nullable=False, metadata={"PARQUET:field_id": "3", "pandas": "x"}),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), metadata={"comment": "A kind"}),
        pa.field("big", pa.uint64()),
        pa.field("tags", pa.large_list(pa.string())),
        pa.field("took", pa.duration("s")),
        pa.field("none", pa.null()),
    ]
    rows = {"Id": [1], "kind": ["a"], "big": [2], "tags": [["x"]], "took": [3], "none": [None]}
    pq.write_table(pa.table(rows, schema=pa.schema(fields)), path)
    document = parquet.read(path.read_bytes(), str(path))
    assert columns_of(document) == {
        "id": {"data_type": "bigint", "nullable": False, "x-id": 3},
        "kind": {"data_type": "text", "nullable": True, "description": "A kind"},
        "big": {"data_type": "decimal", "precision": 20, "scale": 0, "nullable": True},
        "tags": {"data_type": "json", "nullable": True, "x-spark-type": "array<string>"},
        "took": {"data_type": "text", "nullable": True},
        "none": {"nullable": True},
    }
    assert [(loss.path, loss.item) for loss in document.losses] == [("orders.Id", "pandas"), ("orders.took", "type")]


@pytest.mark.parametrize("name", ["arrow", "parquet"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b"no such thing"])
def test_broken_files_are_refused(name: str, content: bytes):
    with pytest.raises(InputError, match="this is not a"):
        FORMATS[name].read(content, f"a.{name}")  # type: ignore[attr-defined]


@given(schemas())
def test_rows_of_the_described_types_can_be_written(schema: Schema):
    found = pa.ipc.open_file(arrow.write(one_table(schema))).schema
    nulls = pa.schema([field.with_nullable(True) for field in found])
    table = pa.Table.from_pylist([{}], schema=nulls)
    assert table.num_rows == 1


# --- Iceberg ---


def test_pyiceberg_reads_the_metadata():
    from pyiceberg.table.metadata import TableMetadataUtil

    metadata = TableMetadataUtil.parse_raw(iceberg.write(shop()))
    schema = metadata.schema()
    assert {field.name: str(field.field_type) for field in schema.fields} == {
        "id": "long", "day": "date", "at": "timestamp", "seen": "timestamptz", "clock": "time",
        "price": "decimal(10, 2)", "lines": str(schema.find_type("lines")),
    }  # fmt: skip
    assert schema.find_field("id").field_id == 7
    assert schema.find_field("lines.b.element.c").required is False
    assert [field.source_id for field in metadata.spec().fields] == [schema.find_field("day").field_id]
    assert metadata.last_column_id == max(schema.field_ids) == schema.highest_field_id


@given(schemas())
def test_numbers_of_iceberg_are_all_different_and_its_types_are_arrow_s(schema: Schema):
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.table.metadata import TableMetadataUtil

    text = iceberg.write(one_table(schema))
    found = TableMetadataUtil.parse_raw(text).schema()
    numbers = [
        int(value) for key, value in _items(json.loads(text)["schemas"]) if key.endswith("id") and key != "schema-id"
    ]
    assert len(numbers) == len(set(numbers)) == len(found.field_ids)
    (table,) = data_tables(one_table(schema))
    assert schema_to_pyarrow(found).names == list(table.columns)


def _items(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, list):
        return [item for each in node for item in _items(each)]
    return (
        [item for key, each in node.items() for item in ((key, each), *_items(each))] if isinstance(node, dict) else []
    )


def test_metadata_that_pyiceberg_writes():
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.table.metadata import new_table_metadata
    from pyiceberg.table.sorting import SortField, SortOrder
    from pyiceberg.transforms import BucketTransform, IdentityTransform
    from pyiceberg.types import (
        DecimalType,
        FixedType,
        ListType,
        LongType,
        MapType,
        NestedField,
        StringType,
        StructType,
        UUIDType,
    )

    point = StructType(NestedField(10, "x", LongType(), required=True))
    schema = IcebergSchema(
        NestedField(1, "Id", UUIDType(), required=True, doc="The key"),
        NestedField(2, "price", DecimalType(9, 3)),
        NestedField(3, "points", ListType(11, point, element_required=True)),
        NestedField(4, "by", MapType(12, StringType(), 13, LongType())),
        NestedField(5, "hash", FixedType(16)),
        identifier_field_ids=[1],
    )
    spec = PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "price"), PartitionField(1, 1001, BucketTransform(4), "b")
    )
    order = SortOrder(SortField(2, IdentityTransform()))
    made = new_table_metadata(schema, spec, order, "s3://lake/shop/orders", {"comment": "All", "owner": "crm"})
    document = iceberg.read(made.model_dump_json(), "v1.metadata.json")
    assert columns_of(document) == {
        "id": {"data_type": "text", "nullable": False, "description": "The key", "primary_key": True, "x-id": 1},
        "price": {"data_type": "decimal", "precision": 9, "scale": 3, "nullable": True, "partition": True, "x-id": 2},
        "points": {
            "data_type": "json", "nullable": True, "x-spark-type": "array<struct<x:bigint>>",
            "x-fields": {"x": {"nullable": False, "x-id": 7}}, "x-id": 3,
        },
        "by": {"data_type": "json", "nullable": True, "x-spark-type": "map<string,bigint>", "x-id": 4},
        "hash": {"data_type": "binary", "precision": 16, "nullable": True, "x-id": 5},
    }  # fmt: skip
    assert document.schema.tables["orders"].properties["description"] == "All"
    assert [(loss.item, loss.before) for loss in document.losses] == [
        ("partition-spec", "bucket[4](Id)"), ("sort-order", "identity(price)"), ("owner", "crm"),
    ]  # fmt: skip
    alone = iceberg.read(made.schema().model_dump_json(), "orders.iceberg.json")
    assert columns_of(alone).keys() == columns_of(document).keys()


@pytest.mark.parametrize("text", ["[]", "{}", '{"schemas": [], "format-version": 2}'])
def test_what_is_no_metadata_of_iceberg_is_refused(text: str):
    with pytest.raises(InputError, match="not the metadata of an Iceberg table"):
        iceberg.read(text, "a.json")


ID = '{"id": 1, "name": "id", "required": true, "type": "long"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "struct", "fields": 7}', "`fields` must be a list"),
        ('{"schemas": 7}', "`schemas` must be a list"),
        ('{"type": "struct", "fields": [{"id": 1}]}', "an item of `fields` has no `name`"),
        (f'{{"fields": [{ID.replace("1", "[]")}]}}', "`id` must be a number"),
        (f'{{"fields": [{ID}], "partition-specs": 7}}', "`partition-specs` must be a list"),
        (f'{{"fields": [{ID}], "identifier-field-ids": 7}}', "`identifier-field-ids` must be a list"),
    ],
)
def test_a_container_of_a_wrong_type_in_iceberg_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(InputError, match=message) as caught:
        iceberg.read(text, "a.json")
    assert caught.value.at is not None
    assert caught.value.at.line == 1


# --- Delta Lake ---


def delta_table(folder: Path, text: str) -> DeltaTable:
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "_delta_log" / f"{0:020}.json").write_text(text)
    return DeltaTable(folder)


def test_deltalake_opens_the_table(tmp_path: Path):
    table = delta_table(tmp_path, delta.write(shop()))
    assert {field.name: str(field.type) for field in table.schema().fields if field.name != "lines"} == {
        "id": 'PrimitiveType("long")', "day": 'PrimitiveType("date")', "at": 'PrimitiveType("timestamp_ntz")',
        "seen": 'PrimitiveType("timestamp")', "clock": 'PrimitiveType("string")',
        "price": 'PrimitiveType("decimal(10,2)")',
    }  # fmt: skip
    assert table.metadata().partition_columns == ["day"]
    assert table.metadata().description == "All orders"


@pytest.mark.parametrize("name", ["orders.jsonl", "products.json"])
def test_deltalake_opens_the_tables_of_the_fixtures(name: str, tmp_path: Path):
    schema = inferred(name)
    for each in data_tables(schema):
        table = delta_table(tmp_path / each.name, delta.write(new_schema("shop").with_table(each)))
        assert [field.name for field in table.schema().fields] == list(each.columns)


def test_a_commit_that_deltalake_writes(tmp_path: Path):
    schema = pa.schema(
        [pa.field("Id", pa.int16(), nullable=False), ("day", pa.date32()), ("tags", pa.list_(pa.string()))]
    )
    configuration = {"delta.appendOnly": "true"}
    DeltaTable.create(
        tmp_path, schema, name="orders", description="All", partition_by=["day"], configuration=configuration
    )
    text = (tmp_path / "_delta_log" / f"{0:020}.json").read_text()
    assert delta.recognises(text)
    document = delta.read(text, "0.json")
    assert columns_of(document) == {
        "id": {"data_type": "bigint", "precision": 16, "nullable": False},
        "day": {"data_type": "date", "nullable": True, "partition": True},
        "tags": {"data_type": "json", "nullable": True, "x-spark-type": "array<string>"},
    }
    assert document.schema.tables["orders"].properties["description"] == "All"
    assert [(loss.item, loss.before) for loss in document.losses] == [("delta.appendOnly", "true")]


def test_the_last_description_in_a_commit_of_delta_counts():
    line = delta.write(shop()).splitlines()[-1]
    renamed = line.replace('"name": "orders"', '"name": "carts"')
    (table,) = data_tables(delta.read(f"{line}\n{renamed}\n", "0.json").schema)
    assert table.name == "carts"


@pytest.mark.parametrize("text", ["", "{}", '{"metaData": {"schemaString": "x"}}'])
def test_what_is_no_commit_of_delta_is_refused(text: str):
    with pytest.raises(InputError, match="no line describes a table"):
        delta.read(text, "0.json")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"schemaString": '{"type": "struct", "fields": 7}'}, "`fields` must be a list"),
        ({"schemaString": '{"type": "struct", "fields": []}', "partitionColumns": 7}, "`partitionColumns` must be"),
        ({"schemaString": "[" * 100_000}, "no line describes a table"),
    ],
)
def test_a_container_of_a_wrong_type_in_delta_is_refused(metadata: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        delta.read(json.dumps({"metaData": metadata}), "0.json")


@pytest.mark.parametrize("name", ["arrow", "parquet", "iceberg", "delta"])
def test_the_shop_comes_back_whole(name: str):
    module = FORMATS[name]
    found = module.read(module.write(shop()), f"orders{module.ENDINGS[0]}")  # type: ignore[attr-defined]
    assert columns_of(found) == {key: {"nullable": True, **stated} for key, stated in STATED.items()}
    assert found.losses == ()
    assert module.recognises(module.write(shop()))  # type: ignore[attr-defined]


def test_the_zone_of_a_time_is_reported_unless_it_is_utc():
    times = {"paris": "Europe/Paris", "utc": "UTC", "greenwich": "+00:00", "local": None}
    fields = {name: pa.timestamp("us", zone) for name, zone in times.items()}
    fields["list"] = pa.list_(pa.timestamp("us", "Asia/Tokyo"))
    document = arrow.read_arrow(pa.schema(fields), "t.arrow")
    assert [describe_loss(each) for each in document.losses] == [
        "t.paris: `timezone: Europe/Paris`",
        "t.list: `timezone: Asia/Tokyo`",
    ]
