from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.schema.templates import loads_table, new_schema, version_table


def test_a_new_schema_has_no_hash_yet():
    schema = new_schema("demo")
    assert (schema.version, schema.version_hash, schema.previous_hashes) == (1, "", ())
    assert list(schema.tables) == ["_dlt_version", "_dlt_loads"]


def test_a_convention_names_the_tables_of_dlt():
    schema = new_schema("demo", "s3_tables")
    assert list(schema.tables) == ["dlt_version", "dlt_loads"]
    assert schema.tables["dlt_loads"].properties["resource"] == "_dlt_loads"
    assert schema.normalizers["names"] == "s3_tables"


@pytest.mark.parametrize("name", ["", "1a", "bad-name", "a b", "a" * 65])
def test_names_that_no_schema_can_have(name):
    with pytest.raises(InputError, match="cannot name a schema") as raised:
        new_schema(name)
    assert "64" in raised.value.hint


def test_an_unknown_convention_is_reported():
    with pytest.raises(InputError, match="snake_caze"):
        new_schema("demo", "snake_caze")


def test_columns_of_the_tables_of_dlt_stand_in_the_order_of_the_destination():
    assert list(version_table().columns) == [
        "version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema",
    ]  # fmt: skip
    loads = loads_table().columns
    assert list(loads) == ["load_id", "schema_name", "status", "inserted_at", "schema_version_hash"]
    assert [name for name, column in loads.items() if column.nullable] == [
        "schema_name",
        "schema_version_hash",
    ]


def test_new_schemas_share_nothing_that_could_change():
    one, other = new_schema("demo"), new_schema("demo")
    one.settings["default_hints"]["unique"].append("x")
    assert other.settings["default_hints"]["unique"] == ["_dlt_id"]
