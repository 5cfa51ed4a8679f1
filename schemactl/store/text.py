"""Read texts from files and streams (UTF-8, of a bounded size, line ends kept), and replace text files in one step."""

from __future__ import annotations

import os
import stat
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from schemactl.errors import InputError, Location, did_you_mean
from schemactl.store.links import check_file, check_link

STDIN = "-"
"""Names standard input instead of a file."""
STDIN_PATH = "<stdin>"
"""Names it in messages."""

MAX_BYTES = 64 * 1024 * 1024
"""The longest text that is read; the largest schema files known are a few MB."""


def read_text(path: Path, max_bytes: int = MAX_BYTES, *, is_plain: bool = False) -> str:
    """Return the text of a file; ``is_plain``: whether ``is_plain_file`` has checked it.

    Raises:
        InputError: there is no such file, a link leads out of its repository, it cannot be read, is not UTF-8, or is
            longer than ``max_bytes``.
    """
    if not is_plain:
        check_file(path)
    try:
        # A pipe or a device has no size: reading one byte too many tells whether the limit is exceeded.
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise InputError(f"there is no file `{path}`", hint=nearest_file(path)) from error
    except IsADirectoryError as error:
        raise InputError(f"`{path}` is a folder, not a file") from error
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {error.strerror or error}") from error
    return decode(content, str(path), max_bytes)


def read_stdin() -> str:
    """Return the text of standard input; raises InputError as ``read_text`` does."""
    return decode(sys.stdin.buffer.read(MAX_BYTES + 1), STDIN_PATH)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, mapped into memory: a footer is read without the rows before it."""
    import mmap

    check_file(path)
    try:
        with path.open("rb") as stream:
            # An empty file cannot be mapped.
            return cast("bytes", mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)) if path.stat().st_size else b""
    except FileNotFoundError as error:
        raise InputError(f"there is no file `{path}`", hint=nearest_file(path)) from error
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {error.strerror or error}") from error


def nearest_file(path: Path) -> str | None:
    """Return a hint that names the file next to ``path`` with the most similar name, if one is similar enough."""
    try:
        names = [sibling.name for sibling in path.parent.iterdir() if sibling.name != path.name]
        return did_you_mean(path.name, names, lambda name: str(path.with_name(name)))
    except OSError:
        return None


def decode(content: bytes, path: str, max_bytes: int = MAX_BYTES) -> str:
    """Return ``content`` as text; ``path`` names it in errors."""
    is_duckdb = content[8:12] == b"DUCK" and b"\0" in content[12:20]
    if is_duckdb or content.startswith(b"SQLite format 3\0"):
        name, scheme = ("DuckDB", "duckdb") if is_duckdb else ("SQLite", "sqlite")
        hint = f"name it by its address: `{scheme}:///{path}`" if Path(path).is_file() else None
        raise InputError(f"`{path}` is a {name} database, not a text file", hint=hint)
    if len(content) > max_bytes:
        raise too_long(path, max_bytes)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        preceding_bytes = content[: error.start]
        column = len(preceding_bytes.rpartition(b"\n")[2].decode("utf-8")) + 1
        location = Location(path, preceding_bytes.count(b"\n") + 1, column)
        is_utf_16 = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        hint = "it is UTF-16: save it as UTF-8" if is_utf_16 else "save the file as UTF-8 text"
        raise InputError("the file is not UTF-8", at=location, hint=hint) from error


def too_long(path: str, max_bytes: int) -> InputError:
    """Return the error for a text of more than ``max_bytes``."""
    hint = "is it a schema file? the largest have a few MiB" if max_bytes == MAX_BYTES else None
    return InputError(f"`{path}` is longer than {max_bytes // 1024**2} MiB", hint=hint)


_PREFIX = ".schemactl-"
_SUFFIX = ".tmp"


NEW_FILE_MODE: Final = 0o666
"""The mode of a new file, less the umask."""
PRIVATE_MODE: Final = 0o600
"""The mode of a new file that contains values of rows or columns, which only the user may read."""


def replace_file(path: Path, content: str | bytes, mode: int = NEW_FILE_MODE) -> None:
    """Write ``content``, texts as UTF-8, to ``path``, and replace an existing file; missing folders are created.

    The content goes to a temporary file in the same folder, is forced to disk, and replaces the file in one step. A
    symbolic link stays and its target is replaced; mode and, if allowed, owner stay, a new file gets ``mode``. A device
    or a pipe outside of a repository is written to, and is not replaced.
    """
    check_file(path)
    written = content.encode("utf-8") if isinstance(content, str) else content
    try:
        # The calls below refuse a link that points to itself, with the system's message.
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        previous = _status(target)
        if previous is not None and not os.access(target, os.W_OK):
            # A rename needs no right on the file itself; the protection is the user's wish all the same.
            raise InputError(f"`{path}` is write-protected", hint=f"chmod u+w {path}")
        if previous is not None and not stat.S_ISREG(previous.st_mode):
            target.write_bytes(written)
        else:
            _write_and_rename(target, written, previous, mode)
    except OSError as error:
        raise InputError(f"cannot write `{path}`: {error.strerror or error}") from error


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of commands that were killed; call it only while no other command can write."""
    check_link(folder)
    for leftover in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            leftover.unlink()


def _status(path: Path) -> os.stat_result | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"`{path}` is a folder, not a file")
    return status


def _write_and_rename(target: Path, content: bytes, previous: os.stat_result | None, mode: int) -> None:
    temporary = target.with_name(f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}")
    # A file that is replaced hands its own mode on.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if previous is not None:
                status = temporary.stat()
                if (status.st_uid, status.st_gid) != (previous.st_uid, previous.st_gid):
                    with suppress(OSError):
                        os.chown(temporary, previous.st_uid, previous.st_gid)
                temporary.chmod(stat.S_IMODE(previous.st_mode))
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    # Without it a power cut may undo the rename; not every file system can do it.
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
