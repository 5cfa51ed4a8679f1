"""Reads the tables of a DuckDB file, without writing to it."""

from __future__ import annotations

from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import file_address
from schemactl.destinations._catalogue import catalogue_of, choose_dataset, driver
from schemactl.destinations._database_files import check_duckdb_files
from schemactl.destinations._session import quote
from schemactl.destinations.duckdb.session import OFFLINE, DuckDbSession, attach, is_lock
from schemactl.destinations.duckdb.types import kind_of
from schemactl.errors import DestinationError
from schemactl.schema.templates import VERSION_TABLE

_COLUMNS: Final = """
    select database_name, schema_name, table_name, column_name, data_type, is_nullable, duckdb_columns.comment,
        duckdb_tables.comment
    from duckdb_columns() join duckdb_tables() using (database_name, schema_name, table_name)
    where database_name = current_database() and not duckdb_tables.internal
    order by schema_name, duckdb_tables.table_oid, column_index
"""

_CONSTRAINTS: Final = """
    select table_name, constraint_index, constraint_type = 'PRIMARY KEY', unnest(constraint_column_names)
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
    check_duckdb_files(address.path)
    with driver("duckdb", "duckdb"):
        import duckdb
    try:
        with duckdb.connect(config=dict(OFFLINE)) as connection:
            attach(connection, str(address.path.absolute()), is_read_only=True)
            return read_session(DuckDbSession(connection, address), address.dataset)
    except duckdb.Error as error:
        hint = "another process has it open for writing: end that first, or name a copy" if is_lock(error) else None
        raise DestinationError(f"cannot read `{address}`: {str(error).splitlines()[0]}", hint=hint) from error


def read_session(session: DuckDbSession, asked: str | None) -> Catalogue:
    """Return the tables of one dataset of an open file."""
    rows = session.query(_COLUMNS)
    dataset = choose_dataset({row[1] for row in rows}, asked, session.shown)
    held = ((row[2], row[3], kind_of(row[4]), *row[5:]) for row in rows if row[1] == dataset)
    # With the file's own name: `shop.orders` is ambiguous in `shop.duckdb`.
    versions = ".".join(map(quote, (rows[0][0], dataset, VERSION_TABLE)))
    return catalogue_of(session, dataset, held, session.query(_CONSTRAINTS, dataset), versions=versions)
