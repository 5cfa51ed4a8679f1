"""The data of one load: tables as Parquet files, written by the engine, and the load's metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from schemactl.errors import DestinationError
from schemactl.schema.dispositions import SUPERSEDED_FOLDER, deletes_by_merge_key
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow

INPUTS_TABLE: Final = "_schemactl_inputs"
"""The destination's table of loaded files, the file ledger; ``destinations._bookkeeping.INPUTS`` has its columns."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """One table of a load: complete columns only, in the order of the files.

    Attributes:
        folder: a folder with at least one Parquet file (``*.parquet``), all with exactly these columns.
    """

    table: Table
    folder: Path
    rows: int

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in the order of the input."""
        return tuple(sorted(self.folder.glob("*.parquet")))

    @property
    def superseded(self) -> StagedTable | None:
        """Rows superseded by another row with the same primary key, if their merge keys count; without their number."""
        folder = self.folder / SUPERSEDED_FOLDER
        return replace(self, folder=folder, rows=0) if deletes_by_merge_key(self.table) and folder.is_dir() else None


def rows_in(file: Path) -> int:
    """Return the number of rows in the metadata of a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(file).num_rows)
    except (pyarrow.ArrowException, OSError) as error:
        raise DestinationError(f"cannot read `{file}`: {error}") from error


@dataclass(frozen=True, slots=True)
class LoadedInput:
    """A file that was loaded: the absolute path of a local file, or the address of an object, without its secrets.

    Attributes:
        etag: the version or ETag of an object, which changes with its content; None for local files.
        rows: the number of documents that the load has written; None if an earlier version has loaded the file.
        rejects: the number of rows that the load has written to ``_rejects`` for this file; None as for ``rows``.
    """

    path: str
    bytes: int
    modified: datetime
    etag: str | None = None
    rows: int | None = field(default=None, compare=False)
    rejects: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One row of the file ledger: a file that a load has loaded, or that a user has forgotten."""

    load_id: str
    loaded_at: datetime
    file: LoadedInput
    is_forgotten: bool = False

    @property
    def order(self) -> tuple[datetime, str]:
        """The sort key of the entries of a file: the last entry counts."""
        return self.loaded_at, self.load_id


class ConcurrentLoadError(DestinationError):
    """Another load has loaded files of this load since they were compared with the ledger; nothing was loaded."""


@dataclass(frozen=True, slots=True)
class Among:
    """A condition on rows: a column equals one of some values."""

    column: str
    values: Collection[str]


class RejectsEdit(Protocol):
    """A change of the rejects table by a load, made while the load has an exclusive lock on the dataset."""

    @property
    def table(self) -> Table:
        """The table of rejects, with all of its columns."""
        ...

    def apply(self, stored_rows: Iterator[pyarrow.RecordBatch]) -> StagedTable:
        """Return the rows that replace the stored rows; raise ``DestinationError`` if stored rows forbid the load."""
        ...


class Widening(Protocol):
    """Makes stored columns wider in the open transaction of a load, by the steps of a migration."""

    @property
    def columns(self) -> Collection[tuple[str, str]]:
        """The columns that may become wider, by table and name."""
        ...

    @property
    def lock_seconds(self) -> float:
        """How long a change waits for other sessions that use its table."""
        ...

    def widen(self, session: Any, columns: Collection[tuple[str, str]]) -> None:
        """Give columns their types in the schema of the load, if these are wider, in the transaction of the load."""
        ...


@dataclass(frozen=True, slots=True)
class LoadPackage:
    """The rows and metadata of one load.

    Attributes:
        load_id: dlt's load ID (seconds since 1970 as a string), or the user's name for the load.
        rejects: rows and values refused by contracts, to append to the rejects table; None to store no rejects.
        inputs: the files of the load, for the file ledger.
        compared_loads: the loads whose files ``--new-only`` has left out. If a later load has loaded one of the inputs,
            this load fails with ``ConcurrentLoadError``. None if files may be loaded again.
        forgets: whether the ledger forgets the inputs; such a package has no rows.
        rejects_edit: changes the stored rejects, and adds the rejects of the load; once the dataset is locked,
            ``rejects`` is the result. None for a load that only appends rejects.
        widening: makes stored columns wider before the rows are loaded; None if no column may become wider.
    """

    load_id: str
    schema: Schema
    tables: tuple[StagedTable, ...]
    inserted_at: datetime
    rejects: StagedTable | None = None
    inputs: tuple[LoadedInput, ...] = ()
    compared_loads: frozenset[str] | None = None
    forgets: bool = False
    rejects_edit: RejectsEdit | None = None
    widening: Widening | None = None

    def with_edited_rejects(self, read: Callable[[Table], Iterator[pyarrow.RecordBatch]]) -> LoadPackage:
        """Return the load with the rejects that result from ``rejects_edit``."""
        if self.rejects_edit is None:
            return self
        return replace(self, rejects=self.rejects_edit.apply(read(self.rejects_edit.table)))


@dataclass(frozen=True, slots=True)
class PastLoads:
    """The complete loads under one schema in a destination; ``Loader.read_ledger`` gives their files.

    Attributes:
        is_interrupted: whether a killed command is one of them whose rows other programs do not see yet. A session that
            writes finishes it as it begins.
    """

    load_ids: frozenset[str] = frozenset()
    is_interrupted: bool = False
