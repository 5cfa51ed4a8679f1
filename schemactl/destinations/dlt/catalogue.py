"""Reads dlt's bookkeeping in a destination: its last schema, completed loads, and our table of loaded files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._bookkeeping import INPUTS, ReadRows, ledger_entries, past_loads, rows_of, version_rows
from schemactl.destinations._catalogue import OWN_SCHEMA, hashes_of
from schemactl.destinations.dlt.session import Session, find_destination, open_session, parse_address
from schemactl.errors import InputError
from schemactl.normalization.package import LedgerEntry, PastLoads
from schemactl.schema.changes import TYPE_PROPERTIES
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Properties, Table, schema_from_dict

if TYPE_CHECKING:
    from dlt.common.destination.client import JobClientBase
    from dlt.destinations.impl.filesystem.filesystem import FilesystemClient

NAMES: Final = NameLimits()


def name_limits(url: str) -> NameLimits:
    """Return the name limits of the destination at an address that dlt knows; nothing is connected."""
    capabilities = find_destination(parse_address(url).name).capabilities()
    return NameLimits(
        min(capabilities.max_identifier_length, capabilities.max_column_identifier_length),
        capabilities.has_case_sensitive_identifiers,
    )


def read_catalogue(url: str) -> Catalogue:
    """Return the last schema that dlt has loaded a dataset with: no catalog of the destination's own is read."""
    address = parse_address(url)
    if address.dataset is None:
        raise InputError(f"`{url}` does not name a dataset", hint=f"`{address}?dataset=NAME`")
    session = open_session(address, new_schema(OWN_SCHEMA))
    with session.wrap_errors(f"read dataset `{address.dataset}`"), session.client as client:
        read = partial(_read_rows, client)
        versions = [row for row in version_rows(read) if row["schema_name"] != OWN_SCHEMA]
        if not versions:
            raise InputError(f"dlt has loaded no dataset `{address.dataset}` in `{address}`")
        schema = schema_from_dict(json.loads(version_rows(read, versions[0]["version_hash"])[0]["schema"]))
    hashes = hashes_of([(row["schema_name"], row["version_hash"]) for row in versions])
    return Catalogue(schema, f"{address}?dataset={address.dataset}", hashes)


def stored(column: Column) -> Properties:
    """Return the properties of a column in dlt's schema that a destination keeps."""
    properties = {name: column.properties[name] for name in TYPE_PROPERTIES if name in column.properties}
    return properties if column.nullable else {**properties, "nullable": False}


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the earlier loads that a dataset knows; see ``Loader``."""
    return known_loads(open_session(parse_address(url), new_schema(schema_name)))


def read_ledger(url: str, schema_name: str) -> Iterator[LedgerEntry]:
    """Yield the files that loads have loaded; see ``Loader``."""
    with reading_loads(open_session(parse_address(url), new_schema(schema_name))) as read:
        yield from ledger_entries(read, schema_name)


def known_loads(session: Session) -> PastLoads:
    """Return the loads into the dataset of a session with its schema."""
    with reading_loads(session) as read:
        return past_loads(read, session.schema.name)


@contextmanager
def reading_loads(session: Session) -> Iterator[ReadRows]:
    """Yield the function that reads the tables of loads."""
    with session.wrap_errors("read dlt's table of loads"), session.client as client:
        yield partial(_read_rows, client)


def _read_rows(client: JobClientBase, table: Table, /, **equal: str) -> Iterator[dict[str, Any]]:
    """Yield rows of one of dlt's tables or ours; see ``ReadRows``."""
    from dlt.destinations.exceptions import DatabaseUndefinedRelation
    from dlt.destinations.impl.filesystem.filesystem import FilesystemClient
    from dlt.destinations.job_client_impl import SqlJobClientBase

    if not isinstance(client, SqlJobClientBase | FilesystemClient) or not client.is_storage_initialized():
        return
    naming = client.schema.naming
    table_name = table.name if table.name == INPUTS.name else naming.normalize_table_identifier(table.name)
    names = {column: naming.normalize_identifier(column) for column in table.columns}
    if isinstance(client, FilesystemClient):
        values: Iterable[Sequence[Any]] = (
            [line.get(name) for name in names.values()] for line in _lines_of_files(client, table_name)
        )
    else:
        sql_client = client.sql_client
        if table.name == INPUTS.name:  # an earlier version has made it with fewer columns
            (_, stored_columns), *_ = client.get_storage_tables([table_name])
            names = {column: name for column, name in names.items() if name in stored_columns}
        column_list = ", ".join(map(sql_client.escape_column_name, names.values()))
        query = f"SELECT {column_list} FROM {sql_client.make_qualified_table_name(table_name)}"
        try:
            values = (sql_client.execute_sql(query) or ()) if names else ()
        except DatabaseUndefinedRelation:
            values = ()
    rows = rows_of(table, values, names)
    yield from (row for row in rows if all(row[name] == value for name, value in equal.items()))


def _lines_of_files(client: FilesystemClient, table: str) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    if not client.fs_client.isdir(client.get_table_dir(table)):
        return
    for path in client.list_table_files(table):
        if path.endswith(".parquet"):
            with client.fs_client.open(path, "rb") as file:
                yield from parquet.read_table(file).to_pylist()
        else:
            yield from map(json.loads, client.fs_client.read_text(path, encoding="utf-8").splitlines())
