"""Which columns are marked as holding personal or confidential data, by hints such as ``x-annotation-pii``."""

from __future__ import annotations

import re
from typing import Final

from schemactl.schema.nesting import chain_of
from schemactl.schema.types import Properties, Schema

_PROTECTIVE: Final = re.compile("pii|classification|sensitiv|gdpr|confidential", re.IGNORECASE)
_OPEN: Final = frozenset(("", "none", "no", "false", "public", "open"))


def is_protective(name: str) -> bool:
    """Return whether a hint of that name marks personal or confidential data (``x-pii``, ``x-classification`` ...)."""
    return _PROTECTIVE.search(name) is not None


def is_marked(properties: Properties) -> bool:
    """Return whether a column or table is marked; ``x-pii: false`` and ``x-classification: public`` are no marks."""
    return any(
        name.startswith("x-") and is_protective(name) and value and str(value).lower() not in _OPEN
        for name, value in properties.items()
    )


def is_personal(schema: Schema, table: str, column: str | None) -> bool:
    """Return whether a column is marked, or its table, or one that it is nested in; whatever the case of its name.

    A variant holds values of another column: where its table has a marked one it may be that. Of no column (None)
    a table's values count as personal where any of its columns is.
    """
    names = {name.casefold(): name for name in schema.tables}
    found = schema.tables.get(names.get(table.casefold(), table))
    if found is None:
        return False
    if any(is_marked(schema.tables[name].properties) for name in chain_of(schema, found.name) if name in schema.tables):
        return True
    marked = {each.name.casefold() for each in found.columns.values() if is_marked(each.properties)}
    if column is None or column.casefold() in marked:
        return bool(marked)
    return bool(marked) and any(
        each.is_variant and each.name.casefold() == column.casefold() for each in found.columns.values()
    )
