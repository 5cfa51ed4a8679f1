"""What a contract says, and which one holds for a table."""

from __future__ import annotations

import pytest
from contract_samples import L, schema, table

from schemactl.errors import InputError
from schemactl.schema.contract import Contract, Mode, contract_for


@pytest.mark.parametrize(
    ("stated", "contract"),
    [
        (None, Contract()),
        ({}, Contract()),
        ("freeze", Contract(Mode.FREEZE, Mode.FREEZE, Mode.FREEZE)),
        ({"columns": "discard_row"}, Contract(columns=Mode.DISCARD_ROW)),
        (
            "columns=freeze, data_type=discard_value",
            Contract(columns=Mode.FREEZE, data_type=Mode.DISCARD_VALUE),
        ),
    ],
)
def test_forms(stated, contract):
    assert Contract.of(stated) == contract


@pytest.mark.parametrize(
    ("stated", "message", "hint"),
    [
        ("freze", "there is no contract mode `freze`", "did you mean `freeze`?"),
        ("xyz", "there is no contract mode `xyz`", "known: evolve, freeze, discard_row, discard_value"),
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
