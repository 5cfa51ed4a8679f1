from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from review_samples import broken, clean, cosmetic, hostile

from schemactl.errors import Location
from schemactl.render.reviews.junit import render
from schemactl.review.report import Report
from schemactl.review.severity import Severity

REPORTS = {"clean": clean(), "cosmetic": cosmetic(), "broken": broken(), "hostile": hostile()}


def read(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(render(report).encode())


def case_of(**fields: object) -> ElementTree.Element:
    """The case of one finding, with fields changed."""
    report = broken()
    review = report.reviews[1]
    changed = replace(review, findings=(replace(review.findings[0], **fields),))
    [case] = read(replace(report, reviews=(changed,), unmatched=(), expired=())).iter("testcase")
    return case


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS.keys())
def test_counts_agree_with_the_cases(report: Report) -> None:
    root = read(report)

    assert root.tag == "testsuites"
    has_unused = bool(report.unmatched or report.expired)
    assert [suite.tag for suite in root] == ["testsuite"] * (len(report.reviews) + has_unused)
    for element in (root, *root):
        assert int(element.attrib["tests"]) == len(list(element.iter("testcase"))) > 0
        assert int(element.attrib["failures"]) == len(list(element.iter("failure")))
        assert int(element.attrib["skipped"]) == len(list(element.iter("skipped")))
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert int(root.attrib["failures"]) == len(errors)


@pytest.mark.parametrize("report", [clean(), cosmetic()], ids=["clean", "cosmetic"])
def test_schema_without_findings_has_a_case_that_passes(report: Report) -> None:
    [case] = read(report).iter("testcase")

    assert (case.attrib["classname"], case.attrib["name"]) == ("orders", "no breaking change")
    assert len(case) == 0


def test_error_fails_with_sentence_place_and_fix() -> None:
    case = next(case for case in read(broken()).iter("testcase") if "C204" in case.attrib["name"])

    assert case.attrib["classname"] == "orders.orders"
    assert (case.attrib["file"], case.attrib["line"]) == ("schemas/orders.schema.yaml", "21")
    [failure] = case
    assert failure.attrib == {"type": "C204", "message": "column `note` was removed from `orders`"}
    assert "fix: Keep the column" in failure.text
    assert "why: A query that selects" in failure.text


def test_warning_passes_and_says_so() -> None:
    case = next(case for case in read(broken()).iter("testcase") if "D303" in case.attrib["name"])

    [output] = case
    assert output.tag == "system-out"
    assert output.text.startswith("warning: column `total` of `orders` was double and is decimal\ndata: ")
    assert "12,000 values" in output.text


def test_silenced_finding_is_skipped_with_its_reason() -> None:
    [case] = [case for case in read(broken()).iter("testcase") if case.find("skipped") is not None]

    assert case.attrib["name"].startswith("T104")
    assert case.find("skipped").attrib["message"] == "silenced until 2026-12-31: agreed with the analysts (s.toml:4)"
    assert case.find("failure") is None


def test_silence_that_covers_nothing_is_a_warning_of_a_suite_of_its_own() -> None:
    *_, suite = read(broken())

    assert suite.attrib["name"] == "silences"
    first, second = suite
    assert (first.attrib["file"], first.attrib["line"]) == ("pyproject.toml", "41")
    assert first.find("system-out").text == "warning: the silence of C204 for `legacy_*` matches no finding; remove it"
    assert "ended on 2026-01-31" in second.attrib["name"]


def test_name_reports_a_broken_contract() -> None:
    names = [case.attrib["name"] for case in read(broken()).iter("testcase")]

    assert (
        "contract violation: X702 schema contract changed: the contract froze `tables`, and `refunds` is new" in names
    )


def test_cases_that_say_the_same_have_names_of_their_own() -> None:
    report = broken()
    review = report.reviews[1]
    twins = replace(review, findings=(review.findings[0],) * 3)
    names = [case.attrib["name"] for case in read(replace(report, reviews=(twins,))).iter("testcase")]

    assert len(set(names[:3])) == 3


def test_place_outside_of_files_is_left_out() -> None:
    case = case_of(location=Location("<stdin>", 3))

    assert "file" not in case.attrib
    assert "line" not in case.attrib


@example("\ufffe\x00\ud800")
@given(st.text(st.characters() | st.sampled_from("\x00\x1b\x85\ud800\ufffe\uffff]>&<\"'\n")))
def test_any_name_gives_xml_that_can_be_read(name: str) -> None:
    case = case_of(table=name, schema=name, message=name, fix=name, title=name, location=Location(name or ".", 1))

    assert case.find("failure") is not None


def test_hostile_names_end_no_section() -> None:
    printed = render(hostile())

    assert "]]>" not in printed
    assert "<script" not in printed
    assert "\x1b" not in printed
