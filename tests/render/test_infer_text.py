from __future__ import annotations

import re
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from schemactl.inference.evidence import Position
from schemactl.inference.findings import STATED
from schemactl.inference.report import ColumnFinding, InferenceReport, NullFinding
from schemactl.render.console import Look
from schemactl.render.infer import print_inference

SITUATIONS = ("new_schema", "troubled", "unchanged", "hostile")
AFTER_HASH = "uX1Tt0p5dC8n3gkWbLQe6o2rVhYf9sM4iZaJx7KqB0E="


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_report_reads_well_in_a_terminal(
    situation: str, width: int, request: pytest.FixtureRequest, snapshot: SnapshotAssertion
) -> None:
    report = request.getfixturevalue(situation)

    printed = print_inference(report, Look(width))

    assert max(map(len, printed.splitlines())) <= width
    assert printed == snapshot


@pytest.mark.parametrize("width", [80, 160])
def test_verbose_report_shows_all_evidence(
    width: int, new_schema: InferenceReport, snapshot: SnapshotAssertion
) -> None:
    assert print_inference(new_schema, Look(width, is_verbose=True)) == snapshot


def test_quiet_report_says_only_what_needs_attention(
    new_schema: InferenceReport,
    troubled: InferenceReport,
    unchanged: InferenceReport,
    snapshot: SnapshotAssertion,
) -> None:
    assert print_inference(new_schema, Look(80, is_quiet=True)) == ""
    assert print_inference(replace(new_schema, is_check=True), Look(80, is_quiet=True)).startswith("nothing")
    assert print_inference(unchanged, Look(80, is_quiet=True)) == ""
    assert print_inference(troubled, Look(80, is_quiet=True)) == snapshot


def test_colored_report_has_the_words_of_the_plain_one(troubled: InferenceReport, snapshot: SnapshotAssertion) -> None:
    colored = print_inference(troubled, Look(80, color=True))

    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == print_inference(troubled, Look(80))
    assert colored == snapshot


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("width", [20, 80, 160])
def test_no_fact_is_cut_off_however_narrow_the_terminal(
    situation: str, width: int, request: pytest.FixtureRequest
) -> None:
    report = request.getfixturevalue(situation)

    def facts(look: Look) -> str:
        return re.sub(r"[\s│├└─]", "", print_inference(report, look))

    assert facts(Look(width)) == facts(Look(None))


def test_columns_of_the_call_are_not_said_to_be_dlts(new_schema: InferenceReport) -> None:
    first, *others = new_schema.tables
    stated = ColumnFinding("note", None, "text", reason=STATED)
    report = replace(new_schema, tables=(replace(first, columns=(*first.columns, stated)), *others))

    lines = [line.lstrip("│├└─ ") for line in print_inference(report, Look(None)).splitlines()]
    assert "+ note: declared, no values yet" in lines
    assert "+ _dlt_load_id, _dlt_id: added by dlt" in lines


def test_values_that_leave_a_column_null_are_said_to_go_elsewhere(new_schema: InferenceReport) -> None:
    null = NullFinding("orders", "id", "$.id", 1, Position("orders.jsonl", 2), "id__v_text")
    printed = print_inference(replace(new_schema, nulls=(null,)), Look(None))

    assert "orders.id is required, but 1 value of $.id goes to id__v_text instead, first in orders.jsonl:2" in printed


def test_nested_table_stands_under_its_parent_whatever_the_order(new_schema: InferenceReport) -> None:
    backwards = replace(new_schema, tables=new_schema.tables[::-1])

    assert print_inference(backwards, Look(80)) == print_inference(new_schema, Look(80))


def test_lines_stay_whole_where_no_terminal_is(new_schema: InferenceReport) -> None:
    lines = print_inference(new_schema, Look(None)).splitlines()

    expected = 'id__v_text: 6,012 of 600,000 values are text, first in orders.jsonl:137: "idx-nr-136"'
    assert any(line.endswith(expected) for line in lines)
    assert any("created_at: text -> timestamp, 45,999 of 45,999 values" in line for line in lines)


@pytest.mark.parametrize("is_verbose", [False, True])
@pytest.mark.parametrize("color", [False, True])
def test_text_from_data_cannot_steer_the_terminal(is_verbose: bool, color: bool, hostile: InferenceReport) -> None:
    printed = print_inference(hostile, Look(80, color=color, is_verbose=is_verbose))

    own_colors = re.sub(r"\x1b\[[\d;]*m", "", printed) if color else printed
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", own_colors)
    if color:
        assert "\x1b[31m\\x07" not in printed
    assert "[red]" in own_colors
    assert ":smile:" in own_colors
    printed.encode("utf-8")


def test_many_files_are_listed_on_demand_only(new_schema: InferenceReport) -> None:
    files = tuple(replace(new_schema.files[0], path=f"part-{number:04}.jsonl") for number in range(4_000))
    report = replace(new_schema, files=files, tables=())

    short = print_inference(report, Look(80)).splitlines()

    assert len(short) < 20
    assert "  and 3,990 more files (--verbose lists all)" in short
    assert "  part-3999.jsonl: 600,000 documents" in print_inference(report, Look(80, is_verbose=True)).splitlines()


def test_variants_stand_beside_their_column(new_schema: InferenceReport) -> None:
    orders = new_schema.tables[0]
    identifier, variant, *others = orders.columns
    report = replace(new_schema, tables=(replace(orders, columns=(identifier, *others, variant)),))

    lines = print_inference(report, Look(None)).splitlines()

    places = [next(n for n, line in enumerate(lines) if f"+ {name}:" in line) for name in ("id", "id__v_text")]
    assert places[1] == places[0] + 1


@pytest.mark.parametrize(
    ("precision", "timezone", "reported"),
    [
        (6, False, "timestamp(6) without time zone"),
        (None, False, "timestamp without time zone"),
        (6, True, "timestamp(6)"),
        (6, None, "timestamp(6)"),
        (None, None, "timestamp"),
    ],
)
def test_timestamps_without_a_time_zone_are_reported_as_such(
    precision: int | None, timezone: bool | None, reported: str, troubled: InferenceReport
) -> None:
    paid = replace(troubled.tables[0].columns[1], is_new=False, precision=precision, timezone=timezone)
    new = replace(paid, is_new=True, before=None, kinds={})
    report = replace(troubled, tables=(replace(troubled.tables[0], columns=(paid, replace(new, name="local"))),))

    lines = print_inference(report, Look(None)).splitlines()

    assert any(line.endswith(f"~ paid: was text, now {reported}, 4 values") for line in lines)
    assert any(line.endswith(f"+ local: {reported}, 4 values") for line in lines)


def test_name_without_visible_ends_is_quoted(new_schema: InferenceReport) -> None:
    column = replace(new_schema.tables[0].columns[0], name="")
    report = replace(new_schema, tables=(replace(new_schema.tables[0], columns=(column,)),))

    assert '+ "": bigint' in print_inference(report, Look(80))


def test_refused_report_claims_no_change(troubled: InferenceReport) -> None:
    lines = print_inference(replace(troubled, before_hash=None), Look(None)).splitlines()

    assert lines[0].startswith("shop: refused")
    assert lines[-1] == "nothing written: the data violates a frozen contract"
    assert not [line for line in lines if AFTER_HASH in line]
