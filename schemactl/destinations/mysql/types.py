"""MySQL's types and dlt's, both ways, as dlt's mapper for SQLAlchemy has them.

But for texts: dlt makes them TEXT, which holds 65,535 bytes; here they are LONGTEXT, which dlt reads the same way.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import TypeSystem, decimal, integer, keeps_unknown_types, parse_type
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

NAMES: Final = NameLimits(max_bytes=64, is_case_sensitive=False)

_FRACTION: Final = 6
"""Digits of a second of dlt's times and timestamps."""

_WEI: Final = (38, 0)

_UNIQUE_TEXT_SIZE: Final = 128
"""Of a unique text without a size, as dlt's mapper has it."""

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
    """Return dlt's type for a type of MySQL, as its catalog writes it."""
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


_TEXT_OF_LIST: Final = r"'(?:[^'\\\0]|'')*'"
_OWN: Final = re.compile(
    rf"""
    (?P<whole>(?:tiny|small|medium|big)?int|integer) (?P<width>\(\d+\))? (?P<sign>(?:\ unsigned)?(?:\ zerofill)?)
    | (?P<number>float|double\ precision|double|real|decimal|dec|numeric|fixed) (?P<digits>\(\d+(?:,\d+)?\))?
        (?P<number_sign>(?:\ unsigned)?(?:\ zerofill)?)
    | (?P<list>enum|set) \((?P<members>{_TEXT_OF_LIST}(?:,{_TEXT_OF_LIST})*)\)
    | (?P<sized>bit|character\ varying|varchar|character|char|varbinary|binary|datetime|timestamp|time|vector)
        (?P<size>\(\d+\))?
    | (?P<plain>date|(?:tiny|medium|long)?(?:text|blob)|json|uuid|inet4|inet6
        |geometry|geom(?:etry)?collection|(?:multi)?(?:point|linestring|polygon))
    | (?P<year>year)(?:\(4\))?
    | (?P<truth>bool|boolean)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The types of MySQL and MariaDB, without blanks around brackets and commas."""
_NAMES: Final = {
    "integer": "int",
    "double precision": "double",
    "real": "double",
    "dec": "decimal",
    "numeric": "decimal",
    "fixed": "decimal",
    "character varying": "varchar",
    "character": "char",
}
"""Other names of MySQL's types, with the names that its catalog writes."""
_USUAL_SIZES: Final = {"bit": "(1)", "char": "(1)", "binary": "(1)", "decimal": "(10,0)"}
_NEEDS_SIZE: Final = frozenset(("varchar", "varbinary", "vector"))
_BLANKS: Final = re.compile(rf"({_TEXT_OF_LIST})|\s*([(),])\s*|\s+")


@lru_cache(maxsize=4096)
def own_type(written: str) -> str | None:
    """Return a type as MySQL's catalog writes it; None for a text that is no type of MySQL or MariaDB.

    >>> own_type("INT(10) UNSIGNED"), own_type("enum('a', 'B')"), own_type("numeric(5)"), own_type("interval")
    ('int(10) unsigned', "enum('a','B')", 'decimal(5,0)', None)
    """
    text = _BLANKS.sub(lambda match: match[1] or match[2] or " ", written.strip())
    match = _OWN.fullmatch(re.sub(r"\)(?=[a-z])", ") ", text, flags=re.IGNORECASE))
    if match is None:
        return None
    if (name := match["list"]) is not None:
        return f"{name.lower()}({match['members']})"
    if match["truth"]:
        return "tinyint(1)"
    if match["year"]:
        return "year"
    if (name := match["whole"]) is not None:
        return f"{_name(name)}{match['width'] or ''}{match['sign'].lower()}"
    name = _name(match["number"] or match["sized"] or match["plain"])
    size = match["digits"] or match["size"] or _USUAL_SIZES.get(name, "")
    if name in _NEEDS_SIZE and not size:
        return None
    if name == "decimal" and "," not in size:
        size = f"{size[:-1]},0)"
    return f"{name}{'' if size == '(0)' else size}{(match['number_sign'] or '').lower()}"


_WIDTH: Final = re.compile(r"(?!tinyint\(1\)$)(?P<name>[a-z]*int)\(\d+\)(?P<sign>(?: unsigned)?)")


def without_width(written: str) -> str:
    """Return a type without MariaDB's display width of integers: it limits no values, and MySQL does not have it.

    >>> without_width("int(10) unsigned"), without_width("tinyint(1)"), without_width("int(5) unsigned zerofill")
    ('int unsigned', 'tinyint(1)', 'int(5) unsigned zerofill')
    """
    match = _WIDTH.fullmatch(written)
    return written if match is None else f"{match['name']}{match['sign']}"


def _name(written: str) -> str:
    return _NAMES.get(written.lower(), written.lower())


TYPES: Final = TypeSystem("MySQL", "mysql", kind_of, own_type)
column_type: Final = TYPES.column_type


def settle(column: Column) -> Column:
    """Return a column with a type of MySQL; see ``TypeSystem.settle``.

    A unique text gets the size that its key needs, so that it has the same type in a table without the key. A decimal
    without a scale gets MySQL's default scale of 0.
    """
    properties = column.properties
    if column.data_type is DataType.DECIMAL and properties.get("precision") and properties.get("scale") is None:
        return Column(column.name, {**properties, "scale": 0})
    if column.data_type is DataType.TEXT and properties.get("unique") and DATABASE_TYPE not in properties:
        return Column(column.name, {"precision": _UNIQUE_TEXT_SIZE, **properties})
    return TYPES.settle(column)


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as MySQL's catalog has it; it has no zone of a timestamp, which is in UTC."""
    return with_nullable(kind_of(without_width(column_type(column))), column)
