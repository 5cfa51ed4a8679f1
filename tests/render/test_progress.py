from __future__ import annotations

import time

import pytest

from schemactl.render.progress import show_progress


def test_progress_is_written_to_standard_error_only(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(0) as progress:
        assert progress is not None
        progress("reading [red]\x1b[2J", None)
        progress("reading", 0.5)
        print("a result")

    captured = capsys.readouterr()
    assert captured.out == "a result\n"
    assert "\x1b[2J" not in captured.err


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(None) as progress:
        assert progress is None

    assert capsys.readouterr().err == ""


def test_lines_say_stage_share_and_time_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    err = ""
    with show_progress(0.01) as progress:
        assert progress is not None
        progress("reading [red]\x1b[2J", None)
        progress("", 0.256)
        for _ in range(1_000):
            err += capsys.readouterr().err
            if err.count("\n") > 1:
                break
            time.sleep(0.01)

    assert set(err.splitlines()) == {"reading [red]\\x1b[2J, 26%, 0 s"}


def test_commands_that_are_quick_write_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(60) as progress:
        assert progress is not None
        progress("reading", 0.5)

    assert capsys.readouterr() == ("", "")
