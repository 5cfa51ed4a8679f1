"""What becomes of a column of values in a column of another type: ``schema.coercion`` for Spark.

Values of each pair of types come out as dlt 1.31 stores them. What is not coerced, or what the stored type has no room
for, comes out as null. tests/engine/test_coercion_on_spark.py holds it to ``schema.coercion.coerce``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.destinations.spark.python_coercion import by_python, canonical_json
from schemactl.destinations.spark.types import (
    FIRST_SECOND,
    LAST_SECOND,
    MICROS,
    day,
    in_calendar,
    midnight,
    store,
    stored_type,
    timestamp,
)
from schemactl.schema import types
from schemactl.schema.types import DataType

Coercers = Mapping[DataType, Callable[[Column], Column]]

_PLAIN_DOUBLE = r"^-?[0-9]+\.[0-9]+\z"
_LARGE_DOUBLE = r"^-?[0-9]\.[0-9]{1,14}E([7-9]|1[0-4])\z"
_EXACT_DOUBLE = r"^-?[0-9]+\.[0-9]+(E-?[0-9]+)?\z"
_EXACT_LENGTH = 15
"""Digits that every double distinguishes: what has no more has one shortest spelling, to Java as to Python."""
_WHOLE = r"^(-?[0-9]+(\.0*)?|0E-[0-9]+)\z"
_TINY = r"^-?0\.000000[0-9]"


def _same(value: Column) -> Column:
    return value


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


_DAY = "(?!000[01]|9999)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
"""Years that no offset takes out of the calendar."""
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
_IS_MOMENT = rf"^{_DAY}([T ]{_CLOCK}(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])?)?\z"
_IS_CLOCK = rf"^{_CLOCK}\z"
_LENGTH_OF_DAY = len("2024-01-31")
_LENGTH_OF_ZONE = len("+00:00")
_IS_EPOCH = r"^[1-9][0-9]{8,10}\z"
"""Seconds since 1970 that are no date for their number of digits."""

_IS_INTEGER = r"^[+-]?[0-9]{1,18}\z"
_IS_DOUBLE = r"^[+-]?[0-9]{1,17}(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?\z"
_IS_DECIMAL = r"^[+-]?[0-9]{1,38}(\.[0-9]{1,38})?\z"

_BLANKS = r"[\s\p{Z}\p{C}]*"
"""What Python strips, and more."""
_MAY_BE_NUMBER = rf"^{_BLANKS}[-+._\p{{Nd}}]"
_MAY_BE_REAL = rf"^{_BLANKS}([-+._\p{{Nd}}]|(?i:s?nan|inf))"
_MAY_BE_CLOCK = r"^[T \p{Nd}]"
_MAY_BE_JSON = r'^[ \t\r\n]*[{\["0-9tfn-]'
_SHORT_JSON = r"^(-?[1-9][0-9]{0,17}|0|true|false)\z"

_BASE64 = r"^[A-Za-z0-9+/]*+={0,2}\z"
_ODDLY_PADDED = r"^[A-Za-z0-9+/]++=+\z"
"""Python lets some of these pass."""

_TRUE = ("yes", "true", "t", "y", "1")
_FALSE = ("no", "false", "f", "n", "0")


def _completed(is_usual: Column, usual: Column, text: Column, may_be: str, to: DataType) -> Column:
    """Return ``usual`` of usual spellings, and of others what Python makes of those that ``may_be`` something.

    Whether a spelling is usual is asked of the text alone: asked of ``usual``, Spark would compute that several times.
    """
    rest = by_python(F.when(~is_usual & text.rlike(may_be), text), DataType.TEXT, to)
    return F.when(is_usual, usual).otherwise(rest)


def _text_to_bigint(text: Column) -> Column:
    return _completed(text.rlike(_IS_INTEGER), text.try_cast("bigint"), text, _MAY_BE_NUMBER, DataType.BIGINT)


def _text_to_double(text: Column) -> Column:
    return _completed(text.rlike(_IS_DOUBLE), text.try_cast("double"), text, _MAY_BE_REAL, DataType.DOUBLE)


def _text_to_decimal(text: Column) -> Column:
    return _completed(text.rlike(_IS_DECIMAL), text, text, _MAY_BE_REAL, DataType.DECIMAL)


def _text_to_bool(text: Column) -> Column:
    word = F.when(F.length(text) <= max(map(len, _FALSE)), F.lower(text))
    return F.when(word.isin(*_TRUE), True).when(word.isin(*_FALSE), False)


def _text_to_binary(text: Column) -> Column:
    is_base64 = (F.length(text) % 4 == 0) & text.rlike(_BASE64)
    is_hexadecimal = text.startswith("0x")
    sure = F.when(is_base64 & ~is_hexadecimal, F.unbase64(text))
    may_be = is_hexadecimal | text.rlike(_ODDLY_PADDED)
    return F.coalesce(sure, by_python(F.when(sure.isNull() & may_be, text), DataType.TEXT, DataType.BINARY))


def _text_to_json(text: Column) -> Column:
    return _completed(text.rlike(_SHORT_JSON), text, text, _MAY_BE_JSON, DataType.JSON)


def _text_micros(text: Column) -> Column:
    """Return microseconds since 1970 of a usual moment; its midnight in UTC of a day."""
    sign = F.substring(text, -_LENGTH_OF_ZONE, 1)
    zoned = (
        F.when(F.length(text) == _LENGTH_OF_DAY, F.concat(text, F.lit("T00:00:00Z")))
        .when(text.endswith("Z") | sign.isin("+", "-"), text)
        .otherwise(F.concat(text, F.lit("Z")))
    )
    return F.unix_micros(zoned.try_cast("timestamp"))


def _text_to_timestamp(text: Column) -> Column:
    is_moment, is_epoch = text.rlike(_IS_MOMENT), text.rlike(_IS_EPOCH)
    epoch = text.try_cast("bigint") * F.lit(MICROS)
    rest = by_python(
        F.when(~(is_moment | is_epoch) & text.rlike(_MAY_BE_NUMBER), text), DataType.TEXT, DataType.TIMESTAMP
    )
    return F.when(is_moment, _text_micros(text)).when(is_epoch, epoch).otherwise(rest)


def _text_to_date(text: Column) -> Column:
    is_moment = text.rlike(_IS_MOMENT)
    usual = F.when(F.length(text) == _LENGTH_OF_DAY, text.try_cast("date")).otherwise(day(_text_micros(text)))
    rest = by_python(F.when(~is_moment & text.rlike(_MAY_BE_NUMBER), text), DataType.TEXT, DataType.DATE)
    return F.when(is_moment, usual).otherwise(F.date_from_unix_date(rest))


def _text_to_time(text: Column) -> Column:
    is_clock = text.rlike(_IS_CLOCK)
    rest = by_python(F.when(~is_clock & text.rlike(_MAY_BE_CLOCK), text), DataType.TEXT, DataType.TIME)
    return F.when(is_clock, text.try_cast("time(6)")).otherwise(F.time_from_micros(rest))


OF_TEXT: Final[Mapping[DataType, Callable[[Column], Column]]] = {
    DataType.TEXT: _same,
    DataType.BIGINT: _text_to_bigint,
    DataType.DOUBLE: _text_to_double,
    DataType.DECIMAL: _text_to_decimal,
    DataType.WEI: _text_to_decimal,
    DataType.BOOL: _text_to_bool,
    DataType.BINARY: _text_to_binary,
    DataType.JSON: _text_to_json,
    DataType.TIMESTAMP: _text_to_timestamp,
    DataType.DATE: _text_to_date,
    DataType.TIME: _text_to_time,
}


_CLOCK_LENGTH = len("03:04:05.000006")
_MOMENT_LENGTH = len("2024-01-02T03:04:05.000006")


def _naive_to_text(value: Column) -> Column:
    text = F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
    return _padded(text, _MOMENT_LENGTH)


def _instant_to_text(value: Column) -> Column:
    return F.concat(_naive_to_text(timestamp(F.unix_micros(value), naive=True)), F.lit("+00:00"))


def _padded(text: Column, length: int) -> Column:
    """Return a text of a time with six digits of a second, or none, as Python writes it."""
    return F.when(text.contains("."), F.rpad(text, length, "0")).otherwise(text)


def _moment_to_day(value: Column) -> Column:
    return day(F.unix_micros(value))


def _clock_to_clock(value: Column) -> Column:
    return value.cast("time(6)")


def _clock_to_text(value: Column) -> Column:
    return _padded(value.cast("string"), _CLOCK_LENGTH)


OF_INSTANT: Final[Coercers] = {
    DataType.TIMESTAMP: F.unix_micros,
    DataType.TEXT: _instant_to_text,
    DataType.DATE: _moment_to_day,
}
OF_NAIVE: Final[Coercers] = {**OF_INSTANT, DataType.TEXT: _naive_to_text}
OF_DATE: Final[Coercers] = {DataType.DATE: _same, DataType.TEXT: _to_text, DataType.TIMESTAMP: midnight}
OF_TIME: Final[Coercers] = {DataType.TIME: _clock_to_clock, DataType.TEXT: _clock_to_text}


def _base64(value: Column) -> Column:
    # Spark breaks lines after 76 characters.
    return F.replace(F.base64(value), F.lit("\r\n"), F.lit(""))


_COERCERS: Final[Mapping[DataType, Mapping[DataType, Callable[[Column], Column]]]] = {
    DataType.TEXT: OF_TEXT,
    DataType.BIGINT: OF_BIGINT,
    DataType.DOUBLE: OF_DOUBLE,
    DataType.DECIMAL: OF_DECIMAL,
    DataType.WEI: OF_WEI,
    DataType.BOOL: OF_BOOL,
    DataType.BINARY: {DataType.BINARY: _same, DataType.TEXT: _base64},
    DataType.JSON: {DataType.JSON: _same, DataType.TEXT: canonical_json},
    DataType.TIMESTAMP: OF_INSTANT,
    DataType.DATE: OF_DATE,
    DataType.TIME: OF_TIME,
}


def coerced(value: Column, kind: DataType, to: types.Column, *, naive: bool = False) -> Column:
    """Return a value as ``stored_type(to)``: null where dlt would make a variant of it, or where it has no room.

    It needs a projection of its own level (no lambda), as it may call Python. Times of day need Spark's setting
    ``spark.sql.timeType.enabled``.

    Args:
        value: integers past 64 bits (``wei``) as digits, objects and lists (``json``) as JSON texts.
        kind: the value's data type.
        to: the column, complete.
        naive: the value is a TIMESTAMP_NTZ.
    """
    spark_type = stored_type(to)
    coercers = OF_NAIVE if kind == DataType.TIMESTAMP and naive else _COERCERS[kind]
    coerce = coercers.get(to.data_type) if to.data_type else None
    return F.lit(None).cast(spark_type) if coerce is None else store(coerce(value), to)
