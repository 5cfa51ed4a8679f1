"""Reads the tables of a DuckDB file, without writing to it."""

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
)
from schemactl.destinations._session import quote
from schemactl.destinations.duckdb.session import is_lock
from schemactl.destinations.duckdb.types import kind_of
from schemactl.errors import DestinationError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS: Final = """
    select database_name, schema_name, table_name, column_name, data_type, is_nullable, duckdb_columns.comment,
        duckdb_tables.comment
    from duckdb_columns() join duckdb_tables() using (database_name, schema_name, table_name)
    where database_name = current_database() and not duckdb_tables.internal
    order by schema_name, duckdb_tables.table_oid, column_index
"""

_CONSTRAINTS: Final = """
    select table_name, constraint_type = 'PRIMARY KEY', constraint_column_names
    from duckdb_constraints()
    where database_name = current_database() and schema_name = ? and constraint_type in ('PRIMARY KEY', 'UNIQUE')
"""


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
            return read_connection(connection, address, address.dataset)
    except duckdb.Error as error:
        hint = "another process has it open for writing: end that first, or name a copy" if is_lock(error) else None
        raise DestinationError(f"cannot read `{address}`: {str(error).splitlines()[0]}", hint=hint) from error


def read_connection(connection: DuckDBPyConnection, address: FileAddress, asked: str | None) -> Catalogue:
    """Return the tables of one dataset of an open file; ``address`` is for messages."""
    rows: list[tuple[Any, ...]] = connection.execute(_COLUMNS).fetchall()
    dataset = choose_dataset({row[1] for row in rows}, asked, str(address))
    held = [row[2:] for row in rows if row[1] == dataset]
    keys = keys_of(connection.execute(_CONSTRAINTS, [dataset]).fetchall())
    stated: list[tuple[Any, ...]] = []
    if keeps_versions(row[:2] for row in held):
        # With the file's own name: `shop.orders` is ambiguous in `shop.duckdb`.
        file = rows[0][0]
        table = ".".join(quote(name) for name in (file, dataset, VERSIONS_TABLE))
        newest_first = f"select schema_name, version_hash from {table} order by inserted_at desc"
        stated = connection.execute(newest_first).fetchall()
    columns = (
        (table, column_of(name, kind_of(of), is_null, keys.get(table), text))
        for table, name, of, is_null, text, _ in held
    )
    texts = {row[0]: row[-1] for row in held}
    name = schema_name({row[0] for row in stated}, dataset)
    return Catalogue(schema_of(name, columns, texts), f"{address}?dataset={dataset}", hashes_of(stated))
