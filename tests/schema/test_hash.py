from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from schemactl.errors import InputError
from schemactl.schema.hash import bump, stored_hash, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

X = {"name": "x", "data_type": "text"}
Y = {"name": "y", "data_type": "bigint"}


def stored(columns, **others):
    table = {"name": "a", "columns": {column["name"]: column for column in columns}}
    return {"version": 1, "engine_version": 11, "name": "t", "tables": {"a": table}, **others}


@pytest.mark.parametrize(("schema", "expected"), [
    ({"version": 1, "engine_version": 11, "name": "t", "tables": {}}, "V4+pEcSFpYwBIe+1gJ6Lo8C9B24TOOC4zKc9T2ePr1o="),
    (stored([X, Y]), "iX5zHUmbzIB2NdBgfsdlbRm3OqtaC2+NqcwyEojhjKk="),
    (stored([Y, X]), "gZDyAeX0VsOc1qJ6UIVl5YqMwtn/uTKxY8supEmGNss="),
    (stored([X, Y], version_hash="zz", previous_hashes=["q"], imported_version_hash="i"),
     "iX5zHUmbzIB2NdBgfsdlbRm3OqtaC2+NqcwyEojhjKk="),
    (stored([{**X, "nullable": True}, Y]), "xOGGQ/MVkh4/GesQ9bf5ECLyQjNzCmT5TrP+kA/fLG0="),
])  # fmt: skip
def test_worked_examples(schema, expected):
    assert stored_hash(schema) == expected


def test_a_new_schema_has_the_hash_that_dlt_gives_it():
    assert version_hash(new_schema("tiny")) == "/li4YJ5Zu9K172vA7hOAFusEwzoYQ0hGVhL18C/mU08="


def with_columns(*names):
    return new_schema("demo").with_table(Table("t", {name: Column(name) for name in names}))


def test_the_order_of_columns_counts_that_of_tables_does_not():
    assert version_hash(with_columns("a", "b")) != version_hash(with_columns("b", "a"))
    schema = with_columns("a")
    turned = replace(schema, tables=dict(reversed(schema.tables.items())))
    assert version_hash(schema) == version_hash(turned)


def test_the_first_bump_keeps_the_version():
    schema = bump(with_columns("a"))
    assert (schema.version, schema.previous_hashes) == (1, ())
    assert schema.version_hash == version_hash(schema)
    assert bump(schema) == schema


def test_a_change_bumps_once_and_remembers():
    first = bump(with_columns("a"))
    changed = first.with_table(Table("t", {"b": Column("b")}))
    assert version_hash(changed) != first.version_hash
    second = bump(changed)
    assert second.version_hash == version_hash(changed)
    assert second.version == 2
    assert second.previous_hashes == (first.version_hash,)


def test_going_back_is_a_new_version():
    first = bump(with_columns("a"))
    second = bump(replace(first, tables=with_columns("b").tables))
    third = bump(replace(second, tables=first.tables))
    assert third.version == 3
    assert third.version_hash == first.version_hash
    assert third.previous_hashes == (second.version_hash, first.version_hash)


def test_ten_hashes_are_remembered():
    schema = bump(with_columns("a"))
    hashes = []
    for number in range(12):
        hashes.insert(0, schema.version_hash)
        schema = bump(replace(schema, tables=with_columns(f"c{number}").tables))
    assert list(schema.previous_hashes) == hashes[:10]


@pytest.mark.parametrize("value", ["\ud800", 2**64, object()])
def test_what_json_cannot_hold_is_reported(value):
    schema = replace(new_schema("demo"), extensions={"x-hint": value})
    with pytest.raises(InputError, match="the schema cannot be hashed"):
        version_hash(schema)


def test_importing_the_module_is_cheap():
    heavy = "{'orjson', 'pyspark', 'pydantic', 'ruamel.yaml', 'dlt'}"
    code = f"import sys, schemactl.schema.hash; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
