"""PostgreSQL's types and dlt's, both ways (docs/dlt.md §9.3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import (
    DatabaseType,
    TypeSystem,
    decimal,
    integer,
    is_type,
    keeps_unknown_types,
    nearest_type,
    parse_type,
)
from schemactl.errors import InputError
from schemactl.schema.structure import DATABASE_TYPE, TYPE_DEFINITION, NameLimits
from schemactl.schema.types import Column, Properties

NAMES: Final = NameLimits(max_bytes=63)

_WEI: Final = frozenset(((156, 78), (78, 0)))

_KINDS: Final[dict[str, Properties]] = {
    "CHARACTER VARYING": {"data_type": "text"},
    "TEXT": {"data_type": "text"},
    "DOUBLE PRECISION": {"data_type": "double"},
    "REAL": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "SMALLINT": integer(16),
    "INTEGER": integer(32),
    "BIGINT": integer(64),
    "BYTEA": {"data_type": "binary"},
    "JSONB": {"data_type": "json"},
    "JSON": {"data_type": "json"},
    "DATE": {"data_type": "date"},
    "TIME WITHOUT TIME ZONE": {"data_type": "time"},
    "TIMESTAMP WITH TIME ZONE": {"data_type": "timestamp"},
    "TIMESTAMP WITHOUT TIME ZONE": {"data_type": "timestamp", "timezone": False},
}

_USUAL_PRECISION: Final = 6
_SIZED: Final = frozenset(("text", "time", "timestamp"))


def kind_of(written: str) -> Properties:
    """Return dlt's type for a type of PostgreSQL, as its catalog writes it."""
    parsed = parse_type(written)
    if parsed is None:
        return unknown(written)
    if parsed.name == "NUMERIC":
        # Without sizes it holds any number, which dlt's decimal without sizes does not.
        if len(parsed.sizes) != 2:
            return {"data_type": "decimal", **unknown("numeric")}
        return {"data_type": "wei"} if parsed.sizes in _WEI else decimal(*parsed.sizes)
    kind = _KINDS.get(parsed.name)
    if kind is None:
        return unknown(written)
    precision = parsed.sizes[0] if parsed.sizes and kind["data_type"] in _SIZED else None
    is_usual = precision is None or (kind["data_type"] != "text" and precision == _USUAL_PRECISION)
    return kind if is_usual else {**kind, "precision": precision}


WITH_TEXTS: Final = frozenset(("uuid", "inet", "cidr", "macaddr", "macaddr8", "name", "bpchar"))
"""Types that dlt lacks, and whose values cast to distinct strings. The blanks that fill a
``character(n)`` up to its length are no part of its text, as for PostgreSQL itself.
"""

_OTHERS: Final = re.compile(
    r"money|interval\b.*|time\b.*|bit\b.*|xml|point|line|lseg|box|path|polygon|circle|(int4|int8|num|date|tstz?)(multi)?range"
    r"|ts(vector|query)|jsonpath|pg_\w+|oid|xid8?|cid|tid|\"char\"|aclitem|refcursor|txid_snapshot|(int2|oid)vector"
    r"|reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)|.*\[\]"
)
"""PostgreSQL's other types: the form of their values depends on settings, or has more than a text."""


def has_texts(kind: str) -> bool:
    """Return whether values of a type cast to distinct strings, as far as its name tells.

    A name unknown to PostgreSQL is an enum, a domain or another user-defined type: only the catalog knows which one.
    """
    if kind in WITH_TEXTS or re.fullmatch(r"character\(\d+\)", kind):
        return True
    return bool(kind) and _OTHERS.fullmatch(kind) is None and "data_type" not in kind_of(kind)


def is_builtin(kind: str) -> bool:
    """Return whether a type is built into PostgreSQL and used for columns by dlt or us.

    >>> [is_builtin(kind) for kind in ("numeric(9,2)", "uuid[]", "mood", "public.mood")]
    [True, True, False, False]
    """
    element = kind.removesuffix("[]")
    return (
        element in WITH_TEXTS
        or re.fullmatch(r"character\(\d+\)", element) is not None
        or "data_type" in kind_of(element)
    )


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as PostgreSQL's catalog has it (docs/dlt.md §9.3)."""
    return with_nullable(kind_of(column_type(column)), column)


def column_type(column: Column) -> str:
    """Return the type of a column on PostgreSQL, as its catalog writes it; raises as ``TypeSystem.column_type``."""
    written = TYPES.column_type(column)
    return own_type(written) or written


_NAMES: Final = {
    "INT2": "SMALLINT",
    "INT": "INTEGER",
    "INT4": "INTEGER",
    "INT8": "BIGINT",
    "FLOAT4": "REAL",
    "FLOAT": "DOUBLE PRECISION",
    "FLOAT8": "DOUBLE PRECISION",
    "BOOL": "BOOLEAN",
    "VARCHAR": "CHARACTER VARYING",
    "CHAR VARYING": "CHARACTER VARYING",
    "CHAR": "CHARACTER",
    "DEC": "NUMERIC",
    "DECIMAL": "NUMERIC",
    "TIMESTAMP": "TIMESTAMP WITHOUT TIME ZONE",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
    "TIME": "TIME WITHOUT TIME ZONE",
    "TIMETZ": "TIME WITH TIME ZONE",
    "VARBIT": "BIT VARYING",
}
"""Other names of PostgreSQL's types, with the names that its catalog writes."""
_SIZE_FIRST: Final = re.compile(r"(TIMESTAMP|TIME) (WITH|WITHOUT) TIME ZONE")
_SIZE_LAST: Final = re.compile(r"NUMERIC|(CHARACTER|BIT)( VARYING)?|INTERVAL(( [A-Z]+ TO)? SECOND)?")
_USUAL_SIZES: Final = {"CHARACTER": (1,), "BIT": (1,)}
_INTERVAL: Final = re.compile(r"INTERVAL( (YEAR|MONTH|DAY|HOUR|MINUTE|SECOND)( TO (MONTH|HOUR|MINUTE|SECOND))?)?")
_IDENTIFIER: Final = r'(?:[a-z_][\w$]*|"(?:[^"\0]|"")+")'
_NAMED: Final = re.compile(
    rf"(?P<schema>{_IDENTIFIER}\.)?(?P<name>{_IDENTIFIER})(?P<modifiers>\([\w ,-]*\))?", re.IGNORECASE | re.ASCII
)
"""The name of a user-defined type or an extension's, with its modifiers: ``geometry(Point,4326)``."""
_LIST: Final = re.compile(r"(?P<element>.*?)\s*(?:(?:\s*\[\d*\])+|\sarray(?:\s*\[\d+\])?)", re.IGNORECASE | re.DOTALL)
_OF_EXTENSIONS: Final = frozenset(("citext",))
"""Types of extensions that other readers of SQL know, too."""


def type_name(written: str) -> str:
    """Return only the name of a type: without its modifiers, and without the mark of a list.

    >>> type_name("geometry(Point,4326)[]"), type_name('"a (b"')
    ('geometry', '"a (b"')
    """
    match = _NAMED.match(written)
    return "" if match is None else f"{match['schema'] or ''}{match['name']}"


@lru_cache(maxsize=4096)
def own_type(written: str) -> str | None:
    """Return a type as PostgreSQL's catalog writes it; None for a text that is no type of PostgreSQL.

    A name that neither PostgreSQL nor another engine has is an enum, a domain, or another type of a user or an
    extension: only the catalog knows whether it exists.

    >>> own_type("INT4"), own_type("char(3)[]"), own_type("Mood"), own_type("UBIGINT"), own_type("timestamptz(3)")
    ('integer', 'character(3)[]', 'mood', None, 'timestamp(3) with time zone')
    """
    text = written.strip()
    if not is_type(text, "postgres"):
        return None
    if (match := _LIST.fullmatch(text)) is not None:
        element = own_type(match["element"])
        return None if element is None else f"{element}[]"
    parsed = parse_type(text)
    if parsed is not None and (name := _built_in(parsed)) is not None:
        return name
    matched = _NAMED.fullmatch(text)
    if matched is None:
        return None
    is_foreign = matched["schema"] is None and matched["name"][0] != '"' and nearest_type(text) is not None
    if is_foreign and matched["name"].lower() not in _OF_EXTENSIONS:
        return None
    names = (name if name.startswith('"') else name.lower() for name in (matched["schema"] or "", matched["name"]))
    return "".join((*names, matched["modifiers"] or ""))


def _built_in(of: DatabaseType) -> str | None:
    """Return one of PostgreSQL's own types as its catalog writes it; None for any other type."""
    name = " ".join(of.name.split())
    name = _NAMES.get(name, name)
    if name in ("DOUBLE PRECISION", "REAL") and of.name == "FLOAT" and of.sizes:
        return "real" if of.sizes[0] <= 24 else "double precision"
    sizes = of.sizes or _USUAL_SIZES.get(name, ())
    if name == "NUMERIC" and len(sizes) == 1:
        sizes = (*sizes, 0)
    size_list = f"({','.join(map(str, sizes))})" if sizes else ""
    if (match := _SIZE_FIRST.fullmatch(name)) is not None:
        return f"{match[1]}{size_list}{name.removeprefix(match[1])}".lower()
    if sizes:
        return f"{name}{size_list}".lower() if _SIZE_LAST.fullmatch(name) else None
    is_other = _INTERVAL.fullmatch(name) or (_OTHERS.fullmatch(name.lower()) and name.split()[0] not in _QUALIFIED)
    is_built_in = is_other or name in _KINDS or name in ("NUMERIC", "BIT VARYING") or name.lower() in WITH_TEXTS
    return name.lower() if is_built_in else None


_QUALIFIED: Final = frozenset(("INTERVAL", "TIME", "BIT"))
"""First words of types that have further words, but not any."""
TYPES: Final = TypeSystem("PostgreSQL", "postgres", kind_of, own_type)
settle: Final = TYPES.settle


_LABEL: Final = r"'(?:[^'\\\0]|'')*'"
_ENUM: Final = re.compile(rf"ENUM\((?P<labels>{_LABEL}(?:, {_LABEL})*)\)")
_FIELD: Final = re.compile(
    rf"(?P<name>{_IDENTIFIER}) (?P<type>[^,()]+(?:\(\d+(?:,\d+)?\)[^,()]*)?)(?:, |$)", re.IGNORECASE
)


def type_statement(column: Column) -> str | None:
    """Return the statement that creates the type of a column; None if the schema does not define it."""
    definition = column.properties.get(TYPE_DEFINITION)
    if definition is None or DATABASE_TYPE not in column.properties:
        return None
    name, text = type_name(str(column.properties[DATABASE_TYPE])), str(definition)
    if (enum := _ENUM.fullmatch(text)) is not None:
        return f"CREATE TYPE {name} AS ENUM ({enum['labels']})"
    if text.startswith("STRUCT(") and text.endswith(")"):
        fields = [(field["name"], own_type(field["type"])) for field in _FIELD.finditer(text, 7, len(text) - 1)]
        field_list = ", ".join(f"{field} {written}" for field, written in fields)
        if fields and f"STRUCT({field_list})" == text:
            return f"CREATE TYPE {name} AS ({field_list})"
    elif own_type(text) == text:
        return f"CREATE DOMAIN {name} AS {text}"
    raise InputError(f"`{TYPE_DEFINITION}` of column `{column.name}` is not a definition of a type: `{definition}`")
