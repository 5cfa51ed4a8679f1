"""Types of nested data as Spark's DDL: ``struct<id:bigint,tags:array<string>>``.

A field that holds JSON texts, because values there are not of one type, is a ``string`` with the comment ``json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from schemactl.schema.nested_types import BIGINT, BOOLEAN, DOUBLE, STRING, Json, Leaf, ListOf, MapOf, NestedType, Struct

_PLAIN_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_JSON_COMMENT: Final = " COMMENT 'json'"


def write_type(of: NestedType, *, has_comments: bool = True) -> str:
    """Return a type as Spark's DDL.

    Args:
        of: the type.
        has_comments: whether JSON texts are distinguished from others; where types are compared, they are not.
    """
    match of:
        case Leaf(name):
            return name
        case Json():
            return STRING
        case ListOf(element):
            return f"array<{write_type(element, has_comments=has_comments)}>"
        case MapOf(value):
            return f"map<{STRING},{write_type(value, has_comments=has_comments)}>"
        case Struct(fields):
            written = (
                f"{_name(name)}:{write_type(inner, has_comments=has_comments)}"
                + (_JSON_COMMENT if has_comments and isinstance(inner, Json) else "")
                for name, inner in fields
            )
            return f"struct<{','.join(written)}>"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<mark>[<>,:()])|`(?P<quoted>(?:[^`]|``)+)`|'(?P<text>(?:[^'\\]|\\.)*)'|(?P<word>\w+))\s*", re.DOTALL
)
_SAME: Final[Mapping[str, str]] = {
    "bigint": BIGINT, "long": BIGINT, "int": BIGINT, "integer": BIGINT, "smallint": BIGINT, "short": BIGINT,
    "tinyint": BIGINT, "byte": BIGINT, "double": DOUBLE, "float": DOUBLE, "real": DOUBLE, "boolean": BOOLEAN,
    "string": STRING, "binary": "binary", "date": "date", "timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz",
    "timestamp_ltz": "timestamp",
}  # fmt: skip
"""Spark's names of types with those that are stored: integers and floats have one size here."""

_SIZED: Final[Mapping[str, tuple[str, str]]] = {
    "decimal": ("decimal", "10,0"), "dec": ("decimal", "10,0"), "numeric": ("decimal", "10,0"), "time": ("time", "6"),
}  # fmt: skip


_OWN_SIZES: Final[Mapping[str, str]] = {
    "int": "int", "integer": "int", "smallint": "smallint", "short": "smallint", "tinyint": "tinyint",
    "byte": "tinyint", "float": "float", "real": "float",
}  # fmt: skip
"""Names of the types that are smaller than the one that is stored."""


def read_type(text: str, *, keeps_sizes: bool = False) -> NestedType:
    """Read Spark's DDL of one type.

    Args:
        text: the DDL.
        keeps_sizes: whether integers and floats keep the size that is stated; they are stored in one size each.

    >>> read_type("array<struct<a: INT>>")
    ListOf(element=Struct(fields=(('a', Leaf(name='bigint')),)))

    Raises:
        ValueError: it is none, or one that nested data is not kept in; the message says where.
    """
    reader = _Reader(text, {**_SAME, **_OWN_SIZES} if keeps_sizes else _SAME)
    found = reader.type()
    if not reader.is_done:
        raise ValueError(f"`{text[reader.at :]}` is too much")
    return found


def structure_in(text: str) -> NestedType | None:
    """Return the type of objects or lists that Spark's DDL says; None where it says another one, or is none."""
    try:
        found = read_type(text)
    except ValueError:
        return None
    return None if isinstance(found, Leaf | Json) else found


class _Reader:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self._text = text
        self._names = names
        self.at = 0

    @property
    def is_done(self) -> bool:
        return self.at == len(self._text)

    def type(self) -> NestedType:
        name = self._word().lower()
        if name == "struct":
            return self._struct()
        if name == "array":
            self._expect("<")
            element = self.type()
            self._expect(">")
            return ListOf(element)
        if name == "map":
            return self._map()
        if name in self._names:
            return Leaf(self._names[name])
        if name in _SIZED:
            own, default = _SIZED[name]
            defaults = default.split(",")
            sizes = self._sizes()
            if len(sizes) > len(defaults):
                raise ValueError(f"`{name}` has at most {len(defaults)} sizes")
            return Leaf(f"{own}({','.join((*sizes, *defaults[len(sizes) :]))})")
        raise ValueError(f"nested data is not kept in a type `{name}`")

    def _map(self) -> MapOf:
        self._expect("<")
        if self.type() != Leaf(STRING):
            raise ValueError("the keys of maps are texts: `map<string,...>`")
        self._expect(",")
        value = self.type()
        self._expect(">")
        return MapOf(value)

    def _struct(self) -> Struct:
        self._expect("<")
        fields: dict[str, NestedType] = {}
        while True:
            name = self._field_name()
            if name in fields:
                raise ValueError(f"the field `{name}` stands there twice")
            if self._peek()["mark"] == ":":
                self._expect(":")
            inner = self.type()
            fields[name] = Json() if self._comment() == "json" and inner == Leaf(STRING) else inner
            if self._mark(",", ">") == ">":
                return Struct(tuple(fields.items()))

    def _sizes(self) -> list[str]:
        if self.is_done or self._peek()["mark"] != "(":
            return []
        self._expect("(")
        sizes = [self._size()]
        while self._mark(",", ")") == ",":
            sizes.append(self._size())
        return sizes

    def _size(self) -> str:
        word = self._word()
        if not (word.isascii() and word.isdigit()):
            raise ValueError(f"`{word}` stands where a number was expected")
        return str(int(word))

    def _comment(self) -> str | None:
        word = self._peek()["word"]
        if word is None or word.lower() != "comment":
            return None
        self._word()
        found = self._next()["text"]
        if found is None:
            raise ValueError("a comment is a text in quotes")
        return str(found)

    def _peek(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self.at)
        if found is None:
            raise ValueError(
                f"`{self._text[self.at :]}` is not understood" if not self.is_done else "it ends too early"
            )
        return found

    def _next(self) -> re.Match[str]:
        found = self._peek()
        self.at = found.end()
        return found

    def _word(self) -> str:
        found = self._next()
        if found["word"] is None:
            raise ValueError(f"`{found.group().strip()}` stands where a name was expected")
        return str(found["word"])

    def _field_name(self) -> str:
        quoted = self._peek()["quoted"]
        if quoted is None:
            return self._word()
        self._next()
        return str(quoted).replace("``", "`")

    def _mark(self, *wanted: str) -> str:
        found = self._next()
        if found["mark"] not in wanted:
            raise ValueError(f"`{found.group().strip()}` stands where `,` or the end was expected")
        return str(found["mark"])

    def _expect(self, mark: str) -> None:
        found = self._next()
        if found["mark"] != mark:
            raise ValueError(f"`{found.group().strip()}` stands where `{mark}` was expected")
