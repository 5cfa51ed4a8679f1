"""Lets one load or migration at a time write to a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from schemactl.errors import DestinationError, InputError
from schemactl.store.lock import locked
from schemactl.store.temporary_folders import private_folder

LOAD_PATIENCE_SECONDS: Final = 600.0
"""How long a load waits for other loads: its rows may have taken as long to prepare."""


def machine_folder(*identity: str) -> Path:
    """Return a folder of this machine with a lock that ends with its holder, for a destination that has no such lock.

    ``identity`` distinguishes the destination from all other destinations. The folder is in the user's private one:
    other users could hold locks there, or redirect files.
    """
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    try:
        return private_folder() / "locks" / key
    except InputError as error:
        raise DestinationError(error.message, hint=error.hint) from error


@contextmanager
def holding(folder: Path, patience: float | None = None) -> Iterator[None]:
    """Hold the lock of a folder, which is created if necessary.

    It waits ``patience`` seconds for the lock; None for as long as loads do.
    """
    with ExitStack() as resources:
        try:
            resources.enter_context(locked(folder, LOAD_PATIENCE_SECONDS if patience is None else patience))
        except InputError as error:
            raise DestinationError(error.message, hint=error.hint) from error
        yield


def check_writable(folder: Path) -> None:
    """Raise ``DestinationError`` unless a folder can be written to, or made."""
    near = next(
        ancestor for ancestor in (folder, *folder.absolute().parents) if ancestor.exists() or ancestor.is_symlink()
    )
    if not near.is_dir():
        fault = "is a file, not a folder" if near.exists() else "is a broken link"
        raise DestinationError(f"`{near}` {fault}", hint="name a folder: `--to FOLDER`")
    if not os.access(near, os.W_OK | os.X_OK):
        raise DestinationError(f"`{near}` cannot be written to", hint=f"chmod u+wx {near}")
