"""What evidence shows to overwrite one another is what making the rows finds as well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_contract import with_table
from test_rows import FILE, Made

from schemactl.inference.evidence import Position, observe
from schemactl.normalization.overwrites import find_certain_overwrites


def certain(documents, made):
    positions = ((Position(FILE, number), document) for number, document in enumerate(documents, 1))
    return find_certain_overwrites(made.plan, observe(positions))


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([{"id": 1, "Id": 2}], [("t", "id", 1, 1)]),
        ([{"id": 1}, {"id": 2, "Id": 3}, {"id": 4, "Id": None}], [("t", "id", 1, 2)]),
        ([{"l": [{"a b": "x", "a_b": "y"}, {"a b": "z"}]}], [("t__l", "a_b", 1, 1)]),
        ([{"a": {"b": 1}, "a__b": 2}], [("t", "a__b", 1, 1)]),
        # rows have to be made to know
        ([{"id": 1}, {"Id": 3}], []),
        ([{"id": 1, "Id": 1}, {"Id": 3}, {"id": 1}], []),
        ([{"id": 1, "Id": "x"}], []),
        ([{"id": 1, "Id": 2, "a b": 1, "a_b": 2, "A_B": 3}], []),
        ([{"id": 1, "Id": 2, "a b": 1}, {"id": 1, "a_b": 2}], []),
        ([{"id": 1, "Id": 2, "a b": [1], "a_b": [2]}], []),
    ],
)
def test_a_column_that_is_filled_in_every_row_is_overwritten_wherever_another_path_fills_it(documents, found):
    made = Made(documents)
    seen = [(each.table, each.column, each.count, each.first.number) for each in certain(documents, made)]
    assert seen == found


values = st.none() | st.integers(0, 9) | st.just({"c": 1})
documents = st.lists(
    st.dictionaries(st.sampled_from(["id", "Id", "a b", "a_b", "n"]), values, max_size=5), min_size=1, max_size=5
)


@given(documents)
def test_making_the_rows_finds_the_same(documents):
    made = Made(documents)
    found = certain(documents, made)
    assert not found or set(found) == set(made.tally.overwrites)


def test_what_a_contract_keeps_out_is_left_to_the_rows():
    documents = [{"id": 1, "n": 2, "N": 3}]
    before = with_table(id={"data_type": "bigint"})
    assert certain(documents, Made(documents, before)) != ()
    assert certain(documents, Made(documents, before, "columns=discard_value")) == ()
