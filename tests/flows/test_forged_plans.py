"""A plan or a row of the ledger that somebody has forged borrows nobody's rights: only its steps are believed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import ID, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.migration.plan_documents import content_hash

pytestmark = pytest.mark.destinations

FIRST = schema_of(ID, column("a"), column("b"))
DROPPED = schema_of(ID, column("a"), before=FIRST)
ADDED = schema_of(ID, column("a"), column("b"), column("c"), column("d"), before=FIRST)


@pytest.fixture(params=["duckdb", "sqlite"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset(request.param, tmp_path)
    assert run(["migrate", "apply", put(FIRST, "first.yaml"), "--to", made.url, "--yes", "--quiet"]) == 0
    made.sql("INSERT INTO @.orders (id, a, b) VALUES (1, 'x', 'y')")
    return made


def forge(path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a plan, and give it the hash that it then has."""
    document = json.loads(Path(path).read_text())
    change(document)
    content = {key: value for key, value in document.items() if key not in ("schemactl_plan", "hash", "signature")}
    Path(path).write_text(json.dumps({**document, "hash": content_hash(content)}))


def save_plan(dataset: Dataset, schema: Any, *options: str) -> None:
    plan = ["migrate", "plan", put(schema, "wanted.yaml"), "--to", dataset.url, "--out", "a.plan.json", "--quiet"]
    assert run([*plan, "--allow-destructive", *options]) == 0


def apply_plan(dataset: Dataset, *options: str) -> int:
    return run(["migrate", "apply", "./a.plan.json", "--to", dataset.url, "--yes", "--quiet", *options])


def call_safe(document: dict[str, Any]) -> None:
    for step in document["steps"]:
        step["risk"], step["is_destructive"] = "safe", False


def forget_undo(document: dict[str, Any]) -> None:
    document["steps"][0]["undo"] = {"steps": [], "is_possible": True, "note": ""}


def leave_out(document: dict[str, Any]) -> None:
    del document["steps"][-1]


def call_first(document: dict[str, Any]) -> None:
    document["schema"]["version_hash"] = document["target"]["version_hash"] = FIRST.version_hash


@pytest.mark.parametrize(
    ("schema", "change", "message"),
    [
        (DROPPED, call_safe, "the risk or the undo of the plan's step 1 is not that of the step"),
        (ADDED, forget_undo, "the risk or the undo of the plan's step 1 is not that of the step"),
        (ADDED, leave_out, "do not lead to its schema: `orders` would still need another step, add column"),
        (ADDED, call_first, "the plan's schema does not match its hash"),
    ],
)
def test_a_plan_that_is_not_what_its_steps_make_it_is_refused(
    dataset: Dataset, schema: Any, change: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(dataset, schema)
    forge("a.plan.json", change)
    assert apply_plan(dataset) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "x", "y")]
    save_plan(dataset, schema)
    assert apply_plan(dataset, "--allow-destructive") == 0


def test_statements_of_a_forged_run_in_the_ledger_are_not_run(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(dataset, ADDED)

    def pwn(document: dict[str, Any]) -> None:
        document["steps"][0]["statements"] = ["CREATE TABLE pwned (x INTEGER)", "DELETE FROM orders"]

    forge("a.plan.json", pwn)
    put_run(dataset, Path("a.plan.json").read_text())
    for command in (["apply", "./wanted.yaml", "--yes"], ["status", "./wanted.yaml"], ["plan", "./wanted.yaml"]):
        assert run(["migrate", *command, "--to", dataset.url, "--quiet"]) == 2
        assert "the ledger's statements of step 1 do not match the step" in capsys.readouterr().err
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "x", "y")]


def test_a_forged_run_in_the_ledger_loses_no_data_that_nobody_allowed(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(dataset, DROPPED)
    forge("a.plan.json", call_safe)
    put_run(dataset, Path("a.plan.json").read_text())
    assert run(["migrate", "apply", "./wanted.yaml", "--to", dataset.url, "--yes"]) == 1
    assert "step 1 loses data" in capsys.readouterr().out
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "x", "y")]


def test_a_run_in_the_ledger_whose_steps_are_called_done_records_no_schema_that_is_not_there(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    save_plan(dataset, ADDED)
    put_run(dataset, Path("a.plan.json").read_text(), done=2)
    assert run(["migrate", "apply", "./wanted.yaml", "--to", dataset.url, "--yes", "--quiet"]) == 2
    assert "do not lead to its schema" in capsys.readouterr().err


def put_run(dataset: Dataset, plan: str, done: int = 0) -> None:
    """Write an unfinished run into the ledger."""
    document = json.loads(plan)
    values = {
        "run_id": "forged", "plan_hash": document["hash"], "schema_name": "shop", "from_hash": FIRST.version_hash,
        "to_hash": document["target"]["version_hash"], "who": "m", "started": "2026-01-01T00:00:00+00:00",
        "state": "running", "plan": plan,
    }  # fmt: skip
    insert(dataset, "_schemactl_migrations", values)
    for number in range(1, len(document["steps"]) + 1):
        state = "done" if number <= done else "pending"
        step = {"run_id": "forged", "number": str(number), "statements_hash": "", "undo_statements": "[]", "who": "m"}
        insert(dataset, "_schemactl_steps", {**step, "state": state})


def insert(dataset: Dataset, table: str, values: dict[str, str]) -> None:
    listed = ", ".join(values)
    if dataset.kind == "sqlite":
        with sqlite3.connect(dataset.path) as connection:
            places = ", ".join("?" for _ in values)
            connection.execute(f"INSERT INTO {table} ({listed}) VALUES ({places})", tuple(values.values()))
        return
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values.values())
    dataset.sql(f"INSERT INTO @.{table} ({listed}) VALUES ({quoted})".replace("@.", "shop.", 1))


SIGNED = ("--sign-key", "PLAN_KEY")


def test_a_signed_plan_is_applied_only_as_it_was_signed(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLAN_KEY", "of production")
    save_plan(dataset, ADDED)
    assert apply_plan(dataset, *SIGNED) == 2
    assert "the plan is not signed" in capsys.readouterr().err
    save_plan(dataset, ADDED, *SIGNED)
    assert "of production" not in Path("a.plan.json").read_text()
    monkeypatch.setenv("PLAN_KEY", "of somebody else")
    assert apply_plan(dataset, *SIGNED) == 2
    assert "the plan was not signed with this key" in capsys.readouterr().err
    monkeypatch.setenv("PLAN_KEY", "of production")
    signed = Path("a.plan.json").read_text()
    forge("a.plan.json", lambda document: document["notes"].clear() or document["tables"].append("other"))
    assert apply_plan(dataset, *SIGNED) == 2
    assert "the plan was not signed with this key" in capsys.readouterr().err
    Path("a.plan.json").write_text(signed)
    assert apply_plan(dataset, *SIGNED) == 0


@pytest.mark.parametrize("key", [None, ""])
def test_a_key_that_is_not_in_the_environment_is_reported(
    dataset: Dataset, key: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PLAN_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("PLAN_KEY", key)
    arguments = ["migrate", "plan", put(ADDED, "wanted.yaml"), "--to", dataset.url, "--out", "a.plan.json", *SIGNED]
    assert run(arguments) == 2
    assert "environment variable `PLAN_KEY` is not set" in capsys.readouterr().err
    assert not Path("a.plan.json").exists()


def test_a_key_without_a_plan_is_refused(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAN_KEY", "k")
    path = put(ADDED, "wanted.yaml")
    assert run(["migrate", "apply", path, "--to", dataset.url, "--yes", *SIGNED]) == 2
    assert run(["migrate", "plan", path, "--to", dataset.url, *SIGNED]) == 2
