"""Values as dlt stores them in SQLite, and their conversion by dlt's own coercion: SQLite calls these functions.

SQLite keeps any value in any column, and its CAST never fails (``abc`` is 0): only Python can tell what survives.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._migration.words import Retype
from schemactl.destinations._session import literal
from schemactl.schema.coercion import coerce
from schemactl.schema.types import Column, DataType

if TYPE_CHECKING:
    from sqlite3 import Connection

FITS: Final = "_schemactl_fits"
VALUE: Final = "_schemactl_value"

_NUMBERS: Final = frozenset((DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI))
_DECIMALS: Final = frozenset((DataType.DECIMAL, DataType.WEI))
_MIDNIGHT: Final = time()


def register(connection: Connection) -> None:
    """Make the functions known to a connection."""
    connection.create_function(FITS, 2, _fits, deterministic=True)
    connection.create_function(VALUE, 2, _value, deterministic=True)


def fits_call(retype: Retype, value: str) -> str:
    """Return the condition that a value survives."""
    return f"{FITS}({value}, {literal(_spec(retype))})"


def value_call(retype: Retype, value: str) -> str:
    """Return the value in its new type; it fails where the value does not survive."""
    return f"{VALUE}({value}, {literal(_spec(retype))})"


def _spec(retype: Retype) -> str:
    sides = [_kind(column) for column in (retype.before, retype.after)]
    return json.dumps([*sides, retype.counts_seconds, retype.is_strict])


def _kind(column: Column) -> dict[str, Any]:
    kept = ("data_type", "timezone")
    return {key: column.properties[key] for key in kept if column.properties.get(key) is not None}


@lru_cache(maxsize=64)
def _read_spec(spec: str) -> Retype:
    before, after, counts_seconds, is_strict = json.loads(spec)
    return Retype(Column("", before), Column("", after), counts_seconds, is_strict)


def _fits(stored: Any, spec: str) -> bool:
    try:
        convert_stored(stored, _read_spec(spec))
    except (ValueError, ArithmeticError):
        return False
    return True


def _value(stored: Any, spec: str) -> Any:
    return convert_stored(stored, _read_spec(spec))


def convert_stored(stored: Any, retype: Retype) -> Any:
    """Return what SQLite stores after a conversion.

    Args:
        stored: what it stores before; not null.
        retype: from what to what.

    Raises:
        ValueError: the value does not survive.
    """
    before, after = retype.before.data_type, retype.after.data_type
    if before is None or after is None:
        raise ValueError("dlt has no type for it")
    value = _decode(stored, retype.before)
    found = coerce(value, before, after)
    if found is None:
        raise ValueError("JSON's null")
    _refuse_loss(value, found, retype)
    return _encode(found, retype)


def _refuse_loss(value: Any, found: Any, retype: Retype) -> None:
    before, after = retype.before.data_type, retype.after.data_type
    if before is after:
        return
    if after is DataType.BOOL and before in _NUMBERS and value not in (0, 1):
        raise ValueError("a number as truth")
    if after in (DataType.TIMESTAMP, DataType.DATE) and before in _NUMBERS and not retype.counts_seconds:
        raise ValueError("a number as a moment")
    if after is DataType.DATE:
        moment = value if isinstance(value, datetime) else coerce(value, before, DataType.TIMESTAMP)  # type: ignore[arg-type]
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
        if retype.is_strict and in_utc.time() != _MIDNIGHT:
            raise ValueError("its time of day")
    is_cut = before in (DataType.BIGINT, *_DECIMALS) and after is DataType.DOUBLE
    if is_cut and Decimal(repr(found)) != value:
        raise ValueError("digits")


def _decode(stored: Any, column: Column) -> Any:
    """Return the value that dlt's loader has stored."""
    match column.data_type, stored:
        case (DataType.TEXT, str()) | (DataType.BINARY, bytes()) | (DataType.BIGINT, int()):
            return stored
        case (DataType.DOUBLE, float() | int()):
            return float(stored)
        case (DataType.BOOL, 0 | 1):
            return bool(stored)
        case (DataType.DECIMAL | DataType.WEI, float() | int() | str()):
            return _plain(Decimal(str(stored)))
        case (DataType.JSON, str()):
            return json.loads(stored)
        case (DataType.TIMESTAMP, str()):
            moment = datetime.fromisoformat(stored)
            in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
            return in_utc.replace(tzinfo=None) if column.properties.get("timezone") is False else in_utc
        case (DataType.DATE, str()):
            return date.fromisoformat(stored)
        case (DataType.TIME, str()):
            return time.fromisoformat(stored)
        case _:
            raise ValueError(f"a value of another type than the column's: {type(stored).__name__}")


def _plain(number: Decimal) -> Decimal:
    """Return a number without zeros at its end, and without an exponent."""
    if not number.is_finite():
        raise ValueError(number)
    # The usual context would round to 28 digits.
    exact = Context(prec=len(number.as_tuple().digits))
    return Decimal(f"{number.normalize(exact):f}") if number else Decimal(0)


def _encode(value: Any, retype: Retype) -> Any:
    """Return what dlt's loader would store."""
    match value:
        case _ if retype.after.data_type is DataType.JSON:
            return json.dumps(value)
        case bool():
            return int(value)
        case Decimal():
            return _number(value, retype.is_strict)
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("beyond 64 bits")
        case datetime():
            in_utc = value.astimezone(UTC) if value.tzinfo else value
            return in_utc.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="microseconds")
        case _:
            return value


def _number(number: Decimal, is_strict: bool) -> int | float:
    """Return a decimal as SQLite keeps it: as an integer or a floating-point number."""
    plain = _plain(number)
    if plain == plain.to_integral_value() and abs(plain) < 2**63:
        return int(plain)
    if is_strict and Decimal(repr(float(plain))) != plain:
        raise ValueError("digits")
    return float(plain)
