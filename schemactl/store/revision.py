"""Reads schema files as they were at a git revision, through the ``git`` command; only reads."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.folder import TextFile, schema_name
from schemactl.store.text import decode

TIMEOUT_SECONDS = 120
"""Long enough for a partial clone that fetches a file; a server that is silent must not hang the command."""

MAX_VERSIONS = 1000
"""The most commits of a file's history that are looked at, from the newest back."""

MAX_HISTORY_BYTES = 256 * 1024 * 1024
"""The most that all versions of a file may take in memory; older ones are left out."""

_UNSHALLOW = "this clone is shallow: `git fetch --unshallow` (in GitHub Actions: `fetch-depth: 0`)"
_LINK_MODE = "120000"
_HEADER = re.compile(r"\n?(?P<commit>[0-9a-f]{40,64}) (?P<date>\S+)")


class MissingInRevision(InputError):
    """The revision is there, and holds no schema file at the path."""


@dataclass(frozen=True, slots=True)
class RevisionFile:
    """A file as a commit left it.

    Attributes:
        commit: the full hash of the commit.
        date: when it was committed, with its time zone.
        path: the file's path then, from the top of the repository.
        content: the bytes of the file.
    """

    commit: str
    date: datetime
    path: str
    content: bytes

    @property
    def name(self) -> str:
        """How messages call it, ``REVISION:PATH`` with a short hash."""
        return f"{self.commit[:10]}:{self.path}"

    @property
    def text(self) -> str:
        """The content as text.

        Raises:
            InputError: as ``store.text.decode``.
        """
        return decode(self.content, self.name)


@dataclass(frozen=True, slots=True)
class _Change:
    """A line of ``git log --raw``: what a commit made of the file."""

    commit: str
    date: datetime
    path: str
    mode: str
    blob: str

    @property
    def is_file(self) -> bool:
        return self.mode != _LINK_MODE and set(self.blob) != {"0"}


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
        raise MissingInRevision(f"there is no schema file at `{inside}` in revision `{revision}`")
    return tuple(_read(top, entry, revision) for entry in wanted)


def versions_of(path: Path, since: str | None = None) -> tuple[RevisionFile, ...]:
    """Return the committed versions of a file, newest first, its renames followed.

    A content that the file had several times is given once, with the last commit that brought it. A merge
    counts where it made something that none of its parents had. A handful of git processes, however long the
    history; at most ``MAX_VERSIONS`` commits, and as many versions as fit ``MAX_HISTORY_BYTES``.

    Args:
        path: a path on this machine inside a repository; it need not exist any more.
        since: leave out what this revision knows already.

    Returns:
        The versions in the history of ``HEAD``; none where nothing changed after ``since``.

    Raises:
        InputError: as ``read_revision``; the file was never committed; without ``since``, also where the clone
            is shallow, because its history is cut off.
    """
    top = find_repository(path)
    inside = _inside(top, path)
    if since is None and _is_shallow(top):
        raise InputError(f"the history of `{inside}` is cut off", hint=_UNSHALLOW)
    commits = (_commit(top, "HEAD"), *(() if since is None else (f"^{_commit(top, since)}",)))
    changes: dict[str, _Change] = {}
    for change in _changes(top, commits, inside):
        if change.is_file:
            changes.setdefault(change.blob, change)
    if not changes and since is None:
        raise InputError(f"there is no version of `{inside}` in the history of `{top}`", hint="was it ever committed?")
    # Of the contents there may be fewer, where they take too much memory.
    pairs = zip(changes.values(), _contents(top, list(changes)), strict=False)
    return tuple(RevisionFile(change.commit, change.date, change.path, content) for change, content in pairs)


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
    usual = "`git fetch` brings what the remote has; a remote branch reads `origin/NAME`"
    return _UNSHALLOW if _is_shallow(top) else usual


def _is_shallow(top: Path) -> bool:
    return _git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def _changes(top: Path, commits: tuple[str, ...], inside: str) -> Iterator[_Change]:
    """Yield what commits made of a file, newest first; merges too where they are more than their parents."""
    result = _git(
        *(top, "-c", "log.showRoot=true", "--literal-pathspecs", "log", "--follow", f"--max-count={MAX_VERSIONS}"),
        *("-c", "--raw", "-z", "--no-abbrev", "--no-color", "--no-show-signature", "--format=tformat:%H %cI"),
        *(*commits, "--", inside),
    )
    if result.returncode:
        raise InputError(f"git cannot tell the history of `{inside}`: {_said(result)}")
    tokens = iter(os.fsdecode(result.stdout).split("\0"))
    commit = ""
    date = datetime.min
    for token in tokens:
        if header := _HEADER.fullmatch(token):
            commit, date = header["commit"], datetime.fromisoformat(header["date"])
        elif (raw := token.lstrip("\n")).startswith(":"):
            # One colon, mode and blob for each parent; then the file's own mode; after the blobs, its own blob.
            parents = len(raw) - len(raw.lstrip(":"))
            fields = raw.lstrip(":").split()
            path = next(tokens)
            if fields[-1][0] in "RC" and parents == 1:
                path = next(tokens)
            yield _Change(commit, date, path, fields[parents], fields[2 * parents + 1])


def _contents(top: Path, blobs: list[str]) -> list[bytes]:
    """Return the contents of the first blobs, as many as fit ``MAX_HISTORY_BYTES``."""
    sizes = [_size(top, line) for line in _asked(top, "--batch-check", blobs).splitlines()]
    fitting = sum(total <= MAX_HISTORY_BYTES for total in accumulate(sizes))
    answer, contents, position = _asked(top, "--batch", blobs[:fitting]), [], 0
    for size in sizes[:fitting]:
        start = answer.index(b"\n", position) + 1
        contents.append(answer[start : start + size])
        position = start + size + 1
    return contents


def _asked(top: Path, how: str, blobs: list[str]) -> bytes:
    result = _git(top, "cat-file", how, lines="".join(f"{blob}\n" for blob in blobs))
    if result.returncode:
        raise InputError(f"git cannot read the history: {_said(result)}")
    return result.stdout


def _size(top: Path, line: bytes) -> int:
    blob, *kind_and_size = line.decode("ascii").split()
    if len(kind_and_size) != 2:
        raise InputError(f"the repository `{top}` lacks the object {blob}", hint="`git fsck` tells what is broken")
    return int(kind_and_size[1])


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


def _git(folder: Path, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[bytes]:
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


def _said(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {result.returncode}"
