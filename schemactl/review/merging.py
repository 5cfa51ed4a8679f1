"""How rows of a table are merged, as dlt's merges go by it (docs/dlt.md)."""

from __future__ import annotations

from typing import Final

from schemactl.schema.types import Table

STRATEGY: Final = "x-merge-strategy"
DELETE_INSERT: Final = "delete-insert"
"""The strategy where none is stated."""

SCD2: Final = "scd2"
INSERT_ONLY: Final = "insert-only"
UPSERT: Final = "upsert"


def merge_strategy(table: Table | None) -> str | None:
    """Return how rows of a table are merged, None where they are not."""
    if table is None or table.properties.get("write_disposition") != "merge":
        return None
    return str(table.properties.get(STRATEGY) or DELETE_INSERT)


def has_primary_key(table: Table) -> bool:
    """Return whether a table has a primary key."""
    return any(column.properties.get("primary_key") for column in table.columns.values())
