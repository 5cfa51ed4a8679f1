"""Moments, days and times of day as numbers: whatever the session's time zone, they stay in UTC."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

MICROS: Final = 1_000_000
DAY_SECONDS: Final = 86_400
FIRST_SECOND: Final = -62_135_596_800
LAST_SECOND: Final = 253_402_300_799
"""Python's calendar, the years 1 to 9999; Spark's goes further."""

_EPOCH: Final = "1970-01-01 00:00:00"


def timestamp(micros: Column, *, naive: bool) -> Column:
    """Return the TIMESTAMP, or TIMESTAMP_NTZ if ``naive``, of microseconds since 1970."""
    if naive:
        return F.timestamp_add("MICROSECOND", micros, F.lit(_EPOCH).cast("timestamp_ntz"))
    return F.timestamp_micros(micros)


def in_calendar(micros: Column) -> Column:
    """Return microseconds since 1970, null outside the years 1 to 9999."""
    return F.when(micros.between(FIRST_SECOND * MICROS, (LAST_SECOND + 1) * MICROS - 1), micros)


def day(micros: Column) -> Column:
    """Return the DATE of microseconds since 1970."""
    whole = micros - F.pmod(micros, F.lit(DAY_SECONDS * MICROS))
    return F.date_from_unix_date(F.call_function("div", whole, F.lit(DAY_SECONDS * MICROS)).cast("int"))


def midnight(date: Column) -> Column:
    """Return microseconds since 1970 of a DATE."""
    return F.unix_date(date).cast("bigint") * F.lit(DAY_SECONDS * MICROS)
