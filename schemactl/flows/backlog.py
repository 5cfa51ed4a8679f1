"""Cuts the new files of a call into loads, oldest first (``--max-files``, ``--max-bytes``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from schemactl.errors import InputError
from schemactl.flows.loaded_files import is_listed, replaces_rows, state_of
from schemactl.flows.root_tables import TableInput
from schemactl.schema.types import Schema

if TYPE_CHECKING:
    from schemactl.normalization.package import LoadedInput


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """The limits of one load of a backlog; None for no limit.

    Attributes:
        bytes: the size of the stored files; a larger file is loaded by itself.
    """

    files: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        if any(limit is not None and limit < 1 for limit in (self.files, self.bytes)):
            raise InputError("a load takes at least one file and one byte", hint="raise the limit of the load")

    @property
    def is_set(self) -> bool:
        return self.files is not None or self.bytes is not None


def cut_backlog(
    table_inputs: Sequence[TableInput], limits: LoadLimits, before: Schema
) -> tuple[tuple[TableInput, ...], ...]:
    """Return the data of each load: the files that have waited longest first, by time of change and then by path."""
    if not limits.is_set:
        return (tuple(table_inputs),) if table_inputs else ()
    inputs = [file for table_input in table_inputs for file in table_input.inputs]
    unlisted = next((file for file in inputs if not is_listed(file)), None)
    if unlisted is not None:
        hint = "name files or folders, or leave `--max-files` and `--max-bytes` out"
        raise InputError(f"the age and the size of `{unlisted.path}` are unknown", hint=hint)
    cuts = list(_cut({file.path: state_of(file) for file in inputs}, limits))
    replaced = next((table_input for table_input in table_inputs if replaces_rows(table_input, before)), None)
    if len(cuts) > 1 and replaced is not None:
        message = f"each of {len(cuts)} loads would replace the rows of the load before it"
        raise InputError(message, hint="leave `--max-files` and `--max-bytes` out")
    return tuple(keep_inputs(table_inputs, paths) for paths in cuts)


def _cut(files: Mapping[str, LoadedInput], limits: LoadLimits) -> Iterator[frozenset[str]]:
    paths: list[str] = []
    size = 0
    for path in sorted(files, key=lambda path: (files[path].modified, path)):
        is_full = limits.files is not None and len(paths) >= limits.files
        is_too_large = limits.bytes is not None and size + files[path].bytes > limits.bytes
        if paths and (is_full or is_too_large):
            yield frozenset(paths)
            paths, size = [], 0
        paths.append(path)
        size += files[path].bytes
    if paths:
        yield frozenset(paths)


def keep_inputs(table_inputs: Sequence[TableInput], paths: Set[str]) -> tuple[TableInput, ...]:
    """Return the data of the files with some paths, in the order of the call."""
    reduced = (
        replace(table_input, inputs=tuple(file for file in table_input.inputs if file.path in paths))
        for table_input in table_inputs
    )
    return tuple(table_input for table_input in reduced if table_input.inputs)
