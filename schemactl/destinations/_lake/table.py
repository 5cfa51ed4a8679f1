"""What a table format must be able to do so that loads can be carried out on it. Nothing here knows a format."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from schemactl.destinations._package import LoadPackage
from schemactl.errors import DestinationError
from schemactl.schema.types import Column, Properties

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class Journal:
    """A load under way.

    Attributes:
        load_id: its id.
        schema_name: whose load it is.
        attempt: what the names of its new files start with.
        tables: the version of each table before it, None for tables that it makes.
        files: what it makes beside tables.
    """

    load_id: str
    schema_name: str
    attempt: str
    tables: Mapping[str, int | None]
    files: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def journal_from_text(text: str, origin: str) -> Journal:
    """Return a journal of its text.

    Raises:
        DestinationError: it is no journal.
    """
    try:
        stated = json.loads(text)
        return Journal(**{**stated, "files": tuple(stated["files"])})
    except (ValueError, TypeError, KeyError) as error:
        raise DestinationError(f"the journal of `{origin}` cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table as it is now; ``handle`` is the format's own."""

    path: str
    handle: Any


class FilesTable(Protocol):
    """A table of which files can be read, and new ones made."""

    @property
    def name(self) -> str: ...

    @property
    def fields(self) -> pyarrow.Schema:
        """The columns as new files are to hold them: types, nulls, and what the format keeps beside them."""
        ...

    @property
    def partitions(self) -> Sequence[str]:
        """The columns of which all rows of a file have the same values."""
        ...

    def files(self) -> Sequence[DataFile]:
        """Return the files that hold its rows now."""
        ...

    def read(self, file: DataFile, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of one file, always in the same order; columns that it lacks are null."""
        ...

    def new_file(self, name: str) -> str:
        """Return where a new file of this name belongs."""
        ...

    def write(self, path: str) -> IO[bytes]:
        """Open a new file for writing."""
        ...

    def adopt(self, source: Path, path: str) -> None:
        """Make a new file of a finished one; that one stays."""
        ...


class LakeTable(FilesTable, Protocol):
    """One table, as of its last commit."""

    @property
    def kinds(self) -> Mapping[str, Properties]:
        """The columns in dlt's types."""
        ...

    @property
    def version(self) -> int:
        """What ``restore`` goes back to."""
        ...

    @property
    def blocker(self) -> str | None:
        """Why rows cannot be loaded into it, None where they can."""
        ...

    def add_columns(self, fields: Sequence[pyarrow.Field], load_id: str, /) -> LakeTable:
        """Return the table with columns added at the end."""
        ...

    def grow_columns(self, fields: Sequence[pyarrow.Field], load_id: str, /) -> LakeTable:
        """Return the table with columns of structs or lists that have more fields, or wider ones."""
        ...

    def commit(self, added: Sequence[str], removed: Sequence[DataFile], load_id: str) -> None:
        """Add and remove files in one step, marked with the load.

        Raises:
            DestinationError: someone else has changed the table meanwhile.
        """
        ...

    def is_touched_by_others(self, since: int | None, load_id: str) -> bool:
        """Return whether another than this load has committed after a version; None: since it was made."""
        ...

    def restore(self, version: int, load_id: str) -> None:
        """Make the rows those of an earlier version again, in a new commit where the format needs one."""
        ...


class Lake(Protocol):
    """A dataset."""

    @property
    def origin(self) -> str:
        """Its address, for messages."""
        ...

    @property
    def is_case_sensitive(self) -> bool:
        """Whether names of columns that differ in case alone are different."""
        ...

    @property
    def widens(self) -> Collection[tuple[str, str]]:
        """Fields in structs that are made wider without other files: pairs of types, as DDL calls them."""
        ...

    def kind_of(self, column: Column) -> Properties:
        """Return the type that a new column gets, in dlt's types."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Keep other loads out.

        Raises:
            DestinationError: another load is under way, or nothing may be written there.
        """
        ...

    def open(self, name: str) -> LakeTable | None:
        """Return a table, None where there is none."""
        ...

    def create(
        self,
        name: str,
        fields: Sequence[pyarrow.Field],
        load_id: str,
        *,
        partitions: Sequence[str],
        description: str | None,
    ) -> LakeTable: ...

    def drop(self, name: str) -> None:
        """Remove a table with its files."""
        ...

    def read_journal(self) -> Journal | None: ...

    def write_journal(self, journal: Journal | None) -> None:
        """Keep the journal of the load under way, or none, in one step."""
        ...

    def own_tables(self, package: LoadPackage, /) -> Sequence[str]:
        """Return the tables that ``finish`` adds to."""
        ...

    def own_files(self, package: LoadPackage, /) -> Sequence[str]:
        """Return the files that ``finish`` makes, save the one that completes the load."""
        ...

    def is_complete(self, schema_name: str, load_id: str) -> bool:
        """Return whether a load is there."""
        ...

    def finish(self, package: LoadPackage) -> None:
        """Remember schema, inputs, and last, in one step, that the load is complete."""
        ...

    def discard_files(self, table: str, journal: Journal) -> None:
        """Remove what a load that was undone has written for a table, where the format can find it."""
        ...

    def discard_own(self, journal: Journal, /) -> None:
        """Remove the files of ``own_files`` of a load that was undone."""
        ...
