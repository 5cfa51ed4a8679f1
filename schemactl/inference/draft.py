"""Tables under construction: what inference writes down while it goes through documents (``resolve``).

Besides columns of the data, these are the columns of a history (``scd2``, docs/dlt.md §1.3), and which root tables pass
their row key on to the tables nested in them (docs/dlt.md §5.5).
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
    """A table under construction, changed in place; ``is_changed`` since ``RootKeys`` were last asked."""

    name: str
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    has_data: bool = False
    is_changed: bool = False

    @classmethod
    def of(cls, table: Table) -> TableDraft:
        """Return a draft that begins as a table is."""
        columns = {name: dict(column.properties) for name, column in table.columns.items()}
        return cls(table.name, columns, dict(table.properties))

    def first_with(self, hint: str) -> str | None:
        """Return the first column that has a hint."""
        return next((name for name, stated in self.columns.items() if stated.get(hint)), None)

    def to_table(self) -> Table:
        """Return the table as it is by now."""
        columns = {name: Column(name, properties) for name, properties in self.columns.items()}
        properties = dict(self.properties)
        if self.has_data:
            stated = properties.get("x-normalizer") or {}
            marks = {key: value for key, value in stated.items() if key != "evolve-columns-once"}
            properties["x-normalizer"] = {**marks, "seen-data": True}
        return Table(self.name, columns, properties)


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


@dataclass(frozen=True, slots=True)
class RootKeys:
    """Finds the root tables that pass their row key on; ``found`` grows as tables change.

    Attributes:
        drafts: all tables as they are by now, by name.
        names: what dlt's own columns are called.
        system_prefix: how the names of dlt's own tables begin.
        is_loaded: whether the data is loaded, so that merges find nested rows by the key of their root row.
        found: what each root table passes on: columns with their names below.
        askers: the tables that have a column for the key, as far as they were looked at; empty before the first one.
    """

    drafts: Mapping[str, TableDraft]
    config: NormalizerConfig
    names: SystemNames
    system_prefix: str
    is_loaded: bool
    found: dict[str, dict[str, str]] = field(default_factory=dict)
    askers: dict[str, TableDraft | None] = field(default_factory=dict)

    def ask(self, changed: TableDraft) -> tuple[str, Mapping[str, str]] | None:
        """Return the root table that passes its key on after a change of a table, with what it passes on."""
        root = self._root_of(changed)
        # Of thousands of tables only the changed one is looked at again.
        for draft in (changed,) if self.askers else self.drafts.values():
            self.askers[draft.name] = draft if draft.first_with("root_key") else None
        asks = (self._root_of(draft) is root for draft in self.askers.values() if draft)
        # Merges find nested rows by the key of their root row; not for ``scd2`` (docs/dlt.md §5.5).
        strategy = root.properties.get("x-merge-strategy")
        is_merged = root.properties.get("write_disposition") == "merge" and strategy != "scd2"
        merges_below = self.is_loaded and is_merged and self.config.root_key_propagation is None
        is_asked = bool(self.config.root_key_propagation) or any(asks) or merges_below
        if not is_asked or root.name.startswith(self.system_prefix):
            return None
        row_key = root.first_with("row_key") or self.names.row_id
        columns = {row_key: self.names.root_id}
        self.found.setdefault(root.name, {}).update(columns)
        return root.name, columns

    def write_down(self, normalizers: Properties) -> Properties:
        """Return a schema's ``normalizers`` section with what was found in it, as dlt stores it."""
        if not self.found:
            return normalizers
        known = NormalizerConfig.of(normalizers).propagation_tables
        tables = {name: dict(columns) for name, columns in known.items()}
        for name, columns in self.found.items():
            tables.setdefault(name, {}).update(columns)
        return with_propagation_tables(normalizers, tables)

    def _root_of(self, draft: TableDraft) -> TableDraft:
        while parent := draft.properties.get("parent"):
            draft = self.drafts[parent]
        return draft
