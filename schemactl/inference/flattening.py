"""Flattens nested objects into columns and tables in the order of dlt's stack (docs/dlt.md §5.2).

``inference.relational`` flattens the values of a document, ``normalization.planner`` the tree of all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from schemactl.inference.identifiers import Identifiers
from schemactl.schema.paths import Path

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Shape(Generic[Value]):
    """Tells objects and lists among values of a document, or nodes of a tree, which may be both."""

    items: Callable[[Value], Iterable[tuple[str, Value]]]
    is_object: Callable[[Value], bool]
    is_list: Callable[[Value], bool]


class Branch(NamedTuple, Generic[Value]):
    """A value of a row.

    Attributes:
        is_whole: whether it is an object or list that stays whole, as JSON.
        ident: the parts that a list adds to the name of its table; None for other values, and if it stays whole.
    """

    value: Value
    path: Path
    column: str
    is_whole: bool
    ident: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Flattening(Generic[Value]):
    """Names the values of a table's rows; ``keeps_json`` tells whether values of a column, at a path, stay whole."""

    identifiers: Identifiers
    shape: Shape[Value]
    keeps_json: Callable[[str, Path], bool]

    def object(self, item: Value, path: Path, level: int) -> Iterator[Branch[Value]]:
        """Yield the values inside an object: first direct values, then values of inner objects, last object first."""
        stack: list[tuple[Value, int, tuple[str, ...], Path]] = [(item, level, (), path)]
        while stack:
            current, levels_left, parts, current_path = stack.pop()
            for key, value in self.shape.items(current):
                branch = self.value(value, key, (*current_path, key), levels_left, parts)
                if self.shape.is_object(value) and not branch.is_whole:
                    name = self.identifiers.column_part(key, branch.path)
                    stack.append((value, levels_left - 1, (*parts, name), branch.path))
                yield branch

    def value(self, value: Value, key: str, path: Path, level: int, parts: tuple[str, ...] = ()) -> Branch[Value]:
        """Return a value under ``key`` of an object, whose own keys have the names ``parts``."""
        name = self.identifiers.column_part(key, path)
        column = self.identifiers.join(*parts, name) if parts else name
        is_list = self.shape.is_list(value)
        is_whole = (is_list or self.shape.is_object(value)) and (level <= 0 or self.keeps_json(column, path))
        ident = (*parts, self.identifiers.table_part(key, path)) if is_list and not is_whole else None
        return Branch(value, path, column, is_whole, ident)
