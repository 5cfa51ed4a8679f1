"""A value survives as dlt coerces it and the type has room."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import pytest
from dlt.common.data_types.type_helpers import coerce_value, py_type_to_sc_type
from hypothesis import given, settings
from survival_samples import SCALARS, TARGETS

from schemactl.inference.survival import survives
from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType


def stored_by_dlt(value: Any, data_type: DataType) -> Any:
    return coerce_value(str(data_type), py_type_to_sc_type(type(value)), value)


def survives_in_dlt(value: Any, target: FullType) -> bool:
    """What dlt stores has room in the type and gives the value back."""
    try:
        stored = stored_by_dlt(value, target.data_type)
    except (ValueError, TypeError, ArithmeticError, OSError):
        return False
    size = target.precision
    match target.data_type:
        case DataType.TEXT | DataType.BINARY:
            return size is None or len(stored) <= size
        case DataType.BIGINT:
            return size is None or (stored if stored >= 0 else ~stored).bit_length() < size
        case DataType.DECIMAL | DataType.WEI:
            return has_room(Decimal(stored), size, target.scale or 0)
        case DataType.DOUBLE:
            return isinstance(value, float) or keeps_value(stored, value)
        case DataType.BOOL:
            return isinstance(value, str) or stored == value
        case DataType.TIMESTAMP | DataType.TIME:
            digits = 6 if size is None else size
            return is_coarse(stored, digits)
        case DataType.DATE:
            return is_midnight(value, stored)
        case _:
            return True


def has_room(number: Decimal, precision: int | None, scale: int) -> bool:
    if not number.is_finite():
        return False
    if number and abs(number.adjusted()) > 1000:
        return number.adjusted() > 0 and precision is None
    rounded = number.quantize(Decimal(1).scaleb(-scale), context=Context(prec=2000))
    return rounded == number and (precision is None or abs(number) < Decimal(10) ** (precision - scale))


def keeps_value(stored: float, value: Any) -> bool:
    try:
        number = Decimal(stored_by_dlt(value, DataType.DECIMAL))
    except (ValueError, ArithmeticError):
        return True
    return not number.is_finite() or Decimal(repr(stored)) == number


def is_coarse(moment: Any, digits: int) -> bool:
    return set(f"{moment.microsecond:06}"[digits:]) <= {"0"}


def is_midnight(value: Any, stored: Any) -> bool:
    if isinstance(value, int | float):
        return value % 86400 == 0
    moment = stored_by_dlt(value, DataType.TIMESTAMP)
    at = datetime.fromisoformat(moment.isoformat())
    at = at if at.tzinfo is None else at.astimezone(UTC)
    return at.replace(tzinfo=None) == datetime(stored.year, stored.month, stored.day)


@settings(max_examples=200)
@given(SCALARS)
def test_a_value_survives_where_dlt_stores_it_whole(value: Any) -> None:
    answers = {target: (survives(value, target), survives_in_dlt(value, target)) for target in TARGETS}
    assert {target: pair for target, pair in answers.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ("größer", FullType(DataType.TEXT, 6), True),
        (True, FullType(DataType.TEXT, 4), True),
        (False, FullType(DataType.TEXT, 4), False),
        (1.5, FullType(DataType.TEXT, 3), True),
        (2.0, FullType(DataType.BIGINT), True),
        (2.5, FullType(DataType.BIGINT), False),
        (-128, FullType(DataType.BIGINT, 8), True),
        (128, FullType(DataType.BIGINT, 8), False),
        (2**63, FullType(DataType.BIGINT, 64), False),
        ("99999999999999999999", FullType(DataType.BIGINT, 64), False),
        (2.50, FullType(DataType.DECIMAL, 3, 1), True),
        ("2.500", FullType(DataType.DECIMAL, 3, 1), True),
        (2.55, FullType(DataType.DECIMAL, 3, 1), False),
        (100, FullType(DataType.DECIMAL, 3, 1), False),
        (0.5, FullType(DataType.DECIMAL, 1, 1), True),
        ("NaN", FullType(DataType.DECIMAL, 38, 9), False),
        (2.5, FullType(DataType.WEI, None, 0), False),
        (10**30, FullType(DataType.WEI, None, 0), True),
        (10**30, FullType(DataType.BIGINT, 64), False),
        (10**400, FullType(DataType.TEXT), True),
        (2**53 + 1, FullType(DataType.DOUBLE), False),
        ("1e400", FullType(DataType.DOUBLE), False),
        ("inf", FullType(DataType.DOUBLE), True),
        (2, FullType(DataType.BOOL), False),
        ("2024-01-01T02:00:00+02:00", FullType(DataType.DATE), True),
        ("2024-01-01T10:00:00Z", FullType(DataType.DATE), False),
        ("2024-01-01T10:00:00.120Z", FullType(DataType.TIMESTAMP, 2), True),
        ("2024-01-01T10:00:00.123Z", FullType(DataType.TIMESTAMP, 2), False),
        ({"a": 1}, FullType(DataType.TEXT, 7), True),
        ({"a": 1}, FullType(DataType.BIGINT), False),
    ],
)
def test_what_is_lost_does_not_survive(value: Any, target: FullType, expected: bool) -> None:
    assert survives(value, target) is expected
