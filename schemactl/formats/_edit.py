"""Brings the text of a document to another value, and touches only what differs.

The edits are those that a careful person would make: a value is written over, an entry's lines are taken out
(with the comment right above it), new lines go behind their predecessor. Comments, quotes, order and spacing
elsewhere stay. An alias stays one as long as it stands for what it did; the caller checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from schemactl.formats._emit import json_line, json_text, yaml_entry, yaml_flow, yaml_item, yaml_scalar
from schemactl.formats._scalars import MERGE
from schemactl.formats._tree import Alias, Entry, Key, Mapping, Node, Scalar, Sequence

Keys = tuple[Key, ...]
IsOrdered = Callable[[Keys], bool]
"""Tells of a mapping, by the way to it, whether the order of its keys has a meaning."""


def same(old: Any, new: Any, is_ordered: IsOrdered, keys: Keys = ()) -> bool:
    """Return whether two values say the same; a bool is no number, an integer no float."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys() or (is_ordered(keys) and list(old) != list(new)):
            return False
        return all(same(value, new[key], is_ordered, (*keys, key)) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        pairs = enumerate(zip(old, new, strict=False))
        return len(old) == len(new) and all(same(a, b, is_ordered, (*keys, i)) for i, (a, b) in pairs)
    return type(old) is type(new) and bool(old == new)


@dataclass(frozen=True, slots=True)
class _Edit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


_Write = Callable[[Any], _Edit]
"""Writes a value over what stands in some place, in the style of that place."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What has to happen to the keys of a mapping.

    Attributes:
        new: what the mapping is to mean.
        leaving: keys whose entries are taken out.
        moved: keys whose entries are taken out and put in elsewhere.
        added: keys that get an entry.
        within: the edits within the values of entries that the text has.
        is_ordered: whether keys must stand in the order of ``new``.
    """

    new: dict[str, Any]
    leaving: set[str]
    moved: set[str]
    added: set[str]
    within: dict[str, list[_Edit]]
    is_ordered: bool

    @property
    def keeps_entries(self) -> bool:
        return not (self.leaving or self.moved or self.added)


@dataclass(frozen=True, slots=True)
class Editor:
    """Edits one document.

    Attributes:
        text: the document.
        is_ordered: where the order of keys has a meaning.
        is_json: whether the document is JSON.
        expands: whether aliases and merges give way to what they stand for.
    """

    text: str
    is_ordered: IsOrdered
    is_json: bool
    expands: bool

    def rewrite(self, root: Node, old: Any, new: Any) -> str:
        """Return the text with ``new`` in place of ``old``.

        Args:
            root: the tree of the document.
            old: what the document means. It may hold more than is stated (defaults), and less: what is stated
                beyond it is let alone.
            new: what the document is to mean.
        """

        def write(value: Any) -> _Edit:
            return _Edit(root.start, root.end, self._in_flow(value, root.start))

        return self._patched(0, len(self.text), list(self._edits(root, old, new, (), write)))

    def _patched(self, start: int, end: int, edits: list[_Edit]) -> str:
        """Return ``text[start:end]`` with the edits; of edits at one place the first comes first."""
        parts, position = [], start
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start)):
            parts += [self.text[position : edit.start], edit.new]
            position = edit.end
        return "".join((*parts, self.text[position:end]))

    def _edits(self, node: Node, old: Any, new: Any, keys: Keys, write: _Write) -> Iterator[_Edit]:
        """Yield the edits of a node; it is written anew only where it cannot be edited."""
        is_same = same(old, new, self.is_ordered, keys)
        if is_same and not self.expands:
            return
        match node:
            case Mapping() if isinstance(new, dict) and new and not (self.expands and _merges(node)):
                yield from self._edit_mapping(node, old if isinstance(old, dict) else {}, new, keys, write)
            case Sequence() if isinstance(new, list) and new and isinstance(old, list) and old:
                yield from self._edit_sequence(node, old, new, keys, write)
            case Alias() | Mapping() | Sequence() if self.expands:
                yield write(new)
            case _ if not is_same:
                yield write(new)

    # Mappings

    def _edit_mapping(
        self, node: Mapping, old: dict[str, Any], new: dict[str, Any], keys: Keys, write: _Write
    ) -> Iterator[_Edit]:
        own = {entry.key.value: entry for entry in node.entries if entry.key.value is not MERGE}
        within = {
            key: list(self._edits(entry.value, old.get(key), new[key], (*keys, key), self._writer(node, entry)))
            for key, entry in own.items()
            if key in new
        }
        is_ordered = self.is_ordered(keys)
        plan = _Plan(
            new=new,
            leaving={key for key in own if key in old and key not in new},
            moved=_moved([key for key in own if key in new], list(new)) if is_ordered else set(),
            added={key for key in new if key not in own and not self._is_implied(old, new, key, keys)},
            within=within,
            is_ordered=is_ordered,
        )
        if plan.keeps_entries:
            yield from (edit for edits in within.values() for edit in edits)
        elif not (own.keys() & new.keys()) - plan.moved:
            yield write(new)
        elif node.is_flow:
            yield self._rebuilt_mapping(node, own, plan)
        elif self._has_own_lines(node):
            yield from self._line_edits(own, plan)
        else:
            yield write(new)

    def _is_implied(self, old: dict[str, Any], new: dict[str, Any], key: str, keys: Keys) -> bool:
        """Return whether the text means a key's value without stating it."""
        return key in old and same(old[key], new[key], self.is_ordered, (*keys, key))

    def _writer(self, node: Mapping, entry: Entry) -> _Write:
        return lambda value: self._value_written(node, entry, value)

    def _value_written(self, node: Mapping, entry: Entry, value: Any) -> _Edit:
        place = entry.value
        if node.is_flow:
            return _Edit(place.start, place.end, self._in_flow(value, place.start))
        if isinstance(place, (Scalar, Alias)) and place.end > place.start and not _is_block(value):
            quote = self.text[place.start]
            return _Edit(place.start, place.end, _in_line(value, quote if quote in "'\"" else ""))
        indent = " " * self._column(entry.start)
        lines = yaml_entry("k", value, indent)
        after_colon = self._joined(lines).removeprefix(f"{indent}k:")
        return _Edit(self.text.index(":", entry.key.end) + 1, place.end, after_colon)

    def _has_own_lines(self, node: Mapping) -> bool:
        """Return whether each key is the first thing on its line."""
        return all(not self.text[self._line_start(entry.start) : entry.start].strip() for entry in node.entries)

    def _line_edits(self, own: dict[Any, Entry], plan: _Plan) -> Iterator[_Edit]:
        indent = " " * self._column(next(iter(own.values())).start)
        for key, edits in plan.within.items():
            if key not in plan.moved:
                yield from edits
        for key in (*plan.leaving, *plan.moved):
            yield _Edit(self._head(own[key]), self._tail(own[key]), "")
        staying = [key for key in own if key in plan.new and key not in plan.moved]
        before: str | None = None if plan.is_ordered else staying[-1]
        for key in plan.new:
            if key in staying:
                before = key
            elif key in plan.added or key in plan.moved:
                lines = self._lines_of(key, own, plan, indent)
                yield self._inserted(lines, self._tail(own[before]) if before else self._head(own[staying[0]]))

    def _lines_of(self, key: str, own: dict[Any, Entry], plan: _Plan, indent: str) -> str:
        if key in plan.added:
            return self._joined(yaml_entry(key, plan.new[key], indent))
        entry = own[key]
        return self._patched(self._head(entry), self._tail(entry), plan.within[key]).removesuffix(self._newline)

    def _inserted(self, lines: str, position: int) -> _Edit:
        if position and self.text[position - 1] != "\n":
            return _Edit(position, position, self._newline + lines)
        return _Edit(position, position, lines + self._newline)

    def _rebuilt_mapping(self, node: Mapping, own: dict[Any, Entry], plan: _Plan) -> _Edit:
        index = {id(entry): position for position, entry in enumerate(node.entries)}
        staying = [key for key in own if key not in plan.leaving and key not in plan.moved]
        order = [key for key in staying if key not in plan.new]
        unordered = [key for key in staying if key in plan.new]
        order += list(plan.new) if plan.is_ordered else [*unordered, *plan.new]
        parts: list[tuple[int | None, str]] = [
            (index[id(entry)], self.text[entry.start : entry.end]) for entry in node.entries if entry.key.value is MERGE
        ]
        for key in dict.fromkeys(order):
            if key in own:
                entry = own[key]
                text = self._patched(entry.start, entry.end, plan.within.get(key, []))
                parts.append((index[id(entry)], text))
            elif key in plan.added:
                parts.append((None, f"{self._in_flow(key, node.start)}: {self._in_flow(plan.new[key], node.end - 1)}"))
        return self._rebuilt(node, list(node.entries), parts)

    # Sequences

    def _edit_sequence(
        self, node: Sequence, old: list[Any], new: list[Any], keys: Keys, write: _Write
    ) -> Iterator[_Edit]:
        if len(old) != len(node.items):
            yield write(new)
            return
        pairs = _pairs(old, new)
        within = [
            []
            if position is None
            else list(
                self._edits(
                    node.items[position],
                    old[position],
                    value,
                    (*keys, position),
                    self._item_writer(node, position),
                )
            )
            for position, value in pairs
        ]
        if [position for position, _ in pairs] == list(range(len(old))):
            yield from (edit for edits in within for edit in edits)
        elif node.is_flow:
            parts: list[tuple[int | None, str]] = [
                (None, self._in_flow(value, node.end - 1))
                if position is None
                else (position, self._patched(node.items[position].start, node.items[position].end, edits))
                for (position, value), edits in zip(pairs, within, strict=True)
            ]
            yield self._rebuilt(node, list(node.items), parts)
        elif all(position is None for position, _ in pairs) or not self._has_own_dashes(node):
            yield write(new)
        else:
            yield from self._item_edits(node, pairs, within)

    def _item_writer(self, node: Sequence, position: int) -> _Write:
        return lambda value: self._item_written(node, position, value)

    def _item_written(self, node: Sequence, position: int, value: Any) -> _Edit:
        place = node.items[position]
        if node.is_flow:
            return _Edit(place.start, place.end, self._in_flow(value, place.start))
        if isinstance(place, (Scalar, Alias)) and place.end > place.start and not _is_block(value):
            quote = self.text[place.start]
            return _Edit(place.start, place.end, _in_line(value, quote if quote in "'\"" else ""))
        dash = self._dash(place)
        lines = self._joined(yaml_item(value, " " * self._column(dash)))
        return _Edit(dash, place.end, lines.lstrip(" "))

    def _has_own_dashes(self, node: Sequence) -> bool:
        dashes = [self._dash(item) for item in node.items]
        return all(not self.text[self._line_start(dash) : dash].strip() for dash in dashes)

    def _dash(self, item: Node) -> int:
        return self.text.rindex("-", 0, item.start)

    def _item_edits(
        self, node: Sequence, pairs: list[tuple[int | None, Any]], within: list[list[_Edit]]
    ) -> Iterator[_Edit]:
        dashes = [self._dash(item) for item in node.items]
        indent = " " * self._column(dashes[0])
        staying = [position for position, _ in pairs if position is not None]
        for position in sorted(set(range(len(node.items))) - set(staying)):
            yield _Edit(self._line_start(dashes[position]), self._line_end(node.items[position].end), "")
        place = self._line_start(dashes[staying[0]])
        for (kept, value), edits in zip(pairs, within, strict=True):
            if kept is None:
                yield self._inserted(self._joined(yaml_item(value, indent)), place)
            else:
                yield from edits
                place = self._line_end(node.items[kept].end)

    # Flow style and JSON

    def _rebuilt(
        self, node: Mapping | Sequence, own: list[Entry] | list[Node], parts: list[tuple[int | None, str]]
    ) -> _Edit:
        """Write a flow collection anew from its parts, with the gaps that stood between them."""
        bracket = self.text.index("{" if isinstance(node, Mapping) else "[", node.start)
        ends = [bracket + 1, *(part.end for part in own)]
        gaps = [self.text[end : part.start] for end, part in zip(ends, own, strict=False)]
        lead = gaps[0]
        is_usual = len(gaps) > 1 and "#" not in gaps[1]
        usual = gaps[1] if is_usual else "," + (lead if "\n" in lead else " ")
        written = [self.text[node.start : bracket + 1]]
        for place, (position, text) in enumerate(parts):
            gap = lead if place == 0 else gaps[position] if position else usual
            written += [gap, text]
        return _Edit(node.start, node.end, "".join((*written, self.text[ends[-1] : node.end])))

    def _in_flow(self, value: Any, place: int) -> str:
        """Return a value as it can stand within brackets."""
        if not self.is_json:
            return yaml_flow(value)
        if "\n" not in self.text.strip():
            return json_line(value)
        line = self.text[self._line_start(place) :]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        # The closing bracket of a collection stands one step less deep than its parts.
        step = "  " if self.text[place : place + 1] in ("}", "]") else ""
        return json_text(value).replace("\n", f"{self._newline}{indent}{step}")

    # Lines

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _joined(self, lines: list[str]) -> str:
        return self._newline.join(lines)

    def _line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        found = self.text.find("\n", offset)
        return len(self.text) if found < 0 else found + 1

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)

    def _head(self, entry: Entry) -> int:
        """Return where an entry's lines start: with the comment right above it that is indented like it."""
        start = self._line_start(entry.start)
        comment = self.text[start : entry.start] + "#"
        while start and self.text.startswith(comment, self._line_start(start - 1)):
            start = self._line_start(start - 1)
        return start

    def _tail(self, entry: Entry) -> int:
        """Return where an entry's lines end: after the comments that follow it and are indented deeper."""
        end, column = self._line_end(entry.end), self._column(entry.start)
        while True:
            line = self.text[end : self._line_end(end)]
            text = line.lstrip(" ")
            if not text.startswith("#") or len(line) - len(text) <= column:
                return end
            end += len(line)


def _merges(node: Mapping) -> bool:
    return any(entry.key.value is MERGE for entry in node.entries)


def _is_block(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


def _in_line(value: Any, quote: str) -> str:
    return yaml_flow(value) if isinstance(value, (dict, list)) else yaml_scalar(value, quote)


def _moved(own: list[str], wanted: list[str]) -> set[str]:
    """Return the keys that have to leave their places for the rest to be in the wanted order."""
    known = set(own)
    order = [key for key in wanted if key in known]
    blocks = SequenceMatcher(None, own, order, autojunk=False).get_matching_blocks()
    return known - {key for block in blocks for key in own[block.a : block.a + block.size]}


def _pairs(old: list[Any], new: list[Any]) -> list[tuple[int | None, Any]]:
    """Return the new items, each with the position of the old one that it replaces, None if it is new."""
    matcher = SequenceMatcher(None, [_frozen(item) for item in old], [_frozen(item) for item in new], autojunk=False)
    pairs: list[tuple[int | None, Any]] = []
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for offset, value in enumerate(new[new_start:new_end]):
            position = old_start + offset
            pairs.append((position if position < old_end else None, value))
    return pairs


def _frozen(value: Any) -> Any:
    """Return a hashable stand-in."""
    match value:
        case dict():
            return frozenset((key, _frozen(item)) for key, item in value.items())
        case list():
            return tuple(_frozen(item) for item in value)
        case _:
            return (type(value), value)
