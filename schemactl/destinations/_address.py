"""Addresses of files, ``KIND:///PATH``, servers, ``KIND://USER@HOST/DATABASE``, and folders, ``KIND:FOLDER``.

Each may end with ``?dataset=NAME``.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from schemactl.errors import DestinationError, InputError
from schemactl.redaction import HIDDEN
from schemactl.store.links import check_link


@dataclass(frozen=True, slots=True)
class FileAddress:
    """The path of a file, and its dataset; None for the only one."""

    kind: str
    path: Path
    dataset: str | None

    @property
    def shown(self) -> str:
        """The address for messages, without the dataset."""
        return f"{self.kind}:///{self.path}"

    def __str__(self) -> str:
        return self.shown


def require_file(address: FileAddress) -> None:
    """Raise ``InputError`` if there is no such file."""
    if not address.path.is_file():
        absolute = Path("/") / address.path
        is_meant = not address.path.is_absolute() and absolute.is_file()
        hint = f"write an absolute path with four slashes: `{address.kind}:///{absolute}`" if is_meant else None
        raise InputError(f"there is no file `{address.path}`", hint=hint)


def parse_file_address(url: str) -> FileAddress:
    """Parse an address ``KIND:///PATH...`` of a file that need not exist yet; raises ``InputError``.

    As everywhere in Python, the path is relative after three slashes and absolute with a fourth.
    """
    kind, _, remainder = url.partition(":")
    location, _, query = remainder.partition("?")
    if not location.startswith("///") or not location.removeprefix("///"):
        raise InputError(f"`{url}` does not name a file", hint=f"{kind}:///PATH or {kind}:////ABSOLUTE/PATH")
    address = FileAddress(kind, Path(location.removeprefix("///")), dataset_of(query, kind))
    check_link(address.path)
    if address.path.is_dir():
        raise InputError(f"`{address.path}` is a folder, but `{kind}` needs a file")
    return address


def check_folder(address: FileAddress) -> None:
    """Raise ``DestinationError`` if a file cannot be created: its folder, or the nearest one, is not writable."""
    folder = next(parent for parent in address.path.absolute().parents if parent.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        raise DestinationError(
            f"cannot create `{address.path}`: `{folder}` is {'read-only' if folder.is_dir() else 'not a folder'}",
            hint=f"name another place: `{address.kind}:///PATH`",
        )


def dataset_of(query: str, kind: str) -> str | None:
    """Return NAME of ``dataset=NAME``, None for an empty query; raises ``InputError`` for other parameters."""
    pairs = parse_qsl(query, keep_blank_values=True)
    unknown = next((key for key, _ in pairs if key != "dataset"), None if pairs else query or None)
    if unknown is not None:
        raise InputError(f"`{unknown}` is not a parameter of `{kind}`", hint="`?dataset=NAME`")
    check_dataset(pairs)
    return pairs[-1][1] if pairs else None


def check_dataset(pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse ``?dataset=`` without a name: a variable that was not set in a script would choose another dataset."""
    if any(key == "dataset" and not value.strip() for key, value in pairs):
        raise InputError("`?dataset=` does not name a dataset", hint="write `?dataset=NAME`, or remove the parameter")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The URI of a server, parsed, and how it is shown: without the password, and without its other parameters.

    Attributes:
        parameters: ``host``, ``port``, ``user``, ``password``, ``dbname`` as far as given, and the parameters behind
            ``?``.
        dataset: of ``?dataset=NAME``; None without it.
        shown: the address for messages.
    """

    parameters: Mapping[str, str] = field(repr=False)
    dataset: str | None
    shown: str


def parse_server_address(url: str, engine: str) -> ServerAddress:
    """Parse the address of a server; raises ``InputError`` if it cannot be read."""
    scheme = url.partition(":")[0]
    problem = InputError(
        f"the address of the {engine} server cannot be read",
        hint=f"{scheme}://USER@HOST:PORT/DATABASE?dataset=NAME; escape special characters in a password as %XX",
    )
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
        port = parts.port
    except ValueError:
        raise problem from None
    user, _, host = parts.netloc.rpartition("@")
    # A password with an unescaped `@`, `/`, `#` would have its rest taken for a host, and shown.
    if "@" in user or "@" in parts.path or parts.fragment or not url.startswith(f"{parts.scheme}://"):
        raise problem
    check_dataset(options.items())
    dataset = options.pop("dataset", None)
    connection = {
        "host": parts.hostname,
        "port": str(port) if port else None,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "dbname": unquote(parts.path.removeprefix("/")) or None,
    }
    parameters = {**{key: value for key, value in connection.items() if value}, **options}
    user_at = f"{parts.username}@" if parts.username else ""
    return ServerAddress(parameters, dataset, f"{parts.scheme}://{user_at}{host}{parts.path}")


def without_password(message: str, address: ServerAddress) -> str:
    """Return a message without the password."""
    password = address.parameters.get("password")
    return message.replace(password, HIDDEN) if password else message


_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+://?.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FolderAddress:
    """A folder, and a dataset in it; None for the folder itself, or the only one."""

    folder: Path
    dataset: str | None


def folder_address(url: str) -> FolderAddress:
    """Parse an address; raises ``InputError``, also for object stores and for links that leave the repository."""
    kind, _, remainder = url.partition(":")
    location, _, query = remainder.partition("?")
    if not location.removeprefix("//"):
        raise InputError(f"`{url}` does not name a folder", hint=f"{kind}:FOLDER")
    if _SCHEME.fullmatch(location):
        hint = f"name a folder that this machine sees, or mount it: {kind}:FOLDER"
        raise InputError(f"`{location}` is not a folder on this machine: only folders are written and read", hint=hint)
    dataset = dataset_of(query, kind)
    if dataset is not None and (Path(dataset).name != dataset or dataset.startswith(".")):
        raise InputError(f"`{dataset}` cannot name a folder in `{location}`")
    address = FolderAddress(Path(location.removeprefix("//")), dataset)
    check_link(address.folder / (dataset or ""))
    return address


_PRIMARY = 0xFF
"""The bits of a result code that its extended forms share (https://www.sqlite.org/rescode.html)."""


def is_busy(error: BaseException) -> bool:
    """Return whether an error of SQLite, or of SQLAlchemy over it, means that another process holds the file.

    The result code tells: the text contains names of files and tables, which can be any words.
    """
    original = getattr(error, "orig", error)
    code = getattr(original, "sqlite_errorcode", 0) & _PRIMARY
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
