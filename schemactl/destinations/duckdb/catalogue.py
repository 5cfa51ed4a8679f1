"""Reads the tables of a DuckDB file, without writing to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemactl.destinations import Catalogue, Definition, StoredQuery
from schemactl.destinations._address import parse_file_address, require_file
from schemactl.destinations._catalogue import catalogue_of, choose_dataset, driver
from schemactl.destinations._database_files import check_duckdb_files
from schemactl.destinations.duckdb.session import OFFLINE, DuckDbSession, attach, is_lock
from schemactl.destinations.duckdb.types import kind_of
from schemactl.errors import DestinationError
from schemactl.schema.quoting import quote
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


_DEFINITIONS: Final = """
    select table_name, sql from (
        select 1 as kind, table_name, table_oid as made, sql, database_name, schema_name from duckdb_tables()
        union all
        select 2, table_name, index_oid, sql, database_name, schema_name from duckdb_indexes() where sql is not null
        union all
        select 3, view_name, view_oid, sql, database_name, schema_name from duckdb_views() where not internal
    )
    where database_name = current_database() and schema_name = ?
    order by kind, made
"""

_QUERIES: Final = """
    select 'view', schema_name, view_name, sql from duckdb_views()
    where not internal and database_name = current_database()
    union all
    select 'function', schema_name, function_name, macro_definition from duckdb_functions()
    where not internal and database_name = current_database() and macro_definition is not null
    order by 1, 2, 3
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset; the file is opened for reading only."""
    with _open_file(url) as (session, dataset_name):
        return read_session(session, dataset_name, reads_versions=True)


def read_definitions(url: str) -> tuple[Definition, ...]:
    """Return the statements that would create the tables, indexes and views of one dataset."""
    with _open_file(url) as (session, dataset_name):
        dataset = choose_dataset({row[1] for row in session.query(_COLUMNS)}, dataset_name, session.shown)
        return tuple(Definition(table, sql) for table, sql in session.query(_DEFINITIONS, dataset))


def read_queries(url: str) -> tuple[StoredQuery, ...]:
    """Return the views and macros of all datasets of the file."""
    with _open_file(url) as (session, _):
        return tuple(StoredQuery(*row) for row in session.query(_QUERIES))


@contextmanager
def _open_file(url: str) -> Iterator[tuple[DuckDbSession, str | None]]:
    """Open the file of an address for reading, with the dataset that the address names."""
    address = parse_file_address(url)
    require_file(address)
    check_duckdb_files(address.path)
    with driver("duckdb", "duckdb"):
        import duckdb
    try:
        with duckdb.connect(config=dict(OFFLINE)) as connection:
            attach(connection, str(address.path.absolute()), is_read_only=True)
            yield DuckDbSession(connection, address), address.dataset
    except duckdb.Error as error:
        hint = "another process has it open for writing: end that first, or name a copy" if is_lock(error) else None
        raise DestinationError(f"cannot read `{address}`: {str(error).splitlines()[0]}", hint=hint) from error


def read_session(session: DuckDbSession, dataset_name: str | None, *, reads_versions: bool = False) -> Catalogue:
    """Return the tables of one dataset of an open file, with the schemas of dlt's ledger if ``reads_versions``."""
    rows = session.query(_COLUMNS)
    dataset = choose_dataset({row[1] for row in rows}, dataset_name, session.shown)
    dataset_rows = ((row[2], row[3], kind_of(row[4]), *row[5:]) for row in rows if row[1] == dataset)
    # With the file's own name: `shop.orders` is ambiguous in `shop.duckdb`.
    versions = ".".join(map(quote, (rows[0][0], dataset, VERSION_TABLE))) if reads_versions else None
    return catalogue_of(session, dataset, dataset_rows, session.query(_CONSTRAINTS, dataset), versions=versions)
