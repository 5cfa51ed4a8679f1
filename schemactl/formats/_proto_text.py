"""Reads ``.proto`` files (proto2, proto3 and editions): messages, enums, fields and their comments.

https://protobuf.dev/reference/protobuf/proto3-spec. Statements that say nothing of messages (services, extensions,
options) are kept as texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from schemactl.errors import InputError
from schemactl.trees.nodes import MAX_DEPTH, Source

_TOKEN: Final = re.compile(
    r"""\s+|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>\.?[A-Za-z_][\w.]*)|(?P<number>[-+]?\.?\d[\w.+-]*)|(?P<mark>[{}\[\]()<>;=,:.])""",
    re.DOTALL | re.ASCII,
)
_INTEGER: Final = re.compile(r"(?P<sign>[-+]?)(?P<digits>0[xX][0-9a-fA-F]{1,8}|0[0-7]{0,11}|[1-9][0-9]{0,9})")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


class Token(NamedTuple):
    """A word, number, text or mark with the comment above it; ``kind`` is empty at the end."""

    kind: str
    text: str
    start: int
    comment: str
    trailing: str
    """The comment behind the token before, on its line."""


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field as declared; its label is ``optional``, ``required``, ``repeated``, ``map``, ``oneof``, or empty.

    ``key`` is the type of the keys of a map.
    """

    name: str
    type: str
    label: str
    number: int
    options: dict[str, str]
    comment: str
    key: str = "string"


class Statement(NamedTuple):
    """A statement that is not read further: its first word, and its text without that."""

    word: str
    text: str


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """An enum: the numbers of its values in order, and its other statements and the options of values."""

    name: str
    values: tuple[tuple[str, int], ...]
    unread: tuple[Statement, ...] = ()


@dataclass(slots=True)
class Message:
    """A message, or the file itself, while it is read."""

    name: str
    comment: str = ""
    fields: list[ProtoField] = field(default_factory=list)
    numbers: dict[int, str] = field(default_factory=dict)
    """The names of the fields by their numbers."""
    messages: dict[str, Message] = field(default_factory=dict)
    enums: dict[str, ProtoEnum] = field(default_factory=dict)
    reserved: list[str] = field(default_factory=list)
    """Numbers and names that no field may have, as in the file."""
    unread: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """The declarations of a file, and the comment above the first statement.

    ``syntax`` is ``proto2``, ``proto3``, or the year of an edition.
    """

    package: str
    comment: str
    root: Message
    syntax: str


def parse_proto(source: Source) -> ProtoFile:
    """Return the declarations of a file."""
    return _Parser(source).file()


def _tokens(source: Source) -> Iterator[Token]:
    text, position, comments, trailing, last_end = source.text, 0, list[str](), "", -1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise source.refuse("this is not understood", position)
        position = match.end()
        if match["comment"] is not None:
            if last_end >= 0 and "\n" not in text[last_end : match.start()] and not comments:
                trailing = _plain(match["comment"])
            else:
                comments.append(_plain(match["comment"]))
        elif match.lastgroup is None:
            if match.group().count("\n") > 1:  # a comment between blank lines belongs to nothing
                comments = []
        else:
            yield Token(match.lastgroup, match.group(), match.start(), "\n".join(comments), trailing)
            comments, trailing, last_end = [], "", position
    yield Token("", "", len(text), "\n".join(comments), trailing)


def _plain(comment: str) -> str:
    if comment.startswith("//"):
        return comment[2:].removeprefix(" ").rstrip("\r")
    lines = [line.strip().removeprefix("*").strip() for line in comment[2:-2].split("\n")]
    return "\n".join(line for line in lines if line)


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = list(_tokens(source))
        self._at = 0

    def file(self) -> ProtoFile:
        comment, package, syntax = self._peek().comment, "", "proto2"
        root = Message("")
        while self._peek().kind:
            word = self._peek().text
            if word in ("syntax", "edition"):
                self._next()
                self._mark("=")
                syntax = self._next().text.strip("'\"")
                self._mark(";")
            elif word == "package":
                self._next()
                package = self._next().text
                self._mark(";")
            else:
                self._statement(root, 0, is_file=True)
        return ProtoFile(package, comment, root, syntax)

    def _statement(self, into: Message, depth: int, *, is_file: bool = False) -> None:  # noqa: C901, PLR0912 - a case each
        token = self._peek()
        if depth > MAX_DEPTH:
            raise self._source.refuse_depth(token.start)
        follows = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        match token.text:
            case ";":
                self._next()
            case "message" if follows.kind == "word":
                self._message(into, depth)
            case "enum" if follows.kind == "word":
                self._enum(into)
            case "oneof" if not is_file and follows.kind == "word":
                self._next()
                self._next()
                self._mark("{")
                while not self._accepts("}"):
                    if self._peek().text == "option":
                        into.unread.append(self._read_statement())
                    else:
                        self._declare(into, "oneof", self._peek().comment, self._word(), depth=depth)
            case "reserved" if not is_file:
                into.reserved.append(self._read_statement().text)
            case "import" if is_file:
                self._skip()
            case "option" | "extensions" | "extend" | "service":
                into.unread.append(self._read_statement())
            case _ if is_file:
                raise self._refused(token, "`message`, `enum` or another declaration")
            case "optional" | "required" | "repeated" if follows.kind == "word":
                self._next()
                self._declare(into, token.text, token.comment, self._word(), depth=depth)
            case "map" if follows.text == "<":
                self._next()
                self._mark("<")
                key = self._word()
                self._mark(",")
                of = self._word()
                self._mark(">")
                self._declare(into, "map", token.comment, of, key)
            case _:
                self._declare(into, "", token.comment, self._word())

    def _message(self, parent: Message, depth: int) -> None:
        comment = self._next().comment
        self._body(parent, Message(self._word(), comment), depth)

    def _body(self, parent: Message, message: Message, depth: int) -> None:
        """Read the statements of a message in braces."""
        self._mark("{")
        while not self._accepts("}"):
            if not self._peek().kind:
                raise self._refused(self._peek(), "`}`")
            self._statement(message, depth + 1)
        parent.messages[message.name] = message

    def _enum(self, into: Message) -> None:
        self._next()
        name = self._word()
        self._mark("{")
        values, unread = dict[str, int](), list[Statement]()
        while not self._accepts("}"):
            token = self._next()
            if token.text in ("option", "reserved") and self._peek().text != "=":
                self._at -= 1
                unread.append(self._read_statement())
            elif token.text != ";":
                if token.kind != "word":
                    raise self._refused(token, "a value of the enum")
                self._mark("=")
                values[token.text] = self._integer()
                options = self._options() if self._peek().text == "[" else {}
                unread += (Statement(f"{token.text}.{option}", value) for option, value in options.items())
                self._mark(";")
        into.enums[name] = ProtoEnum(name, tuple(values.items()), tuple(unread))

    def _integer(self) -> int:
        token = self._next()
        if token.kind != "number" or (match := _INTEGER.fullmatch(token.text)) is None:
            raise self._refused(token, "the number of a value")
        digits = match["digits"].lower()
        base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
        return int(digits, base) * (-1 if match["sign"] == "-" else 1)

    def _declare(
        self, holder: Message, label: str, comment: str, type_name: str, key: str = "string", depth: int = 0
    ) -> None:
        """Add the field with the next name to a message."""
        name = self._word()
        self._mark("=")
        number = self._next()
        if number.kind != "number" or not number.text.isdecimal():
            raise self._refused(number, "the number of a field")
        holder_name = holder.numbers.setdefault(int(number.text), name)
        if len(holder.numbers) == len(holder.fields):
            message = f"`{name}` has the same number as `{holder_name}` in this message: {number.text}"
            raise self._source.refuse(message, number.start, "use a different number")
        options = self._options() if self._peek().text == "[" else {}
        if type_name == "group" and self._peek().text == "{":  # proto2: a message and a field in one
            self._body(holder, Message(name), depth)
            type_name, name, options = name, name.lower(), {**options, "group": name}
        else:
            self._mark(";")
        comment = comment or self._peek().trailing
        holder.fields.append(ProtoField(name, type_name, label, int(number.text), options, comment, key))

    def _options(self) -> dict[str, str]:
        options: dict[str, str] = {}
        self._next()
        while True:
            name = ""
            while not self._accepts("="):
                name += self._next_inside().text
            value, depth = "", 0
            while depth or self._peek().text not in (",", "]"):
                token = self._next_inside()
                depth += (token.text in "{[" and token.kind == "mark") - (token.text in "}]" and token.kind == "mark")
                value += _ESCAPE.sub(r"\1", token.text[1:-1]) if token.kind == "string" else token.text
            options[name] = value
            if self._next().text == "]":
                return options

    def _next_inside(self) -> Token:
        token = self._next()
        if not token.kind:
            raise self._refused(token, "`]`")
        return token

    def _read_statement(self) -> Statement:
        """Step over a statement and return it."""
        word = self._peek()
        start = word.start + len(word.text)
        self._skip()
        end = self._tokens[self._at - 1].start
        return Statement(word.text, " ".join(self._source.text[start:end].split()))

    def _skip(self) -> None:
        """Step over a statement: up to its semicolon, or past its braces."""
        depth = 0
        while True:
            token = self._next()
            if not token.kind:
                raise self._refused(token, "`;`")
            if token.text in "{}" and token.kind == "mark":
                depth += 1 if token.text == "{" else -1
                if depth == 0 and self._peek().text != ";":
                    return
            elif token.text == ";" and depth == 0:
                return

    def _word(self) -> str:
        token = self._next()
        if token.kind != "word":
            raise self._refused(token, "a name")
        return token.text

    def _mark(self, mark: str) -> None:
        token = self._next()
        if token.text != mark:
            raise self._refused(token, f"`{mark}`")

    def _accepts(self, mark: str) -> bool:
        """Consume the next token if it is a mark; return whether it was."""
        is_next = self._peek().text == mark
        self._at += is_next
        return is_next

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _refused(self, token: Token, expected: str) -> InputError:
        found_text = f"`{token.text}`" if token.kind else "the end of the file"
        return self._source.refuse(f"expected {expected}, found {found_text}", token.start)
