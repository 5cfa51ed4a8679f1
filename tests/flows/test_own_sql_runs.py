"""Own SQL of migrations in a folder: run with its step, undone with it, refused where somebody has changed it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from forked_commands import BETWEEN_STEPS, Commands, forked_commands
from migrated_datasets import ENGINES, FIRST, ID, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.destinations import DESTINATIONS
from schemactl.errors import DestinationError, InputError
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.migration_folder import NextRequest, check_folder, hash_folder, next_migration
from schemactl.flows.migrate.pending import apply_folder, find_folder_status
from schemactl.migration.custom_sql import When
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import StepState
from schemactl.migration.reports import BlockerKind, FolderApplyReport, Outcome
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

FOLDER = Path("migrations")
NUMBERS = schema_of(
    ID,
    column("amount", "bigint"),
    column("note", "bigint"),
    column("old"),
    column("paid", "bigint"),
    before=FIRST,
)
"""Makes numbers of the texts of `note`, and adds `paid`."""

MEND = """
-- schemactl: precondition
SELECT 1 FROM ${dataset}.orders WHERE note = 'none';

-- schemactl: run
UPDATE ${dataset}.orders SET old = 'mended' WHERE note = 'none';
UPDATE ${dataset}.orders SET note = '0' WHERE note = 'none';

-- schemactl: undo
UPDATE ${dataset}.orders SET note = 'none', old = 'o' WHERE old = 'mended';
"""
"""Mends values that the retype of `note` would not survive, and takes that back."""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    return filled(dataset)


def filled(dataset: Dataset) -> Dataset:
    """Apply the first migration, put two rows there, and write the next migration: numbers."""
    add(FIRST, dataset.kind)
    assert apply(dataset).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, '7', 'o'), (2, 6, 'none', 'o')")
    add(NUMBERS, dataset.kind)
    return dataset


def add(schema: Schema, kind: str) -> None:
    dialects = () if FOLDER.exists() else (kind,)
    title = "numbers" if schema is NUMBERS else None
    next_migration(
        NextRequest(put(schema, "wanted.yaml"), FOLDER, Path("schemas"), PlanOptions(), dialects, title=title)
    )


def retype(kind: str) -> int:
    """The number of the step that makes numbers of `note`."""
    return step(kind, "ChangeType")


def step(kind: str, name: str) -> int:
    steps = json.loads((FOLDER / "0002_numbers.json").read_text())["plans"][kind]["steps"]
    return next(number for number, each in enumerate(steps, 1) if each["step"]["kind"] == name)


def write(kind: str, when: When, text: str, number: int | None = None, migration: str = "0002_numbers") -> Path:
    """Write own SQL, and take it into the sum file."""
    path = FOLDER / f"{migration}.{kind}.{number or retype(kind)}.{when}.sql"
    path.write_text(text)
    hash_folder(FOLDER)
    return path


def apply(dataset: Dataset, **changes: Any) -> FolderApplyReport:
    request = replace(ApplyRequest("", dataset.url, Path("schemas"), PlanOptions()), **changes)
    return apply_folder(FOLDER, request, lambda _: True, lambda: nullcontext(None))


undo = partial(migrated_datasets.undo, folder=FOLDER)


def rows(dataset: Dataset) -> list[tuple[Any, ...]]:
    return dataset.sql("SELECT id, note, old FROM @.orders ORDER BY id")


BEFORE = [(1, "7", "o"), (2, "none", "o")]
MENDED = [(1, 7, "o"), (2, 0, "mended")]


def problems() -> list[str]:
    return [each.message for each in check_folder(FOLDER).problems]


def test_values_that_own_sql_mends_before_a_step_are_not_in_its_way(dataset: Dataset) -> None:
    assert apply(dataset).outcome is Outcome.REFUSED

    write(dataset.kind, When.BEFORE, MEND)
    report = apply(dataset)

    assert report.outcome is Outcome.DONE
    assert rows(dataset) == MENDED
    assert find_folder_status(FOLDER, dataset.url).is_settled


def test_a_rollback_undoes_own_sql_behind_its_step_as_the_folder_says(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, MEND)
    apply(dataset)

    report = undo(dataset)

    assert report.outcome is Outcome.DONE
    assert rows(dataset) == BEFORE
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert find_folder_status(FOLDER, dataset.url).pending == ("0002_numbers",)
    assert apply(dataset).outcome is Outcome.DONE
    assert rows(dataset) == MENDED


def test_own_sql_runs_before_instead_and_after_and_is_undone_the_other_way_round(dataset: Dataset) -> None:
    number = step(dataset.kind, "AddColumn")
    dataset.sql("CREATE TABLE @.said (n INTEGER, what VARCHAR(20))")

    def say(what: str) -> str:
        return f"INSERT INTO ${{dataset}}.said SELECT count(*), '{what}' FROM ${{dataset}}.said;\n"

    write(dataset.kind, When.BEFORE, MEND)
    for when in (When.AFTER, When.BEFORE):
        write(dataset.kind, when, f"{say(when)}-- schemactl: undo\n{say(f'not {when}')}", number)
    paid = "ALTER TABLE ${dataset}.orders %s COLUMN paid"
    text = f"{paid % 'ADD'} BIGINT;\n{say('instead')}-- schemactl: undo\n{paid % 'DROP'};\n{say('not instead')}"
    write(dataset.kind, When.INSTEAD, text, number)

    assert apply(dataset).outcome is Outcome.DONE
    assert undo(dataset).outcome is Outcome.DONE

    said = [what for (what,) in dataset.sql("SELECT what FROM @.said ORDER BY n")]
    assert said == ["before", "instead", "after", "not after", "not instead", "not before"]
    assert rows(dataset) == BEFORE


def test_what_runs_instead_of_a_step_has_to_leave_what_the_step_would(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, MEND)
    write(dataset.kind, When.INSTEAD, "UPDATE ${dataset}.orders SET old = 'x'", step(dataset.kind, "AddColumn"))

    with pytest.raises(DestinationError, match=r"column `orders\.paid` is missing"):
        apply(dataset)

    assert rows(dataset) == BEFORE


def test_a_precondition_that_gives_no_rows_stops_everything_and_is_named(dataset: Dataset) -> None:
    dataset.sql("UPDATE @.orders SET note = '9' WHERE note = 'none'")
    file = write(dataset.kind, When.BEFORE, MEND)

    report = apply(dataset)

    assert report.outcome is Outcome.REFUSED
    (blocker,) = report.applied[0].planned.blockers
    assert blocker.kind is BlockerKind.PRECONDITION
    assert f"the precondition of `{file.name}` gives no rows: SELECT 1 FROM" in blocker.message
    assert rows(dataset) == [(1, "7", "o"), (2, "9", "o")]
    assert dataset.columns() == ["id", "amount", "note", "old"]


def test_a_statement_that_fails_leaves_all_as_it_was_and_is_named(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, MEND)
    file = write(dataset.kind, When.AFTER, "SELECT 1;\nINSERT INTO ${dataset}.nowhere VALUES (1)", 1)

    with pytest.raises(DestinationError, match=rf"cannot run statement 2 of `{file.name}`"):
        apply(dataset)

    assert rows(dataset) == BEFORE
    assert find_folder_status(FOLDER, dataset.url).pending == ("0002_numbers",)
    assert not find_folder_status(FOLDER, dataset.url).is_unfinished


def test_values_that_own_sql_does_not_mend_still_stop_the_step(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, "UPDATE ${dataset}.orders SET old = 'x'")

    report = apply(dataset)

    assert report.outcome is Outcome.REFUSED
    (blocker,) = report.applied[0].planned.blockers
    assert "1 value of `orders.note` would not survive" in blocker.message
    assert rows(dataset) == BEFORE


def test_own_sql_without_an_undo_makes_its_step_final(dataset: Dataset) -> None:
    file = write(dataset.kind, When.BEFORE, MEND.partition("-- schemactl: undo")[0])
    report = apply(dataset)
    assert report.outcome is Outcome.DONE
    assert not report.applied[0].planned.plan.steps[retype(dataset.kind) - 1].undo.is_possible

    refused = undo(dataset)

    assert refused.outcome is Outcome.REFUSED
    assert f"`{file.name}` does not declare its undo" in refused.blockers[0].message
    assert rows(dataset) == MENDED


def test_a_rollback_needs_the_folder_and_the_files_as_they_were_applied(dataset: Dataset) -> None:
    file = write(dataset.kind, When.BEFORE, MEND)
    apply(dataset)

    with pytest.raises(InputError, match="has custom SQL, which runs only from its folder"):
        undo(dataset, folder=None)
    write(dataset.kind, When.BEFORE, MEND.replace("old = 'o'", "old = 'p'"))
    with pytest.raises(InputError, match="does not have `0002_numbers` as it was applied"):
        undo(dataset)
    with pytest.raises(InputError, match=r"`0002_numbers` is applied to .*, but was changed since"):
        apply(dataset)
    file.unlink()
    hash_folder(FOLDER)
    with pytest.raises(InputError, match="does not have `0002_numbers` as it was applied"):
        undo(dataset)

    assert rows(dataset) == MENDED


def test_own_sql_that_somebody_writes_into_the_ledger_is_not_run(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, MEND)
    apply(dataset)
    dataset.sql("UPDATE @._schemactl_migrations SET plan = replace(plan, 'note = ''none'', old', 'old')")
    held = dataset.sql("SELECT plan FROM @._schemactl_migrations WHERE plan LIKE '%mended%'")
    assert "SET old = 'o' WHERE" in held[0][0]

    with pytest.raises(InputError, match="this plan was changed after it was created"):
        undo(dataset)
    forge_ledger(dataset)
    with pytest.raises(InputError, match="the custom SQL of `0002_numbers` in the ledger differs from the folder"):
        undo(dataset)

    assert rows(dataset) == MENDED


def forge_ledger(dataset: Dataset) -> None:
    """Make the hash of the last plan in the ledger right, as a stranger can."""
    from schemactl.migration.plan_documents import content_hash

    ((run_id, text),) = dataset.sql("SELECT run_id, plan FROM @._schemactl_migrations WHERE plan LIKE '%mended%'")
    document = json.loads(text)
    right = content_hash({k: v for k, v in document.items() if k not in ("schemactl_plan", "hash")})
    written = f"replace(plan, '{document['hash']}', '{right}')"
    dataset.sql(f"UPDATE @._schemactl_migrations SET plan = {written} WHERE run_id = '{run_id}'")


def test_the_ledger_keeps_what_ran_and_what_undoes_it(dataset: Dataset) -> None:
    write(dataset.kind, When.BEFORE, MEND)
    apply(dataset)
    number = retype(dataset.kind)
    target = DESTINATIONS[dataset.kind]
    with target.connect(dataset.url, "shop", is_read_only=True) as session:  # type: ignore[attr-defined]
        last = session.runs()[-1]
        (record,) = [each for each in session.steps(last.run_id) if each.number == number]
    assert record.state is StepState.DONE
    assert record.undo_statements[-1].startswith("UPDATE ${dataset}.orders SET note = 'none'")
    assert "SET old = 'mended'" in last.plan


@pytest.fixture(scope="module")
def killed() -> Iterator[Commands]:
    with forked_commands(BETWEEN_STEPS) as run:
        yield run


@pytest.mark.parametrize("kind", ENGINES)
def test_a_run_that_is_killed_between_steps_goes_on_or_is_undone(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, killed: Commands
) -> None:
    server = request.getfixturevalue("postgres_url") if kind == "postgresql" else None
    dataset = filled(new_dataset(kind, tmp_path, server))
    first = retype(kind) == 1
    write(kind, When.BEFORE, MEND)
    write(kind, When.AFTER, "UPDATE ${dataset}.orders SET paid = 1;\n-- schemactl: undo\n", step(kind, "AddColumn"))
    call = ["migrate", "apply", "--dir", str(FOLDER), "--to", dataset.url, "--yes", "--quiet", "--step-by-step"]

    assert killed(*call[:-1], begin=(1,)).code == -signal.SIGKILL
    assert not find_folder_status(FOLDER, dataset.url).is_unfinished
    assert rows(dataset) == BEFORE
    assert killed(*call, begin=(1,)).code == -signal.SIGKILL
    assert find_folder_status(FOLDER, dataset.url).is_unfinished
    assert ("paid" in dataset.columns()) is not first

    with pytest.raises(InputError, match="has custom SQL, which runs only from its folder"):
        apply_migration(
            ApplyRequest(put(NUMBERS, "wanted.yaml"), dataset.url, Path("schemas"), PlanOptions()),
            lambda _: True,
            lambda: nullcontext(None),
        )
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert rows(dataset) == BEFORE
    assert killed(*call, begin=(1,)).code == -signal.SIGKILL

    assert run(call) == 0

    assert rows(dataset) == MENDED
    assert dataset.sql("SELECT paid FROM @.orders") == [(1,), (1,)]
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert rows(dataset) == BEFORE


def test_a_view_in_a_steps_way_is_dropped_and_made_again(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    dataset = filled(new_dataset("postgresql", tmp_path, request.getfixturevalue("postgres_url")))
    dataset.sql("CREATE VIEW @.notes AS SELECT note FROM @.orders")
    write(dataset.kind, When.BEFORE, MEND.replace("run\n", "run\nDROP VIEW ${dataset}.notes;\n") + "\n")
    make = "CREATE VIEW ${dataset}.notes AS SELECT note FROM ${dataset}.orders;\n"
    write(dataset.kind, When.AFTER, f"{make}-- schemactl: undo\nDROP VIEW ${{dataset}}.notes;\n")

    assert apply(dataset).outcome is Outcome.DONE
    assert dataset.sql("SELECT note FROM @.notes ORDER BY note") == [(0,), (7,)]
    assert undo(dataset).outcome is Outcome.DONE
    assert rows(dataset) == BEFORE


@pytest.mark.parametrize("kind", ENGINES)
def test_values_are_looked_at_behind_what_undoes_own_sql(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgres_url") if kind == "postgresql" else None
    dataset = new_dataset(kind, tmp_path, server)
    add(FIRST, kind)
    apply(dataset)
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o')")
    texts = schema_of(
        ID, column("amount"), *[FIRST.tables["orders"].columns[name] for name in ("note", "old")], before=FIRST
    )
    next_migration(NextRequest(put(texts, "texts.yaml"), FOLDER, Path("schemas"), PlanOptions(), title="numbers"))
    word = (
        "UPDATE ${dataset}.orders SET amount = 'many';\n-- schemactl: undo\nUPDATE ${dataset}.orders SET amount = '%s'"
    )
    write(kind, When.AFTER, word % "5")
    assert apply(dataset).outcome is Outcome.DONE
    assert dataset.sql("SELECT amount FROM @.orders") == [("many",)]
    assert undo(dataset).outcome is Outcome.DONE
    assert dataset.sql("SELECT amount FROM @.orders") == [(5,)]

    write(kind, When.AFTER, word % "none")
    assert apply(dataset).outcome is Outcome.DONE
    with pytest.raises(DestinationError, match=r"1 value of `orders\.amount` would not survive the undo"):
        undo(dataset)
    assert dataset.sql("SELECT amount FROM @.orders") == [("many",)]
