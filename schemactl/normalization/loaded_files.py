"""The files that loads have loaded into a destination, as data; rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any

from schemactl.grouping import group_by
from schemactl.normalization.package import LedgerEntry


class FileState(StrEnum):
    """The loaded files that the next ``--new-only`` compares with."""

    LOADED = "loaded"
    RELOADED = "reloaded"
    """A later load has loaded the file again."""
    FORGOTTEN = "forgotten"
    """A user has forgotten the file: it is loaded again."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file in one of the loads that have loaded it."""

    entry: LedgerEntry
    state: FileState

    def to_dict(self) -> dict[str, Any]:
        """Return the file as JSON data."""
        file = self.entry.file
        return {
            "path": file.path,
            "load_id": self.entry.load_id,
            "loaded_at": self.entry.loaded_at.isoformat(),
            "bytes": file.bytes,
            "modified": file.modified.isoformat(),
            "etag": file.etag,
            "rows": file.rows,
            "rejects": file.rejects,
            "state": str(self.state),
        }


@dataclass(frozen=True, slots=True)
class FilesReport:
    """The result of ``schemactl files list`` and ``files forget``; ``is_declined`` if the user did not agree."""

    name: str
    destination: str
    files: tuple[LoadedFile, ...]
    is_declined: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {"name": self.name, "destination": self.destination, "files": [file.to_dict() for file in self.files]}


def find_states(entries: Iterable[LedgerEntry]) -> tuple[LoadedFile, ...]:
    """Return the loaded files with the status of each, by path and by load time."""
    by_path = group_by(entries, lambda entry: entry.file.path)
    ordered = (sorted(by_path[path], key=lambda entry: entry.order) for path in sorted(by_path))
    return tuple(chain.from_iterable(map(_states_of, ordered)))


def _states_of(entries: Sequence[LedgerEntry]) -> list[LoadedFile]:
    files: list[LoadedFile] = []
    state = FileState.LOADED
    for entry in reversed(entries):
        if entry.is_forgotten:
            state = FileState.FORGOTTEN
        else:
            files.append(LoadedFile(entry, state))
            state = FileState.RELOADED
    return files[::-1]
