"""Converts single values by ``schema.coercion``, the rule for all that a database does not read as dlt does.

A database converts the usual spellings by itself. Each other text is spelled anew from what dlt's coercion makes of
it, in a form that every database casts to the same value: ``1e-5`` as ``0.00001``, ``2026-W01-1`` as a day and a time.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final, TypeVar

from schemactl.destinations._migration.words import Retype
from schemactl.schema.coercion import can_coerce, coerce
from schemactl.schema.types import Column, DataType

_NUMBERS: Final = frozenset((DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI))
_DECIMALS: Final = frozenset((DataType.DECIMAL, DataType.WEI))
_MIDNIGHT: Final = time()
_KEPT: Final = ("data_type", "timezone", "precision", "scale")
_MICROSECONDS: Final = 6

M = TypeVar("M", datetime, time)


def coerced(value: Any, retype: Retype) -> Any:
    """Return what dlt's coercion makes of a value.

    Raises:
        ValueError: it refuses the value, or loses something of it.
        ArithmeticError: the same.
    """
    before, after = retype.before.data_type, retype.after.data_type
    if before is None or after is None:
        raise ValueError("dlt has no type for it")
    found = coerce(value, before, after)
    if found is None:
        raise ValueError("JSON's null")
    if before is not after:
        _refuse_loss(value, found, retype)
    return found


def _refuse_loss(value: Any, found: Any, retype: Retype) -> None:
    before, after = retype.before.data_type, retype.after.data_type
    assert before is not None
    if after is DataType.BOOL and before in _NUMBERS and value not in (0, 1):
        raise ValueError("a number as truth")
    if after in (DataType.TIMESTAMP, DataType.DATE) and before in _NUMBERS and not retype.counts_seconds:
        raise ValueError("a number as a moment")
    if after is DataType.DATE:
        moment = value if isinstance(value, datetime) else coerce(value, before, DataType.TIMESTAMP)
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
        if retype.is_strict and in_utc.time() != _MIDNIGHT:
            raise ValueError("its time of day")
    is_cut = before in (DataType.BIGINT, *_DECIMALS) and after is DataType.DOUBLE
    if is_cut and Decimal(repr(found)) != value:
        raise ValueError("digits")


def plain_number(number: Decimal) -> Decimal:
    """Return a number without zeros at its end, and without an exponent.

    Raises:
        ValueError: it is not finite.
    """
    if not number.is_finite():
        raise ValueError(number)
    # The usual context would round to 28 digits.
    exact = Context(prec=len(number.as_tuple().digits))
    return Decimal(f"{number.normalize(exact):f}") if number else Decimal(0)


def write_retype(retype: Retype, kept: Collection[str] = _KEPT) -> str:
    """Return a retype as a text, which ``read_retype`` reads: functions of a database get it as an argument.

    Args:
        retype: from what to what.
        kept: the properties of its columns that count.
    """
    sides = [
        {key: column.properties[key] for key in kept if column.properties.get(key) is not None}
        for column in (retype.before, retype.after)
    ]
    return json.dumps([*sides, retype.counts_seconds, retype.is_strict])


@lru_cache(maxsize=64)
def read_retype(written: str) -> Retype:
    """Return the retype that ``write_retype`` has written."""
    before, after, counts_seconds, is_strict = json.loads(written)
    return Retype(Column("", before), Column("", after), counts_seconds, is_strict)


def is_spelled(retype: Retype) -> bool:
    """Return whether there are other spellings of the values: of texts that become something else."""
    before, after = retype.before.data_type, retype.after.data_type
    return before is DataType.TEXT and after is not None and after is not DataType.TEXT


@lru_cache(maxsize=4096)
def spelled_anew(text: str, written: str) -> str | None:
    """Return the text of what dlt's coercion makes of a text, as a database casts it.

    Args:
        text: of a column of texts.
        written: from what to what, see ``write_retype``.

    Returns:
        None where the coercion refuses the text, or the new column does not hold its value.
    """
    retype = read_retype(written)
    assert retype.after.data_type is not None
    if not can_coerce(text, DataType.TEXT, retype.after.data_type):
        return None
    try:
        return _spelled(coerced(text, retype), retype.after)
    except (ValueError, ArithmeticError):
        return None


def _spelled(value: Any, column: Column) -> str:
    """Return a value's text.

    Raises:
        ValueError: the column does not hold the value.
    """
    match value:
        case _ if column.data_type is DataType.JSON:
            return json.dumps(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(_in_bits(value, column))
        case Decimal():
            return f"{_in_sizes(plain_number(value), column):f}"
        case datetime():
            in_utc = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            zone = "" if column.properties.get("timezone") is False else "Z"
            return _in_precision(in_utc, column).isoformat() + zone
        case time():
            return _in_precision(value, column).isoformat()
        case date():
            return value.isoformat()
        case bytes():
            if len(value) > int(column.properties.get("precision") or len(value)):
                raise ValueError("too long")
            return value.hex()
        case _:
            return str(value)


def _in_bits(number: int, column: Column) -> int:
    bits = min(int(column.properties.get("precision") or 64), 64)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"beyond {bits} bits")
    return number


def _in_sizes(number: Decimal, column: Column) -> Decimal:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # others are of NaN and infinities
    precision, scale = int(column.properties.get("precision") or 38), int(column.properties.get("scale") or 0)
    if -exponent > scale or len(digits) + exponent > precision - scale:
        raise ValueError(f"more than {precision} digits, {scale} of them behind the point")
    return number


def _in_precision(moment: M, column: Column) -> M:
    digits = column.properties.get("precision")
    if digits is not None and digits < _MICROSECONDS and moment.microsecond % 10 ** (_MICROSECONDS - digits):
        raise ValueError("parts of a second")
    return moment
