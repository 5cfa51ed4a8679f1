"""Columns that dlt keeps as structs, lists and maps: their `x-nested-type` is read, written, and kept in the hash."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
import pyarrow as pa
import pytest
from dlt.common.libs.pyarrow import deserialize_type, serialize_type
from dlt.destinations import duckdb, filesystem

from schemactl.destinations import delta, parquet
from schemactl.errors import DestinationError
from schemactl.formats.dlt import read, write
from schemactl.schema.arrow_hint import NESTED_TYPE, decode, encode
from schemactl.schema.hash import version_hash
from schemactl.schema.types import Schema, schema_from_dict
from schemactl.type_systems.arrow_types import arrow_type_of

TYPES: dict[str, pa.DataType] = {
    "struct": pa.struct({"city": pa.string(), "zip": pa.int32(), "tags": pa.list_(pa.string())}),
    "required": pa.struct([pa.field("d", pa.decimal128(10, 2), nullable=False)]),
    "noted": pa.struct([pa.field("a", pa.int64(), metadata={"comment": "counted"})]),
    "list": pa.list_(pa.float64()),
    "map": pa.map_(pa.string(), pa.int64()),
    "moments": pa.list_(pa.timestamp("ms", "UTC")),
    "large": pa.large_list(pa.large_string()),
    "fixed": pa.list_(pa.int8(), 3),
    "deep": pa.list_(pa.struct({"a": pa.map_(pa.string(), pa.struct({"b": pa.time64("ns")}))})),
}


def pipeline(folder: Path, destination: Any) -> dlt.Pipeline:
    return dlt.pipeline(
        "nested",
        destination=destination,
        dataset_name="shop",
        pipelines_dir=str(folder / "pipelines"),
        export_schema_path=str(folder / "export"),
    )


def example(of: pa.DataType) -> Any:
    """A value of a type without nulls."""
    if pa.types.is_struct(of):
        return {field.name: example(field.type) for field in of}
    if pa.types.is_map(of):
        return [("k", example(of.item_type))]
    if pa.types.is_nested(of):
        return [example(of.value_type)] * 3
    if pa.types.is_timestamp(of):
        return datetime(2026, 1, 1, tzinfo=UTC)
    return {"time64[ns]": time(1, 2), "int32": 1, "int64": 1, "int8": 1, "double": 1.5}.get(
        str(of), Decimal(1) if pa.types.is_decimal(of) else "a"
    )


def load(run: dlt.Pipeline, folder: Path, types: dict[str, pa.DataType], rows: int = 0, **how: Any) -> Schema:
    columns = {name: pa.array([example(of)] * rows, of) for name, of in types.items()}
    table = pa.table({"_dlt_id": pa.array([f"row{at}" for at in range(rows)], pa.string()), **columns})
    run.run([table], table_name="orders", **how)
    path = folder / "export" / "nested.schema.yaml"
    return read(path.read_text(), str(path)).schema


def test_what_dlt_writes_is_read_and_written_alike():
    for of in TYPES.values():
        text = serialize_type(of)
        assert encode(of) == text
        assert decode(text) == of == deserialize_type(text)


def test_a_schema_file_with_nested_arrow_data_keeps_its_hash(tmp_path: Path):
    destination = filesystem(str(tmp_path / "data"))
    schema = load(pipeline(tmp_path, destination), tmp_path, TYPES, loader_file_format="parquet")
    columns = schema.tables["orders"].columns
    assert {name: arrow_type_of(columns[name]) for name in TYPES} == TYPES
    assert version_hash(schema) == schema.version_hash
    again = read(write(schema, "nested.schema.yaml"), "nested.schema.yaml").schema
    assert again == schema
    assert dlt.Schema.from_dict(again.to_dict()).version_hash == schema.version_hash  # type: ignore[arg-type]


def test_the_last_load_states_the_type(tmp_path: Path):
    run = pipeline(tmp_path, filesystem(str(tmp_path / "data")))
    first, last = pa.struct({"a": pa.int64(), "b": pa.string()}), pa.struct({"a": pa.int32()})
    for of in (first, last):
        load(run, tmp_path, {"v": of}, loader_file_format="parquet")
        # dlt's export file keeps the first one.
        schema = schema_from_dict(run.default_schema.to_dict())
        assert arrow_type_of(schema.tables["orders"].columns["v"]) == of
        assert version_hash(schema) == schema.version_hash


@pytest.mark.parametrize("name", ["struct", "list"])
def test_destinations_without_nested_types_get_no_hint(tmp_path: Path, name: str):
    run = pipeline(tmp_path, duckdb(str(tmp_path / "data.duckdb")))
    schema = load(run, tmp_path, {"v": TYPES[name]})
    assert NESTED_TYPE not in schema.tables["orders"].columns["v"].properties


@pytest.mark.parametrize(("destination", "format"), [(parquet, None), (delta, "delta")])
def test_a_dataset_of_dlt_is_as_its_schema_states(tmp_path: Path, destination: Any, format: Any):
    kept = {name: of for name, of in TYPES.items() if format is None or name not in ("deep", "fixed", "large")}
    run = pipeline(tmp_path, filesystem(str(tmp_path / "data")))
    schema = load(run, tmp_path, kept, rows=1, table_format=format, loader_file_format="parquet")
    url = f"{format or 'parquet'}:{tmp_path / 'data'}?dataset=shop"
    there = destination.read_catalogue(url).schema.tables["orders"].columns
    stated = schema.tables["orders"].columns
    assert {name: kind(there[name].properties) for name in kept} == {
        name: kind(destination.stored(stated[name])) for name in kept
    }
    # Documents become JSON texts, which such columns do not take.
    with pytest.raises(DestinationError, match="struct"):
        destination.check_tables(url, schema)


def kind(properties: Any) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if key != "nullable"}
