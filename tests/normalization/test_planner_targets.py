"""Which types may go to which."""

from __future__ import annotations

from schemactl.schema.coercion import is_ever_coerced
from schemactl.schema.types import DataType

SOMETIMES_FITS = {
    DataType.TEXT: frozenset(DataType),
    DataType.BIGINT: frozenset({DataType.TEXT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI}),
    DataType.DOUBLE: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DECIMAL, DataType.WEI}),
    DataType.DECIMAL: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.WEI}),
    DataType.WEI: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL}),
    DataType.BOOL: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI}),
    DataType.BINARY: frozenset({DataType.TEXT, DataType.BIGINT}),
    DataType.JSON: frozenset({DataType.TEXT}),
    DataType.TIMESTAMP: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.DATE}),
    DataType.DATE: frozenset({DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.TIMESTAMP}),
    DataType.TIME: frozenset({DataType.TEXT}),
}
"""For each column type the types of which some value can be coerced (docs/dlt.md §6.3)."""


def test_the_pairs_are_those_that_coercion_knows():
    for to, kinds in SOMETIMES_FITS.items():
        assert {from_ for from_ in DataType if is_ever_coerced(from_, to)} == kinds | {to}
