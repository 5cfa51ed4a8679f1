"""Migrations of folders of Parquet: what can be done to them, how it reads, and a session on a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from schemactl.destinations._lake import rendering
from schemactl.destinations._lake.lock import holding
from schemactl.destinations._lake.migration import LakeMigration
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.parquet.address import Address, read_address
from schemactl.destinations.parquet.catalogue import NAMES, find_dataset, stored
from schemactl.destinations.parquet.check import check_name, check_writable
from schemactl.destinations.parquet.fields import field_of
from schemactl.destinations.parquet.journal import recover
from schemactl.destinations.parquet.store import ParquetStore
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.steps import AddColumn, ChangeType, CreateTable, RenameTable, Step
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table


def _retype(before: Column, after: Column) -> Way:
    is_known = all(each.is_complete and DATABASE_TYPE not in each.properties for each in (before, after))
    return Way.REWRITE if is_known else Way.NONE


ABILITIES: Final = Abilities(
    transactional_ddl=False,
    drop_column=Way.REWRITE,
    rename_column=Way.REWRITE,
    retype=_retype,
    set_not_null=Way.NONE,
    drop_not_null=Way.NONE,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
    names=NAMES,
    gains=gained_by_ddl,
    keeps_dlt_tables=False,
)
"""Nothing distinguishes nulls from what a writer promises in a file, so no step is about them."""


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return a step as people read SQL; see ``destinations.Migrator``."""
    shown = rendering.render(step, table, dataset, ABILITIES)
    match step:
        case CreateTable():
            _check(step.table.name, *step.table.columns.values())
        case RenameTable():
            _check(step.after)
        case AddColumn():
            _check(step.table, step.column)
        case ChangeType():
            _check(step.table, step.after)
        case _:
            pass
    return shown


def _check(table: str, *columns: Column) -> None:
    """Find out whether a folder can have a table's name, and files can have columns.

    Raises:
        InputError: they cannot.
    """
    try:
        check_name(table)
    except DestinationError as error:
        raise InputError(error.message, hint=error.hint) from error
    for column in columns:
        field_of(column)


@contextmanager
def connect(
    url: str,
    schema_name: str,  # noqa: ARG001 - a folder is found as loads find it
    *,
    patience: float = 0.0,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[LakeMigration]:
    """Open a dataset for migrating; what a killed load or step has left is finished first.

    See ``destinations.Migrator``. To read, nothing is finished: what a journal says counts as done.
    """
    address = read_address(url)
    if not address.folder.is_dir() and not may_be_new and is_read_only:
        raise InputError(f"there is no folder `{address.folder}`")
    store = ParquetStore(_dataset(address))
    if is_read_only:
        yield LakeMigration(store, ABILITIES, stored, is_read_only=True)
        return
    check_writable(store.folder)
    with holding(store.folder, patience):
        _recover(store)
        yield LakeMigration(store, ABILITIES, stored)


def _recover(store: ParquetStore) -> None:
    try:
        recover(store.folder)
    except OSError as error:
        message = f"cannot finish what was broken off in `{store.folder}`: {error.strerror or error}"
        raise DestinationError(message) from error


def _dataset(address: Address) -> Path:
    """Return the dataset's folder, with a name of its own."""
    found = find_dataset(address, is_made=True)
    return found if found.name not in ("", "..") else found.resolve()
