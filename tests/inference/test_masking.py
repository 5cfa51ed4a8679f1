from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.examples import Examples, show_examples
from schemactl.inference.classes import classify
from schemactl.inference.evidence import Evidence, Position, merge, observe
from schemactl.inference.masking import hide_values, stand_in
from schemactl.inference.resolve import Resolution, resolve
from schemactl.inference.saved_evidence import read_evidence, write_evidence
from schemactl.schema.hash import version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, table_from_dict

ROWS = [
    {"id": 4711, "mail": "ann@shop.example", "ssn": "078-05-1120", "at": "2026-03-31T10:11:12Z", "ok": True},
    {"id": 12, "mail": None, "ssn": 78051120, "at": "soon", "ok": False, "lines": [{"who": "Lee", "price": 12.75}]},
    {"id": 1_770_000_123, "mail": "1e5", "ssn": "x", "at": "10:11:12", "lines": [{"who": 7, "price": "0xff"}]},
]
SECRETS = ("ann@", "shop.ex", "078-05", "4711", "78051120", "10:11", "2026-03", "Lee", "12.75")


def evidence_of(rows: list[dict[str, object]]) -> Evidence:
    return observe((Position("rows.jsonl", number), row) for number, row in enumerate(rows, start=1))


def resolved(evidence: Evidence, schema: Schema | None = None) -> Resolution:
    return resolve(evidence, schema or new_schema("shop", "snake_case"), "people")


SCALARS = st.one_of(
    st.text(max_size=40),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.datetimes().map(str),
    st.dates().map(str),
    st.times().map(str),
    st.from_regex(r"\A(0x[0-9a-f]{2,20}|-?\d{1,20}(\.\d{1,5})?(e[+-]?\d{1,3})?)\Z"),
    st.sampled_from(["true", "Yes", "", "NaN", "{}", "YQ==", 1_770_000_123, 1_770_000_123.5]),
)


@given(SCALARS)
def test_a_stand_in_is_of_the_same_class(value):
    assert classify(stand_in(value)) == classify(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ann Lee", "Aaa Aaa"),
        ("078-05-1120", "111-11-1111"),
        ("ann@shop.example", "aaa@aaaa.aaaaaaa"),
        ("2026-03-31", "1111-11-11"),
        ("2026-03-31T10:11:12.5Z", "1111-11-11T11:11:11.1Z"),
        (False, False),
        (True, False),
        (-52.25, -11.11),
    ],
)
def test_a_stand_in_shows_nothing_of_the_value(value, expected):
    assert stand_in(value) == expected


@pytest.mark.parametrize("mode", [Examples.NONE, Examples.MASKED])
def test_hidden_evidence_makes_the_same_schema_and_holds_no_value(mode):
    evidence = evidence_of(ROWS)
    with show_examples(mode):
        hidden = hide_values(evidence, resolved(evidence))
    text = write_evidence(hidden)
    again = read_evidence(text, "x.evidence.json")

    assert version_hash(resolved(again).schema) == version_hash(resolved(evidence).schema)
    assert not [secret for secret in SECRETS if secret in text]
    assert ("xxx@xxxx.xxxxxxx" in text) is (mode is Examples.MASKED)
    for path, classes in evidence.paths.items():
        found = again.paths[path]
        assert {name: (seen.count, seen.first) for name, seen in found.items()} == {
            name: (seen.count, seen.first) for name, seen in classes.items()
        }


def test_hidden_evidence_merges_as_the_evidence_that_it_was_made_of():
    parts = [
        evidence_of(ROWS[:1]),
        observe([(Position("more.jsonl", 1), ROWS[1]), (Position("more.jsonl", 2), ROWS[2])]),
    ]
    with show_examples(Examples.MASKED):
        hidden = [hide_values(each, resolved(each)) for each in parts]
    assert version_hash(resolved(merge(*hidden)).schema) == version_hash(resolved(merge(*parts)).schema)


@pytest.mark.parametrize(("mode", "is_there"), [(None, False), (Examples.PLAIN, True)])
def test_values_of_personal_columns_are_hidden_unless_plain_ones_are_asked_for(mode, is_there):
    evidence = evidence_of(ROWS)
    start = new_schema("shop", "snake_case")
    people = table_from_dict("people", {"columns": {"ssn": {"data_type": "text", "x-annotation-pii": True}}})
    resolution = resolved(evidence, start.with_table(people))

    with show_examples(mode):
        text = write_evidence(hide_values(evidence, resolution))

    assert ("078-05-1120" in text) is is_there
    assert ("78051120" in text) is is_there
    assert "ann@shop.example" in text


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1))
def test_ranges_grow_to_powers_of_ten(numbers):
    evidence = evidence_of([{"n": number} for number in numbers])
    with show_examples(Examples.MASKED):
        hidden = hide_values(evidence, resolved(evidence))
    classes = hidden.paths["n",].values()
    assert min(seen.least for seen in classes) <= min(numbers)
    assert max(seen.greatest for seen in classes) >= max(numbers)
    for seen in classes:
        assert {str(abs(int(end))).strip("0") for end in (seen.least, seen.greatest)} <= {"1", ""}
    json.loads(write_evidence(hidden))
