"""JSON text -> tree. The standard library reads JSON as well, but gives the places of errors only."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from schemactl.trees.nodes import MAX_DEPTH, Entry, Mapping, Node, Scalar, Sequence, Source, value_of

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")


def parse_json(source: Source) -> Node:
    """Return the tree of a JSON document (RFC 8259; keys of an object must differ)."""
    return _Parser(source).document()


def read_json(text: str, path: str) -> tuple[Source, Node, Any]:
    """Return a JSON document as a source, its tree, and its plain value."""
    source = Source(path, text)
    tree = parse_json(source)
    return source, tree, value_of(tree)


class Reader:
    """Reads values one after another; ``MAX_DEPTH`` bounds the recursion."""

    refused = "this is not JSON: "

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.position = 0

    def string(self) -> Scalar:
        """Return the text in quotes that begins here."""
        start = self.position
        try:
            value, self.position = scanstring(self.text, start + 1, True)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated") or self.text[error.pos : error.pos + 1] in ("\n", "\r"):
                hint = 'close it with `"`; write a line break in a string as `\\n`'
                raise self.source.refuse("the quote that opens here is not closed", start, hint) from error
            raise self.source.refuse(f"{self.refused}{error.msg.removesuffix(' at').lower()}", error.pos) from error
        return Scalar(start, value)


class _Parser(Reader):
    def document(self) -> Node:
        if not self._peek():
            raise self.source.refuse_nothing()
        root = self._value(0)
        if self._peek():
            raise self.source.refuse("the document ends before this", self.position, "a schema file contains one value")
        return root

    def _peek(self) -> str:
        """Skip space and return the character that follows, empty at the end."""
        space = _SPACE.match(self.text, self.position)
        self.position = space.end() if space else self.position
        return self.text[self.position : self.position + 1]

    def _value(self, depth: int) -> Node:
        match self._peek():
            case "{":
                return self._object(self._deeper(depth))
            case "[":
                start, inner, items = self.position, self._deeper(depth), list[Node]()
                while self._continues("]", first=not items):
                    items.append(self._value(inner))
                return Sequence(start, tuple(items))
            case '"':
                return self.string()
            case "":
                raise self.source.refuse("the file ends within a value", len(self.text), "was it cut off?")
            case _:
                return self._literal()

    def _deeper(self, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise self.source.refuse_depth(self.position)
        return depth + 1

    def _object(self, depth: int) -> Mapping:
        start, entries, key_names = self.position, list[Entry](), set[str]()
        while self._continues("}", first=not entries):
            if self._peek() != '"':
                raise self.source.refuse("expected a key in double quotes", self.position)
            key = self.string()
            if key.value in key_names:
                hint = "remove or rename one of the two keys"
                raise self.source.refuse(f"the key `{key.value}` is duplicated here", key.start, hint)
            key_names.add(key.value)
            self._expect(":")
            entries.append(Entry(key, self._value(depth)))
        return Mapping(start, tuple(entries))

    def _continues(self, closing: str, *, first: bool) -> bool:
        """Step over the opening bracket or a comma; return False, past it, at the closing bracket."""
        if first:
            self.position += 1
        if self._peek() == closing:
            self.position += 1
            return False
        if not first:
            self._expect(",", or_else=closing)
            if self._peek() == closing:
                raise self.source.refuse(f"`{closing}` cannot follow a comma", self.position, "drop the comma")
        return True

    def _expect(self, character: str, or_else: str = "") -> None:
        if self._peek() != character:
            expected = f"`{character}` or `{or_else}`" if or_else else f"`{character}`"
            raise self.source.refuse(f"expected {expected}", self.position)
        self.position += 1

    def _literal(self) -> Scalar:
        start = self.position
        word = _WORD.match(self.text, start)
        text = word.group() if word else self.text[start]
        self.position += len(text)
        if text in WORDS:
            return Scalar(start, WORDS[text])
        number = _NUMBER.fullmatch(text)
        if number is None:
            beginning = text if len(text) <= 40 else text[:39] + "…"
            raise self.source.refuse(
                f"this is not JSON: `{beginning}` is not a value", start, "put text in double quotes"
            )
        try:
            return Scalar(start, float(text) if any(number.groups()) else int(text))
        except ValueError as error:
            raise self.source.refuse("the number is too long", start) from error
