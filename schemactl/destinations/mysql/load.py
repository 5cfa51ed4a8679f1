"""Takes loads into a MySQL or MariaDB server: the rows of a load are one transaction.

What makes tables and columns ends a transaction there: they are made first, and stay if the load fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.destinations._load import carry_out
from schemactl.destinations._session import ddl_of
from schemactl.destinations._sql_load import (
    SqlLoad,
    check_schema,
    choose_target,
    ledger_entries,
    past_loads,
    table_rows,
)
from schemactl.destinations.mysql.session import open_session, parse_address
from schemactl.normalization.package import Among, LedgerEntry, LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.quoting import quote
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
    """Find out whether the tables of a schema could be loaded, as far as the catalog shows it; nothing is made."""
    address = parse_address(url)
    with open_session(address) as session:
        check_schema(session, address.dataset, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Take the rows of one load, in one transaction; see ``Loader``."""
    address = parse_address(url)
    with open_session(address) as session:
        dataset = choose_target(session, address.dataset, package.schema.name)
        with session.wrap_errors(f"create dataset `{dataset}`"):
            session.execute(ddl_of(session).create_dataset(dataset))
            session.execute(f"USE {quote(dataset)}")  # where temporary tables are
        carry_out(SqlLoad(package, progress, session, dataset))
