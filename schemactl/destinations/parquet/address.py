"""Addresses of folders of Parquet: ``parquet:FOLDER``, ``parquet:FOLDER?dataset=NAME``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.destinations._address import dataset_of
from schemactl.errors import InputError

_SCHEME: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://?.*", re.IGNORECASE)


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
    if match := _SCHEME.fullmatch(stated):
        what = "a file's address" if match["scheme"].lower() == "file" else "in an object store"
        hint = "name a folder that this machine sees: parquet:FOLDER"
        raise InputError(f"`{stated}` is {what}, and only folders are written and read", hint=hint)
    dataset = dataset_of(query, kind)
    if dataset is not None and (Path(dataset).name != dataset or dataset.startswith(".")):
        raise InputError(f"`{dataset}` cannot name a folder in `{stated}`")
    return Address(Path(stated.removeprefix("//")), dataset)
