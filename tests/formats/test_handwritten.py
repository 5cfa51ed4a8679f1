"""Schema files written by hand, which state no more than their author cares about."""

from __future__ import annotations

import json

import pytest
from dlt.common.schema import Schema as DltSchema
from ruamel.yaml import YAML

from schemactl.errors import InputError
from schemactl.formats.dlt import read, write
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema

PREFERRED = 'settings:\n  preferred_types:\n    "re:.*id.*": text # ids are no numbers\n'


def test_settings_alone_are_a_schema():
    schema = read(PREFERRED, "schemas/import/shop.schema.yaml").schema
    new = new_schema("shop")
    assert schema.name == "shop"
    assert schema.settings == {**new.settings, "preferred_types": {"re:.*id.*": "text"}}
    assert (schema.tables, schema.normalizers) == (new.tables, new.normalizers)


@pytest.mark.parametrize("path", ["shop.yaml", "main:schemas/shop.schema.yml", "shop.schema.json"])
def test_the_file_s_name_is_the_schema_s(path):
    assert read("{}", path).schema.name == "shop"
    with pytest.raises(InputError, match="`name` is missing"):
        read("tables: {}\n", "my-shop.yaml")


def test_hints_of_a_table_need_nothing_else():
    text = "name: shop\ntables:\n  orders:\n    columns:\n      id: {primary_key: true}\n      note:\n  items:\n"
    schema = read(text, "x.yaml").schema
    assert schema.tables["orders"].columns["id"].properties == {"primary_key": True}
    assert schema.tables["orders"].columns["note"].properties == {}
    assert schema.tables["items"].properties == {"write_disposition": "append", "resource": "items"}


def test_default_hints_add_to_those_of_dlt_s_own_columns():
    hints = read("settings: {default_hints: {not_null: [id], primary_key: [id]}}", "shop.yaml").schema.settings
    own = new_schema("shop").settings["default_hints"]
    assert hints["default_hints"] == {**own, "not_null": [*own["not_null"], "id"], "primary_key": ["id"]}


def test_dlt_s_tables_follow_the_naming_convention():
    schema = read("normalizers: {names: sql_ci_v1}", "shop.yaml").schema
    assert schema.normalizers["json"] == new_schema("shop").normalizers["json"]
    assert [*schema.tables] == [*new_schema("shop", "sql_ci_v1").tables]


def test_keys_that_dlt_asks_for_may_be_left_out_of_any_file():
    stored = bump(new_schema("shop")).to_dict()
    for missing in ("version", "previous_hashes"):
        text = json.dumps({key: value for key, value in stored.items() if key != missing})
        assert version_hash(read(text, "x.json").schema) == stored["version_hash"]


def test_what_is_wrong_is_reported_with_its_place():
    with pytest.raises(InputError) as reported:
        read("openapi: 3.1.0\nsettings: {prefered_types: {}}\n", "shop.yaml")
    assert [(each.at.line, each.at.column) for each in reported.value.problems] == [(1, 1), (2, 12)]


def test_to_write_one_out_keeps_its_comments_and_gives_dlt_what_it_asks_for():
    document = read(f"# ours\n{PREFERRED}", "shop.schema.yaml")
    text = write(bump(document.schema), "shop.schema.yaml", document.layout)
    assert text.startswith("# ours\n")
    assert "# ids are no numbers" in text
    loaded = DltSchema.from_dict(YAML(typ="safe").load(text))
    assert loaded.version_hash == version_hash(document.schema)
    assert read(text, "shop.schema.yaml").schema == bump(document.schema)
