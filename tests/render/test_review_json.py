from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from typing import Any, get_args

import jsonschema
import pytest
from command_schemas import validator_of
from review_samples import EVIL, broken, clean, cosmetic, hostile

from schemactl.errors import Location
from schemactl.render.json import document, read_schema
from schemactl.render.reviews.json import render
from schemactl.review.report import Compatibility, Report
from schemactl.schema.changes import ABSENT, Change, HeaderChanged

REPORTS = {"clean": clean(), "cosmetic": cosmetic(), "broken": broken(), "hostile": hostile()}


def document_of(report: Report) -> dict[str, Any]:
    return json.loads(render(report))


def validate(document: dict[str, Any]) -> None:
    validator = validator_of("diff").evolve(format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    validator.validate(document)


def with_header(before: object, after: object) -> dict[str, Any]:
    report = clean()
    review = replace(report.reviews[0], changes=(HeaderChanged("description", before, after),))
    document = document_of(replace(report, reviews=(review,)))
    validate(document)
    [change] = document["reviews"][0]["changes"]
    return change


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS.keys())
def test_document_follows_the_shipped_schema(report: Report) -> None:
    validate(document_of(report))


def test_schema_describes_every_field_and_allows_no_other() -> None:
    schema = read_schema("diff")

    def check(part: dict[str, Any], where: str) -> None:
        assert part.get("description"), where
        if "properties" in part:
            assert "additionalProperties" in part, where
            for key, item in part["properties"].items():
                check(item, f"{where}.{key}")

    check(schema, "top")
    for name, part in schema["$defs"].items():
        check(part, name)
        # Tables and columns are open: they hold what the schema file holds.
        assert part.get("additionalProperties") is False or name in {"table", "column", "change"}


def test_schema_knows_every_kind_of_change_and_the_samples_have_them_all() -> None:
    kinds = {kind.__name__ for kind in get_args(Change)}
    definitions = read_schema("diff")["$defs"]

    assert {each["$ref"].rpartition("/")[2] for each in definitions["change"]["oneOf"]} == kinds
    found = {change["kind"] for review in document_of(broken())["reviews"] for change in review["changes"]}
    assert found == kinds


WRONG = {
    "count is text": lambda document: document["counts"].update(error="many"),
    "key is unknown": lambda document: document["reviews"][1]["findings"][0].update(extra=1),
    "key is missing": lambda document: document["reviews"][1]["findings"][0].pop("fix"),
    "severity is undecided": lambda document: document["reviews"][1]["findings"][0].update(severity="depends"),
    "kind is unknown": lambda document: document["reviews"][1]["changes"][0].update(kind="TableMoved"),
    "change has another's key": lambda document: document["reviews"][1]["changes"][0].update(table="orders"),
    "date is none": lambda document: document["unmatched"][1].update(until="soon"),
    "version has no hash": lambda document: document["reviews"][1]["base"].update(hash=None),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG.keys())
def test_wrong_document_is_found_wrong(spoil: Any) -> None:
    document = document_of(broken())
    validate(document)
    spoil(document)

    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_absent_and_null_are_distinguished() -> None:
    assert with_header(ABSENT, None) == {"kind": "HeaderChanged", "name": "description", "after": None}
    assert with_header(None, ABSENT) == {"kind": "HeaderChanged", "name": "description", "before": None}


def test_values_that_are_no_json_become_it() -> None:
    assert with_header({"x-until": date(2026, 1, 31)}, ("a",))["before"] == {"x-until": "2026-01-31"}
    assert with_header((1, float("inf")), "a")["before"] == [1, None]


def test_tables_and_columns_stand_in_their_stored_form() -> None:
    changes = document_of(broken())["reviews"][1]["changes"]
    added = next(change for change in changes if change["kind"] == "TableAdded")
    removed = next(change for change in changes if change["kind"] == "ColumnRemoved")

    assert added["table"]["name"] == "refunds"
    assert added["table"]["write_disposition"] == "merge"
    assert added["table"]["columns"]["amount"] == {
        "data_type": "decimal",
        "precision": 10,
        "scale": 2,
        "name": "amount",
    }
    assert removed == {
        "kind": "ColumnRemoved",
        "table": "orders",
        "column": {"data_type": "text", "nullable": True, "name": "note"},
    }


def test_counts_leave_out_what_does_not_count() -> None:
    assert document_of(broken())["counts"] == {
        "error": 4,
        "warn": 2,
        "info": 4,
        "violations": 1,
        "silenced": 1,
        "cosmetic": 1,
        "changes": 20,
    }


def test_finding_holds_what_the_data_said_and_its_silence() -> None:
    findings = {each["rule"]: each for each in document_of(broken())["reviews"][1]["findings"]}

    assert findings["N402"]["counted"] == {
        "values": 12000,
        "bad": 3,
        "examples": [None],
        "first": {"path": "data/orders/2026-01.jsonl", "line": 137, "column": None},
    }
    assert findings["T104"]["silence"]["until"] == "2026-12-31"
    assert findings["C204"]["silence"] is None
    assert findings["D301"]["against"] == "v1.4:schemas/orders.schema.yaml"


@pytest.mark.parametrize("is_transitive", [False, True])
@pytest.mark.parametrize("mode", Compatibility)
def test_every_mode_has_a_name_that_the_schema_knows(mode: Compatibility, is_transitive: bool) -> None:
    document = document_of(replace(clean(), compatibility=mode, is_transitive=is_transitive))

    validate(document)
    assert (document["compatibility"], document["is_transitive"]) == (mode.value, is_transitive)


def test_mode_is_named_in_the_words_of_confluent() -> None:
    assert document_of(broken())["confluent"] == "FULL_TRANSITIVE"
    assert document_of(clean())["confluent"] == "FORWARD"


def test_sides_have_versions_and_hashes() -> None:
    customers, orders = document_of(broken())["reviews"]

    assert customers["base"] is None
    assert customers["head"]["stated_hash"] is None
    assert (orders["base"]["number"], orders["head"]["number"]) == (3, 4)
    assert orders["head"]["is_edited"] is True
    assert orders["head"]["hash"] != orders["head"]["stated_hash"]


def test_hostile_names_come_back_unchanged_and_steer_nothing() -> None:
    printed = render(hostile())

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", printed)
    assert json.loads(printed)["reviews"][0]["name"] == EVIL


def test_a_row_is_stated_where_the_data_has_rows() -> None:
    assert document(Location("a.csv", row=3), {}) == {"path": "a.csv", "line": None, "column": None, "row": 3}
    assert document(Location("a.jsonl", 3), {}) == {"path": "a.jsonl", "line": 3, "column": None}
