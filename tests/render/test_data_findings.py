"""What was found in data, in the formats of CI systems."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from schemactl.inference.evidence import Position
from schemactl.inference.report import InferenceReport
from schemactl.render.findings import render_data_findings
from schemactl.render.infer import show_violation


def test_annotations_name_the_column_that_has_another_type_and_the_first_place(troubled: InferenceReport) -> None:
    troubled = replace(troubled, violations=(replace(troubled.violations[0], variant_of="id"),))

    for name in ("github", "markdown"):
        out = render_data_findings(troubled, name, "schemactl infer")
        assert "id__v_text" not in out
        assert re.search(r"orders\.id(`|</code>): text, expected bigint", out)

    first = render_data_findings(troubled, "github", "schemactl infer").splitlines()[0]
    assert first.startswith("::error file=data/orders.jsonl,line=137,")


@pytest.mark.parametrize(
    ("source", "place"), [("table:c.s.orders", "::error title="), ("a:b.jsonl", "::error file=a%3Ab.jsonl,line=137,")]
)
def test_a_table_is_no_file_and_a_colon_no_revision(troubled: InferenceReport, source: str, place: str) -> None:
    violation = replace(troubled.violations[0], first=Position(source, 137))

    first = render_data_findings(replace(troubled, violations=(violation,)), "github", "schemactl infer")

    assert first.startswith(place)


def test_records_that_cannot_be_read_are_placed_where_the_first_is_known(troubled: InferenceReport) -> None:
    lines = render_data_findings(troubled, "github", "schemactl infer").splitlines()

    unread = [line for line in lines if "cannot be read" in line]
    assert unread[0].startswith("::warning file=data/orders.jsonl,line=41,")
    assert "2 records cannot be read, first at data/orders.jsonl:41%0A" in unread[0]
    assert unread[1].startswith("::warning file=data/a.jsonl,title=")
    assert "1 record cannot be read%0A" in unread[1]


def test_what_goes_with_a_rejected_row_says_so(troubled: InferenceReport) -> None:
    gone = replace(troubled.violations[1], goes_with_row=True)
    assert "(contract columns=discard_value; rejected with its row)" in show_violation(gone).plain
    assert "with its row" not in show_violation(troubled.violations[1]).plain
