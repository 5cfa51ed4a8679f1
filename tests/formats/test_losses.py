"""What a schema loses on its way through a format, by the innermost key that differs."""

from __future__ import annotations

from dataclasses import replace

from schemactl.formats._losses import describe_loss, losses_between
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


def test_of_nested_settings_the_part_that_differs_is_named():
    before, after = (
        replace(new_schema("shop"), normalizers={"names": "snake_case", "json": {"module": "m", **config}})
        for config in ({"config": {"propagation": {"root": {"id": "root_id"}}, "max_nesting": 2}}, {"config": {}})
    )
    assert list(map(describe_loss, losses_between(before, after))) == [
        '`normalizers.json.config.propagation: {"root": {"id": "root_id"}}`',
        "`normalizers.json.config.max_nesting: 2`",
    ]


def test_a_hint_that_comes_besides_is_no_loss():
    before, after = (
        new_schema("shop").with_table(Table("t", {"id": Column("id", {"data_type": "bigint", **more})}))
        for more in ({}, {"x-typing": {"type": "long"}, "unique": True})
    )
    assert [loss.what for loss in losses_between(before, after)] == ["unique"]
