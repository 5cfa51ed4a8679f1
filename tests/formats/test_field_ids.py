"""Ids of columns and of the fields inside them survive formats that number fields, also without schemactl's hints."""

from __future__ import annotations

from typing import Any

import pytest

from schemactl.formats import FORMATS, is_readable
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.type_systems.fields import HINTS

NESTED = "struct<city:string,stops:array<struct<at:timestamp,codes:map<string,struct<n:bigint>>>>>"
IDS = {
    "city": {"x-id": 12},
    "stops": {"x-id": 14, "fields": {"at": {"x-id": 16}, "codes": {"x-id": 18, "fields": {"n": {"x-id": 19}}}}},
}


def shop(**route: Any) -> Schema:
    columns = {
        "id": Column("id", {"data_type": "text", "nullable": True, "x-id": 3}),
        "route": Column("route", {"data_type": "json", "nullable": True, "x-spark-type": NESTED, "x-id": 2, **route}),
    }
    return new_schema("shop").with_table(
        Table("orders", columns, {"write_disposition": "append", "resource": "orders"})
    )


def trip(name: str, schema: Schema, *, has_hints: bool) -> dict[str, dict[str, Any]]:
    """Return the columns that a format gives back, with its hints hidden if asked for."""
    module = FORMATS[name]
    path = f"orders{module.ENDINGS[0]}"
    content = module.write(schema, path)
    if not has_hints:
        other = f"x-{'o' * (len(HINTS) - 2)}"
        is_text = isinstance(content, str)
        content = content.replace(HINTS, other) if is_text else content.replace(HINTS.encode(), other.encode())
    assert is_readable(module)
    (table,) = (table for key, table in module.read(content, path).schema.tables.items() if not key.startswith("_dlt"))
    return {key: dict(column.properties) for key, column in table.columns.items()}


def ids_in(notes: Any) -> dict[str, Any]:
    return {
        name: {
            key: ids_in(value) if key == "fields" else value for key, value in note.items() if key in ("x-id", "fields")
        }
        for name, note in notes.items()
    }


@pytest.mark.parametrize("name", ["iceberg", "avro", "arrow", "protobuf"])
@pytest.mark.parametrize("has_hints", [True, False])
def test_stated_ids_come_back(name: str, has_hints: bool) -> None:
    columns = trip(name, shop(**{"x-fields": IDS}), has_hints=has_hints)
    assert (columns["id"]["x-id"], columns["route"]["x-id"]) == (3, 2)
    assert ids_in(columns["route"]["x-fields"]) == IDS


@pytest.mark.parametrize("name", ["iceberg", "avro", "arrow", "parquet", "protobuf"])
def test_a_file_of_ours_states_no_ids_that_the_schema_does_not(name: str) -> None:
    columns = trip(name, shop(), has_hints=True)
    assert "x-fields" not in columns["route"]


def test_parquet_keeps_the_ids_of_nested_fields() -> None:
    columns = trip("parquet", shop(**{"x-fields": IDS}), has_hints=True)
    assert ids_in(columns["route"]["x-fields"]) == IDS


def test_numbers_of_iceberg_that_two_fields_state_are_given_once() -> None:
    notes = {"city": {"x-id": 3}, "stops": {"x-id": 14, "fields": {"at": {"x-id": 14}}}}
    columns = trip("iceberg", shop(**{"x-fields": notes}), has_hints=False)
    found = ids_in(columns["route"]["x-fields"])
    numbers = [columns["id"]["x-id"], columns["route"]["x-id"], found["city"]["x-id"], found["stops"]["x-id"]]
    numbers += [note["x-id"] for note in found["stops"]["fields"].values()]
    assert columns["route"]["x-id"] == 2
    assert len({*numbers}) == len(numbers)
    assert not {3, 14} & {*numbers}


def test_numbers_of_a_message_are_its_own_whatever_its_neighbors_have() -> None:
    notes = {"city": {"x-id": 2}, "stops": {"fields": {"at": {"x-id": 1}}}}
    columns = trip("protobuf", shop(**{"x-fields": notes}), has_hints=False)
    found = ids_in(columns["route"]["x-fields"])
    assert (found["city"]["x-id"], found["stops"]["x-id"]) == (2, 1)
    assert {name: note["x-id"] for name, note in found["stops"]["fields"].items()} == {"at": 1, "codes": 2}
