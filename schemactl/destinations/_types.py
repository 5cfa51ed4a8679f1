"""Types as databases write them, ``DECIMAL(10,2)``, and as schema files state them: ``x-database-type``.

Whoever may write a schema file must not be able to write SQL: a default, a check, or a call inside a type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from schemactl.errors import InputError
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Properties
from schemactl.type_systems.sql_types import defined_type, readable

_WRITTEN: Final = re.compile(r"(?P<name>[^()]+?)\s*(?:\(\s*(?P<sizes>\d+(?:\s*,\s*-?\d+)*)\s*\)\s*(?P<rest>[^()]*))?")


@dataclass(frozen=True, slots=True)
class DatabaseType:
    """A database's type.

    Attributes:
        name: upper case, without the sizes: ``TIMESTAMP WITH TIME ZONE`` of ``timestamp(3) with time zone``.
        sizes: what stood in brackets.
    """

    name: str
    sizes: tuple[int, ...] = ()


def parse_type(written: str) -> DatabaseType | None:
    """Return a type in its parts, None where it is of no such form (``STRUCT(a INTEGER)``, ``text[]`` ...)."""
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        return None
    sizes = tuple(int(size) for size in match["sizes"].split(",")) if match["sizes"] else ()
    name = " ".join(f"{match['name']} {match['rest'] or ''}".split())
    return DatabaseType(name.upper(), sizes)


def decimal(precision: int, scale: int) -> Properties:
    """Return dlt's decimal of this size."""
    return {"data_type": "decimal", "precision": precision, "scale": scale}


def integer(bits: int) -> Properties:
    """Return dlt's integer of this many bits; 64 are not stated."""
    return {"data_type": "bigint"} if bits == 64 else {"data_type": "bigint", "precision": bits}


def sizes_of(written: str) -> tuple[int, int]:
    """Return precision and scale of a decimal type, which states both."""
    parsed = parse_type(written)
    assert parsed is not None
    precision, scale = parsed.sizes
    return precision, scale


def type_in(column: Column, dialect: str) -> str:
    """Return the type that a complete column states, else the one that dlt gives it in sqlglot's dialect.

    Raises:
        ValueError: the column is incomplete.
        InputError: it states a type that is none, or a size that dlt refuses.
    """
    return stated_type(column, dialect) if DATABASE_TYPE in column.properties else defined_type(column, dialect)


_SQLITE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*(\(\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)?\))?")


def stated_type(column: Column, dialect: str) -> str:
    """Return a column's ``x-database-type``.

    Raises:
        InputError: it is no type in sqlglot's dialect, or more than a type.
    """
    written = str(column.properties[DATABASE_TYPE])
    if not _is_type(written, dialect):
        raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is not a type: `{written}`")
    return written


@lru_cache(maxsize=1024)
def _is_type(written: str, dialect: str) -> bool:
    import sqlglot
    from sqlglot import TokenType as T
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        if dialect == "sqlite" and _SQLITE.fullmatch(written):  # which takes any words for a type
            kinds = {token.token_type for token in sqlglot.tokenize(written, dialect=dialect)}
            # The words that begin a constraint where a column is defined.
            ends = {T.DEFAULT, T.NOT, T.NULL, T.PRIMARY_KEY, T.UNIQUE, T.COLLATE, T.REFERENCES, T.CONSTRAINT, T.ALIAS}
            return not kinds & {*ends, T.ON, T.COMMENT}
        tree = sqlglot.parse_one(f"CAST(NULL AS {readable(written, dialect)})", dialect=dialect)
    except SqlglotError:
        return False
    parts = (
        *(exp.DataType, exp.DataTypeParam, exp.Literal, exp.Identifier, exp.ColumnDef, exp.Dot, exp.Var),
        *(exp.Interval, exp.IntervalSpan),
    )
    stated = {name for name, value in tree.args.items() if value}
    is_cast = type(tree) in (exp.Cast, exp.TryCast) and stated <= {"this", "to"}
    found = tree.args.get("to")
    return is_cast and isinstance(found, exp.DataType) and all(isinstance(node, parts) for node in found.walk())
