"""The bookkeeping of a folder's loads and migrations: dlt's files of versions and loads (docs/dlt.md §9.1), and ours.

They are JSON lines. Each run of migrations has its file in ``_schemactl_migrations`` and one in ``_schemactl_steps``; a
file is replaced in one step. Delta tables use such a folder, too.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from schemactl.destinations._bookkeeping import find_names, rows_of, rows_of_load
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._folder import read_lines, refuse_links
from schemactl.destinations._migration.ledger import Ledger, keys_of, latest_rows
from schemactl.destinations.parquet.journal import INIT, JSONL_ENDING, Listing, list_files, write_text
from schemactl.errors import DestinationError
from schemactl.normalization.package import INPUTS_TABLE, LoadPackage
from schemactl.schema.templates import VERSION_TABLE, loads_table, version_table
from schemactl.schema.types import Table

INIT_TEXT: Final = '{"initial_version":2,"current_version":2}'
"""The file that dlt puts into a new dataset: the version of the layout."""

_VERSION_FILE: Final = re.compile(r"(?P<name>\w+?)__(?P<time>\d+(?:\.\d+)?)__(?P<hash>[^.]*).*")


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A schema that a dataset was loaded with.

    Attributes:
        time: when it was first, in seconds since 1970.
        safe_hash: its hash in hexadecimal digits.
        path: the file that holds it.
    """

    name: str
    time: float
    safe_hash: str
    path: Path

    def line(self) -> dict[str, Any]:
        """Return dlt's line: the hash, the schema as JSON in a text ..."""
        return list(iterate_lines(self.path, "version_hash"))[0]  # noqa: RUF015 - each line is checked


def stored_versions(listing: Listing, version_hash: str | None = None) -> list[StoredVersion]:
    """Return the schemas in dlt's ledger, the last one first; with a hash, only schemas of this hash."""
    folders = find_names(listing.folders(), VERSION_TABLE)
    files = (pair for folder in folders for pair in listing.of(folder).items())
    matches = ((_VERSION_FILE.fullmatch(name), path) for name, path in files)
    versions = [
        StoredVersion(match["name"], float(match["time"]), match["hash"], path) for match, path in matches if match
    ]
    safe_hash = None if version_hash is None else _path_safe(version_hash)
    ours = (version for version in versions if safe_hash in (None, version.safe_hash))
    return sorted(ours, key=lambda version: version.time, reverse=True)


def version_hashes(listing: Listing) -> list[tuple[str, str]]:
    """Return names and hashes of the schemas that dlt keeps there, the last one first."""
    return [(version.name, str(version.line()["version_hash"])) for version in stored_versions(listing)]


def read_rows(listing: Listing, table: Table, /, **equal: str) -> Iterator[dict[str, Any]]:
    """Yield rows of one of dlt's tables or of loaded files, as ``ReadRows`` does."""
    if table.name == VERSION_TABLE:
        # For dlt the schema with the latest time is the current one, even if a clock was wrong.
        stored = stored_versions(listing, equal.get("version_hash"))
        lines: Iterable[dict[str, Any]] = (
            {**version.line(), "inserted_at": datetime.fromtimestamp(version.time, UTC)} for version in stored
        )
    else:
        head = f"{equal['schema_name']}__" if "schema_name" in equal else ""
        tail = f"__{equal['load_id']}{JSONL_ENDING}" if "load_id" in equal else JSONL_ENDING
        files = (pair for folder in find_names(listing.folders(), table.name) for pair in listing.of(folder).items())
        paths = [path for name, path in files if name.startswith(head) and name.endswith(tail)]
        lines = (line for path in paths for line in iterate_lines(path, "load_id"))
    ours = (line for line in lines if all(line.get(name) == value for name, value in equal.items()))
    yield from rows_of(table, ([line.get(name) for name in table.columns] for line in ours))


def new_files(listing: Listing, package: LoadPackage) -> Iterator[tuple[str, str]]:
    """Yield the bookkeeping files of a load, as paths in the dataset and texts; the one that completes it comes last.

    ``listing`` is without a load that is under way.
    """
    if INIT not in listing.files:
        yield INIT, INIT_TEXT
    for table, rows in rows_of_load(package, partial(read_rows, listing)):
        if find_names((table.name,), VERSION_TABLE):
            yield version_file(table.name, rows[0])
        else:
            # dlt's own names of columns, whatever the naming convention.
            names = table.columns if table.name == INPUTS_TABLE else loads_table().columns
            lines = (_json(dict(zip(names, row, strict=True))) for row in rows)
            yield f"{table.name}/{package.schema.name}__{package.load_id}{JSONL_ENDING}", "\n".join(lines)


def version_file(folder: str, row: Sequence[Any]) -> tuple[str, str]:
    """Return the file of a schema (a ``version_row``): its path in the dataset and its text."""
    values = dict(zip(version_table().columns, row, strict=True))
    time = values["inserted_at"].timestamp()
    name = f"{folder}/{values['schema_name']}__{time:.6f}__{_path_safe(values['version_hash'])}{JSONL_ENDING}"
    return name, _json(values)


def _path_safe(version_hash: str) -> str:
    """Return a schema's hash as dlt has it in names of files."""
    return base64.b64decode(version_hash).hex()


def _json(values: dict[str, Any]) -> str:
    texts = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def iterate_lines(path: Path, key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file of JSON lines, at least one; ``DestinationError`` unless all of them have ``key``."""
    row = None
    try:
        for line in read_lines(path.parent, path):
            if line.strip():
                row = json.loads(line)
                if not isinstance(row, dict) or key not in row:
                    raise ValueError(f"`{key}` is missing")
                yield row
        if row is None:
            raise ValueError(f"`{key}` is missing")
    except RecursionError as error:
        raise DestinationError(f"`{path}` is invalid: it is nested too deep") from error
    except ValueError as error:
        raise DestinationError(f"`{path}` is invalid: {error}") from error


@dataclass(frozen=True, slots=True)
class FolderLedger(Ledger):
    """See ``Ledger``.

    Attributes:
        folder: the dataset's; it may not be there yet.
    """

    folder: Path

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        if not table.name.startswith(OURS):
            return list(read_rows(list_files(self.folder), table, **equal))
        table_folder = self.folder / table.name
        refuse_links(self.folder, table_folder)
        files = (
            [table_folder / _file_name(equal["run_id"])]
            if "run_id" in equal
            else sorted(table_folder.glob(f"*{JSONL_ENDING}"))
        )
        return [line for path in files if os.path.lexists(path) for line in iterate_lines(path, "run_id")]

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        for run_id in sorted({str(row["run_id"]) for row in rows}):
            ours = [*self.read_rows(table, run_id=run_id), *(row for row in rows if row["run_id"] == run_id)]
            lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in latest_rows(table, ours))
            path = self.folder / table.name / _file_name(run_id)
            write_text(self.folder, path, "".join(f"{line}\n" for line in lines))

    def replace_dlt_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if not (self.folder / INIT).is_file():
            write_text(self.folder, self.folder / INIT, INIT_TEXT)
        for row in rows:
            listing = list_files(self.folder)
            (version_hash,) = (str(row[name]) for name in keys_of(table))
            name, text = version_file(table.name, tuple(row.values()))
            write_text(self.folder, self.folder / name, text)
            _remove(stored_versions(listing, version_hash))

    def remove_version(self, version_hash: str) -> None:
        _remove(stored_versions(list_files(self.folder), version_hash))


def _file_name(run_id: str) -> str:
    return quote(run_id, safe="").replace(".", "%2E") + JSONL_ENDING


def _remove(versions: Sequence[StoredVersion]) -> None:
    for version in versions:
        try:
            version.path.unlink(missing_ok=True)
        except OSError as error:
            raise DestinationError(f"cannot remove `{version.path}`: {error.strerror or error}") from error
