"""Columns of texts that are dates, times or instants: patterns in order, most texts of a plain pattern in a C loop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.date_patterns import (
    EPOCHS,
    Literal,
    Number,
    Offset,
    Part,
    PatternError,
    Sign,
    Text,
    is_strict,
)
from schemactl.arc.date_texts import DAY_NANOS, MONTHS, DatePattern, Moment, days_of, instant_of, iso_time
from schemactl.arc.fields import Date, Time, Timestamp
from schemactl.arc.text_arrays import octets_of
from schemactl.arc.zones import find_zone

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_MICROS: Final = 10**6
_INT64: Final = 2**63 - 1


class DateColumn:
    """Converts the texts of one field."""

    def __init__(self, of: Date | Time | Timestamp) -> None:
        self._of = of
        strict = not isinstance(of, Time) and is_strict(of.formatters)
        is_case_sensitive = not isinstance(of, Time) and of.case_sensitive
        self._zone = find_zone(of.timezone_id) if isinstance(of, Timestamp) else None
        self._epochs = tuple(EPOCHS.get(pattern, 0) for pattern in of.formatters)
        self._patterns: list[DatePattern | int] = []
        for pattern in of.formatters:
            if pattern in EPOCHS:
                if isinstance(of, Timestamp) and of.timezone_id == "UTC" and of.time is None:
                    self._patterns.append(EPOCHS[pattern])
                continue
            try:
                made = DatePattern(pattern, is_case_sensitive=is_case_sensitive, is_strict=strict)
            except PatternError:
                continue
            self._patterns.append(made)
        self._quick = [None if isinstance(each, int) else _QuickPattern.of(each) for each in self._patterns]
        first = self._quick[0] if self._quick else None
        self._has_iso_dates = isinstance(of, Date) and first is not None and first.fixed in _ISO_DATES

    def convert(self, texts: pa.Array) -> pa.Array:
        """Return the values: of a date days, of a time its text, of an instant microseconds."""
        to = {Date: pa.date32(), Time: pa.string(), Timestamp: pa.timestamp("us", "UTC")}[type(self._of)]
        if self._has_iso_dates and (days := _cast_all(texts)) is not None:
            return days
        made = pa.nulls(len(texts), to)
        left = texts
        for pattern, quick in zip(self._patterns, self._quick, strict=True):
            is_left = pc.and_(texts.is_valid(), made.is_null())
            if not pc.any(is_left).as_py():
                break
            left = texts.filter(is_left)
            found = self._by_pattern(left, pattern, quick).cast(to)
            made = pc.replace_with_mask(made, is_left, found)
        return made

    def _by_pattern(self, texts: pa.Array, pattern: DatePattern | int, quick: _QuickPattern | None) -> pa.Array:
        if isinstance(pattern, int):
            return _epochs(texts, pattern)
        if quick is not None and not isinstance(self._of, Time):
            found = self._quickly(texts, pattern, quick)
            if found is not None:
                return found
        return self._one_by_one(texts, pattern)

    # --- one by one ---

    def _one_by_one(self, texts: pa.Array, pattern: DatePattern) -> pa.Array:
        encoded = texts.dictionary_encode()
        values = [self._value(pattern.parse(text), pattern) for text in encoded.dictionary.to_pylist()]
        to = pa.string() if isinstance(self._of, Time) else pa.int64()
        if isinstance(self._of, Date):
            values = [value if value is not None and abs(value) < 2**31 else None for value in values]
            return pa.array(values, pa.int32()).take(encoded.indices)
        return pa.array(values, to).take(encoded.indices)

    def _value(self, moment: Moment | None, pattern: DatePattern) -> Any:
        if moment is None:
            return None
        match self._of:
            case Date():
                return moment.day
            case Time():
                return None if moment.nano is None else iso_time(moment.nano)
            case Timestamp(time=time):
                if moment.day is None or (moment.nano is None and time is None):
                    return None
                if time is not None:
                    nano = ((time.hour * 60 + time.minute) * 60 + time.second) * 10**9 + time.nano
                    return _micros(moment.day, nano, self._zone)
                if moment.offset is not None:
                    nanos = moment.day * DAY_NANOS + (moment.nano or 0) - moment.offset * 10**9
                    return _bounded(nanos)
                zone = moment.zone or (None if pattern.has_zone else self._zone)
                return _micros(moment.day, moment.nano or 0, zone)

    # --- a column at a time ---

    def _quickly(self, texts: pa.Array, pattern: DatePattern, quick: _QuickPattern) -> pa.Array | None:
        """Return the values of a column; None where the pattern has no part for what is asked."""
        read = quick.read(texts, pattern.is_strict)
        if isinstance(self._of, Date):
            is_there = read.is_there & (np.abs(read.days) < 2**31)
            return pa.array(read.days.astype(np.int32), mask=~is_there)
        nanos = read.nanos
        zone: tzinfo | None = self._zone
        if (time := self._of.time if isinstance(self._of, Timestamp) else None) is not None:
            own = ((time.hour * 60 + time.minute) * 60 + time.second) * 10**9 + time.nano
            nanos = np.full(len(texts), own, np.int64)
        elif not quick.has_time:
            return pa.nulls(len(texts), pa.int64())
        elif read.offsets is not None:
            zone = UTC
            nanos = nanos - read.offsets * 10**9
        if zone is None:
            return pa.nulls(len(texts), pa.int64())
        is_there = read.is_there & (np.abs(read.days) < _INT64 // _MICROS // 86_400 - 2)
        micros = np.where(is_there, read.days, 0) * (86_400 * _MICROS) + np.floor_divide(nanos, 1000)
        return _in_zone(micros, is_there, zone)


def _in_zone(local: Ints, is_there: Mask, zone: tzinfo) -> pa.Array:
    """Return local microseconds as instants."""
    if not isinstance(zone, ZoneInfo):
        offset = zone.utcoffset(None) or timedelta()
        return pa.array(local - int(offset.total_seconds()) * _MICROS, mask=~is_there)
    naive = pa.array(local, pa.timestamp("us"), mask=~is_there)
    earliest, latest = (
        pc.assume_timezone(naive, zone.key, ambiguous="earliest", nonexistent=each) for each in ("earliest", "latest")
    )
    made = earliest.cast(pa.int64())
    # Arrow knows no instants for the gaps of clocks: Java moves them on.
    is_gap = pc.fill_null(pc.not_equal(earliest, latest), False)
    if pc.any(is_gap).as_py():
        odd = naive.cast(pa.int64()).filter(is_gap).to_pylist()
        days = [divmod(each, 86_400 * _MICROS) for each in odd]
        others = pa.array([_micros(day, micros * 1000, zone) for day, micros in days], pa.int64())
        made = pc.replace_with_mask(made, is_gap, others)
    return made


def _micros(day: int, nano: int, zone: tzinfo | None) -> int | None:
    return None if zone is None else _bounded(instant_of(day, nano, zone))


def _bounded(nanos: int) -> int | None:
    micros = nanos // 1000
    return micros if abs(micros) <= _INT64 else None


def _epochs(texts: pa.Array, per_second: int) -> pa.Array:
    width = 10 if per_second == 1 else 13
    fits = pc.match_substring_regex(texts, rf"^[0-9]{{{width}}}$")
    numbers = pc.if_else(fits, texts, pa.scalar(None, pa.string())).cast(pa.int64())
    return pc.multiply(numbers, _MICROS // per_second)


@dataclass(frozen=True, slots=True)
class _Read:
    """A column, read: days since 1970, nanoseconds of the day, offsets in seconds; ``is_there`` where it fits."""

    days: Ints
    nanos: Ints
    offsets: Ints | None
    is_there: Mask


@dataclass(frozen=True, slots=True)
class _Group:
    """Digits in a pattern: how much is added to their number, and what they are multiplied by."""

    field: str
    plus: int = 0
    times: int = 1


@dataclass(frozen=True, slots=True)
class _QuickPattern:
    """A pattern whose parts a regular expression finds exactly as Java's parser does.

    Attributes:
        regex: with a group for each of ``groups``.
        groups: what the groups are.
        has_time: whether there is an hour.
        fixed: where each part stands in texts that are as long as the pattern says; None where that is not known.
    """

    regex: str
    groups: tuple[_Group, ...]
    has_time: bool
    fixed: _Fixed | None = None

    @staticmethod
    def of(pattern: DatePattern) -> _QuickPattern | None:
        """Return the quick form of a pattern; None where it has parts that only ``DatePattern`` reads."""
        made: list[str] = []
        groups: list[_Group] = []
        for part in pattern.parts:
            found = _part_regex(part, f"g{len(groups)}")
            if found is None:
                return None
            regex, own = found
            made.append(regex)
            groups += own
        fields = ["M" if group.field == "month name" else group.field for group in groups]
        year = {"u", "y"} & set(fields)
        is_date = len(year) == 1 and {"M", "d"} <= set(fields)
        # Java takes a year of the era for a year only where it is not strict.
        is_known = is_date and len(set(fields)) == len(fields) and not ("y" in year and pattern.is_strict)
        times = [name for name in "Hmsn" if name in fields]
        is_whole = times == list("Hmsn")[: len(times)]
        if not (is_known and is_whole):
            return None
        flags = "(?s)" if pattern.is_case_sensitive else "(?si)"
        fixed = _Fixed.of(pattern)
        return _QuickPattern(f"{flags}\\A{''.join(made)}\\z", tuple(groups), "H" in fields, fixed)

    def read(self, texts: pa.Array, strict: bool) -> _Read:
        """Return what the texts say."""
        if self.fixed is None:
            return self._resolved(*self._by_regex(texts), strict)
        is_long = pc.binary_length(texts).to_numpy(zero_copy_only=False) == self.fixed.width
        if is_long.all():
            return self._resolved(*self.fixed.read(texts), strict)
        parts, is_there = self._by_regex(texts.filter(pa.array(~is_long)))
        others, are_there = self.fixed.read(texts.filter(pa.array(is_long)))
        both = {name: _spread(is_long, others[name], part) for name, part in parts.items()}
        return self._resolved(both, _spread(is_long, are_there, is_there), strict)

    def _by_regex(self, texts: pa.Array) -> tuple[dict[str, Ints], Mask]:
        found = pc.extract_regex(texts, self.regex)
        is_there = found.is_valid().to_numpy(zero_copy_only=False)
        size = len(texts)
        parts: dict[str, Ints] = {}
        for at, group in enumerate(self.groups):
            texts_of = found.field(at)
            if group.field == "month name":
                names = pa.array([name[:3].lower() for name in MONTHS])
                numbers = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(texts_of, 0, 3)), value_set=names)
                parts["M"] = _filled(numbers, size) + 1
            elif group.field == "sign":
                parts["sign"] = np.where(_true(pc.equal(texts_of, "-")), -1, 1)
            else:
                texts_of = pc.if_else(pc.equal(texts_of, ""), "0", pc.utf8_ltrim(texts_of, characters="+"))
                numbers = _filled(texts_of.cast(pa.int64()), size)
                is_there = is_there & ~((numbers == 0) & _true(pc.starts_with(texts_of, "-")))
                parts[group.field] = numbers * group.times + group.plus
        return parts, is_there

    def _resolved(self, parts: dict[str, Ints], is_there: Mask, strict: bool) -> _Read:
        size = len(is_there)
        year = parts["u"] if "u" in parts else parts["y"]
        month, day = parts["M"], parts["d"]
        good = is_there & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        if "y" in parts:
            good &= (year >= 1) & (year <= 10**9)
        else:
            good &= np.abs(year) < 10**9
        year, month, day = (np.where(good, part, other) for part, other in ((year, 2000), (month, 1), (day, 1)))
        is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        last = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])[month] + ((month == 2) & is_leap)
        if strict:
            good &= day <= last
        day = np.minimum(day, last)
        days: Ints = days_of(year, month, day)  # type: ignore[assignment, arg-type]
        zero = np.zeros(size, np.int64)
        hour, minute, second, nano = (parts.get(name, zero) for name in "Hmsn")
        good &= (minute <= 59) & (second <= 59) & (hour >= 0) & (minute >= 0) & (second >= 0)
        is_next = (hour == 24) & (minute == 0) & (second == 0) & (nano == 0) & (not strict)
        good &= (hour <= 23) | is_next
        days = days + is_next
        nanos = ((np.where(is_next, 0, hour) * 60 + minute) * 60 + second) * 10**9 + nano
        offsets = None
        if "sign" in parts:
            hours, minutes, seconds = parts["oh"], parts.get("om", zero), parts.get("os", zero)
            total = hours * 3600 + minutes * 60 + seconds
            good &= (hours <= 23) & (minutes <= 59) & (seconds <= 59) & (total <= 64_800)
            offsets = np.where(good, parts["sign"] * total, 0)
        return _Read(days, np.where(good, nanos, 0), offsets, good)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A pattern of digits and ASCII alone, each at its place in the text.

    Attributes:
        width: of the texts in bytes.
        letters: places with the bytes that may stand there.
        numbers: what the digits from one place to another are.
    """

    width: int
    letters: tuple[tuple[int, frozenset[int]], ...]
    numbers: tuple[tuple[int, int, _Group], ...]

    @staticmethod
    def of(pattern: DatePattern) -> _Fixed | None:
        """Return where the parts of a pattern stand, None where a part has no width of its own."""
        at = 0
        letters: list[tuple[int, frozenset[int]]] = []
        numbers: list[tuple[int, int, _Group]] = []
        for part in pattern.parts:
            match part:
                case Literal(text) if text.isascii():
                    for letter in text:
                        forms = letter if pattern.is_case_sensitive else letter.lower() + letter.upper()
                        letters.append((at, frozenset(forms.encode())))
                        at += 1
                case Number(least=least, most=most) if least == most or least == 4:
                    found = _number_regex(part, "g0")
                    if found is None:
                        return None
                    numbers.append((at, at + least, found[1][0]))
                    at += least
                case _:
                    return None
        return _Fixed(at, tuple(letters), tuple(numbers))

    def read(self, texts: pa.Array) -> tuple[dict[str, Ints], Mask]:
        """Return the parts of texts that have the width, and where they are digits and letters as they should be."""
        size = len(texts)
        if not size:
            return {group.field: np.zeros(0, np.int64) for _, _, group in self.numbers}, np.zeros(0, bool)
        octets = octets_of(texts).reshape(size, self.width)
        is_there = np.ones(size, bool)
        for at, forms in self.letters:
            column = octets[:, at]
            is_there &= np.logical_or.reduce([column == form for form in forms])
        parts: dict[str, Ints] = {}
        for start, end, group in self.numbers:
            number = np.zeros(size, np.int64)
            for at in range(start, end):
                digit = octets[:, at] - np.uint8(48)
                is_there &= digit <= 9
                number = number * 10 + digit
            parts[group.field] = number * group.times + group.plus
        return parts, is_there


_ISO_DATES: Final = tuple(
    _Fixed(
        10,
        ((4, frozenset(b"-")), (7, frozenset(b"-"))),
        ((0, 4, _Group(year)), (5, 7, _Group("M")), (8, 10, _Group("d"))),
    )
    for year in "uy"
)
_YEAR_1: Final = pa.scalar(-719_162, pa.int32()).cast(pa.date32())


def _cast_all(texts: pa.Array) -> pa.Array | None:
    """Return texts as dates of ISO 8601; None where one is none, or of the year 0, which not all patterns have."""
    try:
        days = texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return None
    return days if pc.all(pc.greater_equal(days, _YEAR_1)).as_py() else None


def _spread(mask: Mask, of_true: np.ndarray[Any, Any], of_false: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return one array of two: of those where a mask is true, and of the others."""
    made = np.empty(len(mask), of_false.dtype)
    made[mask], made[~mask] = of_true, of_false
    return made


def _filled(numbers: pa.Array, size: int) -> Ints:
    filled: Ints = pc.fill_null(numbers.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    assert len(filled) == size
    return filled


def _true(found: pa.Array) -> Mask:
    filled: Mask = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return filled


def _part_regex(part: Part, name: str) -> tuple[str, Sequence[_Group]] | None:
    """Return a regular expression of a part, with its groups; None where it reads otherwise than Java."""
    match part:
        case Literal(text):
            return re.escape(text), ()
        case Number():
            return _number_regex(part, name)
        case Text("M", "short" | "full" as style):
            names = "|".join(month[:3] if style == "short" else month for month in MONTHS)
            return f"(?P<{name}>{names})", (_Group("month name"),)
        case Offset(form, zero) if form in _OFFSETS:
            number = int(name[1:])
            groups = [f"g{number + at}" for at in range(4)]
            offset = _OFFSETS[form].format(*groups)
            return f"(?:{re.escape(zero)}|{offset})", (_Group("sign"), _Group("oh"), _Group("om"), _Group("os"))
    return None


_OFFSETS: Final = {
    "+HHMM": "(?P<{0}>[+-])(?P<{1}>[0-9]{{2}})(?P<{2}>[0-9]{{2}})(?P<{3}>)",
    "+HH:MM": "(?P<{0}>[+-])(?P<{1}>[0-9]{{2}}):(?P<{2}>[0-9]{{2}})(?P<{3}>)",
    "+HHmm": "(?P<{0}>[+-])(?P<{1}>[0-9]{{2}})(?P<{2}>[0-9]{{2}})?(?P<{3}>)",
}

_KNOWN: Final = frozenset("uyMdHmsn")


def _number_regex(part: Number, name: str) -> tuple[str, Sequence[_Group]] | None:
    if part.field not in _KNOWN:
        return None
    if part.is_fraction:
        return f"(?P<{name}>[0-9]{{{part.most}}})", (_Group("n", times=10 ** (9 - part.most)),)
    if part.is_reduced:
        return f"(?P<{name}>[0-9]{{2}})", (_Group(part.field, plus=2000),)
    if part.is_fixed:
        return f"(?P<{name}>[0-9]{{{part.most}}})", (_Group(part.field),)
    if part.sign is Sign.EXCEEDS_PAD and part.least == 4:
        return f"(?P<{name}>[0-9]{{4}}|\\+[0-9]{{5,18}}|-[0-9]{{4,18}})", (_Group(part.field),)
    return None
