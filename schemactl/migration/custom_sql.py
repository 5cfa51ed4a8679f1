"""Custom SQL in a folder of migrations: a file runs before, after or instead of a step.

`0007_add_amount.postgresql.2.before.sql` runs before step 2. Comments divide a file into conditions (``-- schemactl:
precondition``), statements (``-- schemactl: run``, or no comment) and their undo (``-- schemactl: undo``). This module
handles texts and values; flows read the folder and run the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError, Location, nearest_or_all

if TYPE_CHECKING:
    from sqlglot import Token

DATASET: Final = "${dataset}"
"""The placeholder in custom SQL for the dataset of the destination, quoted."""

_SAME_LENGTH: Final = '"dataset_"'
"""Replaces ``DATASET`` while a text is split into statements: a name whose length keeps all positions."""

_MARKER: Final = re.compile(r"--[ \t]*schemactl[ \t]*:(?P<section>[^\n]*)")
_BETWEEN: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)*")
"""Comments and blanks. Nested comments do not match: dialects disagree about their end."""

_RUN, _UNDO, _PRECONDITION = "run", "undo", "precondition"
_SECTIONS: Final = (_PRECONDITION, _RUN, _UNDO)
_OF_TRANSACTIONS: Final = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE")
_BODIES: Final[Mapping[str, tuple[frozenset[str], tuple[str, ...]]]] = {
    "sqlite": (frozenset(("TRIGGER",)), ("BEGIN",)),
    "postgresql": (frozenset(("FUNCTION", "PROCEDURE")), ("BEGIN", "ATOMIC")),
}
"""Statements that have a body of statements which end with `;`, and how the body begins, by dialect."""
_QUERIES: Final = frozenset(("SELECT", "WITH", "VALUES", "FROM", "TABLE", "("))
_SQLGLOT: Final[Mapping[str, str]] = {"postgresql": "postgres"}
"""How sqlglot calls a dialect if its name differs."""


class When(StrEnum):
    """The time at which custom SQL runs, relative to its step; in this order."""

    BEFORE = "before"
    INSTEAD = "instead"
    AFTER = "after"

    @property
    def words(self) -> str:
        """The words before the step in a sentence."""
        return "instead of" if self is When.INSTEAD else str(self)


@dataclass(frozen=True, slots=True)
class OwnSql:
    """The statements of one file, which run in the transaction of its step.

    Attributes:
        number: of the step, from 1.
        statements: to run; ``DATASET`` is the placeholder for the dataset.
        undo: the statements that undo them; None if the file does not declare an undo.
        precondition: a query that must return rows, or the migration stops before this file.
    """

    file: str
    number: int
    when: When
    statements: tuple[str, ...] = ()
    undo: tuple[str, ...] | None = None
    precondition: str | None = None

    @property
    def is_undoable(self) -> bool:
        """Whether its statements can be undone."""
        return self.undo is not None or not self.statements

    @property
    def as_undo(self) -> OwnSql:
        """The SQL that runs around the undo of the step: after it, if this runs before the step."""
        when = {When.BEFORE: When.AFTER, When.AFTER: When.BEFORE}.get(self.when, self.when)
        return OwnSql(self.file, self.number, when, self.undo or (), self.statements)

    @property
    def is_empty(self) -> bool:
        """Whether nothing runs and nothing is asked."""
        return not self.statements and self.precondition is None


def draft_own(runs: Sequence[str], undoes: Sequence[str], comment: str) -> str:
    """Return the text of a custom SQL file: the statements that run, and the statements that undo them."""
    sections = ((_RUN, runs), (_UNDO, undoes))
    texts = (f"-- schemactl: {name}\n" + "".join(f"{sql};\n" for sql in statements) for name, statements in sections)
    return f"-- {comment}\n\n" + "\n".join(texts)


def read_own(text: str, file: str, number: int, when: When, dialect: str) -> OwnSql:
    """Read a file of custom SQL."""
    text = text.replace("\r\n", "\n")
    tokens = _tokens(text, file, dialect)
    bounds = list(_bounds(text, tokens, file))
    sections: dict[str, list[str]] = {}
    for section, start, end in bounds:
        if section in sections:
            raise _wrong(f"there are two sections `{section}`", text, file, start, "merge the two sections")
        section_tokens = [token for token in tokens if start <= token.start < end]
        sections[section] = list(_statements(text, section_tokens, file, dialect))
    query = sections.get(_PRECONDITION)
    if query is not None and (len(query) != 1 or not query[0].upper().startswith(tuple(_QUERIES))):
        start = next(start for section, start, _ in bounds if section == _PRECONDITION)
        hint = "write `SELECT 1 FROM ... WHERE ...`: it must return rows"
        raise _wrong("a precondition must be one query", text, file, start, hint)
    if when is When.INSTEAD and not sections[_RUN]:
        hint = "if the dialect needs no custom SQL, use an empty `before` file"
        raise _wrong("the file has no statement to run instead of the step", text, file, 0, hint)
    undo = tuple(sections[_UNDO]) if _UNDO in sections else None
    return OwnSql(file, number, when, tuple(sections[_RUN]), undo, query[0] if query else None)


def _tokens(text: str, file: str, dialect: str) -> list[Token]:
    if not text.strip():
        return []
    from sqlglot import Dialect
    from sqlglot.errors import TokenError

    dialect_class = Dialect.get(_SQLGLOT.get(dialect, dialect)) or Dialect
    try:
        tokens: list[Token] = dialect_class().tokenize(text.replace(DATASET, _SAME_LENGTH))
    except TokenError as error:
        hint = "check for an open quote, `$$` or `/*`"
        raise InputError(f"this is not SQL: {error}", at=Location(file), hint=hint) from None
    return tokens


def _bounds(text: str, tokens: Sequence[Token], file: str) -> Iterator[tuple[str, int, int]]:
    """Yield the sections of a text with their bounds; text above the first marker runs."""
    matches = _MARKER.finditer(text)
    markers = [marker for marker in matches if not any(token.start < marker.start() <= token.end for token in tokens)]
    starts: list[tuple[str, int]] = []
    for marker in markers:
        section = marker["section"].strip()
        if section not in _SECTIONS:
            hint = nearest_or_all(section, _SECTIONS)
            raise _wrong(f"there is no section `{section}`", text, file, marker.start(), hint)
        before = max((token.end + 1 for token in tokens if token.start < marker.start()), default=0)
        line = text[: marker.start()].rpartition("\n")[2]
        if line.strip() or not _BETWEEN.fullmatch(text, before, marker.start()):
            message = "this marker is not at the start of a line, or is in a comment"
            raise _wrong(message, text, file, marker.start(), "put it on a separate line")
        starts.append((section, marker.end()))
    first = markers[0].start() if markers else len(text)
    if not any(section == _RUN for section, _ in starts):
        yield _RUN, 0, first
    elif any(token.start < first for token in tokens):
        hint = f"move them below `-- schemactl: {_RUN}`"
        raise _wrong("there are statements above the first section", text, file, 0, hint)
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    yield from ((section, start, end) for (section, start), end in zip(starts, ends, strict=False))


def _statements(text: str, tokens: Sequence[Token], file: str, dialect: str) -> Iterator[str]:
    """Yield the statements of a section, without their semicolons."""
    from sqlglot import TokenType

    statement: list[Token] = []
    words: list[str] = []
    depth = 0  # in the body of a trigger or a function
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON or depth:
            statement.append(token)
            words.append(text[token.start : token.end + 1].upper())
            if depth:
                depth += (words[-1] in ("BEGIN", "CASE")) - (words[-1] == "END")
            else:
                depth = int(_begins(words, dialect))
        elif statement:
            yield _checked(text, statement, file)
            statement, words = [], []
    if depth:
        hint = "end the body of the trigger, or function"
        raise _wrong("a `BEGIN` has no `END`", text, file, statement[0].start, hint)
    if statement:
        yield _checked(text, statement, file)


def _begins(words: Sequence[str], dialect: str) -> bool:
    """Return whether a body begins with the last of the words of a statement."""
    kinds, beginning = _BODIES.get(dialect, (frozenset(), ()))
    is_body = bool(beginning) and tuple(words[-len(beginning) :]) == beginning
    return is_body and words[0] == "CREATE" and not kinds.isdisjoint(words[:5])


def _checked(text: str, statement: Sequence[Token], file: str) -> str:
    first = statement[0]
    word = text[first.start : first.end + 1].upper()
    if word in _OF_TRANSACTIONS:
        hint = "remove it: custom SQL runs in the transaction of its step"
        raise _wrong(f"`{word}` is about transactions", text, file, first.start, hint)
    return text[first.start : statement[-1].end + 1]


def _wrong(message: str, text: str, file: str, offset: int, hint: str | None) -> InputError:
    return InputError(message, at=Location(file, text.count("\n", 0, offset) + 1), hint=hint)
