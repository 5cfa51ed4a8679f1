"""Parses DBML into tables, enums and references, without their meaning for a schema.

Grammar: https://dbml.dbdiagram.io/docs. The tokenizer refuses brackets without a partner, and each step of the parser
consumes a token or raises: parsing ends on every text. Constructs that no schema can hold (groups of tables, records,
checks, settings of the project) are skipped and listed in ``DbmlFile.losses``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from schemactl.errors import InputError
from schemactl.formats._losses import Loss
from schemactl.trees.nodes import MAX_REPEATED_NODES, Source
from schemactl.type_systems.fields import HINTS

_TOKEN: Final = re.compile(
    rf"""(?P<hint>//[ ]{HINTS}:[^\n]*) | (?P<comment>//[^\n]*|/\*.*?\*/) | (?P<blank>[^\S\n]+) | (?P<line>\n)
    | (?P<long>'''(?:[^\\]|\\.)*?''') | (?P<unclosed>'''|/\*) | (?P<text>'(?:[^'\\\n]|\\.)*')
    | (?P<quoted>"(?:[^"\\\n]|\\.)*") | (?P<code>`[^`]*`)
    | (?P<color>\#\w+) | (?P<word>\w+) | (?P<mark><>|[^\s\w'"`\#])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?P<other>\r\n|.))", re.DOTALL)
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "v": "\v", "f": "\f", "\n": "", "\r\n": "", " ": "\\ ",
}  # fmt: skip
"""Characters that a backslash changes; after a backslash, any other character means itself."""

_STRINGS: Final = ("long", "text", "quoted")
_NAMES: Final = ("word", "quoted")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A word of the text: its kind, its value without quotes, and the offsets at which it starts and ends."""

    kind: str
    value: str
    start: int
    end: int

    def is_mark(self, *marks: str) -> bool:
        """Return whether it is one of these marks."""
        return self.kind == "mark" and self.value in marks

    def is_word(self, *words: str) -> bool:
        """Return whether it is one of these keywords, in any case; a quoted name is not a keyword."""
        return self.kind == "word" and self.value.lower() in words


class RefEnd(NamedTuple):
    """One side of a reference; ``table`` is None for the table that contains the reference."""

    table: str | None
    columns: tuple[str, ...]


class Setting(NamedTuple):
    """A setting in brackets, its key in lower case with single blanks, its value without quotes, if it has one.

    ``ref`` is the mark and the other side of the setting ``ref``.
    """

    key: str
    text: str | None
    start: int
    ref: tuple[str, RefEnd] | None = None


Settings = tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class DbmlColumn:
    """A column; ``type`` is spelled as in the text, without quotes."""

    name: str
    type: str
    settings: Settings
    hints: Any
    start: int


@dataclass(frozen=True, slots=True)
class DbmlIndex:
    """An index; ``columns`` is empty if it covers an expression. ``text`` is its definition without settings."""

    columns: tuple[str, ...]
    settings: Settings
    text: str
    start: int

    def has(self, key: str) -> bool:
        """Return whether it has a setting."""
        return any(setting.key == key for setting in self.settings)


class Injection(NamedTuple):
    """The place of a partial's columns in a table: ``~name``."""

    name: str
    start: int


@dataclass(slots=True)
class DbmlTable:
    """A table or a partial of tables."""

    name: str
    hints: Any
    start: int
    alias: str | None = None
    settings: Settings = ()
    note: str | None = None
    members: list[DbmlColumn | Injection] = field(default_factory=list)
    indexes: list[DbmlIndex] = field(default_factory=list)

    @property
    def columns(self) -> list[DbmlColumn]:
        """The columns, including columns of partials after the file is read."""
        return [member for member in self.members if isinstance(member, DbmlColumn)]


@dataclass(frozen=True, slots=True)
class DbmlRef:
    """A reference by one of ``> < - <>``; ``name`` may be empty."""

    name: str
    left: RefEnd
    mark: str
    right: RefEnd
    settings: Settings
    start: int


@dataclass(slots=True)
class DbmlFile:
    """The declarations of a file, in its order, and the constructs that were skipped.

    ``has_imports`` tells whether it uses declarations of other files.
    """

    tables: list[DbmlTable] = field(default_factory=list)
    enums: dict[str, list[str]] = field(default_factory=dict)
    refs: list[DbmlRef] = field(default_factory=list)
    has_project: bool = False
    note: str | None = None
    hints: Any = None
    has_imports: bool = False
    losses: list[Loss] = field(default_factory=list)


def note_of(settings: Settings) -> str | None:
    """Return the text of the setting ``note``; None if it is not set."""
    return next((setting.text for setting in settings if setting.key == "note"), None)


def parse_dbml(source: Source) -> DbmlFile:
    """Parse a file; the columns of partials are put into the tables that use them."""
    source.check_size()
    return _Parser(source).file()


def _tokenize(source: Source) -> Iterator[Token]:
    """Yield the tokens; line ends and hints only outside of ``()`` and ``[]``, because inside they have no meaning."""
    text, position = source.text, 0
    opened: list[Token] = []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "unclosed":
            raise source.refuse("the string, name or comment that starts here is not closed", position)
        kind, position = str(match.lastgroup), match.end()
        token = Token(kind, _unquoted(kind, match.group()), match.start(), position)
        if token.is_mark("(", "[", "{"):
            opened.append(token)
        elif token.is_mark(")", "]", "}"):
            if not opened:
                raise source.refuse(f"`{token.value}` closes no bracket", token.start)
            bracket = opened.pop()
            if _CLOSING[bracket.value] != token.value:
                raise source.refuse(f"`{bracket.value}` is not closed", bracket.start)
        if kind in ("comment", "blank") or (kind in ("line", "hint") and opened and opened[-1].value != "{"):
            continue
        yield token
    if opened:
        raise source.refuse(f"`{opened[-1].value}` is not closed", opened[-1].start)
    yield Token("end", "", len(text), len(text))


def _unquoted(kind: str, text: str) -> str:
    match kind:
        case "long":
            body = _unescape(text[3:-3])
            if "\n" not in body:
                return body
            lines = body.strip("\n").split("\n")
            indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
            return "\n".join(line[indent:] for line in lines).strip()
        case "text" | "quoted":
            return _unescape(text[1:-1])
        case "code":
            return text[1:-1]
    return text


def _unescape(text: str) -> str:
    def character(escape: re.Match[str]) -> str:
        return chr(int(escape["code"], 16)) if escape["code"] else _ESCAPES.get(escape["other"], escape["other"])

    # Two escapes may be one character, as in UTF-16.
    return _ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = list(_tokenize(source))
        self._index = 0
        self._file = DbmlFile()
        self._partials: dict[str, DbmlTable] = {}
        self._used_partials: set[str] = set()
        self._injected_parts = 0

    # Tokens

    def _peek(self) -> Token:
        return self._tokens[self._index]

    def _next(self) -> Token:
        """Consume a token; raise an error at the end of the file, so that a loop over tokens ends."""
        token = self._tokens[self._index]
        if token.kind == "end":
            raise self._unexpected("more")
        self._index += 1
        return token

    def _following(self) -> Token:
        """Return the token after this one, on its line or below."""
        index = min(self._index + 1, len(self._tokens) - 1)
        while self._tokens[index].kind in ("line", "hint"):
            index += 1
        return self._tokens[index]

    def _skip_lines(self) -> Any:
        """Skip line ends, and return the hints in the comment above the next token."""
        hints = None
        while self._peek().kind in ("line", "hint"):
            token = self._next()
            if token.kind == "hint":
                try:
                    hints = json.loads(token.value.partition(":")[2])
                except (ValueError, RecursionError) as error:
                    raise self._source.refuse(f"the hints are not JSON: {error}", token.start) from error
        return hints

    def _unexpected(self, expected: str) -> InputError:
        token = self._peek()
        actual = {"end": "the end of the file", "line": "the end of the line"}.get(token.kind, f"`{token.value}`")
        return self._source.refuse(f"expected {expected}, got {actual}", token.start)

    def _mark(self, *marks: str) -> str:
        if not self._peek().is_mark(*marks):
            raise self._unexpected(" or ".join(f"`{mark}`" for mark in marks))
        return self._next().value

    def _accepts(self, mark: str) -> bool:
        """Consume the next token if it is a mark; return whether it was."""
        is_next = self._peek().is_mark(mark)
        self._index += is_next
        return is_next

    def _name(self) -> str:
        if self._peek().kind not in _NAMES:
            raise self._unexpected("a name")
        return self._next().value

    def _string(self) -> str:
        if self._peek().kind not in _STRINGS:
            raise self._unexpected("a string")
        return self._next().value

    def _text_since(self, start: int) -> str:
        """Return the text from an offset to the last token, on one line."""
        return " ".join(self._source.text[start : self._tokens[self._index - 1].end].split())

    def _skip_group(self) -> str:
        """Skip a bracket with its content, and return its text."""
        start, depth = self._peek().start, 0
        while True:
            token = self._next()
            depth += token.is_mark("(", "[", "{") - token.is_mark(")", "]", "}")
            if depth == 0:
                return self._text_since(start)

    def _skip_element(self, keyword: str) -> str:
        """Skip the name, settings and block of an element that no schema can hold, and return their text."""
        start, index = self._peek().start, self._index
        while not self._peek().is_mark("{"):
            if self._peek().kind in ("line", "hint") and self._following().is_mark("{"):
                self._skip_lines()
            elif self._peek().kind in ("line", "end") or self._peek().is_mark("}"):
                self._index = index
                raise self._unexpected(f"the block of `{keyword}`")
            elif self._peek().is_mark("(", "["):
                self._skip_group()
            else:
                self._next()
        self._skip_group()
        return self._text_since(start)

    # Parts of declarations

    def _path(self) -> list[str]:
        names = [self._name()]
        while self._accepts("."):
            if self._peek().is_mark("("):
                break
            names.append(self._name())
        return names

    def _full_name(self) -> str:
        """Return the name of a table or an enum; the database schema belongs to it, except for ``public``."""
        return _join(self._path())

    def _settings(self) -> Settings:
        if not self._accepts("["):
            return ()
        settings: list[Setting] = []
        while not self._accepts("]"):
            if not self._accepts(","):
                settings.append(self._setting())
                if not self._peek().is_mark(",", "]"):
                    raise self._unexpected("`,` or `]`")
        return tuple(settings)

    def _setting(self) -> Setting:
        start, words = self._peek().start, list[str]()
        while not self._peek().is_mark(":", ",", "]"):
            words.append(self._next().value.lower())
        key = " ".join(words)
        if not self._accepts(":"):
            return Setting(key, None, start)
        value = self._peek()
        if key == "ref":
            mark = self._mark(">", "<", "-", "<>")
            end = self._ref_end(is_inline=True)
            return Setting(key, self._text_since(value.start), start, (mark, end))
        if key == "note" and value.kind not in _STRINGS:
            raise self._unexpected("a string")
        count = 0
        while not self._peek().is_mark(",", "]"):
            count += 1
            if self._peek().is_mark("(", "[", "{"):
                self._skip_group()
            else:
                self._next()
        is_lone = count == 1 and value.kind != "mark"
        return Setting(key, value.value if is_lone else self._text_since(value.start) if count else "", start)

    def _block(self, statement: Callable[[Any], None]) -> None:
        """Read ``{ ... }``; ``statement`` consumes one statement in it, given the hints above it."""
        self._skip_lines()
        self._mark("{")
        hints = self._skip_lines()
        while not self._accepts("}"):
            statement(hints)
            hints = self._skip_lines()

    def _note(self) -> str | None:
        """Read ``Note: '...'`` or ``Note { '...' }``; None if the next statement is not a note."""
        if not (self._peek().is_word("note") and self._following().is_mark(":", "{")):
            return None
        self._next()
        self._skip_lines()
        if self._mark(":", "{") == ":":
            self._skip_lines()
            return self._string()
        self._skip_lines()
        text = self._string()
        self._skip_lines()
        self._mark("}")
        return text

    def _property(self) -> tuple[str, str]:
        """Read ``key: value``."""
        key = self._name()
        self._mark(":")
        if self._peek().kind in ("line", "mark", "end"):
            raise self._unexpected(f"the value of `{key}`")
        return key, self._next().value

    # Declarations

    def file(self) -> DbmlFile:
        hints = self._skip_lines()
        while self._peek().kind != "end":
            self._element(hints)
            hints = self._skip_lines()
        for table in self._file.tables:
            self._inject_partials(table)
        unused = self._partials.keys() - self._used_partials
        self._file.losses += [Loss("", "TablePartial", name) for name in self._partials if name in unused]
        return self._file

    def _element(self, hints: Any) -> None:
        keyword = self._peek()
        if keyword.kind != "word":
            raise self._unexpected("`Table`, `Enum`, `Ref` or another declaration")
        self._next()
        match keyword.value.lower():
            case "table":
                self._file.tables.append(self._table(hints))
            case "tablepartial":
                partial = self._table(hints)
                if partial.name in self._partials:
                    raise self._source.refuse(f"a second `TablePartial {partial.name}`", partial.start)
                self._partials[partial.name] = partial
            case "enum":
                self._enum()
            case "ref":
                self._ref()
            case "project":
                self._project(hints)
            case "use" | "reuse":
                self._import(keyword)
            case _:
                self._file.losses.append(Loss("", keyword.value, self._skip_element(keyword.value)))

    def _project(self, hints: Any) -> None:
        name = self._full_name() if self._peek().kind in _NAMES else None
        if self._file.has_project:
            self._file.losses.append(Loss("", "Project", name))
        self._file.has_project, self._file.hints = True, hints
        self._block(lambda _: self._project_statement())

    def _project_statement(self) -> None:
        if (note := self._note()) is not None:
            if self._file.note is not None:
                self._file.losses.append(Loss("", "note", self._file.note))
            self._file.note = note
        elif self._following().is_mark(":"):
            self._file.losses.append(Loss("", *self._property()))
        else:
            keyword = self._name()
            self._file.losses.append(Loss("", keyword, self._skip_element(keyword)))

    def _import(self, keyword: Token) -> None:
        """Skip ``use { table a } from './file'``, which declares names of another file."""
        start = self._peek().start
        if self._peek().is_mark("{"):
            self._skip_group()
        else:
            self._mark("*")
        if not self._peek().is_word("from"):
            raise self._unexpected("`from`")
        self._next()
        self._string()
        self._file.has_imports = True
        self._file.losses.append(Loss("", keyword.value, self._text_since(start)))

    def _enum(self) -> None:
        start, name = self._peek().start, self._full_name()
        if name in self._file.enums:
            raise self._source.refuse(f"a second `Enum {name}`", start)
        values = self._file.enums[name] = []
        self._report(name, self._settings())
        self._block(lambda _: self._enum_value(name, values))

    def _enum_value(self, enum: str, values: list[str]) -> None:
        if (note := self._note()) is not None:
            self._file.losses.append(Loss(enum, "note", note))
        else:
            values.append(self._name())
            self._report(f"{enum}.{values[-1]}", self._settings())

    def _report(self, holder: str, settings: Settings) -> None:
        self._file.losses += [Loss(holder, setting.key, setting.text) for setting in settings]

    def _table(self, hints: Any) -> DbmlTable:
        start = self._peek().start
        table = DbmlTable(self._full_name(), hints, start)
        if self._peek().is_word("as"):
            self._next()
            table.alias = self._name()
        table.settings = self._settings()
        table.note = note_of(table.settings)
        self._block(lambda hints: self._table_statement(table, hints))
        return table

    def _table_statement(self, table: DbmlTable, hints: Any) -> None:
        keyword, following = self._peek(), self._following()
        if (note := self._note()) is not None:
            if table.note is not None:
                self._file.losses.append(Loss(table.name, "note", table.note))
            table.note = note
        elif self._accepts("~"):
            table.members.append(Injection(self._name(), keyword.start))
        elif keyword.is_word("indexes") and following.is_mark("{"):
            self._next()
            self._block(lambda _: table.indexes.append(self._index_of()))
        elif keyword.is_word("checks", "records") and following.is_mark("{", "("):
            self._next()
            self._file.losses.append(Loss(table.name, keyword.value.lower(), self._skip_element(keyword.value)))
        elif following.is_mark(":"):
            self._file.losses.append(Loss(table.name, *self._property()))
        else:
            table.members.append(self._column(hints))

    def _index_of(self) -> DbmlIndex:
        start, columns = self._peek().start, list[str]()
        if self._accepts("("):
            is_plain = True
            while not self._accepts(")"):
                column = self._next()
                is_plain = is_plain and column.kind in _NAMES and self._peek().is_mark(",", ")")
                columns.append(column.value)
                self._accepts(",")
        else:
            if self._peek().kind not in (*_NAMES, "code"):
                raise self._unexpected("a column or an expression")
            is_plain = self._peek().kind != "code"
            columns.append(self._next().value)
        text = self._text_since(start)
        return DbmlIndex(tuple(columns) if is_plain else (), self._settings(), text, start)

    def _column(self, hints: Any) -> DbmlColumn:
        start, name = self._peek().start, self._name()
        type_ = self._type()
        settings: list[Setting] = []
        while self._peek().is_word("pk", "unique"):  # an old spelling of settings
            token = self._next()
            settings.append(Setting(token.value.lower(), None, token.start))
        settings += self._settings()
        if self._peek().kind not in ("line", "hint") and not self._peek().is_mark("}"):
            raise self._unexpected("the end of the line")
        return DbmlColumn(name, type_, tuple(settings), hints, start)

    def _type(self) -> str:
        type_ = self._full_name()
        if self._peek().is_mark("("):
            arguments = self._skip_group()
            type_ += re.sub(r"\s*,\s*", ",", f"({arguments[1:-1].strip()})")
        while self._peek().is_mark("[") and self._peek().start == self._tokens[self._index - 1].end:
            size = self._tokens[self._index + 1]
            if not (size.is_mark("]") or (size.value.isdecimal() and self._tokens[self._index + 2].is_mark("]"))):
                break
            type_ += self._skip_group()
        return type_

    # References

    def _ref(self) -> None:
        name = "" if self._peek().is_mark(":", "{") else self._full_name() if self._peek().kind in _NAMES else ""
        self._skip_lines()
        if self._peek().is_mark("{"):
            self._block(lambda _: self._ref_statement(name))
        else:
            self._mark(":", "{")
            self._ref_statement(name)

    def _ref_statement(self, name: str) -> None:
        start = self._peek().start
        sides = self._ref_end(), self._mark(">", "<", "-", "<>"), self._ref_end()
        self._file.refs.append(DbmlRef(name, *sides, self._settings(), start))

    def _ref_end(self, *, is_inline: bool = False) -> RefEnd:
        """Read ``table.column`` or ``table.(a, b)``; within a table ``column`` is one of its columns."""
        path = self._path()
        if not self._accepts("("):
            if len(path) > 1:
                return RefEnd(_join(path[:-1]), (path[-1],))
            if is_inline:
                return RefEnd(None, (path[-1],))
            raise self._unexpected("`.`")
        columns = [self._name()]
        while self._mark(",", ")") == ",":
            columns.append(self._name())
        return RefEnd(_join(path), tuple(columns))

    # Partials

    def _inject_partials(self, table: DbmlTable) -> None:
        """Add the columns, indexes and the note of partials to a table.

        A definition in the table overrides definitions in partials, a later partial overrides an earlier one.
        https://dbml.dbdiagram.io/docs/#tablepartial
        """
        injections = {member.name: member for member in table.members if isinstance(member, Injection)}
        partials = {
            name: partial for name, injection in injections.items() if (partial := self._partial(table, injection))
        }
        winners = {column.name: name for name, partial in partials.items() for column in partial.columns}
        winners |= {column.name: "" for column in table.columns}
        members: list[DbmlColumn | Injection] = []
        for member in table.members:
            if isinstance(member, DbmlColumn):
                members.append(member)
            elif injections[member.name] is member and member.name in partials:
                columns = partials[member.name].columns
                members += [column for column in columns if winners[column.name] == member.name]
        table.members = members
        settings = list(table.settings)
        indexed = {index.columns or index.text for index in table.indexes}
        for partial in reversed(partials.values()):
            table.note = partial.note if table.note is None else table.note
            settings += [setting for setting in partial.settings if setting.key != "note"]
            new_indexes = [index for index in partial.indexes if (index.columns or index.text) not in indexed]
            table.indexes += new_indexes
            indexed.update(index.columns or index.text for index in new_indexes)
        table.settings = tuple(settings)

    def _partial(self, table: DbmlTable, injection: Injection) -> DbmlTable | None:
        partial = self._partials.get(injection.name)
        if partial is None and not self._file.has_imports:
            raise self._source.refuse(f"`TablePartial {injection.name}` does not exist", injection.start)
        if partial is None:
            self._file.losses.append(Loss(table.name, "partial", injection.name))
        else:
            self._used_partials.add(injection.name)
            self._injected_parts += len(partial.members) + len(partial.indexes) + len(partial.settings)
            if self._injected_parts > MAX_REPEATED_NODES:
                message = f"partials add more than {MAX_REPEATED_NODES:,} columns, indexes and settings"
                raise self._source.refuse(message, injection.start)
            nested = next((member for member in partial.members if isinstance(member, Injection)), None)
            if nested is not None:
                raise self._source.refuse("a `TablePartial` cannot use another `TablePartial`", nested.start)
        return partial


def _join(path: Iterable[str]) -> str:
    names = list(path)
    return ".".join(names[1:] if len(names) > 1 and names[0] == "public" else names)
