"""Lets one load or migration at a time write to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from schemactl.errors import DestinationError, InputError
from schemactl.store.lock import WAIT_SECONDS, locked


@contextmanager
def holding(folder: Path, patience: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of a folder, which is made where it is missing.

    Args:
        folder: whose lock it is.
        patience: seconds to wait for others.

    Raises:
        DestinationError: another load or migration holds it for so long, or the folder cannot be written to.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder, patience))
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
