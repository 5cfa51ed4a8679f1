"""Reads schema files as they were at a git revision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.folder import TextFile, schema_name
from schemactl.store.git import (
    LINK_MODE,
    commit_of,
    failure,
    find_repository,
    path_inside,
    run_git,
)
from schemactl.store.text import decode


class MissingInRevision(InputError):
    """The revision is there, and holds no schema file at the path.

    Attributes:
        elsewhere: a folder that holds schema files then; None where there is none in the whole revision.
    """

    def __init__(self, message: str, elsewhere: str | None = None) -> None:
        super().__init__(message)
        self.elsewhere = elsewhere


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


def files_at(revision: str, paths: Sequence[Path]) -> tuple[TextFile, ...]:
    """Return those of some files that were there at ``revision``, in the order of ``paths``.

    Args:
        revision: as in ``read_revision``.
        paths: at least one; below the working folder's repository, though they need not exist.

    Raises:
        InputError: as ``read_revision``, but for a path that the revision lacks.
    """
    top = find_repository(paths[0])
    commit = commit_of(top, revision)
    insides = [path_inside(top, path) for path in paths]
    found = {entry.path: entry for entry in _entries(top, commit, *insides) if entry.kind == "blob"}
    return tuple(_read(top, found[inside], revision) for inside in insides if inside in found)


def folder_with_schemas(top: Path, revision: str) -> str | None:
    """Return the first folder of a revision that holds schema files; the one above ``import/`` or ``export/``."""
    result = run_git(top, "ls-tree", "-z", "-r", "--name-only", "--full-tree", commit_of(top, revision))
    if result.returncode:
        raise failure(f"git cannot list `{revision}`", result)
    paths = (Path(name) for name in os.fsdecode(result.stdout).split("\0") if name)
    found = next((path.parent for path in paths if schema_name(path)), None)
    if found is None:
        return None
    return (found.parent if found.name in ("import", "export") else found).as_posix()


def _list(top: Path, commit: str, inside: str) -> tuple[_Entry, ...]:
    listed = _entries(top, commit, inside)
    if inside == "." or (listed and listed[0].kind == "tree"):
        return _entries(top, commit, f"{inside}/") if inside != "." else listed
    return listed


def _entries(top: Path, commit: str, *insides: str) -> tuple[_Entry, ...]:
    where = () if insides == (".",) else ("--", *insides)
    result = run_git(top, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, *where)
    if result.returncode:
        raise failure(f"git cannot list `{', '.join(insides)}`", result)
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
        raise failure(f"git cannot read `{shown}`", result)
    return TextFile(Path(shown), decode(result.stdout, shown))
