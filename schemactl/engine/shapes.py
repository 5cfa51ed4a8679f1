"""The shape of documents: which keys and elements exist at all, read from Spark's VARIANT type strings.

``schema_of_variant_agg`` gives the merged shape of any number of documents as one string, for example
``OBJECT<id: BIGINT, tags: ARRAY<STRING>>``; where kinds mix it gives up and says ``VARIANT``, and the scan looks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from schemactl.inference.paths import ELEMENT, Path


@dataclass(slots=True)
class Shape:
    """What can stand at one path; null counts as nothing.

    Attributes:
        children: shapes of the keys, where objects were met.
        element: shape of the elements, where lists were met.
        has_objects, has_lists: whether objects, lists were met.
        scalars: Spark's names of the scalar types that were met, decimals with precision and scale.
        is_mixed: Spark gave up here; what the kinds hold is not known yet.
    """

    children: dict[str, Shape] = field(default_factory=dict)
    element: Shape | None = None
    has_objects: bool = False
    has_lists: bool = False
    scalars: set[str] = field(default_factory=set)
    is_mixed: bool = False

    @property
    def is_object(self) -> bool:
        """Whether nothing but objects were met."""
        return self.has_objects and not (self.has_lists or self.scalars or self.is_mixed)

    @property
    def is_list(self) -> bool:
        """Whether nothing but lists were met."""
        return self.has_lists and not (self.has_objects or self.scalars or self.is_mixed)

    @property
    def is_nested(self) -> bool:
        return self.has_objects or self.has_lists

    def absorb(self, other: Shape) -> None:
        """Add what ``other`` can hold."""
        self.has_objects |= other.has_objects
        self.has_lists |= other.has_lists
        self.scalars |= other.scalars
        self.is_mixed |= other.is_mixed
        for key, child in other.children.items():
            self.children.setdefault(key, Shape()).absorb(child)
        if other.element is not None:
            self.element = self.element or Shape()
            self.element.absorb(other.element)

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Shape]]:
        """Yield every path with its shape, parents first."""
        stack: list[tuple[Path, Shape]] = [(path, self)]
        while stack:
            at, shape = stack.pop()
            yield at, shape
            stack += [((*at, key), child) for key, child in shape.children.items()]
            if shape.element is not None:
                stack.append(((*at, ELEMENT), shape.element))


def cut_shape(shape: Shape, levels: int) -> tuple[Shape, dict[Path, Shape]]:
    """Cut a shape where lists, and values of mixed kinds, nest deeper than some levels.

    Returns:
        The shape with every such part left as mixed, and the parts by path; the shape itself where there are none.
    """
    deep: dict[Path, Shape] = {}
    cut = _cut(shape, levels, (), deep)
    return (cut, deep) if deep else (shape, {})


def _cut(shape: Shape, levels: int, path: Path, deep: dict[Path, Shape]) -> Shape:
    if not levels and shape.is_nested and not shape.is_object:
        deep[path] = shape
        return Shape(is_mixed=True)
    left = levels if shape.is_object or not shape.is_nested else levels - 1
    return Shape(
        children={key: _cut(child, left, (*path, key), deep) for key, child in shape.children.items()},
        element=None if shape.element is None else _cut(shape.element, left, (*path, ELEMENT), deep),
        has_objects=shape.has_objects,
        has_lists=shape.has_lists,
        scalars=shape.scalars,
        is_mixed=shape.is_mixed,
    )


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
