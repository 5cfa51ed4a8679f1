"""Folds objects with many keys: their values are read as those of a map, by one shape for all.

Keys in their hundreds are often data themselves (``{"users": {"u17": {...}, ...}}``). Told one by one they make
expressions that Spark plans for minutes, and each document costs as much as if it had all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from schemactl.engine.shapes import ANY_KEY, Shape, cut_shape
from schemactl.inference.classes import is_row_key
from schemactl.inference.paths import ELEMENT, Path

MANY_KEYS = 300
"""Keys of one object from which on they are folded; the columns of most tables are fewer, and all rows have them."""

_NULLS = "VOID"
"""Among the scalars of a folded shape: nothing but nulls was met at one of the paths that it stands for."""


def fold_keys(shape: Shape, apart: Set[Path] = frozenset()) -> Shape:
    """Return the shape with one shape for the values of all keys in each object that has many.

    Args:
        shape: what one expression can walk (``shapes.cut_shape``).
        apart: paths that are told apart from all others; objects above them are left as they are.
    """
    folded = _fold(shape, (), {path[:size] for path in apart for size in range(len(path) + 1)})
    # What the keys hold may differ, and then be read in a way that goes less deep.
    return shape if cut_shape(folded)[1] else folded


def _fold(shape: Shape, path: Path, above: Set[Path]) -> Shape:
    if len(shape.children) >= MANY_KEYS and path not in above and not any(map(is_row_key, shape.children)):
        entry = _fold(_united(shape.children.values()), (*path, ANY_KEY), above)
        return replace(shape, children={}, entry=entry, element=_fold_element(shape, path, above))
    children = {key: _fold(child, (*path, key), above) for key, child in shape.children.items()}
    return replace(shape, children=children, element=_fold_element(shape, path, above))


def _fold_element(shape: Shape, path: Path, above: Set[Path]) -> Shape | None:
    return shape.element and _fold(shape.element, (*path, ELEMENT), above)


def _united(shapes: Iterable[Shape]) -> Shape:
    """Return one shape for values of several keys."""
    shapes = tuple(shapes)
    children: dict[str, list[Shape]] = {}
    for shape in shapes:
        for key, child in shape.children.items():
            children.setdefault(key, []).append(child)
    elements = [shape.element for shape in shapes if shape.element is not None]
    elements = [element for element in elements if not element.is_empty] or elements[:1]
    united = Shape(
        children={key: _united(each) for key, each in children.items()},
        element=_united(elements) if elements else None,
        has_objects=any(shape.has_objects for shape in shapes),
        has_lists=any(shape.has_lists for shape in shapes),
        scalars=set().union(*(shape.scalars for shape in shapes)),
        is_mixed=any(shape.is_mixed for shape in shapes),
    )
    if united.is_nested and any(shape.is_empty for shape in shapes):
        # Nulls count where nothing else was met, and are not told where objects or lists alone are read.
        united.scalars.add(_NULLS)
    return united


def fold_path(shape: Shape, path: Path) -> Path | None:
    """Return where ``path`` is in a folded shape, None where the shape ends above it."""
    found: list[str | None] = []
    for step in path:
        inner = shape.element if step is ELEMENT else shape.entry or shape.children.get(step)
        if inner is None:
            return None
        found.append(ANY_KEY if inner is shape.entry else step)
        shape = inner
    return tuple(found)


def unfold_path(path: Path, keys: Iterable[str]) -> Path:
    """Return the path with keys in the places where any may stand."""
    rest = iter(keys)
    return tuple(next(rest) if step == ANY_KEY else step for step in path)
