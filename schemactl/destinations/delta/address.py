"""Addresses of folders of Delta tables, and which dataset they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from schemactl.destinations._catalogue import choose_dataset
from schemactl.destinations.parquet.address import Address
from schemactl.destinations.parquet.bookkeeping import stored_versions
from schemactl.destinations.parquet.journal import entries, list_files
from schemactl.errors import DestinationError, InputError
from schemactl.schema.templates import LOADS_TABLE

LOG: Final = "_delta_log"


def dataset_to_read(address: Address) -> Path:
    """Return the folder of the dataset that is meant.

    Raises:
        InputError: there is none with tables, or there are several.
        DestinationError: a folder cannot be listed.
    """
    folder = address.folder
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`")
    if address.dataset is None and tables_in(folder):
        return folder
    found = {each.name: each for each in _folders(folder) if tables_in(each)}
    return found[choose_dataset(found, address.dataset, f"delta:{folder}")]


def dataset_to_write(address: Address, schema_name: str, *, is_migrated: bool = False) -> Path:
    """Return the folder of the dataset that a load or a migration of this schema goes to; it may not be there yet.

    The one asked for, else the folder itself where it holds tables, else the only one in it that was loaded with this
    schema, else one named as the schema. A migration also goes to one whose ledger alone names the schema, and else to
    the only one that holds tables.

    Raises:
        InputError: it may be one of several.
        DestinationError: the folder is a file, or cannot be listed.
    """
    folder = address.folder
    if folder.exists() and not folder.is_dir():
        raise DestinationError(f"`{folder}` is a file, not a folder")
    if address.dataset is not None or not folder.is_dir():
        return folder / (address.dataset or schema_name)
    if tables_in(folder):
        return folder
    inside = {each.name: each for each in _folders(folder)}
    loaded = [each for each in inside.values() if is_migrated or (each / LOADS_TABLE).is_dir()]
    ours = [each for each in loaded if schema_name in {held.name for held in stored_versions(list_files(each))}]
    if len(ours) == 1:
        return ours[0]
    held = [name for name, each in inside.items() if tables_in(each)] if is_migrated else []
    return inside[choose_dataset(held, None, f"delta:{folder}")] if held else folder / schema_name


def tables_in(dataset: Path) -> dict[str, Path]:
    """Return the folders of the Delta tables in a dataset, by name."""
    return {each.name: each for each in _folders(dataset) if (each / LOG).is_dir()}


def _folders(folder: Path) -> list[Path]:
    return [each for each in entries(folder) if each.is_dir()]
