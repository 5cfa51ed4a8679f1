"""What keeps dlt from taking a schema is found, named, placed and explained."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from schemactl.schema.contract import PROMOTION_HINT
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.templates import new_schema
from schemactl.schema.validation import Finding, check


def stored(**changes: Any) -> dict[str, Any]:
    return {**new_schema("shop").to_dict(), **changes}


def with_table(**properties: Any) -> dict[str, Any]:
    schema = stored()
    schema["tables"]["orders"] = {"columns": {}, **properties}
    return schema


def with_column(**properties: Any) -> dict[str, Any]:
    return with_table(columns={"id": properties})


def only(schema: dict[str, Any]) -> Finding:
    (finding,) = check(schema)
    return finding


COLUMN = ("tables", "orders", "columns", "id")


def test_a_new_schema_is_valid():
    assert check(stored()) == ()


@pytest.mark.parametrize("name", list(DETECTORS))
def test_every_detector_may_be_asked(name):
    assert check(stored(settings={"detections": [name]})) == ()


def test_everything_that_dlt_knows_is_valid():
    column = {
        "name": "id",
        "data_type": "decimal",
        "precision": 10,
        "scale": 2,
        "timezone": False,
        "nullable": None,
        "variant": True,
        "primary_key": True,
        "merge_key": False,
        "dedup_sort": "desc",
        "incremental": True,
        "x-own": {"any": [1, None, {"thing": 1.5}]},
    }
    table = with_table(
        columns={"id": column},
        schema_contract={"tables": "evolve", "columns": "freeze", "data_type": "discard_row"},
        filters={"excludes": ["re:^a$"], "includes": ["b"]},
        references=[{"columns": ["id"], "referenced_table": "b", "referenced_columns": ["id"]}],
        write_disposition="merge",
        file_format="parquet",
        table_format="iceberg",
        variant_name="v",
    )
    settings = {
        "schema_contract": "discard_value",
        "detections": ["iso_timestamp", "large_integer"],
        "default_hints": {"not_null": ["_dlt_id", "re:_at$"], "own": []},
        "preferred_types": {"re:timestamp": "timestamp"},
    }
    config = {"max_nesting": 3, "root_key_propagation": True, "propagation": {"tables": {"a": {"x": "y"}}}}
    normalizers = {"names": "direct", "json": {"module": "relational", "config": config}}
    whole = {**table, "settings": settings, "normalizers": normalizers, "description": "d", "x-team": "sales"}
    assert check(whole) == ()


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("data_type", "txt", "did you mean `text`?"),
        ("data_type", "integer", "did you mean `bigint`?"),
        ("data_type", "BIGINT", "did you mean `bigint`?"),
        ("data_type", "complex", "did you mean `json`?"),
        ("nullable", "yes", "write `true` or `false`, no quotes"),
        ("nullable", 1, "write `true` or `false`, no quotes"),
        ("precision", "3", "write `3` without quotes"),
        ("description", 5, "put it in quotes"),
        ("dedup_sort", "ascending", "did you mean `asc`?"),
        ("nulable", True, "did you mean `nullable`?"),
        ("foreign_key", True, "since engine version 10 it is `parent_key`"),
        ("type", "text", "did you mean `data_type`?"),
        ("owner", "me", "start your own keys with `x-`"),
    ],
)
def test_a_wrong_column_property_is_placed_and_explained(key: str, value: Any, hint: str):
    finding = only(with_column(**{key: value}))
    assert finding.keys == (*COLUMN, key)
    assert finding.hint == hint
    assert f"`{key}`" in finding.message


@pytest.mark.parametrize(
    ("properties", "keys"),
    [
        ({"write_disposition": "upsert"}, ("write_disposition",)),
        ({"schema_contract": "strict"}, ("schema_contract",)),
        ({"schema_contract": {"column": "freeze"}}, ("schema_contract", "column")),
        ({"schema_contract": {"columns": "frozen"}}, ("schema_contract", "columns")),
        ({"references": [{}, {"cardinality": "some"}]}, ("references", 1, "cardinality")),
        ({"references": [{"columns": "id"}]}, ("references", 0, "columns")),
        ({"filters": {"excludes": ["re:("]}}, ("filters", "excludes", 0)),
        ({"columns": None}, ("columns",)),
        ({"columns": ["id"]}, ("columns",)),
        ({"columns": {"id": None}}, ("columns", "id")),
        ({"columns": {False: {}}}, ("columns", False)),
        ({"file_format": "xml"}, ("file_format",)),
        ({"parent": "nobody"}, ("parent",)),
    ],
)
def test_a_wrong_table_property_is_placed(properties: dict[str, Any], keys: tuple[Any, ...]):
    assert only(with_table(**properties)).keys == ("tables", "orders", *keys)


@pytest.mark.parametrize("circle", [("orders",), ("orders", "items"), ("orders", "items", "parts")])
def test_a_table_that_is_nested_in_itself_is_reported_once(circle: tuple[str, ...]):
    schema = with_table(parent=circle[-1])
    for parent, name in pairwise(circle):
        schema["tables"][name] = {"columns": {}, "parent": parent}
    schema["tables"]["below"] = {"columns": {}, "parent": circle[-1]}
    finding = only(schema)
    assert finding.keys[0] == "tables"
    assert finding.keys[1] in circle
    assert "is nested in itself" in finding.message


@pytest.mark.parametrize("key", ["version", "engine_version", "name", "tables", "previous_hashes"])
def test_a_key_that_dlt_needs_is_missed(key: str):
    schema = stored()
    del schema[key]
    finding = only(schema)
    assert f"`{key}` is missing" in finding.message
    assert finding.hint


@pytest.mark.parametrize(
    ("section", "value", "keys"),
    [
        ("settings", {"detection": []}, ("settings", "detection")),
        ("settings", {"partition": ["block_timestamp"]}, ("settings", "partition")),
        ("settings", {"detections": ["uuid"]}, ("settings", "detections", 0)),
        ("settings", {"default_hints": {"not_null": ["^a"]}}, ("settings", "default_hints", "not_null", 0)),
        ("settings", {"preferred_types": {"re:[": "text"}}, ("settings", "preferred_types", "re:[")),
        ("settings", {"preferred_types": {"a": "string"}}, ("settings", "preferred_types", "a")),
        ("normalizers", None, ("normalizers",)),
        ("normalizers", {"json": {"config": {"max_nest": 1}}}, ("normalizers", "json", "config", "max_nest")),
        ("name", "bad-name", ("name",)),
        ("version", True, ("version",)),
        ("previous_hashes", None, ("previous_hashes",)),
    ],
)
def test_a_wrong_section_is_placed(section: str, value: Any, keys: tuple[Any, ...]):
    assert only(stored(**{section: value})).keys == keys


def test_a_hint_beside_default_hints_is_sent_below_them():
    assert only(stored(settings={"partition": ["a"]})).hint == "write hints of columns below `default_hints`"


def test_the_config_of_a_foreign_normalizer_is_its_own():
    assert check(stored(normalizers={"json": {"module": "my.normalizer", "config": {"any": 1}}})) == ()


def test_dlts_own_tables_must_be_there():
    schema = stored()
    del schema["tables"]["_dlt_loads"]
    assert "`_dlt_loads` is missing" in only(schema).message


def test_a_naming_convention_may_write_dlts_tables_in_capitals():
    schema = stored()
    schema["tables"] = {name.upper(): table for name, table in schema["tables"].items()}
    assert check(schema) == ()


def test_what_the_hash_cannot_hold_is_found():
    assert only(with_column(**{"x-n": 2**64})).keys == (*COLUMN, "x-n")
    assert only(with_column(description="\ud800")).keys == (*COLUMN, "description")
    assert check(with_column(**{"x-n": 2**64 - 1})) == ()


def test_all_findings_are_reported_at_once():
    schema = with_column(data_type="txt", nullable="no")
    schema["settings"] = {"detections": "all"}
    assert len(check(schema)) == 3


def test_a_message_stays_short_and_printable():
    finding = only(with_column(data_type="x\x1b[31m" * 1000))
    assert len(finding.message) < 200
    assert finding.message.isprintable()


@pytest.mark.parametrize(("schema", "keys", "hint"), [
    (with_table(schema_contract="promote"), ("schema_contract",),
     "write `x-schemactl-contract: {data_type: promote}` next to `schema_contract`"),
    (with_table(schema_contract={"data_type": "promote_text", "columns": "freeze"}), ("schema_contract", "data_type"),
     "write `x-schemactl-contract: {data_type: promote_text}` next to `schema_contract`"),
    (with_table(**{PROMOTION_HINT: "promot"}), (PROMOTION_HINT,), "did you mean `promote`?"),
    (with_table(**{PROMOTION_HINT: {"columns": "promote"}}), (PROMOTION_HINT, "columns"),
     "only data types are promoted: use `schema_contract`"),
    (with_column(**{PROMOTION_HINT: {"data_type": "freeze"}}), (PROMOTION_HINT, "data_type"), "one of "),
    (stored(**{PROMOTION_HINT: "promote"}), (PROMOTION_HINT,), "put it into `settings`"),
    (stored(settings={PROMOTION_HINT: 5}), ("settings", PROMOTION_HINT), "one of "),
])  # fmt: skip
def test_a_promotion_in_a_wrong_place_or_form_is_explained(
    schema: dict[str, Any], keys: tuple[str, ...], hint: str
) -> None:
    finding = only(schema)

    assert finding.keys[-len(keys) :] == keys
    assert finding.hint is not None
    assert hint in finding.hint


@pytest.mark.parametrize("mode", [None, "promote", "evolve", {"data_type": "promote_text"}, {"data_type": None}, {}])
def test_columns_tables_and_settings_can_promote(mode: Any) -> None:
    hint = {PROMOTION_HINT: mode}

    assert [check(schema) for schema in (with_column(**hint), with_table(**hint), stored(settings=hint))] == [()] * 3
