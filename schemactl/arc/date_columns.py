"""Columns of texts that are dates, times or instants: patterns in order, most texts of a plain pattern in a C loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from functools import partial
from itertools import count
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.date_patterns import EPOCHS, Element, Literal, Number, Offset, PatternError, Sign, Text, is_strict
from schemactl.arc.date_texts import MONTHS, DatePattern, days_of, instant_of, iso_time
from schemactl.arc.fields import Date, Time, Timestamp
from schemactl.arc.text_arrays import convert_distinct, octets_of
from schemactl.arc.zones import find_zone

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_MICROS: Final = 10**6
_DAY_MICROS: Final = 86_400 * _MICROS
_INT64: Final = 2**63 - 1


class DateColumn:
    """Converts the texts of one field."""

    def __init__(self, of: Date | Time | Timestamp) -> None:
        self._of = of
        self._zone = find_zone(of.timezone_id) if isinstance(of, Timestamp) else None
        self._patterns: list[tuple[DatePattern | int, QuickPattern | None]] = []
        """Patterns with their quick forms; epochs are their units in a second."""
        for formatter in of.formatters:
            if formatter in EPOCHS:
                if isinstance(of, Timestamp) and of.timezone_id == "UTC" and of.time is None:
                    self._patterns.append((EPOCHS[formatter], None))
                continue
            try:
                pattern = DatePattern(
                    formatter,
                    is_case_sensitive=not isinstance(of, Time) and of.case_sensitive,
                    is_strict=not isinstance(of, Time) and is_strict(of.formatters),
                )
            except PatternError:
                continue
            self._patterns.append((pattern, None if isinstance(of, Time) else QuickPattern.of(pattern)))
        first = self._patterns[0][1] if self._patterns else None
        self._has_iso_dates = isinstance(of, Date) and first is not None and first.layout in _ISO_DATES

    def convert(self, texts: pa.Array) -> pa.Array:
        """Return the values: of a date days, of a time its text, of an instant microseconds."""
        to = {Date: pa.date32(), Time: pa.string(), Timestamp: pa.timestamp("us", "UTC")}[type(self._of)]
        if self._has_iso_dates and (days := _cast_all(texts)) is not None:
            return days
        values = pa.nulls(len(texts), to)
        for pattern, quick in self._patterns:
            is_unread = pc.and_(texts.is_valid(), values.is_null())
            if not pc.any(is_unread).as_py():
                break
            unread = texts.filter(is_unread)
            if isinstance(pattern, int):
                read = _epochs(unread, pattern)
            elif quick is not None:
                read = self._convert_quickly(unread, quick)
            else:
                number_type = pa.int32() if isinstance(self._of, Date) else pa.int64()
                to_distinct = pa.string() if isinstance(self._of, Time) else number_type
                read = convert_distinct(unread, partial(self.parse, pattern=pattern), to_distinct)
            values = pc.replace_with_mask(values, is_unread, read.cast(to))
        return values

    def parse(self, text: str, pattern: DatePattern) -> int | str | None:
        """Return the value of one text by one pattern, None if it does not fit."""
        moment = pattern.parse(text)
        if moment is None:
            return None
        match self._of:
            case Date():
                return moment.day if moment.day is not None and abs(moment.day) < 2**31 else None
            case Time():
                return None if moment.nano is None else iso_time(moment.nano)
            case Timestamp(time=time):
                if moment.day is None or (moment.nano is None and time is None):
                    return None
                if time is not None:
                    return _micros(moment.day, time.nano_of_day, self._zone)
                zone = moment.zone or (None if pattern.has_zone else self._zone)
                if moment.offset is not None:
                    zone = timezone(timedelta(seconds=moment.offset))
                return _micros(moment.day, moment.nano or 0, zone)

    def _convert_quickly(self, texts: pa.Array, quick: QuickPattern) -> pa.Array:
        columns = quick.read(texts)
        if isinstance(self._of, Date):
            fits = columns.fits & (np.abs(columns.days) < 2**31)
            return pa.array(columns.days.astype(np.int32), mask=~fits)
        nanos = columns.nanos
        zone: tzinfo | None = self._zone
        if isinstance(self._of, Timestamp) and self._of.time is not None:
            nanos = np.full(len(texts), self._of.time.nano_of_day, np.int64)
        elif not quick.has_time:
            return pa.nulls(len(texts), pa.int64())
        elif columns.offsets is not None:
            zone = UTC
            nanos = nanos - columns.offsets * 10**9
        if zone is None:
            return pa.nulls(len(texts), pa.int64())
        fits = columns.fits & (np.abs(columns.days) < _INT64 // _DAY_MICROS - 2)
        micros = np.where(fits, columns.days, 0) * _DAY_MICROS + np.floor_divide(nanos, 1000)
        return _in_zone(micros, fits, zone)


def _in_zone(local: Ints, fits: Mask, zone: tzinfo) -> pa.Array:
    """Return local microseconds as instants."""
    if not isinstance(zone, ZoneInfo):
        offset = zone.utcoffset(None) or timedelta()
        return pa.array(local - int(offset.total_seconds()) * _MICROS, mask=~fits)
    naive = pa.array(local, pa.timestamp("us"), mask=~fits)
    earliest, latest = (
        pc.assume_timezone(naive, zone.key, ambiguous="earliest", nonexistent=choice)
        for choice in ("earliest", "latest")
    )
    instants = earliest.cast(pa.int64())
    # Arrow has no instants for the gaps of clocks: Java moves them on.
    is_gap = pc.fill_null(pc.not_equal(earliest, latest), False)
    if pc.any(is_gap).as_py():
        moments = (divmod(micros, _DAY_MICROS) for micros in naive.cast(pa.int64()).filter(is_gap).to_pylist())
        moved = pa.array([_micros(day, micros * 1000, zone) for day, micros in moments], pa.int64())
        instants = pc.replace_with_mask(instants, is_gap, moved)
    return instants


def _micros(day: int, nano: int, zone: tzinfo | None) -> int | None:
    if zone is None:
        return None
    micros = instant_of(day, nano, zone) // 1000
    return micros if abs(micros) <= _INT64 else None


def _epochs(texts: pa.Array, per_second: int) -> pa.Array:
    width = 10 if per_second == 1 else 13
    fits = pc.match_substring_regex(texts, rf"^[0-9]{{{width}}}$")
    numbers = pc.if_else(fits, texts, pa.scalar(None, pa.string())).cast(pa.int64())
    return pc.multiply(numbers, _MICROS // per_second)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Texts as numbers: days since 1970, nanoseconds of the day, offsets in seconds; valid if the text ``fits``."""

    days: Ints
    nanos: Ints
    offsets: Ints | None
    fits: Mask


@dataclass(frozen=True, slots=True)
class _Group:
    """Digits in a pattern: the summand and the factor that turn them into the value of a field."""

    field: str
    plus: int = 0
    times: int = 1


@dataclass(frozen=True, slots=True)
class QuickPattern:
    """A pattern whose elements a regular expression finds exactly as Java's parser does: a named group for each field.

    ``layout`` has the places of elements in texts of the pattern's width; None if it has no fixed width.
    """

    regex: str
    groups: tuple[_Group, ...]
    has_time: bool
    is_strict: bool
    layout: _Layout | None = None

    @staticmethod
    def of(pattern: DatePattern) -> QuickPattern | None:
        """Return the quick form of a pattern; None if it has elements that only ``DatePattern`` reads."""
        regexes: list[str] = []
        groups: list[_Group] = []
        names = (f"g{number}" for number in count())
        for element in pattern.elements:
            if (regex_and_groups := _element_regex(element, names)) is None:
                return None
            regexes.append(regex_and_groups[0])
            groups += regex_and_groups[1]
        fields = ["M" if group.field == "month name" else group.field for group in groups]
        years = {"u", "y"} & set(fields)
        clock = [name for name in "Hmsn" if name in fields]
        is_plain = (
            (len(years) == 1 and {"M", "d"} <= set(fields) and len(set(fields)) == len(fields))
            # Java treats a year of the era as a year only if it is not strict.
            and not ("y" in years and pattern.is_strict)
            and "Hmsn".startswith("".join(clock))
        )
        if not is_plain:
            return None
        flags = "(?s)" if pattern.is_case_sensitive else "(?si)"
        regex = f"{flags}\\A{''.join(regexes)}\\z"
        return QuickPattern(regex, tuple(groups), "H" in fields, pattern.is_strict, _Layout.of(pattern))

    def read(self, texts: pa.Array) -> _Columns:
        """Return the dates and times of texts."""
        if self.layout is None:
            return self._resolved(*self._by_regex(texts))
        has_width = pc.binary_length(texts).to_numpy(zero_copy_only=False) == self.layout.width
        if has_width.all():
            return self._resolved(*self.layout.read(texts))
        wide_numbers, wide_fits = self.layout.read(texts.filter(pa.array(has_width)))
        numbers, fits = self._by_regex(texts.filter(pa.array(~has_width)))
        merged = {name: _merged(has_width, wide_numbers[name], number) for name, number in numbers.items()}
        return self._resolved(merged, _merged(has_width, wide_fits, fits))

    def _by_regex(self, texts: pa.Array) -> tuple[dict[str, Ints], Mask]:
        groups = pc.extract_regex(texts, self.regex)
        fits: Mask = groups.is_valid().to_numpy(zero_copy_only=False)
        numbers: dict[str, Ints] = {}
        for group, words in zip(self.groups, groups.flatten(), strict=True):
            if group.field == "month name":
                names = pa.array([name[:3].lower() for name in MONTHS])
                months = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(words, 0, 3)), value_set=names)
                numbers["M"] = _filled(months.cast(pa.int64()), 0) + 1
            elif group.field == "sign":
                numbers["sign"] = np.where(_filled(pc.equal(words, "-"), False), -1, 1)
            else:
                digits = pc.if_else(pc.equal(words, ""), "0", pc.utf8_ltrim(words, characters="+"))
                number = _filled(digits.cast(pa.int64()), 0)
                fits = fits & ~((number == 0) & _filled(pc.starts_with(words, "-"), False))
                numbers[group.field] = number * group.times + group.plus
        return numbers, fits

    def _resolved(self, numbers: dict[str, Ints], fits: Mask) -> _Columns:
        year, month, day = numbers["u"] if "u" in numbers else numbers["y"], numbers["M"], numbers["d"]
        is_year = np.abs(year) < 10**9 if "u" in numbers else (year >= 1) & (year <= 10**9)
        fits = fits & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & is_year
        year, month, day = (np.where(fits, number, valid) for number, valid in ((year, 2000), (month, 1), (day, 1)))
        is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        last = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])[month] + ((month == 2) & is_leap)
        if self.is_strict:
            fits &= day <= last
        days: Ints = days_of(year, month, np.minimum(day, last))  # type: ignore[assignment, arg-type]
        zero = np.zeros(len(fits), np.int64)
        hour, minute, second, nano = (numbers.get(name, zero) for name in "Hmsn")
        fits &= (minute <= 59) & (second <= 59) & (hour >= 0) & (minute >= 0) & (second >= 0)
        is_midnight = (hour == 24) & (minute == 0) & (second == 0) & (nano == 0) & (not self.is_strict)
        fits &= (hour <= 23) | is_midnight
        nanos = ((np.where(is_midnight, 0, hour) * 60 + minute) * 60 + second) * 10**9 + nano
        offsets = None
        if "sign" in numbers:
            hours, minutes = numbers["offset hours"], numbers["offset minutes"]
            total = hours * 3600 + minutes * 60
            fits &= (hours <= 23) & (minutes <= 59) & (total <= 64_800)
            offsets = np.where(fits, numbers["sign"] * total, 0)
        return _Columns(days + is_midnight, np.where(fits, nanos, 0), offsets, fits)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The places of digits and ASCII in texts of one width in bytes, as bounds with the field of the digits."""

    width: int
    letters: tuple[tuple[int, frozenset[int]], ...]
    numbers: tuple[tuple[int, int, _Group], ...]

    @staticmethod
    def of(pattern: DatePattern) -> _Layout | None:
        """Return the places of a pattern's elements, None if an element has no fixed width."""
        width = 0
        letters: list[tuple[int, frozenset[int]]] = []
        numbers: list[tuple[int, int, _Group]] = []
        for element in pattern.elements:
            match element:
                case Literal(text) if text.isascii():
                    for letter in text:
                        forms = letter if pattern.is_case_sensitive else letter.lower() + letter.upper()
                        letters.append((width, frozenset(forms.encode())))
                        width += 1
                case Number(least=least, most=most) if least == most or least == 4:
                    if (regex_and_group := _number_regex(element)) is None:
                        return None
                    numbers.append((width, width + least, regex_and_group[1]))
                    width += least
                case _:
                    return None
        return _Layout(width, tuple(letters), tuple(numbers))

    def read(self, texts: pa.Array) -> tuple[dict[str, Ints], Mask]:
        """Return the numbers of texts that have the width, and which texts fit."""
        size = len(texts)
        if not size:
            return {group.field: np.zeros(0, np.int64) for _, _, group in self.numbers}, np.zeros(0, bool)
        octets = octets_of(texts).reshape(size, self.width)
        fits = np.ones(size, bool)
        for index, forms in self.letters:
            fits &= np.logical_or.reduce([octets[:, index] == form for form in forms])
        numbers: dict[str, Ints] = {}
        for start, end, group in self.numbers:
            number = np.zeros(size, np.int64)
            for index in range(start, end):
                digit = octets[:, index] - np.uint8(48)
                fits &= digit <= 9
                number = number * 10 + digit
            numbers[group.field] = number * group.times + group.plus
        return numbers, fits


_ISO_DATES: Final = tuple(
    _Layout(
        10,
        ((4, frozenset(b"-")), (7, frozenset(b"-"))),
        ((0, 4, _Group(year)), (5, 7, _Group("M")), (8, 10, _Group("d"))),
    )
    for year in "uy"
)
_YEAR_1: Final = pa.scalar(-719_162, pa.int32()).cast(pa.date32())


def _cast_all(texts: pa.Array) -> pa.Array | None:
    """Return strings as ISO 8601 dates; None if one is invalid, or in the year 0, which not all patterns allow."""
    try:
        days = texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return None
    return days if pc.all(pc.greater_equal(days, _YEAR_1)).as_py() else None


def _merged(mask: Mask, if_true: np.ndarray[Any, Any], if_false: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return one array with ``if_true`` in the rows of a mask and ``if_false`` in the remaining rows."""
    merged = np.empty(len(mask), if_false.dtype)
    merged[mask], merged[~mask] = if_true, if_false
    return merged


def _filled(values: pa.Array, default: int | bool) -> np.ndarray[Any, Any]:
    filled: np.ndarray[Any, Any] = pc.fill_null(values, default).to_numpy(zero_copy_only=False)
    return filled


def _element_regex(element: Element, names: Iterator[str]) -> tuple[str, list[_Group]] | None:
    """Return a regular expression of an element, with its groups; None if it would not read all that Java reads."""
    match element:
        case Literal(text):
            return re.escape(text), []
        case Number():
            if (regex_and_group := _number_regex(element)) is None:
                return None
            return f"(?P<{next(names)}>{regex_and_group[0]})", [regex_and_group[1]]
        case Text("M", "short" | "full" as style):
            months = "|".join(month[:3] if style == "short" else month for month in MONTHS)
            return f"(?P<{next(names)}>{months})", [_Group("month name")]
        case Offset("+HHMM" | "+HH:MM" | "+HHmm" as form, zero):
            sign, hours, minutes = (f"(?P<{next(names)}>{regex})" for regex in ("[+-]", "[0-9]{2}", "[0-9]{2}"))
            minutes = f":{minutes}" if ":" in form else f"{minutes}?" if form == "+HHmm" else minutes
            groups = [_Group("sign"), _Group("offset hours"), _Group("offset minutes")]
            return f"(?:{re.escape(zero)}|{sign}{hours}{minutes})", groups
    return None


def _number_regex(number: Number) -> tuple[str, _Group] | None:
    if number.field not in set("uyMdHmsn"):
        return None
    if number.is_fixed:
        scale = 10 ** (9 - number.most) if number.is_fraction else 1
        return f"[0-9]{{{number.most}}}", _Group(number.field, 2000 if number.is_reduced else 0, scale)
    if number.sign is Sign.EXCEEDS_PAD and number.least == 4:
        return "[0-9]{4}|\\+[0-9]{5,18}|-[0-9]{4,18}", _Group(number.field)
    return None
