"""``schemactl files``: list the files that loads have loaded, and forget some, so that they are loaded again."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from schemactl.destinations import is_migrator
from schemactl.engine.store_listing import pattern_regex
from schemactl.errors import InputError
from schemactl.flows.target import LoadTarget, loadable, migratable
from schemactl.kernel.stores import is_store
from schemactl.migration.records import Patience
from schemactl.normalization.loaded_files import FilesReport, FileState, find_states
from schemactl.normalization.package import LoadPackage
from schemactl.progress import no_progress
from schemactl.schema.types import Schema


def list_files(name: str, to: str, patterns: Sequence[str] = (), load_id: str | None = None) -> FilesReport:
    """Return the files that loads under a schema have loaded into a destination.

    ``patterns`` are as in ``match_paths``; all files without one. ``load_id`` is None for all loads.
    """
    target = loadable(to)
    files = find_states(target.destination.read_ledger(target.url, name))
    if patterns:
        paths = match_paths((file.entry.file.path for file in files), patterns)
        files = tuple(file for file in files if file.entry.file.path in paths)
    if load_id is not None:
        files = tuple(file for file in files if file.entry.load_id == load_id)
        if not files:
            hint = f"`schemactl files list {name} --to DEST` lists the files of all loads"
            raise InputError(f"load `{load_id}` has loaded no such file", hint=hint)
    return FilesReport(name, target.shown, files)


def forget_files(name: str, to: str, patterns: Sequence[str], agrees: Callable[[FilesReport], bool]) -> FilesReport:
    """Make files new again: the next ``--new-only`` loads them, and their rows stay.

    The ledger keeps its rows and gets another row for each file, which a load without rows commits. ``agrees`` shows
    the files to the user.
    """
    report = list_files(name, to)
    files = tuple(file for file in report.files if file.state is FileState.LOADED)
    paths = match_paths((file.entry.file.path for file in files), patterns)
    report = replace(report, files=tuple(file for file in files if file.entry.file.path in paths))
    if not agrees(report):
        return replace(report, is_declined=True)
    target = loadable(to)
    entries = [file.entry for file in report.files]
    # The last row of a file counts, whatever the clock of the machine that has loaded it.
    forgotten_at = max(datetime.now(UTC), *(entry.loaded_at + timedelta(microseconds=1) for entry in entries))
    package = LoadPackage(
        load_id=str(time.time()),
        schema=_stored_schema(target, name),
        tables=(),
        inserted_at=forgotten_at,
        inputs=tuple(replace(entry.file, rows=None, rejects=None) for entry in entries),
        forgets=True,
    )
    target.destination.load(target.url, package, no_progress)
    forgotten = tuple(replace(file, state=FileState.FORGOTTEN) for file in report.files)
    return replace(report, files=forgotten)


def _stored_schema(target: LoadTarget, name: str) -> Schema:
    """Return the last schema that the destination was loaded with, which a load without rows leaves as it is."""
    if not is_migrator(target.destination):
        return target.destination.read_catalogue(target.url).schema
    with migratable(target.url).open_for_reading(name, patience=Patience()) as session:
        schemas = (session.schema_of(version.version_hash) for version in session.versions(name))
        schema = next((schema for schema in schemas if schema is not None), None)
    if schema is None:
        raise InputError(f"`{target.shown}` has no schema `{name}`")
    return schema


def match_paths(paths: Iterable[str], patterns: Sequence[str]) -> frozenset[str]:
    """Return the paths that equal a pattern, match it, or are below a folder that matches it.

    Patterns work as in sources: ``*`` stops at ``/``, ``**`` does not. Relative patterns start at the working folder.
    """
    paths = tuple(paths)
    matched: set[str] = set()
    for pattern in patterns:
        pattern_path = pattern if is_store(pattern) else os.path.normpath(os.path.join(os.getcwd(), pattern))  # noqa: PTH109, PTH118
        matches = re.compile(f"{pattern_regex(pattern_path.rstrip('/'))}(/.*)?", re.DOTALL)
        found_paths = [path for path in paths if path == pattern_path or matches.fullmatch(path)]
        if not found_paths:
            raise InputError(f"no loaded file matches `{pattern}`", hint="`schemactl files list` lists them")
        matched.update(found_paths)
    return frozenset(matched)
