"""Steps next to each other that copy their table do so once, forth and back, and leave what they would one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, schema_of, undo

from schemactl.destinations import DESTINATIONS
from schemactl.destinations.duckdb.session import DuckDbSession
from schemactl.destinations.sqlite.session import SqliteDatabase
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.inspection import find_status
from schemactl.flows.migrate.schema_plans import propose
from schemactl.flows.migrate.state import read_state
from schemactl.flows.target import migratable
from schemactl.migration.migration_plan import MigrationPlan, make_plan
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import write_plan
from schemactl.migration.reports import BlockerKind, Outcome, PlanReport
from schemactl.migration.statements import COPY_PREFIX
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

BEFORE = schema_of(
    ID,
    column("code", unique=True),
    column("tag", unique=True),
    column("amount"),
    column("note", nullable=False),
    column("memo"),
    column("extra"),
)
AFTER = schema_of(
    ID,
    column("code"),
    column("tag"),
    column("amount", "bigint"),
    column("note", unique=True),
    column("memo", nullable=False, unique=True),
    column("extra"),
    column("paid", "date"),
    column("seen", "date"),
    before=BEFORE,
)
ROWS = [(1, "a", "p", "5", "n1", "m1"), (2, "b", "q", None, "n2", "m2"), (3, None, "r", "-7", "n3", "m3")]
COPIES = {"duckdb": (2, 2), "sqlite": (2, 2)}
"""How often the table is copied, forth and back."""
GROUPS = {"duckdb": [2, 2], "sqlite": [3, 2]}
"""How many steps share a copy."""
LAST_GROUP = {"duckdb": (8, 9), "sqlite": (6, 7)}
"""The first and the last number of the steps that share the second copy."""
ALONE = {"duckdb": 4, "sqlite": 5}
"""How often it is copied forth where each step is done by itself."""


@pytest.fixture(params=COPIES)
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset(request.param, tmp_path)
    assert apply(made, BEFORE).outcome is Outcome.DONE
    for row in ROWS:
        listed = ", ".join("NULL" if value is None else repr(value) for value in row)
        made.sql(f"INSERT INTO @.orders VALUES ({listed}, 'e')")
    return made


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that made a table for a copy."""
    return Statements(monkeypatch, "CREATE TABLE").seen


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All statements that were about a copy."""
    return Statements(monkeypatch, "").seen


class Statements:
    """Notes the statements about copies that are run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, start: str) -> None:
        self.seen: list[str] = []
        for kind in (DuckDbSession, SqliteDatabase):

            def execute(session: Any, statement: str, real: Any = kind.execute) -> Any:
                if statement.startswith(start) and COPY_PREFIX in statement:
                    self.seen.append(statement)
                return real(session, statement)

            monkeypatch.setattr(kind, "execute", execute)


OPTIONS = PlanOptions(compares_unique=True)


apply = partial(migrated_datasets.apply, options=OPTIONS)


def plan(dataset: Dataset, schema: Schema, out: str | None = None) -> MigrationPlan:
    return migrated_datasets.plan(dataset, schema, OPTIONS, out).plan


def put_older_plan(dataset: Dataset, schema: Schema) -> str:
    """Write a plan as versions did that recorded nothing of steps that are done at once."""
    target = migratable(dataset.url)
    with target.open_for_reading("shop") as session:
        found = read_state(session, target, "shop")
        proposal = propose(found, schema, OPTIONS)
        made = make_plan(proposal, found.catalogue.schema, schema, found.place, target.renderer(session))
    text = write_plan(made)
    assert "done_with" not in text
    Path("older.plan.json").write_text(text)
    return "older.plan.json"


def about_copies(statements: Iterable[tuple[str, ...]]) -> list[str]:
    return [statement for of_step in statements for statement in of_step if COPY_PREFIX in statement]


def reported(dataset: Dataset) -> dict[str, tuple[Any, ...]]:
    columns = DESTINATIONS[dataset.kind].read_catalogue(dataset.url).schema.tables["orders"].columns
    return {
        name: (each.data_type, each.nullable, bool(each.properties.get("unique"))) for name, each in columns.items()
    }


def rows(dataset: Dataset) -> list[tuple[Any, ...]]:
    return dataset.sql("SELECT id, code, tag, amount, note, memo, extra FROM @.orders ORDER BY id")


def test_a_table_is_copied_once_for_all_neighbours_forth_and_back(dataset: Dataset, copies: list[str]) -> None:
    before, stored = reported(dataset), rows(dataset)

    assert apply(dataset, AFTER).outcome is Outcome.DONE

    assert len(copies) == COPIES[dataset.kind][0]
    assert {name: unique for name, (_, _, unique) in reported(dataset).items() if unique} == {
        "note": True,
        "memo": True,
    }
    assert [row[3] for row in rows(dataset)] == [5, None, -7]
    copies.clear()
    assert undo(dataset).outcome is Outcome.DONE
    assert len(copies) == COPIES[dataset.kind][1]
    assert (reported(dataset), rows(dataset)) == (before, stored)
    assert find_status(None, dataset.url, Path("schemas"), PlanOptions()).is_settled


def test_steps_done_by_one_copy_leave_what_each_by_itself_leaves(dataset: Dataset, copies: list[str]) -> None:
    assert apply(dataset, put_older_plan(dataset, AFTER)).outcome is Outcome.DONE
    alone, by_themselves = (reported(dataset), rows(dataset)), len(copies)
    assert undo(dataset).outcome is Outcome.DONE
    copies.clear()

    assert apply(dataset, AFTER).outcome is Outcome.DONE

    assert (reported(dataset), rows(dataset)) == alone
    assert (by_themselves, len(copies)) == (ALONE[dataset.kind], COPIES[dataset.kind][0])


@pytest.mark.parametrize("is_step_by_step", [False, True])
def test_the_copies_that_are_shown_are_the_ones_that_are_run(
    dataset: Dataset, copying: list[str], is_step_by_step: bool
) -> None:
    shown = plan(dataset, AFTER, "after.plan.json")
    assert [len(places) for places in shown.groups if len(places) > 1] == GROUPS[dataset.kind]

    report = apply(dataset, "after.plan.json", is_step_by_step=is_step_by_step)

    assert report.outcome is Outcome.DONE
    assert report.planned.plan == shown
    assert copying == about_copies(each.statements for each in shown.steps) != []
    copying.clear()
    undone = undo(dataset)
    assert undone.outcome is Outcome.DONE
    assert copying == about_copies(each.planned.undo_statements for each in undone.steps) != []
    lasts = {each.done_with for each in undone.steps} - {None}
    assert {place for place, each in enumerate(undone.steps, 1) if each.done_with == place} == lasts != set()


@pytest.mark.parametrize("steps", range(1, 9))
def test_of_a_copy_that_was_undone_in_part_the_rest_is_shown_and_done_again(
    dataset: Dataset, copying: list[str], steps: int
) -> None:
    assert apply(dataset, AFTER).outcome is Outcome.DONE
    after, stored = reported(dataset), rows(dataset)
    assert undo(dataset, steps=steps, allows_destructive=True).outcome is Outcome.DONE
    copying.clear()

    report = apply(dataset, AFTER)

    assert report.outcome is Outcome.DONE
    assert report.planned.done == 9 - steps
    left = report.planned.plan.steps[9 - steps :]
    assert copying == about_copies(each.statements for each in left)
    done = report.planned.plan.steps[: 9 - steps]
    assert all(each.done_with is None or each.done_with <= len(done) for each in done)
    assert (reported(dataset), rows(dataset)) == (after, stored)
    assert find_status(None, dataset.url, Path("schemas"), OPTIONS).is_settled


@pytest.mark.parametrize("is_step_by_step", [False, True])
def test_of_steps_that_share_a_copy_all_are_done_or_none(dataset: Dataset, is_step_by_step: bool) -> None:
    kind = DuckDbSession if dataset.kind == "duckdb" else SqliteDatabase
    first, last = LAST_GROUP[dataset.kind]
    before, copied = reported(dataset), 0

    def execute(session: Any, statement: str, real: Any = kind.execute) -> Any:
        nonlocal copied
        copied += statement.startswith("DROP TABLE") and '"orders"' in statement
        if copied == 2:
            raise DestinationError("the disk is full")
        return real(session, statement)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kind, "execute", execute)
        reported_so = (
            f"steps {first} to {last} of 9 failed; {first - 1} completed before"
            if is_step_by_step
            else "the disk is full"
        )
        with pytest.raises(DestinationError, match=reported_so):
            apply(dataset, AFTER, is_step_by_step=is_step_by_step)

    if is_step_by_step:
        pending = find_status(None, dataset.url, Path("schemas"), OPTIONS).planned
        assert pending is not None
        assert pending.done == first - 1
    else:
        assert reported(dataset) == before
    assert apply(dataset, AFTER, is_step_by_step=is_step_by_step).outcome is Outcome.DONE
    assert {name for name, (_, _, is_unique) in reported(dataset).items() if is_unique} == {"note", "memo"}
    assert find_status(None, dataset.url, Path("schemas"), OPTIONS).is_settled


def test_a_copy_whose_columns_got_another_order_since_it_was_shown_is_refused(dataset: Dataset) -> None:
    def turn(_: PlanReport) -> bool:
        names = ", ".join(reversed(list(reported(dataset))))
        keys = {"code", "tag"}
        types = ", ".join(
            f"{name} {'BIGINT' if name == 'id' else 'VARCHAR' if dataset.kind == 'duckdb' else 'TEXT'}"
            f"{' NOT NULL' if name in ('id', 'note') else ''}{' UNIQUE' if name in keys else ''}"
            for name in reversed(list(reported(dataset)))
        )
        dataset.sql(f"CREATE TABLE @.turned ({types})")
        dataset.sql(f"INSERT INTO @.turned SELECT {names} FROM @.orders")
        dataset.sql("DROP TABLE @.orders")
        dataset.sql("ALTER TABLE @.turned RENAME TO orders")
        return True

    before = reported(dataset)
    report = apply(dataset, AFTER, agree=turn)

    assert report.outcome is Outcome.REFUSED
    assert [each.kind for each in report.planned.blockers] == [BlockerKind.MOVED]
    assert reported(dataset) == before
    assert apply(dataset, AFTER).outcome is Outcome.DONE


def test_a_plan_that_somebody_made_share_more_copies_is_refused(dataset: Dataset) -> None:
    shown = plan(dataset, AFTER)
    steps = [replace(each, done_with=2, statements=()) for each in shown.steps[:2]]
    forged = replace(shown, steps=(*steps, *(replace(each, done_with=None) for each in shown.steps[2:])))
    Path("forged.plan.json").write_text(write_plan(forged))

    with pytest.raises(InputError, match="do not match its steps"):
        apply(dataset, "forged.plan.json")


def test_a_value_that_does_not_survive_the_copy_leaves_all_as_it_was(dataset: Dataset) -> None:
    dataset.sql("INSERT INTO @.orders VALUES (4, 'd', 's', 'many', 'n4', 'm4', 'e')")
    before, stored = reported(dataset), rows(dataset)

    report = apply(dataset, AFTER)

    assert report.outcome is Outcome.REFUSED
    assert (reported(dataset), rows(dataset)) == (before, stored)


def test_indexes_triggers_and_views_of_sqlite_stay_and_none_is_of_a_column_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    assert apply(made, BEFORE).outcome is Outcome.DONE
    made.sql("INSERT INTO orders VALUES (1, 'a', 'p', '5', 'n', 'm', 'e')")
    made.sql("CREATE INDEX theirs ON orders (extra, id)")
    made.sql("CREATE VIEW seen AS SELECT id FROM orders")
    made.sql("CREATE TABLE log (id)")
    made.sql("CREATE TRIGGER noted AFTER INSERT ON orders BEGIN INSERT INTO log VALUES (new.id); END")

    assert apply(made, AFTER).outcome is Outcome.DONE

    names = {row[0] for row in made.sql("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger', 'view')")}
    assert {"theirs", "noted", "seen"} <= names
    made.sql("INSERT INTO orders (id, note, memo) VALUES (2, 'o', 'l')")
    assert made.sql("SELECT id FROM log") == [(2,)]
    assert sorted(made.sql("SELECT id FROM seen")) == [(1,), (2,)]
