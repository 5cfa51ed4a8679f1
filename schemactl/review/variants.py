"""Variant columns: where dlt puts values that do not fit a column's type (docs/dlt.md §6.5)."""

from __future__ import annotations

from schemactl.schema.naming import naming_of
from schemactl.schema.types import Column, DataType, Schema, Table

_ENDINGS = frozenset(f"v_{name}" for name in (*DataType, "complex"))


def path_separator(schema: Schema) -> str:
    """Return what parts the names of a path in the schema's naming convention, ``__`` in most."""
    return naming_of(schema).path_separator


def variant_of(column: Column, table: Table | None, separator: str) -> str | None:
    """Return the column that this one is a variant of by its name, None where the table has no such column.

    Args:
        column: stated as a variant or not; older schemas mark it by the name alone.
        table: where the other column is looked for.
        separator: see ``path_separator``.
    """
    name, _, ending = column.name.rpartition(separator)
    return name if ending in _ENDINGS and table is not None and name in table.columns else None
