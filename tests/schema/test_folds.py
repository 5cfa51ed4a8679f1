"""``x-folded-from`` says which variants a column holds, and makes their removal a fold."""

from __future__ import annotations

from dataclasses import replace

from schemactl.schema.apply import apply
from schemactl.schema.changes import ColumnPropertyChanged, ColumnRemoved, ColumnRetyped, VariantFolded
from schemactl.schema.diff import diff
from schemactl.schema.folds import FOLDED_FROM, folded_variants, folds_of, with_folded
from schemactl.schema.import_merge import merge_import
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

VARIANT = Column("score__v_double", {"data_type": "double", "nullable": True, "variant": True})
SCORE = Column("score", {"data_type": "bigint", "nullable": True})
FOLDED = Column("score", {"data_type": "double", "nullable": True, FOLDED_FROM: "score__v_double"})


def schema(*columns: Column) -> Schema:
    seen = {"x-normalizer": {"seen-data": True}, "write_disposition": "append"}
    return replace(new_schema("shop"), tables={"orders": Table("orders", {each.name: each for each in columns}, seen)})


def test_names_are_a_text_or_a_list() -> None:
    assert folded_variants({}) == ()
    assert with_folded({}, ["a"]) == {FOLDED_FROM: "a"}
    assert with_folded({FOLDED_FROM: "a"}, ["b", "a"]) == {FOLDED_FROM: ["a", "b"]}
    assert folded_variants({FOLDED_FROM: ["a", 1, "b"]}) == ("a", "b")
    assert folds_of([Column("a", {FOLDED_FROM: ["a", "b"]})]) == {"b": "a"}


def test_a_fold_comes_after_the_new_type_and_can_be_applied() -> None:
    before, after = schema(SCORE, VARIANT), schema(FOLDED)
    changes = diff(before, after)
    assert [type(change) for change in changes] == [ColumnRetyped, ColumnPropertyChanged, VariantFolded]
    assert changes[-1] == VariantFolded("orders", VARIANT, "score")
    assert apply(before, changes) == after


def test_a_variant_that_no_column_takes_back_is_removed() -> None:
    changes = diff(schema(SCORE, VARIANT), schema(SCORE))
    assert changes == (ColumnRemoved("orders", VARIANT),)


def test_an_edited_import_file_drops_the_variant_that_data_brought() -> None:
    merged = merge_import(schema(FOLDED), schema(SCORE, VARIANT), schema(), {}).schema
    assert list(merged.tables["orders"].columns) == ["score"]


def test_a_variant_that_data_brings_again_stays_until_the_column_gets_another_type() -> None:
    exported = schema(FOLDED, VARIANT)
    assert list(merge_import(schema(FOLDED), exported, schema(FOLDED), {}).schema.tables["orders"].columns) == [
        "score",
        "score__v_double",
    ]
    wider = replace(FOLDED, properties={**FOLDED.properties, "data_type": "text"})
    merged = merge_import(schema(wider), exported, schema(FOLDED), {}).schema
    assert list(merged.tables["orders"].columns) == ["score"]
