from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from review_samples import EVIL, broken, clean, cosmetic, hostile

import schemactl
from schemactl.errors import Location
from schemactl.render.reviews.sarif import render
from schemactl.review.report import Report
from schemactl.review.severity import Severity

REPORTS = {"clean": clean(), "cosmetic": cosmetic(), "broken": broken(), "hostile": hostile()}


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(render(report))
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    return run


def result_of(**fields: object) -> dict[str, Any]:
    """The result of one finding, with fields changed."""
    report = broken()
    review = report.reviews[1]
    changed = replace(review, findings=(replace(review.findings[0], **fields),))
    [result] = run_of(replace(report, reviews=(changed,)))["results"]
    return result


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS.keys())
def test_results_have_what_code_scanning_demands(report: Report) -> None:
    run = run_of(report)
    driver = run["tool"]["driver"]

    assert (driver["name"], driver["version"]) == ("schemactl", schemactl.__version__)
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    assert {rule["id"] for rule in driver["rules"]} == {result["ruleId"] for result in run["results"]}
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        [location] = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+", uri)
        assert isinstance(result["suppressions"], list)
        assert re.fullmatch(r"[0-9a-f]{12}", result["partialFingerprints"]["schemactl/v1"])


def test_every_finding_but_the_cosmetic_ones_is_a_result() -> None:
    report = broken()

    expected = [each.rule for review in report.reviews for each in review.findings if not each.is_cosmetic]
    assert [result["ruleId"] for result in run_of(report)["results"]] == expected
    assert run_of(clean())["results"] == run_of(cosmetic())["results"] == []


def test_result_holds_the_whole_finding() -> None:
    result = next(result for result in run_of(broken())["results"] if result["ruleId"] == "C204")

    assert result["level"] == "error"
    assert result["message"]["text"].startswith("column `note` was removed from `orders`\nfix: Keep the column")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "schemas/orders.schema.yaml", "uriBaseId": "SRCROOT"},
                "region": {"startLine": 21, "startColumn": 5},
            }
        }
    ]
    assert result["properties"] == {
        "impact": {"readers": "error", "writers": "warn", "data": "error"},
        "direction": "tightens",
        "schema": "orders",
        "table": "orders",
        "column": "note",
        "before": {"data_type": "text", "nullable": True, "name": "note"},
        "isViolation": False,
    }


def test_rule_explains_itself_and_has_its_worst_level() -> None:
    rule = next(rule for rule in run_of(broken())["tool"]["driver"]["rules"] if rule["id"] == "C204")

    assert rule["name"] == "ColumnRemoved"
    assert rule["shortDescription"]["text"] == "Column removed"
    assert rule["fullDescription"]["text"].startswith("A query that selects")
    assert "Keep the column" in rule["help"]["text"]
    assert "**Fix:** Keep the column" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"]["level"] == "error"


def test_level_of_a_rule_is_its_worst_finding() -> None:
    report = broken()
    review = report.reviews[1]
    milder = replace(review.findings[0], severity=Severity.INFO)
    run = run_of(replace(report, reviews=(replace(review, findings=(milder, review.findings[0])),)))

    assert [rule["defaultConfiguration"]["level"] for rule in run["tool"]["driver"]["rules"]] == ["error"]
    assert [result["level"] for result in run["results"]] == ["note", "error"]


def test_silence_is_a_suppression() -> None:
    suppressed = {result["ruleId"]: result["suppressions"] for result in run_of(broken())["results"]}

    reason = "silenced until 2026-12-31: agreed with the analysts (s.toml:4)"
    assert suppressed["T104"] == [{"kind": "external", "status": "accepted", "justification": reason}]
    assert suppressed["C204"] == []


def test_path_is_a_uri() -> None:
    def artifact(path: str) -> dict[str, str]:
        location = result_of(location=Location(path, 1))["locations"][0]
        return location["physicalLocation"]["artifactLocation"]

    assert artifact("a b/ü%#?.yaml") == {"uri": "a%20b/%C3%BC%25%23%3F.yaml", "uriBaseId": "SRCROOT"}
    assert artifact("./a:b.yaml")["uri"] == "a%3Ab.yaml"
    assert artifact("/elsewhere/a b.yaml") == {"uri": "file:///elsewhere/a%20b.yaml"}
    assert unquote(urlsplit(artifact("/elsewhere/a b.yaml")["uri"]).path) == "/elsewhere/a b.yaml"


def test_column_needs_a_line() -> None:
    location = result_of(location=Location("a.yaml", None, 7))["locations"][0]

    assert location["physicalLocation"]["region"] == {"startLine": 1}


def test_finding_of_no_severity_is_no_failure() -> None:
    result = result_of(severity=Severity.NONE)

    assert (result["kind"], result["level"]) == ("informational", "none")


def test_name_makes_no_link_in_a_message() -> None:
    text = result_of(message="column `[click](https://evil.example)` is gone")["message"]["text"]

    assert text.startswith(r"column `\[click\](https://evil.example)` is gone")


def test_hostile_names_stay_data() -> None:
    printed = render(hostile())
    run = run_of(hostile())

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", printed)
    assert run["results"][0]["properties"]["table"] == EVIL
    shown = [*texts(run["tool"]), *(result["message"]["text"] for result in run["results"])]
    assert not any(re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) for text in shown)


def test_of_more_findings_than_github_takes_the_worst_are_written() -> None:
    report = broken()
    review = report.reviews[1]
    note = replace(review.findings[0], severity=Severity.INFO)
    error = replace(note, severity=Severity.ERROR)
    many = replace(report, reviews=(replace(review, findings=(*[note] * 6_000, *[error] * 3)),))

    run = run_of(many)

    assert len(run["results"]) == 5_000
    assert [result["level"] for result in run["results"][:4]] == ["error", "error", "error", "note"]
    [invocation] = run["invocations"]
    assert "1,003 results omitted" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert "toolExecutionNotifications" not in run_of(report)["invocations"][0]


def test_the_first_of_each_rule_is_written_before_others_and_the_rules_left_out_are_counted() -> None:
    review = broken().reviews[1]
    crowd = review.findings[0]
    hidden = replace(crowd, rule="T102"), replace(crowd, rule="C204", severity=Severity.WARN)
    many = replace(broken(), reviews=(replace(review, findings=(*[crowd] * 6_000, *hidden)),))

    run = run_of(many)

    kinds = [(result["ruleId"], result["level"]) for result in run["results"]]
    assert len(kinds) == 5_000
    assert kinds[:2] == [("C204", "error"), ("T102", "error")]
    assert kinds[-2:] == [("C204", "error"), ("C204", "warning")]
    text = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert "1,002 results omitted: C204 error (1,002); GitHub" in text


def test_silences_that_cover_nothing_are_notifications_of_the_configuration() -> None:
    first, second = run_of(broken())["invocations"][0]["toolConfigurationNotifications"]

    assert first["message"]["text"] == "the silence of C204 for `legacy_*` matches no finding; remove it"
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("pyproject.toml", 41)
    assert "ended on 2026-01-31" in second["message"]["text"]
    assert "invocations" not in run_of(clean())
