"""Migrations of Iceberg tables: Iceberg's abilities, its statements, and how a dataset is opened for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.load import recover
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.migration import render_step
from schemactl.destinations._lake.types import are_structures
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.iceberg.address import Address, lock_folder, open_catalog, read_address, wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import check_place
from schemactl.destinations.iceberg.types import NAMES, WIDENS, new_kind, settle
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import ON_FILES, Abilities
from schemactl.migration.records import NO_PATIENCE, Patience
from schemactl.migration.ways import Way
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from schemactl.destinations.iceberg.migration_session import IcebergMigration


def _retype(before: Column, after: Column) -> Way:
    """Return how a column gets another type: Iceberg itself only widens integers and decimals (its specification)."""
    if are_structures(before, after):
        return Way.REWRITE
    if DATABASE_TYPE in after.properties:
        return Way.NONE  # structs, lists and maps come from existing columns; no step creates them
    if DATABASE_TYPE in before.properties:
        return Way.REWRITE
    old, new = new_kind(before), new_kind(after)
    match old.get("data_type"), new.get("data_type"):  # structs and lists have no `data_type`
        case "bigint", "bigint":
            is_wider = old.get("precision") == 32
        case "decimal", "decimal":
            is_wider = old.get("scale") == new.get("scale") and old["precision"] < new["precision"]
        case _:
            is_wider = False
    return Way.IN_PLACE if old == new or is_wider else Way.REWRITE


ABILITIES: Final[Abilities] = replace(
    ON_FILES,
    retype=_retype,
    names=NAMES,
    settle=settle,
    describe_table=Way.IN_PLACE,
    gains=partial(gained_by_ddl, wider=WIDENS),
    rewrites=lambda step, _: step.writes_all(ABILITIES),
)


render: Final = partial(render_step, abilities=ABILITIES)
"""Returns a step as people read SQL; see ``destinations.Migrator``."""


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[IcebergMigration]:
    """Open a dataset for migrating; a killed load or rewrite is undone first.

    Loads and migrations keep each other out, but only on one machine if the catalog is from `.pyiceberg.yaml`. See
    ``destinations.Migrator``.
    """
    address = read_address(url)
    check_place(address, schema_name, "migrated", "register them in a catalog: iceberg:CATALOG?dataset=NAME")
    from schemactl.destinations.iceberg.lake import lake_to_write
    from schemactl.destinations.iceberg.migration_session import IcebergMigration

    with ExitStack() as resources:
        if not is_read_only:
            if address.folder is not None:
                check_writable(address.folder)
            resources.enter_context(holding(lock_folder(address), patience.seconds))
        catalog = _open(address, is_read_only=is_read_only, may_be_new=may_be_new)
        resources.enter_context(closing(catalog))
        with wrap_iceberg_errors(f"read `{address}`"):
            lake = lake_to_write(address, schema_name, catalog, is_migrated=True)
        if not is_read_only:
            recover(lake)
        migration = IcebergMigration(ABILITIES, lake, is_read_only)
        if is_read_only:
            yield migration
            return
        try:
            yield migration
        except BaseException:
            with suppress(DestinationError):  # the first error is reported; the next session removes the files
                lake.discard_uncommitted(migration.attempt)
                lake.end_writing()
            raise
        lake.end_writing()


def _open(address: Address, *, is_read_only: bool, may_be_new: bool) -> Catalog:
    is_there = address.database is None or address.database.is_file()
    if not is_read_only or is_there:
        return open_catalog(address, is_written=not is_read_only)
    if not may_be_new:
        raise InputError(f"there is no catalog `{address.database}`")
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("none", uri="sqlite:///:memory:")  # empty, instead of a missing catalog
