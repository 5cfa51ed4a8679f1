"""Files of own SQL in a folder of migrations: checked, judged, renumbered; no database is asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document
from migrated_datasets import ADDED, FIRST, column, put, schema_of

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.flows.migrate.migration_folder import (
    NextRequest,
    check_folder,
    hash_folder,
    next_migration,
    read_folder,
    rebase_folder,
)
from schemactl.flows.migrate.pending import find_folder_status
from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.options import PlanOptions
from schemactl.schema.types import Schema

FOLDER = Path("migrations")
COLORED = schema_of(*FIRST.tables["orders"].columns.values(), column("color"), before=FIRST)
SIZED = schema_of(*FIRST.tables["orders"].columns.values(), column("size", "bigint"), before=FIRST)
OWN = "UPDATE ${dataset}.orders SET note = 'x';\n-- schemactl: undo\nUPDATE ${dataset}.orders SET note = NULL;\n"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A Person")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "person@example.org")


def add(schema: Schema, title: str | None = None, dialects: tuple[str, ...] = ("postgresql",)) -> None:
    stated = () if FOLDER.exists() else dialects
    request = NextRequest(put(schema, "wanted.yaml"), FOLDER, Path("schemas"), PlanOptions(), stated, title=title)
    next_migration(request)


def write(name: str, text: str = OWN) -> Path:
    path = FOLDER / name
    path.write_text(text)
    return path


def problems() -> list[str]:
    return [each.message for each in check_folder(FOLDER).problems]


def own_of(name: str) -> tuple[OwnSql, ...]:
    found = next(each for each in read_folder(FOLDER).migrations if each.name == name)
    return tuple(own for plan in found.plans.values() for own in plan.own)


def test_a_file_counts_once_the_sum_file_knows_it_and_a_changed_or_missing_one_is_refused() -> None:
    add(FIRST)
    add(ADDED, "add")
    file = write("0002_add.postgresql.2.before.sql")
    assert problems() == [f"`{file.name}` was added, but is not in the checksum file"]
    assert run(["migrate", "hash", str(FOLDER)]) == 0
    assert problems() == []

    file.write_text(OWN + "DELETE FROM ${dataset}.orders;\n")
    assert problems() == [f"`{file.name}` was changed"]
    with pytest.raises(InputError, match="was changed"):
        find_folder_status(FOLDER, "duckdb:///x.duckdb")
    file.unlink()
    assert problems() == [f"`{file.name}` is missing"]


def test_the_next_migration_holds_the_own_sql_of_the_one_before_it_fast() -> None:
    add(FIRST)
    add(COLORED, "color")
    file = write("0002_color.postgresql.1.after.sql")
    hash_folder(FOLDER)
    both = schema_of(*COLORED.tables["orders"].columns.values(), column("size", "bigint"), before=COLORED)
    add(both, "size")
    assert problems() == []

    file.write_text(OWN.replace("'x'", "'y'"))

    report = hash_folder(FOLDER)
    message = "`0003_size` was created for a different version of `0002_color`"
    assert [each.message for each in report.problems] == [message]


@pytest.mark.parametrize(("name", "text", "message"), [
    ("0002_add.postgresql.1.before.sql", "SELECT 1;\nCOMMIT;", "`COMMIT` is about transactions"),
    ("0002_add.postgresql.1.before.sql", "-- schemactl: undoo\n", "there is no section `undoo`"),
    ("0002_add.postgresql.9.before.sql", OWN,
     "`0002_add.postgresql.9.before.sql` is for step 9, and of its steps `0002_add` has 3 with postgresql"),
    ("0002_add.postgres.1.before.sql", OWN,
     "`0002_add.postgres.1.before.sql` is for step 1, and of its steps `0002_add` has none for postgres"),
    ("0002_add.postgresql.0.before.sql", OWN, "`0002_add.postgresql.0.before.sql` is not a file that a migration has"),
    ("0002_add.postgresql.1.during.sql", OWN, "`0002_add.postgresql.1.during.sql` is not a file that a migration has"),
    ("0003_gone.postgresql.1.before.sql", OWN, "`0003_gone.postgresql.1.before.sql` belongs to no migration"),
    ("0001_create_orders.postgresql.1.after.sql", OWN,
     "step 1 creates dlt's own `_dlt_version`, and is skipped if the table exists"),
])  # fmt: skip
def test_what_cannot_be_run_is_an_error_of_check_and_lint_with_its_place(
    name: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add(FIRST)
    add(ADDED, "add")
    file = write(name, text)
    assert run(["migrate", "hash", str(FOLDER)]) == 1
    assert message in problems()
    capsys.readouterr()

    assert run(["migrate", "check", str(FOLDER), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    check_document(document, "migrate-check")
    (found,) = [each for each in document["problems"] if each["message"] == message]
    assert found["file"] == name
    line = 2 if "COMMIT" in text else 1 if "undoo" in text else None
    assert found["line"] == line
    assert run(["migrate", "lint", str(FOLDER), "--format", "github"]) == 1
    at = f"file={file}" + (f",line={line}" if line else "")
    assert f"::error {at},title=M001 migrations folder is invalid::" in capsys.readouterr().out


def test_a_dialect_that_keeps_each_statement_takes_an_empty_file_only() -> None:
    add(FIRST, dialects=("duckdb", "mysql"))
    add(ADDED, "add")
    write("0002_add.duckdb.1.before.sql")
    hash_folder(FOLDER)
    assert "`0002_add` has custom SQL for duckdb, but not for mysql" in problems()
    file = write("0002_add.mysql.1.before.sql", "-- none is needed\n")
    hash_folder(FOLDER)
    assert problems() == []

    file.write_text(OWN)

    assert "mysql commits each statement: custom SQL could not be rolled back if a step fails" in problems()


def test_a_rebase_renumbers_own_sql_with_its_migration(tmp_path: Path) -> None:
    add(FIRST)
    base, theirs = tmp_path / "base", tmp_path / "theirs"
    shutil.copytree(FOLDER, base)
    add(COLORED, "color")
    shutil.copytree(FOLDER, theirs)
    shutil.rmtree(FOLDER)
    shutil.copytree(base, FOLDER)
    add(SIZED, "size")
    file = write("0002_size.postgresql.1.after.sql")
    hash_folder(FOLDER)
    (before,) = own_of("0002_size")
    for path in theirs.iterdir():
        shutil.copy(path, FOLDER)

    report = rebase_folder(FOLDER, ["0002_size"])

    assert report.moved == (("0002_size", "0003_size"),)
    assert problems() == []
    assert not file.exists()
    (after,) = own_of("0003_size")
    assert after.file == "0003_size.postgresql.1.after.sql"
    assert (after.number, after.statements, after.undo) == (before.number, before.statements, before.undo)


def lint(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(["migrate", "lint", str(FOLDER), *args]) == code
    return capsys.readouterr().out


def test_a_pull_request_sees_own_sql_and_that_nobody_can_judge_it(capsys: pytest.CaptureFixture[str]) -> None:
    add(FIRST)
    add(COLORED, "color")
    file = write(
        "0002_color.postgresql.1.after.sql", "-- schemactl: precondition\nSELECT 1;\n-- schemactl: run\n" + OWN
    )
    hash_folder(FOLDER)
    finding = f"`{file.name}` runs 1 statement after step 1 (add column `orders.color`)"

    document = json.loads(lint(capsys, "--format", "json"))
    check_document(document, "migrate-lint")
    (found,) = [each for each in document["findings"] if each["rule"] == "M107"]
    assert (found["message"], found["severity"], found["location"]["path"]) == (finding, "warn", str(file))
    assert [each["own"][0]["file"] for each in document["plans"] if "own" in each] == [file.name]
    for name in ("github", "gitlab", "sarif", "junit", "markdown"):
        assert "M107" in lint(capsys, "--format", name)
    own = f"after it: `{file.name}`, 1 statement, if its precondition returns rows; undone by 1 statement"
    row = f"| 1 | add column `orders.color`, text<br>{own} |"
    assert row in lint(capsys, "--format", "markdown")
    assert lint(capsys, "--fail-on", "warn", code=1)


def test_own_sql_without_an_undo_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    add(FIRST)
    add(COLORED, "color")
    write("0002_color.postgresql.1.after.sql", "SELECT 1")
    hash_folder(FOLDER)
    document = json.loads(lint(capsys, "--format", "json"))
    assert sorted(each["rule"] for each in document["findings"]) == ["M103", "M107"]
    assert "`0002_color.postgresql.1.after.sql` does not declare its undo" in lint(capsys)


def test_an_earlier_migration_whose_own_sql_a_branch_changes_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    add(FIRST)
    add(COLORED, "color")
    file = write("0002_color.postgresql.1.after.sql")
    hash_folder(FOLDER)
    for call in ("init -q -b main", "add .", "commit -q -m first"):
        subprocess.run(["git", *call.split()], check=True)
    assert lint(capsys, "--since", "git:main") == "no findings\n"

    changes: tuple[Any, ...] = (
        lambda: file.write_text(OWN.replace("'x'", "'y'")),
        file.unlink,
        lambda: (file.write_text(OWN), write("0002_color.postgresql.1.before.sql")),
    )
    for change in changes:
        change()
        hash_folder(FOLDER)
        document = json.loads(lint(capsys, "--since", "git:main", "--format", "json", code=1))
        assert [each["rule"] for each in document["findings"] if each["rule"].startswith("M0")] == ["M002"]


def test_a_plan_with_own_sql_is_not_applied_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    from schemactl.migration.plan_documents import content_hash

    put(FIRST, "first.yaml")
    to = ["--to", "duckdb:///x.duckdb"]
    assert run(["migrate", "plan", "./first.yaml", *to, "--out", "first.plan.json", "--quiet"]) == 0
    document = json.loads(Path("first.plan.json").read_text())
    of_step = {"file": "f.sql", "number": 1, "when": "before", "statements": ["SELECT 1"]}
    document["own"] = [{**of_step, "undo": None, "precondition": None}]
    document["hash"] = content_hash({k: v for k, v in document.items() if k not in ("schemactl_plan", "hash")})
    Path("first.plan.json").write_text(json.dumps(document))
    capsys.readouterr()

    assert run(["migrate", "apply", "first.plan.json", *to, "--yes"]) == 2

    assert "custom SQL runs from a migrations folder, not from a plan" in capsys.readouterr().err
    assert not Path("x.duckdb").exists()
