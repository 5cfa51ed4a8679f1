"""Runs loads into a MySQL or MariaDB server: the rows of a load are one transaction.

DDL ends a transaction in MySQL: tables and columns are created first, and stay if the load fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemactl.destinations._load import carry_out
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._session import ddl_of
from schemactl.destinations._sql_load import SqlDataset, SqlLoad, check_schema, choose_target
from schemactl.destinations.mysql.session import open_session, parse_address
from schemactl.normalization.package import LoadPackage
from schemactl.progress import Progress
from schemactl.schema.quoting import quote
from schemactl.schema.types import Schema


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[SqlDataset]:
    address = parse_address(url)
    with open_session(address) as session:
        yield SqlDataset(session, choose_target(session, address.dataset, schema_name))


_READER: Final = DatasetReader(_open_to_read)
read_past_loads, read_ledger, read_table = _READER.read_past_loads, _READER.read_ledger, _READER.read_table


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded, as far as the catalog shows it; nothing is made."""
    address = parse_address(url)
    with open_session(address) as session:
        check_schema(session, address.dataset, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, in one transaction; see ``Loader``."""
    address = parse_address(url)
    with open_session(address) as session:
        dataset = choose_target(session, address.dataset, package.schema.name)
        with session.wrap_errors(f"create dataset `{dataset}`"):
            session.execute(ddl_of(session).create_dataset(dataset))
            session.execute(f"USE {quote(dataset)}")  # the dataset of temporary tables
        carry_out(SqlLoad(package, progress, session, dataset))
