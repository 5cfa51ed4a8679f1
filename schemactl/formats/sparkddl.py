"""Spark's DDL string of the columns of a table, what ``StructType.fromDDL`` takes.

It is the StructType of ``schemactl.formats.spark`` in another notation, which has no place for hints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.formats._fields import field_of, only_table
from schemactl.formats._losses import Document
from schemactl.formats._tree import MAX_DEPTH, Source
from schemactl.formats.spark import table_of, write_field
from schemactl.schema.types import Schema

ENDINGS: Final = (".ddl",)
ONE_TABLE: Final = True

_PLAIN: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DDL: Final = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
_JSON: Final[Mapping[str, str]] = {
    **{ddl.lower(): name for name, ddl in _DDL.items()},
    "real": "float", "dec": "decimal", "numeric": "decimal", "character": "char", "timestamp_ltz": "timestamp",
}  # fmt: skip
"""Spark's names in DDL with those in JSON, where they differ."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<mark>[<>,:()])|`(?P<quoted>(?:[^`]|``)+)`|'(?P<text>(?:[^'\\]|\\.)*)'|(?P<word>\w+))\s*", re.DOTALL
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def recognises(text: str) -> bool:
    """Return whether a text looks as DDL of columns: a name, and a type."""
    return re.match(r"\s*(?:\w+|`[^`]+`)(?:\s*:\s*|\s+)\w+", text) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the DDL string of the only table of a schema, a column a line.

    Raises:
        InputError: the schema has several tables, or none.
    """
    fields = [write_field(field_of(column)) for column in only_table(schema).columns.values() if column.is_complete]
    return ",\n".join(_column(each, " ") for each in fields) + "\n"


def _column(native: dict[str, Any], mark: str) -> str:
    name = native["name"] if _PLAIN.fullmatch(native["name"]) else "`" + native["name"].replace("`", "``") + "`"
    comment = native["metadata"].get("comment")
    escaped = (comment or "").replace("\\", "\\\\").replace("'", "\\'")
    note = f" COMMENT '{escaped}'" if comment else ""
    return f"{name}{mark}{_type(native['type'])}{'' if native['nullable'] else ' NOT NULL'}{note}"


def _type(of: Any) -> str:
    match of:
        case {"type": "struct", "fields": fields}:
            return f"STRUCT<{', '.join(_column(each, ': ') for each in fields)}>"
        case {"type": "array", "elementType": element}:
            return f"ARRAY<{_type(element)}>"
        case {"type": "map", "valueType": value}:
            return f"MAP<STRING, {_type(value)}>"
    return _DDL.get(of, str(of).upper())


def read(text: str, path: str) -> Document:
    """Return the schema of one table, named after the file.

    Raises:
        InputError: it is no DDL of columns, with the place; or two names become one.
    """
    reader = _Reader(Source(path, text))
    return table_of({"type": "struct", "fields": reader.columns(0, "")}, path)


class _Reader:
    """Reads DDL to a StructType as plain data."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._at = len(source.text) - len(source.text.lstrip())

    def columns(self, depth: int, end: str) -> list[dict[str, Any]]:
        """Read columns up to the mark ``end``, empty for the end of the text."""
        if depth > MAX_DEPTH:
            raise self._source.refuse_depth(self._at)
        found = []
        while True:
            found.append(self._column(depth))
            if not end and self._at == len(self._text):
                return found
            if (mark := self._mark(",", end)) == end and mark:
                return found

    def _column(self, depth: int) -> dict[str, Any]:
        token = self._next()
        name = token["quoted"].replace("``", "`") if token["quoted"] else token["word"]
        if name is None:
            raise self._refused(token, "a name")
        if self._peeked("mark") == ":":
            self._next()
        of = self._type(depth)
        is_nullable, metadata = True, {}
        while (word := (self._peeked("word") or "").lower()) in ("not", "comment"):
            self._next()
            token = self._next()
            if word == "not":
                if (token["word"] or "").lower() != "null":
                    raise self._refused(token, "`NULL`")
                is_nullable = False
            elif token["text"] is None:
                raise self._refused(token, "a text in quotes")
            else:
                metadata = {
                    "comment": re.sub(r"\\(.)", lambda e: _ESCAPES.get(e[1], e[1]), token["text"], flags=re.DOTALL)
                }
        return {"name": name, "type": of, "nullable": is_nullable, "metadata": metadata}

    def _type(self, depth: int) -> Any:
        token = self._next()
        if token["word"] is None:
            raise self._refused(token, "a type")
        name = token["word"].lower()
        if name == "struct":
            self._mark("<")
            return {"type": "struct", "fields": self.columns(depth + 1, ">")}
        if name == "array":
            self._mark("<")
            element = self._nested(depth)
            self._mark(">")
            return {"type": "array", "elementType": element, "containsNull": True}
        if name == "map":
            self._mark("<")
            key = self._nested(depth)
            self._mark(",")
            value = self._nested(depth)
            self._mark(">")
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        plain = _JSON.get(name, name)
        sizes = self._sizes()
        if plain in ("decimal", "time") and not sizes:
            sizes = ["10", "0"] if plain == "decimal" else ["6"]
        if plain == "decimal" and len(sizes) == 1:
            sizes = [*sizes, "0"]
        return f"{plain}({','.join(sizes)})" if sizes else plain

    def _nested(self, depth: int) -> Any:
        if depth >= MAX_DEPTH:
            raise self._source.refuse_depth(self._at)
        return self._type(depth + 1)

    def _sizes(self) -> list[str]:
        if self._peeked("mark") != "(":
            return []
        self._next()
        sizes = []
        while True:
            token = self._next()
            if not (token["word"] or "").isdecimal():
                raise self._refused(token, "a number")
            sizes.append(str(int(token["word"])))
            if self._mark(",", ")") == ")":
                return sizes

    def _peeked(self, group: str) -> str | None:
        found = _TOKEN.match(self._text, self._at)
        return found[group] if found else None

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            ended = self._at >= len(self._text)
            raise self._source.refuse("the DDL ends too early" if ended else "this is not understood", self._at)
        self._at = found.end()
        return found

    def _mark(self, *wanted: str) -> str:
        token = self._next()
        if token["mark"] is None or token["mark"] not in wanted:
            raise self._refused(token, " or ".join(f"`{each}`" for each in wanted if each))
        return token["mark"]

    def _refused(self, token: re.Match[str], wanted: str) -> InputError:
        return self._source.refuse(f"`{token.group().strip()}` stands where {wanted} was expected", token.start())
