"""The files of earlier loads, and which files of a call are new (``--new-only``)."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.engine.input import read_errors, shown_path
from schemactl.errors import InputError, Problem
from schemactl.flows.evidence import table_of
from schemactl.flows.root_tables import Part
from schemactl.inference.evidence import Evidence
from schemactl.inference.source_names import root_table
from schemactl.normalization.package import LoadedInput, PastLoads
from schemactl.schema.contract import system_prefix
from schemactl.schema.dispositions import keeps_repeated_rows
from schemactl.schema.hints import with_hints
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    from schemactl.engine.input import Input

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def remember(inputs: Iterable[Input]) -> tuple[LoadedInput, ...]:
    """Return the local files with size and time of change, for later loads to compare."""
    return tuple(_state_of(file.path) for file in inputs if file.is_local)


def find_changed(files: Iterable[LoadedInput]) -> str | None:
    """Return the path of the first file whose size or time of change is another than remembered; None if none is."""
    for file in files:
        try:
            is_same = _state_of(file.path) == file
        except InputError:
            is_same = False
        if not is_same:
            return shown_path(Path(file.path).as_uri())
    return None


def _state_of(path: str) -> LoadedInput:
    with read_errors(path):
        status = Path(path).stat()
    modified = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1_000)
    return LoadedInput(os.path.normpath(Path.cwd() / path), status.st_size, modified)


def find_new(parts: Sequence[Part], past: PastLoads, before: Schema) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Return the data without files that earlier loads have loaded as they are now, and the paths of these files.

    A file that has changed since, or was loaded under another path, goes again into tables that find its rows by a key.
    A table that is replaced gets all of its files as soon as one is new.
    """
    history = _History(past)
    new_parts: list[Part] = []
    loaded_paths: list[str] = []
    repeated: list[Problem] = []
    for table_part in parts:
        comparisons = [history.compare(file) for file in table_part.inputs]
        inputs = tuple(file.input for file in comparisons if not file.is_seen)
        roots = _root_tables(table_part, before)
        if inputs and roots and all(root.properties.get("write_disposition") == "replace" for root in roots):
            inputs = table_part.inputs
        elif not roots or any(map(keeps_repeated_rows, roots)):
            repeated += [Problem(file.repeats) for file in comparisons if file.repeats is not None]
        loaded_paths += [file.path for file in table_part.inputs if file not in inputs]
        if inputs:
            new_parts.append(replace(table_part, inputs=inputs))
    if repeated:
        files = "1 file has" if len(repeated) == 1 else f"{len(repeated):,} files have"
        hint = (
            "leave these files out, or leave `--new-only` out to append their rows again; a table with a primary key "
            "and the write disposition `merge` takes each row once"
        )
        raise InputError(f"{files} rows that earlier loads have appended", problems=tuple(repeated), hint=hint)
    return tuple(new_parts), tuple(loaded_paths)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A file of a call beside those of earlier loads.

    Attributes:
        is_seen: whether it was loaded as it is now.
        repeats: which loaded file has its rows, or some of them; None for a new file.
    """

    input: Input
    is_seen: bool = False
    repeats: str | None = None


class _History:
    """The files of earlier loads, by path and by size and time of change."""

    def __init__(self, past: PastLoads) -> None:
        self._by_path = {os.path.normpath(path): file for path, file in past.inputs.items()}
        self._by_state: dict[tuple[int, datetime], list[LoadedInput]] = {}
        for file in past.inputs.values():
            self._by_state.setdefault((file.bytes, file.modified), []).append(file)

    def compare(self, source: Input) -> _Comparison:
        """Compare a file with those of earlier loads."""
        if not source.is_local:
            hint = "name files or folders, or leave `--new-only` out"
            raise InputError(f"it is unknown whether `{source.path}` is new", hint=hint)
        file = _state_of(source.path)
        loaded = self._by_path.get(file.path)
        if loaded is not None and (loaded.bytes, loaded.modified) != (file.bytes, file.modified):
            sizes = f"{loaded.bytes:,} bytes then, {file.bytes:,} now"
            change = sizes if loaded.bytes != file.bytes else f"written again at {file.modified:%Y-%m-%d %H:%M:%S} UTC"
            return _Comparison(source, repeats=f"`{source.path}` has changed since it was loaded: {change}")
        if loaded is not None:
            return _Comparison(source, is_seen=True)
        for other in self._by_state.get((file.bytes, file.modified), ()) if file.bytes else ():
            if Path(other.path).exists() and Path(other.path).samefile(file.path):
                return _Comparison(source, is_seen=True)
            if _has_same_content(file, other):
                return _Comparison(source, repeats=f"`{source.path}` was loaded as `{other.path}`")
        return _Comparison(source)


def _has_same_content(file: LoadedInput, loaded: LoadedInput) -> bool:
    """Return whether a file with the size and time of change of a loaded file is a copy of it, or its new name."""
    path = Path(loaded.path)
    if path.exists() and replace(_state_of(loaded.path), path=loaded.path) == loaded:
        return filecmp.cmp(file.path, path, shallow=False)
    # Archives and some file systems have whole seconds, in which many files may be written.
    return bool(loaded.modified.microsecond) or Path(file.path).name == path.name


def _root_tables(table_part: Part, before: Schema) -> list[Table]:
    """Return the root tables that the data goes to, as far as the schema has them."""
    request = table_part.request
    if request.dispatch is not None:  # the records name their tables
        prefix = system_prefix(naming_of(before))
        return [table for name, table in before.tables.items() if not (table.is_nested or name.startswith(prefix))]
    root = root_table(before, table_of(request.table, request.sources, Evidence(), request.name))
    schema = before if request.hints is None else with_hints(before, request.hints, root)
    return [schema.tables[root]] if root in schema.tables else []
