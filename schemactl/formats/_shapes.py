"""Check the form of a document before it is read: a container of a wrong type is an error, not an empty container.

A format declares the parts that its reader descends into (``Shape``); all other parts may have any form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from schemactl.trees import nodes
from schemactl.trees.nodes import Node, Source, fields_of, follow


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a value. Other shapes are named by their keys in the table of a format's shapes.

    Attributes:
        keys: for an object, the shapes of values by key; other keys may have any value. None if it is not an object.
        values: for an object, the shape of the values of all other keys.
        required: keys that an object must have.
        by_type: for an object, an additional shape, by the value of its key ``type``.
        items: for a list, the shape of each item; None if it is not a list.
        is_optional: whether it may be null, which means the same as a missing key.
    """

    keys: Mapping[str, str] | None = None
    values: str | None = None
    required: tuple[str, ...] = ()
    by_type: Mapping[str, str] = field(default_factory=dict)
    items: str | None = None
    is_text: bool = False
    is_flag: bool = False
    is_number: bool = False
    is_optional: bool = False
    is_any: bool = False


Shapes = Mapping[str, Shape]

TEXT: Final = Shape(is_text=True)
ANY: Final = Shape(is_any=True)


class Fault(NamedTuple):
    """A fault in the form of a document, and its place in the text."""

    message: str
    offset: int
    hint: str | None = None


def check_shape(source: Source, root: Node, shapes: Shapes, name: str) -> None:
    """Refuse a document whose root, or a part of it, does not have the shape of this name."""
    for fault in _faults(root, shapes, name, "the document"):
        raise source.refuse(*fault)


def _faults(node: Node, shapes: Shapes, name: str, subject: str) -> Iterator[Fault]:
    shape, target = shapes[name], follow(node)
    match target:
        case nodes.Mapping() if shape.keys is not None:
            yield from _faults_of_object(target, shapes, shape, subject)
        case nodes.Sequence(items=items) if shape.items is not None:
            for item in items:
                yield from _faults(item, shapes, shape.items, f"an item of {subject}")
        case _ if not _is_permitted(target, shape):
            hint = "write it in quotes" if shape == TEXT and isinstance(target, nodes.Scalar) else None
            yield Fault(f"{subject} must be {_described(shape)}", node.start, hint)


def _faults_of_object(node: nodes.Mapping, shapes: Shapes, shape: Shape, subject: str) -> Iterator[Fault]:
    fields = fields_of(node)
    for key in shape.required:
        if key not in fields:
            yield Fault(f"{subject} has no `{key}`", node.start)
    for key, value in fields.items():
        inner_shape = (shape.keys or {}).get(key, shape.values)
        if inner_shape is not None:
            yield from _faults(value, shapes, inner_shape, f"`{key}`")
    kind = follow(fields["type"]) if shape.by_type and "type" in fields else None
    if isinstance(kind, nodes.Scalar) and isinstance(kind.value, str) and kind.value in shape.by_type:
        yield from _faults(node, shapes, shape.by_type[kind.value], f"the `{kind.value}`")


def _is_permitted(node: Node, shape: Shape) -> bool:
    match node:
        case nodes.Scalar(value=str()):
            return shape.is_text or shape.is_any
        case nodes.Scalar(value=bool()):
            return shape.is_flag or shape.is_any
        case nodes.Scalar(value=int() | float()):
            return shape.is_number or shape.is_any
        case nodes.Scalar(value=None):
            return shape.is_optional or shape.is_any
    return shape.is_any


def _described(shape: Shape) -> str:
    kinds = {
        "an object": shape.keys is not None,
        "a list": shape.items is not None,
        "a string": shape.is_text,
        "true or false": shape.is_flag,
        "a number": shape.is_number,
    }
    return " or ".join(kind for kind, is_possible in kinds.items() if is_possible)
