"""A review ends within its time, whatever it reads."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bounds import interrupted_after
from platforms import needs_posix

from schemactl.cli.app import run
from schemactl.cli.commands import CommandModule
from schemactl.cli.commands import diff as diff_command
from schemactl.cli.commands.migrate import lint
from schemactl.flows import diff
from tests.cli.test_diff_command import BASE, write


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review that does not end, in code that takes every error for an answer."""

    def never(*_: object) -> None:
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue

    write(tmp_path / "a.yaml", BASE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(diff, "find_pairs", never)


@pytest.mark.usefixtures("slow")
def test_a_review_that_takes_too_long_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "a.yaml", "a.yaml", "--timeout", "0.2"]) == 2
    assert "error: stopped after the time limit of 0.2 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "arguments", "limits"),
    [
        (diff_command, {}, ("300", "4096")),
        (diff_command, {"data": ["rows.jsonl"]}, ("0", "0")),
        (lint, {"target": "migrations"}, ("300", "4096")),
    ],
)
def test_there_are_limits_where_nobody_states_them(
    command: CommandModule, arguments: dict[str, Any], limits: tuple[str, str]
) -> None:
    assert command.Options(**arguments).default_limits == limits


@needs_posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "a.yaml", "a.yaml", "--timeout", "0.2"),
        ("check", "a.yaml", "--timeout", "0.2"),
        ("accept", "--all", "--until", "2999-12-31", "--reason", "x", "--timeout", "0.2"),
        ("migrate", "lint", "migrations", "--timeout", "0.2"),
        ("migrate", "check", "migrations", "--timeout", "0.2"),
    ],
)
@pytest.mark.parametrize("is_stated", ["on the command line", "in the environment"])
def test_the_clock_runs_while_settings_are_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    is_stated: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("schemactl.toml")  # of no repository: it may be the user's, and nobody writes to it
    if is_stated == "in the environment":
        arguments = arguments[:-2]
        monkeypatch.setenv("SCHEMACTL_TIMEOUT", "0.2")
    with interrupted_after(30):
        assert run([*arguments]) == 2
    assert "error: stopped after the time limit of 0.2 s" in capsys.readouterr().err


def test_a_review_that_takes_too_much_memory_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux limits memory")
    monkeypatch.chdir(tmp_path)
    columns = "".join(f"      c{number}: {{data_type: text}}\n" for number in range(100_000))
    Path("a.yaml").write_text(f"name: a\nversion: 1\nengine_version: 11\ntables:\n  t:\n    columns:\n{columns}")
    assert run(["diff", "a.yaml", "a.yaml", "--max-memory", "30"]) == 2
    assert "error: stopped at the memory limit of 30 MB" in capsys.readouterr().err
    assert run(["diff", "a.yaml", "a.yaml", "--max-memory", "much"]) == 2
    assert "`much` is not a whole number, 0 or greater (`--max-memory`)" in capsys.readouterr().err


def test_a_limit_that_is_no_number_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "a.yaml", "a.yaml", "--timeout", "soon"]) == 2
    assert "`soon` is not a number of seconds (`--timeout`)" in capsys.readouterr().err
