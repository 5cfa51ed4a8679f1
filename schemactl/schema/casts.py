"""How queries that cast a column survive when the column changes its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from schemactl.schema.conversions import SPELLED_DIFFERENTLY, Conversion
from schemactl.schema.full_types import FullType, conversion_between, full_type
from schemactl.schema.types import Column, DataType


@dataclass(frozen=True, slots=True)
class Cast:
    """The cast of a column in a query: ``cast(amount as text)``, ``amount::text``.

    Attributes:
        target: the type, without a size.
        has_time_zone: whether a timestamp knows its time zone.
        is_operand: whether the result of the cast is an operand in turn.
    """

    target: DataType
    has_time_zone: bool
    is_operand: bool


@dataclass(frozen=True, slots=True)
class TypeChange:
    """The types of a column before and after a change."""

    before: FullType
    after: FullType


def type_change_between(before: Column, after: Column) -> TypeChange | None:
    """Return the types of a column; None if one is incomplete."""
    type_before, type_after = full_type(before.properties), full_type(after.properties)
    return TypeChange(type_before, type_after) if type_before is not None and type_after is not None else None


class CastOutcome(Enum):
    """The effect of another type of a column on a cast of it."""

    SAME = "the cast returns the values that it returned before"
    OTHER = "the cast works for all values, but may return other ones"
    FAILS = "the cast may fail"


_NUMBERS: Final = frozenset((DataType.BIGINT, DataType.WEI, DataType.DECIMAL, DataType.DOUBLE))
_EXACT_NUMBERS: Final = _NUMBERS - {DataType.DOUBLE}

_CASTABLE: Final[Mapping[DataType, frozenset[DataType]]] = {
    DataType.TEXT: frozenset(DataType) - {DataType.BINARY, DataType.JSON},
    DataType.DOUBLE: _NUMBERS,
    DataType.DECIMAL: _EXACT_NUMBERS,
    DataType.TIMESTAMP: frozenset((DataType.TIMESTAMP, DataType.DATE)),
    DataType.DATE: frozenset((DataType.DATE, DataType.TIMESTAMP)),
    **{data_type: frozenset((data_type,)) for data_type in (DataType.BIGINT, DataType.BOOL, DataType.TIME)},
}
"""The types of columns that a cast to a type accepts, whatever their values, on DuckDB, PostgreSQL, BigQuery and
Snowflake; a decimal without a size, as PostgreSQL has it. Casts to other types may fail."""


def cast_outcome(cast: Cast, change: TypeChange) -> CastOutcome:
    """Return the effect of another type of a column on a cast of it (tests/schema/test_casts.py, on two databases)."""
    if change.after.data_type not in _CASTABLE.get(cast.target, frozenset()):
        return CastOutcome.FAILS
    return CastOutcome.SAME if _returns_same(cast, change) else CastOutcome.OTHER


def _returns_same(cast: Cast, change: TypeChange) -> bool:
    """Return whether a cast of a converted value returns the cast of the old value, if the value survives."""
    before, after = change.before.data_type, change.after.data_type
    if before != after and conversion_between(change.before, change.after) in (Conversion.LOSES, Conversion.REFUSED):
        return False
    if before == after and (change.before.scale or 0) > (change.after.scale or 0):
        return False
    if cast.target is DataType.TEXT:
        # `007` is 7 as a number: a text is the same only as a text.
        kinds = {before, after}
        is_number_text = before is not DataType.TEXT or after is DataType.TEXT
        return is_number_text and not kinds & SPELLED_DIFFERENTLY and not (change.before.scale or change.after.scale)
    if cast.target in (DataType.DOUBLE, DataType.DECIMAL) and after in _EXACT_NUMBERS:
        return before in _EXACT_NUMBERS or before is DataType.TEXT
    if cast.target is not after or before == after:
        return False
    # Dates and texts without an offset are times of the session's zone.
    return after is not DataType.TIMESTAMP or (
        cast.has_time_zone is change.after.timezone and not (before is DataType.DATE and cast.has_time_zone)
    )
