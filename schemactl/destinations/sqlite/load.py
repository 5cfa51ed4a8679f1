"""Runs loads into a SQLite file, in one transaction each: a killed process leaves no part of a load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from schemactl.destinations._address import check_folder, parse_file_address
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._sql_load import SqlDataset, check_new_database, check_schema, load_package
from schemactl.destinations.sqlite.migration import choose_file, open_in_load
from schemactl.destinations.sqlite.session import MAIN, SqliteDatabase, open_database
from schemactl.destinations.sqlite.types import NAMES
from schemactl.normalization.package import LoadPackage
from schemactl.progress import Progress
from schemactl.schema.types import Schema

_PATIENCE_SECONDS: Final = 5.0
_PATIENCE_OF_LOADS_SECONDS: Final = 600.0


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[SqlDataset | None]:
    address = parse_file_address(url)
    _, path = choose_file(address, schema_name)
    if not path.exists():
        yield None
        return
    with open_database(address, path, patience=_PATIENCE_SECONDS, is_read_only=True) as session:
        yield SqlDataset(session, MAIN)


_READER: Final = DatasetReader(_open_to_read)
read_past_loads, read_ledger, read_table = _READER.read_past_loads, _READER.read_ledger, _READER.read_table


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded; nothing is kept of the attempt. See ``Loader``."""
    address = parse_file_address(url)
    _, path = choose_file(address, schema.name)
    if not path.exists():
        check_new_database(schema, NAMES, str(address))
        check_folder(address)
        return
    with open_database(address, path, patience=_PATIENCE_SECONDS) as session, _transaction(session):
        check_schema(session, MAIN, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, in one transaction; a missing file and its folders are created."""
    address = parse_file_address(url)
    _, path = choose_file(address, package.schema.name)
    if not path.exists():
        check_folder(address)
        path.parent.mkdir(parents=True, exist_ok=True)
    progress(f"opening `{address}`", None)
    with open_database(address, path, patience=_PATIENCE_OF_LOADS_SECONDS) as session, _transaction(session):
        load_package(session, MAIN, package, progress, partial(open_in_load, session))


@contextmanager
def _transaction(session: SqliteDatabase) -> Iterator[None]:
    """Begin a transaction, and roll it back unless it is committed."""
    with session.wrap_errors("begin a load"):
        session.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if session.connection.in_transaction:
            session.connection.rollback()
