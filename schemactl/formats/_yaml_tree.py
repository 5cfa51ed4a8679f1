"""YAML text -> tree. The parser is ruamel.yaml's; tags, aliases and limits are looked after here.

The tree is built from the parser's events and not from its objects: so a hostile file is refused while it is
read, places are exact, and values are those that dlt's YAML library would give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from schemactl.formats._scalars import MERGE, Kind, kind_of
from schemactl.formats._scalars import value_of as scalar_value
from schemactl.formats._tree import (
    MAX_DEPTH,
    MAX_REPEATED_NODES,
    Alias,
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Source,
    follow,
)

_TAG_PREFIX = "tag:yaml.org,2002:"
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.MERGE}
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|(?<!^)\ufeff")


def parse_yaml(source: Source) -> Node:
    """Return the tree of a YAML document.

    Raises:
        InputError: the text is not YAML, or states what a schema file cannot hold; with the place.
    """
    if (found := _NOT_YAML.search(source.text)) is not None:
        character = f"U+{ord(found.group()):04X}"
        hint = "in double quotes it can be written as an escape; is the file text at all?"
        raise source.refuse(f"the character {character} cannot stand in YAML", found.start(), hint)
    parser = YAML(typ="safe", pure=True)
    parser.version = (1, 1)
    try:
        return _Builder(source).build(parser.parse(source.text))
    except MarkedYAMLError as error:
        raise _refusal(source, error) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise source.refuse(f"this is not YAML: {' '.join(str(error).split())}", 0) from error


def _refusal(source: Source, error: MarkedYAMLError) -> Exception:
    mark = error.problem_mark or error.context_mark
    offset = min(mark.index, len(source.text)) if mark else 0
    told = ", ".join(part for part in (error.context, error.problem) if part)
    hint = None
    if source.text[offset : offset + 1] == "\t":
        told, hint = "a tab cannot indent in YAML", "indent with spaces"
    elif error.problem and "mapping values are not allowed" in error.problem:
        told, hint = "`:` cannot stand here", "put a text that holds `: ` in quotes; check the indentation"
    return source.refuse(told if hint else f"this is not YAML: {told}", offset, hint)


@dataclass(slots=True)
class _Open:
    """A collection that is being read."""

    event: CollectionStartEvent
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much a node stands for, aliases followed."""

    nodes: int
    depth: int


class _Builder:
    """Builds the tree from events, without recursion: how deep a document goes is its author's choice."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.anchors: dict[str, Scalar | Sequence | Mapping | None] = {}
        self.extents: dict[int, _Extent] = {}
        self.repeated = 0
        self.open: list[_Open] = []
        self.root: Node | None = None

    def build(self, events: Iterator[Event]) -> Node:
        for event in events:
            match event:
                case DocumentStartEvent() if self.root is not None:
                    hint = "a schema file holds one"
                    raise self.source.refuse("a second document starts here", event.start_mark.index, hint)
                case ScalarEvent():
                    self._add(self._scalar(event), event.anchor)
                case AliasEvent():
                    self._add(self._alias(event), None)
                case CollectionStartEvent():
                    self._enter(event)
                case CollectionEndEvent():
                    started = self.open.pop()
                    self._add(self._collection(started, event), started.event.anchor)
        if self.root is None:
            raise self.source.refuse("the file is empty", 0)
        return self.root

    def _enter(self, event: CollectionStartEvent) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self.source.refuse(f"nested deeper than {MAX_DEPTH} levels", event.start_mark.index)
        expected = _TAG_PREFIX + ("map" if isinstance(event, MappingStartEvent) else "seq")
        if event.tag not in (None, "!", expected):
            raise self._unknown_tag(event)
        if event.anchor:
            self._declare(event)
        self.open.append(_Open(event))

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor and not isinstance(node, Alias):
            self.anchors[anchor] = node
        if self.open:
            self.open[-1].nodes.append(node)
        else:
            self.root = node

    def _declare(self, event: Any) -> None:
        if event.anchor in self.anchors:
            raise self.source.refuse(f"the anchor `&{event.anchor}` stands here again", event.start_mark.index)
        self.anchors[event.anchor] = None

    def _scalar(self, event: ScalarEvent) -> Scalar:
        start, end = event.start_mark.index, event.end_mark.index
        if event.anchor:
            self._declare(event)
        if event.style in ("|", ">"):
            # The parser counts the blank lines that follow.
            end = start + len(self.source.text[start:end].rstrip())
        kind = self._kind(event)
        try:
            value = scalar_value(kind, event.value)
        except ValueError as error:
            hint = "put it in quotes if it is text"
            shown = event.value if len(event.value) <= 40 else event.value[:39] + "…"
            raise self.source.refuse(f"`{shown}` is no {kind.value} value", start, hint) from error
        return Scalar(start, end, value)

    def _kind(self, event: ScalarEvent) -> Kind:
        if event.tag is None or event.tag == "!":
            return kind_of(event.value) if event.implicit[0] and event.tag is None else Kind.TEXT
        kind = _KINDS.get(event.tag.removeprefix(_TAG_PREFIX))
        if kind is None or not event.tag.startswith(_TAG_PREFIX):
            raise self._unknown_tag(event)
        return kind

    def _unknown_tag(self, event: Any) -> Exception:
        tag = event.tag.replace(_TAG_PREFIX, "!!")
        hint = "a schema file holds plain values only"
        return self.source.refuse(f"the tag `{tag}` has no meaning here", event.start_mark.index, hint)

    def _alias(self, event: AliasEvent) -> Alias:
        start = event.start_mark.index
        target = self.anchors.get(event.anchor)
        if target is None:
            within = event.anchor in self.anchors
            message = f"`*{event.anchor}` stands within itself" if within else f"there is no anchor `&{event.anchor}`"
            raise self.source.refuse(message, start)
        extent = self._extent(target)
        self.repeated += extent.nodes
        if self.repeated > MAX_REPEATED_NODES:
            hint = f"aliases may stand for {MAX_REPEATED_NODES:,} values in all"
            raise self.source.refuse("aliases repeat too much", start, hint)
        if len(self.open) + extent.depth > MAX_DEPTH:
            raise self.source.refuse(f"nested deeper than {MAX_DEPTH} levels", start)
        return Alias(start, event.end_mark.index, target)

    def _extent(self, node: Node) -> _Extent:
        target = follow(node)
        return self.extents.get(id(target)) or _Extent(1, 0)

    def _collection(self, started: _Open, event: CollectionEndEvent) -> Sequence | Mapping:
        nodes, start = started.nodes, started.event.start_mark.index
        is_flow = bool(started.event.flow_style)
        end = event.end_mark.index if is_flow or not nodes else nodes[-1].end
        parts = [self._extent(node) for node in nodes]
        extent = _Extent(1 + sum(part.nodes for part in parts), 1 + max((part.depth for part in parts), default=0))
        node: Sequence | Mapping
        if isinstance(started.event, SequenceStartEvent):
            node = Sequence(start, end, is_flow, tuple(nodes))
        else:
            node = Mapping(start, end, is_flow, self._entries(nodes))
        self.extents[id(node)] = extent
        return node

    def _entries(self, nodes: list[Node]) -> tuple[Entry, ...]:
        entries, seen = [], set()
        for key_node, value in zip(nodes[::2], nodes[1::2], strict=True):
            key = follow(key_node)
            if not isinstance(key, Scalar):
                raise self.source.refuse("a key must be text", key_node.start)
            entry = Entry(Scalar(key_node.start, key_node.end, key.value), value)
            identity = (type(key.value), key.value)
            if identity in seen:
                hint = "one of the two has to go, or to be renamed"
                raise self.source.refuse(f"the key `{key.value}` stands here again", key_node.start, hint)
            seen.add(identity)
            if key.value is MERGE:
                self._check_merge(value)
            entries.append(entry)
        return tuple(entries)

    def _check_merge(self, value: Node) -> None:
        merged = follow(value)
        targets = merged.items if isinstance(merged, Sequence) else (merged,)
        if not all(isinstance(follow(target), Mapping) for target in targets):
            raise self.source.refuse("`<<` takes in mappings only", value.start)
