"""A review ends within its time, whatever it reads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from schemactl.cli.app import run
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
    assert "error: this takes longer than 0.2 s, and was given up" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "default"), [((), "300"), (("--data", "rows.jsonl"), "0")])
def test_there_is_a_limit_where_nobody_states_one(
    monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], default: str
) -> None:
    asked = []
    monkeypatch.setattr("schemactl.cli.commands.diff.read_seconds", lambda text, _option: asked.append(text) or 0.0)
    run(["diff", "none.yaml", "none.yaml", *option])
    assert asked == [default]


def test_a_limit_that_is_no_number_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "a.yaml", "a.yaml", "--timeout", "soon"]) == 2
    assert "`soon` is not a number of seconds (`--timeout`)" in capsys.readouterr().err
