"""Families of scalar values, as Spark SQL: values of one family are of one class (``inference.classes``).

Spark groups by family, and Python classifies one value of each, the one that the family is named by: so the rules of
coercion stand in one place, and no row passes through Python. A text that no family is sure of is its own family.
tests/engine/test_families.py holds families to classes over made-up values.
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.parse import parse_json
from schemactl.inference.classes import INT64, UINT64_LIMIT, WEI_LIMIT
from schemactl.inference.detectors.timestamp import window

LARGE_KIND = "LARGE"
"""The kind of integers that ``parse.mark_large_integers`` has marked."""

_MONTH = "(0[1-9]|1[0-2])"
_SAFE_DAY = "(0[1-9]|1[0-9]|2[0-8])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_DATE = f"(19|20)[0-9]{{2}}-{_MONTH}-{_SAFE_DAY}"
_ZONE = "(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"

# Words and prose: nothing but a base64 text or a boolean can be made of them. Sure by their first letter; T may begin
# a time, the others missing here a special word.
_WORD_START = [ord(letter) for letter in "ABCDEGHJKLMOPQRUVWXZabcdeghjklmopqruvwxz"]
_SPECIAL_START = r'^[\s\p{Z}\p{C}]*([-+.\p{Nd}"\[{_]|T[\s\p{Nd}])'
_SPECIAL_WORD = r"(?i)^[\s\p{Z}\p{C}]*(true|false|yes|no|t|f|y|n|null|s?nan[0-9]*|inf|infinity)?[\s\p{Z}\p{C}]*\z"

# Starts like a number and holds a character that no number, date, time or hexadecimal number has.
_NO_NUMBER = (
    r'^[0-9][^"\[{]*[g-sG-SuUvVyY%&$#@!?;=<>()*\']',
    r'^[-+._][^"\[{]*[gjklmopqruvwzGJKLMOPQRUVWZ%&$#@!?;=<>()*\']',
    r"^[0-9]+[0-9a-f]*[a-df][0-9a-f]*\z",
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\z",
    r"^[0-9]{1,3}(\.[0-9]{1,3}){2,}\z",
    r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}\z",
)
_BASE64 = r"^[A-Za-z0-9+/]+={0,2}\z"

_LARGEST_EPOCH = "253402300799"
"""Seconds of the end of the year 9999."""

_LARGEST_DOUBLE = 2**1024 - 2**970 - 1
"""The greatest integer that Python makes a double of: half a step more would be rounded past the last one."""

_NAMED = {
    "2024-05-06T07:08:09Z": rf"^{_DATE}[T ]{_TIME}{_ZONE}?\z",
    "2024-05-06": rf"^{_DATE}\z",
    "07:08:09": rf"^{_TIME}\z",
    "20240506": rf"^[1-9][0-9]{{3}}{_MONTH}{_SAFE_DAY}\z",
    "2024127": r"^[1-9][0-9]{3}(00[1-9]|0[1-9][0-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-5])\z",
    "0.5": r"^(0|[1-9][0-9]{0,8})\.[0-9]{1,6}\z",
    "-0.5": r"^-(0|[1-9][0-9]{0,8})\.[0-9]{1,6}\z",
}
_DIGITS = r"^[1-9][0-9]{1,24}\z"
_AMBIGUOUS_DIGITS = r"^[0-9]{4}(366|[0-9]{2}(29|30|31))\z"
_NEGATIVE_DIGITS = r"^-[1-9][0-9]{0,9}\z"
_ZERO_DIGITS = r"^0([0-9]{1,2}|[0-9]{4,5}|[0-9]{8,9})\z"

_JSON_START = r'^["\[{]'
_ODD_JSON = r"\\u"
"""Spark's parser and Python's do not agree on lone surrogates."""


def text_family(text: Column) -> Column:
    """Return the family of a text, which is named by one of its texts."""
    branches = [
        # Most texts are words: they are told first, and by the cheapest look.
        (F.ascii(text).isin(_WORD_START), _word(text)),
        (~text.rlike(_SPECIAL_START) & ~text.rlike(_SPECIAL_WORD), _word(text)),
        *((text.rlike(pattern), F.lit(name)) for name, pattern in _NAMED.items()),
        (text.rlike(_DIGITS) & ~text.rlike(_AMBIGUOUS_DIGITS), _digits(text)),
        (text.rlike(_NEGATIVE_DIGITS), _masked(text, "[0-9]", "1")),
        (text.rlike(_ZERO_DIGITS), _masked(text, "[0-9]", "0")),
        *((text.rlike(pattern), _word(text)) for pattern in _NO_NUMBER),
        (text.rlike(_JSON_START) & ~text.rlike(_ODD_JSON), _json(text)),
    ]
    family = F.when(*branches[0])
    for condition, name in branches[1:]:
        family = family.when(condition, name)
    return family.otherwise(text)


def _word(text: Column) -> Column:
    is_base64 = (F.length(text) % 4 == 0) & text.rlike(_BASE64)
    return F.when(is_base64, F.lit("word")).otherwise(F.lit("words"))


def _digits(text: Column) -> Column:
    # Nines are no date, whatever their number; but twelve of them are past the last epoch.
    is_early = (F.length(text) == len(_LARGEST_EPOCH)) & (text <= _LARGEST_EPOCH)
    return F.when(is_early, F.lit("1" * len(_LARGEST_EPOCH))).otherwise(_masked(text, "[0-9]", "9"))


def _masked(text: Column, pattern: str, replacement: str) -> Column:
    return F.regexp_replace(text, pattern, replacement)


def _json(text: Column) -> Column:
    return F.when(parse_json(text).isNotNull(), F.lit("[0]")).otherwise(F.lit("[!]"))


def number_family(text: Column, kind: Column) -> Column:
    """Return the family of a number, which is named by one of its numbers as JSON.

    Args:
        text: the number.
        kind: Spark's name of its type: ``BIGINT``, ``DOUBLE`` or ``DECIMAL(...)``, of literals that are no integers
            too; ``LARGE_KIND`` of integers of 19 digits and more.
    """
    number = text.try_cast("double")
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
