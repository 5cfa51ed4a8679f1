"""Reads the SOURCE arguments of a command before any data: names, and a schema file next to the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from schemactl.errors import CommandWarning, InputError, backquoted
from schemactl.redaction import redact
from schemactl.store.folder import ENDINGS

TABLE_PREFIX: Final = "table:"


class LeftOutWarning(CommandWarning):
    """Part of a source or a schema is ignored or changed; a person should know.

    Attributes:
        files: the files that it is about; empty if it is about no specific file.
    """

    def __init__(self, message: str, files: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.files = tuple(files)


def is_local(path: str) -> bool:
    """Return whether a path is a file of this machine."""
    return "://" not in path and not path.startswith(TABLE_PREFIX)


def table_name(sources: Sequence[str], default: str) -> str:
    """Return the name for data from the sources: the file's, folder's or table's, else ``default``."""
    if len(sources) != 1:
        return default
    source = redact(sources[0]).rstrip("/")
    if source.startswith(TABLE_PREFIX):
        return source.removeprefix(TABLE_PREFIX).rpartition(".")[2]
    last = Path(source).name if is_local(source) else source.rpartition("/")[2]
    name = last.partition(".")[0]
    return re.sub(r"[*?\[\]]+", "", name).strip("-_ ") or default


_WAY_OUT = "name the schema: `--name NAME`"


def schema_for(sources: Sequence[str]) -> str:
    """Return the name of the schema of a source: its own, as an identifier.

    >>> schema_for(["data/orders-2024.jsonl"])
    'orders_2024'
    """
    if len(sources) != 1:
        problem = "several sources do not name a schema" if sources else "no schema name given"
        raise InputError(problem, hint=_WAY_OUT)
    name = re.sub(r"\W+", "_", _name_of(sources[0])).strip("_").lower()
    if not name.isidentifier():
        raise InputError(f"`{sources[0]}` does not name a schema", hint=_WAY_OUT)
    return name


def file_beside(source: str) -> Path | None:
    """Return the schema file next to a source: ``shop.schema.yaml`` or ``shop_schema.yml`` for ``shop.csv``."""
    if not is_local(source):
        return None
    stem = _name_of(source)
    names = (*(f"{stem}.schema.{ending}" for ending in ENDINGS), f"{stem}_schema.yml", f"{stem}_schema.yaml")
    existing_paths = [path for name in names if stem and (path := Path(source).parent / name).is_file()]
    if len(existing_paths) > 1:
        files = backquoted(existing_paths)
        raise InputError(f"`{source}` has several schema files next to it: {files}", hint="delete the other files")
    return existing_paths[0] if existing_paths else None


def _name_of(source: str) -> str:
    return table_name([str(Path(source).resolve()) if is_local(source) and Path(source).is_dir() else source], "")
