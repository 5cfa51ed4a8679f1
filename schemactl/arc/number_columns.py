"""Columns of strings that are numbers: most strings are read by a C loop, the remaining ones one by one as in Java."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import ROUND_HALF_UP
from decimal import Decimal as Exact
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.date_patterns import PatternError
from schemactl.arc.fields import Decimal, Double, Integer, Long
from schemactl.arc.number_patterns import EXACT, NumberPattern, Parsed, parse_number_pattern
from schemactl.arc.text_arrays import convert_distinct, octets_of

NumberType: TypeAlias = Integer | Long | Double | Decimal

JAVA_BLANKS: Final = "".join(map(chr, range(33)))
"""Characters that Java's ``trim`` drops."""

_MOST_DIGITS: Final = 38


class NumberColumn:
    """Converts the texts of one field."""

    def __init__(self, of: NumberType) -> None:
        self._of = of
        self._patterns = None if of.formatters is None else _valid_patterns(of.formatters)
        match of:
            case Decimal(precision=precision, scale=scale):
                self._type = pa.decimal128(max(precision, 1), scale)
            case Double():
                self._type = pa.float64()
            case _:
                self._type = pa.int32() if isinstance(of, Integer) else pa.int64()
        self._quick = _QuickNumbers.of(of, self._patterns, self._type)

    def convert(self, texts: pa.Array) -> pa.Array:
        """Return the numbers; null for nulls and for texts that are not numbers of the type."""
        if self._of.decimal_separator is not None:
            texts = to_american(texts, self._of.decimal_separator)
        numbers = pa.nulls(len(texts), self._type) if self._quick is None else self._quick.convert(texts)
        is_odd = pc.and_(texts.is_valid(), numbers.is_null())
        if not pc.any(is_odd).as_py():
            return numbers
        return pc.replace_with_mask(numbers, is_odd, convert_distinct(texts.filter(is_odd), self.parse, self._type))

    def parse(self, text: str) -> int | float | Exact | None:
        """Return the number of one text, None if it is not a number of the type."""
        is_plain = self._patterns is None
        all_parsed = (pattern.parse(text) for pattern in self._patterns or ())
        parsed = next((parsed for parsed in all_parsed if parsed is not None), None)
        match self._of:
            case Double():
                double = _double_of(text) if is_plain else None if parsed is None else parsed.double
                return None if double is None or abs(double) == float("inf") else double
            case Decimal(precision, scale):
                number = _decimal_of(text) if is_plain else None if parsed is None else parsed.value
                return None if number is None else _rounded(number, precision, scale)
        integer = _whole_of(text) if is_plain else _whole_parsed(parsed)
        bound = 2**31 if isinstance(self._of, Integer) else 2**63
        return integer if integer is not None and -bound <= integer < bound else None


def to_american(texts: pa.Array, decimal_separator: str) -> pa.Array:
    """Return numbers with ``,`` between groups of digits and ``.`` before a fraction, as patterns expect them.

    Groups may be divided by a blank, an apostrophe, or by the one of ``.`` and ``,`` that is not the decimal separator.
    """
    group = "" if decimal_separator == "." else "."
    numbers = pc.replace_substring(texts, decimal_separator, "\0")
    for _ in range(2):  # a group of three digits hides the border to the next one
        numbers = pc.replace_substring_regex(numbers, rf"([0-9])[{group} '’\x{{a0}}\x{{202f}}]([0-9]{{3}})", r"\1,\2")
    # A point that divides no groups is not a decimal separator, so the text is not a number.
    return pc.replace_substring(pc.replace_substring(numbers, ".", "\1"), "\0", ".")


def _valid_patterns(formatters: Sequence[str]) -> list[NumberPattern]:
    """Return the patterns that Java accepts, and drop invalid ones."""
    patterns = []
    for formatter in formatters:
        with suppress(PatternError):
            patterns.append(parse_number_pattern(formatter))
    return patterns


_WHOLE: Final = re.compile(r"[+-]?\d+")
_BIG_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_HEX_DOUBLE: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII
)


def _is_basic(text: str) -> bool:
    # Java reads digits of 16 bits only.
    return text.isascii() or max(text) < "\U00010000"


def _whole_of(text: str) -> int | None:
    if "E+" in text or "e+" in text:
        number = _decimal_of(text)
        if number is None or number.adjusted() > 20 or number != number.to_integral_value(context=EXACT):
            return None
        return int(number)
    return int(text) if _WHOLE.fullmatch(text) and _is_basic(text) and len(text) < 4000 else None


def _decimal_of(text: str) -> Exact | None:
    return Exact(text) if _BIG_DECIMAL.fullmatch(text) and _is_basic(text) else None


def _double_of(text: str) -> float | None:
    text = text.strip(JAVA_BLANKS)
    if hexadecimal := _HEX_DOUBLE.fullmatch(text):
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return None
    if _DOUBLE.fullmatch(text) is None:
        return None
    return float(text if text.endswith("NaN") else text.rstrip("fFdD"))


def _whole_parsed(parsed: Parsed | None) -> int | None:
    value = parsed.value if parsed is not None else None
    if parsed is None or value is None or not value.is_finite() or (value == 0 and parsed.is_negative):
        return None
    if value == value.to_integral_value(context=EXACT):
        return int(value)
    # A number that double precision does not distinguish from a whole number is one.
    return int(parsed.double) if parsed.double.is_integer() else None


def _rounded(number: Exact, precision: int, scale: int) -> Exact | None:
    """Return a number with a scale, None if it then has more digits than the precision."""
    if not number.is_finite() or (number and number.adjusted() > precision):
        return None
    if number.adjusted() < -scale - 2:
        return Exact(0).scaleb(-scale)
    rounded = number.quantize(Exact(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return rounded if not rounded or rounded.adjusted() + scale + 1 <= precision else None


class _QuickNumbers:
    """Converts the texts that Arrow reads as Java does, to the type of a field, which ``to`` is in Arrow.

    ``is_plain`` tells whether the field has no patterns, ``is_grouped`` whether commas may group digits.
    """

    def __init__(self, of: NumberType, to: pa.DataType, *, is_plain: bool, is_grouped: bool) -> None:
        self._type = to
        sign = "-?" if is_plain else ""
        match of:
            case Integer():
                digits = "[0-9]{1,9}"
            case Long():
                digits = "[0-9]{1,18}"
            case Double():
                digits = r"[0-9]{1,300}(?:\.[0-9]+)?"
            case Decimal(precision=precision, scale=scale):
                fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
                digits = f"[0-9]{{1,{precision - scale}}}{fraction}" if precision > scale else "$^x"
        self._number = f"^{sign}{digits}$"
        self._grouped = rf"^{sign}(?:[0-9][0-9,]*[0-9]|[0-9])(?:\.[0-9]+)?$" if is_grouped else None
        # All patterns agree on a number without a sign and a point. Arrow has no decimals without a digit.
        self._alphabet = b"\0\0" if isinstance(of, Decimal) and not of.precision else b"-9" if is_plain else b"09"

    @staticmethod
    def of(of: NumberType, patterns: Sequence[NumberPattern] | None, to: pa.DataType) -> _QuickNumbers | None:
        """Return the conversion of a type; None if texts of its first pattern are not plain numbers."""
        if patterns is None:
            return _QuickNumbers(of, to, is_plain=True, is_grouped=False)
        first = patterns[0] if patterns else None
        if first is None or first.divisor != 1 or first.positive.prefix or first.positive.suffix:
            return None
        return _QuickNumbers(of, to, is_plain=False, is_grouped=first.is_grouped)

    def convert(self, texts: pa.Array) -> pa.Array:
        """Return the numbers; null for texts of other forms."""
        if (numbers := self._cast_all(texts)) is not None:
            return numbers
        if self._grouped is not None:
            texts = pc.replace_substring(_matching(texts, self._grouped), ",", "")
        return _matching(texts, self._number).cast(self._type)

    def _cast_all(self, texts: pa.Array) -> pa.Array | None:
        """Return strings as numbers; None if a character is outside of the alphabet, or a string is not a valid number.

        From ``-`` to ``9`` there are signs, points, digits, and the slash, which no number contains: for strings of
        these characters, Arrow reads the same numbers as Java and rejects numbers that would lose a digit.
        """
        octets = octets_of(texts)
        if not len(octets) or octets.min() < self._alphabet[0] or octets.max() > self._alphabet[1]:
            return None
        is_decimal = pa.types.is_decimal(self._type)
        if is_decimal and pc.max(pc.binary_length(texts)).as_py() + self._type.scale > _MOST_DIGITS:
            return None  # Arrow does not see that a number overflows
        try:
            numbers = texts.cast(self._type)
        except pa.ArrowInvalid:
            return None
        return numbers if not pa.types.is_floating(self._type) or pc.all(pc.is_finite(numbers)).as_py() else None


def _matching(texts: pa.Array, regex: str) -> pa.Array:
    """Return the strings that match, and null otherwise."""
    return pc.if_else(pc.match_substring_regex(texts, regex), texts, pa.scalar(None, pa.string()))
