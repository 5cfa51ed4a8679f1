from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from review_samples import broken, clean, cosmetic, hostile

from schemactl.errors import Location
from schemactl.render.reviews.gitlab import render
from schemactl.review.report import Report
from schemactl.review.severity import Severity

REPORTS = {"clean": clean(), "cosmetic": cosmetic(), "broken": broken(), "hostile": hostile()}


def with_findings(*changes: dict[str, object]) -> Report:
    """The first finding, once for each set of fields to change."""
    report = broken()
    review = report.reviews[1]
    findings = tuple(replace(review.findings[0], **fields) for fields in changes)
    return replace(report, reviews=(replace(review, findings=findings),), unmatched=(), expired=())


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS.keys())
def test_issues_have_what_gitlab_demands(report: Report) -> None:
    issues = json.loads(render(report))

    findings = [finding for review in report.reviews for finding in review.findings]
    silenced = sum(finding.silence is not None for finding in findings)
    assert len(issues) == len(report.findings) + silenced + len(report.unmatched) + len(report.expired)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1
        path = PurePosixPath(issue["location"]["path"])
        assert path.name
        assert not path.is_absolute()
        assert path.parts[0] not in (".", "..")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_issue_says_what_happened_where() -> None:
    issue = next(issue for issue in json.loads(render(broken())) if issue["check_name"] == "C204")

    assert issue["description"] == "column `note` was removed from `orders`"
    assert issue["location"] == {"path": "schemas/orders.schema.yaml", "lines": {"begin": 21}}
    assert issue["severity"] == "critical"


def test_broken_contract_blocks() -> None:
    blockers = [issue for issue in json.loads(render(broken())) if issue["severity"] == "blocker"]

    assert [issue["check_name"] for issue in blockers] == ["X702"]
    assert blockers[0]["description"].startswith("contract violation: ")


def test_equal_fingerprints_are_distinguished_the_same_way_each_time() -> None:
    report = with_findings({}, {"against": "v1"}, {"against": "v2"})
    fingerprints = [issue["fingerprint"] for issue in json.loads(render(report))]

    assert len(set(fingerprints)) == 3
    assert render(report) == render(report)
    assert fingerprints[0] == json.loads(render(with_findings({})))[0]["fingerprint"]


def test_fingerprint_does_not_depend_on_the_line_or_the_words() -> None:
    report = with_findings({"location": Location("elsewhere.yaml", 99), "message": "other words"})

    assert json.loads(render(report))[0]["fingerprint"] == json.loads(render(with_findings({})))[0]["fingerprint"]


def test_finding_without_a_file_gets_that_of_its_schema() -> None:
    report = with_findings({"location": None, "base_location": None})

    assert json.loads(render(report))[0]["location"] == {
        "path": "schemas/orders.schema.yaml",
        "lines": {"begin": 1},
    }


def test_silenced_finding_is_info_with_its_reason() -> None:
    [issue] = [issue for issue in json.loads(render(broken())) if issue["check_name"] == "T104"]

    assert issue["severity"] == "info"
    assert issue["description"].endswith("; silenced until 2026-12-31: agreed with the analysts (s.toml:4)")


def test_silence_that_covers_nothing_is_a_minor_issue_of_the_settings_file() -> None:
    unused = [issue for issue in json.loads(render(broken())) if issue["severity"] == "minor"]

    assert [(each["check_name"], each["description"], each["location"]) for each in unused] == [
        (
            "C204",
            "the silence of C204 for `legacy_*` matches no finding; remove it",
            {"path": "pyproject.toml", "lines": {"begin": 41}},
        ),
        (
            "D304",
            "the silence of D304 for `orders.total` ended on 2026-01-31; remove or renew it",
            {"path": "schemactl.toml", "lines": {"begin": 1}},
        ),
    ]


def test_unimportant_findings_are_left_out() -> None:
    assert json.loads(render(with_findings({"severity": Severity.NONE}))) == []


def test_hostile_names_do_not_steer_a_terminal() -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", render(hostile()))
