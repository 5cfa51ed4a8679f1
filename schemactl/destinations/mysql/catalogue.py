"""Reads the tables of a MySQL or MariaDB server."""

from __future__ import annotations

from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._catalogue import catalogue_of, choose_dataset
from schemactl.destinations.mysql.session import MySqlSession, json_columns, open_session, parse_address, text_of
from schemactl.destinations.mysql.types import kind_of

_DATASETS: Final = """
    select distinct table_schema from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('information_schema', 'performance_schema', 'mysql', 'sys')
"""

_COLUMNS: Final = """
    select c.table_name, c.column_name, c.column_type, c.is_nullable = 'YES', c.column_comment, t.table_comment
    from information_schema.columns c
        join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
    where c.table_schema = %s and t.table_type = 'BASE TABLE'
    order by t.create_time, t.table_name, c.ordinal_position
"""

_KEYS: Final = """
    select table_name, index_name, index_name = 'PRIMARY', column_name from information_schema.statistics
    where table_schema = %s and non_unique = 0 and sub_part is null
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset.

    Raises:
        InputError: the address is wrong, or names no dataset.
        DestinationError: the server cannot be reached or refuses to answer, or PyMySQL is not installed.
    """
    address = parse_address(url)
    with open_session(address) as session, session.wrap_errors("read the catalog"):
        return read_session(session, address.dataset)


def read_session(session: MySqlSession, asked: str | None) -> Catalogue:
    """Return the tables of one dataset over an open connection."""
    dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, asked, session.shown)
    jsons = json_columns(session, dataset)
    rows = (
        (table, name, kind_of("json" if (table, name) in jsons else text_of(of)), bool(is_null), *map(text_of, texts))
        for table, name, of, is_null, *texts in session.query(_COLUMNS, dataset)
    )
    return catalogue_of(session, dataset, rows, session.query(_KEYS, dataset))
