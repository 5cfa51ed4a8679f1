"""The folder in which the user's system keeps data that can be computed again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "SCHEMACTL_CACHE_DIR"
"""Names another folder, as a CI job that keeps its caches needs it; empty for no cache."""


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder for schemactl's caches, which may not exist; None for a user without one.

    Source: XDG Base Directory Specification 0.8, Apple's File System Programming Guide, Windows' known folders.
    """
    if VARIABLE in environment:
        return Path(environment[VARIABLE]).absolute() if environment[VARIABLE] else None
    try:
        match sys.platform:
            case "win32":
                parent = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
            case "darwin":
                parent = Path.home() / "Library" / "Caches"
            case _:
                cache_home = Path(environment.get("XDG_CACHE_HOME", ""))
                parent = cache_home if cache_home.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return parent / "schemactl"
