"""The paths of evidence as a tree, in the order of the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from schemactl.inference.classes import LIST, OBJECT, kind_of, type_of_class
from schemactl.inference.evidence import Evidence
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Node:
    """The values at one path: types of scalars other than null, and the nodes below objects and lists."""

    kinds: frozenset[DataType] = frozenset()
    is_object: bool = False
    is_list: bool = False
    keys: Mapping[str, Node] = field(default_factory=dict)
    element: Node | None = None


def tree_of(evidence: Evidence) -> Node:
    """Return the documents as one tree; keys are in the order of the first document that has them."""
    below: dict[Path, dict[str | None, None]] = {(): {}}
    documents = (evidence.witnesses[position] for position in sorted(evidence.witnesses))
    witnessed = (path for document in documents for path in _paths_in(document, ()))
    # First in the order of sources that declare types, then of witnesses, finally by name.
    for path in chain(evidence.declared, witnessed, sorted(evidence.paths, key=json.dumps)):
        for end in range(len(path)):
            below.setdefault(path[:end], {}).setdefault(path[end])
            below.setdefault(path[: end + 1], {})
    return _node((), evidence, below)


def _node(path: Path, evidence: Evidence, below: Mapping[Path, Mapping[str | None, None]]) -> Node:
    names = evidence.paths.get(path, {})
    kinds = evidence.declared_types(path) | {kind for name in names if (kind := type_of_class(name))}
    value_kinds = {kind_of(name) for name in names}
    inner = {step: _node((*path, step), evidence, below) for step in below[path]}
    keys = {step: node for step, node in inner.items() if step is not ELEMENT}
    return Node(
        kinds=kinds,
        is_object=OBJECT in value_kinds or bool(keys),
        is_list=LIST in value_kinds or ELEMENT in inner,
        keys=keys,
        element=inner.get(ELEMENT),
    )


def _paths_in(value: Any, path: Path) -> Iterator[Path]:
    yield path
    match value:
        case dict():
            for key, item in value.items():
                yield from _paths_in(item, (*path, key))
        case list():
            for item in value:
                yield from _paths_in(item, (*path, ELEMENT))
