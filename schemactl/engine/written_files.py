"""Excludes files that schemactl itself writes from the sources, so that ``normalize .`` does not load them again."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError
from schemactl.inference.lineage import ENDING as LINEAGE_ENDING
from schemactl.store.folder import schema_name
from schemactl.store.sources import LeftOutWarning, is_local

if TYPE_CHECKING:
    from schemactl.engine.input import Input

_DATASET_MARK: Final = "init"
"""The file that dlt's `filesystem` destination puts into the folder of a dataset."""


def without_written_files(
    inputs: Iterable[Input],
    sources: Sequence[str],
    written: Iterable[Path],
    rejects: Path | None = None,
    schema_folders: Iterable[Path] = (),
    *,
    may_be_empty: bool = False,
) -> tuple[Input, ...]:
    """Return the inputs outside of folders that schemactl writes to; a `LeftOutWarning` reports the left-out files.

    The ``written`` folders have files in subfolders, the folder of rejects has them directly. The ``schema_folders``
    have schema and lineage files, perhaps mixed with data. A source inside such a folder is read. ``may_be_empty`` if
    the sources have had other files, which were left out before.
    """
    inputs = tuple(inputs)
    folders = {folder.resolve(): folder for folder in written}
    rejects_folders = {rejects.resolve(): rejects} if rejects else {}
    schemas = {folder.resolve(): folder for folder in schema_folders}
    roots = [_fixed_root(source) for source in sources if is_local(source)]
    remaining: list[Input] = []
    left_out: dict[str, set[Path]] = {}
    for file in inputs:
        path = Path(file.path).resolve()
        candidates = (*folders, *rejects_folders)
        folder = next((parent for parent in candidates if _is_written(path, parent, parent in rejects_folders)), None)
        is_schema_or_lineage = schema_name(path) is not None or path.name.endswith(LINEAGE_ENDING)
        if folder is None and path.parent in schemas and is_schema_or_lineage:
            folder = path.parent
        is_source = any(folder in root.parents and path.is_relative_to(root) for root in roots)
        if not file.is_local or folder is None or is_source:
            remaining.append(file)
        else:
            left_out.setdefault(str((folders | rejects_folders | schemas)[folder]), set()).add(path)
    if left_out:
        counts = ", ".join(f"{len(files):,} in `{folder}`" for folder, files in sorted(left_out.items()))
        if not remaining and not may_be_empty:
            hint = "load into another destination, or pass the files one by one"
            raise InputError(f"the sources contain only files of the destination: {counts}", hint=hint)
        warnings.warn(f"files of the destination were skipped: {counts}", LeftOutWarning, stacklevel=2)
    return tuple(remaining)


def _is_written(path: Path, folder: Path, has_files: bool) -> bool:
    """Return whether a path is schemactl's in a folder; ``has_files`` if it writes files directly into the folder."""
    return has_files or path.name == _DATASET_MARK if path.parent == folder else folder in path.parents


def _fixed_root(source: str) -> Path:
    """Return the path of a source; of a pattern the path before its first wildcard."""
    if Path(source).exists():
        return Path(source).resolve()
    return Path(*takewhile(lambda name: not glob.has_magic(name), Path(source).parts)).resolve()
