"""What a schema loses on its way through a format, by the innermost key that differs."""

from __future__ import annotations

import io
from dataclasses import replace

import pyarrow.parquet
import pytest

from schemactl.errors import InputError
from schemactl.formats import FORMATS, find_losses, parquet
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
    assert [loss.item for loss in losses_between(before, after)] == ["unique"]


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
    assert [loss.item for loss in lost] == ["normalizers.names"]


@pytest.mark.parametrize("name", ["spark", "sparkddl", "bigquery", "delta"])
def test_names_that_differ_in_case_alone_are_refused_where_names_have_no_case(name: str):
    with pytest.raises(InputError, match="columns `UPPER` and `upper` of `t` are the same column in"):
        FORMATS[name].write(direct("UPPER", "upper"))
    nested = Column("c", {"data_type": "json", "x-spark-type": "array<struct<a: int, A: int>>"})
    with pytest.raises(InputError, match=r"columns `a` and `A` of `t\.c` are the same column in"):
        FORMATS[name].write(new_schema("shop").with_table(Table("t", {"c": nested})))


def decimal(precision: int, scale: int) -> Schema:
    of = Column("d", {"data_type": "decimal", "precision": precision, "scale": scale, "nullable": True})
    nested = Column("c", {"data_type": "json", "x-spark-type": f"array<struct<d: decimal({precision},{scale})>>"})
    return new_schema("shop").with_table(Table("t", {"d": of, "c": nested}, {"resource": "t"}))


@pytest.mark.parametrize("name", ["spark", "sparkddl", "delta", "iceberg"])
def test_decimals_of_more_digits_than_a_format_has_are_texts_there(name: str):
    schema = decimal(50, 40)
    text = FORMATS[name].write(schema)
    assert isinstance(text, str)
    lost = find_losses(FORMATS[name], schema, text, "t")
    if name == "sparkddl":
        assert text == "d STRING,\nc ARRAY<STRUCT<d: STRING>>\n"
        assert [loss.item for loss in lost] == ["type", "type"]
    else:  # hints say what it is
        assert "decimal(" not in text.partition("x-dlt")[0]
        assert lost == ()


@pytest.mark.parametrize("name", ["spark", "sparkddl", "delta", "iceberg", "parquet"])
def test_decimals_with_more_digits_after_the_point_than_digits_are_refused(name: str):
    for schema in (decimal(5, 9), decimal(5, 9).with_table(Table("t", {"c": decimal(5, 9).tables["t"].columns["c"]}))):
        with pytest.raises(InputError, match=r"no decimal\(5,9\) \(`d`\): the scale is larger than the precision"):
            FORMATS[name].write(schema)


@pytest.mark.parametrize(("size", "there"), [((80, 2), (76, 0)), ((80, 78), (76, 74)), ((76, 40), (76, 40))])
def test_decimals_of_more_digits_than_arrow_has_keep_those_before_the_point(
    size: tuple[int, int], there: tuple[int, int]
):
    schema = decimal(*size)
    schema = schema.with_table(Table("t", {"d": schema.tables["t"].columns["d"]}, {"resource": "t"}))
    content = parquet.write(schema)
    of = pyarrow.parquet.read_schema(io.BytesIO(content)).field("d").type
    assert (of.precision, of.scale) == there
    assert find_losses(FORMATS["parquet"], schema, content, "t.parquet") == ()
