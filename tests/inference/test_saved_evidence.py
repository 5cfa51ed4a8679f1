"""Saved evidence is read back as it was, and what is damaged is reported."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from resolved_columns import evidence_of

from schemactl.errors import InputError
from schemactl.inference.evidence import ClassEvidence, Evidence, FileEvidence, Position, merge
from schemactl.inference.saved_evidence import is_evidence_file, read_evidence, write_evidence

DOCUMENTS = [
    {"id": 1, "name": "Żółw 🚀", "l": [1, None, {"x": 1.5}], "n": None},
    {"id": 2**70, "t": "2024-01-02T03:04:05Z", "r": math.inf, "": {"[*]": True}},
    "a text",
]


def test_evidence_comes_back_as_it_was():
    evidence = replace(
        evidence_of(DOCUMENTS),
        files={"data.jsonl": FileEvidence(documents=3, bad=1, first_bad=4, records=9)},
        declared={
            ("a", None, "b"): {"data_type": "decimal", "precision": 10, "scale": 2},
            ("c",): {"data_type": "text"},
        },
    )
    back = read_evidence(write_evidence(evidence), "saved.evidence.json")
    assert back == evidence
    # the order decides on the order of columns
    assert list(back.declared) == list(evidence.declared)
    assert repr(back.witnesses) == repr(evidence.witnesses)


def test_counts_of_typed_columns_come_back_and_old_files_do_without():
    counted = {
        ("c",): {"text": ClassEvidence(2, Position("a", 1), ("x",), 1, 3), "null": ClassEvidence(1, Position("a", 2))}
    }
    evidence = Evidence(files={"a": FileEvidence(3)}, declared={("c",): {"data_type": "text"}}, counted=counted)
    text = write_evidence(evidence)
    assert read_evidence(text, "saved") == evidence
    old = {key: value for key, value in json.loads(text).items() if key != "counted"}
    assert read_evidence(json.dumps(old), "saved") == replace(evidence, counted={})
    assert "counted" not in json.loads(write_evidence(replace(evidence, counted={})))


def test_files_of_earlier_versions_do_not_know_the_places_of_doubles():
    evidence = evidence_of([{"x": 1.25}])
    saved = json.loads(write_evidence(evidence))
    for entry in saved["paths"]:
        for class_fields in entry["classes"].values():
            del class_fields["places"]
    old = read_evidence(json.dumps(saved), "saved")
    (doubles,) = old.paths["x",].values()
    assert doubles.places is None
    (merged,) = merge(old, evidence_of([{"x": 0.5}], "more.jsonl")).paths["x",].values()
    assert merged.places is None
    (merged,) = merge(evidence, evidence_of([{"x": 0.125}], "more.jsonl")).paths["x",].values()
    assert merged.places == 3


def test_equal_evidence_is_equal_text():
    a, b = evidence_of(DOCUMENTS[:2], "a"), evidence_of(DOCUMENTS[2:], "b")
    assert write_evidence(merge(a, b)) == write_evidence(merge(b, a))


def test_saved_parts_make_the_whole():
    parts = [evidence_of(DOCUMENTS[:1], "a"), evidence_of(DOCUMENTS[1:], "b")]
    back = [read_evidence(write_evidence(part), "saved") for part in parts]
    assert merge(*back) == merge(*parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-20], "not JSON"),
        (lambda text: "[]", "not saved evidence"),
        (lambda text: "[" * 100_000, "not saved evidence"),
        (lambda text: '{"name": "demo"}', "not saved evidence"),
        (lambda text: text.replace('"schemactl_evidence": 1', '"schemactl_evidence": 2'), "format 2"),
        (lambda text: text.replace('"classes"', '"klasses"'), "damaged"),
        (lambda text: text.replace('"count"', '"account"'), "damaged"),
        (lambda text: json.dumps({**json.loads(text), "files": []}), "damaged"),
    ],
)
def test_what_is_no_evidence_is_reported_with_its_file(change, message):
    with pytest.raises(InputError, match=message) as caught:
        read_evidence(change(write_evidence(evidence_of(DOCUMENTS))), "old.evidence.json")
    assert caught.value.at.path == "old.evidence.json"


@pytest.mark.parametrize(("path", "expected"), [("a.evidence.json", True), ("a.json", False), ("evidence.json", False)])
def test_evidence_is_known_by_its_ending(path, expected):
    assert is_evidence_file(path) is expected


def test_the_place_of_what_is_no_json_is_reported() -> None:
    with pytest.raises(InputError, match="this is not JSON") as caught:
        read_evidence('{\n "schemactl_evidence": }', "a.evidence.json")
    assert str(caught.value.at) == "a.evidence.json:2:24"
