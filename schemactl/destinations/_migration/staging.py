"""dlt's staging dataset: copies of tables that dlt fills anew with each load, and merges or replaces from.

Where a table changes, its copy has to change as well, else the next merge puts values of the old types into the new
columns, or leaves out a column that may not be null. A copy holds nothing that dlt needs again: it is dropped, as dlt's
own `refresh` does, with what says that the dataset is up to date; so the next load makes it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from schemactl.destinations._session import qualify
from schemactl.migration.steps import (
    ChangeType,
    DropColumn,
    DropNotNull,
    DropTable,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    Step,
    SwapColumns,
    table_of,
)
from schemactl.schema.templates import VERSION_TABLE

_LAYOUT: Final = "{}_staging"
"""dlt's default of ``staging_dataset_name_layout``."""

_Outdating = (
    ChangeType | DropColumn | DropNotNull | DropTable | RenameColumn | RenameTable | RestoreColumn | SwapColumns
)
"""Steps after which dlt would not change the copy by itself: it only ever adds columns."""


class _Database(Protocol):
    def execute(self, statement: str) -> int: ...

    def relation_names(self, dataset: str) -> list[str]: ...


def staging_of(dataset: str) -> str:
    """Return the name of dlt's staging dataset beside a dataset."""
    return _LAYOUT.format(dataset)


def outdated_copies(database: _Database, dataset: str, steps: Sequence[Step]) -> list[str]:
    """Return the tables of the staging dataset that would not fit any more once steps have run.

    Args:
        database: where.
        dataset: that the steps are about.
        steps: in their order.
    """
    changed = {_old_name(step).lower() for step in steps if isinstance(step, _Outdating)}
    if not changed:
        return []
    names = database.relation_names(staging_of(dataset))
    is_dlts = any(name.lower() == VERSION_TABLE for name in names)
    return [name for name in names if name.lower() in changed] if is_dlts else []


def drop_outdated_copies(database: _Database, dataset: str, steps: Sequence[Step]) -> None:
    """Drop what would not fit any more; see ``outdated_copies``."""
    staging = staging_of(dataset)
    outdated = outdated_copies(database, dataset, steps)
    for name in outdated:
        database.execute(f"DROP TABLE {qualify(staging, name)}")
    if outdated:
        versions = next(name for name in database.relation_names(staging) if name.lower() == VERSION_TABLE)
        database.execute(f"DELETE FROM {qualify(staging, versions)}")


def _old_name(step: Step) -> str:
    return step.before if isinstance(step, RenameTable) else table_of(step)
