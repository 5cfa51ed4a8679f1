"""Migrations of Delta tables: what delta-rs can do, the statements as people read them, and a session on a dataset.

New columns and allowed nulls are written into a table's log. All else about columns rewrites the table in one commit:
names and types apart from those in the files need column mapping and type widening, which delta-rs cannot write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from schemactl.destinations._lake.load import settle
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.migration import LakeMigration
from schemactl.destinations._lake.rendering import render as render_of_lake
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.delta.address import dataset_to_migrate, read_address
from schemactl.destinations.delta.catalogue import NAMES, stored
from schemactl.destinations.delta.lake import DeltaLake
from schemactl.destinations.delta.loading import require_driver
from schemactl.destinations.delta.store import DeltaStore, remove_leftovers
from schemactl.errors import InputError
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.steps import Step
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table


def _retype(_: Column, after: Column) -> Way:
    # Delta's own types (arrays ...) are those of columns that are there; none is made.
    return Way.NONE if DATABASE_TYPE in after.properties else Way.REWRITE


ABILITIES: Final = Abilities(
    transactional_ddl=False,
    drop_column=Way.REWRITE,
    rename_column=Way.REWRITE,
    retype=_retype,
    set_not_null=Way.REWRITE,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
    names=NAMES,
    gains=gained_by_ddl,
    keeps_dlt_tables=False,
)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step as people read them; see ``destinations.Migrator``."""
    return render_of_lake(step, table, dataset, ABILITIES)


@contextmanager
def connect(
    url: str, schema_name: str, *, patience: float = 0.0, is_read_only: bool = False, may_be_new: bool = False
) -> Iterator[LakeMigration]:
    """Open a dataset for migrating; a load that was killed is undone first. See ``destinations.Migrator``."""
    address = read_address(url)
    if is_read_only and not may_be_new and not address.folder.is_dir():
        raise InputError(f"there is no folder `{address.folder}`")
    require_driver()
    folder = dataset_to_migrate(address, schema_name)
    with ExitStack() as held:
        if not is_read_only:
            check_writable(folder)
            held.enter_context(holding(folder, patience))
            remove_leftovers(folder)
            settle(DeltaLake(folder))
        yield LakeMigration(DeltaStore(folder, is_read_only), ABILITIES, stored, is_read_only)
