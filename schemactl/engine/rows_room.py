"""Measures numbers that a column of a stated size has no room for, once rows were made and some are left without one.

That is the exception, so it is a look of its own: at no cost for loads in which all values have a place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.cell_values import Value
from schemactl.engine.coercion import coerced
from schemactl.engine.outcome import unrefused
from schemactl.engine.rows import RowFrame
from schemactl.engine.stage import Staged
from schemactl.engine.tables import frames_by_table
from schemactl.normalization.plan import Plan
from schemactl.schema.full_types import DEFAULT_DECIMAL
from schemactl.schema.types import Column, DataType

Span = tuple[float, float]
"""The least and the greatest of some numbers."""

_MOST_DIGITS: Final = DEFAULT_DECIMAL[0]


def measure_unfit(staged: Sequence[Staged], plan: Plan, load_id: str) -> Mapping[tuple[str, str], Span]:
    """Return the range of the numbers that have no room in columns of a stated size, by table and column.

    Numbers that are too large for the widest type too are left out.

    Args:
        staged: what ``stage`` has made for the same plan.
        plan: as ``stage`` was given it.
        load_id: as ``stage`` was given it.
    """
    spans: dict[tuple[str, str], Span] = {}
    for table, frames in frames_by_table(staged, plan, load_id).items():
        for rows in frames:
            for value in rows.values:
                column = _sized(value)
                span = _measure(rows, value, column) if column is not None else None
                if column is not None and span is not None:
                    known = spans.get((table, column.name), span)
                    spans[table, column.name] = (min(known[0], span[0]), max(known[1], span[1]))
    return spans


def _sized(value: Value) -> Column | None:
    """Return the column of a stated size that a number was meant for; None where there is none."""
    columns = (take.target.column for take in value.takes if not take.target.is_exact and value.may_be_left)
    column = next(columns, None)
    return column if column is not None and column.properties.get("precision") and _is_number(column) else None


def _is_number(column: Column) -> bool:
    return column.data_type in (DataType.BIGINT, DataType.DECIMAL, DataType.WEI)


def _measure(rows: RowFrame, value: Value, column: Column) -> Span | None:
    found = _left(rows, value)
    kind = DataType(value.kind)
    if kind is DataType.BIGINT and isinstance(found.schema[value.sql].dataType, T.StringType):
        kind = DataType.WEI  # integers past 63 bits come as digits
    numbers = found.select(coerced(F.col(value.sql), kind, _widest(column)).cast("double").alias("number"))
    span = numbers.agg(F.min("number"), F.max("number")).first()
    return None if span is None or span[0] is None else (span[0], span[1])


def _left(rows: RowFrame, value: Value) -> DataFrame:
    """Return the rows, none of them refused, whose value no column takes."""
    return unrefused(rows, ("*",)).where(value.left_sql())


def _widest(column: Column) -> Column:
    sizes = {} if column.data_type is DataType.BIGINT else {"precision": _MOST_DIGITS}
    kept = {key: each for key, each in column.properties.items() if key != "precision"}
    return replace(column, properties={**kept, **sizes})
