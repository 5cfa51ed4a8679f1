"""YAML text -> tree: plain files, such as dlt's exports, line by line, all other files by ``yaml_events``.

A plain line is ``key:``, ``key: value`` or ``- value``, with a word, a single-quoted string, ``[]`` or ``{}`` as value.
Reading lines is five times as fast as the parser, which reads everything else, valid or not; both return the same tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from schemactl.trees.nodes import MAX_DEPTH, Entry, Mapping, Node, Scalar, Sequence, Source
from schemactl.trees.yaml_scalars import kind_of, value_of

_BYTE_ORDER_MARK: Final = "\ufeff"
_NOT_YAML_IN_ASCII: Final = re.compile(r"[^\t\n\r\x20-\x7e]")


@cache
def _not_yaml() -> re.Pattern[str]:
    """Return a pattern that takes as long to compile as a file of ASCII takes to be read."""
    return re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def parse_yaml(source: Source) -> Node:
    """Return the tree of a YAML document."""
    text = source.text
    if text.startswith(_BYTE_ORDER_MARK):
        # The parser would not count it as a character; places are counted in characters.
        text = text.replace(_BYTE_ORDER_MARK, "\n", 1)
    pattern = _NOT_YAML_IN_ASCII if text.isascii() else _not_yaml()
    if (match := pattern.search(text)) is not None:
        character = f"U+{ord(match.group()):04X}"
        hint = "write it as an escape in double quotes, and check that the file is text"
        raise source.refuse(f"the character {character} is not allowed in YAML", match.start(), hint)
    if (root := read_block_lines(text)) is not None:
        return root
    # PyYAML takes longer to import than the lines of a plain file take to be read.
    from schemactl.trees.yaml_events import parse_events

    return parse_events(source, text)


# No indicator in front, no `: ` and no ` #` within: plain in every YAML version.
_REST = r"(?:[^\s:#]|:(?=[^\s:#]))"
_WORD = rf"-?[\w+/(]{_REST}*"
_LINE = re.compile(
    rf"(?P<indent> *)(?:(?P<key>{_WORD}):(?: |$)|(?P<dash>- ))"
    rf"(?:(?P<plain>{_WORD}(?: {_REST}+)*)|'(?P<quoted>(?:[^'\n]|'')*)'|(?P<empty>\[\]|\{{\}}))?"
)
_LONGEST_KEY = 1000
"""YAML wants the colon within 1,024 characters."""

_new: Any = tuple.__new__


class _UnusualError(Exception):
    """A line is not of the plain form."""


class _Line(NamedTuple):
    """A parsed line; columns count from 0, ``value_start`` is 0 if a block follows."""

    column: int
    is_item: bool
    key: Any
    value_start: int
    value: Any
    kind: type[Scalar] | type[Sequence] | type[Mapping]
    end: int


@dataclass(slots=True)
class _Block:
    """A block while it is read; ``key`` is the key of its value."""

    column: int
    is_list: bool
    start: int
    key: Scalar
    nodes: list[Any] = field(default_factory=list)

    def close(self) -> Entry:
        if self.is_list:
            return Entry(self.key, Sequence(self.start, tuple(self.nodes)))
        if len({entry.key.value for entry in self.nodes}) < len(self.nodes):
            raise _UnusualError
        return Entry(self.key, Mapping(self.start, tuple(self.nodes)))


def read_block_lines(text: str) -> Node | None:
    """Return the tree of a document of the plain form, None of any other."""
    try:
        return _read(text.rstrip("\n").split("\n"))
    except _UnusualError:
        return None


def _read(lines: list[str]) -> Node:
    lines_by_text: dict[str, _Line] = {}
    offset = 0
    # The document is the value of a key outside of the text.
    document_key = Scalar(0, "")
    open_key: Scalar | None = document_key
    block = _Block(-1, False, 0, document_key)
    outer_blocks: list[_Block] = []
    for text in lines:
        # The lines of a schema repeat: of `nullable: true` there are thousands.
        line = lines_by_text.get(text) or lines_by_text.setdefault(text, _parsed(text))
        column, is_item, key, value_start, value, kind, end = line
        if open_key is not None:
            if column < block.column or (column == block.column and not is_item) or len(outer_blocks) >= MAX_DEPTH:
                raise _UnusualError
            outer_blocks.append(block)
            block = _Block(column, is_item, offset + column, open_key)
            open_key = None
        elif column != block.column or is_item != block.is_list:
            block = _closed(block, outer_blocks, column, is_item)
        if value_start:
            node = _new(kind, (offset + value_start, value))
            if is_item:
                block.nodes.append(node)
            else:
                block.nodes.append(_new(Entry, (_new(Scalar, (offset + column, key)), node)))
        else:
            open_key = _new(Scalar, (offset + column, key))
        offset += end + 1
    if open_key is not None:
        raise _UnusualError
    root: Node = _closed(block, outer_blocks, -1, False).nodes[0].value
    return root


def _closed(block: _Block, outer: list[_Block], column: int, is_item: bool) -> _Block:
    """Close blocks up to the block of a line, and return that block."""
    while column < block.column or (column == block.column and block.is_list and not is_item):
        entry = block.close()
        block = outer.pop()
        block.nodes.append(entry)
    if column != block.column or is_item != block.is_list:
        raise _UnusualError
    return block


def _parsed(text: str) -> _Line:
    match = _LINE.fullmatch(text)
    if match is None or match.end("key") > _LONGEST_KEY:
        raise _UnusualError
    key, plain, quoted, empty = match.group("key", "plain", "quoted", "empty")
    column, end = match.end("indent"), len(text)
    value: Any = None
    kind: type[Scalar] | type[Sequence] | type[Mapping] = Scalar
    value_start = 0
    if plain is not None:
        value, value_start = _value(plain), match.start("plain")
    elif quoted is not None:
        value, value_start = quoted.replace("''", "'"), match.start("quoted") - 1
    elif empty is not None:
        kind, value, value_start = Sequence if empty == "[]" else Mapping, (), match.start("empty")
    elif key is None or text.endswith(" "):
        raise _UnusualError
    is_item = key is None
    return _Line(column, is_item, is_item or _value(key), value_start, value, kind, end)


def _value(plain: str) -> Any:
    try:
        return value_of(kind_of(plain), plain)
    except ValueError as error:
        raise _UnusualError from error
