"""Loads rows into Iceberg tables: the three functions of ``Loader``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import driver
from schemactl.destinations._lake.load import LakeLoad, check_schema, past_loads_of
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._load import carry_out
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations.iceberg.address import Address, lock_folder, open_catalog, read_address, wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import check_place
from schemactl.normalization.package import LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.types import Schema

if TYPE_CHECKING:
    from schemactl.destinations.iceberg.lake import IcebergLake


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[IcebergLake | None]:
    address = read_address(url)
    lake = _existing(address, schema_name)
    with wrap_iceberg_errors(f"read `{address}`"):
        yield lake


_READER: Final = DatasetReader(_open_to_read)
read_ledger, read_table = _READER.read_ledger, _READER.read_table


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the ids of earlier loads; see ``Loader``."""
    with _open_to_read(url, schema_name) as lake:
        return PastLoads() if lake is None else past_loads_of(lake, schema_name)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded; see ``Loader``."""
    address = read_address(url)
    _check_folder(address, schema.name)
    lake = _existing(address, schema.name)
    if lake is None:  # the dataset that a load would create, in an empty catalog of this process
        with driver("sqlalchemy", "iceberg"):
            from pyiceberg.catalog.memory import InMemoryCatalog

            from schemactl.destinations.iceberg.lake import IcebergLake
        lake = IcebergLake(address, InMemoryCatalog("empty"), address.dataset or schema.name)
    check_schema(lake, schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, all or nothing; ``_lake.load`` describes the view of readers meanwhile."""
    address = read_address(url)
    from schemactl.destinations.iceberg.lake import lake_to_write

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
    from schemactl.destinations.iceberg.lake import lake_to_write

    catalog = open_catalog(address, is_written=False)
    with wrap_iceberg_errors(f"read `{address}`"):
        return lake_to_write(address, schema_name, catalog)
