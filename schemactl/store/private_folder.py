"""The folder of this user for what processes of theirs share and nobody else may read: sockets, locks, secrets."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from schemactl.errors import InputError


def private_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder, made where it is not there: below ``XDG_RUNTIME_DIR``, else below the temporary folder.

    Args:
        environment: where ``XDG_RUNTIME_DIR`` is looked up; the process's own by default.

    Raises:
        InputError: it cannot be made, or what has its name is a link, another user's, or open to others.
    """
    environment = os.environ if environment is None else environment
    stated = environment.get("XDG_RUNTIME_DIR", "")
    user = os.getuid() if hasattr(os, "getuid") else environment.get("USERNAME", "user")
    has_runtime = Path(stated).is_absolute() and Path(stated).is_dir()
    folder = Path(stated, "schemactl") if has_runtime else Path(tempfile.gettempdir(), f"schemactl-{user}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _check(folder)
    except OSError as error:
        raise InputError(f"cannot use the folder `{folder}`: {error.strerror or error}") from error
    return folder


def _check(folder: Path) -> None:
    """Raise InputError where another user could have made the folder, or can look into it."""
    found = folder.lstat()
    is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if stat.S_ISDIR(found.st_mode) and is_own and (os.name == "nt" or not found.st_mode & 0o077):
        return
    hint = "remove it, or name a folder of mode 0700 in `XDG_RUNTIME_DIR`"
    raise InputError(f"`{folder}` is no folder of this user alone: what lies in it could be another's", hint=hint)
