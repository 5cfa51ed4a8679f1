"""The files of earlier loads, and which files of a call are new (``--new-only``)."""

from __future__ import annotations

import filecmp
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.engine.input import read_errors, shown_path
from schemactl.errors import InputError, Problem
from schemactl.flows.evidence import table_of
from schemactl.flows.root_tables import TableInput
from schemactl.inference.evidence import Evidence
from schemactl.inference.source_names import root_table
from schemactl.kernel.stores import is_store, object_version
from schemactl.normalization.package import LedgerEntry, LoadedInput
from schemactl.schema.contract import system_prefix
from schemactl.schema.dispositions import keeps_repeated_rows
from schemactl.schema.hints import with_hints
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    from schemactl.engine.input import Input

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_STORE_TICK: Final = timedelta(seconds=2)
"""An object that is overwritten this soon may keep its time of change: stores count whole seconds."""

MOST_SEEN: Final = 10_000
"""The number of skipped files that a report lists."""


class Changed(StrEnum):
    """The treatment of files that have changed since an earlier load (``--changed``)."""

    LOAD = "load"
    SKIP = "skip"
    FAIL = "fail"


class FileLedger:
    """The files of earlier loads by path, in a temporary database that leaves most of them on disk.

    Attributes:
        skipped: the number of files that ``is_new`` has answered False for.
        seen: their paths as shown to people, as keys in the order of the listing; ``MOST_SEEN`` at most.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.skipped = 0
        self.seen: dict[str, None] = {}

    def is_new(self, source: Input) -> bool:
        """Return whether no load has loaded the current version of a file; the listing skips all other files."""
        if source.path in self.seen:  # several sources of a call may name a file
            return False
        is_seen = is_listed(source) and self.has(source)
        if is_seen and len(self.seen) < MOST_SEEN:
            self.seen[source.path] = None
        self.skipped += is_seen
        return not is_seen

    def has(self, source: Input) -> bool:
        """Return whether a load has loaded the current version of a file, under the same path."""
        entry = self._find(_ledger_path(source))
        return entry is not None and _is_same(source, entry)

    def _find(self, path: str) -> LedgerEntry | None:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM files WHERE path = ?", [os.fsencode(path)])
        return next(map(_entry_of, rows), None)

    def find_repeated(self, source: Input) -> str | None:
        """Return in words which loaded file has the rows of a file, or some of them; None for a new file."""
        entry = self._find(_ledger_path(source))
        if entry is not None:
            return None if _is_same(source, entry) else _describe_change(source, entry.file, state_of(source))
        if not source.is_local:
            return None
        file = state_of(source)
        for other in self._with_state(file) if file.bytes else ():
            if _has_same_content(file, other):
                return f"`{source.path}` was loaded as `{other.path}`"
        return None

    def is_loaded(self, source: Input) -> bool:
        """Return whether a load has loaded the current version of a file, under this path or another path to it."""
        if not is_listed(source):
            hint = "pass files or folders, or remove `--new-only`"
            raise InputError(f"cannot determine whether `{source.path}` is new", hint=hint)
        if self.has(source):
            return True
        if not source.is_local:
            return False
        other_paths = (Path(other.path) for other in self._with_state(state_of(source)))
        return any(other.exists() and other.samefile(source.path) for other in other_paths)

    def _with_state(self, file: LoadedInput) -> list[LoadedInput]:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM files WHERE bytes = ? AND modified = ? ORDER BY path",
            [file.bytes, _microseconds(file.modified)],
        )
        return [_entry_of(row).file for row in rows]


_COLUMNS: Final = "path, bytes, modified, etag, load_id, loaded_at"


@contextmanager
def open_ledger(entries: Iterable[LedgerEntry]) -> Iterator[FileLedger]:
    """Yield the files of earlier loads; of each file its last load counts, unless a user has forgotten it since."""
    try:
        # An empty name is a database on disk that SQLite removes with the connection.
        with closing(sqlite3.connect("", isolation_level=None)) as connection:
            connection.executescript(_CREATE_FILES)
            connection.execute("BEGIN")
            connection.executemany(_INSERT_FILE, map(_values_of, entries))
            connection.execute("DELETE FROM files WHERE is_forgotten")
            connection.execute("CREATE INDEX states ON files (bytes, modified)")
            connection.execute("COMMIT")
            yield FileLedger(connection)
    except sqlite3.Error as error:
        hint = "make room in the temporary folder, or name another one: `TMPDIR`"
        raise InputError(
            f"the ledger of loaded files cannot be kept in a temporary file: {error}", hint=hint
        ) from error


_CREATE_FILES: Final = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -65536;  -- KiB
    CREATE TABLE files (
        path BLOB PRIMARY KEY, bytes INTEGER, modified INTEGER, etag TEXT, load_id TEXT, loaded_at INTEGER,
        is_forgotten INTEGER
    ) WITHOUT ROWID;
"""
_INSERT_FILE: Final = """
    INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET
        bytes = excluded.bytes, modified = excluded.modified, etag = excluded.etag,
        load_id = excluded.load_id, loaded_at = excluded.loaded_at, is_forgotten = excluded.is_forgotten
    WHERE (excluded.loaded_at, excluded.load_id) > (loaded_at, load_id)
"""


def _values_of(entry: LedgerEntry) -> tuple[bytes | int | str | None, ...]:
    file = entry.file
    path = os.fsencode(file.path if is_store(file.path) else os.path.normpath(file.path))
    times = _microseconds(file.modified), _microseconds(entry.loaded_at)
    return (path, file.bytes, times[0], file.etag, entry.load_id, times[1], entry.is_forgotten)


def _entry_of(row: tuple[bytes, int, int, str | None, str, int]) -> LedgerEntry:
    path, size, modified, etag, load_id, loaded_at = row
    file = LoadedInput(os.fsdecode(path), size, _EPOCH + modified * _MICROSECOND, etag)
    return LedgerEntry(load_id, _EPOCH + loaded_at * _MICROSECOND, file)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


# --- the state of a file ---


def is_listed(source: Input) -> bool:
    """Return whether size and time of change of a file are known: of a local file, and of an object that was listed."""
    return source.is_local or source.modified is not None


def remember(inputs: Iterable[Input]) -> tuple[LoadedInput, ...]:
    """Return the files with size, time of change and version, for later loads to compare."""
    return tuple(map(with_version, filter(is_listed, inputs)))


def with_version(source: Input) -> LoadedInput:
    """Return a file as the ledger remembers it; the version of an object takes a request."""
    file = state_of(source)
    return file if source.is_local else replace(file, etag=_version_of(source))


def state_of(source: Input) -> LoadedInput:
    """Return a file with its size and its time of change."""
    if not source.is_local:
        assert source.size is not None
        assert source.modified is not None
        return LoadedInput(source.path, source.size, source.modified)
    with read_errors(source.path):
        status = os.stat(source.path)  # noqa: PTH116 - of a million files
    modified = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1_000)
    return LoadedInput(_ledger_path(source), status.st_size, modified)


def _ledger_path(source: Input) -> str:
    return os.path.normpath(os.path.join(os.getcwd(), source.path)) if source.is_local else source.path  # noqa: PTH109, PTH118


def _version_of(source: Input) -> str | None:
    with read_errors(source.path):
        return object_version(source.address)


def _is_same(source: Input, entry: LedgerEntry) -> bool:
    """Return whether a file is as a load has loaded it."""
    file, loaded = state_of(source), entry.file
    if file.bytes != loaded.bytes:
        return False
    is_same_time = file.modified == loaded.modified
    if source.is_local or loaded.etag is None:
        return is_same_time
    is_settled = entry.loaded_at - file.modified > _STORE_TICK
    # An object that was written again with the same content has another time, and the same version.
    return (is_same_time and is_settled) or _version_of(source) == loaded.etag


def _describe_change(source: Input, loaded: LoadedInput, file: LoadedInput) -> str:
    if loaded.bytes != file.bytes:
        change = f"{loaded.bytes:,} bytes then, {file.bytes:,} now"
    elif loaded.modified != file.modified:
        change = f"written again at {file.modified:%Y-%m-%d %H:%M:%S} UTC"
    else:
        change = f"another version of {file.modified:%Y-%m-%d %H:%M:%S} UTC"
    return f"`{source.path}` has changed since it was loaded: {change}"


def find_changed(files: Iterable[LoadedInput]) -> str | None:
    """Return the path of the first local file whose size or time of change has changed; None if none has."""
    from schemactl.engine.input import Input

    for file in files:
        if is_store(file.path):
            continue
        try:
            is_same = state_of(Input(file.path, "")) == file
        except InputError:
            is_same = False
        if not is_same:
            return shown_path(Path(file.path).as_uri())
    return None


# --- new files ---


@dataclass(frozen=True, slots=True)
class NewFiles:
    """The data of a call without the files of earlier loads.

    Attributes:
        skipped: the paths of the files that were left out.
    """

    table_inputs: tuple[TableInput, ...]
    skipped: tuple[str, ...] = field(default=())


def find_new(
    table_inputs: Sequence[TableInput], ledger: FileLedger, before: Schema, changed: Changed | None = None
) -> NewFiles:
    """Return the data without files whose current version earlier loads have loaded.

    A file that has changed since, or was loaded under another path, is loaded as ``changed`` says; by default into
    tables that find its rows by a key, and else it fails. A table that is replaced gets all of its files as soon as one
    is new.
    """
    new_inputs: list[TableInput] = []
    skipped: list[str] = []
    failed: list[str] = []
    appended: list[str] = []
    for table_input in table_inputs:
        roots = root_tables(table_input, before)
        repeats = {file: ledger.find_repeated(file) for file in table_input.inputs if not ledger.is_loaded(file)}
        repeated = [description for description in repeats.values() if description is not None]
        inputs = list(repeats)
        if changed is Changed.SKIP:
            inputs = [file for file, description in repeats.items() if description is None]
        elif changed is Changed.FAIL:
            failed += repeated
        elif not roots or any(map(keeps_repeated_rows, roots)):
            appended += repeated
        if inputs and replaces_rows(table_input, before):
            inputs = list(table_input.inputs)
        new_paths = {file.path for file in inputs}
        skipped += [file.path for file in table_input.inputs if file.path not in new_paths]
        if inputs:
            new_inputs.append(replace(table_input, inputs=tuple(inputs)))
    if appended:
        hint = (
            "skip these files with `--changed skip`, or remove `--new-only` to append their rows again. A table with a "
            "primary key and the write disposition `merge` stores each row once"
        )
        raise InputError(
            f"{_counted_files(appended)} rows that earlier loads appended",
            problems=tuple(map(Problem, appended)),
            hint=hint,
        )
    if failed:
        hint = "`--changed load` loads them again, `--changed skip` leaves them out"
        raise InputError(
            f"{_counted_files(failed)} changed since they were loaded", problems=tuple(map(Problem, failed)), hint=hint
        )
    return NewFiles(tuple(new_inputs), tuple(skipped))


def _counted_files(descriptions: Sequence[str]) -> str:
    return "1 file has" if len(descriptions) == 1 else f"{len(descriptions):,} files have"


def _has_same_content(file: LoadedInput, loaded: LoadedInput) -> bool:
    """Return whether a file with the size and time of change of a loaded file is a copy of it, or its new name."""
    from schemactl.engine.input import Input

    path = Path(loaded.path)
    if path.exists() and state_of(Input(loaded.path, "")) == replace(loaded, path=os.path.normpath(loaded.path)):
        return filecmp.cmp(file.path, path, shallow=False)
    # Archives and some file systems have whole seconds, in which many files may be written.
    return bool(loaded.modified.microsecond) or Path(file.path).name == path.name


def replaces_rows(table_input: TableInput, before: Schema) -> bool:
    """Return whether a load replaces all rows of the tables that the data goes to."""
    roots = root_tables(table_input, before)
    return bool(roots) and all(root.properties.get("write_disposition") == "replace" for root in roots)


def root_tables(table_input: TableInput, before: Schema) -> list[Table]:
    """Return the root tables that the data goes to, as far as the schema has them."""
    request = table_input.request
    if request.dispatch is not None:  # the records name their tables
        prefix = system_prefix(naming_of(before))
        return [table for name, table in before.tables.items() if not (table.is_nested or name.startswith(prefix))]
    root = root_table(before, table_of(request.table, request.sources, Evidence(), request.name))
    schema = before if request.hints is None else with_hints(before, request.hints, root)
    return [schema.tables[root]] if root in schema.tables else []
