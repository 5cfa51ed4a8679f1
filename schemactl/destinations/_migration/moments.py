"""Conversions to and from timestamps, dates and times of day."""

from __future__ import annotations

from schemactl.destinations._migration import forms
from schemactl.destinations._migration.words import FALSE, TRUE, Converted, Retype, Words, by_cast, conjoin
from schemactl.schema.types import Column, DataType


def _is_zoned(column: Column) -> bool:
    return column.properties.get("timezone") is not False


def _naive(retype: Retype, value: str) -> str:
    """Return a timestamp column's value in UTC, without its zone."""
    return f"({value} AT TIME ZONE 'UTC')" if _is_zoned(retype.before) else value


def _moment(retype: Retype, form: str, naive: str, words: Words) -> Converted:
    """Return how a timestamp without a zone, in UTC, becomes the new column's."""
    value = f"({naive}) AT TIME ZONE 'UTC'" if _is_zoned(retype.after) else naive
    return by_cast(form, _keeps_fraction(retype, naive, words), value)


def _keeps_fraction(retype: Retype, naive: str, words: Words) -> str:
    if not retype.is_strict or retype.after.properties.get("precision") in (None, 6):
        return TRUE
    sized = words.type_of(Column("", {**retype.after.properties, "timezone": False}))
    return f"coalesce(CAST({words.try_cast(naive, sized)} AS TIMESTAMP) = {naive}, FALSE)"


def moment_of_moment(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a moment becomes a moment."""
    return _moment(retype, TRUE, _naive(retype, value), words)


def moment_of_date(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a date becomes a moment."""
    return _moment(retype, _is_date(value), f"CAST({value} AS TIMESTAMP)", words)


def _is_date(value: str) -> str:
    return f"{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def _is_moment(naive: str) -> str:
    return f"{naive} >= TIMESTAMP '0001-01-01 00:00:00' AND {naive} <= TIMESTAMP '9999-12-31 23:59:59.999999'"


def moment_of_text(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a moment."""
    # Years at the ends of Python's calendar may leave it with an offset.
    inside = f"(left({value}, 4) NOT IN ('0001', '9999') OR {words.matches(value, '.{10}[^+-]*')})"
    form = conjoin(words.matches(value, forms.MOMENT), f"left({value}, 4) <> '0000'", inside)
    zoned = f"CAST({value} AS TIMESTAMPTZ)"
    naive = f"({zoned} AT TIME ZONE 'UTC')"
    kept = _keeps_fraction(retype, naive, words)
    readable = words.is_readable(value, "TIMESTAMPTZ")
    moment = zoned if _is_zoned(retype.after) else naive
    return by_cast(form, kept, moment, words.is_trusted_moment(value), readable)


def moment_of_number(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a number becomes a moment."""
    naive = words.seconds(value, retype.before.data_type is DataType.DOUBLE)
    return _moment(retype, _are_seconds(retype, value), naive, words)


def _are_seconds(retype: Retype, value: str) -> str:
    if not retype.counts_seconds:
        return FALSE  # the meaning of the numbers would change
    in_years = f"{value} BETWEEN -62135596800 AND 253402300799"
    if retype.before.data_type is not DataType.DOUBLE:
        return in_years
    # Microseconds that the database surely rounds as Python does: small numbers, not near the middle of two.
    micro = f"{value} * 1e6"
    is_near = f"abs({value}) < 4294967296e0 AND abs({micro} - round({micro})) < 0.25"
    return f"(({value} = trunc({value}) AND {in_years}) OR ({is_near}))"


def date_of_moment(retype: Retype, value: str, _: Words) -> Converted:
    """Return how a moment becomes a date."""
    naive = _naive(retype, value)
    day = f"CAST({naive} AS DATE)"
    keeps = f"CAST({day} AS TIMESTAMP) = {naive}" if retype.is_strict else TRUE
    return by_cast(_is_moment(naive), keeps, day)


def date_of_number(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a number becomes a date."""
    naive = words.seconds(value, retype.before.data_type is DataType.DOUBLE)
    day = f"CAST({naive} AS DATE)"
    return by_cast(_are_seconds(retype, value), f"CAST({day} AS TIMESTAMP) = {naive}", day)


def date_of_text(_: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a date."""
    form = conjoin(words.matches(value, forms.DAY_ALONE), f"left({value}, 4) <> '0000'")
    return by_cast(form, TRUE, f"CAST({value} AS DATE)", words.is_trusted_date(value), words.is_readable(value, "DATE"))


def time_of_text(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a time."""
    found = f"CAST({value} AS TIME)"
    form, kept = words.matches(value, forms.CLOCK), _keeps_time(retype, found, words)
    return by_cast(form, kept, found, words.is_trusted_time(value), words.is_readable(value, "TIME"))


def time_of_time(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a time becomes a time."""
    return by_cast(TRUE, _keeps_time(retype, value, words), value)


def _keeps_time(retype: Retype, value: str, words: Words) -> str:
    if not retype.is_strict or retype.after.properties.get("precision") in (None, 6):
        return TRUE
    return f"CAST({value} AS {words.type_of(retype.after)}) = {value}"


def text_of_moment(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a moment becomes a text."""
    naive = _naive(retype, value)
    text = words.moment_text(naive)
    return by_cast(_is_moment(naive), TRUE, f"{text} || '+00:00'" if _is_zoned(retype.before) else text)


def text_of_date(_: Retype, value: str, words: Words) -> Converted:
    """Return how a date becomes a text."""
    return by_cast(_is_date(value), TRUE, f"CAST({value} AS {words.text})")


def text_of_time(_: Retype, value: str, words: Words) -> Converted:
    """Return how a time becomes a text."""
    text = f"CAST({value} AS {words.text})"
    padded = f"CASE WHEN {text} LIKE '%.%' THEN rpad({text}, 15, '0') ELSE {text} END"
    return by_cast(f"{text} NOT LIKE '24%'", TRUE, padded)
