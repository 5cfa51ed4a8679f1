"""Loads rows into Delta tables: the three functions of ``Loader``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemactl.destinations._address import folder_address
from schemactl.destinations._catalogue import driver
from schemactl.destinations._lake.load import LakeLoad, check_schema, past_loads_of
from schemactl.destinations._lake.lock import check_writable
from schemactl.destinations._load import carry_out
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations.delta.catalogue import dataset_to_write, wrap_delta_errors
from schemactl.destinations.delta.lake import DeltaLake
from schemactl.normalization.package import LoadPackage, PastLoads
from schemactl.progress import Progress
from schemactl.schema.types import Schema


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[DeltaLake]:
    dataset = dataset_to_write(folder_address(url), schema_name)
    require_driver()
    with wrap_delta_errors(f"read `{dataset}`"):
        yield DeltaLake(dataset)


_READER: Final = DatasetReader(_open_to_read)
read_ledger, read_table = _READER.read_ledger, _READER.read_table


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the ids of earlier loads; see ``Loader``."""
    with _open_to_read(url, schema_name) as lake:
        return past_loads_of(lake, schema_name)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded; see ``Loader``."""
    dataset = dataset_to_write(folder_address(url), schema.name)
    check_writable(dataset)
    require_driver()
    check_schema(DeltaLake(dataset), schema)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, all or nothing; ``_lake.load`` describes the view of readers meanwhile."""
    dataset = dataset_to_write(folder_address(url), package.schema.name)
    require_driver()
    with wrap_delta_errors(f"load into `{dataset}`"):
        carry_out(LakeLoad(package, progress, DeltaLake(dataset)))


def require_driver() -> None:
    """Raise ``DestinationError`` unless the package `deltalake` is installed."""
    with driver("deltalake", "delta"):
        import deltalake  # noqa: F401
