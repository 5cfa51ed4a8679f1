"""``--keep-spark``, which may stand without a value, and the times that it takes."""

from __future__ import annotations

import pytest

from schemactl.cli.options import Bare, parse_keep
from schemactl.cli.parsing import fill_bare
from schemactl.errors import InputError

KEEP = {"--keep-spark": Bare("15m", r"\d+(\.\d+)?[smh]|off")}


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["--keep-spark", "a.jsonl"], ["--keep-spark=15m", "a.jsonl"]),
        (["a.jsonl", "--keep-spark"], ["a.jsonl", "--keep-spark=15m"]),
        (["--keep-spark", "--name", "x"], ["--keep-spark=15m", "--name", "x"]),
        (["--keep-spark", "2h", "a.jsonl"], ["--keep-spark", "2h", "a.jsonl"]),
        (["--keep-spark=off", "a.jsonl"], ["--keep-spark=off", "a.jsonl"]),
        (["--", "--keep-spark", "a.jsonl"], ["--", "--keep-spark", "a.jsonl"]),
    ],
)
def test_only_a_time_is_taken_for_its_value(typed: list[str], read: list[str]) -> None:
    assert fill_bare(typed, KEEP) == read


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("off", None)])
def test_times_have_a_unit(text: str, seconds: float | None) -> None:
    assert parse_keep(text) == seconds


@pytest.mark.parametrize("text", ["15", "m", "-1m", "always"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a time"):
        parse_keep(text)
