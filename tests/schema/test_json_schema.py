"""The JSON Schema of schema files says what the code that reads them does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from outside_data import OutsideData

import schemactl.errors
from schemactl.formats.dlt import read, write
from schemactl.schema.hash import bump
from schemactl.schema.json_schema import COLUMN_HINTS, SCHEMA_HINTS, SETTINGS_HINTS, TABLE_HINTS, file_schema
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

PACKAGE = Path(schemactl.__file__).parent

OF_OTHERS = {
    "x-dlt",  # a key of other formats, which holds what they cannot say
    "x-schemactl-loaded",  # a mark in packages for dlt's loader
    "x-loader", "x-extractor",  # dlt's marks: it writes them and removes them
    "x-merge-source-filter", "x-merge-destination-scope", "x-merge-skip-unchanged-rows",  # dlt's; refused
}  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(json.dumps(file_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_files_that_are_written_are_valid(validator: jsonschema.Draft202012Validator) -> None:
    columns = {"id": Column("id", {"data_type": "bigint", "primary_key": True, "x-unit": "kg", "x-mine": [1]})}
    schema = bump(new_schema("shop").with_table(Table("orders", columns, {"write_disposition": "merge"})))
    validator.validate(yaml.safe_load(write(schema)))
    validator.validate(json.loads(write(schema, "shop.schema.json")))


def test_conformance_schemas_are_valid(validator: jsonschema.Draft202012Validator, conformance: OutsideData) -> None:
    files = sorted(conformance("dlt/schemas").iterdir())
    assert files
    for file in files:
        validator.validate(yaml.safe_load(file.read_text()))


BY_HAND = """
settings:
  schema_contract: {tables: evolve, columns: freeze}
  preferred_types: {"re:.*id.*": text}
tables:
  orders:
    x-removed-columns: {note: 2026-01-31}
    x-own: 1
    columns:
      id: {data_type: bigint, primary_key: true, x-renamed-from: order_id}
      total:
  carts:
"""


def test_files_written_by_hand_are_valid(validator: jsonschema.Draft202012Validator) -> None:
    read(BY_HAND, "shop.schema.yaml")
    validator.validate(yaml.safe_load(BY_HAND))


@pytest.mark.parametrize(
    "text",
    [
        "setings: {}",
        "settings: {preferred_type: {}}",
        "tables: {orders: {colums: {}}}",
        "tables: {orders: {columns: {id: {datatype: text}}}}",
        "tables: {orders: {columns: {id: {data_type: string}}}}",
        "tables: {orders: {columns: {id: {nullable: 'yes'}}}}",
        "tables: {orders: {write_disposition: upsert}}",
        "settings: {schema_contract: frozen}",
        "normalizers: {json: {modul: x}}",
        "x_renamed_from: a",
    ],
)
def test_what_cannot_be_read_is_invalid(text: str, validator: jsonschema.Draft202012Validator) -> None:
    with pytest.raises(schemactl.errors.InputError):
        read(text, "shop.schema.yaml")
    assert not validator.is_valid(yaml.safe_load(text))


def test_every_hint_that_the_code_names_is_described() -> None:
    named: set[str] = set()
    for file in PACKAGE.rglob("*.py"):
        if file.name != "json_schema.py":
            named |= set(re.findall(r"""["'](x-[a-z]+(?:-[a-z]+)*)["']""", file.read_text(encoding="utf-8")))
    assert named - OF_OTHERS - {*COLUMN_HINTS, *TABLE_HINTS, *SCHEMA_HINTS, *SETTINGS_HINTS} == set()


def _described(shape: dict[str, Any]) -> dict[str, bool]:
    return {name: "description" in each for name, each in shape["properties"].items()}


def test_keys_are_described_where_people_write_them() -> None:
    top = file_schema()["else"]
    table = top["properties"]["tables"]["additionalProperties"]
    column = table["properties"]["columns"]["additionalProperties"]
    assert [name for name, is_so in _described(column).items() if not is_so] == ["name"]
    assert [name for name, is_so in _described(top).items() if not is_so] == ["description"]
    assert all(_described(top["properties"]["settings"]).values())
