"""Plans in a comment on a pull request."""

from __future__ import annotations

import re
from dataclasses import replace

import plan_samples

from schemactl.migration.steps import AddColumn, DropColumn
from schemactl.migration.ways import Risk
from schemactl.render.findings import render_markdown
from schemactl.render.reviews.markdown import LIMIT
from schemactl.review.report import Compatibility, Report
from schemactl.schema.types import Column


def test_a_step_that_loses_data_does_not_hide_behind_many_that_are_safe() -> None:
    sample = plan_samples.changed()
    safe = next(planned for planned in sample.steps if planned.risk is Risk.SAFE)
    names = [f"column_{number}_{'x' * 60}" for number in range(2_000)]
    crowd = [replace(safe, step=AddColumn("orders", Column(name, {"data_type": "text"}))) for name in names]
    drop = replace(safe, step=DropColumn("orders", Column("legacy", {"data_type": "text"})), risk=Risk.LOSES_DATA)

    markdown = render_markdown(
        Report(compatibility=Compatibility.FULL), [replace(sample, steps=(*crowd, drop))], "Migrations"
    )

    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", markdown, re.MULTILINE)]
    assert len(markdown) <= LIMIT
    assert numbers == [*range(1, len(numbers)), 2_001]
    assert "drop column `orders.legacy`" in markdown
    left = f"{2_001 - len(numbers):,}"
    assert f"{left} more steps did not fit into this comment: safe ({left})." in markdown


def test_plans_that_do_not_fit_are_counted_with_the_risks_of_their_steps() -> None:
    sample = plan_samples.changed()
    risks = [planned.risk for planned in sample.steps]

    markdown = render_markdown(Report(compatibility=Compatibility.FULL), [sample] * 300, "Migrations")

    shown = len(re.findall(r"^\*\*", markdown, re.MULTILINE))
    assert len(markdown) <= LIMIT
    assert 0 < shown < 300
    assert f"{300 - shown} more plans did not fit into this comment: " in markdown
    assert f"loses data ({risks.count(Risk.LOSES_DATA) * (300 - shown)})" in markdown
