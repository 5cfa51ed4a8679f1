"""Reads schema files as they were at a git revision."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.folder import TextFile, schema_name
from schemactl.store.git import (
    LINK_MODE,
    commit_of,
    find_repository,
    path_inside,
    run_git,
    said_by,
)
from schemactl.store.text import decode


class MissingInRevision(InputError):
    """The revision is there, and holds no schema file at the path."""


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
    commit = commit_of(top, revision)
    inside = path_inside(top, path)
    files = tuple(entry for entry in _list(top, commit, inside) if entry.kind == "blob")
    wanted = [entry for entry in files if entry.path == inside] or [
        entry for entry in files if schema_name(Path(entry.path))
    ]
    if not wanted:
        raise MissingInRevision(f"there is no schema file at `{inside}` in revision `{revision}`")
    return tuple(_read(top, entry, revision) for entry in wanted)


def _list(top: Path, commit: str, inside: str) -> tuple[_Entry, ...]:
    listed = _entries(top, commit, inside)
    if inside == "." or (listed and listed[0].kind == "tree"):
        return _entries(top, commit, f"{inside}/") if inside != "." else listed
    return listed


def _entries(top: Path, commit: str, inside: str) -> tuple[_Entry, ...]:
    where = () if inside == "." else ("--", inside)
    result = run_git(top, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, *where)
    if result.returncode:
        raise InputError(f"git cannot list `{inside}`: {said_by(result)}")
    return tuple(_entry(line) for line in os.fsdecode(result.stdout).split("\0") if line)


def _entry(line: str) -> _Entry:
    description, _, path = line.partition("\t")
    mode, kind, blob = description.split()
    return _Entry(mode, kind, blob, path)


def _read(top: Path, entry: _Entry, revision: str) -> TextFile:
    shown = f"{revision}:{entry.path}"
    if entry.mode == LINK_MODE:
        raise InputError(f"`{shown}` is a symbolic link", hint="name the file that it leads to")
    result = run_git(top, "cat-file", "blob", entry.blob)
    if result.returncode:
        raise InputError(f"git cannot read `{shown}`: {said_by(result)}")
    return TextFile(Path(shown), decode(result.stdout, shown))
