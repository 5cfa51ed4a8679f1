"""The data of one load: tables as Parquet files, written by the engine, and the load's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from schemactl.errors import DestinationError
from schemactl.schema.dispositions import SUPERSEDED_FOLDER, deletes_by_merge_key
from schemactl.schema.types import Schema, Table

INPUTS_TABLE: Final = "_schemactl_inputs"
"""The destination's table of loaded files: load_id, schema_name, path, bytes, modified."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """One table of a load.

    Attributes:
        table: the schema's table; complete columns only, in the order of the files.
        folder: a folder with at least one Parquet file (``*.parquet``), all with exactly these columns.
        rows: the number of rows in all files.
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
        """Rows superseded by others with the same primary key, if their merge keys count; without their number."""
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
    """A file that was loaded.

    Attributes:
        path: the user's path, made absolute for local files.
        modified: the time of the last change, in UTC.
    """

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class LoadPackage:
    """The rows and metadata of one load.

    Attributes:
        load_id: dlt's, seconds since 1970 as a text, or the user's name for the load.
        schema: with its version and hash, including tables without data.
        tables: root tables before those nested in them; only tables with rows.
        rejects: rows and values refused by contracts, to be appended; None to store none beside the tables.
        inserted_at: the time of the load, in UTC.
    """

    load_id: str
    schema: Schema
    tables: tuple[StagedTable, ...]
    inserted_at: datetime
    rejects: StagedTable | None = None
    inputs: tuple[LoadedInput, ...] = ()


@dataclass(frozen=True, slots=True)
class PastLoads:
    """The earlier loads under one schema in a destination.

    Attributes:
        inputs: the files that they loaded, by path; the last load of a file counts.
    """

    load_ids: frozenset[str] = frozenset()
    inputs: Mapping[str, LoadedInput] = field(default_factory=dict)
