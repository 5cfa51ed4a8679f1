"""Finds impossible content of a schema that dlt accepts, for ``schemactl check``.

Faults because of which dlt rejects a schema are found by ``schema.validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from schemactl.errors import did_you_mean
from schemactl.schema.backfill import BACKFILL, backfill_fault, value_fault
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.schema.validation import Finding, Keys

_ENUM: Final = "x-enum"
_LIMITS: Final = ("x-minimum", "x-maximum", "x-exclusive-minimum", "x-exclusive-maximum")
_NUMBERS: Final = (DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI)


def find_faults(schema: Schema, is_elsewhere: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield the faults of a schema; ``is_elsewhere`` tells whether another schema has a table."""
    for table in schema.tables.values():
        for column in table.columns.values():
            yield from _of_column(column, table.name)
        yield from _of_references(table, schema, is_elsewhere)


def _of_column(column: Column, table: str) -> Iterator[Finding]:
    keys: Keys = ("tables", table, "columns", column.name)
    location, properties = f"`{table}.{column.name}`", column.properties
    precision, scale = properties.get("precision"), properties.get("scale")
    if column.data_type is DataType.DECIMAL and precision is not None and scale is not None and scale > precision:
        message = f"{location} is decimal({precision},{scale}): the scale is larger than the precision"
        yield Finding((*keys, "scale"), message, "lower the scale, or raise the precision")
    if fault := backfill_fault(column):
        message = f"`{BACKFILL}` of {location} cannot fill stored rows: {fault}"
        yield Finding((*keys, BACKFILL), message, "set a value that fits the column, or remove `x-backfill`")
    if not isinstance(values := properties.get(_ENUM), list | Mapping | None):
        message = f"`{_ENUM}` of {location} is `{values}`, not a list of values"
        yield Finding((*keys, _ENUM), message, f"`{_ENUM}: [open, closed]`, or codes with labels")
    for name in _LIMITS:
        if column.data_type is not None and (fault := _limit_fault(properties.get(name), column.data_type)):
            yield Finding((*keys, name), f"`{name}` of {location} is no limit: {fault}", "set a value of its type")


def _limit_fault(value: Any, kind: DataType) -> str | None:
    # A limit of 0.5 excludes no whole number and is not one.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if value is None or (is_number and kind in _NUMBERS) else value_fault(value, kind)


def _of_references(table: Table, schema: Schema, is_elsewhere: Callable[[str], bool]) -> Iterator[Finding]:
    for position, reference in enumerate(table.properties.get("references") or ()):
        name = reference["referenced_table"]
        if name not in schema.tables and not is_elsewhere(name):
            keys: Keys = ("tables", table.name, "references", position, "referenced_table")
            message = f"the table `{name}`, which `references` of `{table.name}` names, does not exist"
            yield Finding(keys, message, did_you_mean(name, schema.tables))
