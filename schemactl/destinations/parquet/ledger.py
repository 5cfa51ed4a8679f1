"""The ledger of migrations in a dataset that is a folder: dlt's files of versions, and JSON lines of our own.

Each run has a file of its own in ``_schemactl_migrations`` and one in ``_schemactl_steps``; a file is replaced in one
step. Tables of Delta lie in such a folder, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from schemactl.destinations._migration.ledger import KEYS, Ledger, Row
from schemactl.destinations.parquet.bookkeeping import (
    ENDING,
    INIT,
    INIT_TEXT,
    StoredVersion,
    lines_of,
    path_safe,
    stored_versions,
    version_file,
)
from schemactl.destinations.parquet.journal import list_files, write_text
from schemactl.errors import DestinationError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Schema, Table


@dataclass(frozen=True, slots=True)
class FolderLedger(Ledger):
    """See ``Ledger``.

    Attributes:
        folder: the dataset's; it may not be there yet.
    """

    folder: Path

    def read_rows(self, table: Table, run_id: str | None = None) -> list[dict[str, Any]]:
        place = self.folder / table.name
        files = sorted(place.glob(f"*{ENDING}")) if run_id is None else [place / _file_name(run_id)]
        return [line for path in files if path.is_file() for line in lines_of(path, "run_id")]

    def replace_rows(self, table: Table, rows: Sequence[Row]) -> None:
        for run_id in sorted({str(row["run_id"]) for row in rows}):
            ours = [*self.read_rows(table, run_id), *(row for row in rows if row["run_id"] == run_id)]
            held = {tuple(row[name] for name in KEYS[table.name]): row for row in ours}
            lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in held.values())
            write_text(self.folder / table.name / _file_name(run_id), "".join(f"{line}\n" for line in lines))

    def version_rows(self, version_hash: str | None = None) -> list[dict[str, Any]]:
        return [each.line() for each in self._stored(version_hash)]

    def replace_version(self, schema: Schema) -> None:
        if not (self.folder / INIT).is_file():
            write_text(self.folder / INIT, INIT_TEXT)
        older = self._stored(schema.version_hash)
        name, text = version_file(list_files(self.folder), schema, datetime.now(UTC))
        write_text(self.folder / name, text)
        _remove(older)

    def remove_version(self, version_hash: str) -> None:
        _remove(self._stored(version_hash))

    def _stored(self, version_hash: str | None) -> list[StoredVersion]:
        """Return what dlt keeps of schemas, the last one first, whatever the naming convention made of the folder."""
        wanted = None if version_hash is None else path_safe(version_hash)
        listing = list_files(self.folder)
        folders = [name for name in listing.folders() if name.lower() == VERSION_TABLE]
        found = [each for name in folders for each in stored_versions(listing, name)]
        ours = (each for each in found if wanted in (None, each.safe_hash))
        return sorted(ours, key=lambda each: each.time, reverse=True)


def _file_name(run_id: str) -> str:
    return quote(run_id, safe="").replace(".", "%2E") + ENDING


def _remove(versions: Sequence[StoredVersion]) -> None:
    for each in versions:
        try:
            each.path.unlink(missing_ok=True)
        except OSError as error:
            raise DestinationError(f"cannot remove `{each.path}`: {error.strerror or error}") from error
