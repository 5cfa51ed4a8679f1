"""Keeps what Java learned of Spark in a file, so that later commands start faster (``--java-cache``).

From Java 25 on the file holds classes as they are after loading, and how they were used (JEP 483, 514, 515); before,
classes only. It starts no Java: `session` does, with the options that stand here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.engine.session.java import Java
from schemactl.errors import CommandWarning, InputError
from schemactl.store.own_folder import own_folder

UNUSED_DAYS: Final = 30
"""For how long a file stays that no command uses."""

_FIRST_AOT_VERSION: Final = 25
# Java's own variables, whose options it takes besides those of the command line.
_VARIABLES: Final = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_OF_THE_USER: Final = re.compile(
    r"-XX:(AOT|SharedArchiveFile|ArchiveClassesAtExit|[+-]AutoCreateSharedArchive)|-Xshare"
)
_NAME: Final = re.compile(r"java\d+-[0-9a-f]{16}\.(aot|jsa)")
# With a heap of this size Java's references get longer, and a file with shorter ones serves no more.
_LONG_REFERENCES_MB: Final = 32 * 1024


@dataclass(frozen=True, slots=True)
class JavaStart:
    """The key of a cached file: another Java, Spark or way to start them needs another file.

    Args:
        class_path: where it finds its classes, in order, without wildcards.
        options: what it is given on the command line.
        memory_mb: its largest heap, in MiB.
    """

    java: Java
    class_path: tuple[str, ...]
    options: tuple[str, ...]
    memory_mb: int


@dataclass(frozen=True, slots=True)
class JavaCache:
    """A file that Java keeps what it learned in, or will.

    Args:
        options: what Java needs to use it, or to make it.
        made_at: where Java makes it first, in a folder of its own; None where it is there already.
    """

    file: Path
    options: tuple[str, ...]
    made_at: Path | None = None

    def __str__(self) -> str:
        return f"Java's cache, {'used' if self.made_at is None else 'to be made'}: {self.file}"


@contextlib.contextmanager
def open_cache(
    folder: Path | None, start: JavaStart, environment: Mapping[str, str] | None = None
) -> Iterator[JavaCache | None]:
    """Hand out the file in a folder that fits, or what makes it; None where there shall or can be none.

    Files of ours that no command used for `UNUSED_DAYS` are removed.

    Args:
        folder: where the user wants it; None for nowhere.
        start: how Java is started.
        environment: where Java's own variables are looked up; the process's own by default.

    Raises:
        InputError: a file has to be made, and the folder cannot be made or written to.
    """
    options = (*start.options, *_stated_options(os.environ if environment is None else environment))
    if folder is None or any(map(_OF_THE_USER.match, options)) or not _is_possible(start):
        yield None
        return
    folder = folder.absolute()
    file = folder / cache_name(start, options)
    if file.is_file():
        with contextlib.suppress(OSError):  # another's, or on a disk that is read only
            os.utime(file)
        _remove_unused(folder)
        yield JavaCache(file, (f"{_option(start.java, 'use')}={file}",))
        return
    with contextlib.ExitStack() as made:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            made_at = made.enter_context(own_folder("java", folder)) / file.name
        except OSError as error:
            raise InputError(f"cannot write to `{folder}` (`--java-cache`): {error.strerror or error}") from error
        _remove_unused(folder)
        yield JavaCache(file, (f"{_option(start.java, 'make')}={made_at}",), made_at)


def keep_cache(cache: JavaCache, has_ended_well: bool) -> None:
    """Give the file that Java has made its name; warn where there is none, or not a whole one.

    ``has_ended_well``: whether Java ended by itself, and said that all is well.
    """
    assert cache.made_at is not None
    # What Java recorded on the way stays beside the file where it could not go on.
    is_whole = has_ended_well and [*cache.made_at.parent.iterdir()] == [cache.made_at]
    try:
        if is_whole:
            cache.made_at.replace(cache.file)
    except OSError as error:
        message = f"cannot keep `{cache.file}` (`--java-cache`): {error.strerror or error}"
        warnings.warn(CommandWarning(message), stacklevel=2)
    if not is_whole:
        message = f"Java made no cache in `{cache.file.parent}` (`--java-cache`): the next command tries again"
        warnings.warn(CommandWarning(message), stacklevel=2)


def cache_name(start: JavaStart, options: Iterable[str]) -> str:
    """Return the name of the file for this way to start Java, from all that Java looks at before it takes one.

    The options are all that it is given, by its own variables as well.
    """
    home = start.java.home
    seen = [
        str(home),
        _read(home / "release"),
        *map(_state, (str(home / "lib" / "modules"), *start.class_path)),
        # Others do not change which classes there are; some name a command's own folder.
        *sorted({option for option in options if option.startswith(("-XX:", "--"))}),
        str(start.memory_mb < _LONG_REFERENCES_MB),
    ]
    digest = hashlib.sha256("\0".join(seen).encode(errors="surrogateescape")).hexdigest()[:16]
    return f"java{start.java.version}-{digest}.{'aot' if _is_aot(start.java) else 'jsa'}"


def _is_possible(start: JavaStart) -> bool:
    """Return whether Java takes a file at all; warn where it does not: it would be made for nothing each time."""
    for place in start.class_path if _is_aot(start.java) else ():
        with contextlib.suppress(OSError):  # a jar, or nothing
            if any(Path(place).iterdir()):
                why = f"Java {start.java.version} keeps nothing where its class path names a folder: `{place}`"
                warnings.warn(CommandWarning(f"`--java-cache` has no effect: {why}"), stacklevel=2)
                return False
    return True


def _option(java: Java, deed: str) -> str:
    ahead = {"use": "-XX:AOTCache", "make": "-XX:AOTCacheOutput"}
    sharing = {"use": "-XX:SharedArchiveFile", "make": "-XX:ArchiveClassesAtExit"}
    return (ahead if _is_aot(java) else sharing)[deed]


def _is_aot(java: Java) -> bool:
    return java.version >= _FIRST_AOT_VERSION


def _stated_options(environment: Mapping[str, str]) -> Iterator[str]:
    for name in _VARIABLES:
        try:
            yield from shlex.split(environment.get(name, ""))
        except ValueError:  # a quote that never closes: Java's to report
            yield environment[name]


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if _NAME.fullmatch(path.name):
                with contextlib.suppress(OSError):
                    if path.lstat().st_mtime < oldest:
                        path.unlink()


def _state(place: str) -> str:
    """Return a file's name, size and time in seconds, as Java compares them."""
    try:
        found = Path(place).stat()
    except OSError:
        return place
    return place if Path(place).is_dir() else f"{place} {found.st_size} {int(found.st_mtime)}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
