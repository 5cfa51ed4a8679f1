"""``schemactl migrate`` as its users run it: the installed command, killed at any point, and beside dlt's pipelines."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pexpect
import pytest
from command_schemas import check_document
from forked_commands import BETWEEN_STEPS, Commands, forked_commands
from migrated_datasets import ADDED, FIRST, Dataset, new_dataset, put

from schemactl.cli.app import run as run_here
from schemactl.formats import dlt as dlt_format
from schemactl.schema.hash import bump
from schemactl.schema.types import Column

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 120
STEPS = 3
"""How many steps lead from ``FIRST`` to ``ADDED``."""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")] + ["COLUMNS", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def killed() -> Iterator[Commands]:
    with forked_commands(BETWEEN_STEPS) as run:
        yield run


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    """A dataset with the first schema and two rows."""
    answer = migrate("apply", put(FIRST, "first.yaml"), "--to", dataset.url, "--yes")
    assert (answer.returncode, answer.stderr) == (0, "")
    put(ADDED, "added.yaml")
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o'), (2, 7, '12', NULL)")
    return dataset


def run(call: list[Any]) -> subprocess.CompletedProcess[str]:
    # With the variables as Python has them: readline, which pytest loads, sets COLUMNS behind its back.
    return subprocess.run(
        call,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        stdin=subprocess.DEVNULL,
        env=dict(os.environ),
    )


def migrate(*args: str) -> subprocess.CompletedProcess[str]:
    """Run a command within this process, which takes a tenth of the time."""
    out, err = io.StringIO(), io.StringIO()
    call = ["migrate", *args]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_here(call)
    return subprocess.CompletedProcess(call, code, out.getvalue(), err.getvalue())


def test_a_run_killed_between_any_two_steps_leaves_all_or_nothing(dataset: Dataset, killed: Commands) -> None:
    call = ("migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes")
    for steps in range(STEPS):
        assert killed(*call, begin=(steps,)).code == -signal.SIGKILL
        assert dataset.columns() == ["id", "amount", "note", "old"]
    assert run([COMMAND, *call]).returncode == 0
    assert dataset.columns() == ["id", "amount", "memo", "old", "paid"]
    assert dataset.sql("SELECT id, amount, memo FROM @.orders ORDER BY id") == [(1, 5.0, "x"), (2, 7.0, "12")]
    assert migrate("status", "./added.yaml", "--to", dataset.url, "--check").returncode == 0


def test_a_run_step_by_step_goes_on_where_it_was_killed(dataset: Dataset, killed: Commands) -> None:
    call = ("migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes", "--step-by-step")
    for done in range(STEPS):
        assert killed(*call, begin=(min(done, 1),)).code == -signal.SIGKILL
        answer = migrate("status", "./added.yaml", "--to", dataset.url, "--format", "json", "--check")
        assert answer.returncode == 1
        (unfinished,) = [each for each in json.loads(answer.stdout)["runs"] if each["state"] == "running"]
        assert (unfinished["done"], unfinished["steps"]) == (done, STEPS)
    answer = migrate(*call[1:])
    assert answer.returncode == 0
    assert "an earlier run completed 2 of these steps; 1 is left" in answer.stdout
    assert dataset.columns() == ["id", "amount", "memo", "old", "paid"]
    assert migrate("verify", "--to", dataset.url).returncode == 0


def test_a_run_that_was_killed_half_way_is_undone(dataset: Dataset, killed: Commands) -> None:
    before = dataset.sql("SELECT * FROM @.orders ORDER BY id")
    call = ("migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes", "--step-by-step")
    assert killed(*call, begin=(2,)).code == -signal.SIGKILL
    other = migrate("apply", "./first.yaml", "--to", dataset.url, "--yes")
    assert other.returncode == 1
    assert "is unfinished" in other.stdout

    answer = migrate("rollback", "--to", dataset.url, "--yes")

    assert (answer.returncode, answer.stderr) == (0, "")
    assert dataset.sql("SELECT * FROM @.orders ORDER BY id") == before
    assert migrate("status", "./first.yaml", "--to", dataset.url, "--check").returncode == 0


def test_two_appliers_do_not_meet(dataset: Dataset) -> None:
    call = [COMMAND, "migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes", "--lock-timeout", "60"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(call, stdin=subprocess.DEVNULL, **pipes) for _ in range(2)]
    answers = [(process.communicate(timeout=TIME_LIMIT_SECONDS), process.returncode) for process in both]

    codes = sorted(code for _, code in answers)
    assert codes[0] == 0, answers  # one has applied it; the other found it done, moved, or locked
    assert all(code in (0, 1, 3) for code in codes), answers
    assert dataset.columns() == ["id", "amount", "memo", "old", "paid"]
    assert len(dataset.sql("SELECT 1 FROM @._schemactl_migrations")) == 2


def test_a_person_is_asked(work: Path) -> None:
    made = new_dataset("duckdb", work)
    call = ["migrate", "apply", put(FIRST, "first.yaml"), "--to", made.url]
    answer = run([COMMAND, *call])
    assert answer.returncode == 2
    assert "create table `orders`" in answer.stdout
    assert "no terminal for confirmation" in answer.stderr
    for said, code in (("no", 1), ("yes", 0)):
        terminal = pexpect.spawn(str(COMMAND), call, encoding="utf-8", timeout=60, dimensions=(50, 100))
        terminal.expect_exact("Type `yes` to confirm: ")
        terminal.sendline(said)
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == code
    assert made.columns() == ["id", "amount", "note", "old"]


def test_documents_follow_their_schemas(work: Path) -> None:
    made = new_dataset("duckdb", work)
    put(FIRST, "first.yaml")
    put(ADDED, "added.yaml")

    def document(schema: str, *args: str, code: int = 0) -> dict[str, Any]:
        answer = migrate(*args, "--to", made.url, "--format", "json")
        assert answer.returncode == code, answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        check_document(found, schema)
        return found

    assert document("migrate-apply", "apply", "./first.yaml", "--yes")["outcome"] == "done"
    report = document("migrate-plan-report", "plan", "./added.yaml", "--check", code=1)
    check_document(report["plan"], "migrate-plan")
    assert len(report["plan"]["steps"]) == STEPS
    assert not document("migrate-status", "status", "./added.yaml", "--check", code=1)["is_settled"]
    assert document("migrate-verify", "verify")["is_clean"]
    assert document("migrate-baseline", "baseline", "./first.yaml", "--yes")["outcome"] == "nothing to do"
    document("migrate-apply", "apply", "./added.yaml", "--yes")
    assert len(document("migrate-rollback", "rollback", "--yes")["steps"]) == STEPS


@pytest.mark.parity
@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "postgresql"])
def test_a_pipeline_goes_on_after_a_migration(kind: str, request: pytest.FixtureRequest, work: Path) -> None:
    import dlt

    server = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    destinations = {
        "duckdb": lambda: dlt.destinations.duckdb(f"{work}/file.duckdb"),
        "sqlite": lambda: dlt.destinations.sqlalchemy(f"sqlite:///{work}/file.db"),
        "postgresql": lambda: dlt.destinations.postgres(server),
    }
    addresses = {"duckdb": f"duckdb:///{work}/file.duckdb", "sqlite": f"sqlite:///{work}/file.db", "postgresql": server}
    to = f"{addresses[kind]}?dataset=moved"

    def load(rows: list[dict[str, Any]]) -> str:
        pipeline = dlt.pipeline(
            "shop",
            destination=destinations[kind](),
            dataset_name="moved",
            pipelines_dir=str(work / "pipelines"),
            export_schema_path=str(work / "schemas" / "export"),
            import_schema_path=str(work / "schemas" / "import"),
        )
        pipeline.run(rows, table_name="orders").raise_on_failed_jobs()
        with pipeline.sql_client() as client:
            found = client.execute_sql("SELECT id, amount, memo FROM orders ORDER BY id") if "memo" in rows[0] else []
        rows_there.extend(found or [])
        return pipeline.default_schema.version_hash

    rows_there: list[Any] = []
    load([{"id": 1, "amount": 5, "note": "x", "old": "o"}, {"id": 2, "amount": 7, "note": "y", "old": "p"}])
    path = Path("schemas/export/shop.schema.yaml")
    schema = dlt_format.read(path.read_text(), str(path)).schema
    orders = schema.tables["orders"]
    columns = {name: each for name, each in orders.columns.items() if name not in ("old", "note")}
    columns["amount"] = Column("amount", {**columns["amount"].properties, "data_type": "double"})
    columns["memo"] = Column("memo", {**orders.columns["note"].properties, "x-renamed-from": "note"})
    columns["paid"] = Column("paid", {"data_type": "timestamp", "nullable": True})
    changed = bump(schema.with_table(replace(orders, columns=columns)))
    put(changed, "schemas/import/shop.schema.yaml")

    answer = migrate("apply", "import:shop", "--to", to, "--yes", "--allow-destructive")

    assert (answer.returncode, answer.stderr) == (0, "")
    moment = "2026-01-31T10:00:00Z"
    found = load([{"id": 3, "amount": 1.5, "memo": "z", "paid": moment}])
    assert found == changed.version_hash
    assert [tuple(row) for row in rows_there] == [(1, 5.0, "x"), (2, 7.0, "y"), (3, 1.5, "z")]
    assert migrate("status", "import:shop", "--to", to, "--check").returncode == 0
    exported = run([COMMAND, "export", to, "--hash", schema.version_hash[:9]])
    assert f"version_hash: {schema.version_hash}" in exported.stdout
