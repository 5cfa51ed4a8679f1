"""What documents bring that those before them did not: the first value of each kind at each path that was missing."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final

from schemactl.inference.assumption import Kinds, names_of
from schemactl.inference.classes import NULL, classify, kind_of
from schemactl.inference.evidence import Evidence, Position, observe
from schemactl.inference.paths import ELEMENT, Path


def missing_kinds(kinds: Mapping[Path, Kinds], known: Evidence) -> dict[Path, frozenset[str]]:
    """Return the kinds of values that may stand at each path and are not in ``known``; paths that lack none are out.

    At a path that ``known`` does not have, a null is looked for too: it may be what puts a column in its place.
    """
    found: dict[Path, frozenset[str]] = {}
    for path, there in kinds.items():
        classes = known.paths.get(path)
        wanted = {*names_of(there), NULL} if classes is None else set(names_of(there)).difference(map(kind_of, classes))
        if wanted:
            found[path] = frozenset(wanted)
    return found


def observe_first_values(documents: Mapping[Position, Any], firsts: Mapping[tuple[Path, str], Position]) -> Evidence:
    """Return the evidence of single values, as if nothing else stood in their documents.

    Args:
        documents: whole, by their place.
        firsts: for a path and a kind, the document whose values of that kind are taken.
    """
    wanted: dict[Position, dict[Path, set[str]]] = {}
    for (path, kind), position in firsts.items():
        wanted.setdefault(position, {}).setdefault(path, set()).add(kind)
    parts = ((at, _cut(documents[at], (), wanted[at])) for at in sorted(wanted))
    return replace(observe((at, part) for at, part in parts if part is not _NOTHING), files={})


_NOTHING: Final[Any] = object()


def _cut(value: Any, path: Path, wanted: Mapping[Path, Set[str]]) -> Any:
    """Return ``value`` with nothing in it but what is wanted and what that stands in."""
    is_wanted = kind_of(classify(value)) in wanted.get(path, ())
    match value:
        case dict():
            parts: Any = {key: _cut(item, (*path, key), wanted) for key, item in value.items()}
            left: Any = {key: part for key, part in parts.items() if part is not _NOTHING}
        case list():
            parts = [_cut(item, (*path, ELEMENT), wanted) for item in value]
            left = [part for part in parts if part is not _NOTHING]
        case _:
            return value if is_wanted else _NOTHING
    return left if left or is_wanted else _NOTHING
