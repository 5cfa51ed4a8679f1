"""HOCON text -> tree: JSON with comments, keys without quotes, ``${substitutions}``, values put together of several.

Typing files of Arc are written in it. All of the specification is read but ``include``: a typing is one file.
"""

from __future__ import annotations

import json
import os
import re
from typing import Final, NamedTuple, cast

from schemactl.formats import _tree
from schemactl.formats._json_tree import WORDS, Reader
from schemactl.formats._tree import Entry, Mapping, Node, Scalar, Sequence, Source

_SPACE: Final = re.compile(r"(?:[^\S\n]|\ufeff|#[^\n]*|//[^\n]*)*")
_SPACE_AND_LINES: Final = re.compile(r"(?:\s|\ufeff|#[^\n]*|//[^\n]*)*")
_UNQUOTED: Final = re.compile(r"(?:(?!//)[^$\"{}\[\]:=,+#`^?!@*&\\\n])+")
_UNQUOTED_KEY: Final = re.compile(r"(?:(?!//)[^$\"{}\[\]:=,+#`^?!@*&\\\n.])+")
_INTEGER: Final = re.compile(r"0|-?[1-9]\d*", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


def parse_hocon(source: Source) -> Node:
    """Return the tree of a HOCON document.

    Of a key that stands twice the last value counts, objects are merged. Substitutions take what stands in the file,
    else environment variables. Nodes of substitutions have the place where they are asked for.

    Raises:
        InputError: the text is not HOCON, or asks for what is not there; with the place.
    """
    root = _Parser(source).document()
    try:
        return _Resolver(source, root).resolve()
    except RecursionError as error:
        raise source.refuse("substitutions refer to one another too deep", root.start) from error


class Written(float):
    """A number that is more than its digits (a point, an exponent, leading zeros), with the text of it."""

    text: str

    def __new__(cls, text: str) -> Written:
        made = super().__new__(cls, text)
        made.text = text
        return made


class _Substitution(NamedTuple):
    """A place that takes the value of another path."""

    start: int
    path: tuple[str, ...]
    is_optional: bool


class _Joined(NamedTuple):
    """Values next to each other that make one, with the space before each; or what `+=` is short for."""

    start: int
    parts: tuple[tuple[str, _Unresolved], ...]
    is_appended: bool = False


class _Field(NamedTuple):
    """A key of an object with all the values that were stated of it, in their order."""

    key: Scalar
    values: list[_Unresolved]


class _List(NamedTuple):
    start: int
    items: tuple[_Unresolved, ...]


class _Object(NamedTuple):
    start: int
    fields: dict[str, _Field]


_Resolved = Scalar | Sequence | Mapping
_Unresolved = _Resolved | _Substitution | _Joined | _List | _Object


class _Parser(Reader):
    refused = ""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._path: list[str] = []
        self._lists = 0

    def document(self) -> _Unresolved:
        first = self._skip(lines=True)
        root = self._part(0) if first in ("{", "[") else self._entries(self.position, 0, closing="")
        if self._skip(lines=True):
            raise self.source.refuse("the document ends before this", self.position, "is a bracket closed too early?")
        return root

    def _skip(self, *, lines: bool) -> str:
        """Skip space and comments and return the character that follows, empty at the end."""
        found = (_SPACE_AND_LINES if lines else _SPACE).match(self.text, self.position)
        self.position = found.end() if found else self.position
        return self.text[self.position : self.position + 1]

    def _value(self, depth: int) -> _Unresolved:
        """Return what stands up to the end of the line, a comma or a bracket."""
        start = self.position
        parts = [("", self._part(depth))]
        end = self.position
        while self._skip(lines=False) not in ("", "\n", ",", "}", "]"):
            space = self.text[end : self.position]
            parts.append((space, self._part(depth)))
            end = self.position
        return _Joined(start, tuple(parts)) if len(parts) > 1 else parts[0][1]

    def _part(self, depth: int) -> _Unresolved:
        if depth >= _tree.MAX_DEPTH:
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
        found = _UNQUOTED.match(self.text, start)
        text = found[0].rstrip() if found else ""
        if not text:
            hint = "text with such a character stands in double quotes"
            raise self.source.refuse(f"`{self.text[start]}` cannot begin a value", start, hint)
        self.position = start + len(text)
        return Scalar(start, _scalar(text))

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
            hint = "copy what the other file states to the top of this one"
            raise self.source.refuse("`include` is not read: a typing is one file", self.position, hint)
        keys = self._keys()
        operator = self.position
        is_appended = self.text.startswith("+=", operator)
        if is_appended or self.text.startswith((":", "="), operator):
            self.position += 2 if is_appended else 1
            self._skip(lines=True)
        elif not self.text.startswith("{", operator):
            raise self.source.refuse("`:`, `=` or `+=` must stand here", operator)
        if is_appended and self._lists:
            hint = "build the list outside, and refer to it with `${name}`"
            raise self.source.refuse("`+=` cannot stand within a list, in Arc neither", operator, hint)
        self._path += [key.value for key in keys]
        self._lists += is_appended
        value = self._value(depth + 1)
        self._lists -= is_appended
        if is_appended:
            # `a += b` is short for `a = ${?a} [b]`.
            before = _Substitution(operator, tuple(self._path), is_optional=True)
            value = _Joined(value.start, (("", before), ("", _List(value.start, (value,)))), is_appended=True)
        del self._path[-len(keys) :]
        for key in reversed(keys[1:]):
            value = _Object(key.start, {key.value: _Field(key, [value])})
        _put(fields, _Field(keys[0], [value]))

    def _keys(self) -> list[Scalar]:
        """Return the parts of a path: points divide it but within quotes, space around it does not count."""
        keys: list[Scalar] = []
        text, is_stated, start = "", False, self.position
        while True:
            letter = self.text[self.position : self.position + 1]
            if letter == '"':
                text += self.string().value
                is_stated = True
            elif (found := _UNQUOTED_KEY.match(self.text, self.position)) is not None:
                self.position = found.end()
                follows = self.text[self.position : self.position + 1]
                text += found[0] if follows in ('"', ".") else found[0].rstrip()
            elif text or is_stated:
                keys.append(Scalar(start, text))
                if letter != ".":
                    return keys
                self.position += 1
                text, is_stated, start = "", False, self.position
            else:
                raise self.source.refuse("a key must stand here", self.position)

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

    def _substitution(self) -> _Substitution:
        start = self.position
        found = re.compile(r"\$\{(\??)[^\S\n]*(?=[^\s}])").match(self.text, start)
        if found is not None:
            self.position = found.end()
            path = tuple(key.value for key in self._keys())
        if found is None or not self.text.startswith("}", self.position):
            raise self.source.refuse("a substitution such as `${name}` must stand here", start)
        self.position += 1
        return _Substitution(start, path, is_optional=bool(found[1]))


def _scalar(text: str) -> object:
    if text in WORDS:
        return WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 4000:
        return int(text)
    return Written(text) if _NUMBER.fullmatch(text) else text


def _put(fields: dict[str, _Field], field: _Field) -> None:
    """Add a field to others; objects that follow one another are one."""
    name = field.key.value
    if name not in fields:
        fields[name] = field
        return
    values = fields[name].values
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
    fields[name] = _Field(field.key, values)


def _extended(last: _Unresolved, value: _Unresolved) -> _Unresolved | None:
    """Return a list with the plain value that ``+=`` appends to it; None where it is not as simple."""
    match value:
        case _Joined(parts=(_, (_, _List(items=(Scalar() as added,)))), is_appended=True):
            pass
        case _:
            return None
    match last:
        case _List(start, items):
            return _List(start, (*items, added))
        case _Joined(parts=(*before, (space, _List(start, items)))):
            return last._replace(parts=(*before, (space, _List(start, (*items, added)))))
    return None


class _CycleError(Exception):
    """A value needs itself."""


class _Resolver:
    """Puts values in the place of substitutions, and makes one value of those that stand for one.

    A substitution takes the final value of its path. A value that refers to itself takes what was stated before it:
    while it is resolved, it and what was stated after it are hidden.
    """

    def __init__(self, source: Source, root: _Unresolved) -> None:
        self._source = source
        self._root = root
        self._hidden: set[int] = set()
        self._open: set[int] = set()
        self._known: dict[int, _Resolved | None] = {}
        self._repeated = 0

    def resolve(self) -> Node:
        found = self._found(self._root)
        return Scalar(self._root.start, None) if found is None else found

    def _found(self, node: _Unresolved) -> _Resolved | None:
        """Return the value of a node, None where it is optional and undefined."""
        match node:
            case _Substitution():
                return self._substituted(node)
            case _Joined():
                if id(node) not in self._known:
                    self._known[id(node)] = self._join(node)
                return self._known[id(node)]
            case _List(start, items):
                return Sequence(start, tuple(each for item in items if (each := self._found(item)) is not None))
            case _Object():
                return self._merge([node])
            case _:
                return node

    def _merge(self, objects: list[_Object | Mapping]) -> Mapping:
        found = ((key, self._final(values)) for key, values in _fields_of(objects).values())
        return Mapping(objects[-1].start, tuple(Entry(key, value) for key, value in found if value is not None))

    def _final(self, values: list[_Unresolved]) -> _Resolved | None:
        """Return the value of a field by all that was stated of it."""
        if len(values) == 1 and isinstance(values[0], Scalar):
            return values[0]
        objects, other = self._counting(values)
        if objects:
            return self._merge(objects)
        return None if other is None else self._found(other)

    def _counting(self, values: list[_Unresolved]) -> tuple[list[_Object | Mapping], _Unresolved | None]:
        """Return the objects that are merged, or the last value that is none; substitutions among them are resolved."""
        seen = [each for each in values if id(each) not in self._hidden]
        if values and not seen:
            raise _CycleError
        objects: list[_Object | Mapping] = []
        for at in range(len(seen) - 1, -1, -1):
            found: _Unresolved | None = seen[at]
            if isinstance(found, _Substitution | _Joined):
                hidden = {id(each) for each in seen[at:]}
                self._hidden |= hidden
                try:
                    found = self._found(found)
                finally:
                    self._hidden -= hidden
            if isinstance(found, _Object | Mapping):
                objects.insert(0, found)
            elif found is not None:
                return objects, None if objects else found
        return objects, None

    def _substituted(self, node: _Substitution) -> _Resolved | None:
        if id(node) in self._open:
            raise _CycleError
        if id(node) not in self._known:
            self._open.add(id(node))
            found, is_cycle = None, False
            try:
                found = self._at(node.path)
            except _CycleError:
                is_cycle = True
            finally:
                self._open.remove(id(node))
            if is_cycle and self._open and not node.is_optional:
                raise _CycleError  # one that is optional may end it
            if found is None and not is_cycle and (variable := os.environ.get(".".join(node.path))) is not None:
                found = Scalar(node.start, variable)
            if found is None and not node.is_optional:
                path = ".".join(node.path)
                hint = "define it at the top of the file, or as an environment variable; `${?name}` may be undefined"
                if is_cycle:
                    raise self._source.refuse(f"`${{{path}}}` refers to itself", node.start)
                raise self._source.refuse(f"nothing is called `{path}`", node.start, hint)
            known = None if found is None else found._replace(start=node.start)
            if not is_cycle:
                self._known[id(node)] = known
        else:
            known = self._known[id(node)]
        self._repeated += 1 if known is None else _size(known)
        if self._repeated > _tree.MAX_REPEATED_NODES:
            raise self._source.refuse("substitutions make the file too large", node.start)
        return known

    def _at(self, path: tuple[str, ...]) -> _Resolved | None:
        """Return what stands at a path of the document."""
        values = [self._root]
        for key in path:
            objects, _ = self._counting(values)
            field = _fields_of(objects).get(key)
            if field is None:
                return None
            values = field.values
        return self._final(values)

    def _join(self, joined: _Joined) -> _Resolved | None:
        """Return the object, the list or the text that the parts make; parts that are undefined add nothing."""
        parts = [(space, each if isinstance(each, _Object) else self._found(each)) for space, each in joined.parts]
        stated = [each for _, each in parts if each is not None]
        for part in stated:
            if _kind(part) != _kind(stated[0]):
                message = f"{_kind(part)} cannot follow {_kind(stated[0])} in one value"
                hint = "objects go with objects, lists with lists, plain values with plain ones; is a comma missing?"
                raise self._source.refuse(message, part.start, hint)
        objects = [each for each in stated if isinstance(each, _Object | Mapping)]
        lists = [each for each in stated if isinstance(each, Sequence)]
        if objects:
            return self._merge(objects)._replace(start=joined.start)
        if lists:
            return Sequence(joined.start, tuple(item for each in lists for item in each.items))
        text = "".join(space + (plain_text(each.value) if isinstance(each, Scalar) else "") for space, each in parts)
        if len(stated) == 1 and isinstance(stated[0], Scalar) and text == plain_text(stated[0].value):
            return stated[0]
        if len(text) > _tree.MAX_CHARACTERS:
            raise self._source.refuse("substitutions make the file too large", joined.start)
        return Scalar(joined.start, text) if text or stated else None


def _fields_of(objects: list[_Object | Mapping]) -> dict[str, _Field]:
    """Return the fields of objects, with all values that were stated of each."""
    match objects:
        case [_Object(fields=only)]:
            return only
    fields: dict[str, _Field] = {}
    for each in objects:
        match each:
            case _Object(fields=own):
                stated = list(own.values())
            case Mapping(entries=entries):
                stated = [_Field(key, [cast(_Resolved, value)]) for key, value in entries]
        for key, values in stated:
            known = fields.get(key.value)
            fields[key.value] = _Field(key, [*known.values, *values] if known else values)
    return fields


def _kind(node: _Resolved | _Object) -> str:
    if isinstance(node, Mapping | _Object):
        return "an object"
    return "a list" if isinstance(node, Sequence) else "a text"


def plain_text(value: object) -> str:
    """Return what a plain value is as a text."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return value.text if isinstance(value, Written) else str(value)


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
