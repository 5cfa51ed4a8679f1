"""Copies of a database's file that are kept before a destructive plan runs, until ``migrate clean``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from schemactl.errors import DestinationError

_MARK: Final = ".before-"


def copy_path(file: Path, label: str) -> Path:
    """Return where a copy of a file is kept, beside it."""
    return file.with_name(f"{file.name}{_MARK}{label}")


def copies_of(file: Path) -> tuple[str, ...]:
    """Return the paths of a file's copies."""
    start = f"{file.name}{_MARK}"
    return tuple(sorted(str(path) for path in file.parent.iterdir() if path.name.startswith(start)))


def remove_copies(paths: Sequence[str]) -> None:
    """Remove copies.

    Raises:
        DestinationError: one cannot be removed.
    """
    for path in paths:
        try:
            Path(path).unlink()
        except OSError as error:
            raise DestinationError(f"cannot remove `{path}`: {error.strerror}") from error
