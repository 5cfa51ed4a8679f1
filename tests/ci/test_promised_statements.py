"""docs/statements.md: each test that it names is there, and no statement is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| (?P<numbers>[\d, -]+) \| (?P<says>[^|]+) \| (?P<state>\w+) \| (?:`(?P<test>[^`]+)`)? ?\|")
LAST = 223


def rows() -> list[re.Match[str]]:
    text = (ROOT / "docs" / "statements.md").read_text()
    return [match for line in text.splitlines() if (match := ROW.fullmatch(line))]


def numbers(stated: str) -> list[int]:
    """Return the numbers of `1, 3-5`."""
    spans = [part.strip().split("-") for part in stated.split(",")]
    return [number for first, *last in spans for number in range(int(first), int((last or [first])[0]) + 1)]


def test_each_statement_stands_there_once() -> None:
    assert sorted(number for row in rows() for number in numbers(row["numbers"])) == list(range(1, LAST + 1))


@pytest.mark.parametrize("row", [pytest.param(row, id=row["numbers"]) for row in rows()])
def test_what_is_named_is_there(row: re.Match[str]) -> None:
    assert row["state"] in ("works", "differs", "advice")
    if row["test"] is None:
        assert row["state"] != "works"
        return
    path, _, name = row["test"].partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text())
    found = [each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name.startswith("test")]
    assert name in found
