"""The shape of documents: which keys and elements exist at all, read from Spark's VARIANT type strings.

``schema_of_variant_agg`` gives the merged shape of any number of documents as one string, for example
``OBJECT<id: BIGINT, tags: ARRAY<STRING>>``; where kinds mix it gives up and says ``VARIANT``, and the scan looks again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from typing import Final

from schemactl.inference.assumption import Kinds
from schemactl.inference.classes import is_row_key
from schemactl.inference.paths import ELEMENT, Path
from schemactl.schema.types import DataType

ANY_KEY: Final = "\udcff"
"""The step from a folded object to the value of any key; no Unicode, so that no key of the data is the same."""


@dataclass(slots=True)
class Shape:
    """What can stand at one path; null counts as nothing.

    Attributes:
        children: shapes of the keys, where objects were met.
        element: shape of the elements, where lists were met.
        entry: in place of the children, one shape for the values of all keys (``siblings``).
        has_objects, has_lists: whether objects, lists were met.
        scalars: Spark's names of the scalar types that were met, decimals with precision and scale.
        is_mixed: Spark gave up here; what the kinds hold is not known yet.
        is_typed: all values are scalars of one type and are read as that (``own_types``); else they are VARIANTs.
    """

    children: dict[str, Shape] = field(default_factory=dict)
    element: Shape | None = None
    entry: Shape | None = None
    has_objects: bool = False
    has_lists: bool = False
    scalars: set[str] = field(default_factory=set)
    is_mixed: bool = False
    is_typed: bool = False

    @property
    def is_object(self) -> bool:
        """Whether nothing but objects were met."""
        return self.has_objects and not (self.has_lists or self.scalars or self.is_mixed)

    @property
    def is_list(self) -> bool:
        """Whether nothing but lists were met."""
        return self.has_lists and not (self.has_objects or self.scalars or self.is_mixed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was met, but for nulls."""
        return not (self.is_nested or self.scalars or self.is_mixed)

    @property
    def is_nested(self) -> bool:
        return self.has_objects or self.has_lists

    @property
    def is_read_apart(self) -> bool:
        """Whether values are read as structs, maps or arrays: nothing but objects, or lists, with something in them."""
        return (self.is_object and bool(self.children or self.entry)) or (self.is_list and self.element is not None)

    def absorb(self, other: Shape) -> None:
        """Add what ``other`` can hold."""
        stack = [(self, other)]
        while stack:
            mine, theirs = stack.pop()
            mine.has_objects |= theirs.has_objects
            mine.has_lists |= theirs.has_lists
            mine.scalars |= theirs.scalars
            mine.is_mixed |= theirs.is_mixed
            stack += [(mine.children.setdefault(key, Shape()), child) for key, child in theirs.children.items()]
            if theirs.element is not None:
                mine.element = mine.element or Shape()
                stack.append((mine.element, theirs.element))

    def kinds(self) -> dict[Path, Kinds]:
        """Return what may stand at each path, parents first. Of integers among other numbers Spark tells nothing."""
        return {path: Kinds(_types(shape.scalars), shape.has_objects, shape.has_lists) for path, shape in self.walk()}

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Shape]]:
        """Yield every path with its shape, parents first."""
        stack: list[tuple[Path, Shape]] = [(path, self)]
        while stack:
            at, shape = stack.pop()
            yield at, shape
            stack += [((*at, step), inner) for step, inner in shape.inside()]

    def inside(self) -> Iterator[tuple[str | None, Shape]]:
        """Yield the shapes right below, with the step that leads to each."""
        yield from self.children.items()
        if self.element is not None:
            yield ELEMENT, self.element
        if self.entry is not None:
            yield ANY_KEY, self.entry


def _types(scalars: set[str]) -> frozenset[DataType]:
    found: set[DataType] = set()
    for name in scalars:
        match name:
            case "STRING":
                found.add(DataType.TEXT)
            case "BOOLEAN":
                found.add(DataType.BOOL)
            case "BIGINT":
                found.add(DataType.BIGINT)
            case _:
                found |= {DataType.DOUBLE, DataType.BIGINT}
    return frozenset(found)


def pruned(shape: Shape, wanted: Set[Path]) -> Shape:
    """Return the shape with nothing but the paths that are wanted and those above them."""
    above = {path[:size] for path in wanted for size in range(len(path) + 1)}

    def prune(shape: Shape, path: Path) -> Shape:
        children = {key: prune(child, (*path, key)) for key, child in shape.children.items() if (*path, key) in above}
        inner = shape.element if (*path, ELEMENT) in above else None
        return replace(shape, children=children, element=inner and prune(inner, (*path, ELEMENT)))

    return prune(shape, ())


def split_fields(shape: Shape) -> tuple[Shape | None, Shape | None]:
    """Split a shape into what documents have at most one value of at each path, in objects alone, and the rest.

    Returns:
        The shape of the former; and the shape of the rest, with the objects above it; None for one that is empty.
    """
    fields = _fields(shape)
    if fields is None:
        return None, shape
    rest = {path for path, _ in shape.walk()} - {path for path, _ in fields.walk()}
    return fields, pruned(shape, rest) if rest else None


def _fields(shape: Shape) -> Shape | None:
    if not shape.is_nested:
        return shape
    if not (shape.is_object and shape.children):
        return None
    children = {key: found for key, child in shape.children.items() if (found := _fields(child)) is not None}
    # What brings an object's row key tells what kind the object is.
    is_whole = all(key in children for key in shape.children if is_row_key(key))
    return replace(shape, children=children) if children and is_whole else None


def cut_shape(shape: Shape) -> tuple[Shape, dict[Path, Shape]]:
    """Cut a shape where it nests deeper than one expression can walk.

    Returns:
        The shape with every such part left as mixed, and the parts by path; the shape itself where there are none.
    """
    deep: dict[Path, Shape] = {}
    cut = _cut(shape, _Depth(_MOST_COST), (), deep)
    return (cut, deep) if deep else (shape, {})


_MOST_COST = 100
_COST_OF_OBJECT = 1
_COST_OF_LIST = 5
_COST_IN_VARIANT = 10
"""An expression that costs more overflows Spark's stack, or takes its analyser more rounds than it has."""


@dataclass(frozen=True, slots=True)
class _Depth:
    left: int
    is_in_variant: bool = False

    def below(self, shape: Shape) -> _Depth:
        is_typed = shape.is_list or (shape.is_object and (shape.children or shape.entry))
        if self.is_in_variant or not is_typed:
            return _Depth(self.left - _COST_IN_VARIANT, True)
        return _Depth(self.left - (_COST_OF_OBJECT if shape.is_object and shape.entry is None else _COST_OF_LIST))


def _cut(shape: Shape, depth: _Depth, path: Path, deep: dict[Path, Shape]) -> Shape:
    if not shape.is_nested:
        return shape
    below = depth.below(shape)
    if below.left < 0:
        deep[path] = shape
        return Shape(is_mixed=True)
    return Shape(
        children={key: _cut(child, below, (*path, key), deep) for key, child in shape.children.items()},
        element=shape.element and _cut(shape.element, below, (*path, ELEMENT), deep),
        entry=shape.entry and _cut(shape.entry, below, (*path, ANY_KEY), deep),
        has_objects=shape.has_objects,
        has_lists=shape.has_lists,
        scalars=shape.scalars,
        is_mixed=shape.is_mixed,
    )


def may_hide_large_integers(text: str) -> bool:
    """Return whether data with this type string may hold integers past 64 bits, which VARIANTs blur."""
    if "DOUBLE" in text or "VARIANT" in text:
        return True
    return any(int(precision) - int(scale) >= _DIGITS_OF_64_BITS for precision, scale in _DECIMAL.findall(text))


_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_DIGITS_OF_64_BITS = 19


def parse_shape(text: str) -> Shape:
    """Parse a type string of ``schema_of_variant`` or ``schema_of_variant_agg``.

    Works without recursion, so that documents may nest as deep as Spark reads them.
    """
    root = Shape()
    stack: list[Shape] = []
    current = root
    at = 0
    while at < len(text):
        if text.startswith("OBJECT<", at):
            current.has_objects = True
            stack.append(current)
            at += len("OBJECT<")
            if text[at] != ">":
                current, at = _child(current, text, at)
        elif text.startswith("ARRAY<", at):
            current.has_lists = True
            current.element = Shape()
            stack.append(current)
            current = current.element
            at += len("ARRAY<")
        elif text[at] == ">":
            stack.pop()
            at += 1
        elif text.startswith(", ", at):
            current, at = _child(stack[-1], text, at + 2)
        else:
            at = _scalar(current, text, at)
    return root


def _child(parent: Shape, text: str, at: int) -> tuple[Shape, int]:
    """Read ``key: `` and return the child's shape with the place after it."""
    if text[at] == "`":
        end = at + 1
        while text[end] != "`" or text.startswith("``", end):
            end += 2 if text[end] == "`" else 1
        key = text[at + 1 : end].replace("``", "`")
        end += 1
    else:
        end = text.index(": ", at)
        key = text[at:end]
    child = parent.children.setdefault(key, Shape())
    return child, end + len(": ")


def _scalar(shape: Shape, text: str, at: int) -> int:
    end = at
    while end < len(text) and text[end] not in ",>":
        end = text.index(")", end) if text[end] == "(" else end + 1
    name = text[at:end]
    if name == "VARIANT":
        shape.is_mixed = True
    elif name != "VOID":
        shape.scalars.add(name)
    return end
