"""Coercion of texts: common spellings by expression, the others by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.coercions.by_python import by_python
from schemactl.engine.coercions.instants import MICROS, day
from schemactl.schema.types import DataType

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


def _text(text: Column) -> Column:
    return text


def _bigint(text: Column) -> Column:
    return _completed(text.rlike(_IS_INTEGER), text.try_cast("bigint"), text, _MAY_BE_NUMBER, DataType.BIGINT)


def _double(text: Column) -> Column:
    return _completed(text.rlike(_IS_DOUBLE), text.try_cast("double"), text, _MAY_BE_REAL, DataType.DOUBLE)


def _decimal(text: Column) -> Column:
    return _completed(text.rlike(_IS_DECIMAL), text, text, _MAY_BE_REAL, DataType.DECIMAL)


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
    return _completed(text.rlike(_SHORT_JSON), text, text, _MAY_BE_JSON, DataType.JSON)


def _micros(text: Column) -> Column:
    """Return microseconds since 1970 of a usual moment; its midnight in UTC of a day."""
    sign = F.substring(text, -_LENGTH_OF_ZONE, 1)
    zoned = (
        F.when(F.length(text) == _LENGTH_OF_DAY, F.concat(text, F.lit("T00:00:00Z")))
        .when(text.endswith("Z") | sign.isin("+", "-"), text)
        .otherwise(F.concat(text, F.lit("Z")))
    )
    return F.unix_micros(zoned.try_cast("timestamp"))


def _timestamp(text: Column) -> Column:
    is_moment, is_epoch = text.rlike(_IS_MOMENT), text.rlike(_IS_EPOCH)
    epoch = text.try_cast("bigint") * F.lit(MICROS)
    rest = by_python(
        F.when(~(is_moment | is_epoch) & text.rlike(_MAY_BE_NUMBER), text), DataType.TEXT, DataType.TIMESTAMP
    )
    return F.when(is_moment, _micros(text)).when(is_epoch, epoch).otherwise(rest)


def _date(text: Column) -> Column:
    is_moment = text.rlike(_IS_MOMENT)
    usual = F.when(F.length(text) == _LENGTH_OF_DAY, text.try_cast("date")).otherwise(day(_micros(text)))
    rest = by_python(F.when(~is_moment & text.rlike(_MAY_BE_NUMBER), text), DataType.TEXT, DataType.DATE)
    return F.when(is_moment, usual).otherwise(F.date_from_unix_date(rest))


def _time(text: Column) -> Column:
    is_clock = text.rlike(_IS_CLOCK)
    rest = by_python(F.when(~is_clock & text.rlike(_MAY_BE_CLOCK), text), DataType.TEXT, DataType.TIME)
    return F.when(is_clock, text.try_cast("time(6)")).otherwise(F.time_from_micros(rest))


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
