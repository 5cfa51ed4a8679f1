"""What SQL is sure of when a value is to survive in a type; the rest is for ``inference.survival``."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.families import LARGE_KIND
from schemactl.inference.survival.target import EXACT_INTEGERS, LONGEST_DOUBLE, TargetType
from schemactl.schema.types import DataType

REAL_KIND = "DOUBLE"


def look(target: TargetType) -> tuple[Column, Column]:
    """Return what SQL can say of a value of the columns ``kind``, ``text`` and ``own`` (its family).

    Returns:
        Whether the value survives in the target (boolean, null where that is not sure), and a value that fares alike,
        for Python to judge where it is not.
    """
    kind, own = F.col("kind"), F.col("own")
    looks = {"STRING": _look_at_text(target), "BIGINT": _look_at_integer(target), REAL_KIND: _look_at_real(target)}
    sure, family = unsure(), own
    for name, (its_sure, its_family) in looks.items():
        sure = F.when(kind == name, its_sure).otherwise(sure)
        family = F.when(kind == name, its_family).otherwise(family)
    # Marked integers are few.
    return sure, F.when(kind == LARGE_KIND, F.col("text")).otherwise(family)


def unsure() -> Column:
    """Return the answer to what SQL cannot tell."""
    return F.lit(None).cast("boolean")


_SHORT_INTEGER = r"^-?(0|[1-9][0-9]{0,17})\z"
_SHORT_NUMBER = r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?\z"
_EXACT_NUMBER = r"^-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?\z"
"""Up to 15 digits: as many as a double holds."""
_TIME_OF_DAY = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_PLAIN_MOMENT = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_TIME_OF_DAY}(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])?)?\z"
_PLAIN_CLOCK = rf"^{_TIME_OF_DAY}\z"
_PLAIN_SECONDS = r"^-?(0|[1-9][0-9]{0,8})\.[0-9]{1,6}\z"

_MOMENT, _DAY, _CLOCK = "2024-05-06T07:08:09Z", "2024-05-06", "07:08:09"
"""Families of ``families.text_family``: timestamps, days and times, well-formed ones."""
_SECONDS = ("0.5", "-0.5")
"""Families of decimal numbers."""
_WORD, _WORDS = "word", "words"
"""The families of what is no number and no moment; the first one of texts that are base64 by their looks."""


def _look_at_text(target: TargetType) -> tuple[Column, Column]:
    text, own = F.col("text"), F.col("own")
    # Values of one family are of one class, but only its plain ones hold as many digits as one another.
    is_plain = text.rlike(_PLAIN_MOMENT) | text.rlike(_PLAIN_CLOCK) | text.rlike(_PLAIN_SECONDS)
    itself = F.when(own.isin(_WORD, _WORDS) | own.startswith("[") | is_plain, own).otherwise(text)
    match target.data_type:
        case DataType.TEXT:
            return _is_at_most(F.length(text), target.precision), own
        case DataType.BIGINT:
            return F.when(text.rlike(_SHORT_INTEGER), _is_in_range(text.try_cast("bigint"), target)), itself
        case DataType.DOUBLE:
            return F.when(text.rlike(_EXACT_NUMBER), True), itself
        case DataType.DECIMAL | DataType.WEI:
            whole = F.ltrim(F.regexp_extract(text, "^-?([0-9]+)", 1), F.lit("0"))
            has_room = _is_at_most(F.length(whole), target.integer_digits)
            has_room &= F.length(_fraction(text)) <= (target.scale or 0)
            return F.when(text.rlike(_SHORT_NUMBER), has_room), itself
        case DataType.TIMESTAMP | DataType.TIME if _is_coarse(target):
            families = (_MOMENT, *_SECONDS) if target.data_type is DataType.TIMESTAMP else (_CLOCK,)
            is_sure = is_plain & own.isin(*families)
            return F.when(is_sure, F.length(_fraction(text)) <= max(target.precision or 0, 0)), itself
        case DataType.DATE:
            is_moment = is_plain & (own == _MOMENT)
            is_odd = (F.substring(text, 18, 2) != "00") | (F.length(_fraction(text)) > 0)
            # The rest depends on the offset from UTC; the day itself does not matter.
            at = F.concat(F.lit(_DAY), F.regexp_replace(F.substring(text, 11, 2**31 - 1), r"\.0+", ""))
            is_number = is_plain & own.isin(*_SECONDS)
            is_sure = (is_moment & is_odd) | (is_number & (F.length(_fraction(text)) > 0))
            return F.when(is_sure, False), F.when(is_moment, at).when(is_number, text).otherwise(itself)
        case DataType.BINARY:
            is_word = (own == _WORD) & ~text.startswith("0x")
            octets = F.length(F.rtrim(text, F.lit("="))) * 3 / 4
            return F.when(is_word, _is_at_most(F.floor(octets), target.precision)), itself
        case _:
            return unsure(), own


def _look_at_integer(target: TargetType) -> tuple[Column, Column]:
    text, own = F.col("text"), F.col("own")
    number = text.try_cast("bigint")
    match target.data_type:
        case DataType.TEXT:
            return _is_at_most(F.length(text), target.precision), own
        case DataType.BIGINT:
            return _is_in_range(number, target), own
        case DataType.DOUBLE:
            return F.when(number.between(-EXACT_INTEGERS, EXACT_INTEGERS), True), text
        case DataType.DECIMAL | DataType.WEI:
            digits = F.ltrim(F.ltrim(text, F.lit("-")), F.lit("0"))
            return _is_at_most(F.length(digits), target.integer_digits), own
        case DataType.DATE:
            return F.when(number % _SECONDS_OF_DAY != 0, False), text
        case DataType.BINARY:
            return unsure(), text
        case _:
            return unsure(), own


def _look_at_real(target: TargetType) -> tuple[Column, Column]:
    text, own = F.col("text"), F.col("own")
    number = text.try_cast("double")
    match target.data_type:
        case DataType.TEXT:
            is_sure = target.precision is None or target.precision >= LONGEST_DOUBLE
            return (F.lit(True), own) if is_sure else (unsure(), text)
        case DataType.BIGINT:
            past = _past(target)
            is_inside = F.lit(True) if past is None else (number >= -past) & (number < past)
            return is_inside & (number == F.rint(number)) & _is_finite(number), own
        case DataType.DOUBLE:
            return F.lit(True), own
        case DataType.DECIMAL | DataType.WEI:
            digits = target.integer_digits
            has_room = F.lit(True) if digits is None else F.abs(number) < 10.0 ** min(digits, 308)
            return has_room & (F.round(number, target.scale or 0) == number) & _is_finite(number), own
        case DataType.TIMESTAMP | DataType.TIME if _is_coarse(target):
            return unsure(), text
        case DataType.DATE:
            return F.when(number % _SECONDS_OF_DAY != 0, False), text
        case _:
            return unsure(), own


_SECONDS_OF_DAY = 86_400
_MICROSECOND_DIGITS = 6


def _is_coarse(target: TargetType) -> bool:
    return target.precision is not None and target.precision < _MICROSECOND_DIGITS


def _is_at_most(length: Column, limit: int | None) -> Column:
    return F.lit(True) if limit is None else length <= limit


def _past(target: TargetType) -> float | None:
    """Return the first number that an integer of the target's bits does not hold; None where doubles all fit."""
    return None if target.precision is None or target.precision > 1000 else 2.0 ** max(target.precision - 1, 0)


def _is_in_range(number: Column, target: TargetType) -> Column:
    if target.precision is None or target.precision >= 64:
        return F.lit(True)
    past = 1 << max(target.precision - 1, 0)
    return number.between(-past, past - 1)


def _is_finite(number: Column) -> Column:
    return F.abs(number) != float("inf")


def _fraction(text: Column) -> Column:
    """Return the digits after the point, zeros at the end left out."""
    return F.rtrim(F.regexp_extract(text, r"\.([0-9]+)", 1), F.lit("0"))
