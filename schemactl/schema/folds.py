"""Read and write ``x-folded-from``, the property that folds the values of variants into a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from schemactl.schema.types import Column, Properties

FOLDED_FROM: Final = "x-folded-from"
"""Property of a column: the variant, or the variants, whose values it holds."""


def folded_variants(properties: Properties) -> tuple[str, ...]:
    """Return the names of the variants whose values a column holds."""
    names: Any = properties.get(FOLDED_FROM)
    names = names if isinstance(names, (list, tuple)) else (names,)
    return tuple(name for name in names if isinstance(name, str))


def folds_of(columns: Iterable[Column]) -> dict[str, str]:
    """Return the columns that hold the values of variants, by the names of the variants."""
    return {
        variant: column.name
        for column in columns
        if FOLDED_FROM in column.properties
        for variant in folded_variants(column.properties)
        if variant != column.name
    }


def with_folded(properties: Properties, variants: Iterable[str]) -> dict[str, Any]:
    """Return the properties of a column that holds the values of more variants."""
    names = tuple(dict.fromkeys((*folded_variants(properties), *variants)))
    return {**properties, FOLDED_FROM: names[0] if len(names) == 1 else list(names)}
