"""Java's patterns of dates and times (``DateTimeFormatter.ofPattern``), read into what ``date_texts`` parses by.

Messages of faults are Java's, so that people find them in Java's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

EPOCHS: Final = {"s" * 10: 1, "s" * 13: 1000}
"""Patterns of Arc's own: epochs, with how many of their units are a second."""


class Sign(StrEnum):
    """The signs that a number may have (Java's ``SignStyle``)."""

    NORMAL = "normal"
    NOT_NEGATIVE = "not negative"
    EXCEEDS_PAD = "exceeds pad"


@dataclass(frozen=True, slots=True)
class Number:
    """Digits of a field.

    Attributes:
        field: the pattern letter.
        subsequent: how many digits the numbers that follow at once take; -1 where this one's own width is fixed.
        is_reduced: whether two digits stand for a year from 2000 on.
        is_fraction: whether they are the digits of a second after the point.
    """

    field: str
    least: int
    most: int
    sign: Sign
    subsequent: int = 0
    is_reduced: bool = False
    is_fraction: bool = False

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most and self.sign is Sign.NOT_NEGATIVE


@dataclass(frozen=True, slots=True)
class Text:
    """A name: of a month, a day, half or part of the day, an era; ``style`` is ``short``, ``full`` or ``narrow``."""

    field: str
    style: str


@dataclass(frozen=True, slots=True)
class Offset:
    """An offset as ``+HHMM``: ``form`` is one of Java's; ``zero`` is what stands for none."""

    form: str
    zero: str


@dataclass(frozen=True, slots=True)
class LocalizedOffset:
    """An offset as ``GMT+1``."""

    is_full: bool


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone: by its id, or with ``style`` by a name as well."""

    style: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Padded:
    """A part that blanks before it bring to a width."""

    width: int
    part: Part


@dataclass(frozen=True, slots=True)
class Optional:
    parts: tuple[Part, ...]


Part: TypeAlias = "Number | Text | Offset | LocalizedOffset | Zone | Literal | Padded | Optional"


class PatternError(ValueError):
    """A pattern is none of Java's."""


_FIELDS: Final = frozenset("GyuQqMLDdEceaHkKhmsSAnNg")
_OFFSETS: Final = ("+HH", "+HHmm", "+HH:mm", "+HHMM", "+HH:MM", "+HHMMss", "+HH:MM:ss", "+HHMMSS", "+HH:MM:SS")
_QUOTED: Final = re.compile("'((?:[^']|'')*)'(?!')")
_STYLES: Final = {3: "short", 4: "full", 5: "narrow"}


def parse_pattern(pattern: str) -> tuple[Part, ...]:
    """Return the parts of a pattern.

    Raises:
        PatternError: Java refuses it, or it has the letter ``F``, which means other things in other versions of Java.
    """
    return _Builder(pattern).build()


def has_zone(parts: Sequence[Part]) -> bool:
    """Return whether a zone or an offset stands in the pattern, optional ones included."""
    return any(
        isinstance(part, Offset | LocalizedOffset | Zone)
        or (isinstance(part, Optional) and has_zone(part.parts))
        or (isinstance(part, Padded) and has_zone((part.part,)))
        for part in parts
    )


def is_strict(formatters: Sequence[str]) -> bool:
    """Return whether impossible dates are refused by the patterns of a column.

    They are not where a pattern has a year of the era of two letters or more and no era (``yyyy``): then each pattern
    takes the last day of the month for one past it.
    """
    for pattern in formatters:
        with suppress(PatternError):
            parts = _flat(parse_pattern(pattern))
            has_year = any(isinstance(part, Number) and part.field == "y" and part.least >= 2 for part in parts)
            if has_year and not any(isinstance(part, Text) and part.field == "G" for part in parts):
                return False
    return True


def has_lone_year(formatters: Sequence[str]) -> bool:
    """Return whether a pattern has a single ``y``, which without an era never makes a date."""
    parsed = (parse_pattern(pattern) for pattern in formatters if pattern not in EPOCHS)
    return any(
        isinstance(part, Number) and part.field == "y" and part.least == 1 for parts in parsed for part in _flat(parts)
    )


def _flat(parts: Sequence[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        found += _flat(part.parts) if isinstance(part, Optional) else [part.part if isinstance(part, Padded) else part]
    return found


class _Builder:
    """Reads a pattern from left to right; numbers that follow each other at once share their digits."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._stack: list[list[Part]] = [[]]
        self._open_number: list[int] = [-1]
        self._pad = 0

    def build(self) -> tuple[Part, ...]:
        at = 0
        while at < len(self._pattern):
            letter = self._pattern[at]
            if letter.isascii() and letter.isalpha():
                at = self._letters(at)
            elif letter == "'":
                at = self._quoted(at)
            else:
                self._character(letter)
                at += 1
        while len(self._stack) > 1:
            self._close()
        return tuple(self._stack[0])

    def _run(self, at: int) -> int:
        rest = self._pattern[at:]
        return len(self._pattern) - len(rest.lstrip(rest[:1]))

    def _letters(self, at: int) -> int:
        end = self._run(at)
        letter, count = self._pattern[at], end - at
        if letter == "p":
            following = self._pattern[end : end + 1]
            if not (following.isascii() and following.isalpha()):
                raise PatternError(f"Pad letter 'p' must be followed by valid pad pattern: {self._pattern}")
            self._pad = count
            at, end = end, self._run(end)
            letter, count = following, end - at
        self._append(_part(letter, count))
        return end

    def _quoted(self, at: int) -> int:
        found = _QUOTED.match(self._pattern, at)
        if found is None:
            raise PatternError(f"Pattern ends with an incomplete string literal: {self._pattern}")
        self._append(Literal(found[1].replace("''", "'") or "'"))
        return found.end()

    def _character(self, letter: str) -> None:
        match letter:
            case "[":
                self._stack.append([])
                self._open_number.append(-1)
                self._open_number[-2] = -1
            case "]":
                if len(self._stack) == 1:
                    raise PatternError("Pattern invalid as it contains ] without previous [")
                self._close()
            case "{" | "}" | "#":
                raise PatternError(f"Pattern includes reserved character: '{letter}'")
            case _:
                self._append(Literal(letter))

    def _close(self) -> None:
        parts = tuple(self._stack.pop())
        self._open_number.pop()
        if parts:
            self._append(Optional(parts))

    def _append(self, part: Part) -> None:
        parts, is_number = self._stack[-1], isinstance(part, Number)
        opened = self._open_number[-1]
        if self._pad:
            part, self._pad = Padded(self._pad, part), 0
            parts.append(part)
            self._open_number[-1] = -1
        elif isinstance(part, Number) and opened >= 0:
            base = parts[opened]
            assert isinstance(base, Number)
            if part.is_fixed:
                parts[opened] = replace(base, subsequent=base.subsequent + part.most)
                parts.append(replace(part, subsequent=-1))
            else:
                parts[opened] = replace(base, subsequent=-1)
                parts.append(part)
                self._open_number[-1] = len(parts) - 1
        else:
            parts.append(part)
            self._open_number[-1] = len(parts) - 1 if is_number else -1


def _part(letter: str, count: int) -> Part:  # noqa: C901, PLR0911, PLR0912 - a case for each letter
    if letter in _FIELDS:
        return _field(letter, count)
    match letter:
        case "z" if count <= 4:
            return Zone("full" if count == 4 else "short")
        case "V":
            if count != 2:
                raise PatternError("Pattern letter count must be 2: V")
            return Zone()
        case "Z" if count <= 5:
            forms = (Offset("+HHMM", "+0000"), LocalizedOffset(is_full=True), Offset("+HH:MM:ss", "Z"))
            return forms[max(count - 3, 0)]
        case "O":
            if count not in (1, 4):
                raise PatternError("Pattern letter count must be 1 or 4: O")
            return LocalizedOffset(is_full=count == 4)
        case "X" | "x" if count <= 5:
            form = _OFFSETS[count + (count != 1)]
            zero = "Z" if letter == "X" else "+00" if count == 1 else "+0000" if count % 2 == 0 else "+00:00"
            return Offset(form, zero)
        case "W" if count == 1:
            return Number("W", 1, 1, Sign.NOT_NEGATIVE)
        case "w" if count <= 2:
            return Number("w", count, 2, Sign.NOT_NEGATIVE)
        case "Y":
            return _year("Y", count)
        case "v" if count in (1, 4):
            return Zone(_STYLES[max(count, 3)])
        case "B" if count in (1, 4, 5):
            return Text("B", _STYLES[max(count, 3)])
        case "v" | "B":
            raise PatternError(f"Wrong number of pattern letters: {letter}")
        case "F":
            raise PatternError("Pattern letter that means a day up to Java 18 and a week from Java 19 on: F")
        case "z" | "Z" | "X" | "x" | "W" | "w":
            raise PatternError(f"Too many pattern letters: {letter}")
        case _:
            raise PatternError(f"Unknown pattern letter: {letter}")


def _year(letter: str, count: int) -> Number:
    if count == 2:
        return Number(letter, 2, 2, Sign.NOT_NEGATIVE, is_reduced=True)
    return Number(letter, count, 19, Sign.NORMAL if count < 4 else Sign.EXCEEDS_PAD)


def _field(letter: str, count: int) -> Part:  # noqa: C901, PLR0911, PLR0912 - a case for each letter
    field = {"L": "M", "q": "Q", "e": "c"}.get(letter, letter)
    match letter:
        case "u" | "y":
            return _year(letter, count)
        case "c" if count == 2:
            raise PatternError('Invalid pattern "cc"')
        case "M" | "L" | "Q" | "q" | "E" | "e" | "c":
            if count > 5:
                raise PatternError(f"Too many pattern letters: {letter}")
            if letter == "E" and count < 3:
                return Text("E", "short")
            if count >= 3:
                return Text("E" if letter in "ec" else field, _STYLES[count])
            return Number("c", count, count, Sign.NOT_NEGATIVE) if letter in "ec" else _plain(field, count)
        case "a":
            if count > 1:
                raise PatternError("Too many pattern letters: a")
            return Text("a", "short")
        case "G":
            if count > 5:
                raise PatternError("Too many pattern letters: G")
            return Text("G", _STYLES[max(count, 3)])
        case "S":
            if count > 9:
                raise PatternError(f"Maximum width must be from 1 to 9 inclusive but was {count}")
            return Number("n", count, count, Sign.NOT_NEGATIVE, is_fraction=True)
        case "D" if count in (2, 3):
            return Number("D", count, 3, Sign.NOT_NEGATIVE)
        case "g":
            return Number("g", count, 19, Sign.NORMAL)
        case "A" | "n" | "N":
            return Number(letter, count, 19, Sign.NOT_NEGATIVE)
    if count > (1 if letter == "D" else 2):
        raise PatternError(f"Too many pattern letters: {letter}")
    return _plain(field, count)


def _plain(field: str, count: int) -> Number:
    return Number(field, 1, 19, Sign.NORMAL) if count == 1 else Number(field, count, count, Sign.NOT_NEGATIVE)
