"""Leave out of a YAML document what a change does not touch: ruamel.yaml takes a minute for 30,000 columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemactl.formats import _tree as tree
from schemactl.formats._scalars import MERGE
from schemactl.formats._tree import Keys, Source, same, value_of
from schemactl.formats._yaml_tree import parse_yaml

_MARK = "schemactl-left-out-"
_MARKED = re.compile(rf" {_MARK}(\d+)([^\n]*\n)")
_KEY_LINE = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'#&*!?\[{\s][^#]*?)\s*:)([ \t]*(?:[ \t]\#.*)?\r?)""")
_NO_CONTENT = re.compile(r"\s*(?:#.*|\.\.\.|---)?\s*")
_NAMED = re.compile(r"(?:^|[\s\[{,])[&*]\S")


@dataclass(slots=True)
class Abridged:
    """A document and its wanted value, with a mark in the place of what is the same in both.

    Attributes:
        left_out: lines that stand behind keys, by the number in their mark.
    """

    text: str
    wanted: Any
    left_out: list[str] = field(default_factory=list)

    @property
    def root(self) -> tree.Node:
        """The tree of the document."""
        return parse_yaml(Source("", self.text))

    def restored(self, text: str) -> str:
        """Return a text with the lines that were left out."""
        return _MARKED.sub(lambda found: found[2] + self.left_out[int(found[1])], text)


def abridge(text: str, root: tree.Node, wanted: Any, renamed: Mapping[Keys, str]) -> Abridged:
    """Return a document without the blocks that ``wanted`` has as they are; those with anchors or aliases are kept.

    ``root`` is its tree, ``renamed`` has the keys that get other names, by the way to the old ones.
    """
    if _MARK in text or not isinstance(root, tree.Mapping):
        return Abridged(text, wanted)
    cutter = _Cutter(text, renamed)
    wanted = cutter.visit(root, wanted, (), len(text))
    return Abridged("".join((*cutter.parts, text[cutter.done :])), wanted, cutter.left_out)


class _Cutter:
    def __init__(self, text: str, renamed: Mapping[Keys, str]) -> None:
        self._text, self._renamed = text, renamed
        self._above_renamed = {way[:length] for way in renamed for length in range(len(way))}
        self.parts: list[str] = []
        self.done = 0
        self.left_out: list[str] = []

    def visit(self, node: tree.Mapping, wanted: dict[Any, Any], keys: Keys, end: int) -> dict[Any, Any]:
        """Leave entries of a block out that ends before a place, and return the wanted value with their marks."""
        if not node.entries or node.entries[0].key.start != node.start:  # in braces
            return wanted
        marked = dict(wanted)
        ends = [*(entry.key.start for entry in node.entries[1:]), end]
        for (key, value), after in zip(node.entries, ends, strict=True):
            way = (*keys, key.value)
            name = self._renamed.get(way, key.value)
            if key.value is MERGE or name not in wanted or isinstance(value, tree.Scalar | tree.Alias):
                continue
            if way not in self._above_renamed and same(value_of(value), wanted[name], lambda _: True):
                if self._leave_out(key.start, value.start, after):
                    marked[name] = f"{_MARK}{len(self.left_out) - 1}"
            elif isinstance(value, tree.Mapping) and isinstance(wanted[name], dict):
                marked[name] = self.visit(value, wanted[name], way, after)
        return marked

    def _leave_out(self, key: int, value: int, after: int) -> bool:
        """Leave out the lines between a key and what follows its value, but for comments and blank lines there."""
        text = self._text
        start = text.find("\n", key) + 1
        if not 0 < start <= value or (line := _KEY_LINE.fullmatch(text, key, start - 1)) is None:
            return False
        end = after if after == len(text) else text.rfind("\n", 0, after) + 1
        while end > start and _NO_CONTENT.fullmatch(text, last := text.rfind("\n", 0, end - 1) + 1, end):
            end = last
        if end <= start or text[end - 1] != "\n" or _NAMED.search(text, start, end):
            return False
        self.parts += [text[self.done : line.end(1)], f" {_MARK}{len(self.left_out)}", text[line.end(1) : start]]
        self.left_out.append(text[start:end])
        self.done = end
        return True
