"""Variants are found by their names, and fold into the narrowest type that holds their values and their column's."""

from __future__ import annotations

from typing import Any

import pytest
from schema_parts import column

from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.schema.variants import find_variants, folded_type, home_of

NAMING = naming_of(new_schema("shop"))


def variant(name: str, kind: str) -> Column:
    return column(name, kind, variant=True)


def table(*columns: Column) -> Table:
    return Table("orders", {each.name: each for each in columns})


def test_a_variant_of_a_variant_comes_home_to_the_first_column() -> None:
    orders = table(column("a", "bigint"), variant("a__v_double", "double"), variant("a__v_double__v_text", "text"))
    assert [home_of(each, orders, NAMING) for each in orders.columns.values()] == [
        None,
        orders.columns["a"],
        orders.columns["a"],
    ]


def test_a_name_that_only_looks_like_a_variant_has_no_home() -> None:
    orders = table(column("a", "bigint"), variant("b__v_double", "double"), variant("a__v_number", "double"))
    assert home_of(orders.columns["b__v_double"], orders, NAMING) is None
    assert home_of(orders.columns["a__v_number"], orders, NAMING) is None


@pytest.mark.parametrize(
    ("kind", "variants", "folded"),
    [
        ({"data_type": "bigint"}, ["double"], {"data_type": "double"}),
        ({"data_type": "bigint"}, ["decimal"], {"data_type": "decimal"}),
        ({"data_type": "date"}, ["timestamp"], {"data_type": "timestamp"}),
        ({"data_type": "bigint", "precision": 8}, ["bigint"], {"data_type": "bigint"}),
        ({"data_type": "double"}, ["decimal"], None),
        ({"data_type": "bigint"}, ["bool"], None),
        ({"data_type": "bigint"}, ["double", "text"], None),
        ({"data_type": "text"}, ["json"], None),
    ],
)
def test_the_folded_type_holds_all_values(kind: dict[str, Any], variants: list[str], folded: Any) -> None:
    assert folded_type(Column("a", kind), [Column(f"a__v_{name}", {"data_type": name}) for name in variants]) == folded


def test_a_text_holds_other_scalars_only_if_it_may() -> None:
    numbers = column("a", "bigint")
    assert folded_type(numbers, [column("a__v_bool", "bool")], allow_text=True) == {"data_type": "text"}
    assert folded_type(numbers, [column("a__v_json", "json")], allow_text=True) is None


def test_variants_that_no_type_holds_do_not_keep_others_from_folding() -> None:
    orders = table(
        column("a", "bigint"),
        variant("a__v_text", "text"),
        variant("a__v_double", "double"),
        column("b", "text"),
        Column("c__v_text", {"variant": True}),
    )
    (group,) = find_variants(orders, NAMING)
    assert (group.column.name, [each.name for each in group.foldable]) == ("a", ["a__v_double"])
    assert ([each.name for each in group.unfoldable], group.type) == (["a__v_text"], {"data_type": "double"})


def test_a_variant_stays_as_long_as_its_own_variant_needs_its_name() -> None:
    orders = table(column("a", "bigint"), variant("a__v_double", "double"), variant("a__v_double__v_text", "text"))
    (group,) = find_variants(orders, NAMING)
    assert group.foldable == ()
    assert [each.name for each in group.unfoldable] == ["a__v_double", "a__v_double__v_text"]
    assert group.type == {"data_type": "bigint"}
