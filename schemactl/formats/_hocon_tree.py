"""HOCON text -> tree: JSON with comments, keys without quotes, left-out commas, and ``${substitutions}``.

Typing files of Arc are written in it. What only configurations need is refused: ``include``, ``+=``, and
values that are put together of several (but for texts without quotes).
"""

from __future__ import annotations

import os
import re
from typing import Final

from schemactl.formats._json_tree import Reader
from schemactl.formats._tree import MAX_DEPTH, Entry, Mapping, Node, Scalar, Sequence, Source, fields_of

_SPACE: Final = re.compile(r"(?:[^\S\n]|\ufeff|#[^\n]*|//[^\n]*)*")
_SPACE_AND_LINES: Final = re.compile(r"(?:\s|\ufeff|#[^\n]*|//[^\n]*)*")
_UNQUOTED: Final = re.compile(r"(?:(?!//)[^$\"{}\[\]:=,+#`^?!@*&\\\n])+")
_SUBSTITUTION: Final = re.compile(r"\$\{(\??)\s*([^}\n]*?)\s*\}")
_INTEGER: Final = re.compile(r"-?\d+", re.ASCII)
_DECIMAL: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_WORDS: Final = {"true": True, "false": False, "null": None}


def parse_hocon(source: Source) -> Node:
    """Return the tree of a HOCON document; of a key that stands twice the last counts, objects are merged.

    Substitutions take what stands in the file, else environment variables. Nodes of substitutions have the place
    where they are asked for.

    Raises:
        InputError: the text is not HOCON, or asks for what is not there; with the place.
    """
    root = _Parser(source).document()
    return _Resolver(source, root).resolve(root)


class _Asked:
    """Stands for the value of a substitution until all of the file is read."""

    def __init__(self, path: str, *, is_optional: bool) -> None:
        self.path = path
        self.is_optional = is_optional


class Written(float):
    """A number with a point or an exponent, with the text that it was written as."""

    text: str

    def __new__(cls, text: str) -> Written:
        made = super().__new__(cls, text)
        made.text = text
        return made


class _Parser(Reader):
    refused = ""

    def document(self) -> Node:
        first = self._skip(lines=True)
        root = self._value(0) if first in ("{", "[") else self._entries(self.position, 0, closing="")
        if self._skip(lines=True):
            raise self.source.refuse("the document ends before this", self.position, "is a bracket closed too early?")
        return root

    def _skip(self, *, lines: bool) -> str:
        """Skip space and comments and return the character that follows, empty at the end."""
        found = (_SPACE_AND_LINES if lines else _SPACE).match(self.text, self.position)
        self.position = found.end() if found else self.position
        return self.text[self.position : self.position + 1]

    def _value(self, depth: int) -> Node:
        if depth >= MAX_DEPTH:
            raise self.source.refuse_depth(self.position)
        start = self.position
        match self.text[start : start + 1]:
            case "":
                raise self.source.refuse("the file ends within a value", len(self.text), "was it cut off?")
            case "{":
                self.position += 1
                node: Node = self._entries(start, depth, closing="}")
            case "[":
                node = self._items(start, depth)
            case '"':
                node = self.string()
            case "$":
                node = self._substitution()
            case _:
                node = self._unquoted()
        after = self._skip(lines=False)
        if after not in ("", "\n", "\r", ",", "}", "]"):
            raise self.source.refuse("a value that is put together of several is not read", self.position, "quote it")
        return node

    def _entries(self, start: int, depth: int, closing: str) -> Mapping:
        entries: dict[str, Entry] = {}
        while (letter := self._skip(lines=True)) != closing:
            if not letter:
                raise self.source.refuse("the bracket that opens here is not closed", start)
            _put(entries, self._entry(depth))
            self._separator(closing)
        self.position += len(closing)
        return Mapping(start, tuple(entries.values()))

    def _entry(self, depth: int) -> Entry:
        keys = [self._key()]
        while self.text[self.position : self.position + 1] == ".":
            self.position += 1
            keys.append(self._key())
        letter = self._skip(lines=False)
        if letter in (":", "="):
            self.position += 1
            self._skip(lines=True)
        elif letter != "{":
            raise self.source.refuse("`:` or `=` must stand here", self.position)
        value = self._value(depth + 1)
        for key in reversed(keys[1:]):
            value = Mapping(key.start, (Entry(key, value),))
        return Entry(keys[0], value)

    def _key(self) -> Scalar:
        start = self.position
        if self.text.startswith('"', start):
            return self.string()
        found = re.compile(r"[\w\-/ ]+").match(self.text, start)
        if found is None or not found[0].strip():
            raise self.source.refuse("a key must stand here", start)
        name = found[0].rstrip()
        if name == "include" or name.startswith("include "):
            raise self.source.refuse("`include` is not read: a typing is one file", start)
        self.position = start + len(name)
        return Scalar(start, name)

    def _items(self, start: int, depth: int) -> Sequence:
        self.position += 1
        items: list[Node] = []
        while (letter := self._skip(lines=True)) != "]":
            if not letter:
                raise self.source.refuse("the bracket that opens here is not closed", start)
            items.append(self._value(depth + 1))
            self._separator("]")
        self.position += 1
        return Sequence(start, tuple(items))

    def _separator(self, closing: str) -> None:
        """Step over a comma; at the end of a line, or before what closes, there need not be one."""
        before = self.position
        letter = self._skip(lines=True)
        if letter == ",":
            self.position += 1
        elif letter not in ("", closing) and "\n" not in self.text[before : self.position]:
            raise self.source.refuse(f"`,` or `{closing or 'the end of the line'}` must stand here", self.position)

    def string(self) -> Scalar:
        start = self.position
        if self.text.startswith('"""', start):
            end = self.text.find('"""', start + 3)
            if end < 0:
                raise self.source.refuse("the quote that opens here is not closed", start)
            while self.text.startswith('"', end + 3):
                end += 1
            self.position = end + 3
            return Scalar(start, self.text[start + 3 : end])
        return super().string()

    def _substitution(self) -> Scalar:
        found = _SUBSTITUTION.match(self.text, self.position)
        if found is None:
            raise self.source.refuse("a substitution such as `${name}` must stand here", self.position)
        self.position = found.end()
        return Scalar(found.start(), _Asked(found[2], is_optional=bool(found[1])))

    def _unquoted(self) -> Scalar:
        start = self.position
        found = _UNQUOTED.match(self.text, start)
        text = found[0].rstrip() if found else ""
        if not text:
            hint = "text with such a character stands in double quotes"
            raise self.source.refuse(f"`{self.text[start]}` cannot begin a value", start, hint)
        self.position = start + len(text)
        return Scalar(start, _scalar(text))


def _scalar(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 4000:
        return int(text)
    return Written(text) if _DECIMAL.fullmatch(text) else text


def _put(entries: dict[str, Entry], entry: Entry) -> None:
    """Add an entry to others; of a key that stands there the last counts, objects are merged."""
    name, value = entry.key.value, entry.value
    before = entries[name].value if name in entries else None
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        merged = {each.key.value: each for each in before.entries}
        for each in value.entries:
            _put(merged, each)
        value = Mapping(value.start, tuple(merged.values()))
    entries[name] = Entry(entry.key, value)


class _Resolver:
    """Puts values in the place of substitutions; a list or an object loses the parts that are optional and unset."""

    def __init__(self, source: Source, root: Node) -> None:
        self._source = source
        self._root = root
        self._open: set[str] = set()

    def resolve(self, node: Node) -> Node:
        found = self._found(node)
        return Scalar(node.start, None) if found is None else found

    def _found(self, node: Node) -> Node | None:
        match node:
            case Scalar(value=_Asked() as asked):
                return self._substituted(node, asked)
            case Sequence(start, items):
                kept = tuple(each for item in items if (each := self._found(item)) is not None)
                return Sequence(start, kept)
            case Mapping(start, entries):
                found = ((entry.key, self._found(entry.value)) for entry in entries)
                return Mapping(start, tuple(Entry(key, value) for key, value in found if value is not None))
            case _:
                return node

    def _substituted(self, node: Scalar, asked: _Asked) -> Node | None:
        if asked.path in self._open:
            raise self._source.refuse(f"`${{{asked.path}}}` refers to itself", node.start)
        target: Node | None = self._root
        for key in asked.path.split("."):
            target = fields_of(target).get(key.strip('"')) if isinstance(target, Mapping) else None
        if target is not None:
            self._open.add(asked.path)
            found = self._found(target)
            self._open.remove(asked.path)
            if found is not None:
                return found._replace(start=node.start)
        elif asked.path in os.environ:
            return Scalar(node.start, os.environ[asked.path])
        if asked.is_optional:
            return None
        hint = "define it at the top of the file, or as an environment variable; `${?name}` may be undefined"
        raise self._source.refuse(f"nothing is called `{asked.path}`", node.start, hint)
