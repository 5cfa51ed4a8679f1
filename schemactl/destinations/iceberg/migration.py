"""Migrations of Iceberg tables: what Iceberg can do, its statements, and a session on a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import choose_dataset
from schemactl.destinations._lake import rendering
from schemactl.destinations._lake.load import settle
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.migration import LakeMigration
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.iceberg.address import Address, lock_folder, open_catalog, read_address, wrap_errors
from schemactl.destinations.iceberg.altering import way_of_retype
from schemactl.destinations.iceberg.catalogue import (
    NAMES,
    datasets_in,
    holds_tables_without_catalogue,
    is_loaded_with,
    stored,
    tables_in,
)
from schemactl.destinations.iceberg.lake import WIDENS, IcebergLake
from schemactl.destinations.iceberg.rewriting import end_rewriting
from schemactl.destinations.iceberg.store import IcebergStore
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.steps import Step
from schemactl.schema.types import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

ABILITIES: Final = Abilities(
    transactional_ddl=False,
    retype=way_of_retype,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
    names=NAMES,
    gains=partial(gained_by_ddl, wider=WIDENS),
)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return a step as people read SQL; see ``destinations.Migrator``."""
    return rendering.render(step, table, dataset, ABILITIES)


@contextmanager
def connect(
    url: str, schema_name: str, *, patience: float = 0.0, is_read_only: bool = False, may_be_new: bool = False
) -> Iterator[LakeMigration]:
    """Open a dataset for migrating; what a killed load or rewrite has left is undone first.

    Loads and migrations keep each other out, those of one machine where the catalog is of `.pyiceberg.yaml`. See
    ``destinations.Migrator``.
    """
    address = read_address(url)
    _check_place(address, schema_name)
    with ExitStack() as held:
        if not is_read_only:
            if address.folder is not None:
                check_writable(address.folder)
            held.enter_context(holding(lock_folder(address), patience))
        catalog = _open(address, is_read_only=is_read_only, may_be_new=may_be_new)
        if hasattr(catalog, "close"):
            held.enter_context(closing(catalog))
        with wrap_errors(f"cannot read `{address}`"):
            lake = IcebergLake(address, catalog, _choose(address, schema_name, catalog))
        if not is_read_only:
            settle(lake)
            end_rewriting(lake)
        yield LakeMigration(IcebergStore(lake), ABILITIES, stored, is_read_only)


def _check_place(address: Address, schema_name: str) -> None:
    """Refuse what dlt's filesystem makes."""
    if address.folder is None or address.database is None or address.database.is_file():
        return
    known = (address.folder, address.folder / (address.dataset or schema_name))
    if any(holds_tables_without_catalogue(each) for each in known):
        raise DestinationError(
            f"the tables in `{address.folder}` were made by dlt, without a catalog, and are not migrated so",
            hint="register them in a catalog: iceberg:CATALOG?dataset=NAME",
        )


def _open(address: Address, *, is_read_only: bool, may_be_new: bool) -> Catalog:
    is_there = address.database is None or address.database.is_file()
    if not is_read_only or is_there:
        return open_catalog(address, is_written=not is_read_only)
    if not may_be_new:
        raise InputError(f"there is no catalog `{address.database}`")
    return _empty_catalog()


def _empty_catalog() -> Catalog:
    """Return a catalog in memory, in the place of one that is not there yet."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("none", uri="sqlite:///:memory:")


def _choose(address: Address, schema_name: str, catalog: Catalog) -> str:
    """Return the dataset that is meant: the one asked for, that of the schema, the only one with tables, a new one.

    Raises:
        InputError: it may be one of several.
    """
    if address.dataset is not None:
        return address.dataset
    known = [name for name in datasets_in(catalog) if tables_in(catalog, name)]
    loaded = [name for name in known if is_loaded_with(catalog, name, schema_name)]
    if len(loaded) == 1:
        return loaded[0]
    return choose_dataset(known, None, str(address)) if known else schema_name
