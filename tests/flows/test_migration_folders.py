"""Folders of migrations: written in git, applied to several destinations, refused where they do not fit."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from command_schemas import check_document
from migrated_datasets import ADDED, ENGINES, FIRST, ID, Dataset, column, new_dataset, put, schema_of, undo

from schemactl.cli.app import run
from schemactl.destinations._migration.session import SqlMigration
from schemactl.errors import InputError
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.migration_folder import NextRequest, check_folder, next_migration, rebase_folder
from schemactl.flows.migrate.pending import apply_folder, find_folder_status, plan_next_there
from schemactl.flows.target import migratable
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.records import Patience
from schemactl.migration.reports import BlockerKind, FolderApplyReport, NextReport, Outcome
from schemactl.schema.types import Schema

pytestmark = pytest.mark.usefixtures("work")

FOLDER = Path("migrations")
COLORED = schema_of(*FIRST.tables["orders"].columns.values(), column("color"), before=FIRST)
SIZED = schema_of(*FIRST.tables["orders"].columns.values(), column("size", "bigint"), before=FIRST)


def add(schema: Schema, title: str | None = None, **changes: Any) -> NextReport:
    dialects = () if FOLDER.exists() else ENGINES
    request = NextRequest(put(schema, "wanted.yaml"), FOLDER, Path("schemas"), PlanOptions(), dialects, title=title)
    return next_migration(replace(request, **changes))


def apply(dataset: Dataset, **changes: Any) -> FolderApplyReport:
    request = replace(ApplyRequest("", dataset.url, Path("schemas"), PlanOptions()), **changes)
    return apply_folder(FOLDER, request, lambda _: True, lambda: nullcontext(None))


def problems(reference: str | None = None) -> list[str]:
    return [each.message for each in check_folder(FOLDER, reference).problems]


@pytest.mark.destinations
def test_values_that_do_not_survive_are_a_reason_to_plan_the_migration_anew(dataset: Dataset) -> None:
    add(FIRST)
    assert apply(dataset).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o')")
    others = (each for name, each in FIRST.tables["orders"].columns.items() if name != "note")
    add(schema_of(*others, column("note", "bigint"), before=FIRST), "note as number")
    refused = apply(dataset, options=PlanOptions(on_unfit=OnUnfit.EXPAND))
    assert refused.next is not None
    (blocker,) = refused.next.blockers
    assert "delete the files of `0002_note_as_number`, run `schemactl migrate hash DIR`" in blocker.hint


@pytest.mark.destinations
def test_what_is_pending_is_run_and_nothing_else(dataset: Dataset) -> None:
    add(FIRST)
    assert apply(dataset).outcome is Outcome.DONE
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o')")
    add(ADDED, "add paid")
    before = find_folder_status(FOLDER, dataset.url)
    assert (before.at, before.pending) == ("0001_create_orders", ("0002_add_paid",))

    report = apply(dataset)

    assert report.outcome is Outcome.DONE
    assert [len(each.planned.plan.steps) for each in report.applied] == [3]
    assert dataset.sql("SELECT id, amount, memo FROM @.orders") == [(1, 5.0, "x")]
    after = find_folder_status(FOLDER, dataset.url)
    assert (after.at, after.pending, after.is_settled) == ("0002_add_paid", (), True)
    assert apply(dataset).outcome is Outcome.NOTHING


@pytest.mark.destinations
def test_a_migration_is_undone_as_any_other_run_and_is_pending_again(dataset: Dataset) -> None:
    add(FIRST)
    add(ADDED, "add")
    apply(dataset)

    report = undo(dataset)

    assert report.outcome is Outcome.DONE
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert find_folder_status(FOLDER, dataset.url).pending == ("0002_add",)
    assert apply(dataset).outcome is Outcome.DONE


@pytest.mark.destinations
def test_a_destination_with_another_schema_is_refused(dataset: Dataset) -> None:
    add(FIRST)
    add(ADDED, "add")
    migrated_datasets.apply(dataset, SIZED)

    report = apply(dataset)

    assert report.outcome is Outcome.REFUSED
    assert report.status.blocker is not None
    assert report.status.blocker.kind is BlockerKind.ELSEWHERE
    assert f"the ledger has the schema {SIZED.version_hash}" in report.status.blocker.message
    assert "paid" not in dataset.columns()


@pytest.mark.destinations
def test_a_destination_that_was_brought_to_a_migrations_schema_in_another_way_goes_on_from_there(
    dataset: Dataset,
) -> None:
    add(FIRST)
    migrated_datasets.apply(dataset, FIRST)
    add(ADDED, "add")

    assert find_folder_status(FOLDER, dataset.url).pending == ("0002_add",)
    assert apply(dataset).outcome is Outcome.DONE


@pytest.mark.destinations
def test_a_migration_whose_schema_was_loaded_but_whose_tables_are_as_before_has_not_run(dataset: Dataset) -> None:
    add(FIRST)
    assert apply(dataset).outcome is Outcome.DONE
    add(ADDED, "add")
    with migratable(dataset.url).open_for_writing("shop", Patience()) as session, session.transaction():
        session.write_version(ADDED)  # as a load does

    status = find_folder_status(FOLDER, dataset.url)

    assert (status.at, status.pending) == ("0001_create_orders", ())
    assert status.blocker is not None
    assert "the schema of `0002_add`, but the tables do not match it: `orders.amount`" in status.blocker.message
    assert apply(dataset).outcome is Outcome.REFUSED
    request = ApplyRequest(put(ADDED, "added.yaml"), dataset.url, Path("schemas"), PlanOptions())
    assert apply_migration(request, lambda _: True, lambda: nullcontext(None)).outcome is Outcome.DONE
    status = find_folder_status(FOLDER, dataset.url)
    assert (status.at, status.pending, status.blocker) == ("0002_add", (), None)


@pytest.mark.destinations
def test_tables_that_were_changed_by_hand_are_refused_and_named(dataset: Dataset) -> None:
    add(FIRST)
    apply(dataset)
    add(ADDED, "add")
    dataset.sql("ALTER TABLE @.orders DROP COLUMN note")

    report = apply(dataset)

    assert report.outcome is Outcome.REFUSED
    assert report.status.blocker is not None
    assert "`orders.note`" in report.status.blocker.message
    assert "paid" not in dataset.columns()


@pytest.mark.destinations
def test_a_column_more_is_in_no_migrations_way(dataset: Dataset) -> None:
    add(FIRST)
    apply(dataset)
    add(ADDED, "add")
    dataset.sql("ALTER TABLE @.orders ADD COLUMN by_hand INTEGER")

    assert apply(dataset).outcome is Outcome.DONE
    assert "by_hand" in dataset.columns()


@pytest.mark.destinations
def test_values_that_do_not_fit_stop_one_migration_and_keep_those_before(tmp_path: Path) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    add(FIRST)
    apply(dataset)
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o')")
    add(COLORED, "color")
    numbers = schema_of(ID, column("amount", "bigint"), column("note", "bigint"), column("old"), column("color"))
    add(numbers, "numbers")

    report = apply(dataset)

    assert report.outcome is Outcome.REFUSED
    assert [each.outcome for each in report.applied] == [Outcome.DONE, Outcome.REFUSED]
    assert find_folder_status(FOLDER, dataset.url).at == "0002_color"


@pytest.mark.destinations
def test_a_migration_that_was_killed_half_way_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    add(FIRST)
    apply(dataset)
    add(ADDED, "add")
    real, count = SqlMigration.run, iter(range(9))

    def dying(*args: Any) -> None:
        if next(count) == 1:
            raise KeyboardInterrupt
        real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(SqlMigration, "run", dying)
        with pytest.raises(KeyboardInterrupt):
            apply(dataset, is_step_by_step=True)
    status = find_folder_status(FOLDER, dataset.url)
    assert (status.pending, status.is_unfinished, status.blocker) == (("0002_add",), True, None)

    report = apply(dataset, is_step_by_step=True)

    assert report.outcome is Outcome.DONE
    assert report.applied[0].planned.done == 1
    assert dataset.columns() == ["id", "amount", "memo", "old", "paid"]


@pytest.mark.destinations
def test_the_first_migration_may_begin_with_a_schema_that_is_there(tmp_path: Path) -> None:
    dataset = new_dataset("sqlite", tmp_path)
    migrated_datasets.apply(dataset, put(FIRST, "first.yaml"))
    add(ADDED, "add", start="./first.yaml")

    assert problems() == []
    assert apply(dataset).outcome is Outcome.DONE
    assert apply(replace(dataset, url="sqlite:///empty.db")).status.blocker is not None


@pytest.mark.destinations
def test_a_migration_of_another_dialect_is_refused(tmp_path: Path) -> None:
    add(FIRST, dialects=("postgresql",))
    with pytest.raises(InputError, match="is for postgresql, not for duckdb"):
        apply(new_dataset("duckdb", tmp_path))


def test_a_dialect_has_in_a_folder_the_names_that_it_has_in_scripts() -> None:
    (path := FOLDER).mkdir()
    report = add(FIRST, dialects=("postgres", "postgresql", "mariadb"))
    assert report.migration is not None
    assert list(report.migration.plans) == ["postgresql", "mysql"]
    assert sorted(file.name for file in path.glob("*.sql")) == [
        "0001_create_orders.mysql.sql", "0001_create_orders.postgresql.sql",
    ]  # fmt: skip
    assert add(ADDED, "add", dialects=("mysql", "postgres")).is_written
    with pytest.raises(InputError, match="the migrations of the folder are for postgresql,mysql"):
        add(COLORED, "color", dialects=("sqlite3",))


@pytest.mark.destinations
def test_a_migration_that_was_applied_and_then_changed_or_removed_is_refused(tmp_path: Path) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    add(FIRST)
    apply(dataset)
    shutil.rmtree(FOLDER)
    add(COLORED, "create_orders")
    with pytest.raises(InputError, match=r"`0001_create_orders` is applied to .*, but was changed since"):
        apply(dataset)
    shutil.rmtree(FOLDER)
    add(FIRST, "another")
    with pytest.raises(InputError, match=r"`0001_create_orders` is applied to .*, but missing in the folder"):
        apply(dataset)


@pytest.mark.destinations
def test_what_loses_data_needs_to_be_allowed_when_it_is_planned_and_when_it_runs(tmp_path: Path) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    add(FIRST)
    less = schema_of(ID, column("amount", "bigint"), column("note"), before=FIRST)
    add(less, "less", allows_destructive=True)

    refused = apply(dataset)

    assert refused.outcome is Outcome.REFUSED
    assert refused.applied == ()
    assert apply(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.columns() == ["id", "amount", "note"]


@pytest.mark.destinations
def test_a_column_that_was_left_alone_can_be_dropped_by_a_later_migration(tmp_path: Path) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    less = schema_of(ID, column("amount", "bigint"), column("note"), before=FIRST)
    add(FIRST)
    add(less, "less")
    apply(dataset)
    assert dataset.columns() == ["id", "amount", "note", "old"]

    wanted = schema_of(ID, column("amount", "bigint"), column("note"), column("new"), before=less)
    add(wanted, "drop", allows_destructive=True)

    assert apply(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.columns() == ["id", "amount", "note", "new"]


@pytest.mark.destinations
def test_a_column_that_was_left_alone_can_be_dropped_where_nothing_else_changes(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    dataset, elsewhere = new_dataset("duckdb", tmp_path), new_dataset("duckdb", tmp_path / "elsewhere")
    less = schema_of(ID, column("amount", "bigint"), column("note"), before=FIRST)
    add(FIRST)
    add(less, "less")
    apply(dataset)
    request = ApplyRequest(put(less, "less.yaml"), elsewhere.url, Path("schemas"), PlanOptions())
    apply_migration(request, lambda _: True, lambda: nullcontext(None))

    assert add(less, "again").migration is None
    add(less, "drop", allows_destructive=True)

    assert find_folder_status(FOLDER, dataset.url).pending == ("0003_drop",)
    assert find_folder_status(FOLDER, elsewhere.url).pending == ()
    assert apply(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.columns() == ["id", "amount", "note"]
    assert find_folder_status(FOLDER, dataset.url).is_settled
    assert add(less, "again", allows_destructive=True).migration is None


def test_a_file_that_was_changed_added_or_removed_is_refused() -> None:
    add(FIRST)
    add(ADDED, "add")
    sql, held = FOLDER / "0002_add.duckdb.sql", FOLDER / "0002_add.json"
    kept = sql.read_text()
    assert problems() == []

    sql.write_text(kept + "DROP TABLE orders;\n")
    assert "`0002_add.duckdb.sql` was changed" in problems()
    with pytest.raises(InputError, match="was changed"):
        find_folder_status(FOLDER, "duckdb:///x.duckdb")
    sql.unlink()
    assert problems() == ["`0002_add.duckdb.sql` is missing"]
    sql.write_text(kept.replace("\n", "\r\n"))
    assert problems() == []
    document = json.loads(held.read_text())
    document["plans"]["duckdb"]["steps"].pop()
    held.write_text(json.dumps(document))
    assert "`0002_add.json`: this migration was changed after it was created" in problems()
    held.unlink()
    assert "`0002_add.json` is missing" in problems()


def test_a_script_of_ones_own_is_refused_as_nothing_would_run_it() -> None:
    add(FIRST)
    for name in ("0001_create_orders.before.sql", "0001_create_orders.py"):
        (FOLDER / name).write_text("DROP TABLE orders;\n")
    assert run(["migrate", "hash", str(FOLDER)]) == 1
    found = problems()
    assert "`0001_create_orders.before.sql` is not a file that a migration has" in found
    assert "`0001_create_orders.py` is not a file that a migration has" in found


def test_the_last_migration_can_be_deleted_and_planned_anew() -> None:
    add(FIRST)
    add(ADDED, "add")
    for file in FOLDER.glob("0002*"):
        file.unlink()
    assert run(["migrate", "hash", str(FOLDER)]) == 0
    assert add(ADDED, "again").migration is not None
    assert problems() == []


def test_the_last_migration_is_held_against_the_schema() -> None:
    add(FIRST)
    assert problems(put(FIRST, "first.yaml")) == []
    (found,) = problems(put(ADDED, "added.yaml"))
    assert "the schema `shop` has changes without a migration: `0001_create_orders` leads to version" in found


@pytest.mark.destinations
def test_two_branches_that_add_the_same_number_are_found_and_one_moves(tmp_path: Path) -> None:
    add(FIRST)
    base = tmp_path / "base"
    shutil.copytree(FOLDER, base)
    add(COLORED, "color")
    theirs = tmp_path / "theirs"
    shutil.copytree(FOLDER, theirs)
    shutil.rmtree(FOLDER)
    shutil.copytree(base, FOLDER)
    add(SIZED, "size")
    for path in theirs.iterdir():
        shutil.copy(path, FOLDER)

    found = problems()
    assert "duplicate number 2: `0002_color` and `0002_size`" in found
    with pytest.raises(InputError, match="cannot tell which of these to move: `0002_color`, `0002_size`"):
        rebase_folder(FOLDER)

    report = rebase_folder(FOLDER, ["0002_size"])

    assert report.moved == (("0002_size", "0003_size"),)
    assert problems() == []
    assert not list(FOLDER.glob("0002_size*"))
    both = schema_of(
        *FIRST.tables["orders"].columns.values(), column("color"), column("size", "bigint"), before=COLORED
    )
    assert report.schema_hash == both.version_hash
    assert problems(put(both, "both.yaml")) == []
    dataset = new_dataset("duckdb", tmp_path)
    assert apply(dataset).outcome is Outcome.DONE
    assert dataset.columns() == ["id", "amount", "note", "old", "color", "size"]


def test_branches_whose_changes_do_not_go_together_are_refused() -> None:
    add(FIRST)
    shutil.copytree(FOLDER, "base")
    add(schema_of(ID, column("amount", "text"), column("note"), column("old"), before=FIRST), "text")
    shutil.copytree(FOLDER, "theirs")
    shutil.rmtree(FOLDER)
    shutil.copytree("base", FOLDER)
    add(schema_of(ID, column("amount", "double"), column("note"), column("old"), before=FIRST), "double")
    for path in Path("theirs").iterdir():
        shutil.copy(path, FOLDER)

    with pytest.raises(InputError, match="`0002_double` would have different duckdb steps after the move"):
        rebase_folder(FOLDER, ["0002_double"])
    assert (FOLDER / "0002_double.json").exists()


@pytest.mark.destinations
def test_the_commands_print_documents_that_their_schemas_describe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = new_dataset("duckdb", tmp_path).url
    put(FIRST, "first.yaml")
    put(ADDED, "added.yaml")

    def document(schema: str, code: int, *args: str) -> Any:
        capsys.readouterr()
        assert run(["migrate", *args, "--format", "json"]) == code
        found = json.loads(capsys.readouterr().out)
        check_document(found, schema)
        return found

    folder = ["--dir", "migrations"]
    first = document("migrate-plan-dir", 0, "plan", "./first.yaml", *folder, "--to", url)
    assert first["there"]["refusals"] == []
    check_document(first["migration"], "migration")
    assert document("migrate-plan-dir", 0, "plan", "./first.yaml", *folder)["migration"] is None
    document("migrate-apply-dir", 0, "apply", *folder, "--to", url, "--yes")
    assert document("migrate-plan-dir", 1, "plan", "./added.yaml", *folder, "--name", "more", "--check")["is_written"]
    assert document("migrate-status-dir", 1, "status", *folder, "--to", url, "--check")["destinations"][0]["pending"]
    document("migrate-check", 0, "check", "migrations")
    document("migrate-check", 1, "check", "migrations", "--schema", "./first.yaml")
    document("migrate-hash", 0, "hash", "migrations")
    document("migrate-rebase", 0, "rebase", "migrations")
    applied = document("migrate-apply-dir", 0, "apply", *folder, "--to", url, "--yes")
    assert [each["migration"] for each in applied["applied"]] == ["0002_more"]


@pytest.mark.destinations
def test_the_commands_say_what_is_pending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = new_dataset("duckdb", tmp_path).url
    put(FIRST, "first.yaml")
    assert run(["migrate", "plan", "./first.yaml", "--dir", "migrations", "--dialect", "duckdb"]) == 0
    assert "wrote migrations/0001_create_orders.json" in capsys.readouterr().out
    assert run(["migrate", "status", "--dir", "migrations", "--to", url]) == 0
    assert "  pending: 0001_create_orders\n" in capsys.readouterr().out
    assert run(["migrate", "apply", "--dir", "migrations", "--to", url, "--yes"]) == 0
    assert "0001_create_orders: applied 3 steps in" in capsys.readouterr().out
    assert run(["migrate", "apply", "--to", url, "--yes"]) == 2
    assert "no schema, plan or folder given" in capsys.readouterr().err


@pytest.mark.destinations
@pytest.mark.parametrize("name", ["markdown", "github", "gitlab", "sarif", "junit"])
def test_what_is_pending_is_printed_in_the_formats_of_a_review(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = new_dataset("duckdb", tmp_path)
    add(FIRST)
    call = ["migrate", "status", "--dir", str(FOLDER), "--to", dataset.url, "--format", name]
    assert run([*call, "--check"]) == 1
    assert "`0001_create_orders` is pending" in capsys.readouterr().out.replace("\\", "")
    assert apply(dataset).outcome is Outcome.DONE
    assert run([*call, "--check"]) == 0
    assert "is pending" not in capsys.readouterr().out


def test_the_next_migration_of_several_dialects_is_planned_beside_one_destination(dataset: Dataset) -> None:
    add(FIRST)
    assert apply(dataset).outcome is Outcome.DONE
    request = NextRequest(put(ADDED, "wanted.yaml"), FOLDER, Path("schemas"), PlanOptions())
    report = plan_next_there(request, dataset.url)
    assert report.is_written
    assert report.migration is not None
    assert set(report.migration.plans) == set(ENGINES)
