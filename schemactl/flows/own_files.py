"""Leaves files that schemactl itself writes out of the sources of a load.

They are no data: ``schemactl normalize .`` would read them the second time. A source that lies within such a folder is
meant.
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning, is_local

if TYPE_CHECKING:
    from schemactl.engine.input import Input

_DATASET_MARK: Final = "init"
"""The file that dlt's `filesystem` destination puts into the folder of a dataset."""


def without_own(
    inputs: Iterable[Input], sources: Sequence[str], own: Iterable[Path], rejects: Path | None = None
) -> tuple[Input, ...]:
    """Return the inputs that do not stand in folders of our own; a `LeftOutWarning` reports the others.

    Args:
        inputs: what the sources name.
        sources: as the call names them.
        own: folders that schemactl writes to; tables and the like stand in folders below them, not in them.
        rejects: the folder that holds files of rejects; None where there is none.

    Raises:
        InputError: no other is left.
    """
    inputs = tuple(inputs)
    real = {folder.resolve(): folder for folder in own}
    flat = {rejects.resolve(): rejects} if rejects else {}
    meant = [_fixed_part(source) for source in sources if is_local(source)]
    kept: list[Input] = []
    left_out: dict[str, set[Path]] = {}
    for each in inputs:
        place = Path(each.path).resolve() if each.is_local else None
        folder = next((folder for folder in (*real, *flat) if place and _is_own(place, folder, folder in flat)), None)
        if (
            place is None
            or folder is None
            or any(folder in path.parents and place.is_relative_to(path) for path in meant)
        ):
            kept.append(each)
        else:
            left_out.setdefault(str((real | flat)[folder]), set()).add(place)
    if left_out:
        shown = ", ".join(f"{len(files):,} in `{folder}`" for folder, files in sorted(left_out.items()))
        if not kept:
            hint = "load into another place, or name the files to load one by one"
            raise InputError(f"the sources hold no files but those where schemactl writes: {shown}", hint=hint)
        warnings.warn(f"files where schemactl writes were left out: {shown}", LeftOutWarning, stacklevel=2)
    return tuple(kept)


def _is_own(place: Path, folder: Path, is_flat: bool) -> bool:
    if place.parent == folder:
        return is_flat or place.name == _DATASET_MARK
    return folder in place.parents


def _fixed_part(source: str) -> Path:
    """Return the place of a source; of a pattern the part before its first wildcard."""
    if Path(source).exists():
        return Path(source).resolve()
    return Path(*takewhile(lambda part: not glob.has_magic(part), Path(source).parts)).resolve()
