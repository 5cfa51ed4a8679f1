"""Which columns of a schema's tables a SQL text uses: its statements, one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from schemactl.errors import InputError
from schemactl.garbage_collection import paused_collector
from schemactl.readers.relations import Relation
from schemactl.readers.statements import StatementWalk
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import names_any_table
from schemactl.readers.uses import MAX_SECONDS, TOO_LONG, Uses
from schemactl.review.readers import Clause
from schemactl.time_limit import time_limit
from schemactl.type_systems.sql_fields import unlogged

MAX_CHARACTERS: Final = 500_000
"""A parsed statement of this size takes some 200 MB."""

MAX_DEPTH: Final = 100
"""Of parentheses, brackets and CASE in each other."""

_FRAMES: Final = 60 * MAX_DEPTH
"""Calls of functions in each other that a text of this depth takes."""


def find_uses(text: str, tables: ReadTables, dialect: str | None) -> Uses:
    """Return the uses in a SQL text of one or several statements.

    Args:
        text: SQL without templates.
        tables: the tables to look for.
        dialect: sqlglot's name; None for an unknown dialect.
    """
    walk = StatementWalk(tables, dialect)
    try:
        if len(text) > MAX_CHARACTERS:
            raise InputError(f"SQL of more than {MAX_CHARACTERS:,} characters")
        # The nodes of a tree name their parents: the collector would look for them again and again.
        with (
            _deep_calls(),
            paused_collector(),
            time_limit(MAX_SECONDS, lambda: InputError(TOO_LONG), of_processor=True),
        ):
            _walk_text(text, walk)
    except InputError as error:
        walk = StatementWalk(tables, dialect)
        walk.blind_text(text, error.message, None)
    columns = []
    for use in sorted(walk.uses, key=lambda use: use.line or 0):
        cast = use.cast and (use.cast.target.value, use.cast.has_time_zone, use.cast.is_operand)
        columns.append((use.table, use.column, use.clause.value, use.is_computed, use.is_positional, cast, use.line))
    return {
        "tables": [list(row) for row in walk.table_uses],
        "columns": [list(row) for row in dict.fromkeys(columns)],
        "blind": [list(row) for row in walk.blind],
        "outputs": _output_rows(walk.result),
        "created": [[dataset, name, _output_rows(relation)] for (dataset, name), relation in walk.shared.items()],
    }


def _output_rows(relation: Relation) -> list[list[Any]]:
    """Return the columns that a result passes on: (output, table, column, is_named)."""
    return [
        [output.spelling or output.name, passage.table, passage.column, passage.clause is not Clause.STAR]
        for output in relation.outputs
        for passage in output.passages
    ]


@contextmanager
def _deep_calls() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _walk_text(text: str, walk: StatementWalk) -> None:
    """Walk the statements of a text one by one: a statement with an error does not hide its neighbors."""
    dialect = Dialect.get_or_raise(walk.dialect)
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError:
        walk.blind_text(text, "SQL that does not parse", None)
        return
    for statement_tokens in _split(tokens):
        words = " ".join(token.text for token in statement_tokens)
        if not walk.created and not names_any_table(words) and not walk.tables.mentioned_in(words):
            continue
        line = statement_tokens[0].line
        if _depth(statement_tokens) > MAX_DEPTH:
            walk.blind_text(words, f"SQL with more than {MAX_DEPTH} parentheses in each other", line)
            continue
        try:
            with unlogged():
                statements = dialect.parser().parse(statement_tokens, text)
            for statement in statements:
                if statement is not None:
                    walk.statement(statement, words)
        except ParseError as error:
            error_line = error.errors[0].get("line") if error.errors else None
            walk.blind_text(words, "SQL that does not parse", error_line or line)
        except InputError:
            raise
        except Exception as error:  # a form of sqlglot's trees that the walk does not know
            walk.blind_text(words, f"SQL that cannot be read ({type(error).__name__})", line)


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement."""
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _depth(tokens: list[Token]) -> int:
    """Return how many parentheses and brackets are in each other."""
    depth = deepest = 0
    for token in tokens:
        match token.token_type:
            case TokenType.L_PAREN | TokenType.L_BRACKET | TokenType.L_BRACE | TokenType.CASE:
                depth += 1
                deepest = max(deepest, depth)
            case TokenType.R_PAREN | TokenType.R_BRACKET | TokenType.R_BRACE | TokenType.END:
                depth -= 1
    return deepest
