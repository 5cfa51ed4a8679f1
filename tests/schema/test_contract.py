"""What a contract says, and which one holds for a table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract_samples import L, column, schema, table

from schemactl.errors import InputError
from schemactl.schema.contract import (
    PROMOTION_HINT,
    Contract,
    Mode,
    Promotion,
    contract_for,
    may_promote,
    promotion_for,
    split_promotion,
)


@pytest.mark.parametrize(("stated", "contract"), [
    (None, Contract()),
    ({}, Contract()),
    ("freeze", Contract(Mode.FREEZE, Mode.FREEZE, Mode.FREEZE)),
    ({"columns": "discard_row"}, Contract(columns=Mode.DISCARD_ROW)),
    ("columns=freeze, data_type=discard_value", Contract(columns=Mode.FREEZE, data_type=Mode.DISCARD_VALUE)),
])  # fmt: skip
def test_forms(stated, contract):
    assert Contract.of(stated) == contract


@pytest.mark.parametrize(
    ("stated", "message", "hint"),
    [
        ("freze", "there is no contract mode `freze`", "did you mean `freeze`?"),
        ("xyz", "there is no contract mode `xyz`", "known: evolve, freeze, discard_row, discard_value"),
        ("promote", "only `data_type` can have the mode `promote`", "`data_type=promote`"),
        ("columns=promote_text", "only `data_type` can have the mode `promote_text`", "`data_type=promote_text`"),
        ("data_type=promot", "there is no contract mode `promot`", "did you mean `promote`?"),
        ({"columns": "discard"}, "there is no contract mode `discard`", "discard_row"),
        ({"column": "freeze"}, "a contract has no entity `column`", "did you mean `columns`?"),
        ("data_types=freeze", "a contract has no entity `data_types`", "did you mean `data_type`?"),
        ("columns=freeze,columns=evolve", "the contract sets `columns` twice", None),
        ({"columns": None}, "there is no contract mode `None`", "known: "),
        (["freeze"], "is not a contract", "a mode"),
    ],
)
def test_mistakes_are_reported_with_a_way_out(stated, message, hint):
    with pytest.raises(InputError) as raised:
        Contract.of(stated)
    assert message in raised.value.message
    assert (hint is None and raised.value.hint is None) or hint in raised.value.hint


def test_the_first_level_that_states_a_contract_decides_alone():
    stated = schema(table("t", schema_contract={"columns": "evolve"}), L, contract="freeze")
    assert contract_for(stated, "t") == Contract()
    assert contract_for(stated, "t__l") == Contract()
    assert contract_for(stated, "unknown") == Contract.of("freeze")


def test_the_call_goes_before_root_tables_and_after_nested_ones():
    nested = table("t__l", parent="t", schema_contract="discard_row")
    stated = schema(table("t", schema_contract="evolve"), nested, contract="evolve")
    assert contract_for(stated, "t", "freeze") == Contract.of("freeze")
    assert contract_for(stated, "t__l", "freeze") == Contract.of("discard_row")


def test_the_tables_of_dlt_always_evolve():
    assert contract_for(schema(contract="freeze"), "_dlt_pipeline_state", "freeze") == Contract()


def test_parents_that_form_a_ring_do_not_hang():
    ring = schema(table("a", parent="b"), table("b", parent="a"), contract="freeze")
    assert contract_for(ring, "a") == Contract.of("freeze")


def promoting(settings_mode=None, **levels):
    """Return a schema with the hint at its table ``t``, its nested table ``t__l``, or their columns ``a``."""
    hints = {name: {PROMOTION_HINT: mode} for name, mode in levels.items()}
    tables = (
        table("t", column("a", "bigint", **hints.get("column", {})), **hints.get("root", {})),
        table("t__l", column("a", "bigint"), parent="t", **hints.get("nested", {})),
    )
    sample = schema(*tables)
    return sample if settings_mode is None else replace(sample, settings={PROMOTION_HINT: settings_mode})


def test_data_types_that_are_promoted_evolve_to_dlt():
    assert Contract.of("data_type=promote,columns=freeze") == Contract(columns=Mode.FREEZE)
    assert split_promotion("data_type=promote_text") == ({"data_type": "evolve"}, "promote_text")
    assert split_promotion("freeze") == ("freeze", None)


@pytest.mark.parametrize(
    ("sample", "table_name", "mode"),
    [
        (promoting(), "t", Promotion.VARIANT),
        (promoting("promote"), "t", Promotion.PROMOTE),
        (promoting({"data_type": "promote_text"}), "t__l", Promotion.PROMOTE_TEXT),
        (promoting("promote", root="evolve"), "t", Promotion.VARIANT),
        (promoting("promote", root="evolve"), "t__l", Promotion.VARIANT),
        (promoting(root="promote", nested="promote_text"), "t__l", Promotion.PROMOTE_TEXT),
        (promoting(root="promote", column={"data_type": "evolve"}), "t", Promotion.VARIANT),
        (promoting(column="promote"), "t", Promotion.PROMOTE),
        (promoting("promote", root={}), "t", Promotion.PROMOTE),
    ],
)
def test_the_nearest_level_decides_about_promotions(sample, table_name, mode):
    assert promotion_for(sample, table_name, "a") is mode


def test_the_call_decides_about_promotions_unless_a_column_or_nested_table_does():
    assert promotion_for(promoting(), "t", "a", "data_type=promote") is Promotion.PROMOTE
    assert promotion_for(promoting(nested="evolve"), "t__l", "a", "data_type=promote") is Promotion.VARIANT
    assert promotion_for(promoting("promote"), "t", "a", "evolve") is Promotion.VARIANT
    assert promotion_for(promoting("promote"), "t", "a", "columns=freeze") is Promotion.PROMOTE


def test_a_contract_that_does_not_evolve_promotes_nothing():
    frozen = replace(promoting(root="promote"), settings={"schema_contract": {"data_type": "freeze"}})

    assert promotion_for(frozen, "t", "a") is Promotion.VARIANT
    assert promotion_for(promoting("promote"), "t", "_dlt_id") is Promotion.VARIANT
    assert promotion_for(promoting("promote"), "_dlt_loads", "status") is Promotion.VARIANT


@pytest.mark.parametrize(
    ("sample", "call", "promotes"),
    [
        (promoting(), None, False),
        (promoting(), "columns=freeze", False),
        (promoting(), "data_type=promote", True),
        (promoting("promote_text"), None, True),
        (promoting("evolve"), None, False),
        (promoting(nested="promote"), None, True),
        (promoting(column={"data_type": "promote"}), None, True),
    ],
)
def test_most_schemas_are_known_to_promote_nothing(sample, call, promotes):
    assert may_promote(sample, call) is promotes
