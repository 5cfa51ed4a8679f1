"""What docs/extending.md and docs/development.md tell contributors: the recipes run, and a record's journey is true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

REPOSITORY = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"```\w+ (\S+/\S+)( \+=)?\n(.*?)```", re.DOTALL)
LIMIT_SECONDS = 600

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A copy of the repository with the blocks of all recipes, and the Python files that they change."""
    copy = tmp_path_factory.mktemp("recipes")
    for name in ("schemactl", "tests", "docs"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, copy)
    page = (REPOSITORY / "docs" / "extending.md").read_text().partition("\n## Recipes\n")[2]
    paths = []
    for path, appends, code in BLOCK.findall(page):
        file = copy / path
        file.parent.mkdir(parents=True, exist_ok=True)
        assert file.exists() == bool(appends), path
        file.write_text((f"{file.read_text()}\n\n" if appends else "") + code)
        paths.append(path)
    return copy, [path for path in paths if path.endswith(".py")]


def check(copy: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_recipes_pass_the_checks(recipes: tuple[Path, list[str]]) -> None:
    copy, paths = recipes
    check(copy, "ruff", "check", *paths)
    check(copy, "ruff", "format", "--check", *paths)
    check(copy, "mypy", *(path for path in paths if path.startswith("schemactl/")))
    check(copy, "lint-imports")


def test_the_tests_of_the_recipes_pass(recipes: tuple[Path, list[str]]) -> None:
    copy, paths = recipes
    tests = [path for path in paths if path.startswith("tests/")]
    check(copy, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests)
    passed = check(
        copy, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "c290 or C290", "tests/review/test_rules.py"
    )
    assert int(re.findall(r"(\d+) passed", passed)[-1]) >= 4


def test_a_record_passes_the_stops_of_the_page_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REPOSITORY / "docs" / "development.md").read_text()
    journey = page.partition("\n## A record's journey\n")[2].partition("\n## ")[0]
    stops = re.findall(r"^\d+\. `(\S+?)\.(\w[\w.]*)`", journey, re.MULTILINE)
    assert len(stops) == 15
    (tmp_path / "orders.jsonl").write_text('{"id": 1, "items": [{"sku": "a"}]}\n')
    monkeypatch.chdir(tmp_path)
    calls = [(call.replace("\\", "/"), function) for call, function in calls_of_normalize()]
    positions = [calls.index((f"{module}.py", function)) for module, function in stops]
    assert positions == sorted(positions)


def calls_of_normalize() -> Iterator[tuple[str, str]]:
    """Return the first call of each function of the package that loads the file, as its module and its name."""
    from schemactl.cli.app import run

    top = f"{REPOSITORY / 'schemactl'}{os.sep}"
    calls: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(top):
            calls.setdefault((code.co_filename.removeprefix(top), code.co_qualname))

    call = ["normalize", "orders.jsonl", "--name", "shop", "--to", "duckdb:///shop.duckdb", "--engine", "local"]
    sys.setprofile(note)
    try:
        code = run(call)
    finally:
        sys.setprofile(None)
    assert code == 0
    return iter(calls)
