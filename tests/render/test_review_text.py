from __future__ import annotations

import re
from dataclasses import replace

import pytest
import review_samples
from syrupy.assertion import SnapshotAssertion

from schemactl.errors import Location
from schemactl.render.console import Look
from schemactl.render.review_text import print_review
from schemactl.render.review_words import values
from schemactl.review.report import Compatibility, Counted, Finding, Report, Review
from schemactl.review.severity import Impact, Severity
from schemactl.schema.changes import TableAdded
from schemactl.schema.types import Table

SITUATIONS = ("clean", "cosmetic", "broken", "hostile")
WHOLE = Look(None)


def _sample(situation: str) -> Report:
    report: Report = getattr(review_samples, situation)()
    return report


def _with(*findings: Finding) -> Report:
    """Return a report of one schema whose head adds nothing but these findings."""
    review = replace(review_samples.clean().reviews[0], findings=findings)
    return Report(compatibility=Compatibility.FULL, reviews=(review,))


def _found(rule: str) -> Finding:
    found = (each for review in review_samples.broken().reviews for each in review.findings)
    return next(each for each in found if each.rule == rule)


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_review_reads_well_in_a_terminal(situation: str, width: int, snapshot: SnapshotAssertion) -> None:
    printed = print_review(_sample(situation), Look(width))

    assert max(map(len, printed.splitlines())) <= width
    assert printed == snapshot


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", ["cosmetic", "broken"])
def test_verbose_review_shows_every_change(situation: str, width: int, snapshot: SnapshotAssertion) -> None:
    assert print_review(_sample(situation), Look(width, is_verbose=True)) == snapshot


@pytest.mark.parametrize("situation", ["broken", "hostile"])
@pytest.mark.parametrize("width", [20, 80])
@pytest.mark.parametrize("is_verbose", [False, True])
def test_no_fact_is_cut_off_however_narrow_the_terminal(situation: str, width: int, is_verbose: bool) -> None:
    def facts(look: Look) -> str:
        # A broken line that would be a command of a log begins with a backslash.
        printed = re.sub(r"(?m)^(\s*)\\(?=::|##)", r"\1", print_review(_sample(situation), look))
        return re.sub(r"[\s│├└─]", "", printed)

    assert facts(Look(width, is_verbose=is_verbose)) == facts(Look(None, is_verbose=is_verbose))


def test_colored_review_has_the_words_of_the_plain_one() -> None:
    colored = print_review(review_samples.broken(), Look(80, color=True))

    assert "\x1b[1;31m" in colored
    words = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", colored).splitlines()]
    assert words == print_review(review_samples.broken(), Look(80)).splitlines()


@pytest.mark.parametrize("look", [Look(80, color=True), Look(80, is_verbose=True), Look(80, is_quiet=True), Look(80)])
def test_text_from_schemas_cannot_steer_the_terminal(look: Look) -> None:
    printed = print_review(review_samples.hostile(), look)

    own = re.sub(r"\x1b\[[\d;]*m", "", printed) if look.color else printed
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", own)
    assert "\x1b[31m\\x9b" not in printed
    assert "[red]" in own
    # A line that starts so is a command to GitHub's runners.
    assert not [line for line in own.splitlines() if line.startswith("::")]


def test_unchanged_schema_says_no_changes() -> None:
    lines = print_review(review_samples.clean(), WHOLE).splitlines()

    assert lines[0] == "orders: unchanged, version 3, hash Rk0y7wYH… on both sides"
    assert lines[-1] == "no changes"
    assert print_review(Report(compatibility=Compatibility.FULL), Look(80, is_quiet=True)) == "no changes\n"


def test_many_unchanged_schemas_take_one_line() -> None:
    one = review_samples.clean().reviews[0]
    report = Report(
        compatibility=Compatibility.FULL,
        reviews=(*(replace(one, name=f"s{number}") for number in range(40)), *review_samples.cosmetic().reviews),
    )

    lines = print_review(report, WHOLE).splitlines()

    assert len(lines) < 12
    assert any(line.startswith("unchanged: s0, s1, ") and line.endswith(", s39") for line in lines)
    assert "s7: unchanged, version 3" in print_review(report, Look(None, is_verbose=True))


def test_quiet_review_is_errors_and_warnings_one_a_line_and_the_summary() -> None:
    lines = print_review(review_samples.broken(), Look(None, is_quiet=True)).splitlines()

    assert len(lines) == 9
    assert lines[0] == "schemas/orders.schema.yaml:21:5: error C204: column `note` was removed from `orders`" + (
        " — breaks readers, stored rows, may break writers"
    )
    assert sum(": warning " in line for line in lines) == 2
    assert not [line for line in lines if "T104" in line or "T101" in line]
    assert lines[-3] == "warning: pyproject.toml:41:1: the silence of C204 for `legacy_*` matches no finding; remove it"
    assert lines[-1].startswith("4 errors, 2 warnings, 4 notes — ")


def test_quiet_finding_without_a_file_names_its_table() -> None:
    finding = replace(_found("C204"), location=None, base_location=None)

    assert print_review(_with(finding), Look(None, is_quiet=True)).startswith(
        "schema orders, orders.note: error C204: "
    )


def test_finding_that_only_the_base_holds_points_there() -> None:
    finding = replace(_found("C204"), location=None)

    assert "at main:schemas/orders.schema.yaml:34:7" in print_review(_with(finding), WHOLE)


@pytest.mark.parametrize(
    ("impact", "is_violation", "words"),
    [
        (Impact(readers=Severity.ERROR), False, "1 error — breaks readers"),
        (Impact(readers=Severity.WARN, data=Severity.ERROR), False, "1 error — breaks stored data"),
        (Impact(Severity.ERROR, Severity.ERROR, Severity.NONE), False, "1 error — breaks readers and writers"),
        (Impact(Severity.ERROR, Severity.ERROR, Severity.ERROR), False, "breaks readers, writers and stored data"),
        (Impact(), True, "1 error — breaks the contract"),
        (Impact(), False, "1 error"),
    ],
)
def test_summary_says_who_is_broken(impact: Impact, is_violation: bool, words: str) -> None:
    finding = replace(_found("C204"), impact=impact, is_violation=is_violation)

    assert print_review(_with(finding), WHOLE).splitlines()[-1].endswith(words)


def test_warning_breaks_nobody() -> None:
    finding = replace(_found("D303"), impact=Impact(readers=Severity.ERROR))

    assert print_review(_with(finding), WHOLE).splitlines()[-1] == "1 warning"


def test_silenced_findings_do_not_count_and_are_listed_with_their_reason() -> None:
    report = _with(_found("T104"), _found("H605"))

    short, long = (print_review(report, Look(None, is_verbose=is_verbose)) for is_verbose in (False, True))

    assert short.splitlines()[-1] == long.splitlines()[-1] == "no changes"
    for printed in (short, long):
        assert "T104" in printed
        assert "silenced until 2026-12-31: agreed with the analysts (s.toml:4)" in printed
    assert "H605" not in short
    assert "note H605: " in long


def test_contract_violation_stands_apart_from_the_tree() -> None:
    lines = print_review(review_samples.broken(), WHOLE).splitlines()

    start = next(number for number, line in enumerate(lines) if "X702" in line)
    assert lines[start].startswith("✗ contract violation X702: ")
    assert lines[start - 1] == ""
    assert lines[start + 1] == "  in schema orders, refunds"
    assert sum("violation X702" in line for line in lines) == 1


@pytest.mark.parametrize(("counted", "words"), [
    (Counted(1, 1, (), None), "data: 1 of 1 value does not survive"),
    (Counted(9, 2, ("a", 1), Location("x.jsonl", 4)), '2 of 9 values do not survive, such as "a", 1, first in x.jso'),
    (Counted(5_000, 0), "data: all 5,000 values survive"),
    (Counted(1, 0), "data: the only value survives"),
    (Counted(0, 0), "data: no values"),
])  # fmt: skip
def test_finding_says_what_the_data_says(counted: Counted, words: str) -> None:
    assert words in print_review(_with(replace(_found("C204"), counted=counted)), WHOLE)


def test_values_are_shown_where_nothing_else_reports_them() -> None:
    finding = replace(_found("D301"), message="its type changed")

    assert "  bigint -> double" in print_review(_with(finding), WHOLE)
    assert "bigint -> double" not in print_review(_with(_found("D301")), WHOLE)


def test_edited_file_is_reported_in_one_line_with_the_way_out() -> None:
    printed = print_review(review_samples.broken(), WHOLE)

    (line,) = (line for line in printed.splitlines() if "edited by hand" in line)
    assert line.endswith("edit the import file")


def test_an_edited_file_that_is_both_sides_is_reported_once() -> None:
    report = review_samples.broken()
    (edited,) = (each for each in report.reviews if each.head and each.head.is_edited)
    both = replace(edited, base=edited.head)
    assert print_review(replace(report, reviews=(both,)), WHOLE).count("edited by hand") == 1


def test_schema_on_one_side_only_is_new_or_removed() -> None:
    new = review_samples.broken().reviews[0]
    gone = replace(new, base=new.head, head=None, changes=(), findings=())

    assert print_review(Report(compatibility=Compatibility.FULL, reviews=(new,)), WHOLE).startswith(
        "customers: new schema, version 1, hash uX1Tt0p5…\n  in schemas/customers.schema.yaml\n"
    )
    assert print_review(Report(compatibility=Compatibility.FULL, reviews=(gone,)), WHOLE).startswith(
        "customers: schema removed, version 1"
    )


def test_changes_that_the_hash_leaves_out_are_reported_as_such() -> None:
    review = review_samples.cosmetic().reviews[0]
    assert review.base is not None
    same: Review = replace(review, head=replace(review.base, number=4), is_cosmetic=False)

    printed = print_review(Report(compatibility=Compatibility.FULL, reviews=(same,)), WHOLE)

    assert "version 3 -> 4, hash Rk0y7wYH… on both sides" in printed
    assert "5 changes of keys that the hash omits" in printed


@pytest.mark.parametrize(("message", "before", "after", "shown"), [
    ("the contract on `columns` goes from `freeze` to `evolve`", {"columns": "freeze"}, {"columns": "evolve"}, None),
    ("the key changes from (`a`) to nothing", ["a"], [], None),
    ("`c` is permitted now", ["a", "b"], ["a", "b", "c"], '["a", "b"] -> ["a", "b", "c"]'),
    ("hands down `{}`", {"a": "b"}, {}, '{"a": "b"} -> {}'),
    ("another order", ["a", "b"], ["b", "a"], '["a", "b"] -> ["b", "a"]'),
    ("another order", ["a" * 50, "b" * 50], ["b" * 50, "a" * 50], None),
    ("another size", None, 3, None),
])  # fmt: skip
def test_values_that_the_sentence_reports_are_not_reported_again(
    message: str, before: object, after: object, shown: str | None
) -> None:
    assert values(replace(_found("C204"), message=message, before=before, after=after)) == shown


def test_a_value_that_is_the_same_on_both_sides_is_no_change_to_show() -> None:
    same = replace(_found("C204"), before="abc=", after="abc=")

    assert "abc=" not in print_review(_with(same), WHOLE)


@pytest.mark.parametrize("is_quiet", [False, True])
@pytest.mark.parametrize(
    ("impact", "ending"),
    [
        (Impact(readers=Severity.ERROR, data=Severity.ERROR), "breaks readers, stored rows"),
        (Impact(Severity.ERROR, Severity.ERROR, Severity.DEPENDS), "breaks readers, writers, may break stored rows"),
        (Impact(readers=Severity.WARN, writers=Severity.INFO), "may break readers"),
        (Impact(readers=Severity.INFO), "fails the review"),
    ],
)
def test_each_finding_ends_with_who_it_breaks(impact: Impact, ending: str, is_quiet: bool) -> None:
    finding = replace(_found("C204"), impact=impact)
    printed = print_review(_with(finding), replace(WHOLE, is_quiet=is_quiet))

    assert f"{finding.message} — {ending}\n" in printed


def test_beside_a_guess_stands_how_to_state_and_to_refuse_it() -> None:
    finding = replace(_found("C204"), advice="a guess: set `x-renamed-from: note` on `remark` if it is so")

    assert "a guess: set `x-renamed-from: note` on `remark`" in print_review(_with(finding), WHOLE)


def test_a_broken_contract_says_so_at_its_end() -> None:
    violation = next(
        each for review in review_samples.broken().reviews for each in review.findings if each.is_violation
    )
    printed = print_review(_with(violation), WHOLE)

    assert next(line for line in printed.splitlines() if violation.message in line).endswith(", the contract")


def _many(rule: str, number: int) -> list[Finding]:
    finding = replace(_found("C204"), rule=rule, table="t", silence=None)
    return [replace(finding, column=f"c{place}", fingerprint=f"{place:012}") for place in range(number)]


@pytest.mark.parametrize("is_quiet", [False, True])
def test_of_very_many_findings_the_first_of_each_kind_are_shown_and_the_others_counted(is_quiet: bool) -> None:
    warnings = [replace(each, severity=Severity.WARN) for each in _many("C204", 60)]
    silence = review_samples.Silence("C204", "nobody reads it")
    silenced = [replace(each, silence=silence) for each in _many("C204", 70)]
    report = _with(*_many("C204", 10_000), *warnings, *silenced, *_many("D302", 3))

    printed = print_review(report, Look(None, is_quiet=is_quiet))

    assert len(printed.splitlines()) < 700
    assert printed.count("error C204") == (50 if is_quiet else 50 + 50)  # silenced ones are listed apart
    assert "and 9,950 more errors of C204 (--verbose lists all)" in printed
    assert "and 10 more warnings of C204 (--verbose lists all)" in printed
    assert "and 20 more silenced errors of C204 (--verbose lists all)" in printed
    assert printed.count("D302: ") == (3 if is_quiet else 4)  # and its fix
    assert "10,003 errors, 60 warnings" in printed
    assert "more errors" not in print_review(_with(*_many("C204", 60)), Look(None, is_verbose=True))


def test_of_very_many_tables_and_schemas_the_first_are_shown() -> None:
    review = review_samples.clean().reviews[0]
    added = tuple(TableAdded(Table(f"t{number}", {}, {})) for number in range(120))
    reviews = tuple(replace(review, name=f"s{number}", changes=added[:1]) for number in range(80))

    one = print_review(Report(compatibility=Compatibility.FULL, reviews=(replace(review, changes=added),)), WHOLE)
    many = print_review(Report(compatibility=Compatibility.FULL, reviews=reviews), WHOLE)

    assert "and 70 more changed tables (--verbose lists all)" in one
    assert one.count("+ t") == 50
    assert "and 30 more schemas with changes (--verbose lists all)" in many
    assert many.count("+ t0") == 50


def test_a_schema_whose_findings_are_left_out_is_not_called_unchanged() -> None:
    review = review_samples.clean().reviews[0]
    reviews = tuple(replace(review, name=f"s{number}", findings=(_found("C204"),)) for number in range(120))
    printed = print_review(Report(compatibility=Compatibility.FULL, reviews=reviews), WHOLE)
    assert "unchanged" not in printed.replace("unchanged, version", "")
    assert "and 70 more errors of C204" in printed
    assert "and 70 more schemas with changes" in printed
