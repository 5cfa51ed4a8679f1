"""The functions of a ``Loader`` that read: earlier loads, the files that they loaded, and rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from schemactl.destinations._bookkeeping import ReadRows, ledger_entries, past_loads
from schemactl.normalization.package import Among, LedgerEntry, PastLoads
from schemactl.schema.types import Table

if TYPE_CHECKING:
    import pyarrow


class StoredDataset(Protocol):
    """A dataset that is open for reading."""

    @property
    def read_rows(self) -> ReadRows:
        """The function that reads the tables in which the dataset keeps its loads."""
        ...

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; see ``Readable.read_table``."""
        ...


@dataclass(frozen=True, slots=True)
class DatasetReader:
    """The reading functions of a destination module; see ``Loader`` and ``Readable``.

    Attributes:
        open: opens the dataset that a load with a schema would go into, by address and name of the schema; None if it
            does not exist yet.
    """

    open: Callable[[str, str], AbstractContextManager[StoredDataset | None]]

    def read_past_loads(self, url: str, schema_name: str) -> PastLoads:
        """Return the ids of earlier loads; see ``Loader``."""
        with self.open(url, schema_name) as dataset:
            return past_loads(dataset.read_rows, schema_name) if dataset else PastLoads()

    def read_ledger(self, url: str, schema_name: str) -> Iterator[LedgerEntry]:
        """Yield the files that loads have loaded; see ``Loader``."""
        with self.open(url, schema_name) as dataset:
            if dataset:
                yield from ledger_entries(dataset.read_rows, schema_name)

    def read_table(
        self, url: str, schema_name: str, table: Table, among: Among | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; see ``Readable``."""
        with self.open(url, schema_name) as dataset:
            if dataset:
                yield from dataset.table_rows(table, among)
