"""Prepares a load before any data is read: its id, and the files that earlier loads have taken."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.errors import InputError, Location
from schemactl.normalization.package import LoadedInput, PastLoads

if TYPE_CHECKING:
    from schemactl.engine.input import Input

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
