"""Parses strings as dates, times of day and timestamps, in exactly the forms that dlt 1.31 reads.

ISO 8601 comes first, then a looser form with slashes, colons or no separators (``2024/01/02 3:04``, ``2024``).
Durations and intervals are not read. The grammar was found by running dlt, and tests/parity/test_coercion_parity.py
compares both.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Final

_DATE: Final = re.compile(
    r"""
    (?P<year>[0-9]{4})
    (?P<dash>-|(?![0-9]{2}$))  # without dashes, year and month alone are not a date
    (?: (?P<month>[0-9]{2}) (?: (?P=dash) (?P<day>[0-9]{2}) )?
      | (?P<ordinal>[0-9]{3})
      | W (?P<week>[0-9]{2}) (?: (?P=dash) (?P<weekday>[0-7]) )?
    )
    """,
    re.VERBOSE,
)

_CLOCK: Final = re.compile(
    r"""
    (?P<hour>[0-9]{2})
    (?: (?P<colon>:?) (?P<minute>[0-9]{2})
        (?: (?P=colon) (?P<second>[0-9]{2}) (?: [.,] (?P<fraction>[0-9]+) )? )?
    )?
    (?P<offset> Z | (?P<sign>[+-]) (?P<offset_hours>[0-9]{2}) (?: :? (?P<offset_minutes>[0-9]{2}) | : )? )?
    """,
    re.VERBOSE,
)

_LOOSE: Final = re.compile(
    r"""
    (?: (?P<year>\d{4}) (?: [/:]? (?P<month>\d{2}) [/:]? (?P<day>\d{2}) )? )?
    (?: [ ]? (?P<hour>\d{1,2}) : (?P<minute>\d{1,2}) (?: : (?P<second>\d{1,2}) )?
        (?: [.,|] (?P<fraction>\d{1,9}) )?
    )?
    """,
    re.VERBOSE,
)
r"""Digits of all scripts count here (``\d``), as in dlt."""

_SEPARATOR: Final = re.compile("[T ]")


def parse(text: str) -> datetime | date | time:
    """Parse a string as dlt does; without an offset it stays naive, and fractions beyond microseconds are cut off.

    A timestamp whose offset takes it out of the years 1 to 9999 in UTC is refused: dlt reads it, and fails to store it.

    >>> parse("2024-W05-1"), parse("2024-01-02T03:04Z").isoformat()
    (datetime.date(2024, 1, 29), '2024-01-02T03:04:00+00:00')
    """
    if not text[:1].isdecimal() and text[:1] not in ("T", " "):
        raise ValueError("neither date nor time")
    try:
        return _parse_iso(text)
    except (ValueError, OverflowError):
        return _parse_loose(text)


def _parse_iso(text: str) -> datetime | date | time:
    if text[2:3] == ":":
        return _parse_clock(text, is_extended=True)
    day_text, *clock_text = _SEPARATOR.split(text, maxsplit=1)
    if not day_text and text.startswith("T"):
        return _parse_clock(clock_text[0], is_extended=False)
    day = _parse_day(day_text)
    if not clock_text:
        return day
    moment = datetime.combine(day, _parse_clock(clock_text[0], is_extended="-" in day_text))
    if moment.tzinfo is not None:
        moment.astimezone(UTC)  # overflows out of the calendar
    return moment


def _parse_day(text: str) -> date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("not an ISO 8601 date")
    year = int(match["year"])
    if match["month"]:
        return date(year, int(match["month"]), int(match["day"] or 1))
    if match["ordinal"]:
        day = date(year, 1, 1) + timedelta(days=int(match["ordinal"]) - 1)
        if day.year != year:
            raise ValueError(f"year {year} has no day {match['ordinal']}")
        return day
    # Week 0 and day 0 are the ones before the first, which only dlt knows.
    week, weekday = int(match["week"]), int(match["weekday"] or 1)
    if week > 52:
        date.fromisocalendar(year, week, 1)  # refuses a week that the year does not have
    return date.fromisocalendar(year, 1, 1) + timedelta(weeks=week - 1, days=weekday - 1)


def _parse_clock(text: str, *, is_extended: bool) -> time:
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError("not an ISO 8601 time")
    # `HH:MM` goes with dates of both formats; dlt compares formats only if seconds exist
    is_mixed = not match["colon"] if is_extended else match["colon"] and match["second"]
    if match["minute"] and is_mixed:
        raise ValueError("basic and extended format are mixed")
    return _clock_of(match, _zone(match))


def _clock_of(match: re.Match[str], zone: tzinfo | None = None) -> time:
    hour, minute, second = (int(match[unit] or 0) for unit in ("hour", "minute", "second"))
    return time(hour, minute, second, int((match["fraction"] or "")[:6].ljust(6, "0")), zone)


def _zone(match: re.Match[str]) -> tzinfo | None:
    if not match["offset"]:
        return None
    if match["offset"] == "Z":
        return UTC
    offset = timedelta(hours=int(match["offset_hours"]), minutes=int(match["offset_minutes"] or 0))
    return timezone(-offset if match["sign"] == "-" else offset)


def _parse_loose(text: str) -> datetime | date | time:
    match = _LOOSE.fullmatch(text)
    if match is None:
        raise ValueError("neither date nor time")
    clock = _clock_of(match) if match["hour"] else None
    if not match["year"]:
        assert clock is not None  # a text that is not empty holds one of both
        return clock
    day = date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    return datetime.combine(day, clock) if clock is not None else day
