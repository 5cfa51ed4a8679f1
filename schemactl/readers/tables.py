"""The tables of a schema as SQL names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemactl.schema.types import Schema


@dataclass(frozen=True)
class ReadTables:
    """The tables that queries may read: ``DATASET.table``, or the table's name alone.

    Attributes:
        columns: the names of each table's columns, in order.
        dataset: the database schema that holds the tables.
        database: the database that holds the dataset; None for any.
    """

    columns: Mapping[str, tuple[str, ...]]
    dataset: str
    database: str | None = None

    @classmethod
    def of(cls, schemas: Iterable[Schema], dataset: str, database: str | None = None) -> ReadTables:
        """Return the tables of several versions of a schema, each with the columns of all versions."""
        columns: dict[str, dict[str, None]] = {}
        for schema in schemas:
            for table in schema.tables.values():
                columns.setdefault(table.name, {}).update(dict.fromkeys(table.columns))
        return cls({table: tuple(names) for table, names in columns.items()}, dataset, database)

    def mentioned_in(self, text: str) -> tuple[str, ...]:
        """Return the tables whose names a text contains, in any case."""
        folded = text.casefold()
        return tuple(table for table in self.columns if table.casefold() in folded)
