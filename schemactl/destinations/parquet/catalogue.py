"""Reads the tables of a folder of Parquet: the footers of its files, as dlt's columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from schemactl.destinations import Catalogue
from schemactl.destinations._address import FolderAddress, folder_address
from schemactl.destinations._catalogue import choose_dataset, column_of, make_catalogue
from schemactl.destinations._folder import refuse_links
from schemactl.destinations.parquet.bookkeeping import version_hashes
from schemactl.destinations.parquet.journal import PARQUET_ENDING, Listing, folders_in, list_files
from schemactl.destinations.parquet.types import kind_of
from schemactl.errors import DestinationError, InputError
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow


_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset: each as the footer of its last file, by name, has it.

    A load that was killed after it had become certain counts as done; nothing is moved for it.
    """
    address = folder_address(url)
    if not address.folder.is_dir():
        raise InputError(f"there is no folder `{address.folder}`")
    return catalogue_of(find_dataset(address))


def catalogue_of(dataset: Path, is_read: Callable[[str], bool] = lambda _: True) -> Catalogue:
    """Return the tables of a dataset's folder whose names ``is_read`` accepts; see ``read_catalogue``.

    The folder may not be there yet.
    """
    listing = list_files(dataset)
    table_columns: list[tuple[str, Column]] = []
    for table in filter(is_read, listing.folders()):
        files = table_files(listing, table)
        if not files:
            continue
        file = max(files)
        columns = file_columns(files[file])
        # A column that a table is partitioned by is in the names of folders only.
        keys = [Column(key, {"data_type": "text"}) for key in partition_values(file) if key not in columns]
        table_columns += ((table, column) for column in (*columns.values(), *keys))
    versions = version_hashes(listing)
    return make_catalogue(dataset.resolve().name, f"parquet:{dataset}", table_columns, versions=versions)


def holds_tables(folder: Path) -> bool:
    """Return whether a folder holds folders of Parquet; files in them may be links, which are refused when read."""
    listing = list_files(folder)
    return any("/" in name and name.endswith(PARQUET_ENDING) for name in (*listing.files, *listing.links))


def find_dataset(address: FolderAddress, *, is_made: bool = False) -> Path:
    """Return the folder of the dataset: the address's folder itself if it holds tables, else the one in it.

    If ``is_made``, it may be a folder that does not exist yet. ``InputError`` if no folder has tables, or several have.
    """
    if address.dataset is None and holds_tables(address.folder):
        return address.folder
    if is_made and address.dataset:
        dataset = address.dataset
    else:
        datasets = {path.name for path in folders_in(address.folder) if holds_tables(path)}
        if is_made and not datasets:
            return address.folder
        dataset = choose_dataset(datasets, address.dataset, f"parquet:{address.folder}")
    refuse_links(address.folder, address.folder / dataset)
    return address.folder / dataset


def table_files(listing: Listing, table: str) -> dict[str, Path]:
    """Return the files of Parquet that make a table, by their path in its folder."""
    return {name: path for name, path in listing.of(table).items() if name.endswith(PARQUET_ENDING)}


def partition_values(name: str) -> dict[str, str | None]:
    """Return the values in the folders of a file's path, by column."""
    pairs = [step.partition("=") for step in name.split("/")[:-1] if "=" in step]
    return {key: None if value == _HIVE_NULL else unquote(value) for key, _, value in pairs}


def unreadable(file: object, error: Exception) -> DestinationError:
    """Return the error for a file that cannot be read; another command may have replaced it meanwhile."""
    hint = "another command may have replaced it: run this one again" if isinstance(error, FileNotFoundError) else None
    return DestinationError(f"cannot read `{file}`: {error}", hint=hint)


def file_columns(file: Path) -> dict[str, Column]:
    """Return the columns of a file of Parquet by its footer; raises ``DestinationError`` if it cannot be read."""
    import pyarrow
    import pyarrow.parquet

    try:
        fields: pyarrow.Schema = pyarrow.parquet.read_schema(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable(file, error) from error
    return {field.name: column_of(field.name, kind_of(field.type), field.nullable) for field in fields}
