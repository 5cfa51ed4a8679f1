"""Java's patterns of numbers (``java.text.DecimalFormat``) with the symbols of American English.

Patterns say which affixes a number has and whether digits may be grouped; how many digits there are does not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Final

from schemactl.arc.date_patterns import PatternError

_BODY: Final = re.compile(r"[#,]*[0,]*(?:\.0*#*)?(?:E0+)?")
_MOST_EXPONENT: Final = 400
"""Numbers with larger exponents fit no type; Java takes minutes for some."""

_EXACT: Final = Context(prec=100_000)

_NUMBER: Final = r"(?:[\d{group}]*\.\d+|[\d{group}]*\d\.?)(?:E-?\d+)?"
_GROUPED: Final = re.compile(_NUMBER.format(group=","))
_PLAIN: Final = re.compile(_NUMBER.format(group=""))
_MULTIPLIERS: Final = {"%": 100, "‰": 1000}


@dataclass(frozen=True, slots=True)
class Affixes:
    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A number as Java reads it.

    Attributes:
        digits: its value before division, None where it is ``NaN``; infinite for ``∞``.
        is_negative: of zeros too.
        divisor: 100 of percents, 1000 of per milles, else 1.
    """

    digits: Decimal | None
    is_negative: bool
    divisor: int

    @property
    def value(self) -> Decimal | None:
        """The exact number."""
        if self.digits is None:
            return None
        shift = {1: 0, 100: 2, 1000: 3}[self.divisor]
        value = self.digits.scaleb(-shift, _EXACT) if self.digits.is_finite() else self.digits
        return value.copy_negate() if self.is_negative else value

    @property
    def double(self) -> float:
        """The number as Java's double."""
        if self.digits is None:
            return float("nan")
        value = float(self.digits) / self.divisor
        return -value if self.is_negative else value


@dataclass(frozen=True, slots=True)
class NumberPattern:
    positive: Affixes
    negative: Affixes
    is_grouped: bool
    divisor: int

    def parse(self, text: str) -> Parsed | None:
        """Return the number that the whole text is, None where it is none of this pattern."""
        positive, negative = self.positive.prefix, self.negative.prefix
        is_positive, is_negative = text.startswith(positive), text.startswith(negative)
        is_positive, is_negative = _longer(is_positive, is_negative, len(positive), len(negative))
        if not (is_positive or is_negative):
            return None
        start = len(positive if is_positive else negative)
        digits, end = self._body(text, start)
        if end == start:
            return None
        positive, negative = self.positive.suffix, self.negative.suffix
        is_positive = is_positive and text.startswith(positive, end)
        is_negative = is_negative and text.startswith(negative, end)
        is_positive, is_negative = _longer(is_positive, is_negative, len(positive), len(negative))
        if is_positive == is_negative:
            return None
        end += len(positive if is_positive else negative)
        return Parsed(digits, is_negative, self.divisor) if end == len(text) else None

    def _body(self, text: str, start: int) -> tuple[Decimal | None, int]:
        """Return the number at a place, and where it ends: the place itself where there is none."""
        for word, value in (("NaN", None), ("∞", Decimal("Infinity"))):
            if text.startswith(word, start):
                return value, start + len(word)
        found = (_GROUPED if self.is_grouped else _PLAIN).match(text, start)
        if found is None or not all(letter < "\U00010000" for letter in found[0]):
            return None, start
        mantissa, _, exponent = found[0].replace(",", "").partition("E")
        if exponent and abs(int(exponent)) > _MOST_EXPONENT:
            is_zero = not mantissa.strip(".0")
            return Decimal(0) if is_zero or exponent.startswith("-") else Decimal("Infinity"), found.end()
        return Decimal(f"{mantissa}E{exponent or 0}"), found.end()


def _longer(is_positive: bool, is_negative: bool, positive: int, negative: int) -> tuple[bool, bool]:
    """Return which of two affixes is there; where both are, the longer one."""
    if is_positive and is_negative and positive != negative:
        return positive > negative, negative > positive
    return is_positive, is_negative


def parse_number_pattern(pattern: str) -> NumberPattern:
    """Return what a pattern means.

    Raises:
        PatternError: Java refuses it.
    """
    if not pattern:
        return NumberPattern(Affixes("", ""), Affixes("-", ""), True, 1)
    prefix, at, divisor = _affix(pattern, 0, 1)
    body = _BODY.match(pattern, at)
    number = body[0] if body else ""
    if not number.strip(","):
        raise PatternError(f'Malformed pattern "{pattern}"')
    suffix, at, divisor = _affix(pattern, at + len(number), divisor)
    integer = number.partition(".")[0].partition("E")[0]
    if integer.endswith(","):
        raise PatternError(f'Malformed pattern "{pattern}"')
    positive = Affixes(prefix, suffix)
    if at == len(pattern):
        return NumberPattern(positive, Affixes(f"-{prefix}", suffix), "," in integer, divisor)
    if pattern[at] != ";":
        raise PatternError(f"Unquoted special character '{pattern[at]}' in pattern \"{pattern}\"")
    negative_prefix, at, _ = _affix(pattern, at + 1, 1)
    body = _BODY.match(pattern, at)
    negative_suffix, at, _ = _affix(pattern, at + len(body[0] if body else ""), 1)
    if at < len(pattern) and pattern[at] != ";":
        raise PatternError(f"Unquoted special character '{pattern[at]}' in pattern \"{pattern}\"")
    negative = Affixes(negative_prefix, negative_suffix)
    if negative == positive or not pattern.partition(";")[2]:
        negative = Affixes(f"-{prefix}", suffix)
    return NumberPattern(positive, negative, "," in integer, divisor)


def _affix(pattern: str, at: int, divisor: int) -> tuple[str, int, int]:
    """Return the affix at a place, where it ends, and what it divides the number by."""
    made: list[str] = []
    is_quoted = False
    while at < len(pattern):
        letter = pattern[at]
        if letter == "'":
            if pattern.startswith("''", at):
                made.append("'")
                at += 1
            else:
                is_quoted = not is_quoted
        elif is_quoted:
            made.append(letter)
        elif letter in "#0,.;":
            break
        else:
            divisor = _MULTIPLIERS.get(letter, divisor)
            made.append("$" if letter == "¤" else letter)
        at += 1
    return "".join(made), at, divisor
