"""Brings the text of a document to another value, and touches only what differs.

The edits are those that a careful person would make: a value is written over, an entry's lines are taken out
(with the comment right above it), new lines go behind their predecessor. Comments, quotes, order and spacing
elsewhere stay. An alias stays one as long as it stands for what it did; the caller checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from schemactl.formats._compare import IsOrdered, Keys, moved_keys, paired_items, same
from schemactl.formats._emit import yaml_entry, yaml_flow, yaml_item, yaml_scalar
from schemactl.formats._flow import in_flow, rebuilt
from schemactl.formats._lines import Edit, column_of, head_of, line_end, line_start, newline_of, patched, tail_of
from schemactl.formats._scalars import MERGE
from schemactl.formats._tree import Alias, Entry, Mapping, Node, Scalar, Sequence

_Write = Callable[[Any], Edit]
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
    within: dict[str, list[Edit]]
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
            key: list(self._edits(entry.value, old.get(key), new[key], (*keys, key), self._writer(node, entry)))
            for key, entry in own.items()
            if key in new
        }
        is_ordered = self.is_ordered(keys)
        plan = _Plan(
            new=new,
            leaving={key for key in own if key in old and key not in new},
            moved=moved_keys([key for key in own if key in new], list(new)) if is_ordered else set(),
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

    def _value_written(self, node: Mapping, entry: Entry, value: Any) -> Edit:
        place = entry.value
        if (edit := self._written_over(node, place, value)) is not None:
            return edit
        indent = " " * column_of(self.text, entry.start)
        lines = yaml_entry("k", value, indent)
        after_colon = self._joined(lines).removeprefix(f"{indent}k:")
        return Edit(self.text.index(":", entry.key.end) + 1, place.end, after_colon)

    def _has_own_lines(self, node: Mapping) -> bool:
        """Return whether each key is the first thing on its line."""
        return all(not self.text[line_start(self.text, entry.start) : entry.start].strip() for entry in node.entries)

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
            return self._joined(yaml_entry(key, plan.new[key], indent))
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
        return rebuilt(self.text, node, list(node.entries), parts)

    # Sequences

    def _edit_sequence(
        self, node: Sequence, old: list[Any], new: list[Any], keys: Keys, write: _Write
    ) -> Iterator[Edit]:
        if len(old) != len(node.items):
            yield write(new)
            return
        pairs = paired_items(old, new)
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
                else (position, patched(self.text, node.items[position].start, node.items[position].end, edits))
                for (position, value), edits in zip(pairs, within, strict=True)
            ]
            yield rebuilt(self.text, node, list(node.items), parts)
        elif all(position is None for position, _ in pairs) or not self._has_own_dashes(node):
            yield write(new)
        else:
            yield from self._item_edits(node, pairs, within)

    def _item_writer(self, node: Sequence, position: int) -> _Write:
        return lambda value: self._item_written(node, position, value)

    def _item_written(self, node: Sequence, position: int, value: Any) -> Edit:
        place = node.items[position]
        if (edit := self._written_over(node, place, value)) is not None:
            return edit
        dash = self._dash(place)
        lines = self._joined(yaml_item(value, " " * column_of(self.text, dash)))
        return Edit(dash, place.end, lines.lstrip(" "))

    def _has_own_dashes(self, node: Sequence) -> bool:
        dashes = [self._dash(item) for item in node.items]
        return all(not self.text[line_start(self.text, dash) : dash].strip() for dash in dashes)

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
                yield self._inserted(self._joined(yaml_item(value, indent)), place)
            else:
                yield from edits
                place = line_end(self.text, node.items[kept].end)

    # Both

    def _written_over(self, within: Mapping | Sequence, place: Node, value: Any) -> Edit | None:
        """Write a value over a part of a collection; None where it takes lines of its own."""
        if within.is_flow:
            return Edit(place.start, place.end, self._in_flow(value, place.start))
        if isinstance(place, (Scalar, Alias)) and place.end > place.start and not _is_block(value):
            quote = self.text[place.start]
            return Edit(place.start, place.end, _in_line(value, quote if quote in "'\"" else ""))
        return None

    def _in_flow(self, value: Any, place: int) -> str:
        return in_flow(self.text, self.is_json, value, place)

    def _joined(self, lines: list[str]) -> str:
        return newline_of(self.text).join(lines)


def _merges(node: Mapping) -> bool:
    return any(entry.key.value is MERGE for entry in node.entries)


def _is_block(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


def _in_line(value: Any, quote: str) -> str:
    return yaml_flow(value) if isinstance(value, (dict, list)) else yaml_scalar(value, quote)
