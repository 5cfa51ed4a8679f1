"""The ledger of migrations in a dataset that is a folder: dlt's files of versions, and JSON lines of our own.

Each run has a file of its own in ``_schemactl_migrations`` and one in ``_schemactl_steps``; a file is replaced in one
step. Tables of Delta lie in such a folder, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from schemactl.destinations._catalogue import OURS
from schemactl.destinations._migration.ledger import Ledger, keys_of
from schemactl.destinations.parquet.bookkeeping import (
    ENDING,
    INIT,
    INIT_TEXT,
    StoredVersion,
    lines_of,
    read_rows,
    stored_versions,
    version_file,
)
from schemactl.destinations.parquet.journal import list_files, write_text
from schemactl.errors import DestinationError
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class FolderLedger(Ledger):
    """See ``Ledger``.

    Attributes:
        folder: the dataset's; it may not be there yet.
    """

    folder: Path

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        if not table.name.startswith(OURS):
            return read_rows(list_files(self.folder), table, **equal)
        place = self.folder / table.name
        files = [place / _file_name(equal["run_id"])] if "run_id" in equal else sorted(place.glob(f"*{ENDING}"))
        return [line for path in files if path.is_file() for line in lines_of(path, "run_id")]

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if not table.name.startswith(OURS):
            self._replace_versions(table, rows)
            return
        for run_id in sorted({str(row["run_id"]) for row in rows}):
            ours = [*self.read_rows(table, run_id=run_id), *(row for row in rows if row["run_id"] == run_id)]
            held = {tuple(row[name] for name in keys_of(table)): row for row in ours}
            lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in held.values())
            write_text(self.folder / table.name / _file_name(run_id), "".join(f"{line}\n" for line in lines))

    def _replace_versions(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if not (self.folder / INIT).is_file():
            write_text(self.folder / INIT, INIT_TEXT)
        for row in rows:
            listing = list_files(self.folder)
            (version_hash,) = (str(row[name]) for name in keys_of(table))
            name, text = version_file(listing, table.name, tuple(row.values()))
            write_text(self.folder / name, text)
            _remove(stored_versions(listing, version_hash))

    def remove_version(self, version_hash: str) -> None:
        _remove(stored_versions(list_files(self.folder), version_hash))


def _file_name(run_id: str) -> str:
    return quote(run_id, safe="").replace(".", "%2E") + ENDING


def _remove(versions: Sequence[StoredVersion]) -> None:
    for each in versions:
        try:
            each.path.unlink(missing_ok=True)
        except OSError as error:
            raise DestinationError(f"cannot remove `{each.path}`: {error.strerror or error}") from error
