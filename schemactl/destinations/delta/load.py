"""Loads rows into Delta tables: the three functions of ``Loader``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from schemactl.destinations._address import folder_address
from schemactl.destinations._bookkeeping import ledger_entries, past_loads
from schemactl.destinations._catalogue import driver
from schemactl.destinations._lake.load import LakeLoad, check_schema
from schemactl.destinations._lake.lock import check_writable
from schemactl.destinations._load import carry_out
from schemactl.destinations.delta.catalogue import dataset_to_write, wrap_delta_errors
from schemactl.destinations.delta.lake import DeltaLake
from schemactl.destinations.parquet.bookkeeping import read_rows
from schemactl.destinations.parquet.journal import list_files
from schemactl.normalization.package import Among, LedgerEntry, LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the known earlier loads; none if the dataset does not exist yet. See ``Loader``."""
    dataset = dataset_to_write(folder_address(url), schema_name)
    return past_loads(partial(read_rows, list_files(dataset)), schema_name)


def read_ledger(url: str, schema_name: str) -> Iterator[LedgerEntry]:
    """Yield the files that loads have loaded; see ``Loader``."""
    dataset = dataset_to_write(folder_address(url), schema_name)
    yield from ledger_entries(partial(read_rows, list_files(dataset)), schema_name)


def read_table(url: str, schema_name: str, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a table; see ``Readable``."""
    dataset = dataset_to_write(folder_address(url), schema_name)
    require_driver()
    with wrap_delta_errors(f"read `{dataset}`"):
        delta_table = DeltaLake(dataset).open(table.name)
        if delta_table is not None:
            yield from delta_table.rows_of(table, among)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded; see ``Loader``."""
    dataset = dataset_to_write(folder_address(url), schema.name)
    check_writable(dataset)
    require_driver()
    check_schema(DeltaLake(dataset), schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Take the rows of one load, all or nothing; see ``_lake.load`` for what readers see meanwhile."""
    dataset = dataset_to_write(folder_address(url), package.schema.name)
    require_driver()
    with wrap_delta_errors(f"load into `{dataset}`"):
        carry_out(LakeLoad(package, progress, DeltaLake(dataset)))


def require_driver() -> None:
    """Raise ``DestinationError`` unless the package `deltalake` is there."""
    with driver("deltalake", "delta"):
        import deltalake  # noqa: F401
