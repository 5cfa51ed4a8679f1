"""Whether one JSON value survives in a type, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any, Final

from schemactl.inference.survival.target import MICROSECOND_DIGITS, TargetType, integer_limit
from schemactl.inference.values import is_coercible, kind
from schemactl.schema.coercion import can_coerce, coerce
from schemactl.schema.types import DataType


def survives(value: Any, target: TargetType) -> bool:
    """Return whether a JSON value that is not null can be stored as ``target`` with nothing of it lost."""
    if not is_coercible(value, target.data_type):
        return False
    holds = _HOLDS.get(target.data_type)
    return holds is None or holds(value, target)


def _coerced(value: Any, data_type: DataType) -> Any:
    own = kind(value)
    if type(value) is int and own is DataType.WEI:
        return coerce(Decimal(value), DataType.DECIMAL, data_type)
    return coerce(str(value) if own is DataType.TEXT else value, own, data_type)


def _holds_text(value: Any, target: TargetType) -> bool:
    return target.precision is None or len(_coerced(value, DataType.TEXT)) <= target.precision


def _holds_integer(value: Any, target: TargetType) -> bool:
    number = _coerced(value, DataType.BIGINT)
    return target.precision is None or -integer_limit(target.precision) <= number < integer_limit(target.precision)


def _holds_decimal(value: Any, target: TargetType) -> bool:
    number = _coerced(value, target.data_type)
    if not number.is_finite():
        return False
    whole, places = _digits(number)
    has_room = target.integer_digits is None or whole <= target.integer_digits
    return has_room and places <= (target.scale or 0)


def _digits(number: Decimal) -> tuple[int, int]:
    """Return how many digits stand before and after the point, zeros at both ends left out."""
    if not number:
        return 0, 0
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    last = next(at for at, digit in enumerate(reversed(digits)) if digit)
    return max(number.adjusted() + 1, 0), max(-exponent - last, 0)


def _holds_double(value: Any, _target: TargetType) -> bool:
    """Return whether the double reads as the same number again."""
    if isinstance(value, float):
        return True
    own = DataType.TEXT if isinstance(value, str) else DataType.BIGINT
    if not can_coerce(value, own, DataType.DECIMAL):
        return True
    number: Decimal = coerce(value, own, DataType.DECIMAL)
    return not number.is_finite() or Decimal(repr(_coerced(value, DataType.DOUBLE))) == number


def _holds_bool(value: Any, _target: TargetType) -> bool:
    return isinstance(value, str) or value in (0, 1)


def _holds_fraction(value: Any, target: TargetType) -> bool:
    if target.precision is None or target.precision >= MICROSECOND_DIGITS:
        return True
    moment = _coerced(value, target.data_type)
    return bool(moment.microsecond % 10 ** (MICROSECOND_DIGITS - max(target.precision, 0)) == 0)


_SECONDS_OF_DAY: Final = 86_400


def _holds_day(value: Any, _target: TargetType) -> bool:
    if isinstance(value, int | float):
        return value % _SECONDS_OF_DAY == 0
    if not can_coerce(value, DataType.TEXT, DataType.TIMESTAMP):
        return True
    moment = _coerced(value, DataType.TIMESTAMP)
    in_utc = (moment if moment.tzinfo is None else moment.astimezone(UTC)).replace(tzinfo=None)
    # Python's dates overlook the end of `2024010203`, whose day is another one as seconds since 1970.
    return bool(in_utc == datetime.combine(_coerced(value, DataType.DATE), time()))


def _holds_binary(value: Any, target: TargetType) -> bool:
    return target.precision is None or len(_coerced(value, DataType.BINARY)) <= target.precision


_HOLDS: Final[Mapping[DataType, Callable[[Any, TargetType], bool]]] = {
    DataType.TEXT: _holds_text,
    DataType.BIGINT: _holds_integer,
    DataType.DECIMAL: _holds_decimal,
    DataType.WEI: _holds_decimal,
    DataType.DOUBLE: _holds_double,
    DataType.BOOL: _holds_bool,
    DataType.TIMESTAMP: _holds_fraction,
    DataType.TIME: _holds_fraction,
    DataType.DATE: _holds_day,
    DataType.BINARY: _holds_binary,
}
