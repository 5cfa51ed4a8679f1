"""Great Expectations: a suite for the rows of one table. Only written.

https://docs.greatexpectations.io/docs/core/introduction/; the form is that of version 1, in which a suite is made of
JSON by ``ExpectationSuite(**json.load(file))``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from schemactl.formats._losses import Loss, unstated
from schemactl.formats._tables import only_table
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.type_systems.fields import note

ENDINGS: Final = (".gx.json", ".json")
ONE_TABLE: Final = True

_TYPES: Final = {
    DataType.TEXT: "str object string StringType VARCHAR TEXT STRING NVARCHAR CHAR",
    DataType.DOUBLE: "float float64 Float64 DoubleType FloatType FLOAT DOUBLE DOUBLE_PRECISION REAL",
    DataType.BOOL: "bool boolean BooleanType BOOLEAN BOOL",
    DataType.TIMESTAMP: "datetime64 datetime64[ns] datetime64[us] Timestamp datetime TimestampType TimestampNTZType "
    "TIMESTAMP DATETIME TIMESTAMP_NTZ TIMESTAMP_TZ",
    DataType.BIGINT: "int int64 Int64 int32 int16 int8 LongType IntegerType ShortType ByteType BIGINT INTEGER INT "
    "INT64 SMALLINT TINYINT",
    DataType.BINARY: "bytes object BinaryType BYTEA BLOB BINARY VARBINARY BYTES",
    DataType.DECIMAL: "Decimal object DecimalType NUMERIC DECIMAL NUMBER",
    DataType.WEI: "Decimal object DecimalType NUMERIC DECIMAL NUMBER BIGNUMERIC",
    DataType.DATE: "date object DateType DATE",
    DataType.TIME: "time object StringType TIME",
}  # fmt: skip
"""Names of types in pandas, Spark and SQLAlchemy; Great Expectations uses the names of its current engine."""

_SHOWN: Final = ("description", "nullable", "unique", "primary_key", "x-enum", "x-pattern", "x-minimum", "x-maximum")


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the parts of a schema that no expectation covers."""
    return tuple(loss for loss in unstated(schema, _SHOWN) if loss.item != "write_disposition")


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the suite of the only table of a schema, which permits further columns."""
    table = only_table(schema)
    suite = {
        "name": table.name,
        "expectations": list(_expectations(table)),
        "meta": {"schema": schema.name, "version_hash": schema.version_hash},
        **note(table.properties.get("description"), "notes"),
    }
    return f"{json.dumps(suite, indent=2, ensure_ascii=False)}\n"


def _expectations(table: Table) -> Iterator[dict[str, Any]]:
    for column in table.columns.values():
        notes = note(column.properties.get("description"), "notes")
        meta = {"meta": notes} if notes else {}
        for name, arguments in _of_column(column):
            yield {"type": f"expect_column_{name}", "kwargs": {"column": column.name, **arguments}, **meta}
    keys = [column.name for column in table.columns.values() if column.properties.get("primary_key") is True]
    if len(keys) > 1:
        yield {"type": "expect_compound_columns_to_be_unique", "kwargs": {"column_list": keys}}
    elif keys and table.columns[keys[0]].properties.get("unique") is not True:
        yield {"type": "expect_column_values_to_be_unique", "kwargs": {"column": keys[0]}}


def _of_column(column: Column) -> Iterator[tuple[str, dict[str, Any]]]:
    properties = column.properties
    yield "to_exist", {}
    if column.data_type in _TYPES:
        # In pandas, integers with nulls are floats and truth values with nulls are objects.
        wider = {DataType.BIGINT: ["float64"], DataType.BOOL: ["object"]}.get(column.data_type, [])
        names = [*_TYPES[column.data_type].split(), *(wider if column.nullable else ())]
        yield "values_to_be_in_type_list", {"type_list": names}
    if not column.nullable:
        yield "values_to_not_be_null", {}
    if properties.get("unique") is True:
        yield "values_to_be_unique", {}
    if isinstance(properties.get("x-enum"), list) and properties["x-enum"]:
        yield "values_to_be_in_set", {"value_set": properties["x-enum"]}
    if isinstance(properties.get("x-pattern"), str):
        yield "values_to_match_regex", {"regex": properties["x-pattern"]}
    if column.data_type is DataType.TEXT and properties.get("precision") is not None:
        yield "value_lengths_to_be_between", {"max_value": properties["precision"]}
    limits = {word: properties.get(hint) for word, hint in (("min_value", "x-minimum"), ("max_value", "x-maximum"))}
    if column.data_type is DataType.BIGINT and properties.get("precision") in (8, 16, 32):
        most = 2 ** (properties["precision"] - 1)
        known_limits = {key: limit for key, limit in limits.items() if limit is not None}
        limits = {"min_value": -most, "max_value": most - 1, **known_limits}
    if bounds := {key: limit for key, limit in limits.items() if isinstance(limit, int | float)}:
        yield "values_to_be_between", bounds
