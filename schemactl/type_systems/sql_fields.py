"""SQL types of any dialect, as sqlglot reads them in CREATE TABLE, as the fields that they describe."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from schemactl.schema.types import Column, DataType
from schemactl.type_systems.fields import Field, note
from schemactl.type_systems.sql_types import readable, type_in

if TYPE_CHECKING:
    from sqlglot import exp

_TEXTS: Final = frozenset({
    "TEXT", "VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "BPCHAR", "NAME", "UUID", "FIXEDSTRING", "STRING",
    "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "LOWCARDINALITY",
})  # fmt: skip
_INTEGERS: Final = {
    "TINYINT": 8, "INT8": 8, "UTINYINT": 16, "SMALLINT": 16, "USMALLINT": 32, "INT": 32, "MEDIUMINT": 32, "SERIAL": 32,
    "UMEDIUMINT": 32, "INT128": 128, "BIGINT": None, "UINT": None, "BIGSERIAL": None, "SMALLSERIAL": 16, "YEAR": 16,
}  # fmt: skip
_WIDE: Final = {"sqlite": frozenset(("INT", "TINYINT"))}
"""Integers of a dialect that hold 64 bits, whatever the word means elsewhere; sqlglot reads INT8 as TINYINT."""

_SERIALS: Final = {"serial2": "SMALLSERIAL", "serial4": "SERIAL", "serial8": "BIGSERIAL"}
"""Names of PostgreSQL's that sqlglot does not know."""
_PLAIN: Final = {
    name: data_type
    for data_type, names in (
        ("double", "DOUBLE FLOAT UDOUBLE"), ("bool", "BOOLEAN"), ("date", "DATE DATE32"), ("wei", "UBIGINT INT256"),
        ("json", "JSON JSONB VARIANT SUPER OBJECT ARRAY STRUCT MAP NESTED"),
    )
    for name in names.split()
}  # fmt: skip
_BINARY: Final = frozenset((
    "BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BYTES", "IMAGE", "ROWVERSION",
))  # fmt: skip
_DECIMALS: Final = frozenset(("DECIMAL", "UDECIMAL", "BIGDECIMAL", "MONEY", "SMALLMONEY"))
_SCALED: Final = {"DECIMAL32": 9, "DECIMAL64": 18, "DECIMAL128": 38, "DECIMAL256": 76}
"""Digits of ClickHouse's decimals, whose type names contain no precision."""

_LOCAL: Final = {
    "TIMESTAMP": None, "TIMESTAMPNTZ": None, "DATETIME": None, "DATETIME2": None, "DATETIME64": None,
    "SMALLDATETIME": 0, "TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9,
}  # fmt: skip

_UNSIZED: Final = frozenset((DataType.TEXT, DataType.BINARY, DataType.TIMESTAMP))
"""Types whose sizes a list of them does not state."""


_MOST_CHARACTERS: Final = 1 << 16
_MOST_LEVELS: Final = 100
"""Of brackets in the text of a type."""


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep sqlglot from logging statements that it does not know: they are losses, or part of an error."""
    log = logging.getLogger("sqlglot")
    log.disabled, before = True, log.disabled
    try:
        yield
    finally:
        log.disabled = before


@cache
def field_of_text(name: str, text: str, dialect: str) -> Field:
    """Return the field that the text of a type describes, read as the type of a column in CREATE TABLE."""
    from sqlglot import exp, parse
    from sqlglot.dialects.dialect import Dialect as Sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > _MOST_CHARACTERS or _depth(text) > _MOST_LEVELS:
        return _unknown(name, text)
    reader = Sqlglot.get_or_raise(dialect)
    reader.SUPPORTS_USER_DEFINED_TYPES = True  # A type that is not known is a loss, and no error.
    statement = f"CREATE TABLE t (c {_SERIALS.get(text.lower(), text)})"
    try:
        with unlogged():
            match parse(readable(statement, dialect), read=reader):
                case [exp.Create(this=exp.Schema(expressions=[exp.ColumnDef(kind=exp.DataType() as kind) as column]))]:
                    field = _field(name, kind, dialect)
                    constraints = [
                        ("constraint", spell(constraint, dialect), None) for constraint in column.constraints
                    ]
                    if not is_unknown(field):
                        return replace(field, unread=(*field.unread, *constraints))
    except (SqlglotError, ValueError, RecursionError):
        pass
    return _unknown(name, text)


def _depth(text: str) -> int:
    """Return how deep the brackets of a text nest."""
    steps = ((character in "(<[") - (character in ")>]") for character in text)
    return max(accumulate(steps), default=0)


def is_unknown(field: Field) -> bool:
    """Return whether a type is not known, so that its field is a text."""
    lost_types = (after for word, _, after in field.unread if word == "type")
    return any(after == {"data_type": "text"} for after in lost_types)


@cache
def field_of_type(name: str, text: str, dialect: str) -> Field:
    """Return the field that a type describes, with its nested fields; unknown types are texts."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return _field(name, exp.DataType.build(text, dialect=dialect), dialect)
    except (SqlglotError, ValueError):
        return _unknown(name, text)


def spell(node: exp.Expr, dialect: str | None) -> str:
    """Return a node as SQL, in the words of any dialect if its own cannot express it; else the name of its kind.

    sqlglot parses clauses that it cannot write.
    """
    for words in (dialect, None):
        try:
            text = node.sql(words, comments=False)
        except Exception:  # a fault of its generator
            text = ""
        if text:
            return text
    return type(node).__name__


def spell_type(kind: exp.Expr, dialect: str) -> str:
    """Return a type as sqlglot spells it; not in SQLite's words, since sqlglot has one for all integers."""
    text = spell(kind, None if dialect == "sqlite" else dialect)
    return _SERIALS.get(text.lower(), text)


def word_of(field: Field, dialect: str) -> str:
    """Return the type of a column; without its size if dlt refuses that, text if the dialect has no such type."""
    column, plain = Column(field.name, field.properties), Column(field.name, {"data_type": str(field.data_type)})
    return type_in(column, dialect) or type_in(plain, dialect) or "text"


def implied_by(text: str, dialect: str) -> Iterable[str]:
    """Return the constraints of a column that its type implies: ``serial``, or in ClickHouse one without Nullable."""
    if dialect == "clickhouse":
        return () if text.removeprefix("LowCardinality(").startswith("Nullable(") else ("not_null",)
    if text not in ("SERIAL", "BIGSERIAL", "SMALLSERIAL"):
        return ()
    return ("not_null", "unique") if dialect == "mysql" else ("not_null",)


def kind_of(constraint: exp.Expr) -> exp.Expr:
    """Return a constraint of a column without its name."""
    from sqlglot import exp

    return constraint.kind if isinstance(constraint, exp.ColumnConstraint) else constraint


def read_options(properties: exp.Properties) -> tuple[str | None, list[exp.Expression]]:
    """Return the description in BigQuery's OPTIONS, if any, and the other options."""
    descriptions = [option for option in properties.expressions if option.name.lower() == "description"]
    options = [option for option in properties.expressions if option not in descriptions]
    return descriptions[0].args["value"].name if descriptions else None, options


def _field(name: str, kind: exp.DataType, dialect: str) -> Field:
    from sqlglot import exp

    inner_types = [argument for argument in kind.expressions if isinstance(argument, exp.DataType)]
    fields = tuple(_nested(argument, dialect) for argument in kind.expressions if isinstance(argument, exp.ColumnDef))
    nested = {"data_type": "json"}
    match _word(kind):
        case "ARRAY" | "LIST" if len(inner_types) == 1:
            element = _field("element", inner_types[0], dialect)
            # PostgreSQL ignores the declared length of a list.
            is_sized = bool(kind.args.get("values")) and dialect != "postgres"
            is_sized |= "precision" in element.properties and element.data_type in _UNSIZED
            lost_fact = ("type", {"type": spell(kind, dialect)}, nested)
            return Field(name, nested, element=element, unread=(lost_fact,) if is_sized else ())
        case "STRUCT" | "OBJECT" if fields:
            return Field(name, nested, fields=fields)
        case "NESTED" if fields:  # ClickHouse's list of objects
            return Field(name, nested, element=Field("element", nested, fields=fields))
        case "MAP" if len(inner_types) == 2:
            if _field("key", inner_types[0], dialect).properties["data_type"] == "text":
                return Field(name, nested, values=_field("value", inner_types[1], dialect))
            return Field(name, nested, unread=(("type", {"type": spell(kind, dialect)}, nested),))
        case "NULLABLE" | "LOWCARDINALITY" if inner_types:
            return _field(name, inner_types[0], dialect)
    scalar = _scalar(kind, dialect)
    return _unknown(name, spell(kind, dialect)) if scalar is None else Field(name, scalar)


def _nested(column: exp.ColumnDef, dialect: str) -> Field:
    """Return a field of an object, which can have the constraints of a column."""
    from sqlglot import exp

    kind = column.args.get("kind")
    field = _field(column.name, kind, dialect) if isinstance(kind, exp.DataType) else _unknown(column.name, "")
    properties, unread = dict(field.properties), list(field.unread)
    for constraint in column.constraints:
        match kind_of(constraint):
            case exp.NotNullColumnConstraint() as null if not null.args.get("allow_null"):
                properties["nullable"] = False
            case exp.CommentColumnConstraint() as comment:
                properties |= note(comment.this.name)
            case exp.Properties() as options:
                description, unread_options = read_options(options)
                properties |= note(description)
                unread += [("constraint", spell(option, dialect), None) for option in unread_options]
            case unread_constraint:
                unread.append(("constraint", spell(unread_constraint, dialect), None))
    return Field(field.name, properties, field.fields, field.element, field.values, tuple(unread))


def _unknown(name: str, text: str) -> Field:
    return Field(name, {"data_type": "text"}, unread=(("type", {"type": text}, {"data_type": "text"}),))


def _word(kind: exp.Expression) -> str:
    from sqlglot import exp

    return kind.this.name if isinstance(kind.this, exp.DataType.Type) else str(kind.this)


def _scalar(kind: exp.DataType, dialect: str) -> dict[str, Any] | None:  # noqa: C901, PLR0911, PLR0912 - by type
    """Return the properties of a column of a type, case by case; None for a type that is not known."""
    from sqlglot import exp

    name = _word(kind)
    parameters = [argument.name for argument in kind.expressions if isinstance(argument, exp.DataTypeParam)]
    sizes = [int(parameter) for parameter in parameters if parameter.isdigit()]
    sized = {"precision": sizes[0]} if sizes else {}
    if name in ("ENUM", "ENUM8", "ENUM16"):  # ClickHouse numbers its values
        values = [(argument.this if isinstance(argument, exp.EQ) else argument).name for argument in kind.expressions]
        return {"data_type": "text", **({"x-enum": values} if values else {})}
    if name in _TEXTS:
        return {"data_type": "text", **(sized if name != "UUID" else {})}
    if name == "BIT":  # PostgreSQL and DuckDB have texts of bits
        return {"data_type": "bool"} if sizes in ([], [1]) and dialect not in ("postgres", "duckdb") else None
    if name == "TINYINT" and sizes == [1]:
        return {"data_type": "bool"}  # as MySQL shows them
    if name == "SERIAL" and dialect == "mysql":
        return {"data_type": "wei"}
    if name in _INTEGERS:
        if dialect in ("snowflake", "oracle"):  # all of them are one type
            return {"data_type": "decimal", "precision": 38, "scale": 0}
        bits = None if name in _WIDE.get(dialect, ()) else _INTEGERS[name]
        return {"data_type": "bigint", **({"precision": bits} if bits else {})}
    if name == "DATE" and dialect == "oracle":  # with the time of day, in seconds
        return {"data_type": "timestamp", "timezone": False, "precision": 0}
    if name in _PLAIN:
        return {"data_type": _PLAIN[name]}
    if name in _BINARY:
        return {"data_type": "binary", **sized}
    if name in _SCALED and sizes:
        return {"data_type": "decimal", "precision": _SCALED[name], "scale": sizes[0]}
    if name in _DECIMALS:
        if sizes in ([156, 78], [78, 0], [76, 0]) or (name == "BIGDECIMAL" and not sizes):
            return {"data_type": "wei"}
        if sizes == [19, 0]:
            return {"data_type": "bigint"}
        return {"data_type": "decimal", **({**sized, "scale": sizes[1] if len(sizes) > 1 else 0} if sizes else {})}
    has_zone = dialect == "clickhouse" and len(kind.expressions) > len(sizes)
    if name in ("TIMESTAMPTZ", "TIMESTAMPLTZ") or (name in ("DATETIME", "DATETIME64") and has_zone):
        return {"data_type": "timestamp", **sized}
    if name in _LOCAL:
        size = {"precision": _LOCAL[name]} if _LOCAL[name] is not None else sized
        return {"data_type": "timestamp", "timezone": False, **size}
    return {"data_type": "time", **sized} if name in ("TIME", "TIMETZ") else None
