"""Coercion of texts: common spellings by expression, the others by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.coercions.by_python import by_python
from schemactl.engine.coercions.instants import MICROS, day, in_calendar
from schemactl.schema.types import DataType

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
_ZONE = "[+-][0-9]{2}:[0-9]{2}"
_IS_DAY = rf"^(?!0000){_DAY}\z"
_IS_ZONED = rf"^(?!0000){_DAY}[T ]{_CLOCK}(Z|{_ZONE})\z"
_IS_NAIVE = rf"^(?!0000){_DAY}[T ]{_CLOCK}\z"
_IS_CLOCK = rf"^{_CLOCK}\z"
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


def _completed(sure: Column, text: Column, may_be: str, to: DataType) -> Column:
    """Return what is sure, or what Python makes of the texts that may be something else."""
    return F.coalesce(sure, by_python(_left(sure, text, may_be), DataType.TEXT, to))


def _left(sure: Column, text: Column, may_be: str) -> Column:
    return F.when(sure.isNull() & text.rlike(may_be), text)


def _text(text: Column) -> Column:
    return text


def _bigint(text: Column) -> Column:
    sure = F.when(text.rlike(_IS_INTEGER), text.try_cast("bigint"))
    return _completed(sure, text, _MAY_BE_NUMBER, DataType.BIGINT)


def _double(text: Column) -> Column:
    sure = F.when(text.rlike(_IS_DOUBLE), text.try_cast("double"))
    return _completed(sure, text, _MAY_BE_REAL, DataType.DOUBLE)


def _decimal(text: Column) -> Column:
    sure = F.when(text.rlike(_IS_DECIMAL), text)
    return _completed(sure, text, _MAY_BE_REAL, DataType.DECIMAL)


def _bool(text: Column) -> Column:
    word = F.when(F.length(text) <= max(map(len, _FALSE)), F.lower(text))
    return F.when(word.isin(*_TRUE), True).when(word.isin(*_FALSE), False)


def _binary(text: Column) -> Column:
    is_base64 = (F.length(text) % 4 == 0) & text.rlike(_BASE64)
    is_hexadecimal = text.startswith("0x")
    sure = F.when(is_base64 & ~is_hexadecimal, F.unbase64(text))
    may_be = is_hexadecimal | text.rlike(_ODDLY_PADDED)
    return F.coalesce(sure, by_python(F.when(sure.isNull() & may_be, text), DataType.TEXT, DataType.BINARY))


def _json(text: Column) -> Column:
    return _completed(F.when(text.rlike(_SHORT_JSON), text), text, _MAY_BE_JSON, DataType.JSON)


def _micros(text: Column) -> Column:
    """Return microseconds since 1970 of the usual timestamps."""
    zoned = F.when(text.rlike(_IS_ZONED), text).when(text.rlike(_IS_NAIVE), F.concat(text, F.lit("Z")))
    return in_calendar(F.unix_micros(zoned.try_cast("timestamp")))


def _timestamp(text: Column) -> Column:
    midnight = F.when(text.rlike(_IS_DAY), F.concat(text, F.lit("T00:00:00Z"))).try_cast("timestamp")
    epoch = F.when(text.rlike(_IS_EPOCH), text.try_cast("bigint")) * F.lit(MICROS)
    sure = F.coalesce(_micros(text), F.unix_micros(midnight), epoch)
    return _completed(sure, text, _MAY_BE_NUMBER, DataType.TIMESTAMP)


def _date(text: Column) -> Column:
    sure = F.coalesce(F.when(text.rlike(_IS_DAY), text).try_cast("date"), day(_micros(text)))
    rest = by_python(_left(sure, text, _MAY_BE_NUMBER), DataType.TEXT, DataType.DATE)
    return F.coalesce(sure, F.date_from_unix_date(rest))


def _time(text: Column) -> Column:
    sure = F.when(text.rlike(_IS_CLOCK), text).try_cast("time(6)")
    rest = by_python(_left(sure, text, _MAY_BE_CLOCK), DataType.TEXT, DataType.TIME)
    return F.coalesce(sure, F.time_from_micros(rest))


COERCERS: Final[Mapping[DataType, Callable[[Column], Column]]] = {
    DataType.TEXT: _text,
    DataType.BIGINT: _bigint,
    DataType.DOUBLE: _double,
    DataType.DECIMAL: _decimal,
    DataType.WEI: _decimal,
    DataType.BOOL: _bool,
    DataType.BINARY: _binary,
    DataType.JSON: _json,
    DataType.TIMESTAMP: _timestamp,
    DataType.DATE: _date,
    DataType.TIME: _time,
}
