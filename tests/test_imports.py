"""What import-linter cannot say: of a package, only public names are for the layers above."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import schemactl

PACKAGE = Path(schemactl.__file__).parent
REPOSITORY = Path(__file__).parents[1]


def imported_names(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@pytest.mark.parametrize("layer", ["cli", "flows", "render"])
def test_private_parts_of_destinations_stay_within_them(layer: str) -> None:
    private = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in sorted((PACKAGE / layer).rglob("*.py"))
        for name in imported_names(file)
        if name.startswith("schemactl.destinations.") and any(part.startswith("_") for part in name.split("."))
    ]
    assert private == []


@pytest.mark.parametrize("folder", ["benchmarks", "docs", "fixtures"])
def test_programs_beside_the_package_import_what_is_there(folder: str) -> None:
    """No type checker looks at them, and no test runs the benchmarks."""
    missing = [
        f"{file.relative_to(REPOSITORY)}: {node.module}.{each.name}"
        for file in sorted((REPOSITORY / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("schemactl")
        for each in node.names
        if not is_there(str(node.module), each.name)
    ]
    assert missing == []


def is_there(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True
