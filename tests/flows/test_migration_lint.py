"""``schemactl migrate lint``: what is judged, and that nothing of a stranger's files is believed or run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document
from migrated_datasets import ADDED, FIRST, ID, column, put, schema_of

from schemactl.cli.app import run
from schemactl.migration.migration_files import sum_text
from schemactl.migration.plan_documents import content_hash

LESS = schema_of(ID, column("amount", "double"), before=ADDED)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three migrations for PostgreSQL: tables, a retype, columns that are dropped; the first one is on main."""
    top = tmp_path_factory.mktemp("repository")
    plan = ["migrate", "plan", "--dir", "migrations", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        assert run([*plan, put(FIRST, "first.yaml"), "--dialect", "postgresql"]) == 0
        for call in ("init -q -b main", "add .", "-c user.name=a -c user.email=b@c.d commit -q -m first"):
            subprocess.run(["git", *call.split()], check=True)
        assert run([*plan, put(ADDED, "added.yaml"), "--name", "add"]) == 0
        assert run([*plan, put(LESS, "less.yaml"), "--name", "less", "--allow-destructive"]) == 0
    return top


@pytest.fixture(autouse=True)
def folder(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The migrations of a copy of the repository, in which the test runs."""
    shutil.copytree(repository, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return Path("migrations")


def lint(capsys: pytest.CaptureFixture[str], *args: str, code: int) -> str:
    capsys.readouterr()
    assert run(["migrate", "lint", "migrations", *args]) == code
    return capsys.readouterr().out


def rules(capsys: pytest.CaptureFixture[str], *args: str, code: int = 1) -> list[tuple[str, str]]:
    document = json.loads(lint(capsys, *args, "--format", "json", code=code))
    check_document(document, "migrate-lint")
    return [(each["rule"], each["migration"]) for each in document["findings"]]


def test_locks_and_losses_are_found_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    found = rules(capsys)
    assert ("M102", "0003_less (postgresql)") in found
    assert ("M104", "0002_add (postgresql)") in found
    assert not [rule for rule, name in found if name.startswith("0001")]
    out = lint(capsys, "--format", "github", code=1)
    line = next(
        number
        for number, text in enumerate(Path("migrations/0003_less.postgresql.sql").read_text().splitlines(), 1)
        if text.startswith("-- 1. ")
    )
    assert f"::error file=migrations/0003_less.postgresql.sql,line={line},title=M102 step loses data::" in out


def test_a_pull_request_sees_steps_risk_lock_and_undo(capsys: pytest.CaptureFixture[str]) -> None:
    out = lint(capsys, "--format", "markdown", "--since", "git:main", code=1)
    assert out.startswith("<!-- schemactl migrate lint -->\n")
    assert "0001" not in out
    row = (
        "| 3 | change type of `orders.amount`: bigint -> double | rewrites the table | ACCESS EXCLUSIVE while all rows"
    )
    assert row in out
    assert "| not possible: its values are lost |" in out


def test_systems_of_ci_read_the_findings(capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"{name}.out" for name in ("json", "gitlab", "sarif", "junit")]
    assert "M102" in lint(capsys, *(f"--report={Path(file).stem}={file}" for file in files), code=1)
    for file in files:
        assert "M102" in Path(file).read_text(), file


def test_how_bad_a_finding_has_to_be_is_for_the_caller_and_not_for_a_settings_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lint(capsys, "--fail-on", "never", code=0)
    Path("schemactl.toml").write_text('[migrate]\nfail-on = "never"\n')
    assert run(["migrate", "lint", "migrations"]) == 2


def test_an_earlier_migration_that_a_branch_changes_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder / "0001_create_orders.json", lambda document: document["plans"]["postgresql"]["notes"].clear())
    forge(folder / "0001_create_orders.json", lambda document: document["plans"]["postgresql"]["steps"].pop(0))
    assert ("M002", "migrations") in rules(capsys, "--since", "git:main")


def test_line_ends_that_git_has_changed_do_not_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rules(capsys, "--since", "git:main")
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert rules(capsys, "--since", "git:main") == before
    assert "M002" not in {rule for rule, _ in before}


def test_a_risk_that_a_file_states_is_not_believed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def hide(document: Any) -> None:
        for step in document["plans"]["postgresql"]["steps"]:
            step |= {"risk": "safe", "way": "in place", "is_destructive": False}

    forge(folder / "0003_less.json", hide)
    found = rules(capsys)
    assert ("M102", "0003_less (postgresql)") in found
    assert ("M001", "migrations") in found


def forge(file: Path, change: Any) -> None:
    """Change a migration, and make all hashes right again, as a stranger can."""
    document = json.loads(file.read_text())
    change(document)
    document["hash"] = content_hash(
        {key: each for key, each in document.items() if key not in ("schemactl_migration", "hash")}
    )
    file.write_text(json.dumps(document, indent=1) + "\n")
    files = {each.name: each.read_text() for each in file.parent.iterdir()}
    (file.parent / "schemactl.sum").write_text(sum_text(files))


def test_a_plan_is_judged_as_a_migration_is(capsys: pytest.CaptureFixture[str]) -> None:
    to = "duckdb:///x.duckdb"
    assert run(["migrate", "plan", "./first.yaml", "--to", to, "--out", "first.plan.json", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["migrate", "lint", "first.plan.json"]) == 0
    assert capsys.readouterr().out == "no findings\n"
    assert run(["migrate", "lint", "first.yaml"]) == 2


def test_plan_status_and_verify_have_the_same_formats(capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    to = ["--to", "duckdb:///file.duckdb?dataset=shop"]
    assert run(["migrate", "apply", "./first.yaml", *to, "--yes", "--quiet"]) == 0
    with duckdb.connect("file.duckdb") as connection:
        connection.execute("ALTER TABLE shop.orders DROP COLUMN old")
    files = [f"{name}.out" for name in ("github", "gitlab", "sarif", "junit")]
    reports = [f"--report={Path(file).stem}={file}" for file in files]
    for words, code, rule in (
        (["plan", "./added.yaml"], 0, "M202"),
        (["status", "--check"], 1, "M203"),
        (["verify"], 1, "M203"),
    ):
        capsys.readouterr()
        assert run(["migrate", *words, *to, "--format", "markdown", *reports]) == code, words
        assert rule in capsys.readouterr().out, words
        for file in files:
            assert rule in Path(file).read_text(), (words, file)


def test_a_script_has_no_report_for_ci(capsys: pytest.CaptureFixture[str]) -> None:
    script = ["migrate", "plan", "./first.yaml", "--dialect", "snowflake"]
    assert run([*script, "--report", "sarif=script.sarif"]) == 2
    assert "`sarif` is not a format of this result" in capsys.readouterr().err
    assert not Path("script.sarif").exists()
    assert run([*script, "--report", "json=script.json"]) == 0
    assert json.loads(Path("script.json").read_text())["plan"]["steps"]
