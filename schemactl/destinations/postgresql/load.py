"""Takes loads into a PostgreSQL server: what a load writes is one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.destinations._sql_load import check_schema, ledger_entries, load_package, past_loads, table_rows
from schemactl.destinations.postgresql.session import open_session, open_transaction, parse_address
from schemactl.normalization.package import Among, LedgerEntry, LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the earlier loads that the server knows; see ``Loader``."""
    address = parse_address(url)
    with open_session(address) as session:
        return past_loads(session, address.dataset, schema_name)


def read_ledger(url: str, schema_name: str) -> Iterator[LedgerEntry]:
    """Yield the files that loads have loaded; see ``Loader``."""
    address = parse_address(url)
    with open_session(address) as session:
        yield from ledger_entries(session, address.dataset, schema_name)


def read_table(url: str, schema_name: str, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a table; see ``Readable``."""
    address = parse_address(url)
    with open_session(address) as session:
        yield from table_rows(session, address.dataset, schema_name, table, among)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded; what the attempt makes is taken back. See ``Loader``."""
    address = parse_address(url)
    with open_transaction(address) as session:
        check_schema(session, address.dataset, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Take the rows of one load, in one transaction; see ``Loader``."""
    address = parse_address(url)
    with open_transaction(address) as session:
        load_package(session, address.dataset, package, progress)
