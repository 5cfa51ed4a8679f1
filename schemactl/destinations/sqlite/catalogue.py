"""Reads the tables of SQLite files, without writing to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemactl.destinations import Catalogue, Definition, StoredQuery
from schemactl.destinations._address import parse_file_address, require_file
from schemactl.destinations._catalogue import catalogue_of, choose_dataset
from schemactl.destinations.sqlite.session import MAIN, SqliteDatabase, dataset_file, files_of, has_tables, reading
from schemactl.destinations.sqlite.types import kind_of, kind_of_key
from schemactl.schema.quoting import qualify
from schemactl.schema.templates import VERSION_TABLE

_COLUMNS: Final = """
    select tables.name, columns.name, columns.type, columns."notnull", columns.pk
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\' and columns.hidden <> 1
    order by tables.rowid, columns.cid
"""

_UNIQUE: Final = """
    select tables.name, indexes.name, 0, columns.name
    from sqlite_master as tables
        join pragma_index_list(tables.name) as indexes join pragma_index_info(indexes.name) as columns
    where tables.type = 'table' and indexes."unique" and indexes.origin <> 'pk' and not indexes.partial
"""


_DEFINITIONS: Final = """
    select tbl_name, sql from sqlite_master
    where sql is not null and name not like 'sqlite\\_%' escape '\\' and not exists (
        select 1 from pragma_index_list(tbl_name) as made
        where made.name = sqlite_master.name and made."unique" and not made.partial and sql not like '%collate%'
            and (select count(*) = 1 and min(cid) >= 0 from pragma_index_info(made.name))
    )
    order by type <> 'table', rowid
"""
"""Statements without the indexes that ``_UNIQUE`` makes ``unique`` of one column."""

_QUERIES: Final = "select type, name, sql from sqlite_master where type in ('view', 'trigger') order by type, name"


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, by the types that they were declared with; nothing is written."""
    with _open_dataset(url) as (session, dataset):
        return read_session(session, dataset, reads_versions=True)


def read_definitions(url: str) -> tuple[Definition, ...]:
    """Return the statements that created the tables, indexes, triggers and views of one dataset."""
    with _open_dataset(url) as (session, _):
        return tuple(Definition(table, sql) for table, sql in session.query(_DEFINITIONS))


def read_queries(url: str) -> tuple[StoredQuery, ...]:
    """Return the views and triggers of the dataset's file."""
    with _open_dataset(url) as (session, dataset):
        return tuple(StoredQuery(kind, dataset, name, sql) for kind, name, sql in session.query(_QUERIES))


@contextmanager
def _open_dataset(url: str) -> Iterator[tuple[SqliteDatabase, str]]:
    """Open the file of the dataset that an address names."""
    address = parse_file_address(url)
    if address.dataset is not None:
        dataset_file(address.path, address.dataset)  # a link is not read
    files = {name: path for name, path in files_of(address.path) if path.is_file()}
    if not files:
        require_file(address)
    files = {name: path for name, path in files.items() if has_tables(path)}
    dataset = choose_dataset(files, address.dataset, str(address))
    path = files[dataset]
    with reading(path) as connection:
        yield SqliteDatabase(connection, address, path), dataset


def read_session(session: SqliteDatabase, dataset: str, *, reads_versions: bool = False) -> Catalogue:
    """Return the tables of a dataset's open file, with the schemas of dlt's ledger if ``reads_versions``."""
    rows = session.query(_COLUMNS)
    with_several_keys = {table for table, *_, key_position in rows if key_position > 1}
    columns = (
        (
            table,
            name,
            kind_of_key(of) if key_position and table not in with_several_keys else kind_of(of),
            not forbids,
            None,
            None,
        )
        for table, name, of, forbids, key_position in rows
    )
    primary = ((table, "", True, name) for table, name, *_, key_position in rows if key_position)
    return catalogue_of(
        session,
        dataset,
        columns,
        (*primary, *session.query(_UNIQUE)),
        versions=qualify(MAIN, VERSION_TABLE) if reads_versions else None,
        name=session.path.stem if dataset == MAIN else None,
    )
