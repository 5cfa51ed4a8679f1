"""Types of Python values, and their coercion to columns of another type (docs/dlt.md §6.1 to §6.3).

The results equal dlt 1.31, with types of the standard library: ``datetime`` for pendulum's types, ``Decimal`` for dlt's
``Wei``. tests/parity/test_coercion_parity.py lists the intended differences.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any, Final

from schemactl.schema.iso8601 import parse
from schemactl.schema.types import DataType

INT64: Final = range(-(2**63), 2**63)
"""The range of a ``bigint``."""

UINT64_LIMIT: Final = 2**64
"""The first integer that is too large for dlt's JSON reader."""

WEI_LIMIT: Final = 578960446186580977117854925043439539266
"""The greatest integer that dlt's ``large_integer`` detector calls ``wei``."""

EXACT_INTEGERS: Final = 2**53
"""Doubles hold every integer up to it."""

WEI_STOP: Final = 10**38
"""The first integer that a ``wei`` column has no room for: it is stored in 38 digits."""


def is_beyond_64_bits(number: float) -> bool:
    """Return whether dlt reads no integer of this size from JSON, signed or unsigned; also of a float, NaN included."""
    return not INT64.start <= number < UINT64_LIMIT


_BY_TYPE: Final[Mapping[type, DataType]] = {
    str: DataType.TEXT, int: DataType.BIGINT, float: DataType.DOUBLE, bool: DataType.BOOL, bytes: DataType.BINARY,
    dict: DataType.JSON, list: DataType.JSON, Decimal: DataType.DECIMAL, datetime: DataType.TIMESTAMP,
    date: DataType.DATE, time: DataType.TIME,
}  # fmt: skip

_BY_BASE: Final[tuple[tuple[type, DataType], ...]] = (
    (Decimal, DataType.DECIMAL), (datetime, DataType.TIMESTAMP), (date, DataType.DATE), (time, DataType.TIME),
    (str, DataType.TEXT), (float, DataType.DOUBLE), (int, DataType.BIGINT), (bytes, DataType.BINARY),
    (Mapping, DataType.JSON), (Sequence, DataType.JSON),
)  # fmt: skip
"""In this order: a datetime is a date, and texts and bytes are sequences."""


def type_of(value: Any) -> DataType:
    """Return the type that dlt gives a Python value."""
    data_type = type_of_class(type(value))
    if data_type is None:
        raise TypeError(f"no data type for {type(value).__name__}")
    return data_type


def type_of_class(of: type) -> DataType | None:
    """Return the type that dlt gives the values of a Python class, None for other classes."""
    return _BY_TYPE.get(of) or next((data_type for base, data_type in _BY_BASE if issubclass(of, base)), None)


_NUMBERS: Final = Context(prec=28, traps=[InvalidOperation, DivisionByZero, Overflow])
"""Python's default context, in which dlt calculates: a decimal of more than 28 digits has no integer form."""

_REFUSALS: Final = (ValueError, ArithmeticError, OSError)
"""Exceptions of failing conversions; ``OSError`` comes from the C library for epochs far out of range."""


def coerce(value: Any, from_: DataType, to: DataType) -> Any:
    """Return the value that dlt stores for ``value``, of type ``from_``, in a column of type ``to``."""
    if from_ == to:
        return value
    coercer = _COERCERS[from_].get(to)
    if coercer is None:
        raise ValueError(f"a value of type `{from_}` never becomes `{to}`")
    try:
        return coercer(value)
    except _REFUSALS as error:
        raise ValueError(f"this `{from_}` cannot become `{to}`: {error}") from error


def is_ever_coerced(from_: DataType, to: DataType) -> bool:
    """Return whether a column of type ``to`` takes some values of type ``from_``."""
    return from_ == to or to in _COERCERS[from_]


def can_coerce(value: Any, from_: DataType, to: DataType) -> bool:
    """Return whether ``coerce`` succeeds; fast for texts, most of which are plain words."""
    if from_ == to:
        return True
    coercer = _COERCERS[from_].get(to)
    if coercer is None or (from_ == DataType.TEXT and not _is_candidate(value, to)):
        return False
    try:
        coercer(value)
    except _REFUSALS:
        return False
    return True


def _is_candidate(text: str, to: DataType) -> bool:
    """Return False if the first characters already show that a text is not a value of a type."""
    if to == DataType.BOOL or to == DataType.BINARY:
        return True
    head = text.lstrip()[:1]
    match to:
        case DataType.JSON:
            return head in _JSON_HEADS or text.strip() in ("true", "false", "null")
        case DataType.TIME:
            return head == "T" or head.isdecimal()
        case _:
            return head in _NUMBER_HEADS or head.isdecimal()


_JSON_HEADS: Final = frozenset('{["-0123456789')
_NUMBER_HEADS: Final = frozenset("+-._nNiIsS")
"""Besides digits: signs, and the letters of NaN, sNaN and Infinity."""


def _bool_of_text(text: str) -> bool:
    word = text.lower() if len(text) <= len("false") else ""
    if word in ("yes", "true", "t", "y", "1"):
        return True
    if word in ("no", "false", "f", "n", "0"):
        return False
    raise ValueError(text)


def _number_in(text: str) -> int | str:
    """Return a hexadecimal number, or the digits of any other number."""
    digits = text.strip()  # more than `float` strips by itself
    return int(digits[2:], 16) if digits.startswith("0x") else digits


def _decimal_of_text(text: str) -> Decimal:
    return Decimal(_number_in(text), _NUMBERS)


def _decimal_of_float(number: float) -> Decimal:
    return Decimal(str(number))


def _int_of_float(number: float) -> int:
    if number % 1 != 0:  # true of infinities and NaN, too
        raise ValueError(number)
    return int(number)


def _int_of_decimal(number: Decimal) -> int:
    if _NUMBERS.remainder(number, Decimal(1)) != 0:
        raise ValueError(number)
    return int(number)


def _bytes_of_text(text: str) -> bytes:
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    return base64.b64decode(text, validate=True)


def _json_of_text(text: str) -> Any:
    import orjson

    return orjson.loads(text)


def _moment_of_text(text: str) -> datetime:
    """Read a timestamp, a date (its midnight, naive) or seconds since 1970 (docs/dlt.md §6.3, T7)."""
    try:
        parsed = parse(text)
    except ValueError:
        return _moment_of_epoch(float(text))
    if isinstance(parsed, datetime):
        return parsed
    if isinstance(parsed, time):
        raise ValueError(text)
    return _midnight(parsed)


def _moment_of_epoch(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def _day_of_moment(moment: datetime) -> date:
    """Return the day in UTC; a naive moment counts as UTC."""
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()


def _day_of_text(text: str) -> date:
    try:
        # dlt asks Python first, whose version decides on texts such as `2024010203`
        return date.fromisoformat(text)
    except ValueError:
        return _day_of_moment(_moment_of_text(text))


def _day_of_epoch(seconds: float) -> date:
    return _moment_of_epoch(seconds).date()


def _time_of_text(text: str) -> time:
    """Read a time of day; one with an offset is converted to UTC and made naive."""
    parsed = parse(text)
    if not isinstance(parsed, time):
        raise ValueError(text)
    if parsed.tzinfo is None:
        return parsed
    return datetime.combine(date(1970, 1, 1), parsed).astimezone(UTC).time()


def _text_of(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _text_of_json(value: Any) -> str:
    import orjson

    try:
        return orjson.dumps(value, default=_text_in_json, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # integers beyond 64 bits and lone surrogates, on which dlt fails
        return json.dumps(value, default=_text_in_json, separators=(",", ":"))


def _text_in_json(value: Any) -> str:
    if isinstance(value, Decimal | bytes | date | time):
        return _text_of(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")


_COERCERS: Final[Mapping[DataType, Mapping[DataType, Callable[[Any], Any]]]] = {
    DataType.TEXT: {
        DataType.BIGINT: lambda text: int(_number_in(text)), DataType.DOUBLE: lambda text: float(_number_in(text)),
        DataType.DECIMAL: _decimal_of_text, DataType.WEI: _decimal_of_text, DataType.BOOL: _bool_of_text,
        DataType.BINARY: _bytes_of_text, DataType.JSON: _json_of_text, DataType.TIMESTAMP: _moment_of_text,
        DataType.DATE: _day_of_text, DataType.TIME: _time_of_text,
    },
    DataType.BIGINT: {
        DataType.TEXT: _text_of, DataType.DOUBLE: float, DataType.DECIMAL: Decimal, DataType.WEI: Decimal,
        DataType.BOOL: bool, DataType.TIMESTAMP: _moment_of_epoch, DataType.DATE: _day_of_epoch,
        DataType.BINARY: lambda number: number.to_bytes((number.bit_length() + 7) // 8, "little"),
    },
    DataType.DOUBLE: {
        DataType.TEXT: _text_of, DataType.BIGINT: _int_of_float, DataType.DECIMAL: _decimal_of_float,
        DataType.WEI: _decimal_of_float, DataType.BOOL: bool, DataType.TIMESTAMP: _moment_of_epoch,
        DataType.DATE: _day_of_epoch,
    },
    DataType.DECIMAL: {
        DataType.TEXT: _text_of, DataType.BIGINT: _int_of_decimal, DataType.DOUBLE: float, DataType.WEI: Decimal,
        DataType.BOOL: bool,
    },
    DataType.WEI: {
        DataType.TEXT: _text_of, DataType.BIGINT: _int_of_decimal, DataType.DOUBLE: float,
        DataType.DECIMAL: Decimal, DataType.BOOL: bool,
    },
    DataType.BOOL: {DataType.TEXT: _text_of},
    DataType.BINARY: {DataType.TEXT: _text_of},
    DataType.JSON: {DataType.TEXT: _text_of_json},
    DataType.TIMESTAMP: {DataType.TEXT: _text_of, DataType.DATE: _day_of_moment},
    DataType.DATE: {DataType.TEXT: _text_of, DataType.TIMESTAMP: _midnight},
    DataType.TIME: {DataType.TEXT: _text_of},
}  # fmt: skip
"""Every pair of types that can be coerced, from and to; a pair that is not here is always refused."""
