"""Recognize changes that alter a schema's hash and nothing that anybody stores, writes or reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemactl.review.hints import constrains_values, is_unset, max_nesting
from schemactl.schema.arrow_hint import NESTED_TYPE, are_same
from schemactl.schema.changes import (
    Change,
    ColumnPropertyChanged,
    ColumnsReordered,
    HeaderChanged,
    NullabilityChanged,
    TablePropertyChanged,
)
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE
from schemactl.schema.renames import ID
from schemactl.schema.structure import DATABASE_TYPE

_BOOKKEEPING = frozenset(("version", "version_hash", "previous_hashes", "imported_version_hash"))
"""Keys at the top that are not part of the hashed content (docs/dlt.md §2.1)."""

_MEANINGFUL = frozenset(("x-merge-strategy", "x-source-names", SPARK_TYPE, FIELDS, DATABASE_TYPE, ID))
"""Hints that change how data is loaded, stored or found."""


def is_content(change: Change) -> bool:
    """Return whether the hash depends on a change."""
    return not (isinstance(change, HeaderChanged) and change.name in _BOOKKEEPING)


def is_cosmetic(changes: Iterable[Change]) -> bool:
    """Return whether only hints, wording and order changed; true if nothing changed."""
    return all(cosmetic_kind(change) is not None for change in changes if is_content(change))


def cosmetic_kind(change: Change) -> str | None:
    """Return the plural noun for a cosmetic change; None if the change is more than cosmetic."""
    match change:
        case ColumnsReordered():
            return "the order of columns"
        case NullabilityChanged():
            return "explicit or omitted defaults" if change.is_restated else None
        case TablePropertyChanged(name="schema_contract"):
            # Even null is a contract: it overrides the schema's.
            return None
        case TablePropertyChanged(name="x-normalizer") if max_nesting(change.before) != max_nesting(change.after):
            return None
        case HeaderChanged() | TablePropertyChanged() | ColumnPropertyChanged():
            return _property_noun(change.name, change.before, change.after)
        case _:
            return None


def _property_noun(name: str, before: Any, after: Any) -> str | None:
    if name == "description":
        return "descriptions"
    if name == "engine_version":
        return "the engine version"
    if name == NESTED_TYPE:
        return "`x-` hints" if are_same(before, after) else None
    if name.startswith("x-"):
        return None if name in _MEANINGFUL or constrains_values(name) else "`x-` hints"
    if is_unset(before) and is_unset(after):
        return "explicit or omitted defaults"
    return None
