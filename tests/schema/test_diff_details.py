from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.schema.changes import ABSENT
from schemactl.schema.diff import Detail, details

keys = st.sampled_from(("a", "b", "__c", "d.e['f']"))
leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, width=16) | st.text(max_size=2)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


def made(value, found):
    """Return the value with the details made; entries of lists go from the last one."""
    root = [copy.deepcopy(value)]
    gone = [detail for detail in found if detail.after is ABSENT]
    for detail in (*(detail for detail in found if detail.after is not ABSENT), *reversed(gone)):
        *way, last = (0, *detail.path)
        holder = root
        for key in way:
            holder = holder[key]
        if detail.after is ABSENT:
            del holder[last]
        elif detail.before is ABSENT and isinstance(holder, list):
            holder.insert(last, detail.after)
        else:
            holder[last] = detail.after
    return root[0]


@given(values, values)
def test_details_lead_from_any_value_to_any_other(before, after):
    assert made(before, details(before, after)) == after


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}}, [(("a", "b"), 1, 3)]),
        ({"a": None}, {}, [(("a",), None, ABSENT)]),
        ({}, {"a": None}, [(("a",), ABSENT, None)]),
        (["x", "y"], ["y", "x"], [((0,), "x", "y"), ((1,), "y", "x")]),
        (["x"], ["x", "y"], [((1,), ABSENT, "y")]),
        ({"a": 1}, {"a": True}, [(("a",), 1, True)]),
        ({"a": 1}, [1], [((), {"a": 1}, [1])]),
        ({"__a": 1}, {"__a": 2}, [(("__a",), 1, 2)]),
        (ABSENT, {"a": 1}, [((), ABSENT, {"a": 1})]),
        ("evolve", ABSENT, [((), "evolve", ABSENT)]),
    ],
)
def test_leaves(before, after, expected):
    assert details(before, after) == tuple(Detail(*leaf) for leaf in expected)


def test_positions_are_in_the_order_of_numbers():
    before, after = list(range(12)), list(range(1, 13))
    assert [detail.path for detail in details({"a": before}, {"a": after})] == [("a", number) for number in range(12)]
