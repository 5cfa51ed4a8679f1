from __future__ import annotations

import pytest

from schemactl.render.progress import show_progress


def test_progress_is_written_to_standard_error_only(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(True) as progress:
        assert progress is not None
        progress("reading [red]\x1b[2J", None)
        progress("reading", 0.5)
        print("a result")

    captured = capsys.readouterr()
    assert captured.out == "a result\n"
    assert "\x1b[2J" not in captured.err


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(False) as progress:
        assert progress is None

    assert capsys.readouterr().err == ""
