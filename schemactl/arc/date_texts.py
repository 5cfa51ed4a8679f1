"""Parses single texts by Java's patterns of dates and times, as ``DateTimeFormatter`` does in American English.

Texts are read as Java's strict parser reads them; what was read is resolved STRICT or SMART. A date is the number of
days since 1970-01-01, in any year that Java has; a time of day is in nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final

from schemactl.arc.date_patterns import (
    Literal,
    LocalizedOffset,
    Number,
    Offset,
    Optional,
    Padded,
    Part,
    Sign,
    Text,
    Zone,
    has_zone,
    parse_pattern,
)
from schemactl.arc.zones import find_zone, region_ids, region_names

DAY_NANOS: Final = 86_400 * 10**9
_SECOND: Final = 10**9

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PARTS_OF_DAY: Final = {
    "AM": (0, 720),
    "PM": (720, 1440),
    "midnight": (0, 0),
    "noon": (720, 720),
    "in the morning": (360, 720),
    "in the afternoon": (720, 1080),
    "in the evening": (1080, 1260),
    "at night": (1260, 360),
}
"""The minutes of the day from which and up to which each part of it goes."""

_SHORT_PARTS: Final = {"AM": "a", "PM": "p", "midnight": "mi", "noon": "n"}
_NAMES: Final = {
    ("M", "full"): {name: at for at, name in enumerate(MONTHS, 1)},
    ("M", "short"): {name[:3]: at for at, name in enumerate(MONTHS, 1)},
    ("E", "full"): {name: at for at, name in enumerate(_DAYS, 1)},
    ("E", "short"): {name[:3]: at for at, name in enumerate(_DAYS, 1)},
    ("a", "short"): {"AM": 0, "PM": 1},
    ("B", "short"): {name: at for at, name in enumerate(_PARTS_OF_DAY)},
    ("B", "full"): {name: at for at, name in enumerate(_PARTS_OF_DAY)},
    ("B", "narrow"): {_SHORT_PARTS.get(name, name): at for at, name in enumerate(_PARTS_OF_DAY)},
    ("G", "short"): {"BC": 0, "AD": 1},
    ("G", "full"): {"Before Christ": 0, "Anno Domini": 1},
    ("G", "narrow"): {"B": 0, "A": 1},
    ("Q", "short"): {f"Q{at}": at for at in range(1, 5)},
    ("Q", "full"): {f"{at}{end} quarter": at for at, end in enumerate(("st", "nd", "rd", "th"), 1)},
}
"""Names of a field and a style; of others, which several values share, Java reads the number."""

_RANGES: Final = {
    "G": (0, 1), "y": (1, 10**9), "u": (-999_999_999, 999_999_999), "M": (1, 12), "d": (1, 31), "D": (1, 366),
    "H": (0, 23), "k": (1, 24), "K": (0, 11), "h": (1, 12), "a": (0, 1), "m": (0, 59), "s": (0, 59),
    "n": (0, 10**9 - 1), "N": (0, DAY_NANOS - 1), "A": (0, 86_400_000 - 1), "c": (1, 7), "w": (1, 53), "W": (0, 6),
    "Q": (1, 4), "E": (1, 7), "offset": (-64_800, 64_800),
}  # fmt: skip
_OF_TIME: Final = "HkKhamsnNA"


class _Failed(Exception):
    """The text does not fit."""


@dataclass(slots=True)
class _State:
    """The parts of a text that were read so far."""

    fields: dict[str, int] = field(default_factory=dict)
    zone: tzinfo | None = None

    def copy(self) -> _State:
        return _State(dict(self.fields), self.zone)

    def put(self, name: str, value: int) -> None:
        if self.fields.setdefault(name, value) != value:
            raise _Failed


@dataclass(frozen=True, slots=True)
class Moment:
    """The parts of a text; None for those that it lacks."""

    day: int | None
    nano: int | None
    offset: int | None
    zone: tzinfo | None


class DatePattern:
    """One pattern at work.

    Args:
        pattern: as Java has it.
        is_case_sensitive: whether names and literals have to be written as they are.
        is_strict: whether impossible dates are refused; else the last day of a month is taken for one past it.

    Raises:
        PatternError: it is none.
    """

    def __init__(self, pattern: str, *, is_case_sensitive: bool, is_strict: bool) -> None:
        self.parts = parse_pattern(pattern)
        self.has_zone = has_zone(self.parts)
        self.is_case_sensitive = is_case_sensitive
        self.is_strict = is_strict

    def parse(self, text: str) -> Moment | None:
        """Return what the text says, None where it does not fit."""
        state = _State()
        try:
            end = self._sequence(self.parts, text, 0, state)
            return _Resolver(state.fields, self.is_strict).resolve(state.zone) if end == len(text) else None
        except _Failed:
            return None

    # --- reading ---

    def _sequence(self, parts: Sequence[Part], text: str, at: int, state: _State) -> int:
        for part in parts:
            at = self._part(part, text, at, state)
        return at

    def _part(self, part: Part, text: str, at: int, state: _State) -> int:
        match part:
            case Number():
                return _number(part, text, at, state)
            case Literal(expected):
                if not self._starts(text, at, expected):
                    raise _Failed
                return at + len(expected)
            case Text():
                return self._name(part, text, at, state)
            case Optional(parts):
                return self._optional(parts, text, at, state)
            case Padded(width, inner):
                return self._padded(width, inner, text, at, state)
            case Offset(form, zero):
                return self._offset(form, zero, text, at, state)
            case LocalizedOffset(is_full):
                return self._localized(text, at, state, is_full=is_full)
            case Zone(style):
                return self._zone(style, text, at, state)

    def _optional(self, parts: Sequence[Part], text: str, at: int, state: _State) -> int:
        tried = state.copy()
        try:
            end = self._sequence(parts, text, at, tried)
        except _Failed:
            return at
        state.fields, state.zone = tried.fields, tried.zone
        return end

    def _padded(self, width: int, inner: Part, text: str, at: int, state: _State) -> int:
        end = at + width
        if end > len(text):
            raise _Failed
        start = at
        while start < end and text[start] == " ":
            start += 1
        if self._part(inner, text[:end], start, state) != end:
            raise _Failed
        return end

    def _starts(self, text: str, at: int, expected: str) -> bool:
        found = text[at : at + len(expected)]
        return found == expected if self.is_case_sensitive else found.lower() == expected.lower()

    def _name(self, part: Text, text: str, at: int, state: _State) -> int:
        names = _NAMES.get((part.field, part.style))
        if names is None:
            return _number(Number(part.field, 1, 19, Sign.NORMAL), text, at, state)
        for name in sorted(names, key=len, reverse=True):
            if self._starts(text, at, name):
                if part.field == "B":
                    state.fields.pop("B", None)  # of several parts of the day Java takes the last one
                state.put(part.field, names[name])
                return at + len(name)
        raise _Failed

    def _offset(self, form: str, zero: str, text: str, at: int, state: _State) -> int:
        if zero and self._starts(text, at, zero):
            state.put("offset", 0)
            return at + len(zero)
        found = _OFFSETS[form].match(text, at)
        if found is None:
            raise _Failed
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        if hours > 23 or minutes > 59 or seconds > 59:
            raise _Failed
        total = hours * 3600 + minutes * 60 + seconds
        state.put("offset", -total if found[1] == "-" else total)
        return found.end()

    def _localized(self, text: str, at: int, state: _State, *, is_full: bool) -> int:
        if not self._starts(text, at, "GMT"):
            raise _Failed
        at += 3
        if text[at : at + 1] not in ("+", "-"):
            state.put("offset", 0)
            return at
        found = (_FULL_GMT if is_full else _SHORT_GMT).match(text, at)
        if found is None:
            raise _Failed
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        total = hours * 3600 + minutes * 60 + seconds
        state.put("offset", -total if found[1] == "-" else total)
        return found.end()

    def _zone(self, style: str | None, text: str, at: int, state: _State) -> int:
        start = text[at : at + 3] if self.is_case_sensitive else text[at : at + 3].upper()
        if not start:
            raise _Failed
        if start[0] in "+-":
            return self._zone_offset("", "Z", text, at, state)
        if start == "GMT" and text[at + 3 : at + 4] == "0":
            state.zone = UTC
            return at + 4
        if start in ("GMT", "UTC") and not (start == "UTC" and style):
            return self._zone_offset(start, "0", text, at + 3, state)
        if start[:2] == "UT" and start != "UTC":
            return self._zone_offset("UT", "0", text, at + 2, state)
        names = _zone_names(style, is_case_sensitive=self.is_case_sensitive)
        rest = text[at:] if self.is_case_sensitive else text[at:].lower()
        for length in range(min(len(rest), _LONGEST_NAME), 0, -1):
            if (region := names.get(rest[:length])) is not None:
                state.zone = find_zone(region)
                return at + length
        if start[0] == "Z":
            state.zone = UTC
            return at + 1
        raise _Failed

    def _zone_offset(self, prefix: str, zero: str, text: str, at: int, state: _State) -> int:
        """Read what follows ``UTC``, ``GMT`` or nothing."""
        following = text[at : at + 1]
        if prefix and (not following or following == "0" or following == "Z" or following == "z"):
            state.zone = UTC
            return at
        inner = _State()
        try:
            end = self._offset("+HH:MM:ss", zero, text, at, inner)
        except _Failed:
            if not prefix:
                raise
            state.zone = UTC
            return at
        offset = inner.fields["offset"]
        state.zone = _fixed(offset)
        return end


_OFFSETS: Final = {
    "+HHmm": re.compile(r"([+-])(\d\d)(?:(\d\d))?()", re.ASCII),
    "+HHMM": re.compile(r"([+-])(\d\d)(\d\d)()", re.ASCII),
    "+HH:MM": re.compile(r"([+-])(\d\d):(\d\d)()", re.ASCII),
    "+HHMMss": re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?", re.ASCII),
    "+HH:MM:ss": re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", re.ASCII),
}
_FULL_GMT: Final = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", re.ASCII)
_SHORT_GMT: Final = re.compile(r"([+-])(\d\d?)(?::(\d\d)(?::(\d\d))?)?", re.ASCII)
_LONGEST_NAME: Final = 64


def _fixed(seconds: int) -> tzinfo:
    from datetime import timezone

    if abs(seconds) > _RANGES["offset"][1]:
        raise _Failed
    return timezone(timedelta(seconds=seconds))


@lru_cache(8)
def _zone_names(style: str | None, *, is_case_sensitive: bool) -> dict[str, str]:
    """Return what regions are called, with the regions."""
    names = {name: name for name in region_ids()}
    if style is not None:
        names |= region_names(style)
    return names if is_case_sensitive else {name.lower(): region for name, region in names.items()}


def _number(part: Number, text: str, at: int, state: _State) -> int:  # noqa: C901 - one rule of Java after another
    if at == len(text):
        raise _Failed
    if part.is_fraction:
        return _fraction(part, text, at, state)
    sign = text[at] if text[at] in "+-" else ""
    if sign:
        allowed = part.sign is Sign.EXCEEDS_PAD or (part.sign is Sign.NORMAL and sign == "-")
        if not allowed:
            raise _Failed
        at += 1
    most = part.most + max(part.subsequent, 0)
    end = _digits_end(text, at, most)
    if end - at < part.least:
        raise _Failed
    if part.subsequent > 0:
        end = at + max(part.least, end - at - part.subsequent)
    value = int(text[at:end])
    if sign == "-":
        if value == 0:
            raise _Failed
        value = -value
    # A plus stands before a number that is longer than the pattern, and before no other.
    elif part.sign is Sign.EXCEEDS_PAD and (end - at > part.least) != (sign == "+"):
        raise _Failed
    if part.is_reduced and not sign and end - at == 2:
        value += 2000
    state.put(part.field, value)
    return end


def _fraction(part: Number, text: str, at: int, state: _State) -> int:
    end = _digits_end(text, at, part.most)
    if end - at < part.least:
        raise _Failed
    state.put("n", int(text[at:end]) * 10 ** (9 - (end - at)))
    return end


def _digits_end(text: str, at: int, most: int) -> int:
    end = at
    while end < len(text) and end - at < most and "0" <= text[end] <= "9":
        end += 1
    return end


# --- resolving ---


class _Resolver:
    """Makes a date and a time of fields, as ``java.time.format.Parsed`` does."""

    def __init__(self, fields: dict[str, int], is_strict: bool) -> None:
        self._fields = fields
        self._is_strict = is_strict
        self._states_nanos = False

    def resolve(self, zone: tzinfo | None) -> Moment:
        day = self._day()
        self._clocks()
        nano, carry = self._nano()
        # Like Java, where parts between lack, which no time is made of, none of them is looked at.
        if "H" not in self._fields or not self._has_gap():
            for name in self._fields:
                if name in _OF_TIME:
                    self._check(name)
        offset = self._fields.get("offset")
        if offset is not None:
            self._check("offset")
        self._cross_check(day, nano)
        if day is not None:
            day += carry
        return Moment(day, nano, offset, zone)

    def _check(self, name: str) -> int:
        least, most = _RANGES[name]
        value = self._fields[name]
        if not least <= value <= most:
            raise _Failed
        return value

    def _take(self, name: str) -> int:
        value = self._check(name)
        del self._fields[name]
        return value

    def _update(self, name: str, value: int) -> None:
        if self._fields.setdefault(name, value) != value:
            raise _Failed

    def _day(self) -> int | None:
        fields = self._fields
        if "y" in fields:
            self._year_of_era()
        elif "G" in fields:
            self._check("G")
        day = None
        if "g" in fields:
            day = fields.pop("g") - 40_587
        if "u" in fields:
            if "M" in fields and "d" in fields:
                day = _agreed(day, self._of_month())
            elif "D" in fields:
                year, of_year = self._take("u"), self._take("D")
                if of_year == 366 and not is_leap(year):
                    raise _Failed
                day = _agreed(day, days_of(year, 1, 1) + of_year - 1)
        if "c" in fields:
            # Weeks begin on Sunday.
            local = self._take("c")
            self._update("E", (local + 5) % 7 + 1)
        if day is None and "E" in fields:
            day = self._of_week()
        return day

    def _year_of_era(self) -> None:
        of_era, era = self._take("y"), self._fields.pop("G", None)
        if era is not None:
            if era not in (0, 1):
                raise _Failed
            self._update("u", of_era if era else 1 - of_era)
        elif self._is_strict:
            known = self._fields.get("u")
            if known is None:
                self._fields["y"] = of_era
            else:
                self._update("u", of_era if known > 0 else 1 - of_era)
        else:
            self._update("u", of_era if self._fields.get("u", 1) > 0 else 1 - of_era)

    def _of_month(self) -> int:
        year, month, of_month = self._take("u"), self._take("M"), self._take("d")
        last = month_length(year, month)
        if of_month > last:
            if self._is_strict:
                raise _Failed
            of_month = last
        return days_of(year, month, of_month)

    def _of_week(self) -> int | None:
        fields = self._fields
        local = self._check("E") % 7 + 1
        if "Y" in fields and "w" in fields:
            year, week = fields.pop("Y"), self._take("w")
            del fields["E"]
            first = days_of(year, 1, 1)
            offset = local_weekday(first) - 1
            length = 366 if is_leap(year) else 365
            week = min(week, (7 + offset + length + 1 - 1) // 7 - 1)
            day = first - offset + local - 1 + (week - 1) * 7
            if self._is_strict and week_year(day) != year:
                raise _Failed
            return day
        if "u" in fields and "M" in fields and "W" in fields:
            year, month, week = self._take("u"), self._take("M"), self._take("W")
            del fields["E"]
            first = days_of(year, month, 1)
            day = first + (week - 1) * 7 + local - local_weekday(first)
            if self._is_strict and civil(day)[:2] != (year, month):
                raise _Failed
            return day
        return None

    def _clocks(self) -> None:
        fields = self._fields
        if "k" in fields:
            hour = fields["k"] if not self._is_strict and fields["k"] == 0 else self._check("k")
            del fields["k"]
            self._update("H", 0 if hour == 24 else hour)
        if "h" in fields:
            hour = fields["h"] if not self._is_strict and fields["h"] == 0 else self._check("h")
            del fields["h"]
            self._update("K", 0 if hour == 12 else hour)
        if "a" in fields and "K" in fields:
            half, hour = self._take("a"), self._take("K")
            self._update("H", half * 12 + hour)
        if "B" in fields and "K" in fields:
            hour = self._take("K")
            is_afternoon = _is_within(fields.pop("B"), (hour + 12) * 60 + fields.get("m", 0))
            self._update("H", hour + 12 * is_afternoon)
        if "N" in fields:
            self._of_day(self._take("N"))
        self._states_nanos = "n" in fields
        if "A" in fields:
            milli = self._take("A")
            self._of_day(milli * 10**6)

    def _of_day(self, nano: int) -> None:
        seconds, nano = divmod(nano, _SECOND)
        self._update("H", seconds // 3600)
        self._update("m", seconds // 60 % 60)
        self._update("s", seconds % 60)
        self._update("n", nano)

    def _nano(self) -> tuple[int | None, int]:
        """Return the time of day, and how many days it carries over."""
        fields = self._fields
        minute, second, nano = fields.get("m"), fields.get("s"), fields.get("n")
        if "H" not in fields:
            return (self._middle() if minute is second is nano is None else None), 0
        if self._has_gap():
            return None, 0
        hour, minute, second, nano = fields["H"], minute or 0, second or 0, nano or 0
        # Where all four parts of a time are stated, Java does not look at the part of the day.
        if "B" in fields and not self._states_nanos and not _is_within(fields["B"], hour * 60 + minute):
            raise _Failed
        if hour == 24 and not self._is_strict and minute == second == nano == 0:
            for name in "Hmsn":
                fields.pop(name, None)
            return 0, 1
        for name in "Hmsn":
            if name in fields:
                self._take(name)
        return ((hour * 60 + minute) * 60 + second) * _SECOND + nano, 0

    def _has_gap(self) -> bool:
        """Return whether a part of the time lacks before one that is there."""
        are_there = [name in self._fields for name in "msn"]
        return are_there != sorted(are_there, reverse=True)

    def _middle(self) -> int | None:
        """Return the middle of the part of the day, or of its half, where nothing else says a time."""
        if not self._is_strict and "B" in self._fields:
            begin, end = list(_PARTS_OF_DAY.values())[self._fields["B"]]
            return (begin + end + (1440 if begin > end else 0)) // 2 % 1440 * 60 * _SECOND
        if not self._is_strict and "a" in self._fields:
            return (self._take("a") * 12 + 6) * 3600 * _SECOND
        return None

    def _cross_check(self, day: int | None, nano: int | None) -> None:
        """Refuse fields that say something else than the date and the time that others make."""
        known: dict[str, Callable[[], int]] = {}
        if day is not None:
            known |= _parts_of(day)
        if nano is not None:
            known |= _clock_parts_of(nano)
        for name, value in self._fields.items():
            if name in known and known[name]() != value:
                raise _Failed


def _is_within(part: int, minute: int) -> bool:
    """Return whether a minute of the day is of a part of it; 24:00 is midnight."""
    begin, end = list(_PARTS_OF_DAY.values())[part]
    if begin == end:
        return minute in (begin, begin or 1440)
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def _agreed(known: int | None, day: int) -> int:
    if known is not None and known != day:
        raise _Failed
    return day


def _parts_of(day: int) -> dict[str, Callable[[], int]]:
    year, month, of_month = civil(day)
    return {
        "u": lambda: year,
        "y": lambda: year if year > 0 else 1 - year,
        "G": lambda: int(year > 0),
        "M": lambda: month,
        "d": lambda: of_month,
        "D": lambda: day - days_of(year, 1, 1) + 1,
        "E": lambda: (day + 3) % 7 + 1,
        "Q": lambda: (month + 2) // 3,
        "Y": lambda: week_year(day),
        "w": lambda: week_of_year(day),
        "W": lambda: (local_weekday(days_of(year, month, 1)) - 1 + of_month + 6) // 7,
        "g": lambda: day + 40_587,
    }


def _clock_parts_of(nano: int) -> dict[str, Callable[[], int]]:
    seconds, rest = divmod(nano, _SECOND)
    hour = seconds // 3600
    return {
        "H": lambda: hour,
        "k": lambda: hour or 24,
        "K": lambda: hour % 12,
        "h": lambda: hour % 12 or 12,
        "a": lambda: hour // 12,
        "m": lambda: seconds // 60 % 60,
        "s": lambda: seconds % 60,
        "n": lambda: rest,
        "N": lambda: nano,
        "A": lambda: nano // 10**6,
    }


# --- the calendar, in all of Java's years ---


def is_leap(year: int) -> bool:
    """Return whether a year of the proleptic Gregorian calendar has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Return how many days a month has."""
    return 29 if month == 2 and is_leap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date; numpy's arrays of integers do as well."""
    year = year - (month <= 2)
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of a date."""
    era, of_era = divmod(day + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def local_weekday(day: int) -> int:
    """Return the day of the week, 1 for Sunday."""
    return (day + 4) % 7 + 1


def week_year(day: int) -> int:
    """Return the year of the week of a date: the week with the first of January is the first."""
    year = civil(day)[0]
    following = days_of(year + 1, 1, 1)
    return year + (day > following - local_weekday(following))


def week_of_year(day: int) -> int:
    """Return the number of the week of a date."""
    first = days_of(week_year(day), 1, 1)
    return (day - first + local_weekday(first) - 1) // 7 + 1


# --- instants ---


def instant_of(day: int, nano: int, zone: tzinfo) -> int:
    """Return the nanoseconds since 1970 of a local date and time.

    In the gap of a change of clocks it is moved on by the gap, of two such instants it is the earlier one.
    """
    return day * DAY_NANOS + nano - _offset_seconds(day, nano, zone) * _SECOND


def _offset_seconds(day: int, nano: int, zone: tzinfo) -> int:
    year, month, of_month = civil(day)
    # Years that Python lacks have the rules of the nearest ones.
    known = max(year, 1) if year < 10_000 else 9_600 + year % 400
    seconds = nano // _SECOND
    local = datetime(known, month, min(of_month, month_length(known, month)), tzinfo=zone)
    found: Any = (local + timedelta(seconds=seconds)).utcoffset()
    return int(found.total_seconds())


def iso_time(nano: int) -> str:
    """Return a time of day as Java writes it: seconds always, of a fraction as many digits as it has."""
    seconds, rest = divmod(nano, _SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:09}".rstrip("0") if rest else text
