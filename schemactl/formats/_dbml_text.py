"""DBML's grammar: a text as tables, enums and relations, without what they mean.

https://dbml.dbdiagram.io/docs. Groups of tables, notes beside tables, records and checks say nothing of a schema; what
is passed over of columns and tables is kept for the report of losses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from schemactl.errors import InputError
from schemactl.formats._fields import HINTS
from schemactl.formats._tree import Source

_TOKEN: Final = re.compile(
    rf"""(?P<hint>//[ ]{HINTS}:[^\n]*) | (?P<comment>//[^\n]*|/\*.*?\*/) | (?P<blank>[^\S\n]+) | (?P<line>\n)
    | (?P<long>'''(?:[^\\]|\\.)*?''') | (?P<text>'(?:[^'\\]|\\.)*') | (?P<quoted>"[^"\n]*") | (?P<code>`[^`]*`)
    | (?P<color>\#\w+) | (?P<word>\w+) | (?P<mark><>|[^\s\w'"`\#])""",
    re.VERBOSE | re.DOTALL,
)
_STRINGS: Final = ("long", "text")


class Token(NamedTuple):
    """A word of the text: its kind, what it stands for, and where."""

    kind: str | None
    value: str
    start: int

    def is_mark(self, *marks: str) -> bool:
        """Return whether it is one of some marks."""
        return self.kind == "mark" and self.value in marks

    def is_word(self, *words: str) -> bool:
        """Return whether it is one of some keywords, in any case; what is quoted is none."""
        return self.kind == "word" and self.value.lower() in words


Settings = dict[str, tuple[Token, ...]]
"""What stands in brackets, by lower-case key, with the words after the colon."""


@dataclass(slots=True)
class DbmlColumn:
    """A column; ``type`` is as it is written, without quotes."""

    name: str
    type: str
    settings: Settings
    hints: Any = None


@dataclass(slots=True)
class DbmlTable:
    """A table; ``indexes`` are columns with settings; columns of partials are among its own."""

    name: str
    alias: str | None = None
    settings: Settings = field(default_factory=dict)
    note: str | None = None
    columns: list[DbmlColumn] = field(default_factory=list)
    indexes: list[tuple[tuple[str, ...], Settings]] = field(default_factory=list)
    hints: Any = None


class DbmlRef(NamedTuple):
    """A relation: of columns of one table to those of another, by one of ``> < - <>``."""

    table: str
    columns: tuple[str, ...]
    mark: str
    other: str
    other_columns: tuple[str, ...]


@dataclass(slots=True)
class DbmlFile:
    """The declarations of a file, in its order."""

    tables: list[DbmlTable] = field(default_factory=list)
    enums: dict[str, list[str]] = field(default_factory=dict)
    refs: list[DbmlRef] = field(default_factory=list)
    note: str | None = None
    hints: Any = None
    passed_over: list[str] = field(default_factory=list)


def note_of(settings: Settings) -> str | None:
    """Return the text of the setting ``note``, None where there is none."""
    value = settings.get("note") or ()
    return value[0].value if value and value[0].kind in _STRINGS else None


def parse_dbml(source: Source) -> DbmlFile:
    """Return what a text declares."""
    return _Parser(source).file()


def _unquoted(kind: str | None, text: str) -> str:
    match kind:
        case "long":
            body = re.sub(r"\\(?:\n|(.))", lambda found: found[1] or "", text[3:-3], flags=re.DOTALL)
            if "\n" not in body:
                return body
            lines = body.strip("\n").split("\n")
            indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
            return "\n".join(line[indent:] for line in lines).strip()
        case "text":
            return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
        case "quoted" | "code":
            return text[1:-1]
    return text


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = list(self._scan(source.text))
        self._at = 0
        self._partials: dict[str, DbmlTable] = {}
        self._found = DbmlFile()

    def _scan(self, text: str) -> Iterator[Token]:
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._source.refuse("a text or a name that starts here does not end", at)
            if found.lastgroup not in ("blank", "comment"):
                yield Token(found.lastgroup, _unquoted(found.lastgroup, found.group()), at)
            at = found.end()
        yield Token("end", "", at)

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _skip_lines(self) -> Any:
        """Pass over the ends of lines, and return the hints in the comment before what follows."""
        hints = None
        while self._peek().kind in ("line", "hint"):
            token = self._next()
            if token.kind == "hint":
                try:
                    hints = json.loads(token.value.partition(":")[2])
                except ValueError as error:
                    raise self._source.refuse(f"the hints are not JSON: {error}", token.start) from error
        return hints

    def _wrong(self, wanted: str) -> InputError:
        token = self._peek()
        shown = {"end": "the end of the file", "line": "the end of the line"}.get(str(token.kind), f"`{token.value}`")
        return self._source.refuse(f"{shown} stands where {wanted} was expected", token.start)

    def _mark(self, *marks: str) -> str:
        if not self._peek().is_mark(*marks):
            raise self._wrong(" or ".join(f"`{mark}`" for mark in marks))
        return self._next().value

    def _name(self) -> str:
        if self._peek().kind not in ("word", "quoted"):
            raise self._wrong("a name")
        return self._next().value

    def _string(self) -> str:
        if self._peek().kind not in _STRINGS:
            raise self._wrong("a text in quotes")
        return self._next().value

    def _path(self) -> list[str]:
        parts = [self._name()]
        while self._peek().is_mark("."):
            self._next()
            if self._peek().is_mark("("):
                break
            parts.append(self._name())
        return parts

    def _full_name(self) -> str:
        """Return the name of a table or an enum; the schema of the database belongs to it, but for ``public``."""
        return ".".join(self._without_public(self._path()))

    @staticmethod
    def _without_public(parts: list[str]) -> list[str]:
        return parts[1:] if len(parts) > 1 and parts[0] == "public" else parts

    def _settings(self) -> Settings:
        found: Settings = {}
        if not self._peek().is_mark("["):
            return found
        self._next()
        words: list[Token] = []
        depth = 0
        while True:
            token = self._next()
            if token.kind == "end":
                raise self._wrong("`]`")
            if depth == 0 and token.is_mark(",", "]"):
                if words:
                    key = next((at for at, each in enumerate(words) if each.is_mark(":")), len(words))
                    found[" ".join(each.value.lower() for each in words[:key])] = tuple(words[key + 1 :])
                words = []
                if token.value == "]":
                    return found
                continue
            depth += token.is_mark("(") - token.is_mark(")")
            if token.kind not in ("line", "hint"):
                words.append(token)

    def _block(self, statement: Callable[[Any], None]) -> None:
        """Read ``{ ... }``; ``statement`` reads one thing in it, given the hints before it."""
        self._skip_lines()
        self._mark("{")
        hints = self._skip_lines()
        while not self._peek().is_mark("}"):
            statement(hints)
            hints = self._skip_lines()
        self._next()

    def _skip_block(self) -> None:
        """Pass over all up to the end of a block, or of the line where there is none."""
        depth = 0
        while self._peek().kind != "end" and not (depth == 0 and self._peek().kind == "line"):
            token = self._next()
            depth += token.is_mark("{") - token.is_mark("}")
            if depth == 0 and token.is_mark("}"):
                return

    def file(self) -> DbmlFile:
        hints = self._skip_lines()
        while self._peek().kind != "end":
            word = self._peek()
            if word.is_word("table"):
                self._next()
                self._found.tables.append(self._table(hints))
            elif word.is_word("tablepartial"):
                self._next()
                partial = self._table(hints)
                self._partials[partial.name] = partial
            elif word.is_word("enum"):
                self._next()
                values = self._found.enums[self._full_name()] = []
                self._block(lambda _, values=values: self._enum_value(values))  # type: ignore[misc]
            elif word.is_word("ref"):
                self._next()
                self._ref()
            elif word.is_word("project"):
                self._next()
                self._found.hints = hints
                if not self._peek().is_mark("{"):
                    self._full_name()
                self._block(lambda _: self._project_line())
            elif word.kind == "word":
                self._found.passed_over.append(word.value)
                self._skip_block()
            else:
                raise self._wrong("`Table`, `Enum` or `Ref`")
            hints = self._skip_lines()
        return self._found

    def _project_line(self) -> None:
        if (note := self._note()) is not None:
            self._found.note = note
        else:
            self._skip_block()

    def _note(self) -> str | None:
        """Read ``Note: '...'`` or ``Note { '...' }`` where one stands here."""
        after = self._tokens[self._at + 1] if self._peek().is_word("note") else None
        if after is None or not after.is_mark(":", "{"):
            return None
        self._next()
        if self._mark(":", "{") == ":":
            return self._string()
        self._skip_lines()
        text = self._string()
        self._skip_lines()
        self._mark("}")
        return text

    def _enum_value(self, values: list[str]) -> None:
        values.append(self._name())
        self._settings()

    def _table(self, hints: Any) -> DbmlTable:
        table = DbmlTable(self._full_name(), hints=hints)
        if self._peek().is_word("as"):
            self._next()
            table.alias = self._name()
        table.settings = self._settings()
        table.note = note_of(table.settings)
        self._block(lambda hints: self._statement(table, hints))
        return table

    def _statement(self, table: DbmlTable, hints: Any) -> None:
        after = self._tokens[self._at + 1] if self._peek().kind != "end" else self._peek()
        if (note := self._note()) is not None:
            table.note = note
        elif self._peek().is_mark("~"):
            self._next()
            start, name = self._peek().start, self._name()
            if name not in self._partials:
                raise self._source.refuse(f"there is no `TablePartial {name}` before it", start)
            table.columns += self._partials[name].columns
            table.indexes += self._partials[name].indexes
        elif self._peek().is_word("indexes") and after.is_mark("{"):
            self._next()
            self._block(lambda _: self._index(table))
        elif self._peek().is_word("checks", "records") and after.is_mark("{", "("):
            self._found.passed_over.append(f"{table.name}: {self._peek().value}")
            self._skip_block()
        else:
            self._column(table, hints)

    def _index(self, table: DbmlTable) -> None:
        columns: list[str] = []
        if self._peek().is_mark("("):
            self._next()
            while not self._peek().is_mark(")"):
                columns.append(self._next().value)
                if self._peek().is_mark(","):
                    self._next()
                elif not self._peek().is_mark(")"):
                    raise self._wrong("`,` or `)`")
            self._next()
        else:
            columns.append(self._next().value)
        table.indexes.append((tuple(columns), self._settings()))

    def _column(self, table: DbmlTable, hints: Any) -> None:
        name = self._name()
        start = self._peek()
        if start.kind == "quoted":
            of = self._next().value
        else:
            of = ".".join(self._without_public(self._path()))
            if self._peek().is_mark("("):
                while not (token := self._next()).is_mark(")"):
                    if token.kind in ("end", "line"):
                        raise self._wrong("`)`")
                    of += token.value
                of += ")"
            while self._peek().is_mark("["):
                if not self._tokens[self._at + 1].is_mark("]"):
                    break
                of += self._next().value + self._next().value
        settings = self._settings()
        if (words := settings.pop("ref", None)) is not None:
            names = [each.value for each in words[1:] if not each.is_mark(".")]
            if len(names) < 2 or not words[0].is_mark(">", "<", "-", "<>"):
                raise self._source.refuse("a reference is `ref: > table.column`", words[0].start if words else 0)
            other = ".".join(self._without_public(names[:-1]))
            self._found.refs.append(DbmlRef(table.name, (name,), words[0].value, other, (names[-1],)))
        table.columns.append(DbmlColumn(name, of, settings, hints))

    def _ref(self) -> None:
        if not self._peek().is_mark(":", "{"):
            self._full_name()
        if self._peek().is_mark(":"):
            self._next()
            self._ref_line()
        else:
            self._block(lambda _: self._ref_line())

    def _ref_line(self) -> None:
        table, columns = self._end_of_ref()
        mark = self._mark(">", "<", "-", "<>")
        other, other_columns = self._end_of_ref()
        self._settings()
        self._found.refs.append(DbmlRef(table, columns, mark, other, other_columns))

    def _end_of_ref(self) -> tuple[str, tuple[str, ...]]:
        path = self._path()
        if not self._peek().is_mark("("):
            if len(path) < 2:
                raise self._wrong("`.`")
            return ".".join(self._without_public(path[:-1])), (path[-1],)
        self._next()
        columns = [self._name()]
        while self._mark(",", ")") == ",":
            columns.append(self._name())
        return ".".join(self._without_public(path)), tuple(columns)
