"""The committed versions of a file in a git repository, its renames followed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store import git
from schemactl.store.text import decode

MAX_VERSIONS = 1000
"""The most commits of a file's history that are read, from the newest back."""

MAX_HISTORY_BYTES = 256 * 1024 * 1024
"""The most bytes that all versions of a file may use in memory; older versions are left out."""

_HEADER = re.compile(r"\n?(?P<commit>[0-9a-f]{40,64}) (?P<date>\S+)")


@dataclass(frozen=True, slots=True)
class RevisionFile:
    """A file as a commit left it: its path from the top of the repository; the date has its time zone."""

    commit: str
    date: datetime
    path: str
    content: bytes

    @property
    def name(self) -> str:
        """The name in messages, ``REVISION:PATH`` with a short hash."""
        return f"{self.commit[:10]}:{self.path}"

    @property
    def text(self) -> str:
        """The content as text."""
        return decode(self.content, self.name)


@dataclass(frozen=True, slots=True)
class _Change:
    """A line of ``git log --raw``: the change of a file in a commit."""

    commit: str
    date: datetime
    path: str
    mode: str
    blob: str


def versions_of(path: Path, *, is_on_all_branches: bool = False) -> tuple[RevisionFile, ...]:
    """Return the versions of a file in the history of ``HEAD``, or of all branches, newest first, renames followed.

    A content that the file had several times is returned once, with the last commit that introduced it. A merge counts
    if its content is in no parent. A handful of git processes, however long the history; at most ``MAX_VERSIONS``
    commits, and as many versions as fit ``MAX_HISTORY_BYTES``. The path need not exist any more.

    Raises:
        InputError: git is absent, the path is in no repository, the file was never committed, or the clone is shallow,
            and its history is cut off.
    """
    top = git.find_repository(path)
    inside = git.path_inside(top, path)
    if git.is_shallow(top):
        raise InputError(f"the history of `{inside}` is cut off", hint=git.UNSHALLOW)
    changes: dict[str, _Change] = {}
    starts = (git.commit_of(top, "HEAD"), *(("--all",) if is_on_all_branches else ()))
    for change in _changes(top, starts, inside):
        if change.mode != git.LINK_MODE and set(change.blob) != {"0"}:
            changes.setdefault(change.blob, change)
    if not changes:
        raise InputError(f"there is no version of `{inside}` in the history of `{top}`", hint="was it ever committed?")
    # Of the contents there may be fewer, where they take too much memory.
    blobs = list(changes)
    fitting = sum(total <= MAX_HISTORY_BYTES for total in accumulate(git.sizes_of(top, blobs)))
    pairs = zip(changes.values(), git.contents_of(top, blobs[:fitting]), strict=False)
    return tuple(RevisionFile(change.commit, change.date, change.path, content) for change, content in pairs)


def _changes(top: Path, starts: tuple[str, ...], inside: str) -> Iterator[_Change]:
    """Yield the changes of a file in commits, newest first; merges too if they differ from their parents."""
    output = git.checked_output(
        f"git cannot read the history of `{inside}`",
        *(top, "-c", "log.showRoot=true", "--literal-pathspecs", "log", "--follow", f"--max-count={MAX_VERSIONS}"),
        *("-c", "--raw", "-z", "--no-abbrev", "--no-color", "--no-show-signature", "--format=tformat:%H %cI"),
        *(*starts, "--", inside),
    )
    tokens = iter(os.fsdecode(output).split("\0"))
    commit, date = "", datetime.min
    for token in tokens:
        if header := _HEADER.fullmatch(token):
            commit, date = header["commit"], datetime.fromisoformat(header["date"])
        elif (raw := token.lstrip("\n")).startswith(":"):
            # A colon, mode and blob for each parent. Then follows the mode of the file, and after all blobs the blob of
            # the file.
            parents = len(raw) - len(raw.lstrip(":"))
            fields = raw.lstrip(":").split()
            path = next(tokens)
            if fields[-1][0] in "RC" and parents == 1:
                path = next(tokens)
            yield _Change(commit, date, path, fields[parents], fields[2 * parents + 1])
            if fields[-1][0] == "C":  # earlier lines are the history of the copied file
                return
