"""The ledger of migrations in a dataset that is a folder: dlt's files of versions, and JSON lines of our own.

Each run has a file of its own in ``_schemactl_migrations`` and one in ``_schemactl_steps``; a file is replaced in one
step. Tables of Delta lie in such a folder, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from schemactl.destinations._migration.records import Run, StepRecord, Version
from schemactl.destinations._migration.rows import RUNS_TABLE, STEPS_TABLE, row_of, run_of, step_of
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
from schemactl.destinations.parquet.journal import list_files
from schemactl.errors import DestinationError, InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Schema, schema_from_dict
from schemactl.store.text import replace_file

Read = TypeVar("Read")


def read_runs(folder: Path) -> tuple[Run, ...]:
    """Return all runs, the first one first.

    Args:
        folder: of the dataset; it may not be there yet.

    Raises:
        DestinationError: a file of the ledger cannot be read.
    """
    files = sorted((folder / RUNS_TABLE).glob(f"*{ENDING}"))
    runs = [_read(path, line, run_of) for path in files for line in lines_of(path, "run_id")]
    return tuple(sorted(runs, key=lambda run: (run.started, run.run_id)))


def read_steps(folder: Path, run_id: str) -> tuple[StepRecord, ...]:
    """Return the steps of one run by their number.

    Raises:
        DestinationError: a file of the ledger cannot be read.
    """
    path = folder / STEPS_TABLE / _file_name(run_id)
    if not path.is_file():
        return ()
    steps = [_read(path, line, step_of) for line in lines_of(path, "run_id")]
    return tuple(sorted(steps, key=lambda step: step.number))


def write_run(folder: Path, run: Run) -> None:
    """Write a run in the place of the one with its id.

    Raises:
        DestinationError: it cannot be written.
    """
    _write(folder / RUNS_TABLE / _file_name(run.run_id), [row_of(run)])


def write_steps(folder: Path, steps: Sequence[StepRecord]) -> None:
    """Write steps in the place of those with the same run and number.

    Raises:
        DestinationError: they cannot be written, or a file of the ledger cannot be read.
    """
    for run_id in sorted({step.run_id for step in steps}):
        held = {step.number: step for step in read_steps(folder, run_id)}
        held |= {step.number: step for step in steps if step.run_id == run_id}
        lines = [row_of(held[number]) for number in sorted(held)]
        _write(folder / STEPS_TABLE / _file_name(run_id), lines)


def read_versions(folder: Path, schema_name: str | None = None) -> tuple[Version, ...]:
    """Return the schemas of dlt's ledger, the last one first; those of all names where none is given.

    Raises:
        DestinationError: a file is not one of dlt's.
    """
    found = (each for each in _stored(folder) if schema_name is None or each.name == schema_name)
    return tuple(_read(each.path, each.line(), _version) for each in found)


def read_schema(folder: Path, version_hash: str) -> Schema | None:
    """Return the schema that dlt's ledger holds under a hash; None where it holds none.

    Raises:
        InputError: what is stored there is no schema of the engines that are known.
        DestinationError: a file is not one of dlt's.
    """
    from schemactl.schema.upgrade import upgrade

    found = next(_of_hash(folder, version_hash), None)
    if found is None:
        return None
    try:
        return schema_from_dict(upgrade(json.loads(found.line()["schema"])))
    except (InputError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"what `{found.path}` holds is no schema: {error}") from error


def write_version(folder: Path, schema: Schema) -> None:
    """Write a schema into dlt's ledger, as the last one; a file with its hash gives way.

    Raises:
        DestinationError: it cannot be written.
    """
    if not (folder / INIT).is_file():
        _replace(folder / INIT, INIT_TEXT)
    older = list(_of_hash(folder, schema.version_hash))
    name, text = version_file(list_files(folder), schema, datetime.now(UTC))
    _replace(folder / name, text)
    _remove(older)


def forget_version(folder: Path, version_hash: str) -> None:
    """Remove the schema of a hash from dlt's ledger, where it is there.

    Raises:
        DestinationError: its file cannot be removed.
    """
    _remove(list(_of_hash(folder, version_hash)))


def _stored(folder: Path) -> list[StoredVersion]:
    """Return what dlt keeps of schemas, the last one first, whatever the naming convention made of the folder."""
    listing = list_files(folder)
    folders = [name for name in listing.folders() if name.lower() == VERSION_TABLE]
    found = (each for name in folders for each in stored_versions(listing, name))
    return sorted(found, key=lambda each: each.time, reverse=True)


def _of_hash(folder: Path, version_hash: str) -> Iterator[StoredVersion]:
    wanted = path_safe(version_hash)
    return (each for each in _stored(folder) if each.safe_hash == wanted)


def _read(path: Path, line: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Read]) -> Read:
    try:
        return make(line)
    except (ValueError, KeyError, TypeError) as error:
        raise DestinationError(f"`{path}` is not what belongs there: {error}") from error


def _version(line: Mapping[str, Any]) -> Version:
    at = line.get("inserted_at")
    moment = datetime.fromisoformat(at) if at else None
    if moment is not None:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return Version(line["schema_name"], line["version"], line["version_hash"], moment)


def _file_name(run_id: str) -> str:
    return quote(run_id, safe="").replace(".", "%2E") + ENDING


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    _replace(path, "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines))


def _replace(path: Path, text: str) -> None:
    try:
        replace_file(path, text)
    except InputError as error:
        raise DestinationError(error.message, hint=error.hint) from error


def _remove(versions: Sequence[StoredVersion]) -> None:
    for each in versions:
        try:
            each.path.unlink(missing_ok=True)
        except OSError as error:
            raise DestinationError(f"cannot remove `{each.path}`: {error.strerror or error}") from error
