"""Reads the tables of a PostgreSQL server, in transactions that can only read."""

from __future__ import annotations

from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._catalogue import catalogue_of, choose_dataset
from schemactl.destinations.postgresql.session import READING, PostgresSession, open_session, parse_address
from schemactl.destinations.postgresql.types import kind_of

_DATASETS: Final = """
    select distinct nspname
    from pg_catalog.pg_class as tables join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where relkind in ('r', 'p', 'f') and nspname <> 'information_schema' and nspname !~ '^pg_'
"""

_COLUMNS: Final = """
    select relname, attname, pg_catalog.format_type(atttypid, atttypmod), not attnotnull,
        pg_catalog.col_description(tables.oid, attnum), pg_catalog.obj_description(tables.oid, 'pg_class')
    from pg_catalog.pg_attribute
        join pg_catalog.pg_class as tables on tables.oid = attrelid
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where nspname = %s and relkind in ('r', 'p', 'f') and not relispartition and attnum > 0 and not attisdropped
    order by tables.oid, attnum
"""

_KEYS: Final = """
    select relname, indexrelid, indisprimary, attname
    from pg_catalog.pg_index
        join pg_catalog.pg_class as tables on tables.oid = indrelid
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
        join pg_catalog.pg_attribute on attrelid = indrelid and attnum = any((indkey::int2[])[0:indnkeyatts - 1])
    where nspname = %s and indisunique and indpred is null and indexprs is null
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, in transactions that can only read.

    Raises:
        InputError: the address is wrong, or names no dataset.
        DestinationError: the server cannot be reached or refuses to answer, or psycopg is not installed.
    """
    address = parse_address(url)
    with open_session(address, READING, is_read_only=True) as session, session.wrap_errors("read the catalog"):
        return read_session(session, address.dataset)


def read_session(session: PostgresSession, asked: str | None) -> Catalogue:
    """Return the tables of one dataset over an open connection."""
    dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, asked, session.shown)
    rows = ((*row[:2], kind_of(row[2]), *row[3:]) for row in session.query_as_user(_COLUMNS, dataset))
    return catalogue_of(session, dataset, rows, session.query(_KEYS, dataset))
