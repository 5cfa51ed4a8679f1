"""What a rollback shows before it undoes anything."""

from __future__ import annotations

from dataclasses import replace

import plan_samples
import pytest
from syrupy.assertion import SnapshotAssertion

from schemactl.migration.reports import Outcome, RollbackReport, UndoneStep
from schemactl.render.console import Look
from schemactl.render.migrate import print_rollback


def _report() -> RollbackReport:
    """Two steps that write a table's rows anew once, and three that one copy undoes."""
    plan = plan_samples.shared()
    copies = tuple(statement for planned in plan.steps[:3] for statement in planned.undo_statements)
    reported = {4: plan.steps[3].undo_statements, 1: copies}
    undone = []
    for number, planned in reversed(list(enumerate(plan.steps, 1))):
        shown = replace(planned, undo_statements=reported.get(number, ()))
        undone.append(UndoneStep("r1", number, shown, done_with=2 if number > 3 else 5))
    return RollbackReport(plan.place, "shop", "new", "old", tuple(undone), Outcome.DONE)


def test_a_rollback_reports_what_is_undone_at_once(snapshot: SnapshotAssertion) -> None:
    assert print_rollback(_report(), Look(100)) == snapshot


@pytest.mark.parametrize("look", [Look(100), Look(40)])
def test_each_statement_of_a_rollback_is_shown_once(look: Look) -> None:
    printed = print_rollback(_report(), look)

    assert printed.count("CHANGETYPE") == 4
    assert printed.count("undone at once") == 2


def test_a_rollback_shows_what_undoes_own_sql_the_last_one_first(snapshot: SnapshotAssertion) -> None:
    plan = plan_samples.own()
    undone = [
        UndoneStep("r1", number, planned, own=plan.own_of(number))
        for number, planned in reversed(list(enumerate(plan.steps, 1)))
    ]
    report = RollbackReport(plan.place, "shop", "new", "old", tuple(undone), Outcome.DONE)
    assert print_rollback(report, Look(100)) == snapshot


def test_a_quiet_rollback_shows_no_statements() -> None:
    assert "CHANGETYPE" not in print_rollback(_report(), Look(100, is_quiet=True))
