"""Reads ``x-database-type``: a schema file may name a type of the destination's own, and nothing else.

Whoever may write a schema file must not be able to write SQL: a default, a check, or a call inside a type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from schemactl.errors import InputError
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

_SQLITE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*(\(\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)?\))?")
_UNREAD: Final = ((re.compile(r"\bbit varying\b", re.I), "varbit"), (re.compile(r"\bsecond\(\d\)", re.I), "second"))
"""Types that sqlglot does not know, as others of the same form."""


def stated_type(column: Column, dialect: str) -> str:
    """Return a column's ``x-database-type``.

    Args:
        column: that states one.
        dialect: sqlglot's name for the destination's SQL.

    Raises:
        InputError: it is no type, or more than a type.
    """
    written = str(column.properties[DATABASE_TYPE])
    if not _is_type(written, dialect):
        raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is no type: `{written}`")
    return written


@lru_cache(maxsize=1024)
def _is_type(written: str, dialect: str) -> bool:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    for unread, known in _UNREAD:
        written = unread.sub(known, written)
    try:
        if dialect == "sqlite" and _SQLITE.fullmatch(written):  # which takes any words for a type
            kinds = {token.token_type for token in sqlglot.tokenize(written, dialect=dialect)}
            return not kinds & _ends_of_a_type()
        tree = sqlglot.parse_one(f"CAST(NULL AS {written})", dialect=dialect)
    except SqlglotError:
        return False
    parts = (
        *(exp.DataType, exp.DataTypeParam, exp.Literal, exp.Identifier, exp.ColumnDef, exp.Dot, exp.Var),
        *(exp.Interval, exp.IntervalSpan),
    )
    is_cast = type(tree) in (exp.Cast, exp.TryCast) and {name for name, value in tree.args.items() if value} <= {
        "this",
        "to",
    }
    found = tree.args.get("to")
    return is_cast and isinstance(found, exp.DataType) and all(isinstance(node, parts) for node in found.walk())


def _ends_of_a_type() -> frozenset[object]:
    """Return the words that begin a constraint where a column is defined."""
    from sqlglot import TokenType as T

    return frozenset(
        (
            T.DEFAULT,
            T.NOT,
            T.NULL,
            T.PRIMARY_KEY,
            T.UNIQUE,
            T.COLLATE,
            T.REFERENCES,
            T.CONSTRAINT,
            T.ALIAS,
            T.ON,
            T.COMMENT,
        )
    )
