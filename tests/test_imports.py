"""What import-linter cannot say: of a package, only public names are for the layers above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import schemactl

PACKAGE = Path(schemactl.__file__).parent


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


def test_every_name_that_destinations_offer_is_there() -> None:
    from schemactl import destinations

    assert [name for name in destinations.__all__ if getattr(destinations, name, None) is None] == []
