"""What a schema loses on its way through a format, by the innermost key that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemactl.errors import InputError
from schemactl.formats import FORMATS, find_losses
from schemactl.formats._losses import describe_loss, losses_between
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table


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


def direct(*names: str) -> Schema:
    columns = {name: Column(name, {"data_type": "bigint"}) for name in names}
    return new_schema("shop", "direct").with_table(Table("t", columns, {"resource": "t"}))


@pytest.mark.parametrize("name", ["spark", "sparkddl", "bigquery", "arc"])
def test_names_that_a_file_keeps_are_not_lost_where_it_does_not_say_their_convention(name: str):
    schema = direct("%", "İ", "größe")
    text = FORMATS[name].write(schema)
    assert isinstance(text, str)
    assert all(column in text for column in schema.tables["t"].columns)
    lost = find_losses(FORMATS[name], schema, text, "t")
    assert [loss.what for loss in lost] == ["normalizers.names"]


@pytest.mark.parametrize("name", ["spark", "sparkddl", "bigquery", "delta"])
def test_names_that_differ_in_case_alone_are_refused_where_names_have_no_case(name: str):
    with pytest.raises(InputError, match="columns `UPPER` and `upper` of `t` are one in"):
        FORMATS[name].write(direct("UPPER", "upper"))
    nested = Column("c", {"data_type": "json", "x-spark-type": "array<struct<a: int, A: int>>"})
    with pytest.raises(InputError, match=r"columns `a` and `A` of `t\.c` are one in"):
        FORMATS[name].write(new_schema("shop").with_table(Table("t", {"c": nested})))
