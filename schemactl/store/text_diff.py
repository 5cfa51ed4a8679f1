"""The difference of two files as lines, by git: what `git diff` would have shown without us."""

from __future__ import annotations

import os
from pathlib import Path

from schemactl.store.git import failure, run_git

_SAME, _DIFFERENT = 0, 1


def text_diff(base: Path | None, head: Path | None) -> str:
    """Return a unified diff of two files; None stands for a file that is not there.

    Raises:
        InputError: git is absent or cannot read a file.
    """
    files = [str(path) if path else os.devnull for path in (base, head)]
    quiet = ("--no-index", "--no-ext-diff", "--no-textconv", "--no-color")
    result = run_git(Path.cwd(), "diff", *quiet, "--", *files)
    if result.returncode not in (_SAME, _DIFFERENT):
        raise failure(f"git cannot compare `{files[0]}` and `{files[1]}`", result)
    return result.stdout.decode("utf-8", "backslashreplace")
