"""Which row keys root tables pass on to the tables nested in them (docs/dlt.md §5.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemactl.inference.draft import TableDraft
from schemactl.inference.identifiers import SystemNames
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import Properties


@dataclass(frozen=True, slots=True)
class RootKeys:
    """What was found so far; ``found`` grows as tables change.

    Attributes:
        drafts: all tables as they are by now, by name.
        config: the schema's ``normalizers`` section.
        names: what dlt's own columns are called.
        system_prefix: how the names of dlt's own tables begin.
        is_loaded: whether the data is loaded, so that merges find nested rows by the key of their root row.
        found: what each root table passes on: columns with their names below.
    """

    drafts: Mapping[str, TableDraft]
    config: NormalizerConfig
    names: SystemNames
    system_prefix: str
    is_loaded: bool
    found: dict[str, dict[str, str]] = field(default_factory=dict)

    def ask(self, changed: TableDraft) -> tuple[str, Mapping[str, str]] | None:
        """Return the root table that passes its key on after a change of a table, with what it passes on."""
        root = self._root_of(changed)
        if not (self._is_asked(root) or self._merges_below(root)) or root.name.startswith(self.system_prefix):
            return None
        row_key = root.first_with("row_key") or self.names.row_id
        columns = {row_key: self.names.root_id}
        self.found.setdefault(root.name, {}).update(columns)
        return root.name, columns

    def write_down(self, normalizers: Properties) -> Properties:
        """Return a schema's ``normalizers`` section with what was found in it, as dlt stores it."""
        if not self.found:
            return normalizers
        json_section = dict(normalizers.get("json") or {})
        config = dict(json_section.get("config") or {})
        propagation = dict(config.get("propagation") or {})
        tables: dict[str, Any] = {name: dict(columns) for name, columns in (propagation.get("tables") or {}).items()}
        for name, columns in self.found.items():
            tables.setdefault(name, {}).update(columns)
        config["propagation"] = {**propagation, "tables": tables}
        return {**normalizers, "json": {**json_section, "config": config}}

    def _is_asked(self, root: TableDraft) -> bool:
        chain = (draft for draft in self.drafts.values() if self._root_of(draft) is root)
        return bool(self.config.root_key_propagation) or any(draft.first_with("root_key") for draft in chain)

    def _merges_below(self, root: TableDraft) -> bool:
        """Return whether merges find nested rows by the key of their root row; not for ``scd2`` (docs/dlt.md §5.5)."""
        strategy = root.properties.get("x-merge-strategy")
        is_merged = root.properties.get("write_disposition") == "merge" and strategy != "scd2"
        return self.is_loaded and is_merged and self.config.root_key_propagation is None

    def _root_of(self, draft: TableDraft) -> TableDraft:
        while parent := draft.properties.get("parent"):
            draft = self.drafts[parent]
        return draft
