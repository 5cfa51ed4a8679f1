"""Java's patterns of dates and times (``DateTimeFormatter.ofPattern``) -> elements for the parser in ``date_texts``.

Messages of faults are Java's, so that people find them in Java's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

EPOCHS: Final = {"s" * 10: 1, "s" * 13: 1000}
"""Arc's patterns of epochs, with the number of their units in a second."""


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
        subsequent: how many digits the adjacent numbers after it take; -1 if its width is fixed.
        is_reduced: whether two digits mean a year from 2000 on.
        is_fraction: whether the digits are a fraction of a second.
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
    """An offset as ``+HHMM``: ``form`` is one of Java's, ``zero`` the text of no offset."""

    form: str
    zero: str


@dataclass(frozen=True, slots=True)
class LocalizedOffset:
    """An offset as ``GMT+1``."""

    is_full: bool


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone by its id, with ``style`` also by a name."""

    style: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Padded:
    """An element with blanks before it up to a width."""

    width: int
    element: Element


@dataclass(frozen=True, slots=True)
class Optional:
    elements: tuple[Element, ...]


Element: TypeAlias = "Number | Text | Offset | LocalizedOffset | Zone | Literal | Padded | Optional"


class PatternError(ValueError):
    """A pattern that Java would reject."""


_OFFSETS: Final = ("+HH", "+HHmm", "+HH:mm", "+HHMM", "+HH:MM", "+HHMMss", "+HH:MM:ss", "+HHMMSS", "+HH:MM:SS")
_QUOTED: Final = re.compile("'((?:[^']|'')*)'(?!')")
_STYLES: Final = {3: "short", 4: "full", 5: "narrow"}


def parse_pattern(pattern: str) -> tuple[Element, ...]:
    """Return the elements of a pattern.

    Raises:
        PatternError: Java refuses it, or it has the letter ``F``, whose meaning depends on the version of Java.
    """
    return _Builder(pattern).build()


def has_zone(elements: Sequence[Element]) -> bool:
    """Return whether a pattern has a zone or an offset, optional ones included."""
    return any(isinstance(element, Offset | LocalizedOffset | Zone) for element in _flat(elements))


def is_strict(formatters: Sequence[str]) -> bool:
    """Return whether the patterns of a column refuse impossible dates.

    They do not if a pattern has a year of the era of two letters or more and no era (``yyyy``): then all patterns read
    a day past the end of a month as its last day.
    """
    for pattern in formatters:
        with suppress(PatternError):
            elements = list(_flat(parse_pattern(pattern)))
            has_era = any(isinstance(element, Text) and element.field == "G" for element in elements)
            if not has_era and max(_widths_of_years(elements), default=0) >= 2:
                return False
    return True


def has_lone_year(formatters: Sequence[str]) -> bool:
    """Return whether a pattern has a single ``y``, which without an era never makes a date."""
    return any(1 in _widths_of_years(_flat(parse_pattern(pattern))) for pattern in formatters if pattern not in EPOCHS)


def _widths_of_years(elements: Iterable[Element]) -> list[int]:
    """Return the least digits of each year of the era."""
    return [element.least for element in elements if isinstance(element, Number) and element.field == "y"]


def _flat(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield all elements; optional and padded elements are replaced by the elements inside."""
    for element in elements:
        match element:
            case Optional(inner):
                yield from _flat(inner)
            case Padded(element=inner_element):
                yield from _flat((inner_element,))
            case _:
                yield element


class _Builder:
    """Reads a pattern from left to right; adjacent numbers share their digits."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._stack: list[list[Element]] = [[]]
        self._open_number: list[int] = [-1]
        self._pad = 0

    def build(self) -> tuple[Element, ...]:
        start = 0
        while start < len(self._pattern):
            letter = self._pattern[start]
            if letter.isascii() and letter.isalpha():
                start = self._letters(start)
            elif letter == "'":
                start = self._quoted(start)
            else:
                self._character(letter)
                start += 1
        while len(self._stack) > 1:
            self._close()
        return tuple(self._stack[0])

    def _run_end(self, start: int) -> int:
        following = self._pattern[start:]
        return len(self._pattern) - len(following.lstrip(following[:1]))

    def _letters(self, start: int) -> int:
        end = self._run_end(start)
        if self._pattern[start] == "p":
            following = self._pattern[end : end + 1]
            if not (following.isascii() and following.isalpha()):
                raise PatternError(f"Pad letter 'p' must be followed by valid pad pattern: {self._pattern}")
            self._pad = end - start
            start, end = end, self._run_end(end)
        self._append(_element(self._pattern[start], end - start))
        return end

    def _quoted(self, start: int) -> int:
        literal = _QUOTED.match(self._pattern, start)
        if literal is None:
            raise PatternError(f"Pattern ends with an incomplete string literal: {self._pattern}")
        self._append(Literal(literal[1].replace("''", "'") or "'"))
        return literal.end()

    def _character(self, letter: str) -> None:
        match letter:
            case "[":
                self._stack.append([])
                self._open_number[-1] = -1
                self._open_number.append(-1)
            case "]":
                if len(self._stack) == 1:
                    raise PatternError("Pattern invalid as it contains ] without previous [")
                self._close()
            case "{" | "}" | "#":
                raise PatternError(f"Pattern includes reserved character: '{letter}'")
            case _:
                self._append(Literal(letter))

    def _close(self) -> None:
        elements = tuple(self._stack.pop())
        self._open_number.pop()
        if elements:
            self._append(Optional(elements))

    def _append(self, element: Element) -> None:
        elements, opened = self._stack[-1], self._open_number[-1]
        if self._pad:
            elements.append(Padded(self._pad, element))
            self._pad = 0
            self._open_number[-1] = -1
        elif isinstance(element, Number) and opened >= 0:
            first = elements[opened]
            assert isinstance(first, Number)
            if element.is_fixed:
                elements[opened] = replace(first, subsequent=first.subsequent + element.most)
                elements.append(replace(element, subsequent=-1))
            else:
                elements[opened] = replace(first, subsequent=-1)
                elements.append(element)
                self._open_number[-1] = len(elements) - 1
        else:
            elements.append(element)
            self._open_number[-1] = len(elements) - 1 if isinstance(element, Number) else -1


_MOST_LETTERS: Final = {
    **dict.fromkeys("MLQqEecGZXx", 5), "z": 4, "D": 3, **dict.fromkeys("dHkKhmsw", 2), "a": 1, "W": 1,
}  # fmt: skip
"""The longest runs of letters that have a limit."""


def _element(letter: str, count: int) -> Element:  # noqa: C901, PLR0911, PLR0912 - a case for each letter
    """Return the element of a run of one letter."""
    if count > _MOST_LETTERS.get(letter, count):
        raise PatternError(f"Too many pattern letters: {letter}")
    match letter:
        case "u" | "y" | "Y" if count == 2:
            return Number(letter, 2, 2, Sign.NOT_NEGATIVE, is_reduced=True)
        case "u" | "y" | "Y":
            return Number(letter, count, 19, Sign.NORMAL if count < 4 else Sign.EXCEEDS_PAD)
        case "M" | "L" | "Q" | "q":
            field = "M" if letter in "ML" else "Q"
            return Text(field, _STYLES[count]) if count >= 3 else _one_or_all_digits(field, count)
        case "c" if count == 2:
            raise PatternError('Invalid pattern "cc"')
        case "e" | "c" if count < 3:
            return Number("c", count, count, Sign.NOT_NEGATIVE)
        case "E" | "e" | "c":
            return Text("E", _STYLES[max(count, 3)])
        case "a" | "G":
            return Text(letter, _STYLES[max(count, 3)])
        case "B" if count in (1, 4, 5):
            return Text("B", _STYLES[max(count, 3)])
        case "S" if count > 9:
            raise PatternError(f"Maximum width must be from 1 to 9 inclusive but was {count}")
        case "S":
            return Number("n", count, count, Sign.NOT_NEGATIVE, is_fraction=True)
        case "D" if count > 1:
            return Number("D", count, 3, Sign.NOT_NEGATIVE)
        case "d" | "D" | "H" | "k" | "K" | "h" | "m" | "s":
            return _one_or_all_digits(letter, count)
        case "W" | "w":
            return Number(letter, count, _MOST_LETTERS[letter], Sign.NOT_NEGATIVE)
        case "A" | "n" | "N" | "g":
            return Number(letter, count, 19, Sign.NORMAL if letter == "g" else Sign.NOT_NEGATIVE)
        case "z":
            return Zone("full" if count == 4 else "short")
        case "v" if count in (1, 4):
            return Zone(_STYLES[max(count, 3)])
        case "V" if count == 2:
            return Zone()
        case "O" if count in (1, 4):
            return LocalizedOffset(is_full=count == 4)
        case "Z":
            forms = (Offset("+HHMM", "+0000"), LocalizedOffset(is_full=True), Offset("+HH:MM:ss", "Z"))
            return forms[max(count - 3, 0)]
        case "X" | "x":
            zero = "Z" if letter == "X" else "+00" if count == 1 else "+0000" if count % 2 == 0 else "+00:00"
            return Offset(_OFFSETS[count + (count != 1)], zero)
        case "V" | "O":
            raise PatternError(f"Pattern letter count must be {'2' if letter == 'V' else '1 or 4'}: {letter}")
        case "v" | "B":
            raise PatternError(f"Wrong number of pattern letters: {letter}")
        case "F":
            raise PatternError("Pattern letter that means a day up to Java 18 and a week from Java 19 on: F")
    raise PatternError(f"Unknown pattern letter: {letter}")


def _one_or_all_digits(field: str, count: int) -> Number:
    """Return a number of any width for one letter, else of as many digits as letters."""
    return Number(field, 1, 19, Sign.NORMAL) if count == 1 else Number(field, count, count, Sign.NOT_NEGATIVE)
