"""Reads the files that a glob pattern matches, from disk or from a git revision.

The paths are the same on both sides, so that a file of a revision can be compared with the file on disk.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final, Protocol

from schemactl.errors import InputError
from schemactl.store.git import LINK_MODE, contents_of, sizes_of
from schemactl.store.links import is_plain_file, path_in_repository
from schemactl.store.revision import list_files
from schemactl.store.text import MAX_BYTES, decode, read_text, too_long

MAX_FILES: Final = 20_000

_WILDCARDS: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file that a pattern matches.

    Attributes:
        path: absolute if the pattern is absolute, else relative to the working folder.
        text: its content; empty for a file that cannot be read.
        fault: why it cannot be read; None for a file that can.
    """

    path: Path
    text: str
    fault: str | None = None


class FileTree(Protocol):
    """The files of a folder and below, in one state."""

    @property
    def is_on_disk(self) -> bool:
        """Whether they are the files on disk, which include built files."""
        ...

    @property
    def is_base(self) -> bool:
        """Whether a built file comes from another state of the other files: it was built before the change."""
        ...

    def find(self, pattern: str, ending: str) -> Iterator[TreeFile]:
        """Yield the files that a pattern matches (``*``, ``**``, ``?``, ``[…]``), sorted by path.

        A folder means all files below it whose names end with ``ending``. Names that start with a dot are matched only
        by a pattern that has the dot.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkingFiles:
    """The files on disk."""

    is_on_disk: ClassVar[bool] = True
    is_base: bool = False

    def find(self, pattern: str, ending: str) -> Iterator[TreeFile]:
        """Yield the files on disk, as ``FileTree.find`` does."""
        pattern = f"{pattern}/**/*{ending}" if Path(pattern).is_dir() else pattern
        names = sorted(glob.glob(os.path.normpath(pattern), recursive=True))  # noqa: PTH207 - takes no absolute pattern
        folders: dict[Path, bool] = {}
        plain_paths = {path: is_plain_file(path, folders) for path in map(Path, names)}
        paths = [path for path, is_plain in plain_paths.items() if is_plain or path.is_file()]
        _check_count(pattern, paths)
        for path in paths:
            try:
                text, fault = read_text(path, is_plain=plain_paths[path]), None
            except InputError as error:
                text, fault = "", error.message
            yield TreeFile(path, text, fault)


@dataclass(frozen=True, slots=True)
class RevisionFiles:
    """The files of a git revision; files outside of the working folder's repository are read from disk."""

    revision: str
    top: Path
    is_on_disk: ClassVar[bool] = False
    is_base: ClassVar[bool] = False

    def find(self, pattern: str, ending: str) -> Iterator[TreeFile]:
        """Yield the files of the revision, as ``FileTree.find`` does."""
        pattern = os.path.normpath(pattern)
        folder = _folder_of(pattern)
        location = path_in_repository(folder, self.top)
        if location is None or location.inside is None:
            yield from WorkingFiles().find(pattern, ending)
            return
        names = PurePosixPath(location.inside, Path(pattern).relative_to(folder).as_posix()).parts
        patterns = [names, (*names, "**", f"*{ending}")] if folder == Path(pattern) else [names]
        matches = {
            entry.path: entry
            for entry in list_files(self.revision, self.top, location.inside)
            if any(matches_names(PurePosixPath(entry.path).parts, names, hides_dots=True) for names in patterns)
        }
        _check_count(pattern, matches)
        blobs = [entry.object for entry in matches.values() if entry.mode != LINK_MODE]
        blobs = [blob for blob, size in zip(blobs, sizes_of(self.top, blobs), strict=True) if size <= MAX_BYTES]
        contents = dict(zip(blobs, contents_of(self.top, blobs), strict=True))
        for path, entry in sorted(matches.items()):
            shown_path = folder / PurePosixPath(path).relative_to(location.inside)
            content = contents.get(entry.object)
            fault = "a symbolic link" if entry.mode == LINK_MODE else None
            if content is None:
                yield TreeFile(shown_path, "", fault or too_long(str(shown_path), MAX_BYTES).message)
                continue
            try:
                text = decode(content, str(shown_path))
            except InputError as error:
                text, fault = "", error.message
            yield TreeFile(shown_path, text, fault)


def _check_count(pattern: str, paths: Sized) -> None:
    if len(paths) > MAX_FILES:
        raise InputError(f"`{pattern}` matches {len(paths):,} files, more than {MAX_FILES:,}")


def _folder_of(pattern: str) -> Path:
    """Return the folder, or the file, at which the wildcards of a pattern begin."""
    names = Path(pattern).parts
    fixed = next((index for index, name in enumerate(names) if _WILDCARDS.intersection(name)), len(names))
    return Path(*names[:fixed])


def matches_names(path: Sequence[str], pattern: Sequence[str], *, hides_dots: bool = False) -> bool:
    """Return whether the names of a path match a pattern's names, in which ``**`` matches any number of folders.

    With ``hides_dots``, only a name with a dot at its start matches such a name.
    """
    # The positions in the pattern that the names so far can have reached: linear, whatever the pattern.
    positions = _skipping({0}, pattern)
    for name in path:
        reached = set()
        for position in positions:
            if position == len(pattern):
                continue
            expected = pattern[position]
            if hides_dots and name.startswith(".") and not expected.startswith("."):
                continue
            if expected == "**":
                reached.add(position)
            elif fnmatchcase(name, expected):
                reached.add(position + 1)
        positions = _skipping(reached, pattern)
    return len(pattern) in positions


def _skipping(positions: set[int], pattern: Sequence[str]) -> set[int]:
    """Add the positions after each ``**``, which may match no folder at all."""
    reached = set(positions)
    for position in range(len(pattern)):
        if position in reached and pattern[position] == "**":
            reached.add(position + 1)
    return reached
