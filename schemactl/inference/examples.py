"""Examples of values, taken from the documents that evidence saw first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schemactl.inference.classes import classify
from schemactl.inference.evidence import ClassEvidence, PathEvidence, Position, example_of
from schemactl.inference.paths import ELEMENT, Path


def add_examples(
    paths: Mapping[Path, PathEvidence], documents: Mapping[Position, Any]
) -> dict[Path, dict[str, ClassEvidence]]:
    """Give each class the first value of it in its first document for an example; whole documents are wanted."""
    wanted: dict[Position, dict[Path, set[str]]] = {}
    for path, classes in paths.items():
        for name, seen in classes.items():
            wanted.setdefault(seen.first, {}).setdefault(path, set()).add(name)
    found: dict[tuple[Path, str], str] = {}
    for position, at in wanted.items():
        if position in documents:
            _find_examples(documents[position], (), at, found)
    return {
        path: {
            name: replace(seen, examples=(found[path, name],)) if (path, name) in found else seen
            for name, seen in classes.items()
        }
        for path, classes in paths.items()
    }


def _find_examples(value: Any, path: Path, wanted: Mapping[Path, set[str]], found: dict[tuple[Path, str], str]) -> None:
    match value:
        case None:
            return
        case dict():
            for key, item in value.items():
                _find_examples(item, (*path, key), wanted, found)
        case list():
            for item in value:
                _find_examples(item, (*path, ELEMENT), wanted, found)
        case _:
            if path in wanted and (name := classify(value)) in wanted[path]:
                found.setdefault((path, name), example_of(value))
