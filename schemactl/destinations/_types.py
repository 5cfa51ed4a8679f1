"""Types as databases write them, ``DECIMAL(10,2)``, and as schema files state them: ``x-database-type``.

The author of a schema file must not be able to write SQL: a default, a check, or a call inside a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.schema.full_types import full_type
from schemactl.schema.structure import DATABASE_TYPE, TYPE_DEFINITION, Stored
from schemactl.schema.types import Column, Properties
from schemactl.type_systems.sql_types import defined_type, readable
from schemactl.type_systems.sql_words import read_sql_type

_WRITTEN: Final = re.compile(r"(?P<name>[^()]+?)\s*(?:\(\s*(?P<sizes>\d+(?:\s*,\s*-?\d+)*)\s*\)\s*(?P<rest>[^()]*))?")


@dataclass(frozen=True, slots=True)
class DatabaseType:
    """A database's type.

    Attributes:
        name: upper case, without the sizes: ``TIMESTAMP WITH TIME ZONE`` of ``timestamp(3) with time zone``.
        sizes: the numbers in brackets.
    """

    name: str
    sizes: tuple[int, ...] = ()


def parse_type(written: str) -> DatabaseType | None:
    """Return a type in its parts, None if it is of no such form (``STRUCT(a INTEGER)``, ``text[]`` ...)."""
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
    """Return dlt's integer of this many bits; 64 is the default precision."""
    return {"data_type": "bigint"} if bits == 64 else {"data_type": "bigint", "precision": bits}


FLOAT_BITS: Final = 24
"""Bits of the digits of a 4-byte float; a double has 53."""


def is_short_float(written: str) -> bool:
    """Return whether a type, as the catalog of DuckDB, PostgreSQL or MySQL writes it, stores numbers in 4 bytes.

    SQLite stores doubles whatever the name of the type.

    >>> is_short_float("FLOAT"), is_short_float("real"), is_short_float("float unsigned"), is_short_float("double")
    (True, True, True, False)
    """
    parsed = parse_type(written)
    return parsed is not None and parsed.name.split()[0] in ("FLOAT", "REAL")


def sizes_of(written: str) -> tuple[int, int]:
    """Return precision and scale of a decimal type, whose text contains both."""
    parsed = parse_type(written)
    assert parsed is not None
    precision, scale = parsed.sizes
    return precision, scale


_DIALECTS: Final = ("postgres", "duckdb", "mysql", "spark")
"""The dialects in which a type that an engine lacks may be written."""


@dataclass(frozen=True, slots=True)
class TypeSystem:
    """The types of an engine, as it writes them itself.

    Attributes:
        engine: its name, for messages.
        dialect: its name in sqlglot.
        kind_of: returns dlt's type for one of the engine's, ``x-database-type`` if dlt has no such type.
        own_type: returns a type as the engine's catalog writes it; None for a text that is no type of the engine.
    """

    engine: str
    dialect: str
    kind_of: Callable[[str], Properties]
    own_type: Callable[[str], str | None]

    def settle(self, column: Column) -> Column:
        """Return a column with a type that the engine has.

        A type of the engine stays, spelled as its catalog spells it. Another engine's enums, domains and composite
        types count as their definitions. Another engine's type is replaced by the column's ``data_type``, else by the
        nearest dlt type. If ``data_type`` contradicts a type that dlt knows (``numeric`` is any number in PostgreSQL,
        and ``DECIMAL(18,3)`` in DuckDB), ``data_type`` counts.

        Raises:
            InputError: the column declares a type that no engine has, or another engine's type without a near dlt type.
        """
        if column.properties.get(DATABASE_TYPE) is None:
            return column
        written = str(column.properties[DATABASE_TYPE])
        plain = {name: value for name, value in column.properties.items() if name != DATABASE_TYPE}
        spelling = self.own_type(written)
        if spelling is None and (definition := plain.pop(TYPE_DEFINITION, None)) is not None:
            written = f"{definition}[]" if written.endswith("[]") else str(definition)
            spelling = self.own_type(written)
        if spelling is None:
            return Column(column.name, self._nearest(column, written) | plain)
        kind = self.kind_of(spelling)
        if DATABASE_TYPE in kind:
            return Column(column.name, {**plain, **kind})
        if column.data_type is not None and full_type(column.properties) != full_type(kind):
            return Column(column.name, plain)
        if self.kind_word(kind) != spelling:
            kind = {**kind, DATABASE_TYPE: spelling}
        return Column(column.name, {**kind, **plain} if column.data_type is None else {**plain, **kind})

    def _nearest(self, column: Column, written: str) -> dict[str, Any]:
        """Return the dlt type of a type that the engine lacks; nothing if the column has a ``data_type``."""
        if not any(is_type(_without_zeros(written), dialect) for dialect in _DIALECTS):
            raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is not a type: `{written}`")
        if column.data_type is not None:
            return {}
        nearest = nearest_type(written)
        if nearest is None:
            message = f"`{DATABASE_TYPE}` of column `{column.name}` is not a type of {self.engine}: `{written}`"
            raise InputError(message, hint="set `data_type` for the column")
        return nearest

    def kind_word(self, kind: Properties) -> str:
        """Return the engine's word for one of dlt's types, as its catalog writes it."""
        return self.own_type(defined_type(Column("", kind), self.dialect)) or ""

    def column_type(self, column: Column) -> str:
        """Return the type of a new complete column: its own, else dlt's type for the dialect.

        Raises:
            ValueError: the column is incomplete.
            InputError: as ``settle``, or dlt refuses its size.
        """
        settled = self.settle(column)
        own_type = settled.properties.get(DATABASE_TYPE)
        return defined_type(settled, self.dialect) if own_type is None else str(own_type)


def keeps_unknown_types(stored: Stored) -> Stored:
    """Return the same function for columns of types that the engine lacks, too: their types stay unchanged.

    Comparisons report such a type; plans, which would have to create it, refuse it.
    """

    @wraps(stored)
    def stored_or_written(column: Column) -> Properties:
        try:
            return stored(column)
        except InputError:
            if DATABASE_TYPE not in column.properties:
                raise
        nullable = {"nullable": False} if not column.nullable else {}
        plain = stored(Column(column.name, {"data_type": "text", **nullable}))
        written = {DATABASE_TYPE: str(column.properties[DATABASE_TYPE])}
        return {**written, **({"nullable": False} if plain.get("nullable") is False else {})}

    return stored_or_written


def types_of(dialect: str) -> TypeSystem:
    """Return the types of an engine for which there is only a dialect: the types that sqlglot knows and dlt lacks."""

    def own_type(written: str) -> str | None:
        is_structure = dialect in ("spark", "databricks") and "<" in written
        is_dlts = nearest_type(written) is not None and not is_structure
        return None if is_dlts or not _is_known(written, dialect) else written

    return TypeSystem(dialect, dialect, lambda written: {DATABASE_TYPE: written}, own_type)


_WITHOUT_DLT_TYPE: Final = re.compile(
    r"(interval|bit|bit varying|inet[46]?|cidr|macaddr8?|xml|point|line|lseg|box|path|polygon|circle|tsvector|tsquery"
    r"|(int4|int8|num|ts|tstz|date)(multi)?range|uhugeint|bignum|varint|union|set|oid|pg_lsn|hstore|ltree|jsonpath|time_ns"
    r"|timestamp_ns_tz|void)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Types of engines whose values dlt keeps as texts."""


def nearest_type(written: str) -> dict[str, Any] | None:
    """Return the dlt type that holds the values of a database's type; None if unknown.

    >>> nearest_type("bigint(20) unsigned"), nearest_type("interval day to second(3)"), nearest_type("shop.mood")
    ({'data_type': 'wei'}, {'data_type': 'text'}, None)
    """
    written = _without_zeros(written)
    if _WITHOUT_DLT_TYPE.fullmatch(written.strip()):
        return {"data_type": "text"}
    return read_sql_type(written)


_SQLITE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*(\(\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)?\))?")


def _is_known(written: str, dialect: str) -> bool:
    """Return whether sqlglot knows a type by itself, not only as a user-defined name."""
    from sqlglot import exp

    if not is_type(written, dialect):
        return False
    return not exp.DataType.build(readable(written, dialect), dialect=dialect, udt=True).is_type(
        exp.DataType.Type.USERDEFINED
    )


def _without_zeros(written: str) -> str:
    """Return a type without MySQL's word for how its numbers are shown, which sqlglot cannot read."""
    return re.sub(r"\s+zerofill$", "", written, flags=re.IGNORECASE)


@lru_cache(maxsize=1024)
def is_type(written: str, dialect: str) -> bool:
    """Return whether a text is a type in sqlglot's dialect, and no more than that."""
    import sqlglot
    from sqlglot import TokenType as T
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        if dialect == "sqlite" and _SQLITE.fullmatch(written):  # which takes any words for a type
            kinds = {token.token_type for token in sqlglot.tokenize(written, dialect=dialect)}
            # The words that begin a constraint in the definition of a column.
            ends = {T.DEFAULT, T.NOT, T.NULL, T.PRIMARY_KEY, T.UNIQUE, T.COLLATE, T.REFERENCES, T.CONSTRAINT, T.ALIAS}
            return not kinds & {*ends, T.ON, T.COMMENT}
        tree = sqlglot.parse_one(f"CAST(NULL AS {readable(written, dialect)})", dialect=dialect)
    except SqlglotError:
        return False
    parts = (
        *(exp.DataType, exp.DataTypeParam, exp.Literal, exp.Identifier, exp.ColumnDef, exp.Dot, exp.Var),
        *(exp.Interval, exp.IntervalSpan),
    )
    filled_args = {name for name, value in tree.args.items() if value}
    is_cast = type(tree) in (exp.Cast, exp.TryCast) and filled_args <= {"this", "to"}
    data_type = tree.args.get("to")
    return is_cast and isinstance(data_type, exp.DataType) and all(isinstance(node, parts) for node in data_type.walk())
