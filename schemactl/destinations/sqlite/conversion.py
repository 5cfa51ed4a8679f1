"""Values as dlt stores them in SQLite, and their conversion by dlt's own coercion: SQLite calls these functions.

SQLite keeps any value in any column, and its CAST never fails (``abc`` is 0): only Python can find out which values
survive, unless they become wider.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import copysign
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._migration.conversion import (
    FALSE,
    Converted,
    coerced,
    plain_number,
    read_retype,
    write_retype,
)
from schemactl.migration.statements import Retype
from schemactl.schema.quoting import literal
from schemactl.schema.types import Column, DataType

if TYPE_CHECKING:
    from sqlite3 import Connection

COERCED: Final = "_schemactl_coerced"
CHECKED: Final = "_schemactl_checked"


def register(connection: Connection) -> None:
    """Make the functions known to a connection."""

    def convert_or_null(stored: Any, written: str) -> Any:
        try:
            return None if stored is None else _convert_stored(stored, written)
        except (ValueError, ArithmeticError):
            return None

    connection.create_function(COERCED, 2, convert_or_null, deterministic=True)
    connection.create_function(CHECKED, 2, _convert_stored, deterministic=True)


def convert(retype: Retype, value: str) -> Converted:
    """Return how SQLite converts a value: by its own expressions if it becomes wider, else by dlt's coercion."""
    is_sure, cast = _widen(retype, value)
    arguments = f"({value}, {literal(write_retype(retype))})"
    return Converted(is_sure, cast, f"{COERCED}{arguments}", f"{CHECKED}{arguments}")


def _widen(retype: Retype, value: str) -> tuple[str, str]:
    """Return the condition under which an expression gives a value in a wider type as dlt does, and the expression.

    A call of Python for each row takes a hundred times as long. A double that another program has put into a column of
    integers survives in one of doubles; texts and bytes are not between numbers.
    """
    match retype.before.data_type, retype.after.data_type:
        case DataType.BIGINT, DataType.DOUBLE:
            return f"{value} BETWEEN {-(2**53)} AND {2**53}", f"CAST({value} AS REAL)"
        case DataType.BIGINT, DataType.DECIMAL | DataType.WEI:
            return f"(typeof({value}) = 'integer' AND {value} >= {1 - 2**63})", value
        case DataType.DECIMAL | DataType.WEI, DataType.DECIMAL | DataType.WEI:
            # The affinity of the column makes whole numbers integers, as ``stored_decimal`` does.
            return f"{value} BETWEEN -1e15 AND 1e15", value
        case DataType.DATE, DataType.TIMESTAMP:
            is_day = f"{value} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' AND date({value}, '+0 days') = {value}"
            return f"({is_day} AND {value} >= '0001')", f"{value} || ' 00:00:00.000000'"
        case DataType.BIGINT, DataType.BIGINT:
            return f"typeof({value}) = 'integer'", value
        case DataType.TEXT, DataType.TEXT:
            return f"typeof({value}) = 'text'", value
        case _:
            return FALSE, value


def _convert_stored(stored: Any, written: str) -> Any:
    """Return the value that SQLite stores after a conversion of a stored value, which is not null.

    ``ValueError`` or ``ArithmeticError`` if the value does not survive.
    """
    retype = read_retype(written)
    return _encode(coerced(_decode(stored, retype.before), retype), retype)


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
            return plain_number(Decimal(str(stored)))
        case (DataType.JSON, str()):
            return json.loads(stored)
        case (DataType.TIMESTAMP, str()):
            moment = datetime.fromisoformat(stored)
            in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
            return in_utc.replace(tzinfo=None) if column.is_naive else in_utc
        case (DataType.DATE, str()):
            return date.fromisoformat(stored)
        case (DataType.TIME, str()):
            return time.fromisoformat(stored)
        case _:
            raise ValueError(f"a value of another type than the column's: {type(stored).__name__}")


def _encode(value: Any, retype: Retype) -> Any:
    """Return the value that dlt's loader would store."""
    match value:
        case _ if retype.after.data_type is DataType.JSON:
            return json.dumps(value)
        case bool():
            return int(value)
        case Decimal():
            return stored_decimal(value, retype.is_strict)
        case float() if value != value or (value == 0 and copysign(1, value) < 0):
            raise ValueError("SQLite stores NaN as null, and -0.0 as 0.0")
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("more than 64 bits")
        case datetime():
            in_utc = value.astimezone(UTC) if value.tzinfo else value
            return in_utc.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="microseconds")
        case _:
            return value


def stored_decimal(number: Decimal, is_strict: bool = False) -> int | float:
    """Return a decimal as SQLite keeps it, an integer or a float; ``ValueError`` if it must not lose digits."""
    plain = plain_number(number)
    if plain == plain.to_integral_value() and abs(plain) < 2**63:
        return int(plain)
    if is_strict and Decimal(repr(float(plain))) != plain:
        raise ValueError("digits")
    return float(plain)
