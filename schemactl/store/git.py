"""A git repository, through the ``git`` command: found, asked, and never changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from schemactl.errors import InputError

TIMEOUT_SECONDS = 120
"""Long enough for a partial clone that fetches a file; a server that is silent must not hang the command."""

UNSHALLOW = "this clone is shallow: `git fetch --unshallow` (in GitHub Actions: `fetch-depth: 0`)"
LINK_MODE = "120000"


def find_repository(path: Path) -> Path:
    """Return the top folder of the repository that ``path`` is in.

    Raises:
        InputError: git is absent, or ``path`` is in no repository that git accepts.
    """
    start = path.absolute()
    while not start.is_dir():
        start = start.parent
    result = run_git(start, "rev-parse", "--show-toplevel")
    if result.returncode:
        said = said_by(result)
        if "dubious ownership" in said:
            hint = f"git config --global --add safe.directory {start}"
            raise InputError(f"git refuses `{start}`: it belongs to another user", hint=hint)
        if "not a git repository" in said:
            raise InputError(f"`{start}` is not in a git repository", hint="`git:` needs one; name a file instead")
        raise InputError(f"git cannot use `{start}`: {said}")
    return Path(os.fsdecode(result.stdout.removesuffix(b"\n")))


def commit_of(top: Path, revision: str) -> str:
    """Return the full hash of the commit that a revision names.

    Raises:
        InputError: there is no such revision.
    """
    if not revision or revision.startswith("-"):
        raise InputError(f"`{revision}` is not a git revision", hint="for example `git:main` or `git:HEAD~1`")
    result = run_git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if result.returncode:
        raise InputError(f"there is no git revision `{revision}` in `{top}`", hint=_revision_hint(top))
    return result.stdout.decode("ascii").strip()


def _revision_hint(top: Path) -> str:
    usual = "`git fetch` brings what the remote has; a remote branch reads `origin/NAME`"
    return UNSHALLOW if is_shallow(top) else usual


def is_shallow(top: Path) -> bool:
    """Return whether the history of the repository at ``top`` is cut off."""
    return run_git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def path_inside(top: Path, path: Path) -> str:
    """Return ``path`` from the repository's top, as git writes it; links above it are followed."""
    plain = Path(os.path.normpath(path.absolute()))
    if plain == top:
        return "."
    try:
        return (plain.parent.resolve() / plain.name).relative_to(top.resolve()).as_posix()
    except ValueError as error:
        raise InputError(f"`{path}` is outside the git repository `{top}`") from error


def run_git(folder: Path, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[bytes]:
    """Return what a git command answers in a folder, ``lines`` given to it as its input.

    Raises:
        InputError: git is absent, or silent for ``TIMEOUT_SECONDS``.
    """
    # English messages, because some are told apart; no questions about passwords.
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    command = ("git", "-C", str(folder), *arguments)
    try:
        return subprocess.run(
            command,
            capture_output=True,
            input=lines.encode("ascii"),
            env=environment,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError("`git:` needs the `git` command, which is not there", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git did not answer within {TIMEOUT_SECONDS} s") from error


def said_by(result: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line of what git complains about."""
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {result.returncode}"
