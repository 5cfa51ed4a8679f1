"""Reads schema files as they were at a git revision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from schemactl.errors import InputError
from schemactl.store import git
from schemactl.store.folder import TextFile, schema_name
from schemactl.store.links import linked
from schemactl.store.text import MAX_BYTES, decode, too_long

_FOLDER_MODE = "040000"
_SUBMODULE_MODE = "160000"


class MissingInRevision(InputError):
    """The revision exists, but has no schema file at the path.

    Attributes:
        elsewhere: the folders of the revision that hold schema files.
    """

    def __init__(self, message: str, elsewhere: tuple[Path, ...] = ()) -> None:
        super().__init__(message)
        self.elsewhere = elsewhere


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, a folder or a submodule of a revision; ``object`` is the hash of its content, or of its commit."""

    mode: str
    object: str
    path: str


def read_revision(revision: str, path: Path) -> tuple[TextFile, ...]:
    """Return the file ``path`` as it was at ``revision``; if it was a folder, the schema files directly in it.

    A revision is anything that git resolves to a commit: branch, tag, hash, ``HEAD~2``. The path, on this machine and
    inside a repository, need not exist any more; the returned files have paths of the form ``REVISION:PATH``.

    Raises:
        MissingInRevision: the revision lacks the path.
        InputError: git is absent, the path is in no repository, the revision is unknown, or it has a link or a
            submodule at the path or above it.
    """
    top = git.find_repository(path)
    commit = git.commit_of(top, revision)
    inside = git.path_inside(top, path)
    # With a slash at its end a path names the content of a folder.
    files = _entries(top, commit, *((".",) if inside == "." else (inside, f"{inside}/")))
    entries = [entry for entry in files if entry.path == inside]
    entries = entries or [entry for entry in files if schema_name(Path(entry.path))]
    if not entries:
        _refuse_detours(top, commit, [inside], revision)
        raise MissingInRevision(f"there is no schema file at `{inside}` in revision `{revision}`")
    return _read(top, entries, revision)


def _refuse_detours(top: Path, commit: str, insides: Sequence[str], revision: str) -> None:
    """Raise InputError if a path is a link or a submodule, or is behind one: its files are elsewhere."""
    paths = {str(path) for inside in map(PurePosixPath, insides) for path in (inside, *inside.parents[:-1])}
    for entry in _list(top, commit, *sorted(paths)):
        if entry.path not in paths:
            continue
        if entry.mode == git.LINK_MODE:
            raise linked(f"{revision}:{entry.path}")
        if entry.mode == _SUBMODULE_MODE:
            submodule, head = os.path.relpath(top / entry.path), entry.object[:12]
            hint = f"review it as a separate repository: `cd {submodule}`, then `schemactl diff git:{head}`"
            raise InputError(f"`{submodule}` is a git submodule, which `git:` cannot read", hint=hint)


def files_at(revision: str, paths: Sequence[Path], max_bytes: int = MAX_BYTES) -> tuple[TextFile, ...]:
    """Return the files among ``paths``, at least one, that existed at ``revision``, in the order of ``paths``.

    They are below the working folder's repository, and need not exist now.
    """
    top = git.find_repository(paths[0])
    commit = git.commit_of(top, revision)
    insides = [git.path_inside(top, path) for path in paths]
    entries = {entry.path: entry for entry in _entries(top, commit, *insides)}
    missing = [inside for inside in insides if inside not in entries]
    if missing:
        _refuse_detours(top, commit, missing, revision)
    return _read(top, [entries[inside] for inside in insides if inside in entries], revision, max_bytes)


def list_files(revision: str, top: Path, inside: str) -> tuple[Entry, ...]:
    """Return the files of a revision at a path and below; links are among them, and submodules are not.

    ``inside`` is the path from the top of the repository; ``.`` for all files.
    """
    options = ("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", git.commit_of(top, revision))
    where = () if inside == "." else ("--", inside)
    output = git.checked_output(f"git cannot list `{revision}`", top, *options, *where)
    return tuple(entry for entry in _parse_entries(output) if entry.mode != _SUBMODULE_MODE)


def folders_with_schemas(top: Path, revision: str) -> tuple[Path, ...]:
    """Return the folders of a revision that hold schema files; of ``import/`` and ``export/`` the one above."""
    paths = (Path(entry.path) for entry in list_files(revision, top, "."))
    folders = (path.parent for path in paths if schema_name(path))
    roots = (folder.parent if folder.name in ("import", "export") else folder for folder in folders)
    return tuple(dict.fromkeys(top / root for root in roots))


def _entries(top: Path, commit: str, *insides: str) -> tuple[Entry, ...]:
    """Return the files at some places; ``.`` is the top."""
    return tuple(entry for entry in _list(top, commit, *insides) if entry.mode not in (_FOLDER_MODE, _SUBMODULE_MODE))


def _list(top: Path, commit: str, *insides: str) -> tuple[Entry, ...]:
    """Return the entries of some paths."""
    options = ("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit)
    where = () if insides == (".",) else ("--", *insides)
    return _parse_entries(git.checked_output(f"git cannot list `{', '.join(insides)}`", top, *options, *where))


def _parse_entries(output: bytes) -> tuple[Entry, ...]:
    """Return the entries in the output of ``git ls-tree -z``."""
    lines = (line.partition("\t") for line in os.fsdecode(output).split("\0") if line)
    columns = ((*description.split(), path) for description, _, path in lines)
    return tuple(Entry(mode, object_hash, path) for mode, _, object_hash, path in columns)


def _read(top: Path, entries: Sequence[Entry], revision: str, max_bytes: int = MAX_BYTES) -> tuple[TextFile, ...]:
    if not entries:
        return ()
    names = [f"{revision}:{entry.path}" for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        if entry.mode == git.LINK_MODE:
            raise linked(name)
    blobs = [entry.object for entry in entries]
    for name, size in zip(names, git.sizes_of(top, blobs), strict=True):
        if size > max_bytes:
            raise too_long(name, max_bytes)
    contents = git.contents_of(top, blobs)
    return tuple(TextFile(Path(name), decode(content, name)) for name, content in zip(names, contents, strict=True))
