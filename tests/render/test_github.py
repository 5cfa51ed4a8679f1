from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_samples import broken, clean, cosmetic, hostile

from schemactl.errors import Location
from schemactl.render.reviews.github import render
from schemactl.review.report import Report, Silence
from schemactl.review.severity import Severity

SEVERITIES = (Severity.ERROR, Severity.WARN, Severity.INFO)
COMMAND = re.compile(r"::(?P<name>[a-z]+) (?P<properties>[^\n]*?)::(?P<message>[^\n]*)")


def read(printed: str) -> list[tuple[str, dict[str, str], str]]:
    """Read commands as GitHub's runner does: split first, then put the escaped characters back."""
    commands = []
    for line in printed.splitlines():
        found = COMMAND.fullmatch(line)
        assert found, line
        pairs = (pair.split("=", 1) for pair in found["properties"].split(","))
        commands.append((found["name"], {key: unescape(value) for key, value in pairs}, unescape(found["message"])))
    return commands


def unescape(text: str) -> str:
    for escaped, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escaped, character)
    return text


def with_finding(**fields: object) -> Report:
    report = broken()
    review = report.reviews[1]
    reviews = (replace(review, findings=(replace(review.findings[0], **fields),)),)
    return replace(report, reviews=reviews, unmatched=(), expired=())


def test_each_finding_that_counts_is_a_command_and_the_worst_come_first() -> None:
    names = [name for name, _, _ in read(render(broken()))]

    assert names == ["error"] * 4 + ["warning"] * 4 + ["notice"] * 5


def test_command_points_to_the_line_and_reports_the_fix() -> None:
    first = render(broken()).splitlines()[0]

    assert first == (
        "::error file=schemas/orders.schema.yaml,line=21,col=5,title=C204 column removed::column `note` was removed "
        "from `orders`%0Afix: Keep the column, nullable, until nobody reads it any more. Then remove it with a "
        "tombstone (rule C205)."
    )


def test_counts_of_the_data_are_reported() -> None:
    message = next(message for _, each, message in read(render(broken())) if each["title"].startswith("N402"))

    assert "3 of 12,000 values" in message
    assert "data/orders/2026-01.jsonl:137" in message


def test_title_names_a_broken_contract() -> None:
    titles = [properties["title"] for _, properties, _ in read(render(broken()))]

    assert [title for title in titles if "contract violation" in title] == [
        "contract violation: X702 schema contract changed"
    ]


@pytest.mark.parametrize("report", [clean(), cosmetic()], ids=["clean", "cosmetic"])
def test_nothing_is_printed_where_nothing_counts(report: Report) -> None:
    assert render(report) == ""


@pytest.mark.parametrize("location", [None, Location("<stdin>", 3, 1)])
def test_finding_without_a_file_stands_without_one(location: Location | None) -> None:
    [(_, properties, _)] = read(render(with_finding(location=location)))

    assert set(properties) == {"title"}


def test_revision_is_no_part_of_the_file() -> None:
    [(_, properties, _)] = read(render(with_finding(location=Location("v1.4:a/b.yaml", 3))))

    assert properties == {"file": "a/b.yaml", "line": "3", "title": "C204 column removed"}


def test_signs_of_the_command_language_survive() -> None:
    message = "100% of `a:b,c` is gone"
    [(_, properties, reported)] = read(render(with_finding(message=message, title="50%, or: all")))

    assert reported.splitlines()[0] == message
    assert properties["title"] == "C204 50%, or: all"
    assert "100%25 of" in render(with_finding(message=message))


def test_silenced_finding_is_a_notice_with_its_reason() -> None:
    [(name, _, reported)] = [each for each in read(render(broken())) if each[1]["title"].startswith("T104")]

    assert name == "notice"
    assert reported.splitlines()[-1] == "silenced until 2026-12-31: agreed with the analysts (s.toml:4)"


def test_silence_that_covers_nothing_is_a_warning_at_its_place() -> None:
    unused = [each for each in read(render(broken())) if each[1]["title"] == "unused silence"]

    assert unused == [
        (
            "warning",
            {"file": "pyproject.toml", "line": "41", "col": "1", "title": "unused silence"},
            "the silence of C204 for `legacy_*` matches no finding; remove it",
        ),
        (
            "warning",
            {"title": "unused silence"},
            "the silence of D304 for `orders.total` ended on 2026-01-31; remove or renew it",
        ),
    ]


def test_unimportant_findings_are_left_out() -> None:
    assert render(with_finding(severity=Severity.NONE)) == ""


def test_hostile_names_start_no_command_of_their_own() -> None:
    printed = render(hostile())

    assert [name for name, _, _ in read(printed)] == ["error", "error", "warning", "warning", "notice"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed)


@given(st.text(st.characters() | st.sampled_from("%:,=\r\n\x85\u2028\x1b\ud800")))
def test_any_name_gives_one_command_of_one_line(name: str) -> None:
    report = with_finding(message=name, title=name, fix=name, against=name, location=Location(name or ".", 1))
    printed = render(report)

    assert len(printed.splitlines()) == 1
    assert printed.encode()
    assert [command for command, _, _ in read(printed)] == ["error"]


def with_many(**numbers: int) -> Report:
    """Return a report with so many findings of each severity."""
    report = broken()
    review = report.reviews[1]
    first = review.findings[0]
    findings = tuple(
        replace(first, severity=Severity(severity), message=f"{severity} {place}")
        for severity, number in numbers.items()
        for place in range(number)
    )
    return replace(report, reviews=(replace(review, findings=findings),), unmatched=(), expired=())


def test_no_more_annotations_are_asked_for_than_github_shows_and_the_last_one_counts_the_others() -> None:
    commands = read(render(with_many(error=12, warn=11, info=15)))

    names = [name for name, _, _ in commands]
    assert {name: names.count(name) for name in names} == {"error": 10, "warning": 10, "notice": 10}
    last = commands[-1][2]
    assert "12 errors, 11 warnings, 15 notes" in last
    assert "2 errors, 1 warning, 6 notices more than GitHub shows for a step" in last


def test_ten_of_each_kind_need_no_summary() -> None:
    assert len(read(render(with_many(error=10, warn=10, info=10)))) == 30
    assert "beyond" not in render(with_many(error=10, warn=10, info=10))


def test_the_first_of_each_rule_is_shown_before_others_and_the_rules_left_out_are_counted() -> None:
    report = broken()
    first = report.reviews[1].findings[0]
    crowd = [replace(first, severity=severity) for severity in SEVERITIES for _ in range(900)]
    removed = [replace(first, rule="T102", severity=severity) for severity in SEVERITIES]
    silenced = replace(first, rule="K501", silence=Silence("K501", "agreed"))
    review = replace(report.reviews[1], findings=(*crowd, *removed, silenced))

    commands = read(render(replace(report, reviews=(review,), unmatched=(Silence("C204", "old"),), expired=())))

    shown = [(name, properties["title"].split()[0]) for name, properties, _ in commands]
    assert shown == [
        *[("error", "C204"), ("error", "T102"), *[("error", "C204")] * 8],
        *[("warning", "C204"), ("warning", "T102"), ("warning", "unused"), *[("warning", "C204")] * 7],
        *[
            ("notice", "C204"),
            ("notice", "T102"),
            ("notice", "K501"),
            *[("notice", "C204")] * 6,
            ("notice", "schemactl"),
        ],
    ]
    assert "C204 error (891), C204 warning (892), C204 note (893)" in commands[-1][2]


def test_more_rules_than_github_shows_are_named() -> None:
    report = broken()
    first = report.reviews[1].findings[0]
    findings = tuple(replace(first, rule=f"C3{number:02}") for number in range(12))
    review = replace(report.reviews[1], findings=findings)

    last = read(render(replace(report, reviews=(review,), unmatched=(), expired=())))[-1][2]

    assert "2 errors more than GitHub shows for a step: C310 error (1), C311 error (1)" in last
