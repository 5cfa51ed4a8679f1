"""MySQL's types and dlt's, both ways, as dlt's mapper for SQLAlchemy has them.

But for texts: dlt makes them TEXT, which holds 65,535 bytes; here they are LONGTEXT, which dlt reads the same way.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import decimal, integer, parse_type, type_in
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, Properties

NAMES: Final = NameLimits(max_bytes=64, is_case_sensitive=False)

_FRACTION: Final = 6
"""Digits of a second of dlt's times and timestamps."""

_WEI: Final = (38, 0)

_TEXTS: Final = frozenset(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"))
_BYTES: Final = frozenset(("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"))
_KINDS: Final[dict[str, Properties]] = {
    **{name: {"data_type": "text"} for name in _TEXTS},
    **{name: {"data_type": "binary"} for name in _BYTES},
    "VARCHAR": {"data_type": "text"},
    "DOUBLE": {"data_type": "double"},
    "FLOAT": {"data_type": "double"},
    "SMALLINT": integer(16),
    "INT": integer(32),
    "BIGINT": integer(64),
    "JSON": {"data_type": "json"},
    "DATE": {"data_type": "date"},
    "TIME": {"data_type": "time"},
    "DATETIME": {"data_type": "timestamp"},
}


def kind_of(written: str) -> Properties:
    """Return dlt's type for one of MySQL's, as its catalog writes it."""
    parsed = parse_type(written)
    if parsed is None:
        return unknown(written)
    match parsed.name, parsed.sizes:
        case "TINYINT", (1,):
            return {"data_type": "bool"}
        case "DECIMAL", (precision, scale):
            return {"data_type": "wei"} if (precision, scale) == _WEI else decimal(precision, scale)
        case "VARCHAR", (length,):
            return {"data_type": "text", "precision": length}
        case ("TIME" | "DATETIME") as name, sizes:
            digits = sizes[0] if sizes else 0
            return _KINDS[name] if digits == _FRACTION else {**_KINDS[name], "precision": digits}
        case name, _:
            return _KINDS.get(name) or unknown(written)


column_type: Final = partial(type_in, dialect="mysql")
"""Returns the type of a column, as MySQL's catalog writes it; raises as ``type_in``."""


def stored(column: Column) -> Properties:
    """Return what MySQL's catalog says of such a column; it has no zone of a timestamp, which is in UTC."""
    if DATABASE_TYPE in column.properties:
        return with_nullable(unknown(column.properties[DATABASE_TYPE]), column)
    return with_nullable(kind_of(column_type(column)), column)
