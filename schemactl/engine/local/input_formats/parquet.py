"""Parquet files, which state the types of their columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from schemactl.engine.declared_nulls import declared_nulls
from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import map_leaves, unsupported_type
from schemactl.engine.local.input_formats._rows import FileContents, open_files, read_rows
from schemactl.engine.local.row_files import Container, open_parquet
from schemactl.engine.parquet_faults import check_parquet_types
from schemactl.engine.parquet_footers import footer_of
from schemactl.grouping import group_by

_VARIANT: Final = re.compile(r" group field_id=\S+ (?P<name>.+) \(Variant\(\d+\)\) \{$", re.MULTILINE)
"""The line of a variant in pyarrow's text of a schema, which is all that pyarrow says of it."""


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together whose footers agree (``_rows.read_rows``)."""
    for files in group_by(open_files(inputs, _look_at), lambda opened: footer_of(opened.contents.schema)).values():
        yield from read_rows(files)


def _look_at(path: str) -> FileContents:
    with open_parquet(path) as opened:
        check_parquet_types(opened.schema, path)
        _check_spark_types(opened)
        schema, nulls = _in_utc(opened.schema_arrow, opened.schema), declared_nulls(opened.schema_arrow)
        groups = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
    counts = {number: group.num_rows for number, group in enumerate(groups)}
    sizes = {number: group.total_byte_size for number, group in enumerate(groups)}
    return FileContents(Container.PARQUET, schema, counts, sizes, nulls)


def _check_spark_types(opened: pq.ParquetFile) -> None:
    """Refuse variants, and integers that Spark wrote for intervals, as its schema in the footer says."""
    if (variant := _VARIANT.search(str(opened.schema))) is not None:
        raise unsupported_type(variant["name"], "variant")
    text = (opened.metadata.metadata or {}).get(b"org.apache.spark.sql.parquet.row.metadata", b"{}")
    try:
        spark_columns = json.loads(text)["fields"]
        types = {column["name"]: list(_spark_types(column["type"])) for column in spark_columns}
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # Spark reads the file by its Parquet types then
    for column in opened.schema_arrow.names:
        for spark_type in types.get(column, ()):
            if spark_type == "variant" or spark_type.startswith("interval"):
                raise unsupported_type(column, spark_type)


def _spark_types(of: Any) -> Iterator[str]:
    """Yield the names of scalar types in a type as Spark writes it."""
    match of:
        case str():
            yield of
        case {"type": "struct", "fields": fields}:
            for field in fields:
                yield from _spark_types(field["type"])
        case {"elementType": element}:
            yield from _spark_types(element)
        case {"keyType": key, "valueType": value}:
            yield from _spark_types(key)
            yield from _spark_types(value)


def _in_utc(schema: pa.Schema, parquet_schema: pq.ParquetSchema) -> pa.Schema:
    """Return columns with timestamps of the old type INT96 in UTC, as in Spark; Parquet lacks a zone for them."""
    physical_types = [parquet_schema.column(number).physical_type for number in range(len(parquet_schema))]
    if "INT96" not in physical_types:
        return schema
    remaining = iter(physical_types)  # both schemas list the innermost columns in one order

    def convert(field: pa.Field) -> pa.DataType:
        return pa.timestamp("us", "UTC") if next(remaining) == "INT96" else field.type

    return pa.schema([pa.field(field.name, map_leaves(field, convert)) for field in schema])
