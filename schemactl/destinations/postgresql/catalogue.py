"""Reads the tables of a PostgreSQL server, in one transaction that can only read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from schemactl.destinations.postgresql.address import Address, parse_address, without_password
from schemactl.destinations.postgresql.session import hint_of
from schemactl.destinations.postgresql.types import kind_of
from schemactl.errors import DestinationError

if TYPE_CHECKING:
    from psycopg import Connection

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
    select relname, indisprimary, array_agg(attname::text)
    from pg_catalog.pg_index
        join pg_catalog.pg_class as tables on tables.oid = indrelid
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
        join pg_catalog.pg_attribute on attrelid = indrelid and attnum = any((indkey::int2[])[0:indnkeyatts - 1])
    where nspname = %s and indisunique and indpred is null and indexprs is null
    group by relname, indisprimary, indexrelid
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, in one transaction that can only read.

    Raises:
        InputError: the address is wrong, or names no dataset.
        DestinationError: the server cannot be reached or refuses to answer, or psycopg is not installed.
    """
    address = parse_address(url)
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ModuleNotFoundError:
        raise missing_driver("psycopg", "postgres") from None
    try:
        with psycopg.connect(make_conninfo(**address.parameters)) as connection:
            connection.read_only = True
            return read_connection(connection, address, address.dataset)
    except psycopg.Error as error:
        # The driver's own error may hold the address with its password.
        message = " ".join(str(error).split())
        shown = f"cannot read `{address.shown}`: {without_password(message, address)}"
        raise DestinationError(shown, hint=hint_of(error, is_read_only=True)) from None


def read_connection(connection: Connection[Any], address: Address, asked: str | None) -> Catalogue:
    """Return the tables of one dataset over an open connection; ``address`` is for messages."""
    found = {row[0] for row in connection.execute(_DATASETS).fetchall()}
    dataset = choose_dataset(found, asked, address.shown)
    rows = connection.execute(_COLUMNS, [dataset]).fetchall()
    keys = keys_of(connection.execute(_KEYS, [dataset]).fetchall())
    stated: list[Any] = []
    if keeps_versions(row[:2] for row in rows):
        from psycopg import sql

        newest_first = sql.SQL("select schema_name, version_hash from {} order by inserted_at desc")
        statement = newest_first.format(sql.Identifier(dataset, VERSIONS_TABLE))
        stated = connection.execute(statement).fetchall()
    columns = (
        (table, column_of(name, kind_of(of), is_null, keys.get(table), text))
        for table, name, of, is_null, text, _ in rows
    )
    texts = {row[0]: row[-1] for row in rows}
    name = schema_name({row[0] for row in stated}, dataset)
    return Catalogue(schema_of(name, columns, texts), f"{address.shown}?dataset={dataset}", hashes_of(stated))
