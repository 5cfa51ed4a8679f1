"""Coercion of dates, times of day and timestamps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.coercions.instants import day, midnight, timestamp
from schemactl.schema.types import DataType

Coercers = Mapping[DataType, Callable[[Column], Column]]

_CLOCK_LENGTH = len("03:04:05.000006")
_MOMENT_LENGTH = len("2024-01-02T03:04:05.000006")


def _naive_to_text(value: Column) -> Column:
    text = F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
    return _padded(text, _MOMENT_LENGTH)


def _instant_to_text(value: Column) -> Column:
    return F.concat(_naive_to_text(timestamp(F.unix_micros(value), naive=True)), F.lit("+00:00"))


def _padded(text: Column, length: int) -> Column:
    """Return a text of a time with six digits of a second, or none, as Python writes it."""
    return F.when(text.contains("."), F.rpad(text, length, "0")).otherwise(text)


def _moment_to_day(value: Column) -> Column:
    return day(F.unix_micros(value))


def _day_to_text(value: Column) -> Column:
    return value.cast("string")


def _clock_to_clock(value: Column) -> Column:
    return value.cast("time(6)")


def _clock_to_text(value: Column) -> Column:
    return _padded(value.cast("string"), _CLOCK_LENGTH)


def _same(value: Column) -> Column:
    return value


OF_INSTANT: Final[Coercers] = {
    DataType.TIMESTAMP: F.unix_micros,
    DataType.TEXT: _instant_to_text,
    DataType.DATE: _moment_to_day,
}
OF_NAIVE: Final[Coercers] = {**OF_INSTANT, DataType.TEXT: _naive_to_text}
OF_DATE: Final[Coercers] = {DataType.DATE: _same, DataType.TEXT: _day_to_text, DataType.TIMESTAMP: midnight}
OF_TIME: Final[Coercers] = {DataType.TIME: _clock_to_clock, DataType.TEXT: _clock_to_text}
