"""DuckDB's types and dlt's, both ways (docs/dlt.md §9.3)."""

from __future__ import annotations

from typing import Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._types import decimal, integer, parse_type, type_in
from schemactl.destinations.duckdb.nested import duckdb_type, spelt
from schemactl.schema.nested_types import structure_of
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

NAMES: Final = NameLimits(is_case_sensitive=False)

_WEI: Final[Properties] = {"data_type": "wei"}
_NAIVE: Final[Properties] = {"data_type": "timestamp", "timezone": False}

_KINDS: Final[dict[str, Properties]] = {
    "VARCHAR": {"data_type": "text"},
    "DOUBLE": {"data_type": "double"},
    "FLOAT": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "TINYINT": integer(8),
    "SMALLINT": integer(16),
    "INTEGER": integer(32),
    "BIGINT": integer(64),
    "UTINYINT": integer(16),
    "USMALLINT": integer(32),
    "UINTEGER": integer(64),
    "HUGEINT": _WEI,
    "BLOB": {"data_type": "binary"},
    "JSON": {"data_type": "json"},
    "DATE": {"data_type": "date"},
    "TIME": {"data_type": "time"},
    "TIMESTAMP WITH TIME ZONE": {"data_type": "timestamp"},
    "TIMESTAMP": _NAIVE,
    "TIMESTAMP_S": {**_NAIVE, "precision": 0},
    "TIMESTAMP_MS": {**_NAIVE, "precision": 3},
    "TIMESTAMP_NS": {**_NAIVE, "precision": 9},
}


def kind_of(written: str) -> Properties:
    """Return dlt's type for one of DuckDB's, as its catalog writes it."""
    parsed = parse_type(written)
    if parsed is not None and parsed.name == "DECIMAL" and len(parsed.sizes) == 2:
        precision, scale = parsed.sizes
        return _WEI if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _KINDS.get(written.upper()) or unknown(spelt(written))


def stored(column: Column) -> Properties:
    """Return what a DuckDB catalog says of such a column (docs/dlt.md §9.3)."""
    written = column.properties.get(DATABASE_TYPE)
    return with_nullable(unknown(written) if written else kind_of(column_type(column)), column)


def column_type(column: Column) -> str:
    """Return the type that dlt gives a column on DuckDB, as its catalog writes it.

    Raises:
        ValueError: the column is incomplete.
        InputError: it states a type that is none, or a size that dlt refuses.
    """
    if column.data_type is DataType.JSON and DATABASE_TYPE not in column.properties and (of := structure_of(column)):
        return duckdb_type(of)
    return type_in(column, "duckdb")
