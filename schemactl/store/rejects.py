"""The folder of a load's rejects (``--rejects``), Parquet files that are named after the load."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.links import check_file, check_link


def check_rejects_folder(folder: Path | None) -> None:
    """Refuse a path that cannot become a folder for rejects; nothing is created."""
    if folder is None:
        return
    check_link(folder)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        reason = "permission denied" if existing.is_dir() else f"`{existing}` is a file"
        raise InputError(f"cannot save rejects in `{folder}`: {reason}", hint="name another folder with `--rejects`")


@contextmanager
def stored_rejects(folder: Path, files: Sequence[Path], load_id: str) -> Iterator[None]:
    """Copy the files of a load's rejects into ``folder``; remove the copies if the block fails.

    A load that is repeated under the same id replaces them.
    """
    written: list[Path] = []
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for number, file in enumerate(files):
                target = folder / f"{load_id}.{number}.parquet"
                # Readers of `*.parquet` do not see incomplete files.
                incomplete = target.with_name(f".{target.name}.part")
                check_file(incomplete)
                written.append(incomplete)
                shutil.copyfile(file, incomplete)
                incomplete.replace(target)
                written.append(target)
        except OSError as error:
            raise InputError(f"cannot save rejects in `{folder}`: {error.strerror or error}") from error
        yield
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
