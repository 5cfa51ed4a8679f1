"""Splits SQL scripts and database dumps into statements, so that an unparsable statement hides no other statement."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.tokenizer_core import Token

from schemactl.type_systems.sql_types import readable

_MYSQL: Final = frozenset(("mysql", "doris", "starrocks", "singlestore"))
_POSTGRES: Final = frozenset(("postgres", "redshift", "materialize", "risingwave"))

_NEVER: Final = 999_999
"""The version of a conditional comment that no server runs: MariaDB's dumps begin with one."""

_SHELL_COMMAND: Final = {
    **dict.fromkeys(_MYSQL, re.compile(r"delimiter[ \t]+(?P<delimiter>\S+)[^\n]*", re.IGNORECASE)),
    **dict.fromkeys(_POSTGRES, re.compile(r"\\[^\n]*")),
    "sqlite": re.compile(r"\.[a-z][^\n]*"),
}
"""Commands of a database's shell between statements: each takes a line."""

_SEPARATOR_LINE: Final = {
    "tsql": re.compile(r"^[ \t]*go[ \t]*\r?$", re.IGNORECASE | re.MULTILINE),
    "oracle": re.compile(r"^[ \t]*/[ \t]*\r?$", re.MULTILINE),
}
"""Lines that end a statement, semicolons within it or not."""

_NEXT_TABLE: Final = dict.fromkeys(
    ("tsql", "fabric"), re.compile(r"^[ \t]*(?:create|alter)\s+table\b", re.IGNORECASE | re.MULTILINE)
)
"""Lines that begin a statement on a table in dialects whose statements need no semicolon."""

_COPIES_INPUT: Final = re.compile(r"copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
_END_OF_INPUT: Final = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)

_ROUTINE: Final = re.compile(
    r"(?:create|alter)\s+(?:(?!(?:table|view|index|type|domain|schema|sequence)\b)\S+\s+){0,4}?"
    r"(?:trigger|procedure|function|event|package)\b",
    re.IGNORECASE,
)
_BLOCK: Final = re.compile(r"(?P<begin>begin|case)\b|end\b(?P<inner>\s+(?:if|loop|while|repeat|for)\b)?", re.IGNORECASE)
_CREATES_TABLE: Final = re.compile(
    r"create(?:\s+or\s+replace)?(?:\s+(?:global|local|temp|temporary|unlogged|external|transient|volatile|multiset|set"
    r"|foreign|column|row))*\s+table\b",
    re.IGNORECASE,
)
_ALTERS_TABLE: Final = re.compile(r"alter\s+table\b", re.IGNORECASE)
_ADDS_COLUMNS: Final = re.compile(r"alter\s+table\b.*?\sadd\s+columns?\b", re.IGNORECASE)
_OTHER_TABLE: Final = re.compile(r"\b(?:create|alter)\s+(?:\w+\s+)?table\b", re.IGNORECASE)
_MAY_DEFINE: Final = re.compile(r"(?:alter|create|comment)\b", re.IGNORECASE)
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement or a shell command of a script: its SQL with the comments before it, and its words without them.

    The SQL has no delimiter after it. ``sql_line`` is its first line, ``line`` that of its first word, from 1.
    """

    sql: str
    sql_line: int
    line: int
    text: str


class UnreadTable(Exception):
    """A statement on a table that sqlglot does not parse; ``line`` is the line of the fault in the script."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def parse_statement(statement: Statement, name: str, dialect: Dialect) -> exp.Expr:
    """Return a statement as sqlglot reads it, with its line as ``meta["place"]``.

    A statement that sqlglot does not parse becomes a command. Clauses after the columns of CREATE TABLE that sqlglot
    does not parse become one property.

    Raises:
        UnreadTable: sqlglot does not parse a statement that creates or alters a table.
    """
    tree: exp.Expr | None = None
    failure = UnreadTable("sqlglot does not read this statement", statement.line)
    if _MAY_DEFINE.match(statement.text):
        try:
            tree = _parse(statement, statement.sql, name, dialect)
        except UnreadTable as error:
            failure = error
    creates_table = _CREATES_TABLE.match(statement.text)
    if creates_table and not isinstance(tree, exp.Create):
        tree = _parse_columns(statement, name, dialect)
    if isinstance(tree, exp.Command) and _ADDS_COLUMNS.match(statement.text):
        tree = None
    if tree is None and (creates_table or _ALTERS_TABLE.match(statement.text)):
        raise failure
    if tree is None or isinstance(tree, exp.Command):
        if (line := _hidden_table_line(statement, name)) is not None:
            raise UnreadTable("CREATE TABLE begins within another statement, maybe as a semicolon is missing", line)
        tree = exp.Command(this=statement.text)
    tree.meta["place"] = f"line {statement.line}"
    return tree


def _hidden_table_line(statement: Statement, name: str) -> int | None:
    """Return the line of the first CREATE TABLE that begins a line of another statement; None if no line does.

    Routines are ignored because they may create tables themselves.
    """
    if not _OTHER_TABLE.search(statement.text) or _ROUTINE.match(statement.text):
        return None
    try:
        tokens = sqlglot.tokenize(statement.sql, read=name)
    except TokenError:
        return None
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        kinds = (token.token_type.name, after.token_type.name)
        if kinds == ("CREATE", "TABLE") and "\n" in statement.sql[before.end : token.start]:
            return statement.sql_line - 1 + token.line
    return None


def tokens_of(statement: Statement, name: str) -> list[Token]:
    """Return the tokens of a statement that may define something; no tokens if sqlglot cannot tell them apart."""
    try:
        return sqlglot.tokenize(statement.sql, read=name) if _MAY_DEFINE.match(statement.text) else []
    except TokenError:
        return []


def _parse(statement: Statement, sql: str, name: str, dialect: Dialect) -> exp.Expr | None:
    """Return SQL of a statement as sqlglot reads it; None if it is more or less than one statement."""
    try:
        trees = [tree for tree in dialect.parse(readable(sql, name)) if tree is not None]
    except ParseError as error:
        details = (error.errors or [{}])[0]
        # sqlglot would show its token, as Python does.
        reason = (details.get("description") or str(error).splitlines()[0]).partition(" but got <Token ")[0]
        raise UnreadTable(reason, statement.sql_line - 1 + (details.get("line") or 1)) from error
    except SqlglotError as error:
        raise UnreadTable(str(error).splitlines()[0], statement.line) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnreadTable(f"sqlglot fails to parse this: {error}", statement.line) from error
    return trees[0] if len(trees) == 1 else None


def parse_definition(table: str, sql: str, name: str, dialect: Dialect) -> tuple[exp.Expr | None, list[str]]:
    """Return a vendor-specific statement for a table without the parts that sqlglot does not parse, and these parts.

    Of CREATE TABLE the columns and constraints are left out that sqlglot does not parse; None if nothing is left.
    """
    statement = Statement(sql, 1, 1, " ".join(sql.split()))
    try:
        tree: exp.Expr | None = parse_statement(statement, name, dialect)
        unread: list[str] = []
    except (UnreadTable, RecursionError):
        tree, unread = _parse_known_columns(statement, name, dialect)
    if tree is not None:
        tree.meta["place"] = table
    return tree, unread


def _parse_known_columns(statement: Statement, name: str, dialect: Dialect) -> tuple[exp.Expr | None, list[str]]:
    """Return CREATE TABLE with the columns and constraints that sqlglot can parse one by one, and the unparsed ones."""
    if (parts := _split_columns(statement, name)) is None:
        return None, [statement.text]
    start, columns, clauses = parts
    unread: list[str] = []
    for column in columns:
        try:
            parse_statement(replace(statement, sql=f"{start}({column})"), name, dialect)
        except (UnreadTable, RecursionError):
            unread.append(column)
    readable_columns = ", ".join(column for column in columns if column not in unread)
    try:
        return parse_statement(replace(statement, sql=f"{start}({readable_columns}) {clauses}"), name, dialect), unread
    except (UnreadTable, RecursionError):
        return None, [statement.text]


def _parse_columns(statement: Statement, name: str, dialect: Dialect) -> exp.Create | None:
    """Return CREATE TABLE with all clauses after its columns as one property; None if the columns cannot be parsed."""
    if (parts := _split_columns(statement, name)) is None:
        return None
    start, columns, clauses = parts
    try:
        table = _parse(statement, f"{start}({', '.join(columns)})", name, dialect)
    except UnreadTable:
        return None
    if not clauses or _OTHER_TABLE.search(clauses) or not isinstance(table, exp.Create):
        return None
    properties = [*(table.args.get("properties") or ()), exp.Var(this=clauses)]
    table.set("properties", exp.Properties(expressions=properties))
    return table


def _split_columns(statement: Statement, name: str) -> tuple[str, list[str], str] | None:
    """Return the head of CREATE TABLE, its columns and constraints, and its tail, on one line."""
    depth, sql = 0, statement.sql
    columns: list[str] = []
    column: list[Token] = []
    for token in tokens_of(statement, name):
        kind = token.token_type.name
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(kind, 0)
        if kind == "L_PAREN" and depth == 1:
            start = sql[: token.start]
        elif (kind == "COMMA" and depth == 1) or (kind == "R_PAREN" and depth == 0):
            columns.append(sql[column[0].start : column[-1].end + 1] if column else "")
            column = []
            if kind == "R_PAREN":
                return start, columns, " ".join(sql[token.end + 1 :].split())
        elif depth:
            column.append(token)
    return None


def split_statements(script: str, name: str, dialect: Dialect) -> Iterator[Statement]:
    """Yield the statements of a script, maybe with commands of a database's shell.

    Rows of PostgreSQL's COPY are left out. Of MySQL's conditional comments the content counts. The body of a routine
    belongs to its statement.
    """
    return _Splitter(script, name, _token_pattern(name, type(dialect))).statements()


class _Splitter:
    """Reads a script once, from its beginning to its end."""

    def __init__(self, script: str, name: str, token_pattern: re.Pattern[str]) -> None:
        self._script, self._name, self._token_pattern = script, name, token_pattern
        self._line_ends = [match.start() for match in re.finditer("\n", script)]
        self._position = 0
        self._delimiter = ";"
        self._is_conditional = False
        self._begin_statement()

    def _begin_statement(self) -> None:
        self._parts: list[str] = []
        self._first_part: int | None = None  # that is not a comment
        self._first_position = self._block_depth = 0

    def statements(self) -> Iterator[Statement]:
        """Yield the statements."""
        separator_line = _SEPARATOR_LINE.get(self._name)
        while self._position < len(self._script):
            if command := self._shell_command():
                self._position = command.end()
                if "delimiter" in command.re.groupindex:
                    self._delimiter = command["delimiter"]
                else:
                    self._add(command[0], command.start())
                    yield self._end_statement()
                continue
            if self._begins_table():
                yield self._end_statement()
            separator = separator_line.match(self._script, self._position) if separator_line else None
            if separator or (self._block_depth == 0 and self._script.startswith(self._delimiter, self._position)):
                self._position = separator.end() if separator else self._position + len(self._delimiter)
                if self._first_part is not None:
                    yield (statement := self._end_statement())
                    self._skip_input(statement)
            else:
                self._read_token()
        if self._first_part is not None:
            yield self._end_statement()

    def _shell_command(self) -> re.Match[str] | None:
        """Return the shell command at the position; None within a statement."""
        pattern = _SHELL_COMMAND.get(self._name)
        return pattern.match(self._script, self._position) if pattern and self._first_part is None else None

    def _begins_table(self) -> bool:
        """Return whether a statement on a table begins at the position, after one without a semicolon."""
        pattern = _NEXT_TABLE.get(self._name)
        if pattern is None or self._first_part is None or self._block_depth:
            return False
        words = "".join(self._parts[self._first_part :])
        return pattern.match(self._script, self._position) is not None and not _ROUTINE.match(words)

    def _skip_input(self, statement: Statement) -> None:
        """Skip the rows after PostgreSQL's ``COPY ... FROM stdin``."""
        if self._name in _POSTGRES and _COPIES_INPUT.match(statement.text):
            end = _END_OF_INPUT.search(self._script, self._position)
            self._position = end.end() if end else len(self._script)

    def _read_token(self) -> None:
        if self._is_conditional and self._script.startswith("*/", self._position):
            self._is_conditional = False
            self._parts.append("  ")
            self._position += 2
            return
        token = self._token_pattern.match(self._script, self._position)
        assert token is not None, "the pattern matches any character"
        self._position = token.end()
        if token["version"] is not None and self._name in _MYSQL and int(token["version"] or 0) < _NEVER:
            self._is_conditional = True
            self._parts.append(" " * len(token[0]))
        elif token["block_comment"]:
            self._position = _end_of_comment(self._script, token.start())
            self._parts.append(self._script[token.start() : self._position])
        elif token["line_comment"] or token["blanks"]:
            self._parts.append(token[0])
        else:
            block = _BLOCK.match(self._script, token.start()) if token["word"] and self._delimiter == ";" else None
            if block and self._first_part is not None and _ROUTINE.match("".join(self._parts[self._first_part :])):
                step = 1 if block["begin"] else 0 if block["inner"] else -1
                self._block_depth = max(self._block_depth + step, 0)
                self._position = block.end()
            self._add(self._script[token.start() : self._position], token.start())

    def _add(self, words: str, position: int) -> None:
        if self._first_part is None:
            self._first_part, self._first_position = len(self._parts), position
        self._parts.append(words)

    def _end_statement(self) -> Statement:
        sql, words = "".join(self._parts), "".join(self._parts[self._first_part :])
        line = bisect_left(self._line_ends, self._first_position) + 1
        sql_line = line - "".join(self._parts[: self._first_part]).count("\n")
        self._begin_statement()
        return Statement(sql, sql_line, line, " ".join(words.split()))


@cache
def _token_pattern(name: str, dialect: type[Dialect]) -> re.Pattern[str]:
    """Return the pattern of comments, quoted text, words and single characters of a dialect."""
    tokenizer = dialect.tokenizer_class
    has_escapes = "\\" in tokenizer.STRING_ESCAPES
    plain, escaped = (r"[^{}\\]", r"|\\.") if has_escapes else (r"[^{}]", "")
    quoted = [f"{mark}(?:{plain.format(mark)}|{mark}{mark}{escaped})*{mark}" for mark in ("'", '"', "`")]
    if name in _POSTGRES:
        quoted.insert(0, r"[eE]'(?:[^'\\]|''|\\.)*'")
    if name == "bigquery":
        quoted[:0] = [r'"""(?:[^\\]|\\.)*?"""', r"'''(?:[^\\]|\\.)*?'''"]
    if "[" in str(tokenizer.IDENTIFIERS):
        quoted.append(r"\[[^\]]*\]")
    if tokenizer.HEREDOC_STRINGS or "$$" in str(tokenizer.RAW_STRINGS):
        quoted.append(r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$")
    line_comments = "|".join(re.escape(mark) for mark in tokenizer.COMMENTS if isinstance(mark, str))
    return re.compile(
        rf"(?P<line_comment>(?:{line_comments})[^\n]*)|(?P<block_comment>/\*(?:M?!(?P<version>\d*))?)"
        rf"|(?P<quoted>{'|'.join(quoted)})|(?P<word>[^\W\d]\w*)|(?P<blanks>\n|[^\S\n]+)|[\w(),.]+|.",
        re.DOTALL,
    )


def _end_of_comment(script: str, start: int) -> int:
    """Return the end of a block comment, which may be nested; the end of the script if the comment is not closed."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(script, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(script)
