"""What the SOURCE arguments of a command say by themselves, before anything is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from schemactl.errors import CommandWarning
from schemactl.redaction import redact

TABLE_PREFIX: Final = "table:"


class LeftOutWarning(CommandWarning):
    """Something that a source holds, or a schema states, is not read or not taken as it stands; a person should know.

    Attributes:
        files: the files that it is about; empty where it is about no file of its own.
    """

    def __init__(self, message: str, files: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.files = tuple(files)


def is_local(path: str) -> bool:
    """Return whether a path is one of this machine's files."""
    return "://" not in path and not path.startswith(TABLE_PREFIX)


def table_name(sources: Sequence[str], default: str) -> str:
    """Return the name that data from the sources goes by: the file's, folder's or table's, else ``default``."""
    if len(sources) != 1:
        return default
    source = redact(sources[0]).rstrip("/")
    if source.startswith(TABLE_PREFIX):
        return source.removeprefix(TABLE_PREFIX).rpartition(".")[2]
    name = source.rpartition("/")[2].partition(".")[0]
    return re.sub(r"[*?\[\]]+", "", name).strip("-_ ") or default
