"""What columns state of themselves, as Spark reads it in the footers of the files that the kernel writes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from schemactl.kernel.stored import spark_notes

NOTES = {"description": "Opens", "pii": "true"}
READ = {"description": "Opens", "comment": "Opens", "pii": True}

NESTED = pa.struct(
    [
        pa.field("price", pa.decimal128(10, 2)),
        pa.field(
            "visits",
            pa.list_(pa.field("element", pa.struct([("at", pa.timestamp("us", "UTC")), ("share", pa.float32())]))),
        ),
    ]
)
FIELDS = [
    pa.field("opens", pa.time64("us"), metadata=NOTES),
    pa.field("tags", pa.list_(pa.field("element", pa.string())), metadata={"description": "Words"}),
    pa.field("shop", NESTED),
    pa.field("counts", pa.map_(pa.string(), pa.int32()), metadata={"steps": "[1, 2]"}),
]
ROWS: list[dict[str, Any]] = [
    {
        "opens": time(8, 30),
        "tags": ["a", None],
        "shop": {"price": Decimal("1.50"), "visits": [{"at": datetime(2020, 1, 2, tzinfo=UTC), "share": 0.5}]},
        "counts": [("x", 1)],
    },
    {"opens": None, "tags": None, "shop": None, "counts": None},
]


def stated() -> dict[str, str]:
    notes = spark_notes(FIELDS)
    assert notes is not None
    return notes


def test_notes_are_a_schema_that_spark_reads():
    (text,) = stated().values()
    read = T.StructType.fromJson(json.loads(text))
    assert [(field.name, field.dataType.simpleString(), field.metadata) for field in read] == [
        ("opens", "time(6)", READ),
        ("tags", "array<string>", {"description": "Words", "comment": "Words"}),
        ("shop", "struct<price:decimal(10,2),visits:array<struct<at:timestamp,share:float>>>", {}),
        ("counts", "map<string,int>", {"steps": [1, 2]}),
    ]


def test_there_are_none_where_spark_lacks_a_type_or_nothing_is_stated():
    nanos = pa.field("at", pa.timestamp("ns", "UTC"))
    for of in (nanos.type, pa.list_(nanos), pa.struct([nanos]), pa.map_(pa.string(), nanos.type)):
        assert spark_notes([*FIELDS, pa.field("at", of)]) is None
    assert spark_notes([field.remove_metadata() for field in FIELDS]) is None


@pytest.mark.spark
def test_spark_gives_columns_of_all_types_their_notes_and_reads_their_values(spark: SparkSession, tmp_path: Path):
    path = str(tmp_path / "rows.parquet")
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS, schema=pa.schema(FIELDS, metadata=stated())), path)
    setting = "spark.sql.timeType.enabled"
    before = spark.conf.get(setting, "false")
    assert before is not None
    spark.conf.set(setting, "true")
    try:
        rows = spark.read.parquet(path)
        assert [field.metadata for field in rows.schema] == [
            READ,
            {"description": "Words", "comment": "Words"},
            {},
            {"steps": [1, 2]},
        ]
        found = rows.selectExpr("opens", "tags", "shop.price", "shop.visits[0].share", "counts['x']").collect()
    finally:
        spark.conf.set(setting, before)
    assert [tuple(row) for row in found] == [
        (time(8, 30), ["a", None], Decimal("1.50"), 0.5, 1),
        (None, None, None, None, None),
    ]
