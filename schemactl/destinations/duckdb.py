"""A DuckDB file: ``duckdb:///PATH?dataset=NAME``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import FileAddress, file_address
from schemactl.destinations._catalogue import (
    VERSIONS_TABLE,
    Catalogue,
    choose_dataset,
    column_of,
    hashes_of,
    keeps_versions,
    keys_of,
    missing_driver,
    schema_name,
    schema_of,
    unknown,
    with_nullable,
)
from schemactl.destinations._types import decimal, decimal_sizes, integer, parse_type
from schemactl.errors import DestinationError
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS: Final = """
    select schema_name, table_name, column_name, data_type, is_nullable
    from duckdb_columns() join duckdb_tables() using (database_name, schema_name, table_name)
    where database_name = current_database() and not duckdb_tables.internal
    order by schema_name, duckdb_tables.table_oid, column_index
"""

_CONSTRAINTS: Final = """
    select table_name, constraint_type = 'PRIMARY KEY', constraint_column_names
    from duckdb_constraints()
    where database_name = current_database() and schema_name = ? and constraint_type in ('PRIMARY KEY', 'UNIQUE')
"""

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


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset; the file is opened for reading only.

    Raises:
        InputError: the address is wrong, there is no such file, or it names no dataset.
        DestinationError: DuckDB cannot read the file, another process writes it, or DuckDB is not installed.
    """
    address = file_address(url)
    try:
        import duckdb
    except ModuleNotFoundError:
        raise missing_driver("duckdb", "duckdb") from None
    try:
        with duckdb.connect(address.path, read_only=True) as connection:
            return _read(connection, address)
    except duckdb.Error as error:
        is_locked = "lock" in str(error)
        hint = "another process has it open for writing: end that first, or name a copy" if is_locked else None
        raise DestinationError(f"cannot read `{address}`: {str(error).splitlines()[0]}", hint=hint) from error


def _read(connection: DuckDBPyConnection, address: FileAddress) -> Catalogue:
    rows: list[tuple[Any, ...]] = connection.execute(_COLUMNS).fetchall()
    dataset = choose_dataset({row[0] for row in rows}, address.dataset, str(address))
    held = [row[1:] for row in rows if row[0] == dataset]
    keys = keys_of(connection.execute(_CONSTRAINTS, [dataset]).fetchall())
    stated: list[tuple[Any, ...]] = []
    if keeps_versions(row[:2] for row in held):
        quoted = dataset.replace('"', '""')
        newest_first = f'select schema_name, version_hash from "{quoted}"."{VERSIONS_TABLE}" order by inserted_at desc'
        stated = connection.execute(newest_first).fetchall()
    columns = ((table, column_of(name, _kind(of), is_null, keys.get(table))) for table, name, of, is_null in held)
    name = schema_name({row[0] for row in stated}, dataset)
    return Catalogue(schema_of(name, columns), f"{address}?dataset={dataset}", hashes_of(stated))


def _kind(written: str) -> Properties:
    parsed = parse_type(written)
    if parsed is not None and parsed.name == "DECIMAL" and len(parsed.sizes) == 2:
        precision, scale = parsed.sizes
        return _WEI if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _KINDS.get(written.upper()) or unknown(written)


def stored(column: Column) -> Properties:
    """Return what a DuckDB catalogue says of such a column (dlt.md §9.3)."""
    written = column.properties.get(DATABASE_TYPE)
    return with_nullable(unknown(written) if written else _kind(_database_type(column)), column)


_DATABASE_TYPES: Final = {
    DataType.TEXT: "VARCHAR",
    DataType.DOUBLE: "DOUBLE",
    DataType.BOOL: "BOOLEAN",
    DataType.BINARY: "BLOB",
    DataType.JSON: "JSON",
    DataType.DATE: "DATE",
    DataType.TIME: "TIME",
}


def _database_type(column: Column) -> str:
    match column.data_type:
        case DataType.BIGINT:
            return _integer(column.properties.get("precision") or 64)
        case DataType.DECIMAL:
            return "DECIMAL({},{})".format(*decimal_sizes(column.properties))
        case DataType.WEI:
            precision, scale = column.properties.get("precision"), column.properties.get("scale")
            return f"DECIMAL({precision or 38},{scale or 0})"
        case DataType.TIMESTAMP:
            return _timestamp(column.properties)
        case None:
            raise ValueError(f"column `{column.name}` has no type")
        case other:
            return _DATABASE_TYPES[other]


def _integer(bits: int) -> str:
    sizes = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    return next((name for limit, name in sizes.items() if bits <= limit), "HUGEINT")


def _timestamp(properties: Properties) -> str:
    if properties.get("timezone") is not False:
        return "TIMESTAMP WITH TIME ZONE"
    precision = properties.get("precision")
    if precision is None or 3 < precision <= 6:
        return "TIMESTAMP"
    return "TIMESTAMP_S" if precision == 0 else "TIMESTAMP_MS" if precision <= 3 else "TIMESTAMP_NS"
