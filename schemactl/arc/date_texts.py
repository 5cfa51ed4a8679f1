"""Parses single texts by Java's patterns of dates and times, as ``DateTimeFormatter`` does in American English.

Texts are parsed strictly, their fields are resolved STRICT or SMART. A date is a number of days since 1970-01-01, in
any year that Java has; a time of day is in nanoseconds.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final

from schemactl.arc.date_patterns import (
    Element,
    Literal,
    LocalizedOffset,
    Number,
    Offset,
    Optional,
    Padded,
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
"""The first minute of the day of each part of it, and the one after its last."""

_DAY_PARTS: Final = tuple(_PARTS_OF_DAY.values())
_SHORT_PARTS: Final = {"AM": "a", "PM": "p", "midnight": "mi", "noon": "n"}
_NAMES: Final = {
    ("M", "full"): {name: number for number, name in enumerate(MONTHS, 1)},
    ("M", "short"): {name[:3]: number for number, name in enumerate(MONTHS, 1)},
    ("E", "full"): {name: number for number, name in enumerate(_DAYS, 1)},
    ("E", "short"): {name[:3]: number for number, name in enumerate(_DAYS, 1)},
    ("a", "short"): {"AM": 0, "PM": 1},
    ("B", "short"): {name: number for number, name in enumerate(_PARTS_OF_DAY)},
    ("B", "full"): {name: number for number, name in enumerate(_PARTS_OF_DAY)},
    ("B", "narrow"): {_SHORT_PARTS.get(name, name): number for number, name in enumerate(_PARTS_OF_DAY)},
    ("G", "short"): {"BC": 0, "AD": 1},
    ("G", "full"): {"Before Christ": 0, "Anno Domini": 1},
    ("G", "narrow"): {"B": 0, "A": 1},
    ("Q", "short"): {f"Q{number}": number for number in range(1, 5)},
    ("Q", "full"): {f"{number}{end} quarter": number for number, end in enumerate(("st", "nd", "rd", "th"), 1)},
}
"""Names by field and style; of other styles, whose names several values share, Java reads the number."""

_RANGES: Final = {
    "G": (0, 1), "y": (1, 10**9), "u": (-999_999_999, 999_999_999), "M": (1, 12), "d": (1, 31), "D": (1, 366),
    "H": (0, 23), "k": (1, 24), "K": (0, 11), "h": (1, 12), "a": (0, 1), "m": (0, 59), "s": (0, 59),
    "n": (0, 10**9 - 1), "N": (0, DAY_NANOS - 1), "A": (0, 86_400_000 - 1), "c": (1, 7), "w": (1, 53), "W": (0, 6),
    "Q": (1, 4), "E": (1, 7), "offset": (-64_800, 64_800),
}  # fmt: skip
_CLOCK_FIELDS: Final = "HkKhamsnNA"


class _Failed(Exception):
    """The text does not fit."""


@dataclass(slots=True)
class _Parsed:
    """The fields of a text that were parsed so far, and its zone."""

    fields: dict[str, int] = field(default_factory=dict)
    zone: tzinfo | None = None

    def put(self, name: str, value: int) -> None:
        if self.fields.setdefault(name, value) != value:
            raise _Failed


@dataclass(frozen=True, slots=True)
class Moment:
    """The resolved parts of a text; None for missing parts."""

    day: int | None
    nano: int | None
    offset: int | None
    zone: tzinfo | None


class DatePattern:
    """A pattern that parses texts.

    Args:
        pattern: the pattern in Java's letters.
        is_case_sensitive: whether names and literals must have the pattern's case.
        is_strict: whether impossible dates are refused; else a day past the end of a month is its last day.

    Raises:
        PatternError: Java refuses the pattern.
    """

    def __init__(self, pattern: str, *, is_case_sensitive: bool, is_strict: bool) -> None:
        self.elements = parse_pattern(pattern)
        self.has_zone = has_zone(self.elements)
        self.is_case_sensitive = is_case_sensitive
        self.is_strict = is_strict

    def parse(self, text: str) -> Moment | None:
        """Return the date and time of a text, None if it does not fit."""
        parsed = _Parsed()
        try:
            end = self._sequence(self.elements, text, 0, parsed)
            return _Resolver(parsed, self.is_strict).resolve() if end == len(text) else None
        except _Failed:
            return None

    # Each function that parses returns the end of its part of the text.

    def _sequence(self, elements: Sequence[Element], text: str, start: int, parsed: _Parsed) -> int:
        for element in elements:
            start = self._element(element, text, start, parsed)
        return start

    def _element(self, element: Element, text: str, start: int, parsed: _Parsed) -> int:  # noqa: C901 - a case for each kind
        match element:
            case Number():
                return _number(element, text, start, parsed)
            case Literal(expected):
                if not self._starts(text, start, expected):
                    raise _Failed
                return start + len(expected)
            case Text():
                return self._name(element, text, start, parsed)
            case Optional(elements):
                return self._optional(elements, text, start, parsed)
            case Padded(width, inner):
                end = start + width
                padding = len(text[start:end]) - len(text[start:end].lstrip(" "))
                if end > len(text) or self._element(inner, text[:end], start + padding, parsed) != end:
                    raise _Failed
                return end
            case Offset(form, zero):
                return self._offset(form, zero, text, start, parsed)
            case LocalizedOffset(is_full):
                return self._localized_offset(text, start, parsed, is_full=is_full)
            case Zone(style):
                return self._zone(style, text, start, parsed)

    def _optional(self, elements: Sequence[Element], text: str, start: int, parsed: _Parsed) -> int:
        attempt = _Parsed(dict(parsed.fields), parsed.zone)
        try:
            end = self._sequence(elements, text, start, attempt)
        except _Failed:
            return start
        parsed.fields, parsed.zone = attempt.fields, attempt.zone
        return end

    def _starts(self, text: str, start: int, expected: str) -> bool:
        prefix = text[start : start + len(expected)]
        return prefix == expected if self.is_case_sensitive else prefix.lower() == expected.lower()

    def _name(self, element: Text, text: str, start: int, parsed: _Parsed) -> int:
        names = _NAMES.get((element.field, element.style))
        if names is None:
            return _number(Number(element.field, 1, 19, Sign.NORMAL), text, start, parsed)
        for name in sorted(names, key=len, reverse=True):
            if self._starts(text, start, name):
                if element.field == "B":
                    parsed.fields.pop("B", None)  # of several parts of the day Java takes the last one
                parsed.put(element.field, names[name])
                return start + len(name)
        raise _Failed

    def _offset(self, form: str, zero: str, text: str, start: int, parsed: _Parsed) -> int:
        if zero and self._starts(text, start, zero):
            parsed.put("offset", 0)
            return start + len(zero)
        match = _OFFSETS[form].match(text, start)
        if match is None or any(int(match[group] or 0) > most for group, most in ((2, 23), (3, 59), (4, 59))):
            raise _Failed
        parsed.put("offset", _seconds_of(match))
        return match.end()

    def _localized_offset(self, text: str, start: int, parsed: _Parsed, *, is_full: bool) -> int:
        if not self._starts(text, start, "GMT"):
            raise _Failed
        start += 3
        if text[start : start + 1] not in ("+", "-"):
            parsed.put("offset", 0)
            return start
        match = (_OFFSETS["+HH:MM:ss"] if is_full else _SHORT_GMT).match(text, start)
        if match is None:
            raise _Failed
        parsed.put("offset", _seconds_of(match))
        return match.end()

    def _zone(self, style: str | None, text: str, start: int, parsed: _Parsed) -> int:
        prefix = text[start : start + 3] if self.is_case_sensitive else text[start : start + 3].upper()
        if not prefix:
            raise _Failed
        if prefix[0] in "+-":
            return self._zone_offset("", "Z", text, start, parsed)
        if prefix == "GMT" and text[start + 3 : start + 4] == "0":
            parsed.zone = UTC
            return start + 4
        if prefix in ("GMT", "UTC") and not (prefix == "UTC" and style):
            return self._zone_offset(prefix, "0", text, start + 3, parsed)
        if prefix[:2] == "UT" and prefix != "UTC":
            return self._zone_offset("UT", "0", text, start + 2, parsed)
        names = _zone_names(style, is_case_sensitive=self.is_case_sensitive)
        candidate = text[start : start + _LONGEST_NAME]
        if not self.is_case_sensitive:
            candidate = candidate.lower()
        for length in range(len(candidate), 0, -1):
            if (region := names.get(candidate[:length])) is not None:
                parsed.zone = find_zone(region)
                return start + length
        if prefix[0] == "Z":
            parsed.zone = UTC
            return start + 1
        raise _Failed

    def _zone_offset(self, prefix: str, zero: str, text: str, start: int, parsed: _Parsed) -> int:
        """Parse the offset after ``UTC``, ``GMT`` or no prefix."""
        if prefix and text[start : start + 1] in ("", "0", "Z", "z"):
            parsed.zone = UTC
            return start
        inner = _Parsed()
        try:
            end = self._offset("+HH:MM:ss", zero, text, start, inner)
        except _Failed:
            if not prefix:
                raise
            parsed.zone = UTC
            return start
        seconds = inner.fields["offset"]
        if abs(seconds) > _RANGES["offset"][1]:
            raise _Failed
        parsed.zone = timezone(timedelta(seconds=seconds))
        return end


_OFFSETS: Final = {
    "+HHmm": re.compile(r"([+-])(\d\d)(?:(\d\d))?()", re.ASCII),
    "+HHMM": re.compile(r"([+-])(\d\d)(\d\d)()", re.ASCII),
    "+HH:MM": re.compile(r"([+-])(\d\d):(\d\d)()", re.ASCII),
    "+HHMMss": re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?", re.ASCII),
    "+HH:MM:ss": re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", re.ASCII),
}
_SHORT_GMT: Final = re.compile(r"([+-])(\d\d?)(?::(\d\d)(?::(\d\d))?)?", re.ASCII)
_LONGEST_NAME: Final = 64


def _seconds_of(offset: re.Match[str]) -> int:
    hours, minutes, seconds = (int(digits or 0) for digits in offset.groups()[1:])
    total = hours * 3600 + minutes * 60 + seconds
    return -total if offset[1] == "-" else total


@lru_cache(8)
def _zone_names(style: str | None, *, is_case_sensitive: bool) -> dict[str, str]:
    """Return the regions by their ids and names."""
    names = {name: name for name in region_ids()}
    if style is not None:
        names |= region_names(style)
    return names if is_case_sensitive else {name.lower(): region for name, region in names.items()}


def _number(number: Number, text: str, start: int, parsed: _Parsed) -> int:  # noqa: C901 - Java's rules in a row
    if start == len(text):
        raise _Failed
    if number.is_fraction:
        end = _digits_end(text, start, number.most)
        if end - start < number.least:
            raise _Failed
        parsed.put("n", int(text[start:end]) * 10 ** (9 - (end - start)))
        return end
    sign = text[start] if text[start] in "+-" else ""
    if sign and not (number.sign is Sign.EXCEEDS_PAD or (number.sign is Sign.NORMAL and sign == "-")):
        raise _Failed
    start += len(sign)
    end = _digits_end(text, start, number.most + max(number.subsequent, 0))
    if end - start < number.least:
        raise _Failed
    if number.subsequent > 0:
        end = start + max(number.least, end - start - number.subsequent)
    value = int(text[start:end])
    if sign == "-":
        if value == 0:
            raise _Failed
        value = -value
    # Only a number that is longer than the pattern has a plus sign.
    elif number.sign is Sign.EXCEEDS_PAD and (end - start > number.least) != (sign == "+"):
        raise _Failed
    if number.is_reduced and not sign and end - start == 2:
        value += 2000
    parsed.put(number.field, value)
    return end


def _digits_end(text: str, start: int, most: int) -> int:
    candidate = text[start : start + most]
    return start + len(candidate) - len(candidate.lstrip("0123456789"))


class _Resolver:
    """Makes a date and a time of fields, as ``java.time.format.Parsed`` does."""

    def __init__(self, parsed: _Parsed, is_strict: bool) -> None:
        self._fields = parsed.fields
        self._put = parsed.put
        self._zone = parsed.zone
        self._is_strict = is_strict

    def resolve(self) -> Moment:
        day = self._day()
        has_nanos = self._resolve_clocks()
        nano, carry = self._nano(has_nanos)
        # Like Java, do not check the parts of an incomplete time, because they do not form a time.
        if "H" not in self._fields or not self._has_gap():
            for name in self._fields:
                if name in _CLOCK_FIELDS:
                    self._check(name)
        offset = self._check("offset") if "offset" in self._fields else None
        # Fields must not contradict the date and the time that other fields give.
        resolved = {**({} if day is None else _date_fields(day)), **({} if nano is None else _clock_fields(nano))}
        if any(name in resolved and resolved[name]() != value for name, value in self._fields.items()):
            raise _Failed
        return Moment(None if day is None else day + carry, nano, offset, self._zone)

    def _check(self, name: str) -> int:
        least, most = _RANGES[name]
        if not least <= self._fields[name] <= most:
            raise _Failed
        return self._fields[name]

    def _take(self, name: str) -> int:
        value = self._check(name)
        del self._fields[name]
        return value

    def _day(self) -> int | None:
        fields = self._fields
        if "y" in fields:
            self._resolve_year_of_era()
        elif "G" in fields:
            self._check("G")
        days = [fields.pop("g") - 40_587] if "g" in fields else []
        if "u" in fields:
            if "M" in fields and "d" in fields:
                days.append(self._day_of_month())
            elif "D" in fields:
                year, day_of_year = self._take("u"), self._take("D")
                if day_of_year == 366 and not isleap(year):
                    raise _Failed
                days.append(days_of(year, 1, 1) + day_of_year - 1)
        if len(set(days)) > 1:
            raise _Failed
        if "c" in fields:
            # Weeks begin on Sunday.
            self._put("E", (self._take("c") + 5) % 7 + 1)
        if days:
            return days[0]
        return self._day_of_week() if "E" in fields else None

    def _resolve_year_of_era(self) -> None:
        year_of_era, era = self._take("y"), self._fields.pop("G", None)
        if era is not None:
            if era not in (0, 1):
                raise _Failed
            self._put("u", year_of_era if era else 1 - year_of_era)
        elif self._is_strict and "u" not in self._fields:
            self._fields["y"] = year_of_era
        else:
            self._put("u", year_of_era if self._fields.get("u", 1) > 0 else 1 - year_of_era)

    def _day_of_month(self) -> int:
        year, month, day = self._take("u"), self._take("M"), self._take("d")
        last = month_length(year, month)
        if day > last and self._is_strict:
            raise _Failed
        return days_of(year, month, min(day, last))

    def _day_of_week(self) -> int | None:
        fields = self._fields
        weekday = self._check("E") % 7 + 1
        if "Y" in fields and "w" in fields:
            year, week = fields.pop("Y"), self._take("w")
            del fields["E"]
            first = days_of(year, 1, 1)
            offset = local_weekday(first) - 1
            week = min(week, (7 + offset + 365 + isleap(year)) // 7 - 1)
            day = first - offset + weekday - 1 + (week - 1) * 7
            if self._is_strict and week_year(day) != year:
                raise _Failed
            return day
        if "u" in fields and "M" in fields and "W" in fields:
            year, month, week = self._take("u"), self._take("M"), self._take("W")
            del fields["E"]
            first = days_of(year, month, 1)
            day = first + (week - 1) * 7 + weekday - local_weekday(first)
            if self._is_strict and civil(day)[:2] != (year, month):
                raise _Failed
            return day
        return None

    def _resolve_clocks(self) -> bool:
        """Make hours of the day of other hours, and all parts of counts; return whether nanoseconds were parsed."""
        fields = self._fields
        for name, midnight, hour_field in (("k", 24, "H"), ("h", 12, "K")):
            if name in fields:
                hour = fields[name] if not self._is_strict and fields[name] == 0 else self._check(name)
                del fields[name]
                self._put(hour_field, 0 if hour == midnight else hour)
        if "a" in fields and "K" in fields:
            half, hour = self._take("a"), self._take("K")
            self._put("H", half * 12 + hour)
        if "B" in fields and "K" in fields:
            hour = self._take("K")
            is_afternoon = _is_within(fields.pop("B"), (hour + 12) * 60 + fields.get("m", 0))
            self._put("H", hour + 12 * is_afternoon)
        if "N" in fields:
            self._put_time(self._take("N"))
        has_nanos = "n" in fields
        if "A" in fields:
            self._put_time(self._take("A") * 10**6)
        return has_nanos

    def _put_time(self, nano_of_day: int) -> None:
        seconds, nano = divmod(nano_of_day, _SECOND)
        self._put("H", seconds // 3600)
        self._put("m", seconds // 60 % 60)
        self._put("s", seconds % 60)
        self._put("n", nano)

    def _nano(self, has_nanos: bool) -> tuple[int | None, int]:
        """Return the time of day, and how many days it carries over."""
        fields = self._fields
        if "H" not in fields:
            return (None if fields.keys() & set("msn") else self._middle()), 0
        if self._has_gap():
            return None, 0
        hour, minute, second, nano = (fields.get(name, 0) for name in "Hmsn")
        # Java does not look at the part of the day of a time with all its parts.
        if "B" in fields and not has_nanos and not _is_within(fields["B"], hour * 60 + minute):
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
        """Return whether a part of the time is missing before a smaller one."""
        are_present = [name in self._fields for name in "msn"]
        return are_present != sorted(are_present, reverse=True)

    def _middle(self) -> int | None:
        """Return the middle of the part of the day, or of its half, of a text without a time."""
        if not self._is_strict and "B" in self._fields:
            begin, end = _DAY_PARTS[self._fields["B"]]
            return (begin + end + (1440 if begin > end else 0)) // 2 % 1440 * 60 * _SECOND
        if not self._is_strict and "a" in self._fields:
            return (self._take("a") * 12 + 6) * 3600 * _SECOND
        return None


def _is_within(day_part: int, minute: int) -> bool:
    """Return whether a minute of the day is in a part of it; 24:00 is midnight."""
    begin, end = _DAY_PARTS[day_part]
    if begin == end:
        return minute in (begin, begin or 1440)
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def _date_fields(day: int) -> dict[str, Callable[[], int]]:
    year, month, day_of_month = civil(day)
    return {
        "u": lambda: year,
        "y": lambda: year if year > 0 else 1 - year,
        "G": lambda: int(year > 0),
        "M": lambda: month,
        "d": lambda: day_of_month,
        "D": lambda: day - days_of(year, 1, 1) + 1,
        "E": lambda: (day + 3) % 7 + 1,
        "Q": lambda: (month + 2) // 3,
        "Y": lambda: week_year(day),
        "w": lambda: week_of_year(day),
        "W": lambda: (local_weekday(days_of(year, month, 1)) - 1 + day_of_month + 6) // 7,
        "g": lambda: day + 40_587,
    }


def _clock_fields(nano_of_day: int) -> dict[str, Callable[[], int]]:
    seconds, nano = divmod(nano_of_day, _SECOND)
    hour = seconds // 3600
    return {
        "H": lambda: hour,
        "k": lambda: hour or 24,
        "K": lambda: hour % 12,
        "h": lambda: hour % 12 or 12,
        "a": lambda: hour // 12,
        "m": lambda: seconds // 60 % 60,
        "s": lambda: seconds % 60,
        "n": lambda: nano,
        "N": lambda: nano_of_day,
        "A": lambda: nano_of_day // 10**6,
    }


def month_length(year: int, month: int) -> int:
    """Return how many days a month has."""
    return (31, 28 + isleap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date; also takes numpy's arrays of integers."""
    year = year - (month <= 2)
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of a date."""
    # Python has the years from 1, and every 400 years have the same calendar.
    cycles, day_of_cycle = divmod(day + 719_162, 146_097)
    in_cycle = date.fromordinal(day_of_cycle + 1)
    return in_cycle.year + 400 * cycles, in_cycle.month, in_cycle.day


def local_weekday(day: int) -> int:
    """Return the day of the week, 1 for Sunday."""
    return (day + 4) % 7 + 1


def week_year(day: int) -> int:
    """Return the year of the week of a date: the first week has the first of January."""
    year = civil(day)[0]
    next_year = days_of(year + 1, 1, 1)
    return year + (day > next_year - local_weekday(next_year))


def week_of_year(day: int) -> int:
    """Return the number of the week of a date."""
    first = days_of(week_year(day), 1, 1)
    return (day - first + local_weekday(first) - 1) // 7 + 1


def instant_of(day: int, nano: int, zone: tzinfo) -> int:
    """Return the nanoseconds since 1970 of a local date and time.

    In the gap of a change of clocks it is moved on by the gap, of two such instants it is the earlier one.
    """
    year, month, day_of_month = civil(day)
    # Years that Python lacks have the rules of the nearest year.
    python_year = max(year, 1) if year < 10_000 else 9_600 + year % 400
    midnight = datetime(python_year, month, min(day_of_month, month_length(python_year, month)), tzinfo=zone)
    offset = (midnight + timedelta(seconds=nano // _SECOND)).utcoffset() or timedelta()
    return day * DAY_NANOS + nano - int(offset.total_seconds()) * _SECOND


def iso_time(nano_of_day: int) -> str:
    """Return a time of day as Java writes it: always with seconds, and with the digits that its fraction has."""
    seconds, nano = divmod(nano_of_day, _SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{nano:09}".rstrip("0") if nano else text
