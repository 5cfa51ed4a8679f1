"""Addresses of Iceberg catalogs, and how they are opened."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from schemactl.destinations._address import dataset_of, is_busy
from schemactl.destinations._catalogue import driver
from schemactl.destinations._database_files import check_sqlite_files
from schemactl.destinations._errors import conflict, wrap_errors
from schemactl.destinations._lake.lock import machine_folder
from schemactl.errors import DestinationError, InputError
from schemactl.store.links import check_link

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

DATABASE: Final = "catalog.db"
_USUAL_NAME: Final = "default"
_END_FIRST: Final = "another process writes to the catalog: end that first, or wait, then load again"
_SCHEME: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """A folder or the name of a configured catalog, and a dataset in it, None for the only one."""

    location: str
    folder: Path | None
    dataset: str | None

    def __str__(self) -> str:
        return f"iceberg:{self.location}"

    @property
    def database(self) -> Path | None:
        """Return the file of the folder's catalog, which may not exist."""
        return self.folder.absolute() / DATABASE if self.folder else None


def read_address(url: str) -> Address:
    """Parse an address: a configured catalog if one has this name, else a folder."""
    kind, _, remainder = url.partition(":")
    location, _, query = remainder.partition("?")
    location = location if _SCHEME.fullmatch(location) else location.removeprefix("//")
    if not location:
        raise InputError(f"`{url}` does not name a folder", hint=f"{kind}:FOLDER?dataset=NAME")
    dataset = dataset_of(query, kind)
    if _configured(location) is not None:
        return Address(location, None, dataset)
    if _SCHEME.fullmatch(location):
        hint = "name its catalog in `.pyiceberg.yaml`, then iceberg:CATALOG?dataset=NAME"
        raise InputError(f"`{location}` is not a folder on this machine", hint=hint)
    if dataset is not None and (Path(dataset).name != dataset or dataset.startswith(".")):
        raise InputError(f"`{dataset}` cannot name a dataset in `{location}`")
    check_link(Path(location, dataset or ""))
    return Address(location, Path(location), dataset)


def _configured(name: str) -> Mapping[str, Any] | None:
    with driver("pyiceberg", "iceberg"):
        from pyiceberg.utils.config import Config
    return Config().get_catalog_config(name)


def open_catalog(address: Address, *, is_written: bool) -> Catalog:
    """Return the catalog; a folder's missing catalog is created if ``is_written``."""
    if address.folder is None:
        from pyiceberg.catalog import load_catalog

        properties = _configured(address.location) or {}
        try:
            with wrap_iceberg_errors(f"open the catalog `{address.location}`"):
                return load_catalog(address.location, **{key: str(value) for key, value in properties.items()})
        except ValueError as error:
            raise InputError(f"invalid configuration of the catalog `{address.location}`: {error}") from error
    with driver("sqlalchemy", "iceberg"):
        from schemactl.destinations.iceberg.folder_catalog import FolderCatalog
    from sqlalchemy.engine import URL

    database = address.folder.absolute() / DATABASE
    check_sqlite_files(database)
    mode = {"mode": "rwc" if is_written else "ro", "uri": "true"}
    url = URL.create("sqlite", database=f"file:{quote(str(database))}", query=mode)
    with wrap_iceberg_errors(f"open the catalog `{database}`"):
        return FolderCatalog(
            _name_in(database),
            address.folder.absolute(),
            uri=url.render_as_string(hide_password=False),
            init_catalog_tables=str(is_written).lower(),
        )


def lock_folder(address: Address) -> Path:
    """Return the folder whose lock keeps other sessions out: the catalog's, else one for this machine only.

    Catalogs have no locks that end with their holders.
    """
    if address.folder is not None:
        return address.folder
    properties = _configured(address.location) or {}
    # Two configurations may call one catalog differently.
    return machine_folder(
        "iceberg", str(properties.get("uri") or address.location), str(properties.get("warehouse") or "")
    )


def _name_in(database: Path) -> str:
    """Return the catalog's name for the tables of a folder: the only one there, else the default."""
    if not database.is_file():
        return _USUAL_NAME
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)) as connection:
            rows = connection.execute("select distinct catalog_name from iceberg_tables").fetchall()
    except sqlite3.Error as error:
        if is_busy(error):
            raise DestinationError(f"cannot read the catalog `{database}`: {error}", hint=_END_FIRST) from error
        raise DestinationError(f"`{database}` is not an Iceberg catalog: {error}") from error
    return str(rows[0][0]) if len(rows) == 1 else _USUAL_NAME


def wrap_iceberg_errors(task: str, hint: str = "load again") -> AbstractContextManager[None]:
    """Turn Iceberg's errors into ``DestinationError``, ``cannot TASK: ...``; ``hint`` is the way out of a conflict."""

    def translate(error: Exception) -> DestinationError | None:
        import pyarrow
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        match error:
            case CommitFailedException() | ValidationException():
                return conflict(task, error, hint)
            case pyarrow.ArrowException() | OSError():
                return DestinationError(f"cannot {task}: {error}")
        # The errors of pyiceberg, and of the database below it, have no base class.
        if type(error).__module__.partition(".")[0] not in ("pyiceberg", "sqlalchemy", "sqlite3", "requests"):
            return None
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        return DestinationError(f"cannot {task}: {message}", hint=_END_FIRST if is_busy(error) else None)

    return wrap_errors(translate)
