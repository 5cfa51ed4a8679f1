"""The columns of a history: what dlt adds to a table whose strategy is ``scd2`` (docs/dlt.md §1.3)."""

from __future__ import annotations

from typing import Any, Final

from schemactl.inference.draft import TableDraft
from schemactl.schema.naming import Naming
from schemactl.schema.types import DataType

_VALIDITY: Final[dict[str, dict[str, Any]]] = {
    "_dlt_valid_from": {"x-valid-from": True},
    "_dlt_valid_to": {"x-valid-to": True, "x-active-record-timestamp": None},
}
_VERSION: Final[dict[str, Any]] = {"nullable": False, "x-row-version": True, "unique": False, "row_key": False}


def add_history_columns(table: TableDraft, naming: Naming) -> None:
    """Add the columns that dlt adds where a resource states ``scd2``, to a table whose schema file states it alone.

    dlt itself leaves such a table as it is, and its load fails.
    """
    stated = table.properties
    if (stated.get("write_disposition"), stated.get("x-merge-strategy")) != ("merge", "scd2"):
        return
    for name, hints in _VALIDITY.items():
        if not any(table.first_with(hint) for hint in hints if hints[hint]):
            column = {"data_type": str(DataType.TIMESTAMP), "nullable": True, **hints}
            table.columns.setdefault(naming.normalize_identifier(name), {}).update(column)
            table.is_changed = True
    if table.first_with("x-row-version") is None:
        table.columns.setdefault(naming.normalize_identifier("_dlt_id"), {}).update(_VERSION)
        table.is_changed = True
