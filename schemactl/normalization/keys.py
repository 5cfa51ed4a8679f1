"""How the rows of a table get their key (docs/dlt.md §5.4)."""

from __future__ import annotations

from typing import Final

from schemactl.errors import InputError
from schemactl.normalization.plan import RowKey
from schemactl.schema.types import Table

_BY_PRIMARY_KEY: Final = frozenset(("upsert", "insert-only", "cdc"))
_BY_CONTENT: Final = "scd2"


def row_key(table: Table, row_id: str) -> tuple[RowKey, tuple[str, ...]]:
    """Return how rows get their key, and for ``RowKey.PRIMARY_KEY`` the columns that it is made of.

    A root table that is reached through a list makes keys as one that is not (docs/dlt.md §5.6).

    Args:
        table: as the schema has it.
        row_id: the name of ``_dlt_id``.

    Raises:
        InputError: the merge strategy finds rows by a primary key, and there is none.
    """
    if table.is_nested:
        return RowKey.PARENT, ()
    merges = table.properties.get("write_disposition") == "merge"
    strategy = table.properties.get("x-merge-strategy") if merges else None
    if strategy in _BY_PRIMARY_KEY:
        columns = tuple(name for name, column in table.columns.items() if column.properties.get("primary_key"))
        if not columns:
            hint = f"`{strategy}` finds rows by it: give a column `primary_key: true`"
            raise InputError(f"the table `{table.name}` has no primary key", hint=hint)
        return RowKey.PRIMARY_KEY, columns
    if strategy == _BY_CONTENT and _version_column(table) == row_id:
        return RowKey.CONTENT, ()
    return RowKey.RANDOM, ()


def _version_column(table: Table) -> str | None:
    return next((name for name, column in table.columns.items() if column.properties.get("x-row-version")), None)
