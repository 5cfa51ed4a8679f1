"""Runs loads into a PostgreSQL server, in one transaction each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._sql_load import SqlDataset, check_schema, choose_target, load_package
from schemactl.destinations.postgresql.migration import open_in_load
from schemactl.destinations.postgresql.session import open_session, open_transaction, parse_address
from schemactl.normalization.package import LoadPackage
from schemactl.progress import Progress
from schemactl.schema.types import Schema


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[SqlDataset]:
    address = parse_address(url)
    with open_session(address) as session:
        yield SqlDataset(session, choose_target(session, address.dataset, schema_name))


_READER: Final = DatasetReader(_open_to_read)
read_past_loads, read_ledger, read_table = _READER.read_past_loads, _READER.read_ledger, _READER.read_table


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded; the trial is rolled back. See ``Loader``."""
    address = parse_address(url)
    with open_transaction(address) as session:
        check_schema(session, address.dataset, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, in one transaction; see ``Loader``."""
    address = parse_address(url)
    with open_transaction(address) as session:
        load_package(session, address.dataset, package, progress, partial(open_in_load, session))
