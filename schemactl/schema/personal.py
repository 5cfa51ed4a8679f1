"""Finds the columns that hints mark as personal or confidential, such as ``x-annotation-pii``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from schemactl.schema.types import Properties, Schema, chain_of

_PROTECTIVE: Final = re.compile("pii|classification|sensitiv|gdpr|confidential", re.IGNORECASE)
_OPEN: Final = frozenset(("", "none", "no", "false", "public", "open"))


def is_protective(name: str) -> bool:
    """Return whether a hint of that name marks personal or confidential data (``x-pii``, ``x-classification`` ...)."""
    return _PROTECTIVE.search(name) is not None


def is_marked(properties: Properties) -> bool:
    """Return whether a column or table is marked; ``x-pii: false`` and ``x-classification: public`` are not marks."""
    return any(
        name.startswith("x-") and is_protective(name) and value and str(value).lower() not in _OPEN
        for name, value in properties.items()
    )


def is_personal(schema: Schema, table: str, column: str | None) -> bool:
    """Return whether a column is marked, or its table, or one that it is nested in; whatever the case of its name.

    A variant has values of another column, which may be any marked column of its table. Without a column (None)
    a table's values count as personal if any of its columns is.
    """
    name = _known(table, schema.tables)
    if name is None:
        return False
    tables = (schema.tables[ancestor] for ancestor in chain_of(schema, name) if ancestor in schema.tables)
    if any(is_marked(of.properties) for of in tables):
        return True
    columns = schema.tables[name].columns
    column_name = _known(column, columns) if column is not None else None
    if column_name is not None and not columns[column_name].is_variant:
        return is_marked(columns[column_name].properties)
    return (column is None or column_name is not None) and any(is_marked(of.properties) for of in columns.values())


def _known(name: str, names: Collection[str]) -> str | None:
    """Return the spelling of a name in ``names``, ignoring case; None if it is missing."""
    if name in names:
        return name
    return next((candidate for candidate in names if candidate.casefold() == name.casefold()), None)
