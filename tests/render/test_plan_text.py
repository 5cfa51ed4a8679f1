from __future__ import annotations

import json
import re

import plan_samples
import pytest
from command_schemas import check_document
from syrupy.assertion import SnapshotAssertion

from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.plan_documents import read_plan, write_plan
from schemactl.render.console import Look
from schemactl.render.escaping import is_unsafe
from schemactl.render.plan import print_plan

SITUATIONS = ("empty", "changed", "expanded", "stuck", "shared", "own", "hostile")


def _sample(situation: str) -> MigrationPlan:
    plan: MigrationPlan = getattr(plan_samples, situation)()
    return plan


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_plan_reads_well_in_a_terminal(situation: str, width: int, snapshot: SnapshotAssertion) -> None:
    printed = print_plan(_sample(situation), Look(width))

    assert max(map(len, printed.splitlines())) <= width
    assert printed == snapshot


def test_verbose_plan_shows_how_each_step_is_undone(snapshot: SnapshotAssertion) -> None:
    assert print_plan(_sample("changed"), Look(80, is_verbose=True)) == snapshot


def test_quiet_plan_is_a_line_a_step(snapshot: SnapshotAssertion) -> None:
    assert print_plan(_sample("changed"), Look(None, is_quiet=True)) == snapshot


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("width", [20, 80])
def test_no_fact_is_cut_off_however_narrow_the_terminal(situation: str, width: int) -> None:
    def facts(look: Look) -> list[str]:
        # Beside each other in a wide terminal, below each other in a narrow one.
        return sorted(re.sub(r"\s", "", print_plan(_sample(situation), look)))

    assert facts(Look(width)) == facts(Look(None))


@pytest.mark.parametrize("look", [Look(80), Look(None), Look(80, color=True), Look(80, is_quiet=True)])
def test_nothing_in_a_plan_steers_the_terminal(look: Look) -> None:
    printed = print_plan(_sample("hostile"), look)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed) if look.color else printed

    assert not [each for each in plain if each != "\n" and is_unsafe(each)]
    assert not [line for line in plain.splitlines() if line.lstrip().startswith("::")]


def test_verbose_plan_shows_what_undoes_own_sql() -> None:
    printed = print_plan(_sample("own"), Look(100, is_verbose=True))

    assert "│ CREATE VIEW ${dataset}.totals" in printed
    assert "CREATE VIEW" not in print_plan(_sample("own"), Look(100))


def test_color_marks_what_is_added_changed_and_dropped() -> None:
    printed = print_plan(_sample("changed"), Look(80, color=True))

    assert "\x1b[32m+ " in printed
    assert "\x1b[33m~ " in printed
    assert "\x1b[31m- " in printed


@pytest.mark.parametrize("situation", SITUATIONS)
def test_plan_document_follows_the_shipped_schema_and_is_a_plan_file(situation: str) -> None:
    text = write_plan(_sample(situation))

    check_document(json.loads(text), "migrate-plan")

    assert read_plan(text, "shop.plan.json") == _sample(situation)
