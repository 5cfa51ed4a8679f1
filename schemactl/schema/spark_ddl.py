"""Parses Spark DDL of one type, ``array<struct<a:int>>``, or of columns, ``a INT NOT NULL COMMENT 'x', b: DATE``.

Type names stay as written; callers interpret them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from schemactl.schema.quoting import quote

_MOST_LEVELS: Final = 100
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<mark>[<>,:()])|`(?P<quoted>(?:[^`]|``)+)`|'(?P<text>(?:[^'\\]|\\.)*)'|(?P<word>\w+))\s*", re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_PLAIN_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class DdlError(ValueError):
    """A text is not valid DDL; ``at`` is the position, ``is_too_deep`` whether its types are nested too deep."""

    def __init__(self, message: str, position: int, *, is_too_deep: bool = False) -> None:
        super().__init__(message)
        self.at, self.is_too_deep = position, is_too_deep


@dataclass(frozen=True, slots=True)
class DdlType:
    """A type: its name in lower case, its sizes, the fields of a struct, and element, key or value types."""

    name: str
    sizes: tuple[str, ...] = ()
    fields: tuple[DdlField, ...] = ()
    inner: tuple[DdlType, ...] = ()


@dataclass(frozen=True, slots=True)
class DdlField:
    """A column, or a field of a struct."""

    name: str
    type: DdlType
    nullable: bool = True
    comment: str | None = None


def quoted_name(name: str) -> str:
    """Return a name in DDL, in backticks unless it is a plain word."""
    return name if _PLAIN_NAME.fullmatch(name) else quote(name, "`")


def read_ddl_type(text: str) -> DdlType:
    """Return the type that the whole text is."""
    reader = _Reader(text)
    ddl_type = reader.type(0)
    if reader.at < len(text):
        raise DdlError(f"unexpected `{text[reader.at :]}`", reader.at)
    return ddl_type


def read_ddl_columns(text: str) -> tuple[DdlField, ...]:
    """Return the columns that the whole text declares, at least one."""
    return _Reader(text).fields(0, "")


def _unescaped(escape: re.Match[str]) -> str:
    code, character = escape.groups()
    return chr(int(code, 16)) if code else _ESCAPES.get(character, character)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = len(text) - len(text.lstrip())

    def fields(self, depth: int, end: str) -> tuple[DdlField, ...]:
        """Read fields up to the mark ``end``, empty for the end of the text."""
        fields = []
        while True:
            fields.append(self._field(depth))
            if not end and self.at == len(self._text):
                return tuple(fields)
            if (mark := self._mark(",", end)) == end and mark:
                return tuple(fields)

    def _field(self, depth: int) -> DdlField:
        token = self._next()
        name = token["quoted"].replace("``", "`") if token["quoted"] else token["word"]
        if name is None:
            raise self._refused(token, "a name")
        if self._peeked("mark") == ":":
            self._next()
        of, nullable, comment = self.type(depth), True, None
        while (word := (self._peeked("word") or "").lower()) in ("not", "comment"):
            self._next()
            token = self._next()
            if word == "not":
                if (token["word"] or "").lower() != "null":
                    raise self._refused(token, "`NULL`")
                nullable = False
            elif token["text"] is None:
                raise self._refused(token, "a string in quotes")
            else:
                comment = _ESCAPE.sub(_unescaped, token["text"])
        return DdlField(name, of, nullable, comment)

    def type(self, depth: int) -> DdlType:
        if depth > _MOST_LEVELS:
            raise DdlError(f"nested deeper than {_MOST_LEVELS} levels", self.at, is_too_deep=True)
        token = self._next()
        if token["word"] is None:
            raise self._refused(token, "a name")
        name = token["word"].lower()
        if name == "struct":
            self._mark("<")
            return DdlType(name, fields=self.fields(depth + 1, ">"))
        if name in ("array", "map"):
            self._mark("<")
            inner = [self.type(depth + 1)]
            if name == "map":
                self._mark(",")
                inner.append(self.type(depth + 1))
            self._mark(">")
            return DdlType(name, inner=tuple(inner))
        sizes: list[str] = []
        if self._peeked("mark") == "(":
            self._next()
            while not sizes or self._mark(",", ")") == ",":
                token = self._next()
                if not re.fullmatch("[0-9]+", token["word"] or ""):
                    raise self._refused(token, "a number")
                sizes.append(str(int(token["word"])))
        return DdlType(name, tuple(sizes))

    def _peeked(self, group: str) -> str | None:
        token = _TOKEN.match(self._text, self.at)
        return token[group] if token else None

    def _next(self) -> re.Match[str]:
        token = _TOKEN.match(self._text, self.at)
        if token is None:
            remainder = self._text[self.at :]
            raise DdlError(f"`{remainder[:20]}` is not understood" if remainder else "the DDL ends too early", self.at)
        self.at = token.end()
        return token

    def _mark(self, *marks: str) -> str:
        token = self._next()
        if token["mark"] is None or token["mark"] not in marks:
            raise self._refused(token, " or ".join(f"`{mark}`" for mark in marks if mark))
        return token["mark"]

    def _refused(self, token: re.Match[str], expected: str) -> DdlError:
        return DdlError(f"expected {expected}, found `{token.group().strip()}`", token.start())
