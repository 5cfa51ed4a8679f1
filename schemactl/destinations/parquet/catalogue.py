"""Reads the tables of a folder of Parquet: the footers of its files, as dlt's columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from schemactl.destinations import Catalogue
from schemactl.destinations._address import FolderAddress, folder_address
from schemactl.destinations._catalogue import choose_dataset, column_of, make_catalogue, unknown
from schemactl.destinations._folder import refuse_links
from schemactl.destinations._lake.types import is_arrow_name, types_of_files
from schemactl.destinations._types import decimal, keeps_unknown_types
from schemactl.destinations.parquet.bookkeeping import version_hashes
from schemactl.destinations.parquet.journal import PARQUET_ENDING, Listing, folders_in, list_files
from schemactl.errors import DestinationError, InputError
from schemactl.schema.nested_types import read_type, structure_of, write_type
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties
from schemactl.type_systems.arrow_types import (
    arrow_type_of,
    from_exact_arrow,
    is_nested,
    plain_type,
    scalar_properties,
    scalar_type,
)

if TYPE_CHECKING:
    import pyarrow

NAMES: Final = NameLimits()

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
    for table, file in _tables(listing).items():
        if not is_read(table):
            continue
        columns = file_columns(listing.of(table)[file])
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

    If ``is_made``, it may be a folder that does not exist yet.

    Raises:
        InputError: no folder has tables, or several have.
        DestinationError: a folder cannot be listed, or the dataset is a link in the folder.
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


def _tables(listing: Listing) -> dict[str, str]:
    """Return the last file of each table."""
    last_files = ((table, max(table_files(listing, table), default=None)) for table in listing.folders())
    return {table: name for table, name in last_files if name}


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
    return {field.name: column_of(field.name, _kind(field.type), field.nullable) for field in fields}


def _kind(of: pyarrow.DataType) -> Properties:
    import pyarrow
    import pyarrow.types as is_a

    if is_a.is_dictionary(of):
        return _kind(of.value_type)
    if is_a.is_decimal(of):
        is_wei = of.scale == 0 and of.precision >= 38
        return {"data_type": "wei"} if is_wei else decimal(of.precision, of.scale)
    if is_nested(of) and (nested_type := from_exact_arrow(of)) is not None:
        written = write_type(nested_type)
        # The DDL of a schema has one size of integers and floats, so a type that it cannot express is unknown to a
        # schema.
        return unknown(written if read_type(written) == nested_type else str(plain_type(of)))
    # Integers of 64 bits without a sign are decimals to dlt, and no decimals in files.
    is_foreign = is_a.is_uint64(of) or isinstance(of, pyarrow.BaseExtensionType)
    return (None if is_foreign else scalar_properties(of)) or unknown(str(plain_type(of)))


def _is_native(written: str) -> bool:
    """Return whether a text is a type of footers that dlt lacks, also of structs and lists as Arrow writes them."""
    import pyarrow

    if "<" in written:
        return True
    return is_arrow_name(written) and DATABASE_TYPE in _kind(pyarrow.type_for_alias(written))


settle: Final = types_of_files("Parquet", _is_native).settle


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return the type of such a column in the footers of dlt's Parquet files.

    It does not contain nulls: Spark marks all columns as nullable.
    """
    column = settle(column)
    if DATABASE_TYPE in column.properties:
        return unknown(column.properties[DATABASE_TYPE])
    if (structure := structure_of(column)) is not None:
        return unknown(write_type(structure, has_comments=False))
    properties = dict(column.properties)
    if column.data_type is DataType.BIGINT:
        size = properties.get("precision")
        properties["precision"] = next((bits for bits in (8, 16, 32) if size is not None and size <= bits), 64)
    if column.data_type is DataType.BINARY:
        properties.pop("precision", None)  # dlt's files have a fixed length, and loads write any: both may be there
    of = arrow_type_of(column)
    try:
        return _kind(scalar_type(properties) if of is None else of)
    except ValueError:  # more digits than Arrow has
        return decimal(properties["precision"], properties.get("scale") or 0)
