"""A document as a tree whose nodes know their position in the text (``yaml_text`` and ``json_text`` create it).

Nodes are named tuples because a large file has half a million of them: a frozen dataclass takes four times as long to
create.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from re import finditer
from typing import Any, NamedTuple

from schemactl.errors import InputError, Location
from schemactl.trees.yaml_scalars import MERGE

Key = str | int

MAX_CHARACTERS = 8 * 2**20
"""Texts beyond this are refused unread: the schema of 5,000 tables is smaller."""

MAX_DEPTH = 100
"""Levels of nesting in a document; a schema has eight plus the levels inside its hints."""

MAX_REPEATED_NODES = 100_000
"""Nodes that aliases may repeat (an alias bomb has billions)."""


class Scalar(NamedTuple):
    """A value without parts."""

    start: int
    value: Any


class Sequence(NamedTuple):
    start: int
    items: tuple[Node, ...]


class Entry(NamedTuple):
    """A key of a mapping and its value."""

    key: Scalar
    value: Node


class Mapping(NamedTuple):
    start: int
    entries: tuple[Entry, ...]


class Alias(NamedTuple):
    """A reference to another node (YAML's ``*name``)."""

    start: int
    target: Scalar | Sequence | Mapping


Node = Scalar | Sequence | Mapping | Alias


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its origin; counts lines for messages."""

    path: str
    text: str
    _line_starts: list[int] = field(default_factory=list, repr=False)

    def locate(self, offset: int) -> Location:
        """Return line and column, both from 1, of a place in the text."""
        if not self._line_starts:
            self._line_starts.append(0)
            self._line_starts.extend(line_break.end() for line_break in finditer("\n", self.text))
        line = bisect_right(self._line_starts, offset)
        return Location(self.path, line, offset - self._line_starts[line - 1] + 1)

    def refuse(self, message: str, offset: int, hint: str | None = None) -> InputError:
        """Return the error that refuses the text at ``offset``."""
        return InputError(message, at=self.locate(offset), hint=hint)

    def check_size(self) -> None:
        """Raise ``InputError`` if the text has more than ``MAX_CHARACTERS``."""
        if len(self.text) > MAX_CHARACTERS:
            hint = f"files of schemas have at most {MAX_CHARACTERS // 2**20} million characters: split its tables"
            raise InputError("the file is too large for a schema", at=Location(self.path), hint=hint)

    def refuse_depth(self, offset: int) -> InputError:
        """Return the error for too deep nesting at ``offset``."""
        hint = "a schema has about ten levels: check for an open bracket, or for a data file"
        return self.refuse(f"nested deeper than {MAX_DEPTH} levels", offset, hint)

    def refuse_nothing(self) -> InputError:
        """Return the error that refuses a text without a value."""
        hint = "was it written to the end? an empty schema has keys too: `name:`, `tables:`"
        return self.refuse("the file is empty", 0, hint)


def value_of(node: Node) -> Any:
    """Return the plain value of a node; each alias becomes a separate copy."""
    target = follow(node)
    if isinstance(target, Scalar):
        return target.value
    if isinstance(target, Sequence):
        return [value_of(item) for item in target.items]
    fields = fields_of(target)
    # Most values are scalars: a call for each would take half of the time.
    return {key: value.value if type(value) is Scalar else value_of(value) for key, value in fields.items()}


def fields_of(node: Mapping) -> dict[Any, Node]:
    """Return the values of a mapping by key: first the values of ``<<``, then its own values, which win."""
    fields = {key.value: value for key, value in node.entries}
    if fields.pop(MERGE, None) is None:
        return fields
    merged = [target for entry in node.entries for target in _merge_targets(entry)]
    taken_in: dict[Any, Node] = {}
    # Of several mappings the first wins, and comes last, as in dlt's YAML library.
    for target in reversed(merged):
        taken_in.update(fields_of(target))
    return taken_in | fields


def _merge_targets(entry: Entry) -> Iterator[Mapping]:
    """Yield the mappings that an entry ``<<: …`` includes."""
    if entry.key.value is not MERGE:
        return
    value = follow(entry.value)
    for node in value.items if isinstance(value, Sequence) else (value,):
        target = follow(node)
        if isinstance(target, Mapping):
            yield target


def follow(node: Node) -> Scalar | Sequence | Mapping:
    """Return the node itself, or the target of an alias."""
    return node.target if isinstance(node, Alias) else node


class Finder:
    """Finds places in a document by keys; each mapping is searched once."""

    def __init__(self, root: Node) -> None:
        self._root = root
        # By identity: the root keeps all nodes, and to hash one is to walk through all that it holds.
        self._entries: dict[int, dict[tuple[type, Any], Entry]] = {}

    def find(self, keys: tuple[Key, ...]) -> int:
        """Return the offset of the key or item at the end of ``keys``, or of the last existing one."""
        node, offset = self._root, self._root.start
        for key in keys:
            match follow(node):
                case Mapping() as mapping:
                    entry = self._entries_of(mapping).get((type(key), key))
                    if entry is None:
                        return offset
                    offset, node = entry.key.start, entry.value
                case Sequence(items=items) if isinstance(key, int) and key < len(items):
                    node = items[key]
                    offset = node.start
                case _:
                    return offset
        return offset

    def _entries_of(self, mapping: Mapping) -> dict[tuple[type, Any], Entry]:
        """Return entries by key, the first of equal keys: first the mapping's entries, then the entries from ``<<``."""
        entries = self._entries.get(id(mapping))
        if entries is None:
            merged_entries = [self._entries_of(target) for entry in mapping.entries for target in _merge_targets(entry)]
            direct_entries = {(type(entry.key.value), entry.key.value): entry for entry in reversed(mapping.entries)}
            entries = self._entries[id(mapping)] = {}
            for layer in (*reversed(merged_entries), direct_entries):
                entries |= layer
        return entries


Keys = tuple[Key, ...]

IsOrdered = Callable[[Keys], bool]
"""Whether, for a mapping by the way to it, the order of its keys has a meaning."""


def same(old: Any, new: Any, is_ordered: IsOrdered, keys: Keys = ()) -> bool:
    """Return whether two values are equal; a bool differs from a number, an integer from a float."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys() or (is_ordered(keys) and list(old) != list(new)):
            return False
        return all(same(value, new[key], is_ordered, (*keys, key)) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        pairs = enumerate(zip(old, new, strict=False))
        return len(old) == len(new) and all(same(a, b, is_ordered, (*keys, i)) for i, (a, b) in pairs)
    return type(old) is type(new) and bool(old == new)
