"""What stands in columns of stated types is counted as what stands in documents is."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.classes import kind_of
from schemactl.inference.evidence import ClassEvidence, Position, merge_classes, observe
from schemactl.kernel.columnar import RowObserver, to_python

NESTED = [
    {"s": None, "l": [], "ll": [[1], None, []]},
    {"s": {"a": None, "t": [{"k": "x"}, None, {"k": None}]}, "l": [1, None, 5], "ll": None},
    {"s": {"a": 7, "t": None}, "l": None, "ll": [[None, 3], [2]]},
    {"s": {"a": 8, "t": [{"k": "yyy"}]}, "l": [-2], "ll": [[]]},
]
STATED = pa.schema(
    {
        "s": pa.struct({"a": pa.int64(), "t": pa.list_(pa.struct({"k": pa.string()}))}),
        "l": pa.list_(pa.int64()),
        "ll": pa.list_(pa.list_(pa.int64())),
    }
)
TYPES = {("s", "a"): "bigint", ("s", "t", None, "k"): "text", ("l", None): "bigint", ("ll", None, None): "bigint"}

AT_FIRST = Position("f", 1)


def seen_in(table: pa.Table, types: dict[Any, str], taken: list[bool] | None = None, at_once: int = 1000) -> Any:
    observer = RowObserver(table.column_names, types)
    sample = pa.array([True] * len(table) if taken is None else taken)
    first = 0
    for batch in table.to_batches(max_chunksize=at_once):
        observer.add(batch, "f", 1 + first, sample.slice(first, len(batch)))
        first += len(batch)
    return observer.evidence


def facts_of(paths: Any) -> Any:
    """Return what is known of each kind of values at each path, whatever their classes."""
    found: dict[Any, dict[str, ClassEvidence]] = {}
    for path, classes in paths.items():
        kinds = found.setdefault(path, {})
        for name, seen in classes.items():
            kind = kind_of(name)
            kinds[kind] = merge_classes(kinds[kind], seen) if kind in kinds else seen
    return {
        path: {
            kind: (seen.count, seen.first, seen.shortest, seen.longest, seen.least, seen.greatest)
            for kind, seen in kinds.items()
        }
        for path, kinds in found.items()
    }


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_nested_values_are_counted_as_those_of_documents_are(at_once: int) -> None:
    documents = [(Position("f", number), row) for number, row in enumerate(NESTED, 1)]
    assert facts_of(seen_in(pa.Table.from_pylist(NESTED, STATED), TYPES, at_once=at_once)) == facts_of(
        observe(documents).paths
    )


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "x": st.none() | st.floats(allow_nan=True, allow_infinity=True),
            "l": st.none() | st.lists(st.none() | st.fixed_dictionaries({"t": st.none() | st.text(max_size=3)})),
        }
    ),
    min_size=1,
    max_size=8,
)


@given(ROWS, st.integers(1, 4))
def test_any_rows_are_counted_as_documents_are(rows: list[dict[str, Any]], at_once: int) -> None:
    stated = pa.schema({"n": pa.int64(), "x": pa.float64(), "l": pa.list_(pa.struct({"t": pa.string()}))})
    types = {("n",): "bigint", ("x",): "double", ("l", None, "t"): "text"}
    documents = [(Position("f", number), row) for number, row in enumerate(rows, 1)]

    found = facts_of(seen_in(pa.Table.from_pylist(rows, stated), types, at_once=at_once))

    assert found == facts_of(observe(documents).paths)


def test_columns_have_counts_nulls_lengths_ranges_and_examples() -> None:
    table = pa.table(
        {
            "id": [1, -2, 30, 4],
            "name": [None, "żółw", "", "ab"],
            "x": [math.nan, None, 1.5, -2.0],
            "ok": [True, None, False, True],
        }
    )
    types = {("id",): "bigint", ("name",): "text", ("x",): "double", ("ok",): "bool"}

    assert seen_in(table, types) == {
        (): {"object": ClassEvidence(4, AT_FIRST)},
        ("id",): {"bigint": ClassEvidence(4, AT_FIRST, ("1",), least=-2.0, greatest=30.0)},
        ("name",): {
            "text": ClassEvidence(3, Position("f", 2), ("żółw",), 0, 4, varies=True),
            "null": ClassEvidence(1, AT_FIRST),
        },
        # NaN has no place in a range.
        ("x",): {
            "double": ClassEvidence(3, AT_FIRST, ("NaN",), least=-2.0, greatest=1.5),
            "null": ClassEvidence(1, Position("f", 2)),
        },
        ("ok",): {
            "bool": ClassEvidence(3, AT_FIRST, ("true",), varies=True),
            "null": ClassEvidence(1, Position("f", 2)),
        },
    }


def test_examples_of_nested_values_are_the_first_ones() -> None:
    found = seen_in(pa.Table.from_pylist(NESTED, STATED), TYPES)
    assert found[("s", "a")]["bigint"].examples == ("7",)
    assert found[("s", "t", None, "k")]["text"].examples == ("x",)
    assert found[("ll", None, None)]["bigint"].examples == ("1",)


def test_rows_out_of_the_sample_are_not_counted() -> None:
    found = seen_in(pa.table({"n": [1, 2, 3]}), {("n",): "bigint"}, taken=[False, True, True])
    assert found[("n",)]["bigint"] == ClassEvidence(2, Position("f", 2), ("2",), least=2.0, greatest=3.0)
    assert seen_in(pa.table({"n": [1]}), {("n",): "bigint"}, taken=[False]) == {}


def test_slices_of_nested_columns_are_the_same_rows() -> None:
    inner = pa.struct({"m": pa.map_(pa.string(), pa.list_(pa.int8())), "l": pa.list_(pa.float64())})
    rows = [
        [{"m": [("a", [1, 2]), ("b", None)], "l": [1.5]}],
        None,
        [],
        [{"m": None, "l": None}, {"m": [("c", [3])], "l": []}],
        [{"m": [], "l": [2.5, 3.5]}],
    ]
    array = pa.array(rows, pa.list_(inner))
    found = to_python(array, None, ("x",), frozenset())
    assert found[0] == [{"m": {"a": [1, 2], "b": None}, "l": [1.5]}]
    assert found[3] == [{"m": None, "l": None}, {"m": {"c": [3]}, "l": []}]
    for start in range(len(rows) + 1):
        for end in range(start, len(rows) + 1):
            assert to_python(array.slice(start, end - start), None, ("x",), frozenset()) == found[start:end]
