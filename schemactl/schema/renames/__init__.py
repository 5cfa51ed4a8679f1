"""Finds what has another name: as ``x-renamed-from`` says, as a parent's new name implies, or by likeness."""

from __future__ import annotations

from schemactl.schema.renames.columns import column_renames
from schemactl.schema.renames.tables import is_related, table_renames

__all__ = ["column_renames", "is_related", "table_renames"]
