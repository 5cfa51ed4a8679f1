"""Old files are brought to the current engine version exactly as dlt brings them."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.migrations import migrate_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outside_data import OutsideData

from schemactl.errors import InputError
from schemactl.schema.hash import bump, stored_hash
from schemactl.schema.types import ENGINE_VERSION, schema_from_dict
from schemactl.schema.upgrade import upgrade

MANY = settings(suppress_health_check=list(HealthCheck))


def by_dlt(stored):
    stored = deepcopy(stored)
    return migrate_schema(stored, stored["engine_version"], ENGINE_VERSION)


def assert_same(stored):
    ours, theirs = upgrade(stored), by_dlt(stored)
    assert ours == theirs
    # equal dicts may differ in order: that of columns and of lists counts
    assert stored_hash(ours) == stored_hash(theirs)
    assert list(ours.get("tables", ())) == list(theirs.get("tables", ()))


def read(path: Path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def test_every_file_as_dlt(conformance: OutsideData):
    paths = sorted(conformance("dlt/schemas").iterdir())
    assert len(paths) >= 10
    for path in paths:
        assert_same(read(path))


def test_every_file_gets_the_version_and_hash_that_dlt_gives_it(conformance: OutsideData):
    for path in sorted(conformance("dlt/schemas").iterdir()):
        theirs = DltSchema.from_dict(read(path))
        stored = upgrade(read(path))
        for name, table in stored["tables"].items():  # the defaults that dlt's reader restores
            if not table.get("parent"):
                table["write_disposition"] = table.get("write_disposition") or "append"
                table["resource"] = table.get("resource") or name
        ours = bump(schema_from_dict(stored))
        assert (ours.version, ours.version_hash) == (theirs.version, theirs.version_hash), path.name
        assert list(ours.previous_hashes) == theirs.previous_hashes


names = st.sampled_from(["ev", "ev__a", "ev__a__b", "__x", "a__b__c", "a", "_dlt_loads", "_dlt_version", "żó", "__"])
column_names = st.sampled_from(["_dlt_id", "_dlt_parent_id", "_DLT_ID", "_DLT_PARENT_ID", "a", "b c"])
data_types = st.sampled_from(["complex", "json", "text", None])
patterns = st.sampled_from(["^ev__a", "^ev__", "^new__x__y", "^ev", "ev__a$", "", "^__", "_id$"])
columns = st.fixed_dictionaries(
    {},
    optional={
        "data_type": data_types,
        "nullable": st.booleans(),
        "unique": st.booleans(),
        "foreign_key": st.booleans(),
        "x-normalizer": st.sampled_from(
            [{}, {"seen-null-first": True}, {"seen-null-first": False}, {"seen-null-first": True, "x": 1}]
        ),
    },
)
table_columns = st.dictionaries(column_names, columns, max_size=4)
hints = st.dictionaries(
    st.sampled_from(["not_null", "foreign_key", "unique", "row_key"]),
    st.lists(patterns, max_size=2),
    max_size=3,
)
preferred = st.dictionaries(patterns, st.sampled_from(["complex", "text"]), max_size=2)

first_engine = st.fixed_dictionaries(
    {
        "version": st.integers(1, 3),
        "engine_version": st.sampled_from([1, 2]),
        "name": st.just("event"),
        "tables": st.dictionaries(names, table_columns, max_size=6),
    },
    optional={
        "hints": hints,
        "preferred_types": preferred,
        "includes": st.lists(patterns, max_size=3),
        "excludes": st.lists(patterns, max_size=3),
        "version_hash": st.just("h"),
    },
)

tables = st.fixed_dictionaries(
    {"columns": table_columns},
    optional={
        "name": st.just("n"),
        "parent": st.just("ev"),
        "table_sealed": st.booleans(),
        "x-normalizer": st.sampled_from([{}, {"seen-data": False}, {"max_nesting": 1}]),
        "filters": st.just({"excludes": ["re:^a"]}),
    },
)
NAMINGS = ["snake_case", "direct", "duck_case", "sql_cs_v1", "dlt.common.normalizers.names.snake_case", None]
normalizers = st.fixed_dictionaries(
    {},
    optional={
        "names": st.sampled_from(NAMINGS),
        "detections": st.just(["timestamp"]),
        "json": st.sampled_from(
            [
                {},
                {"module": "relational"},
                {"module": "dlt.common.normalizers.json.relational", "config": None},
                {"config": {"generate_dlt_id": True, "max_nesting": 2}},
            ]
        ),
    },
)
later_engine = st.fixed_dictionaries(
    {
        "version": st.integers(1, 3),
        "engine_version": st.integers(3, 11),
        "name": st.just("event"),
        "tables": st.dictionaries(names, tables, max_size=5),
        "settings": st.fixed_dictionaries(
            {},
            optional={"schema_sealed": st.booleans(), "default_hints": hints, "preferred_types": preferred},
        ),
        "normalizers": normalizers,
    },
    optional={"version_hash": st.just("h"), "previous_hashes": st.just(["g"])},
)


@MANY
@given(first_engine)
def test_first_engines(stored):
    assert_same(stored)


@MANY
@given(later_engine)
def test_later_engines(stored):
    assert_same(stored)


@pytest.mark.parametrize("engine", range(6, 11))
@pytest.mark.parametrize("missing", ["settings", "normalizers", "tables"])
def test_what_dlt_refuses_is_refused(engine, missing):
    stored = {
        "version": 1,
        "engine_version": engine,
        "name": "a",
        "tables": {},
        "settings": {},
        "normalizers": {},
    }
    del stored[missing]
    try:
        by_dlt(stored)
    except KeyError:
        with pytest.raises(InputError, match=f"`{missing}` is missing"):
            upgrade(stored)
    else:
        assert_same(stored)
