"""SQL's types of columns by dialect: the words of dlt 1.31's type mappers, for export and for scripts of migrations.

A dialect is sqlglot's name for an engine's SQL. For SQLite and MySQL, dlt uses SQLAlchemy's words, except for MySQL's
texts: its TEXT holds 65,535 bytes. Engines without a dlt destination get standard SQL's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schemactl.errors import InputError
from schemactl.schema.full_types import check_scale, decimal_sizes
from schemactl.schema.types import Column, DataType


@dataclass(frozen=True, slots=True)
class Words:
    """The words of an engine for dlt's types; ``{}`` is the placeholder of a size.

    Attributes:
        text, binary: without a size; ``sized_text`` and ``sized_binary`` with one, None if the engine has no such type.
        integers: by bits, ascending; larger integers are refused, unless ``any_integer``.
        timestamp, naive: with and without a time zone; ``{}`` is replaced by the precision in brackets, or removed.
        time: as ``timestamp``.
        precision: the form of a precision; empty if the engine keeps none.
        most: the largest precision; a larger one becomes the largest, or None if ``refuses``.
        naive_words: of timestamps without a zone up to a precision, ascending, in place of ``naive``.
        unique_text: for a unique text without a size, if no index supports ``text``.
        decimal: with precision and scale; ``wide`` beyond ``narrow`` digits before or after the point.
        whole_decimal: with a precision only, for decimals without digits after the point.
        wei: the word, or the default precision and scale of ``decimal``.
        digits: the most digits of ``decimal`` and of ``wide``, if it exists; None without a limit.
    """

    text: str
    double: str
    boolean: str
    integers: tuple[tuple[int, str], ...]
    timestamp: str
    naive: str
    date: str
    time: str
    binary: str
    json: str
    decimal: str
    wei: str | tuple[int, int]
    unique_text: str | None = None
    sized_text: str | None = None
    sized_binary: str | None = None
    any_integer: bool = False
    precision: str = ""
    default: str = ""
    most: int = 9
    refuses: bool = False
    naive_words: tuple[tuple[int, str], ...] = ()
    wide: str | None = None
    whole_decimal: str | None = None
    digits: int | None = 38


_BITS: Final = ((16, "smallint"), (32, "integer"), (64, "bigint"))
_SMALL: Final = ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))
_TSQL: Final = Words(
    text="nvarchar(max)", sized_text="nvarchar({})", double="float", boolean="bit", integers=_SMALL,
    timestamp="datetimeoffset{}", naive="datetime2{}", precision="({})", most=7, date="date", time="time{}",
    binary="varbinary(max)", sized_binary="varbinary({})", json="json", decimal="decimal({},{})", wei=(38, 0),
)  # fmt: skip
_DATABRICKS: Final = Words(
    text="STRING", double="DOUBLE", boolean="BOOLEAN", integers=tuple((bits, word.upper()) for bits, word in _SMALL),
    timestamp="TIMESTAMP", naive="TIMESTAMP_NTZ", date="DATE", time="STRING", binary="BINARY", json="STRING",
    decimal="DECIMAL({},{})", wei=(38, 0),
)  # fmt: skip

DIALECTS: Final[Mapping[str, Words]] = {
    "postgres": Words(
        text="varchar", sized_text="varchar({})", double="double precision", boolean="boolean", integers=_BITS,
        timestamp="timestamp{} with time zone", naive="timestamp{} without time zone", precision=" ({})", most=6,
        refuses=True, date="date", time="time{} without time zone", binary="bytea", json="jsonb",
        decimal="numeric({},{})", wei=(156, 78), digits=1000,
    ),
    "duckdb": Words(
        text="VARCHAR", double="DOUBLE", boolean="BOOLEAN",
        integers=((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"), (128, "HUGEINT")),
        timestamp="TIMESTAMP WITH TIME ZONE", naive="TIMESTAMP",
        naive_words=((0, "TIMESTAMP_S"), (3, "TIMESTAMP_MS"), (6, "TIMESTAMP"), (9, "TIMESTAMP_NS")), date="DATE",
        time="TIME", binary="BLOB", json="JSON", decimal="DECIMAL({},{})", wei=(38, 0),
    ),
    "snowflake": Words(
        text="VARCHAR", sized_text="VARCHAR({})", double="FLOAT", boolean="BOOLEAN", integers=((64, "NUMBER(19,0)"),),
        any_integer=True, timestamp="TIMESTAMP_LTZ{}", naive="TIMESTAMP_NTZ{}", precision="({})", date="DATE",
        time="TIME{}", binary="BINARY", json="VARIANT", decimal="NUMBER({},{})", wei=(38, 0),
    ),
    "bigquery": Words(
        text="STRING", sized_text="STRING({})", double="FLOAT64", boolean="BOOL", integers=((64, "INT64"),),
        any_integer=True, timestamp="TIMESTAMP", naive="TIMESTAMP", date="DATE", time="TIME", binary="BYTES",
        sized_binary="BYTES({})", json="JSON", decimal="NUMERIC({},{})", wide="BIGNUMERIC({},{})", wei="BIGNUMERIC",
        digits=76,
    ),
    "redshift": Words(
        text="varchar(max)", sized_text="varchar({})", double="double precision", boolean="boolean", integers=_BITS,
        timestamp="timestamp with time zone", naive="timestamp without time zone", date="date",
        time="time without time zone", binary="varbinary", sized_binary="varbinary({})", json="super",
        decimal="numeric({},{})", wei=(38, 0),
    ),
    "tsql": _TSQL,
    "fabric": replace(_TSQL, most=6, json="nvarchar(max)"),
    "databricks": _DATABRICKS,
    "spark": _DATABRICKS,
    "clickhouse": Words(
        text="String", double="Float64", boolean="Boolean",
        integers=((8, "Int8"), (16, "Int16"), (32, "Int32"), (64, "Int64")), timestamp="DateTime64({},'UTC')",
        naive="DateTime64({})", precision="{}", default="6", most=6, date="Date", time="String", binary="String",
        json="String", decimal="Decimal({},{})", wei=(76, 0), digits=76,
    ),
    "athena": Words(
        text="string", double="double", boolean="boolean", integers=_SMALL, timestamp="timestamp", naive="timestamp",
        date="date", time="string", binary="binary", json="string", decimal="decimal({},{})", wei=(38, 0),
    ),
    "mysql": Words(
        text="longtext", unique_text="varchar(128)", sized_text="varchar({})", double="double", boolean="tinyint(1)",
        integers=((16, "smallint"), (32, "int"), (64, "bigint")), any_integer=True, timestamp="datetime{}",
        naive="datetime{}", precision="({})", default="6", most=6, date="date", time="time{}", binary="longblob",
        json="json", decimal="decimal({},{})", whole_decimal="decimal({},0)", wei="decimal(38,0)", digits=65,
    ),
    "sqlite": Words(
        text="TEXT", sized_text="VARCHAR({})", double="DOUBLE", boolean="BOOLEAN",
        integers=((16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT")), any_integer=True, timestamp="DATETIME",
        naive="DATETIME", date="DATE", time="TIME", binary="BLOB", json="JSON", decimal="NUMERIC({}, {})",
        whole_decimal="NUMERIC({})", wei="NUMERIC(38, 0)", digits=None,
    ),
    "dremio": Words(
        text="VARCHAR", double="DOUBLE", boolean="BOOLEAN", integers=((64, "BIGINT"),), any_integer=True,
        timestamp="TIMESTAMP", naive="TIMESTAMP", date="DATE", time="TIME", binary="VARBINARY", json="VARCHAR",
        decimal="DECIMAL({},{})", wei=(38, 0),
    ),
}  # fmt: skip

UPPER_CASE: Final = frozenset(("snowflake",))
"""The engines for which dlt writes names in upper case."""

_STANDARD: Final = Words(
    text="TEXT", sized_text="VARCHAR({})", double="DOUBLE", boolean="BOOLEAN",
    integers=((16, "SMALLINT"), (32, "INT"), (64, "BIGINT")), timestamp="TIMESTAMPTZ", naive="TIMESTAMP", date="DATE",
    time="TIME", binary="VARBINARY", sized_binary="VARBINARY({})", json="JSON", decimal="DECIMAL({},{})",
    wei=(38, 0), digits=None,
)  # fmt: skip
_OWN: Final[Mapping[str, Mapping[DataType, str]]] = {"hive": {DataType.JSON: "STRING", DataType.TIME: "STRING"}}
"""Types for which an engine's own word differs from sqlglot's word for the standard type."""

_CASTS: Final[Mapping[str, Mapping[DataType, str]]] = {
    "mysql": {
        DataType.TEXT: "CHAR", DataType.BINARY: "BINARY", DataType.BIGINT: "SIGNED", DataType.BOOL: "SIGNED",
        DataType.TIMESTAMP: "DATETIME(6)", DataType.TIME: "TIME(6)",
    },
}  # fmt: skip
"""The types for CAST if it does not take the type that a column has."""
CASTS_WITHOUT_SIZES: Final = frozenset(("bigquery",))
"""Dialects whose CAST takes no sizes."""

_NARROW: Final = (29, 9)
"""Digits before and after the point that BigQuery's NUMERIC has."""


def type_in(column: Column, dialect: str) -> str | None:
    """Return a column's type in a dialect; None without a type, or if the dialect refuses its size."""
    words = DIALECTS.get(dialect)
    if words is None:
        from sqlglot import exp

        kind = column.data_type
        special_word = _OWN.get(dialect, {}).get(kind) if kind is not None else None
        if special_word is not None and column.properties.get("precision") is None:
            return special_word
        word = _type(column, _STANDARD)
        return None if word is None else exp.DataType.build(word).sql(dialect)
    return _type(column, words)


_ANY_SCALE: Final = ("postgres", "oracle", "sqlite")
"""Dialects whose decimals may have more digits after the point than digits."""


def defined_type(column: Column, dialect: str) -> str:
    """Return a column's type in a dialect."""
    word = type_in(column, dialect)
    is_whole = DIALECTS.get(dialect, _STANDARD).whole_decimal and column.properties.get("scale") is None
    if column.data_type is DataType.DECIMAL and not is_whole and dialect not in _ANY_SCALE:
        check_scale(column.name, *decimal_sizes(column.properties), f"`{dialect}`")
    if word is None and column.data_type is None:
        raise ValueError(f"column `{column.name}` has no dlt type")
    if word is None:
        size = column.properties.get("precision")
        words = DIALECTS.get(dialect, _STANDARD)
        limits = {DataType.BIGINT: words.integers[-1][0], DataType.DECIMAL: words.digits, DataType.WEI: words.digits}
        most = limits.get(column.data_type, words.most) if column.data_type is not None else words.most
        message = f"`{dialect}` has no {column.data_type} of precision {size} (`{column.name}`): {most} at most"
        raise InputError(message, hint="lower the precision in the schema, or remove it")
    return word


def cast_in(column: Column, dialect: str) -> str | None:
    """Return the type that CAST takes for values of such a column; None as in ``type_in``."""
    cast_word = _CASTS.get(dialect, {}).get(column.data_type) if column.data_type is not None else None
    word = cast_word or type_in(column, dialect)
    return word.partition("(")[0] if word is not None and dialect in CASTS_WITHOUT_SIZES else word


def _type(column: Column, words: Words) -> str | None:  # noqa: C901, PLR0911, PLR0912 - a case for each type
    """Return the engine's type of a column; None without a data type, or beyond the engine's sizes."""
    size = column.properties.get("precision")
    match column.data_type:
        case DataType.TEXT:
            if size and words.sized_text:
                return words.sized_text.format(size)
            return words.unique_text if words.unique_text and column.properties.get("unique") else words.text
        case DataType.BINARY:
            return words.sized_binary.format(size) if size and words.sized_binary else words.binary
        case DataType.BIGINT:
            bits = 64 if size is None else size
            largest = words.integers[-1][1] if words.any_integer else None
            return next((word for limit, word in words.integers if bits <= limit), largest)
        case DataType.TIMESTAMP if column.is_naive:
            fitting = (word for most, word in words.naive_words if size is not None and size <= most)
            return _precise(next(fitting, words.naive), size, words)
        case DataType.TIMESTAMP:
            return _precise(words.timestamp, size, words)
        case DataType.TIME:
            return _precise(words.time, size, words)
        case DataType.WEI if isinstance(words.wei, str):
            return words.wei
        case DataType.DECIMAL | DataType.WEI if words.digits and size is not None and size > words.digits:
            return None
        case DataType.DECIMAL if words.whole_decimal and size is not None and column.properties.get("scale") is None:
            return words.whole_decimal.format(size)
        case DataType.DECIMAL:
            precision, scale = decimal_sizes(column.properties)
            is_wide = words.wide is not None and (precision - scale > _NARROW[0] or scale > _NARROW[1])
            return (words.wide if is_wide and words.wide else words.decimal).format(precision, scale)
        case DataType.WEI:
            places = column.properties.get("scale")
            return words.decimal.format(size or words.wei[0], words.wei[1] if places is None else places)
        case None:
            return None
        case other:
            return {"double": words.double, "bool": words.boolean, "date": words.date, "json": words.json}[other]


def _precise(word: str, size: int | None, words: Words) -> str | None:
    if size is not None and size > words.most and words.refuses and "{}" in word:
        return None
    digits = words.default if size is None else str(min(size, words.most))
    return word.format(words.precision.format(digits) if digits else "")


_REPLACED_PHRASES: Final = {
    "bit varying": "varbit", **{f"second ( {digits} )": "second" for digits in range(7)}, "number ( * ,": "number(38,",
    "national character varying": "nvarchar", "national char varying": "nvarchar", "national varchar": "nvarchar",
    "national character": "nchar", "national char": "nchar", "native character": "nchar",
    "varying character": "varchar", "unsigned big int": "bigint",
    "long varchar": "text", "long varbinary": "blob", "long raw": "blob",
}  # fmt: skip
"""Types of several words that sqlglot cannot read, and types that it reads and that mean the same."""

_REPLACED_WORDS: Final = {
    "mysql": {"long": "text", "int8": "bigint", "int3": "mediumint", "middleint": "mediumint"},
    "oracle": {"long": "clob", "nclob": "clob", "raw": "varbinary"},
    "sqlite": {"any": ""},
    "teradata": {"byte": "varbinary", "varbyte": "varbinary"},
}
"""By dialect, types of one word that sqlglot cannot read or takes for another type; an empty one is no type."""

_ROUNDED: Final = re.compile(r"(?:number|numeric|decimal) \( (?P<digits>\d+) , - (?P<zeros>\d+) \)$")
"""Integers of Oracle and PostgreSQL that end in zeros: `NUMBER(5, -2)` has up to seven digits."""


def readable(text: str, dialect: str) -> str:
    """Return SQL in which sqlglot knows all types; quoted names, texts and comments stay as they are."""
    import sqlglot

    tokens = sqlglot.tokenize(text, read=dialect)
    words = ["" if token.token_type.name in ("STRING", "IDENTIFIER") else token.text.lower() for token in tokens]
    parts, copied_end, index = [], 0, 0
    while index < len(words):
        count, replacement = _replacement(words, index, dialect)
        if replacement is not None:
            parts += [text[copied_end : tokens[index].start], replacement]
            copied_end = tokens[index + count - 1].end + 1
        index += count
    return "".join((*parts, text[copied_end:]))


def _replacement(words: Sequence[str], index: int, dialect: str) -> tuple[int, str | None]:
    """Return how many words at a place to replace, and the type to replace them with; None to keep the one word."""
    for count in (4, 3, 2):
        phrase = words[index : index + count]
        replacement = _REPLACED_PHRASES.get(" ".join(phrase)) if len(phrase) == count else None
        if replacement is not None:
            return count, replacement
    if (rounded := _ROUNDED.match(" ".join(words[index : index + 7]))) is not None:
        return 7, f"decimal({int(rounded['digits']) + int(rounded['zeros'])}, 0)"
    follows_name = index > 0 and words[index - 1] not in ("(", ",")
    return 1, _REPLACED_WORDS.get(dialect, {}).get(words[index]) if follows_name else None
