"""YAML text -> tree, by libyaml's parser through PyYAML; this module handles tags, aliases and limits.

The tree is built from the parser's events and not from its objects: a hostile file is refused while it is read,
positions are exact, and values equal the values from PyYAML, which dlt uses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from schemactl.trees.nodes import (
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
from schemactl.trees.yaml_scalars import MERGE, Kind, kind_of
from schemactl.trees.yaml_scalars import value_of as scalar_value

Span = tuple[int, int]

_MISPLACED_COLON = ("mapping values are not allowed", "found unexpected ':'")
_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)


def _refusal_of(source: Source, error: yaml.MarkedYAMLError, quoted: list[Span]) -> Exception:
    """Return the parser's error in words for people.

    ``quoted`` has the places of the quoted scalars before it.
    """
    mark = error.problem_mark or error.context_mark
    offset = min(mark.index, len(source.text)) if mark else 0
    if error.context == "while scanning a quoted scalar" and error.context_mark and offset == len(source.text):
        hint = "close it with the same quote"
        return source.refuse("the quote that opens here is not closed", error.context_mark.index, hint)
    # A text of several lines in quotes may end right before.
    opened, end = quoted[-1] if quoted else (0, 0)
    is_near = end <= offset and "\n" not in source.text[end:offset]
    if is_near and source.text[opened : opened + 1] in ("'", '"') and "\n" in source.text[opened:end]:
        hint = "add a closing quote here, or remove an extra quote below"
        return source.refuse(f"the quote that opens here closes in line {source.locate(offset).line}", opened, hint)
    if source.text[offset : offset + 1] == "\t":
        return _refused_tab(source, offset)
    if error.problem and error.problem.startswith(_MISPLACED_COLON):
        hint = "put text with `: ` in quotes, and check the indentation"
        return source.refuse("`:` is not allowed here", offset, hint)
    problem = ", ".join(phrase for phrase in (error.context, error.problem) if phrase)
    hint = "check the brackets, quotes and indentation in this line and the line above"
    return source.refuse(f"this is not YAML: {problem}", offset, hint)


def _refused_tab(source: Source, offset: int) -> Exception:
    """Return the error for a misplaced tab."""
    is_indent = not source.text[source.text.rfind("\n", 0, offset) + 1 : offset].strip()
    message = "a tab is not allowed as indentation in YAML" if is_indent else "a tab is not allowed here"
    return source.refuse(message, offset, "indent with spaces" if is_indent else "write spaces")


def _stray_tab(text: str, quoted: list[Span]) -> int | None:
    """Return the offset of the first tab outside of quotes, block scalars and comments, if any.

    dlt's YAML library refuses such tabs, and libyaml treats them as blanks. ``quoted`` has the places of quoted scalars
    and block scalars, from first to last.
    """
    starts = [start for start, _ in quoted]
    tab = text.find("\t")
    while tab >= 0:
        before = bisect_right(starts, tab) - 1
        end = quoted[before][1] if before >= 0 else 0
        if end <= tab:
            line_start = text.rfind("\n", 0, tab) + 1
            comment = _COMMENT.search(text, max(line_start, end), tab)
            if comment is None:
                return tab
            end = text.find("\n", tab)
        tab = text.find("\t", end) if end >= 0 else -1
    return None


# If PyYAML was built without libyaml, its own parser yields the same events, twenty times as slowly.
_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

_TAG_PREFIX = "tag:yaml.org,2002:"
_KINDS = {kind.value: kind for kind in Kind if kind is not Kind.MERGE}

# Same as a named tuple's own constructor, at half its cost.
_new: Any = tuple.__new__
_value = attrgetter("value")


def parse_events(source: Source, text: str) -> Node:
    """Return the tree of a YAML document.

    ``text`` is as the parser takes it: as many characters as the source, all valid in YAML.
    """
    builder = _Builder(source)
    try:
        root = builder.build(iter(_LOADER(text).get_event, None))
    except yaml.MarkedYAMLError as error:
        raise _refusal_of(source, error, builder.quoted) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise source.refuse(f"this is not YAML: {' '.join(str(error).split())}", 0) from error
    if (tab := _stray_tab(text, builder.quoted)) is not None:
        raise _refused_tab(source, tab)
    return root


@dataclass(slots=True)
class _Builder:
    """Builds the tree from events, without recursion: how deep a document goes is its author's choice.

    Attributes:
        plain: the values of the scalars without quotes that were met; a schema repeats a few words.
        anchors: the nodes that have a name; None while the node is being read.
        quoted: the places of scalars in quotes and of block scalars.
        extents: the numbers of nodes and levels of aliased collections, by ``id``.
        repeated: the number of nodes behind the aliases so far.
    """

    source: Source
    plain: dict[str, Any] = field(default_factory=dict)
    quoted: list[Span] = field(default_factory=list)
    anchors: dict[str, Scalar | Sequence | Mapping | None] = field(default_factory=dict)
    extents: dict[int, tuple[int, int]] = field(default_factory=dict)
    repeated: int = 0

    def build(self, events: Iterable[Any]) -> Node:
        roots: list[Node] = []
        nodes, opened = roots, list[tuple[Any, list[Node]]]()
        plain = self.plain
        for event in events:
            kind = type(event)
            if kind is ScalarEvent:
                if event.value in plain and event.implicit[0] and not event.anchor:
                    nodes.append(_new(Scalar, (event.start_mark.index, plain[event.value])))
                else:
                    nodes.append(self._scalar(event))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._check_start(event, len(opened))
                opened.append((event, nodes))
                nodes = []
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                started, outer = opened.pop()
                outer.append(self._collection(started, nodes))
                nodes = outer
            elif kind is AliasEvent:
                nodes.append(self._alias(event, len(opened)))
            elif kind is DocumentStartEvent and roots:
                hint = "a schema file contains one"
                raise self.source.refuse("a second document starts here", event.start_mark.index, hint)
        if not roots:
            raise self.source.refuse_nothing()
        return roots[0]

    def _check_start(self, event: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise self.source.refuse_depth(event.start_mark.index)
        expected = _TAG_PREFIX + ("map" if isinstance(event, MappingStartEvent) else "seq")
        if event.tag not in (None, "!", expected):
            raise self._unknown_tag(event)
        if event.anchor:
            self._declare(event)

    def _declare(self, event: Any) -> None:
        if event.anchor in self.anchors:
            raise self.source.refuse(f"the anchor `&{event.anchor}` is duplicated here", event.start_mark.index)
        self.anchors[event.anchor] = None

    def _scalar(self, event: Any) -> Scalar:
        text, start = event.value, event.start_mark.index
        if event.style:
            self.quoted.append((start, event.end_mark.index))
        if event.tag not in (None, "!"):
            kind = _KINDS.get(event.tag.removeprefix(_TAG_PREFIX))
            if kind is None or not event.tag.startswith(_TAG_PREFIX):
                raise self._unknown_tag(event)
            value = self._read(kind, event)
        elif event.implicit[0]:
            value = self.plain[text] = self._read(kind_of(text), event)
        else:
            value = text
        scalar = Scalar(start, value)
        if event.anchor:
            self._declare(event)
            self.anchors[event.anchor] = scalar
        return scalar

    def _read(self, kind: Kind, event: Any) -> Any:
        try:
            return scalar_value(kind, event.value)
        except ValueError as error:
            hint = "put it in quotes if it is text"
            beginning = event.value if len(event.value) <= 40 else event.value[:39] + "…"
            raise self.source.refuse(
                f"`{beginning}` is not a valid {kind.value} value", event.start_mark.index, hint
            ) from error

    def _unknown_tag(self, event: Any) -> Exception:
        tag = event.tag.replace(_TAG_PREFIX, "!!")
        hint = "a schema file contains plain values only"
        return self.source.refuse(f"the tag `{tag}` is not supported", event.start_mark.index, hint)

    def _alias(self, event: Any, depth: int) -> Alias:
        start = event.start_mark.index
        target = self.anchors.get(event.anchor)
        if target is None:
            within = event.anchor in self.anchors
            message = f"`*{event.anchor}` contains itself" if within else f"there is no anchor `&{event.anchor}`"
            raise self.source.refuse(message, start)
        size, levels = self._extent(target)
        self.repeated += size
        if self.repeated > MAX_REPEATED_NODES:
            hint = f"aliases can repeat up to {MAX_REPEATED_NODES:,} values in total"
            raise self.source.refuse("aliases repeat too much", start, hint)
        if depth + levels > MAX_DEPTH:
            raise self.source.refuse_depth(start)
        return Alias(start, target)

    def _extent(self, node: Node) -> tuple[int, int]:
        """Return the extent of a node that is read to its end, aliases followed; at most ``MAX_DEPTH`` calls deep."""
        target = follow(node)
        if isinstance(target, Scalar):
            return 1, 0
        if id(target) not in self.extents:
            children = target.items if isinstance(target, Sequence) else chain.from_iterable(target.entries)
            extents = [self._extent(child) for child in children]
            levels = 1 + max((depth for _, depth in extents), default=0)
            self.extents[id(target)] = 1 + sum(nodes for nodes, _ in extents), levels
        return self.extents[id(target)]

    def _collection(self, started: Any, nodes: list[Node]) -> Sequence | Mapping:
        start, is_list = started.start_mark.index, isinstance(started, SequenceStartEvent)
        node = Sequence(start, tuple(nodes)) if is_list else Mapping(start, self._entries(nodes))
        if started.anchor:
            self.anchors[started.anchor] = node
        return node

    def _entries(self, nodes: list[Node]) -> tuple[Entry, ...]:
        keys: list[Any] = nodes[::2]
        if set(map(type, keys)) != {Scalar}:
            keys = [self._key(node) for node in keys]
        # Loops in C: a large file has 30,000 mappings.
        entries = tuple(map(_new, repeat(Entry), zip(keys, nodes[1::2], strict=True)))
        values = set(map(_value, keys))
        if len(values) < len(keys):
            self._refuse_repeated(keys)
        for merge in (entry for entry in entries if entry.key.value is MERGE) if MERGE in values else ():
            merged = follow(merge.value)
            targets = merged.items if isinstance(merged, Sequence) else (merged,)
            if not all(isinstance(follow(target), Mapping) for target in targets):
                raise self.source.refuse("`<<` merges mappings only", merge.value.start)
        return entries

    def _key(self, node: Node) -> Scalar:
        key = follow(node)
        if not isinstance(key, Scalar):
            raise self.source.refuse("a key must be text", node.start)
        return Scalar(node.start, key.value)

    def _refuse_repeated(self, keys: list[Scalar]) -> None:
        key_identities = set()
        for key in keys:
            # To Python `1`, `1.0` and `true` are one key, to a file they are three.
            identity = (type(key.value), key.value)
            if identity in key_identities:
                hint = "remove or rename one of the two keys"
                raise self.source.refuse(f"the key `{key.value}` is duplicated here", key.start, hint)
            key_identities.add(identity)
