"""The difference of two files as lines, by git: what `git diff` would have shown without us."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from schemactl.errors import InputError

_SAME, _DIFFERENT = 0, 1


def text_diff(base: Path | None, head: Path | None) -> str:
    """Return a unified diff of two files; None stands for a file that is not there.

    Raises:
        InputError: git is absent or cannot read a file.
    """
    files = [str(path) if path else os.devnull for path in (base, head)]
    command = ("git", "diff", "--no-index", "--no-ext-diff", "--no-color", "--", *files)
    try:
        result = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError as error:
        raise InputError("git is not there", hint="install git") from error
    if result.returncode not in (_SAME, _DIFFERENT):
        raise InputError(f"git cannot compare `{files[0]}` and `{files[1]}`")
    return result.stdout.decode("utf-8", "backslashreplace")
