"""Tables under construction, which inference changes while it reads documents (``resolve``).

Besides columns of the data, drafts get the columns of a history (``scd2``, docs/dlt.md §1.3), and ``RootKeys`` finds
the root tables that pass their row key on to the tables nested in them (docs/dlt.md §5.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from schemactl.inference.identifiers import SystemNames
from schemactl.schema.naming import Naming
from schemactl.schema.settings import NormalizerConfig, with_propagation_tables
from schemactl.schema.types import Column, DataType, Properties, Table


@dataclass(slots=True)
class TableDraft:
    """A table under construction, changed in place; ``is_changed`` since ``RootKeys.update`` last ran."""

    name: str
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    has_data: bool = False
    is_changed: bool = False

    @classmethod
    def of(cls, table: Table) -> TableDraft:
        """Return a draft with the columns and properties of a table."""
        columns = {name: dict(column.properties) for name, column in table.columns.items()}
        return cls(table.name, columns, dict(table.properties))

    def first_with(self, hint: str) -> str | None:
        """Return the first column that has a hint."""
        return next((name for name, hints in self.columns.items() if hints.get(hint)), None)

    def to_table(self) -> Table:
        """Return the table in its current state."""
        columns = {name: Column(name, properties) for name, properties in self.columns.items()}
        properties = dict(self.properties)
        if self.has_data:
            normalizer_hints = properties.get("x-normalizer") or {}
            marks = {key: value for key, value in normalizer_hints.items() if key != "evolve-columns-once"}
            properties["x-normalizer"] = {**marks, "seen-data": True}
        return Table(self.name, columns, properties)


_VALIDITY: Final[dict[str, dict[str, Any]]] = {
    "_dlt_valid_from": {"x-valid-from": True},
    "_dlt_valid_to": {"x-valid-to": True, "x-active-record-timestamp": None},
}
_VERSION: Final[dict[str, Any]] = {"nullable": False, "x-row-version": True, "unique": False, "row_key": False}


def add_history_columns(table: TableDraft, naming: Naming) -> None:
    """Add the columns of ``scd2`` that dlt adds only if a resource, not the schema file, sets that strategy.

    dlt itself leaves such a table without them, and its load fails.
    """
    properties = table.properties
    if (properties.get("write_disposition"), properties.get("x-merge-strategy")) != ("merge", "scd2"):
        return
    for name, hints in _VALIDITY.items():
        if not any(table.first_with(hint) for hint in hints if hints[hint]):
            column = {"data_type": str(DataType.TIMESTAMP), "nullable": True, **hints}
            table.columns.setdefault(naming.normalize_identifier(name), {}).update(column)
            table.is_changed = True
    if table.first_with("x-row-version") is None:
        table.columns.setdefault(naming.normalize_identifier("_dlt_id"), {}).update(_VERSION)
        table.is_changed = True


@dataclass(frozen=True, slots=True)
class RootKeys:
    """Finds the root tables that pass their row key on; ``propagated`` grows as tables change.

    Attributes:
        is_loaded: whether the data is loaded, so that merges find nested rows by the key of their root row.
        propagated: the columns that each root table passes on, with their names in nested tables.
        receivers: the examined tables that have a column for the key; empty before the first ``update``.
    """

    drafts: Mapping[str, TableDraft]
    config: NormalizerConfig
    names: SystemNames
    system_prefix: str
    is_loaded: bool
    propagated: dict[str, dict[str, str]] = field(default_factory=dict)
    receivers: dict[str, TableDraft | None] = field(default_factory=dict)

    def update(self, changed: TableDraft) -> tuple[str, Mapping[str, str]] | None:
        """Return the root table that passes its key on after a change of a table, with the columns it passes on."""
        root = self._root_of(changed)
        # Schemas have thousands of tables: after the first call only the changed table is examined.
        for draft in (changed,) if self.receivers else self.drafts.values():
            self.receivers[draft.name] = draft if draft.first_with("root_key") else None
        receives = (self._root_of(draft) is root for draft in self.receivers.values() if draft)
        # Merges find nested rows by the key of their root row; not for ``scd2`` (docs/dlt.md §5.5).
        strategy = root.properties.get("x-merge-strategy")
        is_merged = root.properties.get("write_disposition") == "merge" and strategy != "scd2"
        merges_below = self.is_loaded and is_merged and self.config.root_key_propagation is None
        is_needed = bool(self.config.root_key_propagation) or any(receives) or merges_below
        if not is_needed or root.name.startswith(self.system_prefix):
            return None
        row_key = root.first_with("row_key") or self.names.row_id
        columns = {row_key: self.names.root_id}
        self.propagated.setdefault(root.name, {}).update(columns)
        return root.name, columns

    def add_to(self, normalizers: Properties) -> Properties:
        """Return a schema's ``normalizers`` section with the propagated columns, as dlt stores them."""
        if not self.propagated:
            return normalizers
        stored_tables = NormalizerConfig.of(normalizers).propagation_tables
        tables = {name: dict(columns) for name, columns in stored_tables.items()}
        for name, columns in self.propagated.items():
            tables.setdefault(name, {}).update(columns)
        return with_propagation_tables(normalizers, tables)

    def _root_of(self, draft: TableDraft) -> TableDraft:
        while parent := draft.properties.get("parent"):
            draft = self.drafts[parent]
        return draft
