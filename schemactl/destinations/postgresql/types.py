"""PostgreSQL's types and dlt's, both ways (docs/dlt.md §9.3)."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import decimal, integer, parse_type, type_in
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
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
    """Return dlt's type for one of PostgreSQL's, as its catalog writes it."""
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
"""Types that dlt does not know, of which each value has a text of its own. The blanks that fill a ``character(n)`` up
to its length are no part of its text, as for PostgreSQL itself.
"""

_OTHERS: Final = re.compile(
    r"money|interval\b.*|time\b.*|bit\b.*|xml|point|line|lseg|box|path|polygon|circle|(int4|int8|num|date|tstz?)(multi)?range"
    r"|ts(vector|query)|jsonpath|pg_\w+|oid|xid8?|cid|tid|\"char\"|aclitem|refcursor|txid_snapshot|(int2|oid)vector"
    r"|reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)|.*\[\]"
)
"""PostgreSQL's own types besides: how their values are written depends on settings, or says more than a text."""


def has_texts(kind: str) -> bool:
    """Return whether each value of a type has a text of its own, as far as its name says.

    A name that is none of PostgreSQL's is an enum, a domain or somebody's own type: which one, the catalog says.
    """
    if kind in WITH_TEXTS or re.fullmatch(r"character\(\d+\)", kind):
        return True
    return bool(kind) and _OTHERS.fullmatch(kind) is None and "data_type" not in kind_of(kind)


def is_builtin(kind: str) -> bool:
    """Return whether a type is one of PostgreSQL's own that columns of dlt's, and of ours, have.

    >>> [is_builtin(kind) for kind in ("numeric(9,2)", "uuid[]", "mood", "public.mood")]
    [True, True, False, False]
    """
    element = kind.removesuffix("[]")
    return (
        element in WITH_TEXTS
        or re.fullmatch(r"character\(\d+\)", element) is not None
        or "data_type" in kind_of(element)
    )


def stored(column: Column) -> Properties:
    """Return what PostgreSQL's catalog says of such a column (docs/dlt.md §9.3)."""
    properties = column.properties
    kinds = ("data_type", DATABASE_TYPE)
    if DATABASE_TYPE in properties:
        return with_nullable({key: properties[key] for key in kinds if key in properties}, column)
    return with_nullable(kind_of(column_type(column)), column)


def column_type(column: Column) -> str:
    """Return the type that dlt gives a column on PostgreSQL, as its catalog writes it; raises as ``type_in``."""
    written = type_in(column, "postgres")
    is_stated = DATABASE_TYPE in column.properties
    return written if is_stated else written.replace("varchar", "character varying").replace(" (", "(")
