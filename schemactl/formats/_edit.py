"""Brings the text of a document to another value, and touches only what differs.

The edits are those that a careful person would make: a value is written over, an entry's lines are taken out
(with the comment right above it), new lines go behind their predecessor. Comments, quotes, order and spacing
elsewhere stay. An alias stays one as long as it stands for what it did; the caller checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from schemactl.formats._emit import json_line, json_text, yaml_flow, yaml_lines, yaml_scalar
from schemactl.formats._scalars import MERGE
from schemactl.formats._tree import Alias, Entry, IsOrdered, Keys, Mapping, Node, Scalar, Sequence, same


@dataclass(frozen=True, slots=True)
class Edit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


_Write = Callable[[Any], Edit]
"""Writes a value over what stands in some place, in the style of that place."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The changes of a mapping's keys: entries that leave, move or are added, and the edits within those that stay."""

    new: dict[str, Any]
    leaving: set[str]
    moved: set[str]
    added: set[str]
    within: dict[str, list[Edit]]
    is_ordered: bool

    @property
    def keeps_entries(self) -> bool:
        return not (self.leaving or self.moved or self.added)


@dataclass(frozen=True, slots=True)
class Editor:
    """Edits one document; ``expands`` says whether aliases and merges give way to what they stand for."""

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

        def write(value: Any) -> Edit:
            return Edit(root.start, root.end, self._in_flow(value, root.start))

        return patched(self.text, 0, len(self.text), list(self._edits(root, old, new, (), write)))

    def _edits(self, node: Node, old: Any, new: Any, keys: Keys, write: _Write) -> Iterator[Edit]:
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
    ) -> Iterator[Edit]:
        own = {entry.key.value: entry for entry in node.entries if entry.key.value is not MERGE}
        within = {
            key: list(
                self._edits(
                    entry.value, old.get(key), new[key], (*keys, key), partial(self._value_written, node, entry)
                )
            )
            for key, entry in own.items()
            if key in new
        }
        is_ordered = self.is_ordered(keys)
        plan = _Plan(
            new=new,
            leaving={key for key in own if key in old and key not in new},
            moved=_moved_keys([key for key in own if key in new], list(new)) if is_ordered else set(),
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
        elif all(self._is_first_on_line(entry.start) for entry in node.entries):
            yield from self._line_edits(own, plan)
        else:
            yield write(new)

    def _is_implied(self, old: dict[str, Any], new: dict[str, Any], key: str, keys: Keys) -> bool:
        """Return whether the text means a key's value without stating it."""
        return key in old and same(old[key], new[key], self.is_ordered, (*keys, key))

    def _value_written(self, node: Mapping, entry: Entry, value: Any) -> Edit:
        place = entry.value
        if (edit := self._written_over(node, place, value)) is not None:
            return edit
        indent = " " * column_of(self.text, entry.start)
        lines = yaml_lines({"k": value}, indent)
        after_colon = self._joined(lines).removeprefix(f"{indent}k:")
        return Edit(self.text.index(":", entry.key.end) + 1, place.end, after_colon)

    def _line_edits(self, own: dict[Any, Entry], plan: _Plan) -> Iterator[Edit]:
        indent = " " * column_of(self.text, next(iter(own.values())).start)
        for key, edits in plan.within.items():
            if key not in plan.moved:
                yield from edits
        for key in (*plan.leaving, *plan.moved):
            yield Edit(head_of(self.text, own[key]), tail_of(self.text, own[key]), "")
        staying = [key for key in own if key in plan.new and key not in plan.moved]
        before: str | None = None if plan.is_ordered else staying[-1]
        for key in plan.new:
            if key in staying:
                before = key
            elif key in plan.added or key in plan.moved:
                lines = self._lines_of(key, own, plan, indent)
                place = tail_of(self.text, own[before]) if before else head_of(self.text, own[staying[0]])
                yield self._inserted(lines, place)

    def _lines_of(self, key: str, own: dict[Any, Entry], plan: _Plan, indent: str) -> str:
        if key in plan.added:
            return self._joined(yaml_lines({key: plan.new[key]}, indent))
        entry = own[key]
        lines = patched(self.text, head_of(self.text, entry), tail_of(self.text, entry), plan.within[key])
        return lines.removesuffix(newline_of(self.text))

    def _inserted(self, lines: str, position: int) -> Edit:
        if position and self.text[position - 1] != "\n":
            return Edit(position, position, newline_of(self.text) + lines)
        return Edit(position, position, lines + newline_of(self.text))

    def _rebuilt_mapping(self, node: Mapping, own: dict[Any, Entry], plan: _Plan) -> Edit:
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
                text = patched(self.text, entry.start, entry.end, plan.within.get(key, []))
                parts.append((index[id(entry)], text))
            elif key in plan.added:
                name, value = self._in_flow(key, node.start), self._in_flow(plan.new[key], node.end - 1)
                parts.append((None, f"{name}: {value}"))
        return self._rebuilt(node, list(node.entries), parts)

    # Sequences

    def _edit_sequence(
        self, node: Sequence, old: list[Any], new: list[Any], keys: Keys, write: _Write
    ) -> Iterator[Edit]:
        if len(old) != len(node.items):
            yield write(new)
            return
        pairs = _paired_items(old, new)
        within = [
            []
            if position is None
            else list(
                self._edits(
                    node.items[position],
                    old[position],
                    value,
                    (*keys, position),
                    partial(self._item_written, node, position),
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
                else (position, patched(self.text, node.items[position].start, node.items[position].end, edits))
                for (position, value), edits in zip(pairs, within, strict=True)
            ]
            yield self._rebuilt(node, list(node.items), parts)
        elif all(position is None for position, _ in pairs) or not all(
            self._is_first_on_line(self._dash(item)) for item in node.items
        ):
            yield write(new)
        else:
            yield from self._item_edits(node, pairs, within)

    def _item_written(self, node: Sequence, position: int, value: Any) -> Edit:
        place = node.items[position]
        if (edit := self._written_over(node, place, value)) is not None:
            return edit
        dash = self._dash(place)
        lines = self._joined(yaml_lines([value], " " * column_of(self.text, dash)))
        return Edit(dash, place.end, lines.lstrip(" "))

    def _dash(self, item: Node) -> int:
        return self.text.rindex("-", 0, item.start)

    def _item_edits(
        self, node: Sequence, pairs: list[tuple[int | None, Any]], within: list[list[Edit]]
    ) -> Iterator[Edit]:
        dashes = [self._dash(item) for item in node.items]
        indent = " " * column_of(self.text, dashes[0])
        staying = [position for position, _ in pairs if position is not None]
        for position in sorted(set(range(len(node.items))) - set(staying)):
            yield Edit(line_start(self.text, dashes[position]), line_end(self.text, node.items[position].end), "")
        place = line_start(self.text, dashes[staying[0]])
        for (kept, value), edits in zip(pairs, within, strict=True):
            if kept is None:
                yield self._inserted(self._joined(yaml_lines([value], indent)), place)
            else:
                yield from edits
                place = line_end(self.text, node.items[kept].end)

    # Both

    def _is_first_on_line(self, offset: int) -> bool:
        return not self.text[line_start(self.text, offset) : offset].strip()

    def _written_over(self, within: Mapping | Sequence, place: Node, value: Any) -> Edit | None:
        """Write a value over a part of a collection; None where it takes lines of its own."""
        if within.is_flow:
            return Edit(place.start, place.end, self._in_flow(value, place.start))
        is_block = isinstance(value, (dict, list)) and bool(value)
        if isinstance(place, (Scalar, Alias)) and place.end > place.start and not is_block:
            quote = self.text[place.start]
            is_scalar = not isinstance(value, (dict, list))
            written = yaml_scalar(value, quote if quote in "'\"" else "") if is_scalar else yaml_flow(value)
            return Edit(place.start, place.end, written)
        return None

    def _in_flow(self, value: Any, place: int) -> str:
        """Return a value as it can stand within brackets, in YAML's flow style or in JSON."""
        if not self.is_json:
            return yaml_flow(value)
        if "\n" not in self.text.strip():
            return json_line(value)
        line = self.text[line_start(self.text, place) :]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        # The closing bracket of a collection stands one step less deep than its parts.
        step = "  " if self.text[place : place + 1] in ("}", "]") else ""
        return json_text(value).replace("\n", f"{newline_of(self.text)}{indent}{step}")

    def _rebuilt(
        self, node: Mapping | Sequence, own: list[Entry] | list[Node], parts: list[tuple[int | None, str]]
    ) -> Edit:
        """Write a flow collection anew from its parts, with the gaps that stood between them."""
        text = self.text
        bracket = text.index("{" if isinstance(node, Mapping) else "[", node.start)
        ends = [bracket + 1, *(each.end for each in own)]
        gaps = [text[end : each.start] for end, each in zip(ends, own, strict=False)]
        lead = gaps[0]
        is_usual = len(gaps) > 1 and "#" not in gaps[1]
        usual = gaps[1] if is_usual else "," + (lead if "\n" in lead else " ")
        written = [text[node.start : bracket + 1]]
        for place, (position, part) in enumerate(parts):
            gap = lead if place == 0 else gaps[position] if position else usual
            written += [gap, part]
        return Edit(node.start, node.end, "".join((*written, text[ends[-1] : node.end])))

    def _joined(self, lines: list[str]) -> str:
        return newline_of(self.text).join(lines)


def _merges(node: Mapping) -> bool:
    return any(entry.key.value is MERGE for entry in node.entries)


def patched(text: str, start: int, end: int, edits: list[Edit]) -> str:
    """Return ``text[start:end]`` with the edits; of edits at one place the first comes first."""
    parts, position = [], start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start)):
        parts += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join((*parts, text[position:end]))


def newline_of(text: str) -> str:
    """Return how the document ends its lines."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, offset: int) -> int:
    """Return where the line of an offset starts."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return where the line of an offset ends, its newline included."""
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def column_of(text: str, offset: int) -> int:
    """Return how many characters stand before an offset on its line."""
    return offset - line_start(text, offset)


def head_of(text: str, entry: Entry) -> int:
    """Return where an entry's lines start: with the comment right above it that is indented like it."""
    start = line_start(text, entry.start)
    comment = text[start : entry.start] + "#"
    while start and text.startswith(comment, line_start(text, start - 1)):
        start = line_start(text, start - 1)
    return start


def tail_of(text: str, entry: Entry) -> int:
    """Return where an entry's lines end: after the comments that follow it and are indented deeper."""
    end, column = line_end(text, entry.end), column_of(text, entry.start)
    while True:
        line = text[end : line_end(text, end)]
        stated = line.lstrip(" ")
        if not stated.startswith("#") or len(line) - len(stated) <= column:
            return end
        end += len(line)


def _moved_keys(own: list[str], wanted: list[str]) -> set[str]:
    """Return the keys that have to leave their places for the rest to be in the wanted order."""
    known = set(own)
    order = [key for key in wanted if key in known]
    blocks = SequenceMatcher(None, own, order, autojunk=False).get_matching_blocks()
    return known - {key for block in blocks for key in own[block.a : block.a + block.size]}


def _paired_items(old: list[Any], new: list[Any]) -> list[tuple[int | None, Any]]:
    """Return the new items, each with the position of the old one that it replaces, None if it is new."""
    matcher = SequenceMatcher(None, [_frozen(item) for item in old], [_frozen(item) for item in new], autojunk=False)
    pairs: list[tuple[int | None, Any]] = []
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for offset, value in enumerate(new[new_start:new_end]):
            position = old_start + offset
            pairs.append((position if position < old_end else None, value))
    return pairs


def _frozen(value: Any) -> Any:
    """Return a hashable copy of a value, by which equal values are found."""
    match value:
        case dict():
            return frozenset((key, _frozen(item)) for key, item in value.items())
        case list():
            return tuple(_frozen(item) for item in value)
        case _:
            return (type(value), value)
