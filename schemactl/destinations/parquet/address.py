"""Addresses of folders: ``parquet:FOLDER``, ``delta:FOLDER?dataset=NAME``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.destinations._address import dataset_of
from schemactl.errors import InputError

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+://?.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """What is meant: a folder, and a dataset in it; None for the folder itself, or the only one."""

    folder: Path
    dataset: str | None


def read_address(url: str) -> Address:
    """Return what an address says.

    Raises:
        InputError: it names no folder, or an object store.
    """
    kind, _, rest = url.partition(":")
    stated, _, query = rest.partition("?")
    if not stated.removeprefix("//"):
        raise InputError(f"`{url}` names no folder", hint=f"{kind}:FOLDER")
    if _SCHEME.fullmatch(stated):
        hint = f"name a folder that this machine sees, or mount it: {kind}:FOLDER"
        raise InputError(f"`{stated}` is no folder of this machine: only folders are written and read", hint=hint)
    dataset = dataset_of(query, kind)
    if dataset is not None and (Path(dataset).name != dataset or dataset.startswith(".")):
        raise InputError(f"`{dataset}` cannot name a folder in `{stated}`")
    return Address(Path(stated.removeprefix("//")), dataset)
