"""Which steps are undone together by writing a table's rows anew once; the tables must say whether they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from migrated_datasets import column

from schemactl.destinations import delta, iceberg, parquet, spark
from schemactl.migration.effects import apply_to_model, are_done
from schemactl.migration.planner import PlannedStep
from schemactl.migration.rewrites import find_rewrites_back, undo_steps
from schemactl.migration.steps import AddColumn, Backfill, ChangeType, FillColumn, RenameColumn, RenameTable, Step
from schemactl.schema.changes import ColumnRenamed
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Table

pytestmark = pytest.mark.destinations

A, B, N = column("a"), column("b"), column("n", "bigint")
RENAME = RenameColumn("t", "a", "c")
RETYPE = ChangeType("t", column("c"), column("c", "bigint"), Conversion.DEPENDS)
ADD = AddColumn("t", column("d", "date"))
OTHER = ChangeType("u", N, column("n", "double"))
NEW = column("a__new_1", "bigint")
EXPAND: tuple[Step, ...] = (
    AddColumn("t", NEW),
    Backfill("t", A, NEW, Conversion.DEPENDS),
    RenameColumn("t", "a", "a__before_1"),
    RenameColumn("t", "a__new_1", "a"),
)
TURN = (RenameColumn("t", "a", "x"), RenameColumn("t", "n", "a"), RenameColumn("t", "x", "n"))


def planned(module: Any, steps: tuple[Step, ...]) -> list[PlannedStep]:
    reason = ColumnRenamed("t", "a", "c")
    found = []
    for step in steps:
        way = step.way(module.ABILITIES)
        found.append(PlannedStep(step, reason, way, step.risk(way, None), step.undo_at(module.ABILITIES)))
    return found


def tables() -> dict[str, Table]:
    return {name: Table(name, {each.name: each for each in (A, B, N)}) for name in ("t", "u")}


@pytest.mark.parametrize(
    ("module", "steps", "found"),
    [
        (parquet, (RENAME, ADD, RETYPE), [(3, 2, 1)]),
        (delta, (RENAME, ADD, RETYPE), [(3, 2, 1)]),
        (spark, (RENAME, ADD, RETYPE), [(3, 2, 1)]),
        # Iceberg renames and drops in its catalog.
        (iceberg, (RENAME, ADD, RETYPE), [(3,), (2,), (1,)]),
        (parquet, (OTHER, RENAME, RETYPE), [(3, 2), (1,)]),
        (parquet, (RENAME, OTHER, RETYPE), [(3,), (2,), (1,)]),
        (parquet, (RenameTable("s", "t"), RENAME, RETYPE), [(3, 2), (1,)]),
        # What was filled goes with its column, and says nothing by itself.
        (parquet, EXPAND, [(4, 3, 2, 1)]),
        (parquet, (ADD, FillColumn("t", ADD.column, "2024-01-01"), RENAME), [(3, 2, 1)]),
        (parquet, (FillColumn("t", B, "x"), RENAME), [(2,), (1,)]),
        # The tables look the same before and after all three: who was killed could not record it.
        (parquet, TURN, [(3, 2), (1,)]),
    ],
)
def test_steps_that_write_the_same_rows_anew_are_undone_at_once(
    module: Any, steps: tuple[Step, ...], found: list[tuple[int, ...]]
) -> None:
    of_run = planned(module, steps)
    model = tables()
    if isinstance(steps[0], RenameTable):
        model["s"] = replace(model.pop("t"), name="s")
    apply_to_model(model, steps)
    numbers = range(len(steps), 0, -1)

    made = list(find_rewrites_back(of_run, numbers, model, module.ABILITIES, module.stored))

    assert made == found
    for together in made:
        of_them = [of_run[number - 1].step for number in reversed(together)]
        if len(together) > 1:
            assert are_done(of_them, model, module.stored)
        apply_to_model(model, undo_steps(of_run, together))
        if len(together) > 1:
            assert not are_done(of_them, model, module.stored)


def test_steps_between_which_one_is_left_are_not_undone_at_once() -> None:
    of_run = planned(parquet, (RENAME, ADD, RETYPE))
    model = tables()
    apply_to_model(model, (RENAME, RETYPE))
    found = find_rewrites_back(of_run, (3, 1), model, parquet.ABILITIES, parquet.stored)
    assert list(found) == [(3,), (1,)]
