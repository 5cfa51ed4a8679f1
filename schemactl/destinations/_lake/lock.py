"""Lets one load at a time write to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from schemactl.errors import DestinationError, InputError
from schemactl.store.lock import locked


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made where it is missing.

    Raises:
        DestinationError: another load holds it, or the folder cannot be written to.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder))
        except InputError as error:
            raise DestinationError(error.message, hint=error.hint) from error
        yield


def check_writable(folder: Path) -> None:
    """Find out whether a folder can be written to, or made.

    Raises:
        DestinationError: it is a file, or the rights are missing.
    """
    near = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not near.is_dir():
        raise DestinationError(f"`{near}` is a file, not a folder")
    if not os.access(near, os.W_OK | os.X_OK):
        raise DestinationError(f"nothing may be written to `{near}`", hint=f"chmod u+wx {near}")
