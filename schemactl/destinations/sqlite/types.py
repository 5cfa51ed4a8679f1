"""SQLite's types and dlt's, both ways, and the part of a type that SQLite keeps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import TypeSystem, integer, keeps_unknown_types, parse_type
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

NAMES: Final = NameLimits(is_case_sensitive=False)

_ROW_ID: Final = "x-row-id"
"""A column that SQLite fills with the number of the row by default: INTEGER and the whole primary key."""

_DECIMAL: Final[Properties] = {"data_type": "decimal"}

_KINDS: Final[dict[str, Properties]] = {
    "TEXT": {"data_type": "text"},
    "VARCHAR": {"data_type": "text"},
    "CHAR": {"data_type": "text"},
    "CLOB": {"data_type": "text"},
    "DOUBLE": {"data_type": "double"},
    "DOUBLE PRECISION": {"data_type": "double"},
    "FLOAT": {"data_type": "double"},
    "REAL": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "TINYINT": integer(8),
    "SMALLINT": integer(16),
    "INTEGER": integer(64),
    "INT": integer(64),
    "BIGINT": integer(64),
    "BLOB": {"data_type": "binary"},
    "JSON": {"data_type": "json"},
    "NUMERIC": _DECIMAL,
    "DECIMAL": _DECIMAL,
    "DATE": {"data_type": "date"},
    "TIME": {"data_type": "time"},
    "DATETIME": {"data_type": "timestamp"},
    "TIMESTAMP": {"data_type": "timestamp"},
}


def kind_of(declared: str) -> Properties:
    """Return dlt's type for one that a table was declared with."""
    parsed = parse_type(declared)
    kind = _KINDS.get(parsed.name) if parsed else None
    if parsed is None or kind is None:
        return unknown(declared)
    if kind is _DECIMAL:
        return {"data_type": "wei"} if parsed.sizes == (38, 0) else {**_DECIMAL, **_sizes(parsed.sizes)}
    return {**kind, **_sizes(parsed.sizes[:1])} if kind["data_type"] == "text" else kind


def kind_of_key(declared: str) -> Properties:
    """Return dlt's type for that of a column which is the whole primary key."""
    kind = kind_of(declared)
    return {**kind, _ROW_ID: True} if declared.upper() == "INTEGER" else kind


def _sizes(sizes: tuple[int, ...]) -> Properties:
    return dict(zip(("precision", "scale"), sizes, strict=False))


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return the type of such a column in all SQLite catalogs.

    It has no size: SQLite ignores sizes, and the declared sizes depend on the library that created the table.
    """
    settled = settle(column)
    declared_type = settled.properties.get(DATABASE_TYPE)
    if declared_type is not None and DATABASE_TYPE in kind_of(declared_type):
        return with_nullable(unknown(declared_type), column)
    kind = DataType.DECIMAL if settled.data_type is DataType.WEI else settled.data_type
    return with_nullable({"data_type": str(kind)}, column)


@lru_cache(maxsize=4096)
def own_type(written: str) -> str | None:
    """Return a type as SQLite keeps it; None for a text that no column can be declared with.

    SQLite accepts any words as a type, and reads a constraint or an expression behind them. If it keeps the whole text
    as the type, the text contains neither.
    """
    text = " ".join(written.split())
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"CREATE TABLE typed (value {text})")
        except (sqlite3.Error, sqlite3.Warning):
            return None
        columns = connection.execute("SELECT name, type FROM pragma_table_xinfo('typed')").fetchall()
    return text if columns == [("value", text)] else None


TYPES: Final = TypeSystem("SQLite", "sqlite", kind_of, own_type)
settle: Final = TYPES.settle


def column_type(column: Column) -> str:
    """Return the type that such a column is declared with; raises as ``TypeSystem.column_type``."""
    is_row_id = column.properties.get(_ROW_ID) and column.properties.get("primary_key")
    if column.data_type is DataType.BIGINT and is_row_id and DATABASE_TYPE not in column.properties:
        return "INTEGER"
    return TYPES.column_type(column)
