"""Loads rows into Iceberg tables: the three functions of ``Loader``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.destinations._bookkeeping import ledger_entries, past_loads
from schemactl.destinations._lake.load import LakeLoad, check_schema
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._load import carry_out
from schemactl.destinations.iceberg.address import Address, lock_folder, open_catalog, read_address, wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import check_place
from schemactl.destinations.iceberg.lake import IcebergLake, lake_to_write
from schemactl.normalization.package import Among, LedgerEntry, LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the known earlier loads; none if the dataset does not exist yet. See ``Loader``."""
    lake = _existing(read_address(url), schema_name)
    return past_loads(lake.read_rows, schema_name) if lake else PastLoads()


def read_ledger(url: str, schema_name: str) -> Iterator[LedgerEntry]:
    """Yield the files that loads have loaded; see ``Loader``."""
    lake = _existing(read_address(url), schema_name)
    if lake:
        yield from ledger_entries(lake.read_rows, schema_name)


def read_table(url: str, schema_name: str, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a table; see ``Readable``."""
    address = read_address(url)
    lake = _existing(address, schema_name)
    if lake is not None:
        with wrap_iceberg_errors(f"read `{address}`"):
            iceberg_table = lake.open(table.name)
            if iceberg_table is not None:
                yield from iceberg_table.rows_of(table, among)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded; see ``Loader``."""
    address = read_address(url)
    _check_folder(address, schema.name)
    lake = _existing(address, schema.name)
    if lake is not None:
        check_schema(lake, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Take the rows of one load, all or nothing; see ``_lake.load`` for what readers see meanwhile."""
    address = read_address(url)
    _check_folder(address, package.schema.name)
    if address.folder is not None:
        address.folder.mkdir(parents=True, exist_ok=True)
    progress(f"locking `{address}` against other loads", None)
    with holding(lock_folder(address)):  # two that make a catalog at once would make its tables twice
        catalog = open_catalog(address, is_written=True)
    with wrap_iceberg_errors(f"load into `{address}`"):
        carry_out(LakeLoad(package, progress, lake_to_write(address, package.schema.name, catalog)))


def _check_folder(address: Address, schema_name: str) -> None:
    if address.folder is not None:
        check_writable(address.folder)
    hint = "load into another folder, or use the same catalog for dlt and schemactl: iceberg:CATALOG?dataset=NAME"
    check_place(address, schema_name, "loaded", hint)


def _existing(address: Address, schema_name: str) -> IcebergLake | None:
    """Return the dataset that a load of this schema goes to, None if there is no catalog yet."""
    if address.database is not None and not address.database.is_file():
        return None
    catalog = open_catalog(address, is_written=False)
    with wrap_iceberg_errors(f"read `{address}`"):
        return lake_to_write(address, schema_name, catalog)
