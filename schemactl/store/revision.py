"""Reads schema files as they were at a git revision, through the ``git`` command; only reads."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.folder import TextFile, schema_name
from schemactl.store.text import decode

TIMEOUT_SECONDS = 120
"""Long enough for a partial clone that fetches a file; a server that is silent must not hang the command."""

_LINK_MODE = "120000"


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    kind: str
    blob: str
    path: str


def read_revision(revision: str, path: Path) -> tuple[TextFile, ...]:
    """Return the file ``path`` as it was at ``revision``; if it was a folder, the schema files right in it.

    Args:
        revision: anything git takes for a commit: branch, tag, hash, ``HEAD~2``.
        path: a path on this machine inside a repository; it need not exist any more.

    Returns:
        The files with their texts; the paths read ``REVISION:PATH``, as git writes them.

    Raises:
        InputError: git is absent, the path is in no repository, the revision is unknown or lacks the path.
    """
    top = find_repository(path)
    commit = _commit(top, revision)
    inside = _inside(top, path)
    files = tuple(entry for entry in _list(top, commit, inside) if entry.kind == "blob")
    wanted = [entry for entry in files if entry.path == inside] or [
        entry for entry in files if schema_name(Path(entry.path))
    ]
    if not wanted:
        raise InputError(f"there is no schema file at `{inside}` in revision `{revision}`")
    return tuple(_read(top, entry, revision) for entry in wanted)


def find_repository(path: Path) -> Path:
    """Return the top folder of the repository that ``path`` is in.

    Raises:
        InputError: git is absent, or ``path`` is in no repository that git accepts.
    """
    start = path.absolute()
    while not start.is_dir():
        start = start.parent
    result = _git(start, "rev-parse", "--show-toplevel")
    if result.returncode:
        said = _said(result)
        if "dubious ownership" in said:
            hint = f"git config --global --add safe.directory {start}"
            raise InputError(f"git refuses `{start}`: it belongs to another user", hint=hint)
        if "not a git repository" in said:
            raise InputError(f"`{start}` is not in a git repository", hint="`git:` needs one; name a file instead")
        raise InputError(f"git cannot use `{start}`: {said}")
    return Path(os.fsdecode(result.stdout.removesuffix(b"\n")))


def _commit(top: Path, revision: str) -> str:
    if not revision or revision.startswith("-"):
        raise InputError(f"`{revision}` is not a git revision", hint="for example `git:main` or `git:HEAD~1`")
    result = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if result.returncode:
        raise InputError(f"there is no git revision `{revision}` in `{top}`", hint=_revision_hint(top))
    return result.stdout.decode("ascii").strip()


def _revision_hint(top: Path) -> str:
    if _git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        return "this clone is shallow: `git fetch --unshallow` (in GitHub Actions: `fetch-depth: 0`)"
    return "`git fetch` brings what the remote has; a remote branch reads `origin/NAME`"


def _inside(top: Path, path: Path) -> str:
    """Return ``path`` from the repository's top, as git writes it; links above it are followed."""
    plain = Path(os.path.normpath(path.absolute()))
    if plain == top:
        return "."
    try:
        return (plain.parent.resolve() / plain.name).relative_to(top.resolve()).as_posix()
    except ValueError as error:
        raise InputError(f"`{path}` is outside the git repository `{top}`") from error


def _list(top: Path, commit: str, inside: str) -> tuple[_Entry, ...]:
    listed = _entries(top, commit, inside)
    if inside == "." or (listed and listed[0].kind == "tree"):
        return _entries(top, commit, f"{inside}/") if inside != "." else listed
    return listed


def _entries(top: Path, commit: str, inside: str) -> tuple[_Entry, ...]:
    where = () if inside == "." else ("--", inside)
    result = _git(top, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, *where)
    if result.returncode:
        raise InputError(f"git cannot list `{inside}`: {_said(result)}")
    return tuple(_entry(line) for line in os.fsdecode(result.stdout).split("\0") if line)


def _entry(line: str) -> _Entry:
    description, _, path = line.partition("\t")
    mode, kind, blob = description.split()
    return _Entry(mode, kind, blob, path)


def _read(top: Path, entry: _Entry, revision: str) -> TextFile:
    shown = f"{revision}:{entry.path}"
    if entry.mode == _LINK_MODE:
        raise InputError(f"`{shown}` is a symbolic link", hint="name the file that it leads to")
    result = _git(top, "cat-file", "blob", entry.blob)
    if result.returncode:
        raise InputError(f"git cannot read `{shown}`: {_said(result)}")
    return TextFile(Path(shown), decode(result.stdout, shown))


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # English messages, because some are told apart; no questions about passwords.
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    command = ("git", "-C", str(folder), *arguments)
    try:
        return subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError("`git:` needs the `git` command, which is not there", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git did not answer within {TIMEOUT_SECONDS} s") from error


def _said(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {result.returncode}"
