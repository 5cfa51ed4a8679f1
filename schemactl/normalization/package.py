"""What one load brings to a destination: tables as files of Parquet, made ready by the engine."""

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
"""Where a destination keeps which files were loaded: load_id, schema_name, path, bytes, modified."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """One table of a load.

    Attributes:
        table: as the schema has it; complete columns only, in the order of the files.
        folder: of Parquet files (``*.parquet``) with exactly these columns; there is at least one file.
        rows: how many there are in all of them.
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
        """Rows that gave way to others with the same primary key, where their merge keys count; not counted."""
        folder = self.folder / SUPERSEDED_FOLDER
        return replace(self, folder=folder, rows=0) if deletes_by_merge_key(self.table) and folder.is_dir() else None


def rows_in(file: Path) -> int:
    """Return how many rows a file of Parquet says that it holds."""
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
        path: as the user named it, made absolute for local files.
        modified: when it was written last, in UTC.
    """

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class LoadPackage:
    """What one load brings.

    Attributes:
        load_id: dlt's, seconds since 1970 as a text, or what the user named it.
        schema: with its version and hash; tables without data are in it as well.
        tables: root tables before those nested in them; tables that data had no rows for are left out.
        rejects: what contracts have refused, to be appended; None to keep none beside the tables.
        inserted_at: when the load was made, in UTC.
    """

    load_id: str
    schema: Schema
    tables: tuple[StagedTable, ...]
    inserted_at: datetime
    rejects: StagedTable | None = None
    inputs: tuple[LoadedInput, ...] = ()


@dataclass(frozen=True, slots=True)
class PastLoads:
    """What a destination knows of earlier loads under one schema.

    Attributes:
        inputs: the files that they loaded, by path; the last load of a file counts.
    """

    load_ids: frozenset[str] = frozenset()
    inputs: Mapping[str, LoadedInput] = field(default_factory=dict)
