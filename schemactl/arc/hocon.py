"""HOCON text -> tree: JSON with comments, keys without quotes, ``${substitutions}`` and concatenated values.

Arc's schema files are written in it. The whole specification is read, except for ``include``: a typing is one file.
"""

from __future__ import annotations

import json
import os
import re
from typing import Final, NamedTuple, cast

from schemactl.trees.json_text import WORDS, Reader
from schemactl.trees.nodes import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_REPEATED_NODES,
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Source,
)

_SPACE: Final = re.compile(r"(?:[^\S\n]|\ufeff|#[^\n]*|//[^\n]*)*")
_SPACE_AND_LINES: Final = re.compile(r"(?:\s|\ufeff|#[^\n]*|//[^\n]*)*")
_UNQUOTED: Final = re.compile(r"(?:(?!//)[^$\"{}\[\]:=,+#`^?!@*&\\\n])+")
_UNQUOTED_KEY: Final = re.compile(r"(?:(?!//)[^$\"{}\[\]:=,+#`^?!@*&\\\n.])+")
_INTEGER: Final = re.compile(r"0|-?[1-9]\d*", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


def parse_hocon(source: Source) -> Node:
    """Return the tree of a HOCON document.

    The last value of a repeated key counts, objects are merged. Substitutions take values of the file, else environment
    variables; their nodes start at the substitution.
    """
    root = _Parser(source).document()
    try:
        return _Resolver(source, root).resolved(root) or Scalar(root.start, None)
    except RecursionError as error:
        raise source.refuse("substitutions are nested too deep", root.start) from error


class WrittenNumber(float):
    """A number with its text, which the digits do not determine (a point, an exponent, leading zeros)."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


class _Substitution(NamedTuple):
    """The value of another path (``${path}``)."""

    start: int
    path: tuple[str, ...]
    is_optional: bool


class _Concatenation(NamedTuple):
    """Values side by side that make one, with the space before each; or the long form of ``+=``."""

    start: int
    parts: tuple[tuple[str, _Unresolved], ...]
    is_appended: bool = False


class _Field(NamedTuple):
    """A key of an object with all its values, in the order of the file."""

    key: Scalar
    values: list[_Unresolved]


class _List(NamedTuple):
    start: int
    items: tuple[_Unresolved, ...]


class _Object(NamedTuple):
    start: int
    fields: dict[str, _Field]


_Resolved = Scalar | Sequence | Mapping
_Unresolved = _Resolved | _Substitution | _Concatenation | _List | _Object


class _Parser(Reader):
    refused = ""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._path: list[str] = []
        self._lists = 0

    def document(self) -> _Unresolved:
        is_bracketed = self._skip(lines=True) in ("{", "[")
        root = self._simple_value(0) if is_bracketed else self._entries(self.position, 0, closing="")
        if self._skip(lines=True):
            raise self.source.refuse("the document ends before this", self.position, "is a bracket closed too early?")
        return root

    def _skip(self, *, lines: bool) -> str:
        """Skip space and comments and return the character that follows, empty at the end."""
        space = (_SPACE_AND_LINES if lines else _SPACE).match(self.text, self.position)
        self.position = space.end() if space else self.position
        return self.text[self.position : self.position + 1]

    def _value(self, depth: int) -> _Unresolved:
        """Return the value up to the end of the line, a comma or a bracket."""
        start = self.position
        parts = [("", self._simple_value(depth))]
        end = self.position
        while self._skip(lines=False) not in ("", "\n", ",", "}", "]"):
            space = self.text[end : self.position]
            parts.append((space, self._simple_value(depth)))
            end = self.position
        return _Concatenation(start, tuple(parts)) if len(parts) > 1 else parts[0][1]

    def _simple_value(self, depth: int) -> _Unresolved:
        if depth >= MAX_DEPTH:
            raise self.source.refuse_depth(self.position)
        start = self.position
        match self.text[start : start + 1]:
            case "":
                raise self.source.refuse("the file ends within a value", len(self.text), "was it cut off?")
            case "{":
                self.position += 1
                return self._entries(start, depth, closing="}")
            case "[":
                return self._items(start, depth)
            case '"':
                return self.string()
            case "$":
                return self._substitution()
        unquoted = _UNQUOTED.match(self.text, start)
        text = unquoted[0].rstrip() if unquoted else ""
        if not text:
            hint = "put text with this character in double quotes"
            raise self.source.refuse(f"`{self.text[start]}` cannot begin a value", start, hint)
        self.position = start + len(text)
        return Scalar(start, _plain_value(text))

    def _entries(self, start: int, depth: int, closing: str) -> _Object:
        fields: dict[str, _Field] = {}
        while (letter := self._skip(lines=True)) != closing:
            if not letter:
                raise self.source.refuse("the bracket that opens here is not closed", start)
            self._entry(fields, depth)
            self._separator(closing)
        self.position += len(closing)
        return _Object(start, fields)

    def _entry(self, fields: dict[str, _Field], depth: int) -> None:
        if re.compile(r"include(?![^\s\"(:={])").match(self.text, self.position):
            hint = "copy the content of the other file to the top of this file"
            raise self.source.refuse("`include` is not supported: a typing is one file", self.position, hint)
        keys = self._keys()
        operator = self.position
        is_appended = self.text.startswith("+=", operator)
        if is_appended or self.text.startswith((":", "="), operator):
            self.position += 2 if is_appended else 1
            self._skip(lines=True)
        elif not self.text.startswith("{", operator):
            raise self.source.refuse("expected `:`, `=` or `+=`", operator)
        if is_appended and self._lists:
            hint = "build the list outside, and refer to it with `${name}`"
            raise self.source.refuse("`+=` is not allowed in a list, as in Arc", operator, hint)
        self._path += [key.value for key in keys]
        self._lists += is_appended
        value = self._value(depth + 1)
        self._lists -= is_appended
        if is_appended:
            # `a += b` is short for `a = ${?a} [b]`.
            before = _Substitution(operator, tuple(self._path), is_optional=True)
            value = _Concatenation(value.start, (("", before), ("", _List(value.start, (value,)))), is_appended=True)
        del self._path[-len(keys) :]
        for key in reversed(keys[1:]):
            value = _Object(key.start, {key.value: _Field(key, [value])})
        _put(fields, _Field(keys[0], [value]))

    def _keys(self) -> list[Scalar]:
        """Return the keys of a path: points outside of quotes divide it, space around it does not count."""
        keys: list[Scalar] = []
        text, is_quoted, start = "", False, self.position
        while True:
            letter = self.text[self.position : self.position + 1]
            if letter == '"':
                text += self.string().value
                is_quoted = True
            elif (unquoted := _UNQUOTED_KEY.match(self.text, self.position)) is not None:
                self.position = unquoted.end()
                is_inner = self.text.startswith(('"', "."), self.position)
                text += unquoted[0] if is_inner else unquoted[0].rstrip()
            elif text or is_quoted:
                keys.append(Scalar(start, text))
                if letter != ".":
                    return keys
                self.position += 1
                text, is_quoted, start = "", False, self.position
            else:
                raise self.source.refuse("expected a key", self.position)

    def _items(self, start: int, depth: int) -> _List:
        self.position += 1
        self._lists += 1
        items: list[_Unresolved] = []
        while (letter := self._skip(lines=True)) != "]":
            if not letter:
                raise self.source.refuse("the bracket that opens here is not closed", start)
            items.append(self._value(depth + 1))
            self._separator("]")
        self.position += 1
        self._lists -= 1
        return _List(start, tuple(items))

    def _separator(self, closing: str) -> None:
        """Step over a comma, which may be missing at the end of a line and before the closing bracket."""
        start = self.position
        letter = self._skip(lines=True)
        if letter == ",":
            self.position += 1
        elif letter not in ("", closing) and "\n" not in self.text[start : self.position]:
            raise self.source.refuse(f"expected `,` or `{closing or 'the end of the line'}`", self.position)

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

    def _substitution(self) -> _Substitution:
        start = self.position
        opening = re.compile(r"\$\{(\??)[^\S\n]*(?=[^\s}])").match(self.text, start)
        if opening is not None:
            self.position = opening.end()
            path = tuple(key.value for key in self._keys())
        if opening is None or not self.text.startswith("}", self.position):
            raise self.source.refuse("expected a substitution such as `${name}`", start)
        self.position += 1
        return _Substitution(start, path, is_optional=bool(opening[1]))


def _plain_value(text: str) -> object:
    if text in WORDS:
        return WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 4000:
        return int(text)
    return WrittenNumber(text) if _NUMBER.fullmatch(text) else text


def _put(fields: dict[str, _Field], field: _Field) -> None:
    """Add a field to the fields of an object; consecutive objects under one key are merged."""
    if field.key.value not in fields:
        fields[field.key.value] = field
        return
    values = fields[field.key.value].values
    for value in field.values:
        last = values[-1]
        if isinstance(last, _Object) and isinstance(value, _Object):
            for inner in value.fields.values():
                _put(last.fields, inner)
            values[-1] = _Object(value.start, last.fields)
        elif (longer := _extended(last, value)) is not None:
            values[-1] = longer
        else:
            values.append(value)
    fields[field.key.value] = _Field(field.key, values)


def _extended(last: _Unresolved, value: _Unresolved) -> _Unresolved | None:
    """Return a list with the plain value that ``+=`` appends to it; None for other values and lists."""
    match value:
        case _Concatenation(parts=(_, (_, _List(items=(Scalar() as added,)))), is_appended=True):
            pass
        case _:
            return None
    match last:
        case _List(start, items):
            return _List(start, (*items, added))
        case _Concatenation(parts=(*before, (space, _List(start, items)))):
            return last._replace(parts=(*before, (space, _List(start, (*items, added)))))
    return None


class _CycleError(Exception):
    """A value needs itself."""


class _Resolver:
    """Replaces substitutions by values, and merges the values of each field into one.

    A substitution takes the final value of its path. A value that refers to itself takes the value before it: while it
    is resolved, it and the later values of the field are hidden.
    """

    def __init__(self, source: Source, root: _Unresolved) -> None:
        self._source = source
        self._root = root
        self._hidden: set[int] = set()
        self._open: set[int] = set()
        self._values: dict[int, _Resolved | None] = {}
        """The values of substitutions and concatenations, by the identity of the node."""
        self._repeated = 0

    def resolved(self, node: _Unresolved) -> _Resolved | None:
        """Return the value of a node, None if it is optional and undefined."""
        match node:
            case _Substitution():
                return self._substitute(node)
            case _Concatenation():
                if id(node) not in self._values:
                    self._values[id(node)] = self._concatenate(node)
                return self._values[id(node)]
            case _List(start, items):
                return Sequence(start, tuple(value for value in map(self.resolved, items) if value is not None))
            case _Object():
                return self._merge([node])
            case _:
                return node

    def _merge(self, objects: list[_Object | Mapping]) -> Mapping:
        values = ((key, self._field_value(values)) for key, values in _fields_of(objects).values())
        return Mapping(objects[-1].start, tuple(Entry(key, value) for key, value in values if value is not None))

    def _field_value(self, values: list[_Unresolved]) -> _Resolved | None:
        if len(values) == 1 and isinstance(values[0], Scalar):
            return values[0]
        objects, last = self._effective_values(values)
        if objects:
            return self._merge(objects)
        return None if last is None else self.resolved(last)

    def _effective_values(self, values: list[_Unresolved]) -> tuple[list[_Object | Mapping], _Unresolved | None]:
        """Return the objects to merge, or the last value that is not an object, with substitutions resolved."""
        visible = [value for value in values if id(value) not in self._hidden]
        if values and not visible:
            raise _CycleError
        objects: list[_Object | Mapping] = []
        for index in range(len(visible) - 1, -1, -1):
            value: _Unresolved | None = visible[index]
            if isinstance(value, _Substitution | _Concatenation):
                hidden = {id(later) for later in visible[index:]}
                self._hidden |= hidden
                try:
                    value = self.resolved(value)
                finally:
                    self._hidden -= hidden
            if isinstance(value, _Object | Mapping):
                objects.insert(0, value)
            elif value is not None:
                return objects, None if objects else value
        return objects, None

    def _substitute(self, node: _Substitution) -> _Resolved | None:
        if id(node) in self._open:
            raise _CycleError
        if id(node) in self._values:
            value = self._values[id(node)]
        else:
            self._open.add(id(node))
            value, is_cycle, name = None, False, ".".join(node.path)
            try:
                value = self._lookup(node.path)
            except _CycleError:
                is_cycle = True
            finally:
                self._open.remove(id(node))
            if is_cycle and self._open and not node.is_optional:
                raise _CycleError  # an optional substitution around it may end the cycle
            if is_cycle and not node.is_optional:
                raise self._source.refuse(f"`${{{name}}}` refers to itself", node.start)
            if value is None and not is_cycle and (variable := os.environ.get(name)) is not None:
                value = Scalar(node.start, variable)
            if value is None and not node.is_optional:
                hint = "define it at the top of the file or as an environment variable, or write `${?name}`"
                raise self._source.refuse(f"`{name}` is not defined", node.start, hint)
            value = None if value is None else value._replace(start=node.start)
            if not is_cycle:
                self._values[id(node)] = value
        self._repeated += 1 if value is None else _size(value)
        if self._repeated > MAX_REPEATED_NODES:
            raise self._source.refuse("substitutions make the file too large", node.start)
        return value

    def _lookup(self, path: tuple[str, ...]) -> _Resolved | None:
        """Return the value of a path of the document."""
        values = [self._root]
        for key in path:
            field = _fields_of(self._effective_values(values)[0]).get(key)
            if field is None:
                return None
            values = field.values
        return self._field_value(values)

    def _concatenate(self, node: _Concatenation) -> _Resolved | None:
        """Return the object, the list or the text that parts make together; undefined parts add nothing."""
        parts = [(space, value if isinstance(value, _Object) else self.resolved(value)) for space, value in node.parts]
        values = [value for _, value in parts if value is not None]
        for value in values:
            if _kind(value) != _kind(values[0]):
                message = f"{_kind(value)} cannot follow {_kind(values[0])} in one value"
                hint = "combine values of the same kind only, and check for a missing comma"
                raise self._source.refuse(message, value.start, hint)
        objects = [value for value in values if isinstance(value, _Object | Mapping)]
        lists = [value for value in values if isinstance(value, Sequence)]
        if objects:
            return self._merge(objects)._replace(start=node.start)
        if lists:
            return Sequence(node.start, tuple(item for sequence in lists for item in sequence.items))
        text = "".join(space + (plain_text(value.value) if isinstance(value, Scalar) else "") for space, value in parts)
        if len(values) == 1 and isinstance(values[0], Scalar) and text == plain_text(values[0].value):
            return values[0]
        if len(text) > MAX_CHARACTERS:
            raise self._source.refuse("substitutions make the file too large", node.start)
        return Scalar(node.start, text) if text or values else None


def _fields_of(objects: list[_Object | Mapping]) -> dict[str, _Field]:
    """Return the fields of objects, with all values of each."""
    match objects:
        case [_Object(fields=fields)]:
            return fields
    merged: dict[str, _Field] = {}
    for node in objects:
        match node:
            case _Object(fields=fields):
                added = list(fields.values())
            case Mapping(entries=entries):
                added = [_Field(key, [cast(_Resolved, value)]) for key, value in entries]
        for key, values in added:
            before = merged[key.value].values if key.value in merged else []
            merged[key.value] = _Field(key, [*before, *values])
    return merged


def _kind(node: _Resolved | _Object) -> str:
    if isinstance(node, Mapping | _Object):
        return "an object"
    return "a list" if isinstance(node, Sequence) else "a text"


def plain_text(value: object) -> str:
    """Return the text of a plain value."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return value.text if isinstance(value, WrittenNumber) else str(value)


def _size(node: Node) -> int:
    """Return how many nodes a value has, a long text counted as several."""
    match node:
        case Mapping(entries=entries):
            return 1 + sum(_size(value) for _, value in entries)
        case Sequence(items=items):
            return 1 + sum(map(_size, items))
        case Scalar(value=str(text)):
            return 1 + len(text) // 100
    return 1
