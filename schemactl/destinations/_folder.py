"""Reads and removes files in the folder of a destination, never through a link.

Otherwise a writer to a shared folder could have the next load read, write or delete files anywhere. The folder itself
may be a link, as the user has named it. Changes while a command runs are not defended against.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from schemactl.errors import DestinationError
from schemactl.store.text import MAX_BYTES

_JUNCTION: Final = 0xA0000003
"""Windows's ``IO_REPARSE_TAG_MOUNT_POINT``."""

_HINT: Final = "replace the link by its target, or use the target as destination"


def is_link(path: Path) -> bool:
    """Return whether a path is a symbolic link, or a junction of Windows; False for a missing path."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_junction = getattr(status, "st_reparse_tag", 0) == _JUNCTION  # an attribute of Windows only
    return is_junction or stat.S_ISLNK(status.st_mode)


def refuse_links(folder: Path, path: Path) -> None:
    """Raise ``DestinationError`` if ``path``, or a folder between it and ``folder``, is a link."""
    below = folder
    for name in path.relative_to(folder).parts:
        below = below / name
        if is_link(below):
            raise link_error(below)


def link_error(path: Path) -> DestinationError:
    """Return the error for a link in a destination."""
    return DestinationError(f"`{path}` is a link, which schemactl does not follow", hint=_HINT)


def is_plain_name(name: object) -> bool:
    r"""Return whether a value is the name of a file that is not hidden: no path, no drive, no NUL.

    >>> [is_plain_name(name) for name in ("orders", "../orders", "/orders", ".", ".ssh", "a\0b", 1)]
    [True, False, False, False, False, False, False]
    """
    return isinstance(name, str) and name[:1] not in ("", ".") and "\0" not in name and Path(name).name == name


def read_text(folder: Path, path: Path) -> str | None:
    """Return the text of a file in a destination's folder, up to ``MAX_BYTES``; None if it does not exist."""
    try:
        with _opened(folder, path) as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > MAX_BYTES:
        raise DestinationError(f"`{path}` is longer than {MAX_BYTES // 1024**2} MiB")
    return _decode(content, path)


def read_lines(folder: Path, path: Path) -> Iterator[str]:
    """Yield the lines of a file in a destination's folder, however many; raises as ``read_text`` for each line."""
    with suppress(FileNotFoundError), _opened(folder, path) as stream:
        while line := stream.readline(MAX_BYTES + 1):
            if len(line) > MAX_BYTES:
                raise DestinationError(f"a line of `{path}` is longer than {MAX_BYTES // 1024**2} MiB")
            yield _decode(line, path)


@contextmanager
def _opened(folder: Path, path: Path) -> Iterator[IO[bytes]]:
    refuse_links(folder, path)
    try:
        # A pipe is not waited for.
        flags = os.O_RDONLY if sys.platform == "win32" else os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise DestinationError(f"`{path}` is not a regular file")
            yield stream
    except NotADirectoryError as error:
        raise FileNotFoundError from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DestinationError(f"cannot read `{path}`: {error.strerror or error}") from error


def _decode(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DestinationError(f"cannot read `{path}`: it is not UTF-8") from error


def remove_folder(folder: Path, path: Path) -> None:
    """Remove a folder with its content, if it exists; links in it are not followed. ``OSError`` if that fails."""
    refuse_links(folder, path)
    if path.exists():
        shutil.rmtree(path)
