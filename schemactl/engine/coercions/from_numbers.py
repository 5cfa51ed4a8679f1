"""Coercion of numbers and booleans; what Java and Python spell in different ways goes to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.coercions.by_python import by_python
from schemactl.engine.coercions.instants import FIRST_SECOND, LAST_SECOND, MICROS, day, in_calendar
from schemactl.schema.types import DataType

Coercers = Mapping[DataType, Callable[[Column], Column]]

_PLAIN_DOUBLE = r"^-?[0-9]+\.[0-9]+\z"
_LARGE_DOUBLE = r"^-?[0-9]\.[0-9]{1,14}E([7-9]|1[0-4])\z"
_EXACT_DOUBLE = r"^-?[0-9]+\.[0-9]+(E-?[0-9]+)?\z"
_EXACT_LENGTH = 15
"""Digits that every double tells apart: what has no more has one shortest spelling, to Java as to Python."""
_WHOLE = r"^(-?[0-9]+(\.0*)?|0E-[0-9]+)\z"
_TINY = r"^-?0\.000000[0-9]"


def _to_text(value: Column) -> Column:
    return value.cast("string")


def _to_double(value: Column) -> Column:
    return value.cast("double")


def _to_bool(number: Column) -> Column:
    return number != 0


def _integer_to_bytes(number: Column) -> Column:
    """Return the bytes of an integer that is not negative, the least first, none for 0."""
    digits = [
        F.when(F.shiftright(number, shift) > 0, F.lpad(F.hex(F.shiftright(number, shift).bitwiseAND(255)), 2, "0"))
        for shift in range(0, 64, 8)
    ]
    return F.when(number >= 0, F.unhex(F.concat_ws("", *digits)))


def _integer_micros(seconds: Column) -> Column:
    return F.when(seconds.between(FIRST_SECOND, LAST_SECOND), seconds) * F.lit(MICROS)


def _integer_to_date(number: Column) -> Column:
    return day(_integer_micros(number))


def _is_exact(digits: Column) -> Column:
    significand = F.substring_index(F.replace(digits, F.lit("-"), F.lit("")), "E", 1)
    return F.length(significand) <= _EXACT_LENGTH + 1


def _double_to_text(number: Column) -> Column:
    digits = number.cast("string")
    written_out = F.rtrim(digits.try_cast("decimal(38,18)").cast("string"), F.lit("0"))
    sure = (
        F.when(~_is_exact(digits), None)
        .when(digits.rlike(_PLAIN_DOUBLE), digits)
        .when(
            digits.rlike(_LARGE_DOUBLE),
            F.when(written_out.endswith("."), F.concat(written_out, F.lit("0"))).otherwise(written_out),
        )
        .when(F.isnan(number), "nan")
        .when(digits == "Infinity", "inf")
        .when(digits == "-Infinity", "-inf")
    )
    return F.coalesce(sure, by_python(F.when(sure.isNull(), number), DataType.DOUBLE, DataType.TEXT))


def _double_to_integer(number: Column) -> Column:
    is_whole = (number == F.rint(number)) & (number >= -(2.0**63)) & (number < 2.0**63)
    return F.when(is_whole, number).try_cast("bigint")


def _double_to_decimal(number: Column) -> Column:
    digits = number.cast("string")
    sure = F.when(_is_exact(digits) & digits.rlike(_EXACT_DOUBLE), digits)
    rest = by_python(F.when(sure.isNull(), number), DataType.DOUBLE, DataType.DECIMAL)
    return F.coalesce(sure, rest)


def _double_micros(seconds: Column) -> Column:
    """Round to microseconds as Python does: the fraction of the second for itself, halves to even."""
    near = F.when(seconds.between(float(FIRST_SECOND - 1), float(LAST_SECOND + 1)), seconds)
    whole = F.when(near < 0, F.ceil(near)).otherwise(F.floor(near)).cast("bigint")
    return in_calendar(whole * F.lit(MICROS) + F.rint((near - whole.cast("double")) * float(MICROS)).cast("bigint"))


def _double_to_date(number: Column) -> Column:
    return day(_double_micros(number))


def _decimal_to_text(number: Column) -> Column:
    digits = number.cast("string")
    # Python writes exponents for these; so does Spark, but not in ANSI mode.
    sure = F.when(~digits.rlike(_TINY), digits)
    return F.coalesce(sure, by_python(F.when(sure.isNull(), digits), DataType.DECIMAL, DataType.TEXT))


def _decimal_to_integer(number: Column) -> Column:
    digits = number.cast("string")
    whole = F.substring_index(F.substring_index(digits, ".", 1), "E", 1)
    return F.when(digits.rlike(_WHOLE), whole).try_cast("bigint")


def _decimal_to_bool(number: Column) -> Column:
    # Compared as a decimal, a number of 38 digits after the point would be rounded.
    return number.cast("double") != 0


def _wei_to_integer(digits: Column) -> Column:
    return digits.try_cast("bigint")


def _wei_to_bool(digits: Column) -> Column:
    return digits.rlike("[1-9]")


def _bool_to_text(value: Column) -> Column:
    return F.when(value, "True").when(~value, "False")


def _same(value: Column) -> Column:
    return value


OF_BIGINT: Final[Coercers] = {
    DataType.BIGINT: _same,
    DataType.TEXT: _to_text,
    DataType.DOUBLE: _to_double,
    DataType.DECIMAL: _same,
    DataType.WEI: _same,
    DataType.BOOL: _to_bool,
    DataType.BINARY: _integer_to_bytes,
    DataType.TIMESTAMP: _integer_micros,
    DataType.DATE: _integer_to_date,
}
OF_DOUBLE: Final[Coercers] = {
    DataType.DOUBLE: _same,
    DataType.TEXT: _double_to_text,
    DataType.BIGINT: _double_to_integer,
    DataType.DECIMAL: _double_to_decimal,
    DataType.WEI: _double_to_decimal,
    DataType.BOOL: _to_bool,
    DataType.TIMESTAMP: _double_micros,
    DataType.DATE: _double_to_date,
}
OF_DECIMAL: Final[Coercers] = {
    DataType.DECIMAL: _same,
    DataType.TEXT: _decimal_to_text,
    DataType.BIGINT: _decimal_to_integer,
    DataType.DOUBLE: _to_double,
    DataType.WEI: _same,
    DataType.BOOL: _decimal_to_bool,
}
OF_WEI: Final[Coercers] = {
    DataType.WEI: _same,
    DataType.TEXT: _same,
    DataType.BIGINT: _wei_to_integer,
    DataType.DOUBLE: _to_double,
    DataType.DECIMAL: _same,
    DataType.BOOL: _wei_to_bool,
}
OF_BOOL: Final[Coercers] = {DataType.BOOL: _same, DataType.TEXT: _bool_to_text}
