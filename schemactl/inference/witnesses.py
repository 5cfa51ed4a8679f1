"""Documents cut down to what evidence needs of them: the values that are the first of some class at some path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from schemactl.inference.classes import classify, has_row_key, is_row_key
from schemactl.inference.paths import ELEMENT, Path

if TYPE_CHECKING:
    from schemactl.inference.evidence import PathEvidence, Position


def cut_witnesses(paths: Mapping[Path, PathEvidence], documents: Mapping[Position, Any]) -> dict[Position, Any]:
    """Cut each document down to the values that it is the first of, and drop documents that are first of nothing.

    What is left of a list keeps the scalars of the rows around it, as those may be copied into its own rows
    (``propagation`` in the config of dlt's normalizer).
    """
    firsts: dict[Position, _Firsts] = {}
    for path, classes in paths.items():
        for name, seen in classes.items():
            firsts.setdefault(seen.first, {}).setdefault(path, set()).add(name)
    kept: dict[Position, Any] = {}
    for position in sorted(firsts.keys() & documents.keys()):
        cut = _cut_row(documents[position], (), firsts[position], paths)
        if cut is not _NOTHING:
            kept[position] = cut
    return kept


_NOTHING: Any = object()

_Firsts: TypeAlias = dict[Path, set[str]]
"""Classes of values, by path."""


def _cut_row(value: Any, path: Path, firsts: _Firsts, paths: Mapping[Path, PathEvidence]) -> Any:
    """Cut a value that makes a row of its own: a document or an element of a list."""
    cut = _cut(value, path, firsts, paths)
    return _with_scalars(cut, value) if isinstance(cut, dict) and _holds_list(cut) else cut


def _cut(value: Any, path: Path, firsts: _Firsts, paths: Mapping[Path, PathEvidence]) -> Any:
    """Return ``value`` without the parts that another document witnesses, ``_NOTHING`` where nothing is left.

    Args:
        value: what stands at ``path`` in a document.
        path: where it stands.
        firsts: the classes that the document is the first of.
        paths: all classes.
    """
    # Most values are no first: to tell the class of each takes a minute in rows of 10,000 columns.
    is_first = path in firsts and ((name := classify(value)) in firsts[path] or name not in paths[path])
    match value:
        case dict():
            parts = {key: _cut(item, (*path, key), firsts, paths) for key, item in value.items()}
            if not is_first and all(part is _NOTHING for part in parts.values()):
                return _NOTHING
            is_keyed = has_row_key(value)
            # Without its own row key the object would become another kind of row.
            kept = {key: value[key] if is_keyed and is_row_key(key) else part for key, part in parts.items()}
            return {key: part for key, part in kept.items() if part is not _NOTHING}
        case list():
            elements = [_cut_row(item, (*path, ELEMENT), firsts, paths) for item in value]
            left = _first_of_each([item for item in elements if item is not _NOTHING])
            return left if left or is_first else _NOTHING
        case _:
            return value if is_first else _NOTHING


def _holds_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(map(_holds_list, value.values())))


def _with_scalars(cut: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return ``cut`` with all scalars of ``whole`` outside its lists."""
    kept: dict[str, Any] = {}
    for key, item in whole.items():
        match item:
            case dict():
                inner = _with_scalars(cut.get(key, {}), item)
                if inner or key in cut:
                    kept[key] = inner
            case list():
                if key in cut:
                    kept[key] = cut[key]
            case _:
                kept[key] = item
    return kept


def _first_of_each(elements: list[Any]) -> list[Any]:
    """Drop scalars of a class that an earlier element of the same list has; objects and lists were cut already."""
    met: set[str] = set()
    left: list[Any] = []
    for element in elements:
        name = classify(element)
        if isinstance(element, (dict, list)) or name not in met:
            left.append(element)
        met.add(name)
    return left
