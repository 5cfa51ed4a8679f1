"""A PostgreSQL server: ``postgresql://USER@HOST:PORT/DATABASE?dataset=NAME``, else as libpq's URIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

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
from schemactl.destinations._types import DatabaseType, decimal, decimal_sizes, integer, parse_type
from schemactl.errors import DestinationError, InputError
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

if TYPE_CHECKING:
    from psycopg import Connection

_PATIENCE_SECONDS: Final = "10"

_DATASETS: Final = """
    select distinct nspname
    from pg_catalog.pg_class as tables join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where relkind in ('r', 'p', 'f') and nspname <> 'information_schema' and nspname !~ '^pg_'
"""

NAMES: Final = NameLimits(max_bytes=63)

_COLUMNS: Final = """
    select relname, attname, pg_catalog.format_type(atttypid, atttypmod), not attnotnull
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
        join pg_catalog.pg_attribute on attrelid = indrelid and attnum = any(indkey)
    where nspname = %s and indisunique and indpred is null and indexprs is null
    group by relname, indisprimary, indexrelid
"""

_WEI: Final = frozenset(((156, 78), (78, 0)))

_KINDS: Final[dict[str, Properties]] = {
    "CHARACTER VARYING": {"data_type": "text"},
    "TEXT": {"data_type": "text"},
    "DOUBLE PRECISION": {"data_type": "double"},
    "REAL": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "SMALLINT": integer(16),
    "INTEGER": integer(32),
    "BIGINT": integer(64),
    "BYTEA": {"data_type": "binary"},
    "JSONB": {"data_type": "json"},
    "JSON": {"data_type": "json"},
    "DATE": {"data_type": "date"},
    "TIME WITHOUT TIME ZONE": {"data_type": "time"},
    "TIMESTAMP WITH TIME ZONE": {"data_type": "timestamp"},
    "TIMESTAMP WITHOUT TIME ZONE": {"data_type": "timestamp", "timezone": False},
}

_SIZED: Final = frozenset(("text", "time", "timestamp"))
_USUAL_PRECISION: Final = 6


@dataclass(frozen=True, slots=True)
class _Address:
    """What a URI says, and how it is shown: without the password, and without its other parameters."""

    parameters: Mapping[str, str]
    dataset: str | None
    shown: str


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, in one transaction that can only read.

    Raises:
        InputError: the address is wrong, or names no dataset.
        DestinationError: the server cannot be reached or refuses to answer, or psycopg is not installed.
    """
    address = _parse(url)
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ModuleNotFoundError:
        raise missing_driver("psycopg", "postgres") from None
    try:
        with psycopg.connect(make_conninfo(**address.parameters)) as connection:
            connection.read_only = True
            return _read(connection, address)
    except psycopg.Error as error:
        # The driver's own error may hold the address with its password.
        message = " ".join(str(error).split())
        raise DestinationError(f"cannot read `{address.shown}`: {_without_password(message, address)}") from None


def _parse(url: str) -> _Address:
    problem = InputError(
        "the address of the PostgreSQL server cannot be read",
        hint="postgresql://USER@HOST:PORT/DATABASE?dataset=NAME; other characters than letters and digits in a "
        "password are written as %XX",
    )
    try:
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
        port = parts.port
    except ValueError:
        raise problem from None
    user, _, host = parts.netloc.rpartition("@")
    # A password with an unescaped `@`, `/`, `#` would have its rest taken for a host, and shown.
    if "@" in user or "@" in parts.path or parts.fragment or not url.startswith(f"{parts.scheme}://"):
        raise problem
    dataset = asked.pop("dataset", None)
    stated = {
        "host": parts.hostname,
        "port": str(port) if port else None,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "dbname": unquote(parts.path.removeprefix("/")) or None,
    }
    parameters = {"connect_timeout": _PATIENCE_SECONDS, **{key: value for key, value in stated.items() if value}}
    who = f"{parts.username}@" if parts.username else ""
    return _Address({**parameters, **asked}, dataset, f"{parts.scheme}://{who}{host}{parts.path}")


def _without_password(message: str, address: _Address) -> str:
    password = address.parameters.get("password")
    return message.replace(password, "***") if password else message


def _read(connection: Connection[Any], address: _Address) -> Catalogue:
    found = {row[0] for row in connection.execute(_DATASETS).fetchall()}
    dataset = choose_dataset(found, address.dataset, address.shown)
    rows = connection.execute(_COLUMNS, [dataset]).fetchall()
    keys = keys_of(connection.execute(_KEYS, [dataset]).fetchall())
    stated: list[Any] = []
    if keeps_versions(row[:2] for row in rows):
        from psycopg import sql

        newest_first = sql.SQL("select schema_name, version_hash from {} order by inserted_at desc")
        statement = newest_first.format(sql.Identifier(dataset, VERSIONS_TABLE))
        stated = connection.execute(statement).fetchall()
    columns = ((table, column_of(name, _kind(of), is_null, keys.get(table))) for table, name, of, is_null in rows)
    name = schema_name({row[0] for row in stated}, dataset)
    return Catalogue(schema_of(name, columns), f"{address.shown}?dataset={dataset}", hashes_of(stated))


def _kind(written: str) -> Properties:
    parsed = parse_type(written)
    if parsed is None:
        return unknown(written)
    if parsed.name == "NUMERIC":
        return _numeric(parsed)
    kind = _KINDS.get(parsed.name)
    if kind is None:
        return unknown(written)
    precision = parsed.sizes[0] if parsed.sizes and kind["data_type"] in _SIZED else None
    is_usual = precision is None or (kind["data_type"] != "text" and precision == _USUAL_PRECISION)
    return kind if is_usual else {**kind, "precision": precision}


def _numeric(parsed: DatabaseType) -> Properties:
    match parsed.sizes:
        case (precision, scale):
            return {"data_type": "wei"} if (precision, scale) in _WEI else decimal(precision, scale)
        case _:
            # Without sizes it holds any number, which dlt's decimal without sizes does not.
            return {"data_type": "decimal", **unknown("numeric")}


def stored(column: Column) -> Properties:
    """Return what PostgreSQL's catalogue says of such a column (dlt.md §9.3)."""
    properties = column.properties
    kinds = ("data_type", DATABASE_TYPE)
    if DATABASE_TYPE in properties:
        return with_nullable({key: properties[key] for key in kinds if key in properties}, column)
    return with_nullable(_kind(_database_type(column)), column)


_DATABASE_TYPES: Final = {
    DataType.DOUBLE: "double precision",
    DataType.BOOL: "boolean",
    DataType.BINARY: "bytea",
    DataType.JSON: "jsonb",
    DataType.DATE: "date",
}


def _database_type(column: Column) -> str:
    properties = column.properties
    precision = properties.get("precision")
    size = "" if precision is None else f"({precision})"
    match column.data_type:
        case DataType.TEXT:
            return f"character varying{size}"
        case DataType.BIGINT:
            return "bigint" if precision is None or precision > 32 else "smallint" if precision <= 16 else "integer"
        case DataType.DECIMAL:
            return "numeric({},{})".format(*decimal_sizes(properties))
        case DataType.WEI:
            return f"numeric({precision or 156},{78 if properties.get('scale') is None else properties['scale']})"
        case DataType.TIME:
            return f"time{size} without time zone"
        case DataType.TIMESTAMP:
            return f"timestamp{size} {'without' if properties.get('timezone') is False else 'with'} time zone"
        case None:
            raise ValueError(f"column `{column.name}` has no type")
        case other:
            return _DATABASE_TYPES[other]
