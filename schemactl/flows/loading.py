"""Prepares a load before any data is read: its destination, its id, and the files that earlier loads have taken."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import DESTINATIONS, Destination, Loader, find_address, is_loader, name_limits
from schemactl.destinations._package import LoadedInput, PastLoads
from schemactl.errors import InputError, Location, did_you_mean
from schemactl.redaction import redact

if TYPE_CHECKING:
    from schemactl.engine.input import Input

FOLDER_KIND: Final = "parquet"
"""The destination that a folder without a scheme stands for."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a load.

    Attributes:
        url: the address, with its scheme.
        shown: the address for people, without a password.
    """

    destination: Loader
    url: str
    shown: str

    @property
    def max_identifier_length(self) -> int | None:
        """Longest name of a table or column there, None where there is no limit that matters."""
        return name_limits(self.destination, self.url).max_bytes


def find_target(text: str) -> Target:
    """Return the destination that an address names; what has no scheme is a folder of Parquet.

    Raises:
        InputError: there is no such destination, or nothing can be loaded into it.
    """
    module, url = find_destination(text)
    if not is_loader(module):
        kind = url.partition(":")[0]
        raise InputError(f"nothing can be loaded into `{kind}` yet", hint=f"known: {', '.join(_loading())}")
    # Before anything else: a password may hold a `?`.
    place, _, query = redact(url).partition("?")
    kept = [part for part in query.split("&") if part.startswith("dataset=")]
    return Target(module, url, "?".join([place, *kept[:1]]))


def find_destination(text: str) -> tuple[Destination, str]:
    """Return the destination that an address names, and the address with its scheme, as ``find_target`` reads it.

    Raises:
        InputError: there is no such destination.
    """
    kind, _, rest = text.partition(":")
    if not text.strip():
        raise InputError("`--to` names no destination", hint="a folder, `duckdb:///PATH` ...")
    if address := find_address(text):
        kind, text = address
    else:
        near = did_you_mean(kind, DESTINATIONS) if rest else None
        if rest.startswith("//") or (near and not Path(text).exists()):
            hint = near or f"known: {', '.join(_loading())}, or a folder"
            raise InputError(f"there is no destination `{kind}`", hint=hint)
        kind, text = FOLDER_KIND, f"{FOLDER_KIND}:{text}"
    return DESTINATIONS[kind], text


def _loading() -> list[str]:
    """Return the destinations that take rows, as far as their drivers are there."""
    return [kind for kind in DESTINATIONS if is_loader(DESTINATIONS[kind])]


def choose_load_id(stated: str | None) -> str:
    """Return the id of a load: the one stated, else dlt's, the seconds since 1970.

    Raises:
        InputError: it cannot be a part of a file's name, or is longer than dlt's column for it.
    """
    if stated is None:
        return str(time.time())
    if not _LOAD_ID.fullmatch(stated):
        hint = "at most 64 letters, digits, `.`, `_` and `-`, a letter or digit first"
        raise InputError(f"`{stated}` cannot be the id of a load", hint=hint)
    return stated


def remember(inputs: Iterable[Input]) -> tuple[LoadedInput, ...]:
    """Return the local files with size and time of change, for later loads to know them.

    Raises:
        InputError: one is not there any more.
    """
    return tuple(_remembered(each.path) for each in inputs if each.is_local)


def _remembered(path: str) -> LoadedInput:
    try:
        status = Path(path).stat()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"the file cannot be read: {reason.lower()}", at=Location(path)) from error
    modified = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1_000)
    return LoadedInput(str(Path.cwd() / path), status.st_size, modified)


def without_seen(
    inputs: Iterable[Input], files: Iterable[LoadedInput], past: PastLoads
) -> tuple[tuple[Input, ...], tuple[str, ...]]:
    """Return the inputs that were not loaded before as they are now, and the paths of the others.

    Raises:
        InputError: one is no file of this machine, so its changes cannot be seen.
    """
    now = {file.path: file for file in files}
    new: list[Input] = []
    seen: list[str] = []
    for each in inputs:
        if not each.is_local:
            hint = "name files or folders, or leave `--new-only` out"
            raise InputError(f"it is unknown whether `{each.path}` is new", hint=hint)
        path = str(Path.cwd() / each.path)
        if past.inputs.get(path) == now[path]:
            seen.append(each.path)
        else:
            new.append(each)
    return tuple(new), tuple(seen)
