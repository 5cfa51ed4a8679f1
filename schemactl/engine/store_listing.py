"""Lists the objects that an address of an object store names: one object, a folder, or a pattern as Spark reads it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError, Location
from schemactl.kernel.stores import open_store, split_address
from schemactl.redaction import redact, redact_text

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_MAGIC: Final = re.compile(r"[*?\[{]")
_TOKEN: Final = re.compile(r"\*\*|\*|\?|\[[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


_FOLDERS_AT_ONCE: Final = 8
"""The number of folders to list at the same time: each takes a request, plus a request per thousand objects."""


class StoreError(InputError):
    """An object store cannot be listed."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a store: its address as shown to people, and with the options and secrets of the call.

    Attributes:
        modified: the time of the last change, in UTC; None if the store does not say.
    """

    path: str
    address: str
    size: int
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects that a source names, in any order."""

    objects: tuple[StoredObject, ...]
    is_folder: bool = False
    is_pattern: bool = False


def list_objects(source: str, is_wanted: Callable[[StoredObject], bool] | None = None) -> Listing:
    """Return the objects that an address or a pattern names (``kernel.stores.is_store``).

    Objects whose names, or whose folders' names, begin with ``.`` or ``_`` are left out, as Spark leaves them out.
    Objects that ``is_wanted`` rejects are not kept in memory.
    """
    root, key, query = split_address(source)
    visible_address = redact(f"{root}{key}")
    is_pattern = _MAGIC.search(key) is not None
    is_empty = is_one = True
    objects: list[StoredObject] = []
    try:
        _, base = open_store(source)
        prefix = len(base) - len(key)  # of the bucket or container, which is not in the key
        for info in _matching(source) if is_pattern else _named(source):
            path = info.path[prefix:]
            stored = StoredObject(redact(f"{root}{path}"), f"{root}{path}{query}", info.size, info.mtime)
            is_one = is_empty and info.path == base
            is_empty = False
            if is_wanted is None or is_wanted(stored):
                objects.append(stored)
    except (OSError, ValueError) as error:
        reason = redact_text(str(error)).splitlines()[0]
        hint = "set credentials in the environment, such as `AWS_PROFILE` or `AWS_ACCESS_KEY_ID`"
        location = Location(visible_address)
        raise StoreError(f"the object store cannot be listed: {reason}", at=location, hint=hint) from error
    if is_empty and is_pattern:
        raise InputError(f"no file matches `{visible_address}`")
    if is_empty:
        raise InputError(f"there is no `{visible_address}`, or it contains no files")
    return Listing(tuple(objects), is_folder=not (is_pattern or is_one), is_pattern=is_pattern)


def _named(source: str) -> Iterator[FileInfo]:
    """Yield an object, or the objects below a folder."""
    from pyarrow.fs import FileType

    filesystem, path = open_store(source)
    info = filesystem.get_file_info(path.rstrip("/"))
    if info.type is FileType.File:
        yield info
    elif info.type is FileType.Directory:
        yield from _files_below(source, path.rstrip("/"))


def _files_below(source: str, folder: str) -> Iterator[FileInfo]:
    """Yield the objects below a folder, several folders at a time, so that no more than theirs are in memory."""
    filesystem, _ = open_store(source)
    folders, listings = deque([folder]), deque[Future[_Folder]]()
    with ThreadPoolExecutor(_FOLDERS_AT_ONCE) as pool:
        while folders or listings:
            while folders and len(listings) < _FOLDERS_AT_ONCE:
                listings.append(pool.submit(_list_folder, filesystem, folders.popleft()))
            listing = listings.popleft().result()
            folders.extendleft(reversed(listing.folders))
            yield from listing.files


@dataclass(frozen=True, slots=True)
class _Folder:
    """The visible objects and folders in a folder."""

    files: list[FileInfo]
    folders: list[str]


def _list_folder(filesystem: FileSystem, folder: str) -> _Folder:
    from pyarrow.fs import FileSelector, FileType

    visible = [
        info
        for info in filesystem.get_file_info(FileSelector(folder))
        if not any(name.startswith((".", "_")) for name in info.path[len(folder) :].strip("/").split("/"))
    ]
    files = sorted((info for info in visible if info.type is FileType.File), key=lambda info: str(info.path))
    return _Folder(files, sorted(info.path for info in visible if info.type is FileType.Directory))


def _matching(source: str) -> Iterator[FileInfo]:
    """Yield objects that match a pattern, or are below a folder that does."""
    _, path = open_store(source)
    folder = _MAGIC.split(path, maxsplit=1)[0].rpartition("/")[0]
    matches = re.compile(f"{pattern_regex(path.rstrip('/'))}(/.*)?", re.DOTALL)
    for info in _files_below(source, folder):
        if matches.fullmatch(info.path):
            yield info


def pattern_regex(pattern: str) -> str:
    r"""Return the regular expression of a pattern: ``*`` and ``?`` stop at ``/``, ``**`` does not, ``{a,b}`` is either.

    >>> pattern_regex("day=*/{a,b}?.json")
    'day=[^/]*/(?:a|b)[^/]\\.json'
    """
    regex = ""
    for token in _TOKEN.findall(pattern):
        match token[0]:
            case "*":
                regex += ".*" if token == "**" else "[^/]*"
            case "?":
                regex += "[^/]"
            case "[" if len(token) > 1:
                members = token[1:-1].replace("\\", "\\\\")
                regex += f"[^{members[1:]}]" if members[0] in "!^" else f"[{members}]"
            case "{" if len(token) > 1:
                regex += f"(?:{'|'.join(map(pattern_regex, token[1:-1].split(',')))})"
            case _:
                regex += re.escape(token)
    return regex
