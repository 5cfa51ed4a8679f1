"""Java's patterns of numbers (``java.text.DecimalFormat``) with the symbols of American English.

Patterns say which affixes a number has and whether digits may be grouped, but not how many digits it has.
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

EXACT: Final = Context(prec=100_000)

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
        digits: its value before division, None for ``NaN``; infinite for ``∞``.
        is_negative: also of zeros.
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
        value = self.digits.scaleb(-shift, EXACT) if self.digits.is_finite() else self.digits
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
        """Return the number that the whole text is, None if the text does not fit the pattern."""
        positive, negative = self.positive, self.negative
        is_positive, is_negative = _longer(
            text.startswith(positive.prefix),
            text.startswith(negative.prefix),
            len(positive.prefix) - len(negative.prefix),
        )
        if not (is_positive or is_negative):
            return None
        start = len((positive if is_positive else negative).prefix)
        digits, end = self._digits(text, start)
        if end == start:
            return None
        is_positive, is_negative = _longer(
            is_positive and text.startswith(positive.suffix, end),
            is_negative and text.startswith(negative.suffix, end),
            len(positive.suffix) - len(negative.suffix),
        )
        if is_positive == is_negative:
            return None
        end += len((positive if is_positive else negative).suffix)
        return Parsed(digits, is_negative, self.divisor) if end == len(text) else None

    def _digits(self, text: str, start: int) -> tuple[Decimal | None, int]:
        """Return the number at a position and its end; the end equals the start if the text has no number."""
        for word, value in (("NaN", None), ("∞", Decimal("Infinity"))):
            if text.startswith(word, start):
                return value, start + len(word)
        number = (_GROUPED if self.is_grouped else _PLAIN).match(text, start)
        if number is None or not all(letter < "\U00010000" for letter in number[0]):
            return None, start
        mantissa, _, exponent = number[0].replace(",", "").partition("E")
        if exponent and abs(int(exponent)) > _MOST_EXPONENT:
            is_zero = not mantissa.strip(".0")
            return Decimal(0) if is_zero or exponent.startswith("-") else Decimal("Infinity"), number.end()
        return Decimal(f"{mantissa}E{exponent or 0}"), number.end()


def _longer(is_positive: bool, is_negative: bool, excess: int) -> tuple[bool, bool]:
    """Return which affix a text has: of two the longer one.

    ``excess`` is the length of the positive affix beyond that of the negative one.
    """
    return (excess > 0, excess < 0) if is_positive and is_negative and excess else (is_positive, is_negative)


def parse_number_pattern(pattern: str) -> NumberPattern:
    """Return the affixes, grouping and divisor of a pattern.

    Raises:
        PatternError: Java refuses it.
    """
    if not pattern:
        return NumberPattern(Affixes("", ""), Affixes("-", ""), True, 1)
    prefix, position, divisor = _affix(pattern, 0, 1)
    body = _BODY.match(pattern, position)
    number = body[0] if body else ""
    if not number.strip(","):
        raise PatternError(f'Malformed pattern "{pattern}"')
    suffix, position, divisor = _affix(pattern, position + len(number), divisor)
    integer = number.partition(".")[0].partition("E")[0]
    if integer.endswith(","):
        raise PatternError(f'Malformed pattern "{pattern}"')
    positive = Affixes(prefix, suffix)
    if position == len(pattern):
        return NumberPattern(positive, Affixes(f"-{prefix}", suffix), "," in integer, divisor)
    if pattern[position] != ";":
        raise PatternError(f"Unquoted special character '{pattern[position]}' in pattern \"{pattern}\"")
    negative_prefix, position, _ = _affix(pattern, position + 1, 1)
    body = _BODY.match(pattern, position)
    negative_suffix, position, _ = _affix(pattern, position + len(body[0] if body else ""), 1)
    if position < len(pattern) and pattern[position] != ";":
        raise PatternError(f"Unquoted special character '{pattern[position]}' in pattern \"{pattern}\"")
    negative = Affixes(negative_prefix, negative_suffix)
    if negative == positive or not pattern.partition(";")[2]:
        negative = Affixes(f"-{prefix}", suffix)
    return NumberPattern(positive, negative, "," in integer, divisor)


def _affix(pattern: str, position: int, divisor: int) -> tuple[str, int, int]:
    """Return the affix at a position, its end, and the divisor of the number."""
    letters: list[str] = []
    is_quoted = False
    while position < len(pattern):
        letter = pattern[position]
        if letter == "'":
            if pattern.startswith("''", position):
                letters.append("'")
                position += 1
            else:
                is_quoted = not is_quoted
        elif is_quoted:
            letters.append(letter)
        elif letter in "#0,.;":
            break
        else:
            divisor = _MULTIPLIERS.get(letter, divisor)
            letters.append("$" if letter == "¤" else letter)
        position += 1
    return "".join(letters), position, divisor
