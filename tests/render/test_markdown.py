from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import review_samples
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from schemactl.render.reviews.markdown import LIMIT, render
from schemactl.review.report import Compatibility, Finding, Report
from schemactl.review.severity import Severity
from schemactl.schema.changes import ColumnPropertyChanged

ORDER = (Severity.ERROR, Severity.WARN, Severity.INFO)
SITUATIONS = ("clean", "cosmetic", "broken", "hostile")
OWN_TAGS = {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "br", "code", "details", "summary", "ul", "li"}


class _Page(HTMLParser):
    """What a browser sees: the tags with their attributes, the text in code, and the other text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.code: list[str] = []
        self.text = ""
        self._is_code = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [each for each in attributes if each[0] != "style"]
        if tag == "code":
            self._is_code = True
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_code = self._is_code and tag != "code"

    def handle_data(self, data: str) -> None:
        if self._is_code:
            self.code[-1] += data
        else:
            self.text += data


def _page(markdown: str) -> _Page:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True})
    return _Page(parser.enable(["table", "strikethrough"]).render(markdown))


def _sample(situation: str) -> Report:
    report: Report = getattr(review_samples, situation)()
    return report


def _shown(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity is not Severity.NONE]


def _many(findings: int, changes: int, name: str = "column") -> Report:
    """Return a report with so many findings, one in ten an error, and so many changes."""
    sample = review_samples.broken().reviews[1]
    error, note = (next(each for each in sample.findings if each.rule == rule) for rule in ("C204", "T101"))
    found = tuple(
        replace(note if number % 10 else error, column=f"{name}{number}", message=f"column `{name}{number}` changed")
        for number in range(findings)
    )
    changed = tuple(ColumnPropertyChanged("orders", f"{name}{each}", "x-a", each, name) for each in range(changes))
    return Report(compatibility=Compatibility.FULL, reviews=(replace(sample, findings=found, changes=changed),))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_comment_is_as_it_was(situation: str, snapshot: SnapshotAssertion) -> None:
    assert render(_sample(situation)) == snapshot


@pytest.mark.parametrize("situation", SITUATIONS)
def test_comment_begins_with_the_marker_and_counts(situation: str) -> None:
    lines = render(_sample(situation)).splitlines()

    assert lines[0] == "<!-- schemactl diff -->"
    assert lines[2].startswith("### :")


def test_unchanged_schema_has_neither_table_nor_details() -> None:
    page = _page(render(review_samples.clean()))

    assert "no changes" in page.text
    assert not page.tags["table"]
    assert not page.tags["details"]


@pytest.mark.parametrize("situation", ["broken", "hostile"])
def test_table_has_a_row_of_four_cells_for_each_finding_worst_first(situation: str) -> None:
    report = _sample(situation)
    markdown = render(report)
    page = _page(markdown)

    rows = [line for line in markdown.splitlines() if line.startswith("| :")]
    assert page.tags["tr"] == len(rows) + 1 == len(_shown(report)) + 1
    assert page.tags["td"] == 4 * len(rows)
    order = [":x:", ":warning:", ":information_source:"]
    places = [order.index(row.split()[1]) for row in rows]
    assert places == sorted(places)
    assert "contract violation" in rows[0]


@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_but_own_markup_comes_out(situation: str) -> None:
    markdown = render(_sample(situation))
    page = _page(markdown)

    assert set(page.tags) <= OWN_TAGS | {"strong"}
    assert not page.attributes
    assert page.tags["strong"] == len(re.findall(r"^\*\*[\w ]+\*\*$", markdown, re.MULTILINE))
    assert markdown.count("<details>") == markdown.count("</details>")
    assert not re.search(r"(^|\W)@\w", page.text)
    assert not re.search(r"#\d", page.text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", markdown)


def test_names_are_shown_as_they_are() -> None:
    page = _page(render(review_samples.hostile()))

    shown = review_samples.EVIL.replace("\n", r"\n").replace("\r", r"\r").replace("\x1b", r"\x1b")
    assert shown.replace("\x9b", r"\x9b").replace("\u202e", r"\u202e") in page.code
    assert review_samples.LONG in page.code


@given(name=st.text(st.characters() | st.sampled_from("`|<>*_[]()\\&@#~!$\n \"'"), min_size=1, max_size=40))
def test_no_name_breaks_out(name: str) -> None:
    sample = review_samples.broken().reviews[1].findings[0]
    finding = replace(sample, column=name, message=f"column `{name}` is gone, {name}", before={name: name}, fix=name)
    review = replace(
        review_samples.broken().reviews[1],
        name=name,
        findings=(finding,),
        changes=(ColumnPropertyChanged(name, name, name, name, name),),
    )

    markdown = render(Report(compatibility=Compatibility.FULL, reviews=(review,)))
    page = _page(markdown)

    assert page.tags["td"] == 4
    assert page.tags["details"] == page.tags["summary"] == 1
    assert page.tags["strong"] == 2
    assert set(page.tags) <= OWN_TAGS | {"strong"}
    assert not page.attributes
    assert not re.search(r"(^|\W)@\w", page.text)


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [("see https://example.com now", "https://"), ("see www.example.com", "www."), ("~~gone~~ $x$", "~~")],
)
def test_prose_makes_no_links(text: str, forbidden: str) -> None:
    finding = replace(review_samples.broken().reviews[1].findings[0], message=text, before=None)
    markdown = render(
        Report(
            compatibility=Compatibility.FULL,
            reviews=(replace(review_samples.broken().reviews[1], findings=(finding,)),),
        )
    )

    assert forbidden not in markdown
    assert text in _page(markdown).text


def test_details_are_cut_first() -> None:
    markdown = render(_many(20, 5_000))

    assert len(markdown) <= LIMIT
    assert markdown.count("\n| :") == 20
    left = re.search(r"^([\d,]+) details did not fit", markdown, re.MULTILINE)
    assert left is not None
    kept = markdown.count("`x-a`")
    assert 100 < kept < 5_000
    assert int(left[1].replace(",", "")) == 5_000 - kept
    assert markdown.count("<details>") == markdown.count("</details>") == 1


def test_worst_findings_survive_a_cut() -> None:
    markdown = render(_many(3_000, 10))

    assert len(markdown) <= LIMIT
    rows = markdown.count("\n| :")
    assert markdown.count("\n| :x:") == 300
    assert f"{3_000 - rows:,} more findings did not fit" in markdown
    assert "details did not fit" in markdown


def _crowded(number: int, name: str, *others: Finding) -> Report:
    """Return a report with so many errors of one rule, of columns called so, and other findings behind them."""
    sample = review_samples.broken().reviews[1]
    error = next(each for each in sample.findings if each.rule == "C204")
    crowd = tuple(
        replace(error, table=name, column=f"{name}{each}", message=f"column `{name}{each}` was removed from `{name}`")
        for each in range(number)
    )
    return Report(compatibility=Compatibility.FULL, reviews=(replace(sample, findings=(*crowd, *others)),))


@pytest.mark.parametrize("name", ["a", "long" * 150, "`<@|" * 150])
def test_no_rule_hides_behind_many_findings_of_another(name: str) -> None:
    sample = review_samples.broken().reviews[1]
    error, warning, note = (next(each for each in sample.findings if each.severity is severity) for severity in ORDER)
    removed = replace(error, rule="T102", table="invoices", column=None, message="table `invoices` is gone")
    hidden = (
        removed,
        replace(removed, rule="P001", message="`fail-on` is never", is_violation=False),
        replace(warning, rule="C204", message="column `tax` may be missed"),
        replace(note, rule="T101", message="table `new` is new"),
    )

    markdown = render(_crowded(900, name, *hidden))

    rows = re.findall(r"^\| :(\w+): [\w ]+ \| `(\w+)`", markdown, re.MULTILINE)
    firsts = [("x", "C204"), ("x", "T102"), ("x", "P001"), ("warning", "C204"), ("information_source", "T101")]
    assert len(markdown) <= LIMIT
    assert rows[:3] == firsts[:3]
    assert rows[-2:] == firsts[3:]
    assert set(rows) == set(firsts)
    assert f"{900 + 4 - len(rows)} more findings did not fit" in markdown
    assert f"this comment: C204 error ({900 + 4 - len(rows)})." in markdown


def test_rules_of_which_no_finding_fits_are_named_with_their_counts() -> None:
    names = [f"C{number}" for number in range(300, 400)]
    sample = review_samples.broken().reviews[1].findings[0]
    long = replace(sample, table="@" * 600, column="@" * 600, message="@" * 600, advice="", counted=None)
    findings = tuple(replace(long, rule=rule) for rule in names for _ in range(2))

    markdown = render(_crowded(0, "a", *findings))

    shown = set(re.findall(r"^\| :x: [\w ]+ \| `(\w+)`", markdown, re.MULTILINE))
    left = dict(re.findall(r"(C\d+) error \((\d)\)", markdown))
    assert len(markdown) <= LIMIT
    assert 0 < len(shown) < 10
    assert left == {rule: "1" if rule in shown else "2" for rule in names}


def test_silenced_rules_are_named_where_their_details_do_not_fit() -> None:
    silence = next(each.silence for each in review_samples.broken().reviews[1].findings if each.silence)
    sample = review_samples.broken().reviews[1].findings[0]
    silenced = tuple(replace(sample, rule=rule, silence=silence) for rule in ("T102", "T102", "K501"))

    markdown = render(_crowded(900, "a", *silenced))

    assert "Silenced: T102 error (2), K501 error (1)." in markdown


@pytest.mark.parametrize("length", [1, 300, 5_000])
def test_limit_holds_whatever_the_names(length: int) -> None:
    for name in ("x" * length, "`<@|" * length, "😀" * length):
        report = _many(50, 50, name)
        review = replace(report.reviews[0], name=name)

        markdown = render(replace(report, reviews=(review,) * 200, data=(name,) * 50, unmatched=()))

        assert len(markdown) <= LIMIT
        assert len(markdown.encode()) < 4 * LIMIT
        assert markdown.startswith("<!-- schemactl diff -->\n")
        assert markdown.count("<details>") == markdown.count("</details>")


def test_silences_are_reported() -> None:
    markdown = render(review_samples.broken())

    assert "1 finding silenced." in markdown
    assert "agreed with the analysts" in markdown
    assert "the silence of C204 for `legacy_*` matches no finding; remove it" in markdown


def test_hash_line_gives_both_hashes_whole() -> None:
    markdown = render(review_samples.cosmetic())

    assert f"hash `{review_samples.BASE_HASH}`" in markdown
    assert f"hash `{review_samples.HEAD_HASH}`" in markdown
    assert "only hints and descriptions changed: `description`" in markdown


def test_false_and_zero_are_values_too() -> None:
    assert "<br>after: `false`<br>" in render(review_samples.broken())
