"""dlt reads a schema whose normalizer keeps structure, and makes rows under it."""

from __future__ import annotations

from dataclasses import replace

import dlt
import yaml
from dlt.common.schema import Schema as DltSchema

from schemactl.formats.dlt import read, write
from schemactl.inference.evidence import Position, observe
from schemactl.inference.source_names import resolve_data
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema

MODULE = "schemactl.normalization.normalizers.nested"
ORDER = {"id": 1, "buyer": {"name": "Ann", "tags": ["a"]}, "lines": [{"n": 1}]}


def schema_of(*documents):
    new = new_schema("shop")
    before = replace(new, normalizers={**new.normalizers, "json": {"module": MODULE}})
    evidence = observe((Position("f", number), document) for number, document in enumerate(documents, 1))
    return bump(resolve_data(evidence, before, "orders", False).schema)


def test_dlt_reads_and_writes_the_schema_with_the_same_hash():
    schema = schema_of(ORDER)

    theirs = DltSchema.from_dict(yaml.safe_load(write(schema)))

    assert theirs.version_hash == schema.version_hash
    again = read(theirs.to_pretty_yaml(), "shop.schema.yaml").schema
    assert version_hash(again) == schema.version_hash
    assert (
        again.tables["orders"].columns["buyer"].properties["x-spark-type"] == "struct<name:string,tags:array<string>>"
    )


def test_dlt_takes_the_spark_type_into_its_hash():
    stored = schema_of(ORDER).to_dict()
    before = DltSchema.from_dict(stored).version_hash

    stored["tables"]["orders"]["columns"]["buyer"]["x-spark-type"] = "struct<name:string>"

    assert DltSchema.from_dict(stored).version_hash != before


def test_dlt_makes_one_table_too_and_columns_of_the_same_names_and_types(tmp_path):
    empty = DltSchema("shop").to_dict()
    schema = DltSchema.from_dict({**empty, "normalizers": {"names": "snake_case", "json": {"module": MODULE}}})
    pipeline = dlt.pipeline("nested", pipelines_dir=str(tmp_path), destination=dlt.destinations.duckdb(":memory:"))

    pipeline.extract([ORDER], table_name="orders", schema=schema)
    pipeline.normalize()

    tables = {name: table for name, table in pipeline.default_schema.tables.items() if not name.startswith("_dlt")}
    assert list(tables) == ["orders"]
    found = {name: column["data_type"] for name, column in tables["orders"]["columns"].items()}
    ours = schema_of(ORDER).tables["orders"].columns
    assert list(found.items()) == [(name, str(column.data_type)) for name, column in ours.items()]
