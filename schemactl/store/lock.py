"""Lets one command at a time write to a folder: of schemas, or of tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.links import check_file
from schemactl.store.text import replace_file

LOCK_NAME = ".schemactl.lock"
WAIT_SECONDS = 5.0


@contextmanager
def locked(folder: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the folder's lock; the same thread can acquire it again inside.

    The operating system frees the lock of a killed process, so the lock file can stay.
    """
    with _holding(folder / LOCK_NAME, folder, wait_seconds):
        yield


def is_lock_free(folder: Path) -> bool:
    """Return whether no other process holds the folder's lock, and this process may acquire it."""
    from filelock import FileLock, Timeout

    path = folder / LOCK_NAME
    if not path.exists():
        return True
    try:
        check_file(path)
        with FileLock(path, is_singleton=True).acquire(timeout=0):
            return True
    except (Timeout, OSError, InputError):
        return False


@contextmanager
def locked_schemas(folder: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of a schemas folder: its file is in a folder that git ignores by itself."""
    lock_folder = folder / ".schemactl"
    ignore_file = lock_folder / ".gitignore"
    with _holding(lock_folder / "lock", folder, wait_seconds):
        if not ignore_file.exists():
            with suppress(InputError):  # without it the lock file shows up in git, but nothing else changes
                replace_file(ignore_file, "*\n")
        yield


@contextmanager
def _holding(path: Path, folder: Path, wait_seconds: float) -> Iterator[None]:
    from filelock import FileLock, Timeout

    check_file(path)
    # Even a link within the repository cannot be a lock: its target would lose its content.
    if path.is_symlink() or (path.parent != folder and path.parent.is_symlink()):
        raise InputError(f"cannot lock `{folder}`: `{path}` is a link, or below a link", hint="remove it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, is_singleton=True)
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        holder = "another process"
        with suppress(OSError, ValueError):
            holder = f"process {int(path.read_text(encoding='ascii'))}"
        hint = "run the command again after the other one has ended"
        raise InputError(f"`{folder}` is in use by {holder}", hint=hint) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"`{folder}` cannot be a folder: it or a parent is a file") from error
    except OSError as error:
        raise InputError(f"cannot lock `{folder}`: {error.strerror or error}") from error
    try:
        # If locks are mandatory (Windows), the holder stays unnamed.
        with suppress(OSError), path.open("r+b") as file:
            if not file.read(32).strip(b"0123456789"):  # else it is another file under a second name
                file.seek(0)
                file.truncate()
                file.write(str(os.getpid()).encode("ascii"))
        yield
    finally:
        lock.release()
