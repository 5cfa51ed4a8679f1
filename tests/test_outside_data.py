"""Tests that lack data of other projects say how to get it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from outside_data import OutsideData

TESTS = Path(__file__).parent


def test_what_is_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "arc").mkdir()
    (tmp_path / "arc" / "cases.json").write_text("[]")

    assert OutsideData(tmp_path)("arc/cases.json") == tmp_path / "arc" / "cases.json"


@pytest.mark.parametrize(("part", "origin"), [("arc/cases.json", "tripl-ai/arc"), ("dlt/schemas", "dlt-hub/dlt")])
def test_what_is_missing_skips_and_says_how_to_get_it(tmp_path: Path, part: str, origin: str) -> None:
    with pytest.raises(pytest.skip.Exception) as caught:
        OutsideData(tmp_path)(part)

    message = str(caught.value)
    assert message.startswith(f"`{part}` is not in the repository: ")
    assert f"https://github.com/{origin}" in message
    assert "SCHEMACTL_CONFORMANCE" in message


def test_all_tests_ask_for_it_in_one_way() -> None:
    used = [path for path in TESTS.rglob("test_*.py") if "conformance" in path.read_text(encoding="utf-8")]

    assert len(used) > 5
    for path in used:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bconformance(?: /|\.)", text), path
