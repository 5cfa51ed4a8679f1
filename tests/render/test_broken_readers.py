"""Readers, with their owners, in all outputs of a review: the table of the comment, and names that try to break out."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import review_samples
from hypothesis import given
from hypothesis import strategies as st
from review_samples import EVIL, LONG

from schemactl.errors import Location
from schemactl.render.console import Look
from schemactl.render.readers import print_readers, readers_csv
from schemactl.render.review_text import print_review
from schemactl.render.reviews import OUTPUTS
from schemactl.review.readers import (
    Answer,
    Blindness,
    Broken,
    Clause,
    ColumnReaders,
    Reader,
    Readership,
    ReadersReport,
    Use,
)
from schemactl.review.report import Compatibility, Report
from tests.render.test_markdown import OWN_TAGS, _page


def broken_reader(name: str, line: int = 12, *behind: Reader, owner: str | None = None) -> Broken:
    location = Location(f"models/{name}.sql", line)
    reader = Reader("model", name, replace(location, line=None), owner)
    return Broken(reader, (Use(reader, "orders", "total", Clause.WHERE, location=location),), behind)


def report_of(*fields: dict[str, object]) -> Report:
    """Return a review with a finding for each of some fields about readers."""
    review = review_samples.broken().reviews[1]
    sample = next(finding for finding in review.findings if finding.rule == "C204")
    findings = tuple(replace(sample, fingerprint=f"{number:012x}", **more) for number, more in enumerate(fields))
    return Report(compatibility=Compatibility.FULL, reviews=(replace(review, findings=findings),))


REVENUE = Reader("exposure", "Revenue", owner="Finance")
MART = Reader("model", "mart", owner="@shop/marts")
STAGING = broken_reader("stg_orders", 12, MART, REVENUE, owner="@shop/data")
CASES = {
    "broken": ({"readers": (STAGING, broken_reader("other", 3, owner="@shop/data")), "answer": Answer.READ},
        "`stg_orders` (models/", "`@shop/data`<br>`Finance`"),
    "broken without an owner": ({"readers": (broken_reader("other"),), "answer": Answer.READ}, "`other`", ""),
    "repaired": ({"repaired": (STAGING.reader,), "answer": Answer.NOT_READ},
        "no declared reader reads the column<br>repaired in this change: `stg_orders`", ""),
    "broken, and others unknown": ({"readers": (broken_reader("other"),), "answer": Answer.READ,
                                    "blind": (Blindness(REVENUE, "a macro"), Blindness(MART, "a macro"),
                                        Blindness(broken_reader("other").reader, "x"))},
        "<br>cannot tell whether `Revenue`, `mart` read the column: a macro", ""),
    "not read": ({"answer": Answer.NOT_READ}, "no declared reader reads the column", ""),
    "no readers": ({}, "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "breaks", "owner"), CASES.values(), ids=CASES)
def test_the_comment_has_one_table_of_change_breaks_and_owner(
    fields: dict[str, object], breaks: str, owner: str
) -> None:
    markdown = OUTPUTS["markdown"].render(report_of(fields, CASES["broken"][0]))
    head, _, *rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert head == "| Severity | Rule | Change | Breaks | Owner |"
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    assert any(breaks in row[3] and owner == row[4].strip("| ") for row in cells)
    assert {len(row) for row in cells} == {5}
    assert _page(markdown).tags["table"] == 1


def test_a_review_without_declared_readers_keeps_its_table() -> None:
    assert "| Severity | Rule | Where | What |" in OUTPUTS["markdown"].render(report_of({}))


def test_the_document_has_the_owner_of_each_reader() -> None:
    (review,) = json.loads(OUTPUTS["json"].render(report_of(CASES["broken"][0])))["reviews"]
    (first, second) = review["findings"][0]["readers"]
    assert [first["owner"], second["owner"]] == ["@shop/data", "@shop/data"]
    assert [reader["owner"] for reader in first["downstream"]] == ["@shop/marts", "Finance"]


def evil_report(name: str) -> Report:
    reader = Reader("exposure", name, Location(f"{name}/x.sql"), name)
    evil = broken_reader(name, 1, reader, owner=name)
    no_file = Reader("view", name)
    broken = (evil, Broken(no_file, (Use(no_file, "orders", "total", Clause.SELECT, location=Location(name, 2)),)))
    blind = (Blindness(reader, f"why {name}", "orders", "total"),)
    return report_of(
        {"readers": broken, "repaired": (reader, evil.reader), "answer": Answer.READ},
        {"answer": Answer.UNKNOWN, "blind": blind},
        {"repaired": (reader,), "answer": Answer.NOT_READ},
    )


names = st.text(st.characters() | st.sampled_from("`|<>*_[]()\\&@#~!$\n \"':%,"), min_size=1, max_size=40)


@pytest.mark.parametrize("name", [EVIL, LONG, "\n", "::error::x", "[a](http://b)", "a`b|c", "]]>", "%0A::error::"])
def test_reader_names_stay_in_their_place(name: str) -> None:
    check_outputs(name)


@given(names)
def test_no_reader_name_breaks_out(name: str) -> None:
    check_outputs(name)


def check_outputs(name: str) -> None:
    report = evil_report(name)
    markdown = OUTPUTS["markdown"].render(report)
    page = _page(markdown)
    assert set(page.tags) <= OWN_TAGS | {"strong"}
    assert (page.tags["tr"], page.tags["td"], page.attributes) == (4, 15, [])
    assert not re.search(r"(^|\W)@\w", page.text)
    annotations = OUTPUTS["github"].render(report).splitlines()
    assert [line.partition(" ")[0] for line in annotations] == ["::error"] * 3
    (run,) = json.loads(OUTPUTS["sarif"].render(report))["runs"]
    locations = [related for result in run["results"] for related in result.get("relatedLocations", [])]
    messages = [item["message"]["text"] for item in (*run["results"], *locations)]
    assert not any(re.search(r"(?<!\\)\]\(", message) for message in messages)
    assert len(json.loads(OUTPUTS["gitlab"].render(report))) == 3
    pytest.importorskip("xml.etree.ElementTree").fromstring(OUTPUTS["junit"].render(report).encode())
    text = print_review(report, Look(200, color=False, is_verbose=True))
    for printed in (markdown, *annotations, *messages, text.replace("\n", "")):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f‪-‮\ud800-\udfff]", printed)


def test_names_of_readers_do_not_steer_a_terminal_in_lists() -> None:
    reader = Reader(EVIL, EVIL, Location(f"{EVIL}/x"), EVIL)
    blind = (Blindness(reader, EVIL, "orders"), Blindness(reader, EVIL))
    row = ColumnReaders("orders", "id", Answer.READ, (Use(reader, "orders", "id", Clause.SELECT),), blind)
    reports = [ReadersReport("shop", (row,), Readership(blind=blind))]
    table = readers_csv(reports)
    assert len(table.splitlines()) == 4
    for printed in (table, print_readers(reports, Look(200, color=False))):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed)
