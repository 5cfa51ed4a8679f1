"""Reads a folder of Delta tables, and finds the dataset in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import FolderAddress, folder_address
from schemactl.destinations._catalogue import (
    choose_dataset,
    choose_migrated,
    column_of,
    driver,
    make_catalogue,
)
from schemactl.destinations._errors import conflict, wrap_errors
from schemactl.destinations._folder import refuse_links
from schemactl.destinations._lake.types import kind_there
from schemactl.destinations._migration.ledger import RUNS
from schemactl.destinations.parquet.bookkeeping import stored_versions, version_hashes
from schemactl.destinations.parquet.journal import folders_in, list_files
from schemactl.errors import DestinationError, InputError
from schemactl.schema.templates import LOADS_TABLE
from schemactl.schema.types import Properties

if TYPE_CHECKING:
    from deltalake import DeltaTable


LOG: Final = "_delta_log"

COMMENT: Final = "comment"
"""The key in a field's metadata that describes it."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
"""The escapes that color Delta's errors, on a terminal or not."""
_STACK: Final = re.compile(r"\d+: \S+$|at \S+:\d+(:\d+)?$")
"""A line of the stack that some of them end with."""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, each as its last commit has it."""
    return catalogue_of(dataset_to_read(folder_address(url)))


def catalogue_of(dataset: Path, is_read: Callable[[str], bool] = lambda _: True) -> Catalogue:
    """Return the tables in the folder of a dataset whose names ``is_read`` accepts; raises as ``read_catalogue``."""
    folders = {name: folder for name, folder in tables_in(dataset).items() if is_read(name)}
    for folder in folders.values():
        refuse_links(dataset, folder / LOG)
    tables = {name: open_table(folder) for name, folder in folders.items()}
    columns = ((name, column_of(*column)) for name, table in tables.items() for column in columns_of(table))
    texts = {name: table.metadata().description for name, table in tables.items()}
    versions = version_hashes(list_files(dataset))
    return make_catalogue(dataset.resolve().name, f"delta:{dataset}", columns, texts, versions)


def wrap_delta_errors(task: str, hint: str = "load again") -> AbstractContextManager[None]:
    """Turn Delta's errors into ``DestinationError``, ``cannot TASK: ...``; ``hint`` is the way out of a conflict."""

    def translate(error: Exception) -> DestinationError | None:
        import pyarrow
        from deltalake.exceptions import CommitFailedError, DeltaError

        match error:
            case CommitFailedError():
                return conflict(task, plain(error), hint)
            case DeltaError() | pyarrow.ArrowException() | OSError():
                return DestinationError(f"cannot {task}: {plain(error)}")
        return None

    return wrap_errors(translate)


def plain(error: BaseException) -> str:
    """Return Delta's message, a tree of causes, in one line, without colors and stack."""
    lines = (line.strip(" ↳") for line in _COLOUR.sub("", str(error)).splitlines())
    return ": ".join(line for line in lines if line and not _STACK.match(line))


def open_table(folder: Path) -> DeltaTable:
    """Return a table; raises ``DestinationError`` if it cannot be read, or the package is missing."""
    with driver("deltalake", "delta"):
        from deltalake import DeltaTable
    with wrap_delta_errors(f"read the Delta table `{folder}`"):
        return DeltaTable(str(folder))


def columns_of(table: DeltaTable) -> Iterator[tuple[str, Properties, bool, str | None]]:
    """Yield name, type, whether it may be null, and description of all columns."""
    import pyarrow
    from deltalake.schema import PrimitiveType

    for field in table.schema().fields:
        written = field.type.type if isinstance(field.type, PrimitiveType) else str(field.type)
        kind = kind_there(pyarrow.field(field.to_arrow()).type, written)
        yield field.name, kind, field.nullable, field.metadata.get(COMMENT)


def dataset_to_read(address: FolderAddress) -> Path:
    """Return the folder of the dataset to read; ``InputError`` if no folder has tables, or several have."""
    folder = address.folder
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`")
    if address.dataset is None and tables_in(folder):
        return folder
    datasets = {subfolder.name: subfolder for subfolder in folders_in(folder) if tables_in(subfolder)}
    dataset = datasets[choose_dataset(datasets, address.dataset, f"delta:{folder}")]
    refuse_links(folder, dataset)
    return dataset


def dataset_to_write(address: FolderAddress, schema_name: str, *, is_migrated: bool = False) -> Path:
    """Return the folder of the dataset to which a load or a migration of this schema goes; it may not exist yet.

    It is the address's dataset, else the folder itself if it holds tables, else the only dataset in it that was loaded
    with this schema, else a new one named after the schema. A migration also goes to a dataset without loads whose
    ledger names the schema, and else to the only one that holds tables, or runs of migrations, and no load of another
    schema. ``InputError`` if several datasets fit.
    """
    dataset = _find_dataset(address, schema_name, is_migrated=is_migrated)
    refuse_links(address.folder, dataset)
    return dataset


def _find_dataset(address: FolderAddress, schema_name: str, *, is_migrated: bool) -> Path:
    folder = address.folder
    if folder.exists() and not folder.is_dir():
        raise DestinationError(f"`{folder}` is a file, not a folder")
    if address.dataset is not None or not folder.is_dir():
        return folder / (address.dataset or schema_name)
    if tables_in(folder):
        return folder
    datasets = {subfolder.name: subfolder for subfolder in folders_in(folder)}
    loaded = [subfolder for subfolder in datasets.values() if is_migrated or (subfolder / LOADS_TABLE).is_dir()]
    schemas = {
        subfolder.name: {version.name for version in stored_versions(list_files(subfolder))} for subfolder in loaded
    }
    ours = [name for name, names in schemas.items() if schema_name in names]
    foreign = [name for name, names in schemas.items() if names]
    unclaimed = [
        name
        for name in datasets
        # Migrations may have begun, and created no table yet.
        if is_migrated and not schemas[name] and (tables_in(datasets[name]) or (datasets[name] / RUNS.name).is_dir())
    ]
    return folder / choose_migrated(ours, unclaimed, foreign, schema_name, f"delta:{folder}")


def tables_in(dataset: Path) -> dict[str, Path]:
    """Return the folders of the Delta tables in a dataset, by name."""
    return {subfolder.name: subfolder for subfolder in folders_in(dataset) if (subfolder / LOG).is_dir()}
