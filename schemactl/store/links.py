"""Compares a path's location by its name with its location behind symbolic links.

A commit can contain a link to any file of the machine. So a link inside a repository is content, which may be a
stranger's: schemactl does not follow it out of the repository, neither to read nor to write, nor into ``.git``, which
holds credentials and hooks. Links above a repository belong to the machine (``/tmp`` of macOS, a home on another disk)
and are followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.errors import InputError

GIT_FOLDER: Final = ".git"
_MAX_FOLLOWED: Final = 40
"""Links that Linux follows for one path (path_resolution(7))."""


@dataclass(frozen=True, slots=True)
class RepositoryPath:
    """A path of a repository by its name, whatever lies there.

    Attributes:
        top: the top folder of the repository, without links.
        inside: the path from there, as git writes it; ``.`` for the top, None for a path that leaves the repository
            again behind a link (``link/../..``).
        link: the first link of the repository that the path goes through, or is; None for no link.
    """

    top: Path
    inside: str | None
    link: Path | None


def real_path(path: Path) -> Path:
    """Return a path with its links followed; a ring of links ends at its beginning."""
    return Path(os.path.realpath(path))  # `Path.resolve` ends with a RuntimeError there, up to Python 3.12


def repository_top(folder: Path) -> Path | None:
    """Return the nearest folder that holds ``.git``, from ``folder`` upward; None outside of repositories."""
    return _nearest(folder, _has_git_folder)


def path_in_repository(path: Path, top: Path | None = None) -> RepositoryPath | None:
    """Return the path in its repository, or in the one at ``top``; None for a path outside.

    The path need not exist. Links above the repository are followed, links inside are not.
    """
    is_top = _has_git_folder if top is None else _is_folder(top)
    anchor, *names = path.absolute().parts
    current, followed = Path(anchor), 0
    names.reverse()
    while names:
        name = names.pop()
        if name == os.pardir:
            current = current.parent
            continue
        if not os.path.islink(current / name):  # noqa: PTH114 - it is False for names that the system does not take
            current /= name
            continue
        if repository := _nearest(current, is_top):
            inside = Path(os.path.normpath(current.relative_to(repository).joinpath(name, *reversed(names))))
            leaves = inside.parts[:1] == (os.pardir,)
            return RepositoryPath(repository, None if leaves else inside.as_posix(), current / name)
        followed += 1
        if followed > _MAX_FOLLOWED:
            return None
        names += reversed((current / name).readlink().parts)
    repository = _nearest(current, is_top)
    return RepositoryPath(repository, current.relative_to(repository).as_posix(), None) if repository else None


def check_link(path: Path) -> RepositoryPath | None:
    """Return a path in its repository, None for a path outside, unless a link leads it out or into ``.git``."""
    repository_path = _by_name(path)
    if repository_path is not None and repository_path.link is not None:
        target, top = real_path(path), repository_path.top
        if not target.is_relative_to(top) or GIT_FOLDER in map(str.casefold, target.relative_to(top).parts):
            hint = f"name the file that it leads to, `{target}`"
            raise InputError(f"`{path}` is a link out of the repository `{top}`", hint=hint)
    return repository_path


def check_file(path: Path) -> None:
    """Refuse a path that a link leads out of its repository, and a pipe or a device among the files of one."""
    if check_link(path) is not None:
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError):
            return  # opening the file reports it
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"`{path}` is a pipe or a device, not a file", hint="save its content to a file")


def is_plain_file(path: Path, plain_folders: dict[Path, bool]) -> bool:
    """Return whether a path is a file to which no link of a repository leads, which ``check_file`` passes.

    ``plain_folders`` are the folders of earlier calls, to which a call adds: many files are in few folders.
    """
    folder = path.parent
    if folder not in plain_folders:
        repository_path = _by_name(folder)
        plain_folders[folder] = repository_path is None or repository_path.link is None
    try:
        return plain_folders[folder] and stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def refuse_links(path: Path) -> None:
    """Refuse a path that is a link of its repository, or lies behind one, wherever that leads.

    A review compares the content of one path at two revisions; a link would put another path in its place.
    """
    repository_path = check_link(path)
    if repository_path is not None and repository_path.link is not None:
        raise linked(os.path.relpath(repository_path.link))


def linked(link: str) -> InputError:
    """Return the error for a link at or above the files of a review; ``link`` is its path for messages."""
    hint = "replace it with the files themselves: a review does not follow links"
    return InputError(f"`{link}` is a symbolic link", hint=hint)


def _by_name(path: Path) -> RepositoryPath | None:
    """Return a path in the repository of the working folder, if it is inside, else in the nearest one."""
    working = repository_top(Path.cwd())
    return (working and path_in_repository(path, working)) or path_in_repository(path)


def _nearest(folder: Path, is_top: Callable[[Path], bool]) -> Path | None:
    return next((candidate for candidate in (folder, *folder.parents) if is_top(candidate)), None)


def _has_git_folder(folder: Path) -> bool:
    return os.path.exists(folder / GIT_FOLDER)  # noqa: PTH110 - it is False for names that the system does not take


def _is_folder(top: Path) -> Callable[[Path], bool]:
    """Return a test for one folder, whose name may be written in other cases."""

    def is_top(folder: Path) -> bool:
        try:
            return folder.samefile(top)
        except (OSError, ValueError):
            return False

    return is_top
