"""Plans, applies and undoes migrations of real databases."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import ADDED, FIRST, ID, Dataset, apply, column, new_dataset, plan, put, schema_of, undo

from schemactl.errors import InputError
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.baseline import record_baseline
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.records import Patience
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.schema.types import Schema, Table

pytestmark = pytest.mark.destinations


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    """A dataset ``shop`` with the first schema and two rows."""
    assert apply(dataset, FIRST).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o'), (2, 7, '12', NULL)")
    return dataset


def status(dataset: Dataset, reference: str | None = None) -> Any:
    return find_status(reference, dataset.url, Path("schemas"), PlanOptions())


def test_values_that_do_not_survive_refuse_the_step_under_its_old_name(dataset: Dataset) -> None:
    renamed = schema_of(
        ID,
        column("amount", "bigint"),
        column("memo", "bigint", **{"x-renamed-from": "note"}),
        column("old"),
        before=FIRST,
    )

    report = apply(dataset, renamed)

    assert report.outcome is Outcome.REFUSED
    assert [(each.number, each.count) for each in report.planned.counted] == [(2, 1)]
    assert report.planned.counted[0].examples[0].startswith('"x"')
    assert dataset.columns() == ["id", "amount", "note", "old"]


def test_what_does_not_fit_goes_to_a_variant(dataset: Dataset) -> None:
    retyped = schema_of(ID, column("amount", "bigint"), column("note", "bigint"), column("old"), before=FIRST)

    report = apply(dataset, retyped, options=PlanOptions(on_unfit=OnUnfit.VARIANT))

    assert report.outcome is Outcome.DONE
    rows = dataset.sql("SELECT id, note, note__v_text, note__before_1 FROM @.orders ORDER BY id")
    assert rows == [(1, None, "x", "x"), (2, 12, None, "12")]
    found = status(dataset)
    assert (found.drift, [each.column.name for each in found.variants]) == ((), ["note__v_text"])
    assert found.is_settled
    dataset.sql("ALTER TABLE @.orders ADD COLUMN other__v_text TEXT")
    looked = verify(VerifyRequest(None, dataset.url, Path("schemas")))
    assert [[each.column.name for each in changes] for changes in (looked.drift, looked.variants)] == [
        ["other__v_text"],
        ["note__v_text"],
    ]
    assert not looked.is_clean
    dataset.sql("ALTER TABLE @.orders DROP COLUMN other__v_text")
    again = plan(dataset, retyped).plan
    assert [(note.kind, note.column) for note in again.notes if note.column == "note__v_text"] == [
        (NoteKind.VARIANT, "note__v_text")
    ]
    variant = column("note__v_text", variant=True)
    taken = schema_of(*retyped.tables["orders"].columns.values(), variant, before=retyped)
    assert status(dataset, put(taken, "taken.yaml")).variants == ()
    assert apply(dataset, taken).outcome is Outcome.DONE
    assert verify(VerifyRequest(None, dataset.url, Path("schemas"))).is_clean
    undo(dataset)
    undo(dataset, allows_destructive=True)
    assert dataset.sql("SELECT id, note FROM @.orders ORDER BY id") == [(1, "x"), (2, "12")]


def test_a_plan_is_refused_where_the_destination_moves_before_it_is_agreed_to(dataset: Dataset) -> None:
    apply(dataset, FIRST)

    def agree(_: object) -> bool:
        dataset.sql("ALTER TABLE @.orders ADD COLUMN by_hand INTEGER")
        return True

    request = ApplyRequest(put(ADDED, "added.yaml"), dataset.url, Path("schemas"), PlanOptions())
    report = apply_migration(request, agree, lambda: nullcontext(None))

    assert [each.hint for each in report.planned.blockers] == ["another session changed it: run the command again"]
    assert "memo" not in dataset.columns()


def test_a_plan_is_refused_where_a_table_moves_that_no_step_changes(dataset: Dataset) -> None:
    lines = Table("lines", {"id": ID}, {"write_disposition": "append", "resource": "lines"})
    with_lines = schema_of(*FIRST.tables["orders"].columns.values(), before=FIRST, lines=lines)
    apply(dataset, with_lines)
    more = schema_of(*FIRST.tables["orders"].columns.values(), column("paid"), before=with_lines, lines=lines)

    def agree(_: object) -> bool:
        dataset.sql("ALTER TABLE @.lines ADD COLUMN by_hand INTEGER")
        return True

    report = apply_migration(
        ApplyRequest(put(more, "more.yaml"), dataset.url, Path("schemas"), PlanOptions()),
        agree,
        lambda: nullcontext(None),
    )

    assert [each.kind for each in report.planned.blockers] == [BlockerKind.MOVED]
    assert "paid" not in dataset.columns()
    assert apply(dataset, more).outcome is Outcome.DONE


def test_a_saved_plan_is_refused_where_the_destination_moved(dataset: Dataset) -> None:
    plan(dataset, ADDED, out="a.plan.json")
    dataset.sql("ALTER TABLE @.orders ADD COLUMN by_hand INTEGER")

    report = apply(dataset, "a.plan.json")

    assert [each.kind for each in report.planned.blockers] == [BlockerKind.MOVED]
    assert "--out FILE" in report.planned.blockers[0].hint
    assert "memo" not in dataset.columns()
    dataset.sql("ALTER TABLE @.orders DROP COLUMN by_hand")
    assert apply(dataset, "a.plan.json").outcome is Outcome.DONE
    again = apply(dataset, "a.plan.json")
    assert again.planned.blockers[0].message == "this plan is already applied"


def test_a_plan_for_another_place_or_with_other_statements_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    from schemactl.migration.plan_documents import read_plan, write_plan

    plan(dataset, ADDED, out="a.plan.json")
    made = read_plan(Path("a.plan.json").read_text(), "a.plan.json")
    step = replace(made.steps[0], statements=("DROP TABLE orders",))
    Path("evil.plan.json").write_text(write_plan(replace(made, steps=(step, *made.steps[1:]))))
    with pytest.raises(InputError, match="do not match its steps"):
        apply(dataset, "evil.plan.json")
    moved = replace(made, place=replace(made.place, dataset="other"))
    Path("other.plan.json").write_text(write_plan(moved))
    with pytest.raises(InputError, match="the plan is for"):
        apply(dataset, "other.plan.json")


def test_drift_is_reported_and_other_tables_are_left_alone(dataset: Dataset) -> None:
    dataset.sql("CREATE TABLE @.theirs (a INTEGER)")
    dataset.sql("ALTER TABLE @.orders ADD COLUMN by_hand INTEGER")
    dataset.sql("ALTER TABLE @.orders DROP COLUMN old")

    found = status(dataset)

    kinds = sorted(type(change).__name__ for change in found.drift)
    assert kinds == ["ColumnAdded", "ColumnRemoved", "TableAdded"]
    assert not found.is_settled
    assert not verify(VerifyRequest(None, dataset.url, Path("schemas"))).is_clean
    assert [type(planned.step).__name__ for planned in found.planned.plan.steps] == ["AddColumn"]
    assert apply(dataset, FIRST, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.sql("SELECT count(*) FROM @.theirs") == [(0,)]
    assert dataset.columns() == ["id", "amount", "note", "by_hand", "old"]


def test_a_database_that_existed_before_is_taken_over(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    made.sql("CREATE TABLE orders (id BIGINT NOT NULL, amount BIGINT, note TEXT, old TEXT)")

    def take_over(schema: Schema) -> Any:
        reference = put(schema, "wanted.yaml")
        return record_baseline(reference, made.url, Path("schemas"), Patience(), lambda _: True)

    assert take_over(ADDED).outcome is Outcome.REFUSED
    assert status(made, put(FIRST, "wanted.yaml")).there is None
    assert take_over(FIRST).outcome is Outcome.DONE
    assert take_over(FIRST).outcome is Outcome.NOTHING
    assert status(made).is_settled
    assert [run.state for run in status(made).runs] == ["baseline"]
    with pytest.raises(InputError, match="no run to undo"):
        undo(made)


def test_values_of_other_types_are_found_where_the_engine_takes_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    apply(made, FIRST)
    made.sql("INSERT INTO orders VALUES (1, 'many', 'x', 'o'), (2, 7, 12, NULL)")

    report = verify(VerifyRequest(None, made.url, Path("schemas")))

    assert [(odd.column, odd.count, odd.message) for odd in report.odd] == [("amount", 1, "not of type bigint")]
    assert "many" in report.odd[0].examples[0]
    assert verify(VerifyRequest(None, made.url, Path("schemas"), looks_at_rows=False)).is_clean


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_database_that_is_not_there_is_made_once_it_is_agreed_on(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"{kind}:///new.db"
    request = ApplyRequest(put(FIRST, "wanted.yaml"), url, Path("schemas"), PlanOptions())
    assert plan_migration(PlanRequest(request.reference, url, Path("schemas"), PlanOptions())).plan.steps
    declined = apply_migration(request, lambda _: False, lambda: nullcontext(None))
    assert (declined.outcome, Path("new.db").exists()) == (Outcome.DECLINED, False)
    applied = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    status = find_status(None, url, Path("schemas"), PlanOptions())
    assert (applied.outcome, status.is_settled) == (Outcome.DONE, True)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_only_what_makes_a_database_takes_one_that_is_not_there(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no file"):
        verify(VerifyRequest(put(FIRST, "wanted.yaml"), f"{kind}:///none.db", Path("schemas")))
