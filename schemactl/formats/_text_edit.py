"""Edit YAML and JSON that a person formatted: the text of what changes is replaced, all other text stays as it is.

The tree of a document says what it means, its spans say where its parts stand. An edit replaces single values, and
whole lines where keys or items come, go or move. With a key go the comment right above it, and those below it that are
indented deeper.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

from schemactl.formats import _tree as tree
from schemactl.formats._emit import yaml_part
from schemactl.formats._scalars import MERGE
from schemactl.formats._stated import paired_items
from schemactl.formats._tree import Keys, Node, fields_of, same, value_of
from schemactl.formats._yaml_events import LOADER

_NO_CONTENT: Final = re.compile(r"([ \t]*)(#[^\n]*)?\r?\n")
_ANCHOR_OR_TAG: Final = re.compile(r"(?:[ \t]+[&!]\S*)*")
_EXPLICIT_KEY: Final = re.compile(r"\?[ \t]+$")
_COMMENT: Final = re.compile(r"[ \t]+#[^\r\n]*")
_JSON_PART: Final = re.compile(r"""[{}\[\]]|"(?:[^"\\]|\\.)*"|[^\s,:{}\[\]"]+""")

New = dict[Any, Any] | list[Any]
"""What comes: a mapping of one key, or a list of one item."""


class ConflictError(Exception):
    """An edit would lose comments, or write all of the document anew."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a document.

    Attributes:
        wanted: its new value; the order of its keys is that of new keys, too.
        renamed: keys that have other names there, by the way to the old ones.
        expands: aliases and merges give way to what they stand for.
    """

    wanted: Any
    renamed: Mapping[Keys, str]
    expands: bool = False


def edit_yaml(text: str, root: Node, edit: Edit) -> str:
    """Return a YAML document with another value; ``root`` is its tree.

    Raises:
        ConflictError: comments would be lost.
    """
    return _Editor(text, edit, _indentation_of(text, root)).edited(root, _yaml_span(text))


def edit_json(text: str, root: Node, edit: Edit) -> str:
    """Return a JSON document with another value, in the indentation and with the spaces that it has."""
    indented = re.match(r"\s*[{[][^\S\n]*\n([ \t]+)", text)
    options: dict[str, Any] = {
        "indent": indented[1] if indented else None,
        "separators": ("," if indented or '", "' not in text else ", ", ": " if '": ' in text else ":"),
        "ensure_ascii": text.isascii() and "\\u" in text,
    }
    return _Editor(text, edit, json_options=options, comma=options["separators"][0]).edited(root, _json_span(text))


class _Span(NamedTuple):
    """The place of a node in the text.

    Attributes:
        style: the quotes of a text, ``|`` or ``>``; ``flow`` of what stands in braces or brackets, ``block`` of others.
        parts: the items, or the keys and values in turn.
    """

    start: int
    end: int
    style: str = ""
    parts: Sequence[_Span] = ()


def _yaml_span(text: str) -> _Span:
    opened: list[list[_Span]] = [[]]
    started: list[Any] = []
    for event in iter(LOADER(text.replace("\ufeff", "\n", 1) if text[:1] == "\ufeff" else text).get_event, None):
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, CollectionStartEvent):
            started.append(event)
            opened.append([])
        elif isinstance(event, CollectionEndEvent):
            first, parts = started.pop(), opened.pop()
            style, end = ("flow", end) if first.flow_style else ("block", parts[-1].end)
            opened[-1].append(_Span(first.start_mark.index, end, style, parts))
        elif isinstance(event, ScalarEvent) and event.style in ("|", ">"):
            opened[-1].append(_Span(start, start + len(text[start:end].rstrip()), event.style))
        elif isinstance(event, ScalarEvent | AliasEvent):
            opened[-1].append(_Span(start, end, getattr(event, "style", None) or ""))
    return opened[0][0]


def _json_span(text: str) -> _Span:
    opened: list[list[_Span]] = [[]]
    starts: list[int] = []
    for found in _JSON_PART.finditer(text):
        if found[0] in ("{", "["):
            starts.append(found.start())
            opened.append([])
        elif found[0] in ("}", "]"):
            parts = opened.pop()
            opened[-1].append(_Span(starts.pop(), found.end(), "flow", parts))
        else:
            opened[-1].append(_Span(found.start(), found.end()))
    return opened[0][0]


def _indentation_of(text: str, root: Node) -> tuple[int, int]:
    """Return how much deeper than their keys the blocks of a document mostly are: mappings, and the dashes of lists."""
    mappings, dashes = Counter[int](), Counter[int]()
    nodes: list[Node] = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, tree.Sequence):
            nodes += node.items
        elif isinstance(node, tree.Mapping):
            for key, value in node.entries:
                nodes.append(value)
                if isinstance(value, tree.Mapping | tree.Sequence) and "\n" in text[key.start : value.start]:
                    columns = [place - text.rfind("\n", 0, place) for place in (key.start, value.start)]
                    (dashes if text[value.start] == "-" else mappings)[columns[1] - columns[0]] += 1
    return mappings.most_common(1)[0][0] if mappings else 2, dashes.most_common(1)[0][0] if dashes else 0


class _Place(NamedTuple):
    """The place of a value: ``after`` is where its key's colon or its dash ends, ``column`` is that of key or dash."""

    after: int
    column: int
    is_item: bool
    is_flow: bool


@dataclass(slots=True)
class _Editor:
    """Collects replacements of text: from where to where, and by what."""

    text: str
    edit: Edit
    indentation: tuple[int, int] = (2, 0)
    json_options: dict[str, Any] | None = None
    comma: str = ", "
    newline: str = field(init=False)
    above_renamed: frozenset[Keys] = field(init=False)
    replacements: list[tuple[int, int, str]] = field(default_factory=list)

    def edited(self, root: Node, span: _Span) -> str:
        """Return the text with its new value."""
        self.newline = "\r\n" if "\r\n" in self.text else "\n"
        self.above_renamed = frozenset(way[:length] for way in self.edit.renamed for length in range(len(way)))
        has_end = self.text.endswith("\n")
        self.text += "" if has_end else self.newline
        self._bring(root, span, self.edit.wanted, (), None)
        written = self._joined(self.replacements, 0, len(self.text))
        return written if has_end else written.removesuffix(self.newline)

    # Values

    def _bring(self, node: Node, span: _Span, wanted: Any, keys: Keys, place: _Place | None) -> None:
        """Bring a node to a value: part by part, or where none of its parts stay anew."""
        is_same = keys not in self.above_renamed and same(value_of(node), wanted, _always)
        if is_same and not (self.edit.expands and (span.parts or isinstance(node, tree.Alias))):
            return
        is_kept = False
        match node:
            case tree.Mapping() if isinstance(wanted, dict):
                is_kept = self._bring_mapping(node, span, wanted, keys)
            case tree.Sequence() if isinstance(wanted, list):
                is_kept = self._bring_list(node, span, wanted, keys)
        if not is_kept:
            self._write_anew(span, wanted, place)

    def _bring_mapping(self, node: tree.Mapping, span: _Span, wanted: dict[Any, Any], keys: Keys) -> bool:
        """Edit a mapping in place; return False where none of its entries stay."""
        own: dict[Any, int] = {}
        entries = []
        for index, (key, value) in enumerate(node.entries):
            at, of = span.parts[2 * index : 2 * index + 2]
            mark = _EXPLICIT_KEY.search(self.text, self._line_start(at.start), at.start)
            entries.append(_Span(mark.start() if mark else at.start, of.end))
            if key.value is MERGE:
                continue
            name = self.edit.renamed.get((*keys, key.value), key.value)
            own[name] = index
            if name != key.value:
                self._replace(at.start, at.end, self._scalar(name, at, is_flow=span.style == "flow"))
            if name in wanted:
                after = self.text.index(":", at.end) + 1
                place = _Place(after, self._column(entries[-1].start), is_item=False, is_flow=span.style == "flow")
                self._bring(value, of, wanted[name], (*keys, key.value), place)
        merged = {} if self.edit.expands else fields_of(node)
        inherited = {key: value_of(value) for key, value in merged.items() if key not in own}
        order = [
            own.get(key, {key: value})
            for key, value in wanted.items()
            if key not in inherited or not same(inherited[key], value, _always)
        ]
        merges = set() if self.edit.expands else set(range(len(entries))) - set(own.values())
        return self._arrange(span, entries, order, merges)

    def _bring_list(self, node: tree.Sequence, span: _Span, wanted: list[Any], keys: Keys) -> bool:
        """Edit a list in place; return False where none of its items stay."""
        is_flow = span.style == "flow"
        entries = span.parts if is_flow else [_Span(self._dash(item.start), item.end) for item in span.parts]
        order: list[int | New] = []
        for position, value in paired_items(value_of(node), wanted):
            order.append([value] if position is None else position)
            if position is not None:
                start = entries[position].start
                place = _Place(start + 1, self._column(start), is_item=True, is_flow=is_flow)
                self._bring(node.items[position], span.parts[position], value, (*keys, position), place)
        return self._arrange(span, entries, order, set())

    def _write_anew(self, span: _Span, value: Any, place: _Place | None) -> None:
        """Write a value in the place of another one; what stands behind it on its line stays."""
        if place is None:
            raise ConflictError("nothing of the document would stay")
        if place.is_flow or not (isinstance(value, dict | list) and value):
            first, rest = self._scalar(value, span, is_flow=place.is_flow), list[str]()
        else:
            first, *rest = self._lines([value] if place.is_item else {"": value}, place.column)
            first = first[place.column + len("- ") :] if place.is_item else ""
        below = "".join(self.newline + line for line in rest)
        line_end = self._line_end(place.after)
        if span.style == "block" and span.parts[0].start > line_end:
            head = _ANCHOR_OR_TAG.match(self.text, place.after)
            self._replace(place.after, head.end() if head else place.after, first and f" {first}")
            self._replace(line_end, self._line_end(span.end), below)
            return
        if span.style in ("|", ">") and (comment := _COMMENT.search(self.text, span.start, self._line_end(span.start))):
            first += comment[0]
        if first and span.start < span.end:
            self._replace(span.start, span.end, first)
        else:
            self._replace(place.after, span.end, first and f" {first}")
        line_end = self._line_end(span.end)
        self._replace(line_end, line_end, below)

    # Keys and items that come, go and move

    def _arrange(self, span: _Span, entries: Sequence[_Span], order: Sequence[int | New], merges: set[int]) -> bool:
        """Bring the entries of a mapping or a list into an order; return False where none of them stay.

        Args:
            span: of the mapping or list.
            entries: its keys with their values, or its items with their dashes.
            order: the places of those that are to be there, and what comes besides; what comes or moves stands behind
                what it follows.
            merges: the places of those that stay where they are whatever the order.
        """
        known = [place for place in order if isinstance(place, int)]
        staying = set(known) - _moved(known) | merges
        if not staying:
            return False
        following: dict[int | None, list[int | New]] = {}
        last = None
        for each in order:
            if isinstance(each, int) and each in staying:
                last = each
            else:
                following.setdefault(last, []).append(each)
        if following or len(staying) < len(entries):
            (self._arrange_flow if span.style == "flow" else self._arrange_block)(span, entries, following, staying)
        return True

    def _arrange_flow(
        self, span: _Span, entries: Sequence[_Span], following: Mapping[int | None, list[int | New]], staying: set[int]
    ) -> None:
        # An anchor or a tag may stand before the brace.
        opening = min(at for mark in "{[" if (at := self.text.find(mark, span.start)) >= 0) + 1
        edges = [opening, *(place for entry in entries for place in entry[:2]), span.end - 1]
        lead, *gaps, trail = (self.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        if any("#" in gap for gap in (lead, *gaps, trail)):
            raise ConflictError("comments stand in braces")
        comma = gaps[0] if gaps else f",{lead}" if "\n" in lead else self.comma
        texts = [self._rendered(entry.start, entry.end) for entry in entries]
        parts: list[str] = []
        for index in (None, *range(len(entries))):
            parts += [texts[index]] if index is not None and index in staying else []
            parts += [
                texts[each] if isinstance(each, int) else self._part(each, entries[0].start)
                for each in following.get(index, ())
            ]
        self._replace(edges[0], edges[-1], lead + comma.join(parts) + trail)

    def _arrange_block(
        self, _span: _Span, entries: Sequence[_Span], following: Mapping[int | None, list[int | New]], staying: set[int]
    ) -> None:
        chunks = [self._chunk(entry) for entry in entries]
        start, column = entries[0].start, self._column(entries[0].start)
        # The first key of an item stands behind its dash.
        is_compact = chunks[0][0] == start and column > 0
        moved = (each for those in following.values() for each in those if isinstance(each, int))
        texts = {index: self._rendered(*chunks[index]) for index in moved}
        leaving = [index for index in range(len(entries)) if index not in staying]
        if is_compact and 0 in leaving:
            first = min(staying)
            if chunks[first][0] < self._line_start(entries[first].start):
                raise ConflictError("a comment would stand between a dash and its key")
            self._replace(start, entries[first].start, "")
            leaving = [index for index in leaving if index > first]
            texts |= {0: " " * column + texts[0]} if 0 in texts else {}
        for index in leaving:
            self._replace(*chunks[index], "")
        for after, those in following.items():
            made = ""
            for each in those:
                new = (
                    "" if isinstance(each, int) else "".join(line + self.newline for line in self._lines(each, column))
                )
                made += texts[each] if isinstance(each, int) else new
            if after is not None:
                self._replace(chunks[after][1], chunks[after][1], made)
            else:
                self._replace(chunks[0][0], chunks[0][0], made.lstrip(" ") + " " * column if is_compact else made)

    def _chunk(self, entry: _Span) -> tuple[int, int]:
        """Return the lines of a key or an item, with the comment right above it and those deeper below it."""
        first, column = self._line_start(entry.start), self._column(entry.start)
        if self.text[first : entry.start].strip(" "):
            first = entry.start
        else:
            while first and self.text.startswith(f"{' ' * column}#", above := self._line_start(first - 1)):
                first = above
        last = at = self.text.index("\n", entry.end) + 1
        while (found := _NO_CONTENT.match(self.text, at)) and not (found[2] and len(found[1]) <= column):
            at = found.end()
            last = at if found[2] else last
        return first, last

    # Text of values

    def _scalar(self, value: Any, old: _Span, *, is_flow: bool) -> str:
        """Return a value that stands on one line, in the quotes of another one where it can have them."""
        if is_flow:
            return self._part([value], old.start, old.style)
        return yaml_part(value, quote=_quotes(value, old.style))

    def _part(self, new: New, place: int, style: str = "") -> str:
        """Return a key with its value, or an item, in braces or brackets; ``place`` is on the line where it stands."""
        if self.json_options is None:
            return yaml_part(new, is_flow=True, quote=_quotes(new[0], style) if isinstance(new, list) else None)[1:-1]
        line = self.text[self._line_start(place) : place]
        indent = line[: len(line) - len(line.lstrip())]
        parts = next(iter(new.items())) if isinstance(new, dict) else new
        texts = (json.dumps(each, **self.json_options) for each in parts)
        colon: str = self.json_options["separators"][1]
        return colon.join(texts).replace("\n", self.newline + indent)

    def _lines(self, new: New, column: int) -> list[str]:
        """Return the lines of a mapping or a list that holds something, as a block."""
        made: list[str] = []
        for key, value in enumerate(new) if isinstance(new, list) else new.items():
            head = " " * column + ("-" if isinstance(new, list) else f"{yaml_part(key)}:")
            if not (isinstance(value, dict | list) and value):
                made.append(f"{head} {yaml_part(value)}")
            elif isinstance(new, list):
                first, *rest = self._lines(value, column + len("- "))
                made += [f"{head} {first.lstrip(' ')}", *rest]
            else:
                made += [head, *self._lines(value, column + self.indentation[isinstance(value, list)])]
        return made

    # Places in the text

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        """Return where the line of a place ends, before its newline."""
        end = self.text.index("\n", place)
        return end - (self.newline == "\r\n" and self.text[end - 1] == "\r")

    def _column(self, place: int) -> int:
        return place - self._line_start(place)

    def _dash(self, item: int) -> int:
        """Return where the dash of an item stands."""
        start = self._line_start(item)
        while not self.text[start:item].partition("#")[0].strip():
            start, item = self._line_start(start - 1), start
        return self.text.rindex("-", start, start + len(self.text[start:item].partition(" #")[0]))

    # Replacements

    def _replace(self, start: int, end: int, text: str) -> None:
        if start < end or text:
            self.replacements.append((start, end, text))

    def _rendered(self, start: int, end: int) -> str:
        """Return the text between two places as it is to be; its replacements are done then."""
        # What comes right at the start stands behind what is before it.
        inside = [each for each in self.replacements if start <= each[0] and start < each[1] <= end]
        self.replacements = [each for each in self.replacements if not (start <= each[0] and start < each[1] <= end)]
        return self._joined(inside, start, end)

    def _joined(self, replacements: Iterable[tuple[int, int, str]], start: int, end: int) -> str:
        made, at = [], start
        for first, last, text in sorted(replacements, key=lambda each: each[:2]):
            made += [self.text[at:first], text]
            at = last
        return "".join((*made, self.text[at:end]))


def _quotes(value: Any, style: str) -> str | None:
    return style if isinstance(value, str) and style in ("'", '"') else None


def _always(_keys: Keys) -> bool:
    return True


def _moved(order: list[int]) -> set[int]:
    """Return which places have to be left for the rest to be in order."""
    own = sorted(order)
    blocks = SequenceMatcher(None, own, order, autojunk=False).get_matching_blocks()
    return set(own) - {place for block in blocks for place in own[block.a : block.a + block.size]}
