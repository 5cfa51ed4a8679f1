"""What a destination holds of a schema: tables and columns, without what only dlt and people read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from schemactl.schema.types import Column, Properties, Schema, Table

Stored = Callable[[Column], Properties]
"""Returns what a destination's catalogue says of a column."""


@dataclass(frozen=True, slots=True)
class NameLimits:
    """What a destination makes of names.

    Attributes:
        max_bytes: of an identifier in UTF-8, beyond which it is cut; None where there is no limit that matters.
        is_case_sensitive: whether names that differ in case alone are different.
    """

    max_bytes: int | None = None
    is_case_sensitive: bool = True


DATABASE_TYPE: Final = "x-database-type"
"""A destination's own type, where dlt's types cannot say it."""

_BOOKKEEPING: Final = "_dlt_"


def structure_of(schema: Schema, other: Schema, stored: Stored) -> Schema:
    """Return what is compared of a schema where it, or the other one, is a destination's catalogue.

    Columns keep what ``stored`` says; those that wait for data are no columns there. Left out are tables that only
    this side has and that prove nothing: dlt's own (one dataset may serve several schemas, and not every destination
    keeps them as tables), and those that dlt makes once they see data. Nothing is said of versions, hints, settings.
    """
    is_marked = any(_has_seen_data(table) for table in schema.tables.values())
    kept = {
        name: Table(name, {column.name: Column(column.name, stored(column)) for column in _columns(table)})
        for name, table in schema.tables.items()
        if _columns(table)
        if name in other.tables or not (_is_bookkeeping(table) or (is_marked and not _has_seen_data(table)))
    }
    return Schema(name=schema.name, tables=kept)


def _columns(table: Table) -> list[Column]:
    return [column for column in table.columns.values() if column.is_complete or DATABASE_TYPE in column.properties]


def _has_seen_data(table: Table) -> bool:
    return bool(table.normalizer_hint("seen-data"))


def _is_bookkeeping(table: Table) -> bool:
    return table.name.lower().startswith(_BOOKKEEPING)
