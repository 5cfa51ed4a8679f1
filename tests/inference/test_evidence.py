"""Evidence is a commutative monoid, and its witnesses stand for all documents."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys_of_one_kind import with_keys_of_one_kind

from schemactl.inference.evidence import (
    ClassEvidence,
    Evidence,
    Position,
    cut_witnesses,
    merge,
    observe,
)
from schemactl.inference.resolve import resolve
from schemactl.schema.paths import ELEMENT
from schemactl.schema.templates import new_schema

MANY = settings(suppress_health_check=list(HealthCheck))

keys = st.sampled_from(["a", "b", "items", "Id", "id", "_dlt_id", "a__b"])
scalars = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -5,
        1.5,
        2.0,
        2**63,
        2**64,
        10**400,
        math.inf,
        math.nan,
        "x",
        "12",
        "2024-01-02T03:04:05Z",
        "2024",
    ]
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
datasets = st.lists(st.dictionaries(keys, values, max_size=4) | values, max_size=6)


def numbered(documents, file="data.jsonl"):
    return [(Position(file, number), document) for number, document in enumerate(documents, 1)]


def whole(documents):
    """Evidence whose witnesses are all documents, none of them cut."""
    return replace(observe(documents), witnesses=dict(documents))


@MANY
@given(datasets, st.integers(0, 6))
def test_evidence_of_two_parts_is_evidence_of_the_whole(documents, at):
    found = numbered(documents)
    merged = merge(observe(found[:at]), observe(found[at:]))
    assert merged == observe(found)
    # with the order of keys
    assert repr(merged.witnesses) == repr(observe(found).witnesses)


def test_the_example_is_a_value_of_the_first_place():
    early, late = observe(numbered([{"a": 100}], "1")), observe(numbered([{"a": 7}, {"a": 8}], "2"))
    (seen,) = merge(late, early).paths[("a",)].values()
    assert (seen.count, seen.first, seen.examples) == (3, Position("1", 1), ("100",))


@MANY
@given(datasets, datasets, datasets)
def test_merging_is_associative_and_commutative_and_has_an_identity(first, second, third):
    a, b, c = (observe(numbered(each, file)) for each, file in ((first, "1"), (second, "2"), (third, "3")))
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge(c, a, b)
    assert merge(a, b) == merge(b, a)
    assert merge(a, Evidence()) == merge(Evidence(), a) == a


@MANY
@given(datasets.map(with_keys_of_one_kind))
def test_witnesses_give_the_schema_that_all_documents_give(documents):
    found = numbered(documents)
    schema = new_schema("made")
    ours, theirs = (resolve(each, schema, "data") for each in (observe(found), whole(found)))
    assert _in_order(ours.schema) == _in_order(theirs.schema)
    assert ours.nulls == theirs.nulls
    assert {origin: set(taken) for origin, taken in ours.taken.items()} == {
        origin: set(taken) for origin, taken in theirs.taken.items()
    }


def _in_order(schema):
    return {
        name: (table.properties, [(column.name, list(column.properties.items())) for column in table.columns.values()])
        for name, table in schema.tables.items()
    }


@MANY
@given(datasets)
def test_cutting_a_second_time_cuts_nothing(documents):
    evidence = observe(numbered(documents))
    again = cut_witnesses(evidence.paths, evidence.witnesses)
    assert repr(again) == repr(dict(sorted(evidence.witnesses.items())))


def test_the_number_of_witnesses_does_not_grow_with_the_data():
    documents = [{"id": number, "name": f"name no {number}", "tags": [{"x": number}]} for number in range(1_000)]
    evidence = observe(numbered(documents))
    assert evidence.documents == 1_000
    assert len(evidence.witnesses) < 10


def test_a_witness_keeps_what_it_is_the_first_of():
    evidence = observe(numbered([{"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 1, "d": 2}}, {"a": 3}, {"a": "x"}]))
    assert list(evidence.witnesses.values()) == [{"a": 1, "b": {"c": 1}}, {"b": {"d": 2}}, {"a": "x"}]


def test_a_witness_of_a_list_keeps_the_scalars_of_the_rows_around_it():
    """They may be copied into its rows."""
    documents = [{"id": 1, "o": {"n": 1}, "z": [0]}, {"id": 2, "o": {"n": 3}, "z": [1], "l": [{"k": 1, "m": [1]}]}]
    assert list(observe(numbered(documents)).witnesses.values())[1] == {
        "id": 2,
        "o": {"n": 3},
        "l": [{"k": 1, "m": [1]}],
    }


def test_a_witness_with_a_row_key_keeps_it():
    documents = [{"l": [{"_dlt_id": "a", "x": 1}]}, {"l": [{"_dlt_id": "b", "x": 2, "y": 1}]}]
    assert list(observe(numbered(documents)).witnesses.values())[1] == {"l": [{"_dlt_id": "b", "y": 1}]}


def test_what_is_counted():
    evidence = observe(numbered([{"a": 1, "l": [1, None]}, {"a": 20}, {"a": None}, {}, {"a": "text", "l": []}]))
    integer = evidence.paths["a",]["bigint:" + _class_suffix(evidence, ("a",))]
    assert (evidence.count(("a",)), evidence.nulls(("a",)), evidence.absences(("a",))) == (4, 1, 1)
    assert (evidence.count(("l", ELEMENT)), evidence.nulls(("l", ELEMENT)), evidence.absences(("l", ELEMENT))) == (
        2,
        1,
        0,
    )
    assert integer.first == Position("data.jsonl", 1)
    lists = evidence.paths["l",]["list"]
    assert (lists.shortest, lists.longest) == (0, 2)


def _class_suffix(evidence, path):
    return next(name.partition(":")[2] for name in evidence.paths[path] if name.startswith("bigint"))


@pytest.mark.parametrize(
    ("number", "bound"), [(10**400, math.inf), (-(10**400), -math.inf), (1.5, 1.5), (math.nan, None)]
)
def test_ranges_of_numbers_that_are_hard_to_compare(number, bound):
    (seen,) = observe(numbered([{"a": number}])).paths["a",].values()
    assert (seen.least, seen.greatest) == (bound, bound)


def test_examples_are_short_and_few():
    evidence = observe(numbered([{"a": word} for word in ("x" * 500, "word", "another", "ab", "word")]))
    examples = [example for seen in evidence.paths["a",].values() for example in seen.examples]
    assert all(len(example) <= 80 for example in examples)
    assert all(len(seen.examples) <= 3 for seen in evidence.paths["a",].values())


def test_examples_are_those_of_the_first_documents():
    evidence = observe(numbered([{"a": ["one", 2], "b": None}, {"a": ["other", 3], "b": "late"}]))
    examples = {path: {seen.examples for seen in classes.values()} for path, classes in evidence.paths.items()}
    assert examples == {(): {()}, ("a",): {()}, ("a", None): {("one",), ("2",)}, ("b",): {(), ("late",)}}


def test_sources_that_state_other_types_have_the_wider_one():
    first = Evidence(declared={("a",): {"data_type": "bigint", "precision": 32}, ("b",): {"data_type": "date"}})
    second = Evidence(declared={("a",): {"data_type": "text"}, ("c",): {"data_type": "bool"}})
    assert merge(first, second).declared == {
        ("a",): {"data_type": "text"},
        ("b",): {"data_type": "date"},
        ("c",): {"data_type": "bool"},
    }


def test_the_first_of_a_class_is_by_file_and_number():
    late = ClassEvidence(1, Position("b", 1))
    merged = merge(
        Evidence(paths={(): {"null": late}}), Evidence(paths={(): {"null": ClassEvidence(2, Position("a", 9))}})
    )
    assert merged.paths[()]["null"] == ClassEvidence(3, Position("a", 9))


def test_types_that_sources_do_not_agree_about_are_all_kept() -> None:
    stated = ("date", "text", "date")
    parts = [Evidence(declared={("a",): {"data_type": kind}, ("b",): {"data_type": "bool"}}) for kind in stated]
    together = merge(*parts)
    assert together.conflicting_types == {("a",): {"date", "text"}}
    assert together == merge(parts[0], merge(parts[1], parts[2])) == merge(*parts[::-1])
    assert together.declared_types(("b",)) == {"bool"}
    assert together.declared_types(("c",)) == set()


@pytest.mark.parametrize(("file", "shown"), [
    ("in/a.csv", "in/a.csv, row 7"), ("a.TSV.gz", "a.TSV.gz, row 7"), ("a.jsonl", "a.jsonl:7"),
    ("csv/a.jsonl.gz", "csv/a.jsonl.gz:7"),
])  # fmt: skip
def test_places_in_csv_are_called_rows(file: str, shown: str) -> None:
    assert str(Position(file, 7)) == shown
