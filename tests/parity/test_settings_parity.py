"""Default hints and preferred types match the columns that dlt matches, templates are dlt's."""

from __future__ import annotations

import json

import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.normalize.items_normalizers.jsonl import JsonLItemsNormalizer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemactl.formats.dlt import read
from schemactl.schema.hash import bump
from schemactl.schema.naming import CONVENTIONS
from schemactl.schema.settings import NormalizerConfig, Settings
from schemactl.schema.templates import new_schema

MANY = settings(suppress_health_check=list(HealthCheck))

patterns = st.sampled_from(
    [
        "id",
        "a.b",
        "a b",
        "re:^a",
        "re:b$",
        "re:",
        "re:(?i)ID",
        "re:a|b",
        "ż",
        "re:[0-9]+",
        "re:^.b$",
        "",
        "a\n",
        "a$",
    ]
)
column_names = st.sampled_from(["id", "ID", "a.b", "aXb", "a b", "ab", "b", "ż", "a1", "", "a\n", "a$", "_dlt_id"])
HINTS = ("not_null", "nullable", "timezone", "unique", "primary_key", "precision", "scale", "sort", "variant")
# the first has no default values at all, dlt knows nothing of the second
hint_names = st.sampled_from((*HINTS, "x-active-record-timestamp", "x-hint"))
all_hints = st.dictionaries(hint_names, st.lists(patterns, max_size=3), max_size=6)
preferred = st.dictionaries(patterns, st.sampled_from(["text", "json", "wei", "timestamp"]), max_size=4)


class DltInference:
    """dlt's own inference of one column, without its files around."""

    def __init__(self, hints, preferred_types):
        self.schema = DltSchema("inference")
        self.schema._settings = {"default_hints": hints, "preferred_types": preferred_types}
        self.schema._compiled_hints = {}
        self.schema._compile_settings()

    def column(self, name):
        return JsonLItemsNormalizer._infer_column(self, name, "value", data_type="text")


@MANY
@given(all_hints, preferred, column_names)
def test_a_new_column(hints, preferred_types, name):
    ours = Settings.of({"default_hints": hints, "preferred_types": preferred_types})
    dlt = DltInference(hints, preferred_types)
    theirs = dlt.column(name)
    stated = list(theirs.items())[2:]
    assert theirs["data_type"] == "text"
    assert list(ours.column_hints(name).items()) == stated
    assert ours.preferred_type(name) == dlt.schema.get_preferred_type(name)


@pytest.mark.parametrize("naming", [name for name in CONVENTIONS if name not in ("s3_tables", "hash_names")])
def test_a_new_schema(naming):
    theirs = DltSchema("demo", normalizers={"names": naming})
    ours = bump(new_schema("demo", naming))
    assert ours.to_dict() == theirs.to_dict()
    assert (ours.version, ours.version_hash) == (theirs.version, theirs.version_hash)
    for name, table in theirs.tables.items():
        assert list(ours.tables[name].columns) == list(table["columns"])


def test_a_new_schema_by_default():
    assert bump(new_schema("tiny")).version_hash == DltSchema("tiny").version_hash


@pytest.mark.parametrize("name", ["a", "Żółw", "_", "a" * 64, "a" * 65, "", "1a", "bad-name", "a b", "class"])
def test_names_of_schemas(name):
    from dlt.common.schema.utils import is_valid_schema_name

    from schemactl.errors import InputError

    if is_valid_schema_name(name):
        assert new_schema(name).name == name
    else:
        with pytest.raises(InputError, match="cannot name a schema"):
            new_schema(name)


@pytest.mark.parametrize(
    "normalizers",
    [
        {},
        {"names": "direct"},
        {"json": {"module": "dlt.common.normalizers.json.relational", "config": {"max_nesting": 0}}},
        {"json": {"module": "relational", "config": {"max_nesting": 3}}},
    ],
)
def test_the_config_of_the_normalizer(normalizers):
    ours = NormalizerConfig.of(normalizers)
    theirs = DltSchema("demo", normalizers={"names": "snake_case", **normalizers})
    assert ours.max_nesting == theirs.data_item_normalizer.max_nesting
    assert ours.naming == (normalizers.get("names") or "snake_case")


@pytest.mark.parametrize("stated", [{}, {"use_break_path_on_normalize": True}, {"use_break_path_on_normalize": False}])
def test_underscores_in_source_keys(stated):
    from dlt.common.normalizers.json.helpers import normalize_identifier

    theirs = DltSchema("demo", normalizers={"names": "snake_case", **stated})
    keeps = normalize_identifier(theirs, theirs.naming, "a__b") == "a__b"
    assert NormalizerConfig.of(stated).use_break_path_on_normalize == keeps


def test_a_pattern_of_paths_is_for_dlt_the_name_of_no_column():
    stated = new_schema("shop").to_dict()
    stated["settings"] = {
        "default_hints": {"unique": ["path:$.orders[*].id"]},
        "preferred_types": {"path:$.orders[*].id": "text"},
    }
    stated["tables"]["shop"] = {
        "columns": {},
        "write_disposition": "append",
        "resource": "shop",
        "filters": {"excludes": ["path:$.secret"]},
    }
    ours, theirs = bump(read(json.dumps(stated), "shop.schema.json").schema), DltSchema.from_dict(stated)
    assert theirs.version_hash == ours.version_hash
    assert DltSchema.from_dict(theirs.to_dict()).settings == ours.settings
    column = DltInference(ours.settings["default_hints"], ours.settings["preferred_types"]).column("id")
    assert (column["data_type"], column.get("unique")) == ("text", None)
