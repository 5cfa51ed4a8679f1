from __future__ import annotations

from contextlib import suppress
from copy import deepcopy

import pytest

from schemactl.errors import InputError
from schemactl.schema.types import ENGINE_VERSION
from schemactl.schema.upgrade import upgrade


def current(**others):
    return {"version": 1, "engine_version": ENGINE_VERSION, "name": "a", "tables": {}, **others}


def old(engine, columns=(), **others):
    table = {"name": "t", "columns": dict(columns)}
    sections = {"settings": {}, "normalizers": {"names": "snake_case"}}
    return {"version": 1, "engine_version": engine, "name": "a", "tables": {"t": table}, **sections, **others}


def test_a_current_schema_stays_as_it_is():
    stored = current(previous_hashes=["h"])
    assert upgrade(stored) == stored


def test_the_argument_stays_as_it_is():
    stored = old(6, {"c": {"data_type": "complex", "foreign_key": True}})
    kept = deepcopy(stored)
    assert upgrade(stored)["tables"]["t"]["columns"]["c"] == {"data_type": "json"}
    assert stored == kept


def test_a_file_of_the_second_engine():
    stored = {
        "version": 26,
        "engine_version": 2,
        "name": "event",
        "tables": {"ev": {"id": {}}, "ev__a__b": {"v": {"data_type": "complex"}}, "other": {}},
        "hints": {"not_null": ["^id$"], "foreign_key": ["^_dlt_parent_id$"]},
        "preferred_types": {"_ts$": "timestamp"},
        "excludes": ["^ev__secret", "^gone__x"],
    }
    upgraded = upgrade(stored)
    tables = upgraded["tables"]
    assert tables["ev__a__b"]["parent"] == "ev"
    assert tables["ev__a__b"]["columns"]["v"]["data_type"] == "json"
    assert (tables["other"]["write_disposition"], tables["other"]["resource"]) == ("append", "other")
    assert tables["ev"]["filters"] == {"excludes": ["re:^secret"]}
    assert tables["gone"]["columns"] == {}
    assert upgraded["settings"]["preferred_types"] == {"re:_ts$": "timestamp"}
    assert upgraded["settings"]["default_hints"] == {
        "not_null": ["re:^id$"],
        "row_key": ["_dlt_id"],
        "parent_key": ["_dlt_parent_id"],
    }
    assert upgraded["normalizers"]["use_break_path_on_normalize"] is False
    assert (upgraded["engine_version"], upgraded["version"], upgraded["version_hash"]) == (
        ENGINE_VERSION,
        26,
        "",
    )


def test_notes_on_columns_that_only_saw_null_go():
    note = {"x-normalizer": {"seen-null-first": True}}
    columns = {"untyped": note, "typed": {"data_type": "text", **note}, "hinted": {"nullable": False}}
    stored = current(tables={"t": {"columns": columns}})
    assert upgrade(stored)["tables"]["t"]["columns"] == {
        "typed": {"data_type": "text"},
        "hinted": {"nullable": False},
    }


@pytest.mark.parametrize("engine", [ENGINE_VERSION + 1, 999])
def test_a_newer_schema_is_refused_with_a_way_out(engine):
    with pytest.raises(InputError, match=f"engine version {engine}") as raised:
        upgrade(current(engine_version=engine), "export/a.schema.yaml")
    assert "update schemactl" in raised.value.hint
    assert raised.value.at.path == "export/a.schema.yaml"


@pytest.mark.parametrize("engine", [None, 0, -1, "11", 3.0, True])
def test_an_engine_version_that_is_none(engine):
    with pytest.raises(InputError, match="engine_version"):
        upgrade(current(engine_version=engine))


@pytest.mark.parametrize("engine", range(1, ENGINE_VERSION))
@pytest.mark.parametrize(
    "junk", [None, [], "text", 1, {"t": None}, {"t": {"columns": None}}, {"t": {"columns": {"c": 1}}}]
)
def test_junk_is_never_a_traceback(engine, junk):
    for key in ("tables", "settings", "normalizers", "hints", "excludes", "preferred_types"):
        with suppress(InputError):
            upgrade({**old(engine), key: deepcopy(junk)}, "a.yaml")


@pytest.mark.parametrize(
    "tables", [None, [], "text", {"t": None}, {"t": {"columns": []}}, {"t": {"columns": {"c": 1}}}]
)
def test_junk_in_a_current_schema_is_left_to_validation(tables):
    assert upgrade(current(tables=tables))["tables"] == tables


def test_what_is_missing_is_named_with_its_file():
    stored = old(6)
    del stored["settings"]
    with pytest.raises(InputError, match="`settings` is missing in a schema of engine version 6") as raised:
        upgrade(stored, "a.yaml")
    assert str(raised.value.at) == "a.yaml"
