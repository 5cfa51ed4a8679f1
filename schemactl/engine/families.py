"""Families of scalar values, as Spark SQL: values of one family are of one class (``inference.classes``).

Spark groups by family, and Python classifies one value of each, the one that the family is named by: so the rules of
coercion stand in one place, and no row passes through Python. A text that no family is sure of is its own family.
tests/engine/test_families.py holds families to classes over made-up values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.parse import parse_json
from schemactl.schema.detectors.timestamp import window
from schemactl.schema.integers import INT64, UINT64_LIMIT, WEI_LIMIT

LARGE_KIND = "LARGE"
"""The kind of integers that ``large_integers.mark_large_integers`` has marked."""

_LEAP_YEAR = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"


def _days(separator: str) -> str:
    """Return a regex for the days that there are: of years whose first digit is no zero, written in full."""
    return (
        rf"(?!0)([0-9]{{4}}{separator}((0[1-9]|1[0-2]){separator}(0[1-9]|1[0-9]|2[0-8])"
        rf"|(0[13-9]|1[0-2]){separator}(29|30)|(0[13578]|1[02]){separator}31)|{_LEAP_YEAR}{separator}02{separator}29)"
    )


# Of the last year a moment may be past the last one in UTC.
_DATE = f"(?!9999){_days('-')}"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?"
_BASIC_CLOCK = r"([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9](\.[0-9]+)?)?"
_LOOSE_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_ZONE = "(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"

# Words and prose: nothing but a base64 text or a boolean can be made of them. Sure by their first letter; T may begin
# a time, the others missing here a special word.
_WORD_STARTS = ("AE", "GH", "JM", "OR", "UX", "ZZ", "ae", "gh", "jm", "or", "ux", "zz")
"""First and last of the letters in a row."""
_SPECIAL_START = r'^[\s\p{Z}\p{C}]*([-+.\p{Nd}"\[{_]|T[\s\p{Nd}])'
_SPECIAL_WORD = r"(?i)^[\s\p{Z}\p{C}]*(true|false|yes|no|t|f|y|n|null|s?nan[0-9]*|inf|infinity)?[\s\p{Z}\p{C}]*\z"

# Letters and signs that are in none of them. `0x` begins a hexadecimal number; of ten characters Python reads a date
# where the first eight are one.
_HAS_LETTERS = r'^(?!0x|[0-9]{8}..\z|[0-9]{4}-?W)[0-9][^"\[{]*[A-DF-SU-VX-Ya-df-z%&$#@!?;=<>()*\'~^\\]'
# What else begins with a digit or a sign, and is none.
_NO_NUMBER = (
    r'^[-+._][^"\[{]*[gjklmopqruvwzGJKLMOPQRUVWZ%&$#@!?;=<>()*\']',
    # Digits in groups: a date begins with four or more, a time with one or two and a colon.
    r"^(?![0-9]{1,2}:)[0-9]{1,3}([ .,:/|-]+[0-9]+){2,}\z",
    r"^[0-9]{1,3}( +|[,/|-])[0-9]+(\.[0-9]+)?\z",
    r"^[0-9]+(\.[0-9]+){2,}\z",
    r"^[0-9]{4,}[,|-][0-9]{4,}([ -][0-9]+)*\z",
    r"^[0-9]{4}( [0-9]{3,})+\z",
    r"^\+[0-9]+[ ()/-]+[0-9]+([ ()/-]+[0-9]+)*\z",
)
_BASE64 = r"^[A-Za-z0-9+/]+={0,2}\z"

_LAST_EPOCH = "253402300799"
"""Seconds of the end of the year 9999."""

_FIRST_EPOCH = "62135596800"
"""Seconds from the beginning of the year 1 to 1970."""

_LARGEST_DOUBLE = 2**1024 - 2**970 - 1
"""The greatest integer that Python makes a double of: half a step more would be rounded past the last one."""

_NAMED = {
    "2024-05-06T07:08:09Z": rf"^{_DATE}[T ]{_CLOCK}{_ZONE}?\z",
    "2024-05-06": rf"^{_DATE}\z",
    "07:08:09": rf"^{_CLOCK}{_ZONE}?\z",
    "0.5": r"^(0|[1-9][0-9]{0,8})\.[0-9]+\z",
    "-0.5": r"^-(0|[1-9][0-9]{0,8})\.[0-9]+\z",
    "1.5e-7": r"^((0|[1-9][0-9]{0,8})\.[0-9]+[eE]-[0-9]{1,2}|[0-9]\.[0-9]+[eE]\+?0?[0-8])\z",
    "-1.5e-7": r"^-((0|[1-9][0-9]{0,8})\.[0-9]+[eE]-[0-9]{1,2}|[0-9]\.[0-9]+[eE]\+?0?[0-8])\z",
    "2024/05/06 07:08:09": rf"^(?!9999){_days('/')} {_LOOSE_CLOCK}\z",
    "0x0": r"^0x[0-9a-fA-F]([0-9a-fA-F]{2}){0,100}\z",
    "0x00": r"^0x([0-9a-fA-F]{2}){1,100}\z",
}
_BASIC_MOMENT = rf"^(?!9999){_days('')}T{_BASIC_CLOCK}{_ZONE}?\z"

# By the number of digits alone, but for some that name days.
_DIGITS = r"^[1-9][0-9]{1,24}\z"
_BASIC_DAY = rf"^{_days('')}\z"
_DAY_OF_YEAR = rf"^(?!0)([0-9]{{4}}(00[1-9]|0[1-9][0-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-5])|{_LEAP_YEAR}366)\z"
_NEGATIVE_DIGITS = r"^-[1-9][0-9]{0,24}\z"
_POSITIVE_DIGITS = r"^\+[1-9][0-9]{0,24}\z"
_ZERO_DIGITS = r"^0([0-9]{1,2}|[0-9]{4,5}|[0-9]{8,24})\z"

_JSON_START = r'^["\[{]'
_ODD_JSON = r"\\u"
"""Spark's parser and Python's do not agree on lone surrogates."""


def text_family(text: Column) -> Column:
    """Return the family of a text, which is named by one of its texts."""
    branches = [
        # Most texts are words: they are told first, and by the cheapest look.
        (_starts_within(text, *_WORD_STARTS), _word(text)),
        (_starts_within(text, "09"), _number_or_moment(text)),
        (~text.rlike(_SPECIAL_START) & ~text.rlike(_SPECIAL_WORD), _word(text)),
    ]
    return _first_of(branches, _signed(text))


def _starts_within(text: Column, *ranges: str) -> Column:
    # Texts compare by their bytes, where they lie: `ascii` takes ten times as long, to copy the first one.
    found = ((text >= each[0]) & (text < chr(ord(each[1]) + 1)) for each in ranges)
    return reduce(or_, found)


def _number_or_moment(text: Column) -> Column:
    """Return the family of a text that begins with a digit."""
    return _first_of(
        [
            (text.rlike(_DIGITS), _digits(text)),
            (text.rlike(_HAS_LETTERS), _word(text)),
            *((text.rlike(pattern), F.lit(name)) for name, pattern in _NAMED.items()),
            (text.rlike(_ZERO_DIGITS), _zero_digits(text)),
            (text.rlike(_BASIC_MOMENT), _basic_moment(text)),
            *((text.rlike(pattern), _word(text)) for pattern in _NO_NUMBER),
        ],
        text,
    )


def _signed(text: Column) -> Column:
    """Return the family of a text that begins with a sign, a bracket, a blank."""
    return _first_of(
        [
            (text.rlike(_NEGATIVE_DIGITS), _negative_digits(text)),
            (text.rlike(_POSITIVE_DIGITS), _positive_digits(text)),
            *((text.rlike(pattern), F.lit(name)) for name, pattern in _NAMED.items() if name.startswith("-")),
            *((text.rlike(pattern), _word(text)) for pattern in _NO_NUMBER),
            (text.rlike(_JSON_START) & ~text.rlike(_ODD_JSON), _json(text)),
        ],
        text,
    )


def _first_of(branches: Sequence[tuple[Column, Column]], otherwise: Column) -> Column:
    found = F.when(*branches[0])
    for condition, name in branches[1:]:
        found = found.when(condition, name)
    return found.otherwise(otherwise)


def _word(text: Column) -> Column:
    return F.when(_is_base64(text), F.lit("word")).otherwise(F.lit("words"))


def _is_base64(text: Column) -> Column:
    return (F.length(text) % 4 == 0) & text.rlike(_BASE64)


def _basic_moment(text: Column) -> Column:
    return F.when(_is_base64(text), F.lit("20240506T070809Z")).otherwise(F.lit("20240506T070809"))


def _digits(text: Column) -> Column:
    size = F.length(text)
    return _first_of(
        [
            ((size == 8) & text.rlike(_BASIC_DAY), F.lit("20240506")),
            ((size == 7) & text.rlike(_DAY_OF_YEAR), F.lit("2024127")),
            # Nines are no day; but twelve of them are past the last epoch.
            ((size == len(_LAST_EPOCH)) & (text <= _LAST_EPOCH), F.lit("1" * len(_LAST_EPOCH))),
        ],
        _repeated("9", size),
    )


def _zero_digits(text: Column) -> Column:
    size = F.length(text)
    is_early = text <= F.lpad(F.lit(_LAST_EPOCH), size, F.lit("0"))
    return F.when((size <= len(_LAST_EPOCH)) | is_early, _repeated("0", size)).otherwise(
        F.concat(F.lit("0"), _repeated("9", size - 1))
    )


def _negative_digits(text: Column) -> Column:
    digits = F.substring(text, 2, 2**31 - 1)
    size = F.length(digits)
    is_early = (size < len(_FIRST_EPOCH)) | ((size == len(_FIRST_EPOCH)) & (digits <= _FIRST_EPOCH))
    return F.concat(F.lit("-"), F.when(is_early, _repeated("1", size)).otherwise(_repeated("9", size)))


def _positive_digits(text: Column) -> Column:
    digits = F.substring(text, 2, 2**31 - 1)
    size = F.length(digits)
    is_early = (size < len(_LAST_EPOCH)) | ((size == len(_LAST_EPOCH)) & (digits <= _LAST_EPOCH))
    return F.concat(F.lit("+"), F.when(is_early, _repeated("1", size)).otherwise(_repeated("9", size)))


def _repeated(digit: str, size: Column) -> Column:
    return F.rpad(F.lit(""), size, F.lit(digit))


def _json(text: Column) -> Column:
    return F.when(parse_json(text).isNotNull(), F.lit("[0]")).otherwise(F.lit("[!]"))


def is_number_kind(kind: Column) -> Column:
    """Return whether Spark's name of a kind is one of numbers."""
    return kind.isin("BIGINT", "DOUBLE", LARGE_KIND) | kind.startswith("DECIMAL")


def number_family(text: Column, kind: Column, number: Column) -> Column:
    """Return the family of a number, which is named by one of its numbers as JSON.

    Args:
        text: the number.
        kind: Spark's name of its type: ``BIGINT``, ``DOUBLE`` or ``DECIMAL(...)``, of literals that are no integers
            too; ``LARGE_KIND`` of integers of 19 digits and more.
        number: the same as a double.
    """
    starts = [_bounds()[0] - 1, *_bounds()]
    bucket = sum((F.when(number >= bound, 1).otherwise(0) for bound in _bounds()), F.lit(1))
    real = (
        F.when(F.abs(number) == math.inf, F.lit("Infinity"))
        .when(number == F.rint(number), _pick([float(start) for start in starts], bucket))
        .otherwise(_pick([start + 0.5 for start in starts], bucket))
    )
    return F.when(kind == "BIGINT", _pick(starts, bucket)).when(kind == LARGE_KIND, _large(text)).otherwise(real)


def _large(text: Column) -> Column:
    digits = F.ltrim(text, F.lit("-"))
    positive = [INT64.stop - 1, UINT64_LIMIT - 1, WEI_LIMIT, _LARGEST_DOUBLE]
    negative = [-INT64.start, WEI_LIMIT, _LARGEST_DOUBLE]
    below = F.when(_is_at_most(digits, negative[0]), F.lit(str(-negative[0])))
    above = F.when(_is_at_most(digits, positive[0]), F.lit(str(positive[0])))
    for bound in negative[1:]:
        below = below.when(_is_at_most(digits, bound), F.lit(str(-bound)))
    for bound in positive[1:]:
        above = above.when(_is_at_most(digits, bound), F.lit(str(bound)))
    beyond = "9" * 400
    return F.when(text.startswith("-"), below.otherwise(F.lit(f"-{beyond}"))).otherwise(above.otherwise(F.lit(beyond)))


def _is_at_most(digits: Column, bound: int) -> Column:
    size = len(str(bound))
    return (F.length(digits) < size) | ((F.length(digits) == size) & (digits <= str(bound)))


def _bounds() -> list[int]:
    """Return where dlt's answers about numbers change: years 1 and 9999, booleans, recent timestamps."""
    low, high = window()
    return [-62_135_596_800, 0, 1, 2, math.ceil(low), math.ceil(high), 253_402_300_800]


def _pick(names: list[int] | list[float], number: Column) -> Column:
    return F.element_at(F.array(*(F.lit(repr(name)) for name in names)), number)
