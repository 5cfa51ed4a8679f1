"""Reads the tables of an Iceberg catalog, or of a folder of Iceberg tables that dlt made without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._catalogue import choose_dataset, column_of, make_catalogue
from schemactl.destinations._folder import refuse_links
from schemactl.destinations._lake.types import kind_there
from schemactl.destinations.iceberg.address import Address, open_catalog, read_address, wrap_iceberg_errors
from schemactl.destinations.parquet.bookkeeping import version_hashes
from schemactl.destinations.parquet.journal import folders_in, list_files
from schemactl.errors import DestinationError, InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Properties

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


COMMENT: Final = "comment"
"""The property that describes a table."""

_METADATA: Final = "metadata"
_ENDING: Final = ".metadata.json"


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, each as its last commit has it."""
    address = read_address(url)
    if address.folder is not None and not address.folder.is_dir():
        raise InputError(f"there is no folder `{address.folder}`")
    if address.database is not None and not address.database.is_file():
        return _read_folder(address, address.folder or Path())
    catalog = open_catalog(address, is_written=False)
    with wrap_iceberg_errors(f"read `{address}`"):
        datasets = [name for name in datasets_in(catalog) if tables_in(catalog, name)]
        dataset = choose_dataset(datasets, address.dataset, str(address))
        return read_dataset(catalog, dataset, f"{address}?dataset={dataset}")


def read_dataset(
    catalog: Catalog, dataset: str, origin: str, is_read: Callable[[str], bool] = lambda _: True
) -> Catalogue:
    """Return the tables of a dataset, with ours, whose names ``is_read`` accepts; empty for a missing dataset."""
    namespace = tuple(dataset.split("."))
    names = tables_in(catalog, dataset) if catalog.namespace_exists(namespace) else []
    tables = {name: catalog.load_table((*namespace, name)) for name in names if is_read(name)}
    versions = versions_in(tables[VERSION_TABLE]) if VERSION_TABLE in tables else []
    return _catalogue(tables, versions, dataset, origin)


def _read_folder(address: Address, folder: Path) -> Catalogue:
    """Return the tables that dlt's filesystem has made without a catalog, each with its own metadata."""
    datasets = {subfolder.name: subfolder for subfolder in folders_in(folder) if _tables_of_folder(subfolder)}
    dataset = folder if address.dataset is None and _tables_of_folder(folder) else None
    dataset = dataset or datasets[choose_dataset(datasets, address.dataset, str(address))]
    refuse_links(folder, dataset)
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io import WAREHOUSE
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import StaticTable

    from schemactl.destinations.iceberg.folder_catalog import FolderFileIO

    reader = FolderFileIO({WAREHOUSE: str(dataset)})
    tables: dict[str, Table] = {}
    for name, file in _tables_of_folder(dataset).items():
        refuse_links(dataset, file)
        location = str(file.absolute())
        with wrap_iceberg_errors(f"read `{file}`"):
            metadata = FromInputFile.table_metadata(reader.new_input(location))
        tables[name] = StaticTable((name,), metadata, location, reader, NoopCatalog(name))
    return _catalogue(tables, version_hashes(list_files(dataset)), dataset.resolve().name, f"iceberg:{dataset}")


def _tables_of_folder(folder: Path) -> dict[str, Path]:
    """Return the newest metadata of each table in a folder; their names start with the version."""
    newest_files = (
        (table_folder.name, max((table_folder / _METADATA).glob(f"*{_ENDING}"), default=None))
        for table_folder in folders_in(folder)
    )
    return {name: file for name, file in newest_files if file}


def check_place(address: Address, schema_name: str, verb: str, hint: str) -> None:
    """Refuse a folder with Iceberg tables that dlt's filesystem made, which has no catalog.

    ``verb`` is the message's: ``loaded``, ``migrated``.
    """
    if address.folder is None or address.database is None or address.database.is_file():
        return
    candidates = (address.folder, address.folder / (address.dataset or schema_name))
    if any(candidate.is_dir() and _tables_of_folder(candidate) for candidate in candidates):
        message = f"the tables in `{address.folder}` were created by dlt without a catalog and cannot be {verb}"
        raise DestinationError(message, hint=hint)


def _catalogue(tables: Mapping[str, Table], versions: list[tuple[str, str]], dataset: str, origin: str) -> Catalogue:
    columns = ((name, column_of(*column)) for name, table in tables.items() for column in columns_of(table))
    texts = {name: table.properties.get(COMMENT) for name, table in tables.items()}
    return make_catalogue(dataset, origin, columns, texts, versions)


def datasets_in(catalog: Catalog) -> list[str]:
    """Return the names of a catalog's datasets."""
    return sorted(".".join(namespace) for namespace in catalog.list_namespaces())


def tables_in(catalog: Catalog, dataset: str) -> list[str]:
    """Return the names of a dataset's tables."""
    return sorted(identifier[-1] for identifier in catalog.list_tables(tuple(dataset.split("."))))


def versions_in(table: Table) -> list[tuple[str, str]]:
    """Return names and hashes of the schemas that a dataset keeps, the last one first."""
    fields = ("inserted_at", "schema_name", "version_hash")
    if not set(fields) <= {field.name for field in table.schema().fields}:
        return []
    rows: list[dict[str, Any]] = table.scan(selected_fields=fields).to_arrow().to_pylist()
    newest_first = sorted(rows, key=lambda row: row["inserted_at"], reverse=True)
    return [(row["schema_name"], row["version_hash"]) for row in newest_first]


def columns_of(table: Table) -> Iterator[tuple[str, Properties, bool, str | None]]:
    """Yield name, type, whether it may be null, and description of all columns."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    for field in table.schema().fields:
        kind = kind_there(schema_to_pyarrow(field.field_type), str(field.field_type))
        yield field.name, kind, not field.required, field.doc
