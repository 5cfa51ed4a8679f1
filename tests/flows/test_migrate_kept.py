"""What is kept before something is lost, and what a rollback of a fresh run needs no permission for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from migrated_datasets import FIRST, ID, Dataset, apply, column, put, schema_of, undo

from schemactl.cli.app import run
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.hash import bump
from schemactl.schema.types import Table

pytestmark = pytest.mark.destinations

EXTRA = Table("extra", {"id": ID}, {"write_disposition": "append", "resource": "extra"})
BOTH = bump(replace(FIRST, tables={**FIRST.tables, "extra": EXTRA}))
FILLED = schema_of(
    ID,
    column("amount", "bigint"),
    column("note"),
    column("old", "double"),
    column("state", nullable=False, **{"x-backfill": "new"}),
    before=FIRST,
)


def clean(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["migrate", "clean", "--to", dataset.url, "--yes"]) == 0
    return capsys.readouterr().out.replace("\n  ", "")  # a long path is broken


def test_what_a_destructive_plan_drops_is_kept_until_it_is_cleaned(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert apply(dataset, put(BOTH, "both.yaml")).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.extra VALUES (1), (2)")
    assert "No backups" in clean(dataset, capsys)
    fewer = bump(replace(BOTH, tables=FIRST.tables))

    report = apply(dataset, put(fewer, "fewer.yaml"), allows_destructive=True)

    assert report.outcome is Outcome.DONE
    if dataset.kind == "postgresql":
        (kept,) = [name for (name,) in dataset.sql("SELECT relname FROM pg_class WHERE relname LIKE '%_old_%extra'")]
        assert report.copy is None
        assert undo(dataset).outcome is Outcome.DONE
        assert dataset.sql("SELECT id FROM @.extra ORDER BY 1") == [(1,), (2,)]
        assert apply(dataset, "./fewer.yaml", allows_destructive=True).outcome is Outcome.DONE
    else:
        kept = Path(str(report.copy)).name
        copy = replace(dataset, path=Path(str(report.copy)))
        assert copy.sql("SELECT id FROM @.extra ORDER BY 1") == [(1,), (2,)]
    assert kept in clean(dataset, capsys)
    assert "No backups" in clean(dataset, capsys)
    assert undo(dataset).outcome is Outcome.REFUSED


@pytest.mark.parametrize("on_unfit", [OnUnfit.REFUSE, OnUnfit.EXPAND, OnUnfit.VARIANT])
def test_a_fresh_run_is_undone_without_permission_and_loaded_values_need_it(
    dataset: Dataset, on_unfit: OnUnfit
) -> None:
    assert apply(dataset, put(FIRST, "first.yaml")).outcome is Outcome.DONE
    unfit = "'7.5'" if on_unfit is OnUnfit.REFUSE else "'abc'"
    dataset.sql(f"INSERT INTO @.orders VALUES (1, 5, 'x', '1.5'), (2, 7, NULL, {unfit}), (3, NULL, 'y', NULL)")
    before = dataset.sql("SELECT * FROM @.orders ORDER BY id")
    reference, options = put(FILLED, "filled.yaml"), PlanOptions(on_unfit=on_unfit)
    assert apply(dataset, reference, options).outcome is Outcome.DONE

    report = undo(dataset)

    assert report.outcome is Outcome.DONE, report.blockers
    assert dataset.sql("SELECT * FROM @.orders ORDER BY id") == before

    assert apply(dataset, reference, options).outcome is Outcome.DONE
    dataset.sql("UPDATE @.orders SET state = 'loaded' WHERE id = 3")
    dataset.sql("UPDATE @.orders SET old = 4.5 WHERE id = 3")
    messages = [blocker.message for blocker in undo(dataset).blockers]
    lost = ["1 value of `orders.state` would be dropped"]
    if on_unfit is not OnUnfit.REFUSE:
        lost.append("1 value of `orders.old` would be dropped")  # by the name that it has now
    assert sorted(messages) == sorted(lost)
