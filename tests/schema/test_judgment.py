"""What a contract lets through of a change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract_samples import VARIANT, L, T, column, schema, table

from schemactl.errors import InputError
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.judgment import Violation, judge, judge_edit
from schemactl.schema.types import Column, Table


@pytest.mark.parametrize("mode", ["freeze", "discard_row", "discard_value"])
def test_a_new_column_is_refused(mode):
    before = schema(T)
    after = schema(table("t", column("a", "bigint"), column("b", "double")))
    judgment = judge(before, after, {"columns": mode})
    assert judgment.violations == (Violation("t", "b", Entity.COLUMNS, Mode(mode), "no new column", "double"),)
    assert judgment.schema == before
    assert judgment.is_refused is (mode == "freeze")


def test_without_a_contract_everything_passes():
    after = schema(table("t", column("a", "bigint"), column("b"), VARIANT), L)
    judgment = judge(schema(T), after)
    assert judgment.schema == after
    assert judgment.violations == ()
    assert not judgment.is_refused


def test_columns_say_nothing_of_variants():
    after = schema(table("t", column("a", "bigint"), VARIANT))
    assert judge(schema(T), after, {"columns": "freeze"}).violations == ()


@pytest.mark.parametrize("before", [table("t", column("b")), table("t", column("b"), Column("a"))])
def test_a_variant_beside_a_column_that_is_refused_is_refused_with_it(before):
    """The column that it would stand beside never comes: to dlt all its values ask for that one."""
    after = schema(table("t", column("b"), column("a", "bigint"), VARIANT))
    judgment = judge(schema(before), after, {"columns": "discard_row"})
    assert [(each.column, each.entity, each.found) for each in judgment.violations] == [
        ("a", Entity.COLUMNS, "bigint"),
        ("a__v_text", Entity.COLUMNS, "text"),
    ]
    assert judgment.schema == schema(before)


def test_a_variant_is_refused_with_the_type_of_its_column():
    after = schema(table("t", column("a", "bigint"), VARIANT))
    judgment = judge(schema(T), after, {"data_type": "discard_value"})
    violation = Violation("t", "a__v_text", Entity.DATA_TYPE, Mode.DISCARD_VALUE, "bigint", "text", variant_of="a")
    assert judgment.violations == (violation,)
    assert judgment.schema == schema(T)


def test_the_column_of_a_variant_is_found_where_names_are_shortened_or_the_detected_type_differs():
    stamp = column("a__v_text", "timestamp", variant=True)
    (violation,) = judge(schema(T), schema(table("t", column("a", "bigint"), stamp)), "data_type=freeze").violations
    assert (violation.variant_of, violation.expected, violation.found) == ("a", "bigint", "timestamp")


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        (column("a", precision=3), column("a", precision=10), False),
        (column("a", precision=10), column("a"), False),
        (column("a", "decimal", precision=10, scale=2), column("a", "decimal", precision=12, scale=4), False),
        (column("a", "bigint", precision=32), column("a", "bigint"), True),
        (column("a", "timestamp", timezone=False), column("a", "timestamp"), True),
        (column("a", precision=3), column("a", "bigint", precision=32), True),
        (column("a", precision=3), column("a", "decimal", precision=10, scale=2), True),
    ],
)
@pytest.mark.parametrize("name", ["t", "t__l"])
def test_sizes_may_change_under_a_contract_that_does_not_compare_them(
    old: Column, new: Column, is_refused: bool, name: str
):
    hints = {"schema_contract": {"data_type": "freeze"}, "x-contract-sizes": "evolve"}
    root = Table("t", {"id": column("id")}, hints)

    def with_column(changed: Column):
        nested = Table("t__l", {"a": changed}, {"parent": "t"})
        return schema(root, nested) if name == "t__l" else schema(replace(root, columns={"a": changed}))

    assert judge(with_column(old), with_column(new)).is_refused == is_refused
    assert bool(judge_edit(with_column(old), with_column(new))) == is_refused


@pytest.mark.parametrize(("old", "new", "expected", "found"), [
    (column("a"), column("a", "bigint"), "text", "bigint"),
    (column("a"), column("a", precision=8), "precision: unset", "precision: 8"),
    (column("a"), Column("a", {"data_type": "text", "nullable": False}), "nullable: true", "nullable: false"),
    (column("a"), column("a", "decimal", scale=2), "text, scale: unset", "decimal, scale: 2"),
    (column("a", "bigint", precision=16), column("a", "bigint"), "precision: 16", "precision: unset"),
    (column("a", "timestamp", timezone=False), column("a", "timestamp"), "timezone: false", "timezone: unset"),
])  # fmt: skip
def test_a_changed_type_is_refused(old, new, expected, found):
    judgment = judge(schema(table("t", old)), schema(table("t", new)), {"data_type": "freeze"})
    assert judgment.violations == (Violation("t", "a", Entity.DATA_TYPE, Mode.FREEZE, expected, found),)
    assert judgment.schema == schema(table("t", old))


def test_a_size_that_is_left_out_changes_nothing_where_it_is_the_usual_one():
    old, new = column("a", "bigint", precision=64), column("a", "bigint")
    assert judge(schema(table("t", old)), schema(table("t", new)), "freeze").violations == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"data_type": "bigint"}, {"data_type": "bigint", "nullable": True}),
        ({"data_type": "bigint", "nullable": True}, {"data_type": "bigint", "nullable": None}),
        ({"data_type": "bigint"}, {"data_type": "bigint", "precision": 64}),
        ({"data_type": "decimal", "precision": 38, "scale": 9}, {"data_type": "decimal"}),
        ({"data_type": "timestamp"}, {"data_type": "timestamp", "timezone": True, "precision": 6}),
    ],
)
def test_an_edit_that_states_a_default_or_leaves_it_out_changes_nothing(old, new):
    before, after = (schema(table("t", Column("a", properties))) for properties in (old, new))
    frozen = replace(before, settings={"schema_contract": "freeze"})
    assert judge_edit(frozen, replace(after, settings=frozen.settings)) == ()


@pytest.mark.parametrize(
    ("old", "new", "expected", "found"),
    [
        ({"nullable": False}, {}, "nullable: false", "nullable: true"),
        ({}, {"nullable": False}, "nullable: unset", "nullable: false"),
        ({"precision": 8}, {"nullable": True}, "precision: 8", "precision: unset"),
        ({}, {"data_type": "text", "nullable": True}, "bigint", "text"),
    ],
)
def test_an_edit_that_changes_a_column_is_judged_by_the_contract(old, new, expected, found):
    before, after = (schema(table("t", Column("a", {"data_type": "bigint", **each}))) for each in (old, new))
    (violation,) = judge_edit(replace(before, settings={"schema_contract": "freeze"}), after)
    assert (violation.expected, violation.found) == (expected, found)


def test_of_a_load_a_stated_default_is_judged_as_dlt_judges_it():
    before = schema(table("t", Column("a", {"data_type": "bigint"})))
    (violation,) = judge(before, schema(table("t", column("a", "bigint"))), "freeze").violations
    assert (violation.expected, violation.found) == ("nullable: unset", "nullable: true")


def test_other_hints_may_change():
    after = schema(table("t", column("a", "bigint", description="x", unique=True)))
    assert judge(schema(T), after, "freeze").violations == ()


def test_an_incomplete_column_that_gets_data_is_new():
    hinted = Column("k", {"nullable": False, "primary_key": True})
    complete = Column("k", {**hinted.properties, "data_type": "bigint"})
    before = schema(table("t", hinted, column("a")))
    after = schema(table("t", column("a"), complete, column("b")))
    judgment = judge(before, after, {"columns": "discard_value"})
    assert [each.column for each in judgment.violations] == ["k", "b"]
    assert judgment.schema == before
    assert list(judgment.schema.tables["t"].columns) == ["k", "a", "_dlt_id"]


def test_a_column_that_completes_beside_a_refused_one_moves_to_the_end():
    hinted, complete = Column("k", {"nullable": False}), column("k", nullable=False)
    before = schema(table("t", hinted, column("a", "bigint")))
    after = schema(table("t", column("a", "bigint"), VARIANT, complete))
    judgment = judge(before, after, {"data_type": "discard_value"})
    assert list(judgment.schema.tables["t"].columns) == ["a", "_dlt_id", "k"]


@pytest.mark.parametrize("mode", ["freeze", "discard_row", "discard_value"])
def test_a_new_table_is_refused_with_all_that_is_nested_in_it(mode):
    deep = table("t__l__m", parent="t__l")
    # not in the order of nesting: a file may be edited
    judgment = judge(schema(), schema(deep, L, T), {"tables": mode})
    assert judgment.violations == (Violation("t", None, Entity.TABLES, Mode(mode), "no new table", "new table"),)
    assert judgment.schema == schema()


def test_a_new_nested_table_of_a_known_table_is_refused_alone():
    judgment = judge(schema(T), schema(table("t", column("a", "bigint"), column("b")), L), {"tables": "freeze"})
    assert [(each.table, each.column) for each in judgment.violations] == [("t__l", None)]
    assert "b" in judgment.schema.tables["t"].columns
    assert "t__l" not in judgment.schema.tables


def test_a_table_that_has_only_hints_is_new():
    hinted = Table("t", {"k": Column("k", {"primary_key": True})})
    judgment = judge(schema(hinted), schema(T), {"tables": "freeze"})
    assert [each.entity for each in judgment.violations] == [Entity.TABLES]
    assert judgment.schema == schema(hinted)
    assert judge(schema(hinted), schema(T), {"columns": "freeze"}).violations == ()


def test_columns_of_a_new_table_pass_its_variants_do_not():
    after = schema(table("t", column("a", "bigint"), VARIANT))
    judgment = judge(schema(), after, {"columns": "freeze", "data_type": "discard_row"})
    assert [each.column for each in judgment.violations] == ["a__v_text"]
    assert judgment.schema == schema(T)


def test_columns_may_evolve_once():
    before = schema(table("t", column("a", "bigint"), **{"x-normalizer": {"evolve-columns-once": True}}))
    after = schema(table("t", column("a", "bigint"), column("b"), **{"x-normalizer": {"seen-data": True}}))
    assert judge(before, after, {"columns": "freeze"}).schema == after


def test_the_contract_of_the_old_schema_holds_and_a_new_table_brings_its_own():
    before = schema(table("t", column("a"), schema_contract={"columns": "freeze"}))
    loose = table("t", column("a"), column("b"), schema_contract="evolve")
    own = table("u", schema_contract={"tables": "discard_row"})
    judgment = judge(before, schema(loose, own))
    assert [(each.table, each.column) for each in judgment.violations] == [("t", "b"), ("u", None)]


def test_the_root_key_of_a_refused_table_goes_with_it():
    def keyed(made, **tables):
        config = {"root_key_propagation": True, "propagation": {"tables": tables}}
        return replace(made, normalizers={"names": "snake_case", "json": {"module": "relational", "config": config}})

    key = {"_dlt_id": "_dlt_root_id"}
    before = keyed(schema(T), t=key)
    judgment = judge(before, keyed(schema(T, table("u"), table("w")), t=key, u=key, w=key), {"tables": "freeze"})
    assert judgment.schema == before
    allowed = table("w", schema_contract="evolve")
    judgment = judge(before, keyed(schema(T, table("u"), allowed), t=key, u=key, w=key), None)
    assert judgment.violations == ()
    frozen = replace(before, settings={**before.settings, "schema_contract": {"tables": "freeze"}})
    judgment = judge(frozen, keyed(schema(T, table("u"), allowed), t=key, u=key, w=key))
    assert judgment.schema.normalizers == keyed(schema(), t=key, w=key).normalizers


def test_a_mistake_in_a_contract_is_reported():
    with pytest.raises(InputError, match="no contract mode"):
        judge(schema(T), schema(table("t", column("b"))), "frozen")
