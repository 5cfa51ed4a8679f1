"""Private folders of this user's processes: one for the time of a command, and one that all processes share.

If a command is killed, the next one removes its folder. Next to each folder is a file with a lock, which the operating
system frees when the last process that holds it ends.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from schemactl.errors import EngineError, InputError

PREFIX: Final = "schemactl-"

_held: Final[set[int]] = set()


@contextmanager
def temporary_folder(kind: str, parent: Path | None = None, log: str | None = None) -> Iterator[Path]:
    """Yield a new folder, which is removed at the end; before, remove the folders of killed commands.

    Its name begins with ``schemactl-KIND-``; by default it is in the system's temporary folder. A file in it of the
    name ``log`` stays if the block ends with an `EngineError`.

    Raises:
        OSError: it cannot be made.
    """
    parent = (parent or Path(tempfile.gettempdir())).absolute()
    remove_left(parent)
    folder = parent / f"{PREFIX}{kind}-{_machine()}-{os.urandom(8).hex()}"
    # The lock comes first: otherwise a kill could leave a folder without a lock, which no command removes.
    with _locked(_lock_file(folder)):
        log_name = None
        try:
            folder.mkdir(mode=0o700)
            yield folder
        except EngineError:
            log_name = log
            raise
        finally:
            _empty(folder, log_name)
            if log_name or not folder.exists():
                _lock_file(folder).unlink(missing_ok=True)


def remove_left(above: Path) -> None:
    """Remove the folders in ``above`` whose commands have ended without removing them.

    Folders of other users and machines stay (a network file system may hide the locks of other machines), and so do
    folders that a process holds, and links.
    """
    for lock_file in above.glob(f".{PREFIX}*-{_machine()}-*.lock"):
        if not _is_own(lock_file, stat.S_IFREG):
            continue
        from filelock import FileLock

        lock = FileLock(lock_file, fallback_to_soft=False)
        try:
            lock.acquire(timeout=0)
        except OSError:  # in use (`Timeout`), or on a file system without locks
            continue
        folder = lock_file.with_name(lock_file.name.removeprefix(".").removesuffix(".lock"))
        try:
            if _is_own(folder, stat.S_IFDIR):
                shutil.rmtree(folder, ignore_errors=True)
            if not os.path.lexists(folder):
                with suppress(PermissionError):  # Windows: releasing the lock removes its file
                    lock_file.unlink(missing_ok=True)
        finally:
            lock.release()


def held_descriptors() -> tuple[int, ...]:
    """Return the descriptors of the locks that this process holds, for a process that works in the folders as well.

    A process that has inherited them holds the locks until it ends, even if this one is killed.
    """
    return tuple(_held)


def _empty(folder: Path, log_name: str | None) -> None:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != log_name:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, if the file system has locks; without them the folders of killed commands stay."""
    from filelock import FileLock

    descriptors: list[int] = []
    lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False, on_acquired=descriptors.append)
    try:
        lock.acquire(timeout=1.0)
    except OSError:
        with suppress(OSError):
            path.unlink()
    _held.update(descriptors)
    try:
        yield
    finally:
        _held.difference_update(descriptors)
        lock.release()


def _is_own(path: Path, kind: int) -> bool:
    """Return whether a path is itself of this kind, not a link to one, and this user's."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_IFMT(status.st_mode) == kind and (sys.platform == "win32" or status.st_uid == os.geteuid())


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _machine() -> str:
    """Return eight digits that distinguish this machine from other machines that share a folder with it."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def private_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder, and create it if necessary: below ``XDG_RUNTIME_DIR``, else below the temporary folder."""
    environment = os.environ if environment is None else environment
    runtime_folder = environment.get("XDG_RUNTIME_DIR", "")
    user = environment.get("USERNAME", "user") if sys.platform == "win32" else os.getuid()
    has_runtime = Path(runtime_folder).is_absolute() and Path(runtime_folder).is_dir()
    folder = Path(runtime_folder, "schemactl") if has_runtime else Path(tempfile.gettempdir(), f"schemactl-{user}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise InputError(f"cannot use the folder `{folder}`: {error.strerror or error}") from error
    is_own = sys.platform == "win32" or status.st_uid == os.getuid()
    # Another user could have made it, or can look into it.
    if not (stat.S_ISDIR(status.st_mode) and is_own and (os.name == "nt" or not status.st_mode & 0o077)):
        hint = "remove it, or name a folder of mode 0700 in `XDG_RUNTIME_DIR`"
        raise InputError(f"`{folder}` is not private to this user", hint=hint)
    return folder
