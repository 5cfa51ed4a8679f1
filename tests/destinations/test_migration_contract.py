"""A migration does the same everywhere: it is planned, applied, verified, undone, and loads go on after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from loaded_datasets import KINDS, Dataset, new_dataset
from migrated_datasets import apply, plan, put, undo
from staged_loads import TEXT, order, orders, package, shop

from schemactl.errors import InputError
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.schema.hash import bump
from schemactl.schema.types import Column, Schema

BIGINT = {"data_type": "bigint"}
DOUBLE = {"data_type": "double"}
FIRST = shop(orders({"amount": BIGINT, "old": TEXT}))


def version_after(columns: dict[str, dict[str, Any] | None], before: Schema = FIRST) -> Schema:
    """Return the schema with other columns: new, of another type, or none for a column that goes."""
    table = before.tables["orders"]
    changed = {**table.columns, **{name: Column(name, kind) for name, kind in columns.items() if kind is not None}}
    kept = {name: column for name, column in changed.items() if columns.get(name, {}) is not None}
    return bump(before.with_table(replace(table, columns=kept)))


SECOND = version_after(
    {
        "amount": DOUBLE,
        "note": None,
        "memo": {**TEXT, "x-renamed-from": "note"},
        "paid": {"data_type": "timestamp"},
    }
)
NUMBERS = version_after({"note": BIGINT})
ROWS = [order(1, amount=5, note="x", old="o"), order(2, amount=7, note="12")]
STORED = [(1, 5, "x", "o"), (2, 7, "12", None)]


class Migrated:
    """A dataset with a loaded table, and the flows that migrate it."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, self.url, self.rows = dataset, dataset.url, dataset.rows
        self.plan, self.apply, self.undo = (partial(flow, dataset) for flow in (plan, apply, undo))

    def status(self, schema: Schema) -> Any:
        return find_status(put(schema, "wanted.yaml"), self.url, Path("schemas"), PlanOptions())

    def is_verified(self) -> bool:
        return verify(VerifyRequest(None, self.url, Path("schemas"))).is_clean

    def columns(self) -> list[str]:
        tables = self.dataset.destination.read_catalogue(self.url).schema.tables
        return [name for name in tables["orders"].columns if not name.startswith("_dlt")]


in_place = pytest.mark.parametrize("migrated", sorted({*KINDS} - {"mysql"}), indirect=True)
"""MySQL gives each other type to a new column and keeps the old one, see test_mysql_migration.py."""


@pytest.fixture(params=KINDS)
def migrated(request: pytest.FixtureRequest, work: Path) -> Iterator[Migrated]:
    with new_dataset(request.param, work, request) as dataset:
        dataset.load(package(work / "staged", FIRST, "1", {"orders": ROWS}))
        yield Migrated(dataset)


@in_place
def test_a_schema_is_applied_recorded_and_verified(migrated: Migrated) -> None:
    assert len(migrated.plan(SECOND).plan.steps) == 3
    assert migrated.apply(SECOND).outcome is Outcome.DONE
    assert migrated.columns() == ["id", "memo", "amount", "old", "paid"]
    assert migrated.rows("orders", "id", "amount", "memo", "paid") == [(1, 5.0, "x", None), (2, 7.0, "12", None)]
    status = migrated.status(SECOND)
    assert status.is_settled
    assert status.there.version_hash == SECOND.version_hash
    assert [(past.run.from_hash, past.run.to_hash, past.state) for past in status.runs] == [
        (FIRST.version_hash, SECOND.version_hash, "done")
    ]
    catalogue = migrated.dataset.destination.read_catalogue(migrated.url)
    assert catalogue.hashes[0] == SECOND.version_hash
    assert not [name for name in catalogue.without_ours.schema.tables if name.startswith("_schemactl")]
    assert migrated.is_verified()
    assert migrated.apply(SECOND).outcome is Outcome.NOTHING


@in_place
def test_a_rollback_brings_back_tables_rows_and_hash(migrated: Migrated) -> None:
    before = migrated.rows("orders", "id", "amount", "note", "old", "_dlt_id", "_dlt_load_id")
    migrated.apply(SECOND)
    report = migrated.undo()
    assert (report.outcome, report.before, report.after) == (Outcome.DONE, SECOND.version_hash, FIRST.version_hash)
    assert migrated.columns() == ["id", "note", "amount", "old"]
    assert migrated.rows("orders", "id", "amount", "note", "old", "_dlt_id", "_dlt_load_id") == before
    status = migrated.status(FIRST)
    assert status.is_settled
    assert status.there.version_hash == FIRST.version_hash
    assert migrated.dataset.destination.read_catalogue(migrated.url).hashes == (FIRST.version_hash,)
    assert migrated.apply(SECOND).outcome is Outcome.DONE


@in_place
def test_single_steps_are_undone_and_the_run_goes_on(migrated: Migrated) -> None:
    migrated.apply(SECOND)
    assert migrated.undo(steps=1).outcome is Outcome.DONE
    unfinished = migrated.status(SECOND)
    assert (unfinished.unfinished.done, unfinished.unfinished.steps) == (2, 3)
    assert unfinished.drift == ()
    assert migrated.apply(SECOND).outcome is Outcome.DONE
    assert migrated.status(SECOND).is_settled
    with pytest.raises(InputError, match="no run that started from the schema `zzz`"):
        migrated.undo(to_hash="zzz")
    assert migrated.undo(to_hash=FIRST.version_hash[:6]).outcome is Outcome.DONE
    assert migrated.rows("orders", "id", "amount", "note", "old") == STORED


def test_loads_go_on_after_a_migration(migrated: Migrated, work: Path) -> None:
    migrated.apply(SECOND)
    migrated.dataset.load(package(work, SECOND, "2", {"orders": [order(3, "2", amount=1.5, memo="m")]}))
    assert migrated.rows("orders", "id", "amount", "memo") == [(1, 5.0, "x"), (2, 7.0, "12"), (3, 1.5, "m")]
    assert migrated.dataset.destination.read_past_loads(migrated.url, "shop").load_ids == {"1", "2"}
    assert migrated.status(SECOND).is_settled


@pytest.mark.parametrize("kind", KINDS)
def test_a_load_goes_into_tables_that_a_migration_created(
    kind: str, request: pytest.FixtureRequest, work: Path
) -> None:
    with new_dataset(kind, work, request) as dataset:
        migrated = Migrated(dataset)
        assert migrated.apply(FIRST).outcome is Outcome.DONE
        dataset.load(package(work / "staged", FIRST, "1", {"orders": ROWS}))
        assert migrated.rows("orders", "id", "amount", "note", "old") == STORED
        assert migrated.status(FIRST).is_settled


def test_values_loaded_since_are_dropped_only_if_allowed(migrated: Migrated, work: Path) -> None:
    added = version_after({"extra": TEXT})
    migrated.apply(added)
    migrated.dataset.load(package(work, added, "2", {"orders": [order(3, "2", extra="new")]}))
    report = migrated.undo()
    assert report.outcome is Outcome.REFUSED
    assert [blocker.kind for blocker in report.blockers] == [BlockerKind.DESTRUCTIVE]
    assert "1 value of `orders.extra` would be dropped" in report.blockers[0].message
    assert "extra" in migrated.columns()
    assert migrated.undo(allows_destructive=True).outcome is Outcome.DONE
    assert "extra" not in migrated.columns()


@in_place
def test_an_undo_that_would_lose_values_is_refused(migrated: Migrated, work: Path) -> None:
    migrated.apply(SECOND)
    migrated.dataset.load(package(work, SECOND, "2", {"orders": [order(3, "2", amount=1.5)]}))
    report = migrated.undo()
    assert [blocker.kind for blocker in report.blockers] == [BlockerKind.UNFIT]
    assert report.counted[0].count == 1
    assert "1.5" in report.counted[0].examples[0]
    assert migrated.status(SECOND).is_settled


def test_a_dropped_column_is_left_until_the_loss_is_allowed_and_cannot_come_back(migrated: Migrated) -> None:
    without = version_after({"old": None, "added": TEXT})
    report = migrated.apply(without)
    assert report.outcome is Outcome.DONE
    assert [(note.kind, note.column) for note in report.planned.plan.notes] == [(NoteKind.LEFT_OUT, "old")]
    assert migrated.columns() == ["id", "note", "amount", "old", "added"]
    assert migrated.status(without).is_settled
    assert migrated.apply(without, allows_destructive=True).outcome is Outcome.DONE
    assert "old" not in migrated.columns()
    (blocker,) = migrated.undo().blockers
    assert blocker.kind is BlockerKind.IMPOSSIBLE
    assert "cannot be undone: its values are lost" in blocker.message


@in_place
def test_values_that_do_not_survive_refuse_the_step_and_change_nothing(migrated: Migrated) -> None:
    report = migrated.apply(NUMBERS)
    assert report.outcome is Outcome.REFUSED
    assert [blocker.kind for blocker in report.planned.blockers] == [BlockerKind.UNFIT]
    (counted,) = report.planned.counted
    assert counted.count == 1
    assert counted.examples[0].startswith('"x"')
    assert migrated.rows("orders", "id", "amount", "note", "old") == STORED
    assert migrated.status(FIRST).is_settled


@pytest.mark.parametrize("migrated", sorted({*KINDS} - {"mysql", "sqlite"}), indirect=True)
def test_doubles_that_a_decimal_would_round_refuse_the_step(migrated: Migrated, work: Path) -> None:
    doubles = version_after({"amount": DOUBLE})
    migrated.apply(doubles)
    migrated.dataset.load(package(work, doubles, "2", {"orders": [order(3, "2", amount=0.12345678901234)]}))
    report = migrated.apply(version_after({"amount": {"data_type": "decimal"}}))
    assert [blocker.kind for blocker in report.planned.blockers] == [BlockerKind.UNFIT]
    assert report.planned.counted[0].count == 1
    assert migrated.rows("orders", "id", "amount") == [(1, 5.0), (2, 7.0), (3, 0.12345678901234)]


@pytest.mark.parametrize(
    ("on_unfit", "stored"),
    [
        (OnUnfit.EXPAND, {"note": [None, 12], "note__before_1": ["x", "12"]}),
        (OnUnfit.VARIANT, {"note": [None, 12], "note__before_1": ["x", "12"], "note__v_text": ["x", None]}),
    ],
)
def test_values_that_do_not_survive_are_kept_and_come_back(
    on_unfit: OnUnfit, stored: dict[str, list[Any]], migrated: Migrated
) -> None:
    assert migrated.apply(NUMBERS, on_unfit=on_unfit).outcome is Outcome.DONE
    rows = list(zip((1, 2), *stored.values(), strict=True))
    assert migrated.rows("orders", "id", *stored) == rows
    assert migrated.plan(NUMBERS).plan.steps == ()
    status = migrated.status(NUMBERS)
    assert status.is_settled
    assert [change.column.name for change in status.variants] == [name for name in stored if "__v_" in name]
    assert migrated.undo(allows_destructive=True).outcome is Outcome.DONE
    assert migrated.rows("orders", "id", "amount", "note", "old") == STORED


def test_a_new_required_column_is_filled_in_stored_rows(migrated: Migrated) -> None:
    wei = {"data_type": "wei", "nullable": False, "x-backfill": 7}
    filled = version_after({"state": {**TEXT, "nullable": False, "x-backfill": "it's new"}, "large": wei})
    assert migrated.apply(filled).outcome is Outcome.DONE
    assert migrated.rows("orders", "id", "state") == [(1, "it's new"), (2, "it's new")]
    assert [int(large) for _, large in migrated.rows("orders", "id", "large")] == [7, 7]
    assert migrated.is_verified()
