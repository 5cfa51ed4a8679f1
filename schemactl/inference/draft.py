"""Tables under construction: what inference writes down while it goes through documents (``resolve``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemactl.schema.types import Column, Table


@dataclass(slots=True)
class TableDraft:
    """A table under construction, changed in place.

    Attributes:
        name: the table's.
        columns: their properties as dlt writes them, by name.
        properties: of the table itself.
        has_data: whether a row was met.
        is_changed: whether it was changed since ``root_keys`` were last asked.
    """

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
            marks = {
                key: value
                for key, value in (properties.get("x-normalizer") or {}).items()
                if key != "evolve-columns-once"
            }
            properties["x-normalizer"] = {**marks, "seen-data": True}
        return Table(self.name, columns, properties)
