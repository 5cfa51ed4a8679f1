"""Describe columns, types, values and counts in words, for messages and for everything that people read."""

from __future__ import annotations

import json
from typing import Any, Final

from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.arrow_hint import describe as describe_nested
from schemactl.schema.contract import PROMOTION_HINT, Promotion, promotion_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties

_LONGEST_VALUE: Final = 80


def survival(values: int) -> str:
    """Return that all of a number of values survive a change.

    >>> survival(1_204_331)
    'all 1,204,331 values survive'
    """
    if not values:
        return "no values"
    return "the only value survives" if values == 1 else f"all {values:,} values survive"


def counted(number: int, noun: str) -> str:
    """Return a number with the noun that it counts: ``1 column``, ``3,000 columns``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def describe_column(column: Column) -> str:
    """Return a column's type, and its hints that are true: ``bigint, not null, primary_key``.

    The nested type of a JSON column follows its type: ``json as `list<item: double>` ``.
    """
    nested_type = column.properties.get(NESTED_TYPE)
    column_type = describe_type(column.properties)
    if isinstance(nested_type, str) and column.data_type is DataType.JSON:
        column_type += f" as `{_shortened(describe_nested(nested_type))}`"
    true_hints = (name for name, value in column.properties.items() if value is True)
    hints = (name for name in true_hints if name not in ("nullable", "timezone"))
    mode = describe_promotion(column.properties)
    return ", ".join((column_type, *(() if column.nullable else ("not null",)), *hints, *([mode] if mode else [])))


def describe_promotion(properties: Properties) -> str:
    """Return the mode in the hint of a column, a table or settings by which data makes columns wider; else nothing."""
    mode = promotion_of(properties.get(PROMOTION_HINT))
    return "" if mode in (None, Promotion.VARIANT) else f"data_type={mode}"


def describe_type(properties: Properties) -> str:
    """Return the type in a column's properties: ``decimal(10, 2)``, ``timestamp(6) without time zone``.

    A type of the database itself follows dlt's type: ``text, stored as `citext` ``.
    """
    name = str(properties.get("data_type") or properties.get(DATABASE_TYPE) or "no type")
    precision, scale = properties.get("precision"), properties.get("scale")
    numbers = "" if precision is None else str(precision)
    if scale is not None:
        numbers = f"{numbers}, {scale}" if numbers else f"scale {scale}"
    timezone = properties.get("timezone")
    zone = "" if timezone is None else " with time zone" if timezone else " without time zone"
    database_type = properties.get(DATABASE_TYPE) if properties.get("data_type") else None
    ending = zone if database_type is None else f"{zone}, stored as `{database_type}`"
    return f"{name}({numbers}){ending}" if numbers else f"{name}{ending}"


def show_value(value: Any) -> str:
    """Return a value as JSON on one line; a long value is cut."""
    return _shortened(json.dumps(value, ensure_ascii=False, default=str))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
