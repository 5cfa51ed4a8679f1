"""Hashes and versions equal dlt's, for schemas of all kinds."""

from __future__ import annotations

import datetime as dt
from copy import deepcopy

import pytest
from dlt.common.schema.utils import bump_version_if_modified, generate_version_hash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemactl.schema.hash import bump, stored_hash, version_hash
from schemactl.schema.types import DataType, schema_from_dict

MANY = settings(suppress_health_check=list(HealthCheck))

texts = st.text(max_size=12)
names = st.text(min_size=1, max_size=12)
integers = st.integers(-(2**63), 2**64 - 1)
times = st.datetimes(timezones=st.none() | st.just(dt.UTC)) | st.dates() | st.times()
scalars = st.none() | st.booleans() | integers | st.floats() | texts | times | st.binary(max_size=8)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
types = st.sampled_from([str(data_type) for data_type in DataType])
columns = st.fixed_dictionaries(
    {},
    optional={
        "data_type": types,
        "nullable": st.booleans() | st.none(),
        "precision": st.integers(0, 99),
        "x-hint": values,
        "description": texts,
    },
)
tables = st.fixed_dictionaries(
    {"columns": st.dictionaries(names, columns, max_size=5)},
    optional={
        "description": texts,
        "resource": texts,
        "x-normalizer": st.dictionaries(texts, values, max_size=2),
    },
)
hashes = st.sampled_from(["", "stale", "older"])
schemas = st.fixed_dictionaries(
    {
        "version": st.integers(1, 100),
        "version_hash": hashes,
        "engine_version": st.just(11),
        "name": names,
        "tables": st.dictionaries(names, tables, max_size=4),
        "settings": st.dictionaries(texts, values, max_size=3),
        "normalizers": st.dictionaries(texts, values, max_size=3),
        "previous_hashes": st.lists(st.sampled_from(["stale", *"abcdefghijkl"]), unique=True, max_size=10),
    },
    optional={"description": st.text(min_size=1), "imported_version_hash": texts, "x-top": values},
)


def with_names(stored):
    """What dlt does when it loads a file."""
    stored = deepcopy(stored)
    for table_name, table in stored["tables"].items():
        table["name"] = table_name
        for column_name, column in table["columns"].items():
            column["name"] = column_name
    return stored


@MANY
@given(schemas)
def test_any_schema(stored):
    named = with_names(stored)
    assert version_hash(schema_from_dict(named)) == generate_version_hash(named)
    assert stored_hash(stored) == generate_version_hash(stored)


@MANY
@given(st.lists(values, max_size=20))
def test_any_value_in_a_hint(hints):
    stored = {"version": 1, "engine_version": 11, "name": "t", "tables": {}, "x-hints": hints}
    assert stored_hash(stored) == generate_version_hash(stored)


@MANY
@given(st.dictionaries(names, st.lists(names, unique=True, max_size=6), max_size=6))
def test_order_of_columns(order):
    tables = {name: {"columns": {column: {} for column in columns}} for name, columns in order.items()}
    stored = {"version": 1, "engine_version": 11, "name": "t", "tables": tables}
    assert stored_hash(stored) == generate_version_hash(stored)


def test_small_numbers_that_json_of_python_writes_another_way():
    numbers = [sign * digit * 10.0**power for sign in (1, -1) for digit in (1, 1.5, 9.99) for power in range(-300, 300)]
    for number in numbers:
        stored = {"version": 1, "engine_version": 11, "name": "t", "tables": {}, "x": number}
        assert stored_hash(stored) == generate_version_hash(stored), number


@MANY
@given(schemas)
def test_bump(stored):
    named = with_names(stored)
    bumped = bump(schema_from_dict(named))
    bump_version_if_modified(named)
    assert bumped.version == named["version"]
    assert bumped.version_hash == named["version_hash"]
    assert list(bumped.previous_hashes) == named["previous_hashes"]


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800"])
def test_what_dlt_cannot_hash_is_reported(value):
    from schemactl.errors import InputError

    stored = {"version": 1, "engine_version": 11, "name": "t", "tables": {}, "x": value}
    with pytest.raises(TypeError):
        generate_version_hash(stored)
    with pytest.raises(InputError, match="cannot be hashed"):
        stored_hash(stored)
