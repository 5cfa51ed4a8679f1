"""Row keys equal dlt's, over thousands of made-up rows; dlt itself is run."""

from __future__ import annotations

from typing import Any

from dlt.common.normalizers.json.helpers import get_nested_row_hash, get_row_hash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemactl.kernel.keys import content_text, document_text, hash_children, hash_texts, key_array, keys_of

words = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**9), 10**9).map(lambda number: number / 1000),
    words,
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=5
)
keys = words | st.sampled_from(["_dlt_id", "_dlt_load_id", "_dlt", "id", "_DLT_ID", "é", "€", "\U0001f600", "\ue000"])
documents = st.dictionaries(keys, values, max_size=5)

EXAMPLES = [
    {},
    {"a": "x", "b": {"Z": 1}, "l": [1]},
    {"_dlt_id": "own", "a": {"_dlt_id": "kept"}},
    {"a": 1.0, "b": 1e16, "c": 1e-7, "d": -0.0, "e": 2**64 - 1, "f": -(2**63), "g": 123456789012345678901234.5},
    {"a": "12345678901234567890", "b": [{"z": 1, "y": 2}], "c": "\u2028/\x7f\x00\\"},
]


def made_up(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    found: list[Any] = []

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def keys_made(digests: list[bytes]) -> list[str]:
    return key_array(keys_of(digests)).to_pylist()


def test_keys_of_nested_rows_are_those_of_dlt():
    rows = [("root1", 0), *made_up(st.tuples(words, st.integers(0, 2**40)), 500)]
    table = "t__items__späte"
    parents, places = [parent.encode() for parent, _ in rows], [place % 100_000 for _, place in rows]
    found = keys_made(hash_children(parents, table, range(len(rows)), places))
    assert found == [get_nested_row_hash(parent, table, place % 100_000) for parent, place in rows]


def test_keys_made_of_primary_keys_are_those_of_dlt():
    rows = [
        {"id": 1, "k2": "b"},
        {"id": 1.0},
        {"id": None},
        {"id": "é"},
        *made_up(st.dictionaries(words, scalars, max_size=3), 500),
    ]
    found = keys_made(hash_texts(map(content_text, rows)))
    assert found == [get_row_hash(row, subset=list(row)) for row in rows]


def test_keys_made_of_content_are_those_of_dlt():
    rows = [*EXAMPLES, *made_up(documents, 500)]
    found = keys_made(hash_texts(document_text(row, "value") for row in rows))
    assert found == [get_row_hash(row) for row in rows]
