from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.schema.settings import NormalizerConfig, Settings
from schemactl.schema.types import DataType


@pytest.mark.parametrize("section", [{"default_hints": {"unique": ["re:["]}}, {"preferred_types": {"re:[": "text"}}])
def test_a_broken_regular_expression_is_reported(section):
    with pytest.raises(InputError, match=r"`re:\[` is not a regular expression"):
        Settings.of(section)


def test_hints_come_in_the_order_of_the_settings_after_nullable():
    settings = Settings.of({"default_hints": {"unique": ["re:id"], "not_null": ["id"], "row_key": ["id"]}})
    assert list(settings.column_hints("id").items()) == [
        ("nullable", False),
        ("unique", True),
        ("row_key", True),
    ]
    assert settings.column_hints("my_id") == {"nullable": True, "unique": True}
    assert settings.column_hints("other") == {"nullable": True}


def test_a_nullable_hint_makes_all_others_not_nullable():
    settings = Settings.of({"default_hints": {"nullable": ["a"]}})
    assert settings.column_hints("a") == {"nullable": True}
    assert settings.column_hints("b") == {"nullable": False}


def test_the_first_preferred_type_that_matches_decides():
    settings = Settings.of({"preferred_types": {"re:^a": "timestamp", "ab": "text"}})
    assert settings.preferred_type("ab") is DataType.TIMESTAMP
    assert settings.preferred_type("b") is None


def test_an_empty_section():
    settings = Settings.of({"default_hints": None, "detections": None})
    assert settings.detections == ()
    assert settings.schema_contract is None
    assert settings.column_hints("_dlt_id") == {"nullable": True}


def test_the_config_of_the_normalizer():
    config = {
        "max_nesting": 0,
        "root_key_propagation": True,
        "propagation": {"root": {"id": "root_id"}, "tables": {"t": {"a": "b"}}},
    }
    json = {"module": "relational", "config": config}
    stored = {"names": "direct", "json": json, "use_break_path_on_normalize": False}
    assert NormalizerConfig.of(stored) == NormalizerConfig(
        naming="direct",
        module="relational",
        max_nesting=0,
        root_key_propagation=True,
        propagation_root={"id": "root_id"},
        propagation_tables={"t": {"a": "b"}},
        use_break_path_on_normalize=False,
    )


def test_what_the_normalizer_does_by_default():
    for stored in ({}, {"json": {}}, {"json": {"config": None}}, {"json": {"config": {"propagation": None}}}):
        config = NormalizerConfig.of(stored)
        assert config == NormalizerConfig()
        assert (config.naming, config.max_nesting) == ("snake_case", 1000)
        assert config.use_break_path_on_normalize
