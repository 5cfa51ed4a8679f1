"""Converts stored values to another type: by a database's own cast if that gives the same, else by dlt's coercion.

``schema.coercion`` is the rule. A database casts a value by itself if its cast surely equals the coercion; it hands
every other value over as a text, and gets the text of the coerced value back, in a form that every database casts to
the same value: ``1e-5`` as ``0.00001``, ``2026-W01-1`` as a day and a time. Each database's own casts are in the
``conversion`` module of its destination. Decimals become texts without the zeros that a column's scale pads them with,
as their source most likely wrote them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final, TypeVar

from schemactl.destinations._types import FLOAT_BITS, is_short_float, sizes_of
from schemactl.migration.statements import Retype
from schemactl.schema.coercion import can_coerce, coerce
from schemactl.schema.quoting import literal
from schemactl.schema.types import Column, DataType
from schemactl.type_systems.ddl import ColumnType

_NUMBERS: Final = frozenset((DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI))
_DECIMALS: Final = frozenset((DataType.DECIMAL, DataType.WEI))
_MIDNIGHT: Final = time()
_KEPT: Final = ("data_type", "timezone", "precision", "scale")
_MICROSECONDS: Final = 6
_MOST_DIGITS: Final = 200_000

L = TypeVar("L", str, bytes)
M = TypeVar("M", datetime, time)

TRUE: Final = "TRUE"
FALSE: Final = "FALSE"


_LEAP_YEAR: Final = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DAY: Final = (
    "([0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    f"|{_LEAP_YEAR}-02-29)"
)
"""An existing day, except in the year 0."""

TIME_OF_DAY: Final = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
MOMENT: Final = f"{_DAY}([T ]{TIME_OF_DAY}(Z|[+-](0[0-9]|1[0-4])(:[0-5][0-9])?)?)?"
DAY_ALONE: Final = f"{_DAY}([T ]00:00(:00([.]0{{1,6}})?)?(Z|[+]00:00)?)?"
"""Texts that all databases read as dlt's coercion does, as regular expressions of RE2 and POSIX alike."""


def conjoin(*conditions: str) -> str:
    """Return the condition that all of some conditions hold."""
    needed = [condition for condition in conditions if condition != TRUE]
    return f"({' AND '.join(needed)})" if needed else TRUE


def is_short(value: str, column: Column, measure: str = "length") -> str:
    """Return the condition that a value fits the length of a column, if that has a limit."""
    limit = column.properties.get("precision")
    return TRUE if limit is None else f"{measure}({value}) <= {int(limit)}"


def bits_of(column: Column) -> int:
    """Return how many bits an integer column has."""
    return min(int(column.properties.get("precision") or 64), 64)


def in_utc(column: Column, value: str) -> str:
    """Return a timestamp column's value in UTC, without its zone."""
    return value if column.is_naive else f"({value} AT TIME ZONE 'UTC')"


def from_utc(column: Column, naive: str, kind: str) -> str:
    """Return a timestamp without a zone, in UTC, as a column has it."""
    return f"CAST({naive} AS {kind})" if column.is_naive else f"CAST(({naive}) AT TIME ZONE 'UTC' AS {kind})"


def is_python_date(value: str) -> str:
    """Return the condition that a date is within Python's range, and so dlt's."""
    return f"{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def is_python_timestamp(naive: str) -> str:
    """Return the condition that a timestamp without a zone is in the years 1 to 9999, as Python's are."""
    return f"{naive} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def has_any_precision(retype: Retype) -> bool:
    """Return whether parts of a second stay, or may be lost."""
    return not retype.is_strict or retype.after.properties.get("precision") in (None, _MICROSECONDS)


def begins_with_digit(text: str) -> str:
    """Return a condition that holds for texts of numbers but not for ``0x1``, which dlt reads; it compares bytes."""
    # The colon comes after the nine.
    ranges = (("1", ":"), ("-1", "-:"), ("0", "0:"), ("-0", "-0:"))
    return f"({' OR '.join(f'{text} BETWEEN {literal(low)} AND {literal(high)}' for low, high in ranges)})"


def plain_decimal(text: str) -> str:
    """Return a decimal's text without the zeros that its scale pads it with."""
    return f"CASE WHEN {text} LIKE '%.%' THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def shared_cast(retype: Retype, value: str, type_of: ColumnType, try_cast: str = "CAST") -> tuple[str, str]:
    """Return the condition under which databases cast a value that is no text as dlt coerces it, and the cast.

    These casts are the same in all databases: of moments, of numbers to bool, and of a type to itself.

    ``try_cast`` is the database's cast that returns null if it fails, if there is one.
    """
    before, after = retype.before, retype.after
    kind = type_of(after)
    cast, naive = f"CAST({value} AS {kind})", in_utc(before, value)
    match before.data_type, after.data_type:
        case DataType.BIGINT | DataType.DOUBLE | DataType.DECIMAL | DataType.WEI, DataType.BOOL:
            return f"{value} IN (0, 1)", f"{value} <> 0"
        case DataType.BINARY, DataType.BINARY:
            return is_short(value, after, "octet_length"), value
        case DataType.TIMESTAMP, DataType.TIMESTAMP:
            return keeps_fraction(retype, naive, type_of, try_cast), from_utc(after, naive, kind)
        case DataType.TIMESTAMP, DataType.DATE:
            is_midnight = f"{naive} = date_trunc('day', {naive})" if retype.is_strict else TRUE
            return conjoin(is_python_timestamp(naive), is_midnight), f"CAST({naive} AS DATE)"
        case DataType.DATE, DataType.TIMESTAMP:
            return is_python_date(value), from_utc(after, f"CAST({value} AS TIMESTAMP)", kind)
        case DataType.TIME, DataType.TIME:
            return TRUE if has_any_precision(retype) else f"{cast} = {value}", cast
        case old_type, new_type:
            return (TRUE, cast) if old_type is new_type else (FALSE, f"CAST(NULL AS {kind})")


def shared_text(column: Column, value: str, text: str, naive: str, written: tuple[str, str]) -> tuple[str, str]:
    """Return the condition under which databases write a value that is no text as Python does, and its text.

    Args:
        column: the value's.
        value: an expression.
        text: its text by the database's cast.
        naive: the value in UTC without a zone, of a timestamp.
        written: the text of ``naive`` up to its seconds, and the text of its fraction.
    """
    match column.data_type:
        case DataType.BOOL:
            return TRUE, f"CASE WHEN {value} THEN 'True' WHEN NOT {value} THEN 'False' END"
        case DataType.TIMESTAMP:
            seconds, fraction = written
            is_whole = f"{naive} = date_trunc('second', {naive})"
            zone = "" if column.is_naive else " || '+00:00'"
            return is_python_timestamp(naive), f"{seconds} || CASE WHEN {is_whole} THEN '' ELSE {fraction} END{zone}"
        case DataType.DATE:
            return is_python_date(value), text
        case DataType.TIME:
            padded = f"CASE WHEN {text} LIKE '%.%' THEN rpad({text}, 15, '0') ELSE {text} END"
            return f"{text} NOT LIKE '24%'", padded
        case _:
            return TRUE, text


def keeps_fraction(retype: Retype, naive: str, type_of: ColumnType, try_cast: str = "CAST") -> str:
    """Return the condition that a timestamp without a zone keeps its fraction of a second, if the retype is strict."""
    if has_any_precision(retype):
        return TRUE
    kind = type_of(Column("", {**retype.after.properties, "timezone": False}))
    return f"CAST({try_cast}({naive} AS {kind}) AS TIMESTAMP) = {naive}"


@dataclass(frozen=True, slots=True)
class Converted:
    """A conversion in SQL of a value that is not null.

    Attributes:
        is_sure: the condition that ``cast`` equals dlt's coercion; it never fails, and null means no.
        cast: the value in its new type by the database's own cast; null of a null.
        coerced: the value in its new type by dlt's coercion; null if it does not survive, and of a null.
        checked: the same, but it fails if the value does not survive.
    """

    is_sure: str
    cast: str
    coerced: str
    checked: str

    @property
    def fits(self) -> str:
        """The condition that the value survives."""
        return self._choose(TRUE, f"{self.coerced} IS NOT NULL")

    @property
    def value(self) -> str:
        """The value in its new type; it fails if the value does not survive."""
        return self._choose(self.cast, self.checked)

    @property
    def or_null(self) -> str:
        """The value in its new type, null if it does not survive, and of a null."""
        return self._choose(self.cast, self.coerced)

    def _choose(self, sure: str, other: str) -> str:
        match self.is_sure:
            case "TRUE":
                return sure
            case "FALSE":
                return other
            case _:
                return f"CASE WHEN {self.is_sure} THEN {sure} ELSE {other} END"


def coerced(value: Any, retype: Retype) -> Any:
    """Return a value as dlt coerces it.

    Raises:
        ValueError: it refuses the value, or loses something of it.
        ArithmeticError: the same.
    """
    before, after = retype.before.data_type, retype.after.data_type
    if before is None or after is None:
        raise ValueError("dlt has no such type")
    coerced_value = coerce(value, before, after)
    if coerced_value is None:
        raise ValueError("JSON's null")
    if before is not after:
        _refuse_loss(value, coerced_value, retype)
    return coerced_value


def _refuse_loss(value: Any, coerced_value: Any, retype: Retype) -> None:
    before, after = retype.before.data_type, retype.after.data_type
    assert before is not None
    if after is DataType.BOOL and before in _NUMBERS and value not in (0, 1):
        raise ValueError("a number as truth")
    if after in (DataType.TIMESTAMP, DataType.DATE) and before in _NUMBERS and not retype.counts_seconds:
        raise ValueError("a number as a timestamp")
    if after is DataType.DATE:
        moment = value if isinstance(value, datetime) else coerce(value, before, DataType.TIMESTAMP)
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
        if retype.is_strict and in_utc.time() != _MIDNIGHT:
            raise ValueError("its time of day")
    is_cut = before in (DataType.BIGINT, *_DECIMALS) and after is DataType.DOUBLE
    # An integer past 2^53 may be spelled like a double that is another number.
    is_other = is_cut and before in (DataType.BIGINT, DataType.WEI) and coerced_value != value
    if is_other or (is_cut and Decimal(repr(coerced_value)) != value):
        raise ValueError("digits")


def plain_number(number: Decimal) -> Decimal:
    """Return a number without zeros at its end, and without an exponent.

    Raises:
        ValueError: it is not finite, or has more digits than any database takes.
    """
    if not number.is_finite() or (number and abs(number.adjusted()) > _MOST_DIGITS):
        raise ValueError(number)
    # The usual context would round to 28 digits.
    exact = Context(prec=len(number.as_tuple().digits))
    return Decimal(f"{number.normalize(exact):f}") if number else Decimal(0)


def write_retype(retype: Retype, type_of: ColumnType | None = None) -> str:
    """Return a retype as a text, which ``read_retype`` reads: functions of a database get it as an argument.

    ``type_of`` returns the types with sizes of decimals; None if the database keeps no sizes.
    """
    properties = _KEPT if type_of is not None else _KEPT[:2]
    sides = [
        {key: column.properties[key] for key in properties if column.properties.get(key) is not None}
        for column in (retype.before, retype.after)
    ]
    if type_of is not None and retype.after.data_type in _DECIMALS:
        sides[1]["precision"], sides[1]["scale"] = sizes_of(type_of(retype.after))
    if type_of is not None and stores_short_floats(retype.after, type_of):
        sides[1]["precision"] = FLOAT_BITS
    return json.dumps([*sides, retype.counts_seconds, retype.is_strict])


@lru_cache(maxsize=64)
def read_retype(written: str) -> Retype:
    """Return the retype that ``write_retype`` has written."""
    before, after, counts_seconds, is_strict = json.loads(written)
    return Retype(Column("", before), Column("", after), counts_seconds, is_strict)


def stores_short_floats(column: Column, type_of: ColumnType) -> bool:
    """Return whether a column of doubles stores them in 4 bytes, which hold integers up to 2^24 only."""
    return column.data_type is DataType.DOUBLE and is_short_float(type_of(column))


def has_spellings(retype: Retype) -> bool:
    """Return whether one value may be spelled in several ways: if texts become another type."""
    before, after = retype.before.data_type, retype.after.data_type
    return before is DataType.TEXT and after is not None and after is not DataType.TEXT


@lru_cache(maxsize=4096)
def coerce_text(text: str, written: str) -> str | None:
    """Return a value's text (see ``read_value``) as dlt coerces it in a retype (see ``write_retype``).

    It is the text that a database casts to the new type, digits of base 16 for bytes; None if the coercion refuses
    the value, or the new column does not hold it.
    """
    return convert_text(text, read_retype(written))


def convert_text(text: str, retype: Retype) -> str | None:
    """Convert a text as ``coerce_text`` does, without its cache, which Spark's workers cannot be sent."""
    before, after = retype.before.data_type, retype.after.data_type
    if after is None or (before is DataType.TEXT and not can_coerce(text, before, after)):
        return None
    try:
        return _written(coerced(read_value(text, retype.before), retype), retype.after)
    except (ValueError, ArithmeticError):
        return None


def read_value(text: str, column: Column) -> Any:
    """Return a column's value from the text that a database casts it to; bytes are digits of base 16.

    Raises:
        ValueError: Python has no such value (a date before the year 1).
        ArithmeticError: the same.
    """
    if column.data_type is None:
        raise ValueError("dlt has no such type")
    return _READERS[column.data_type](text)


_READERS: Final[Mapping[DataType, Callable[[str], Any]]] = {
    DataType.TEXT: str,
    DataType.BIGINT: int,
    DataType.DOUBLE: float,
    DataType.DECIMAL: lambda text: plain_number(Decimal(text)),
    DataType.WEI: lambda text: plain_number(Decimal(text)),
    DataType.BOOL: lambda text: text == "true",
    DataType.BINARY: bytes.fromhex,
    DataType.JSON: json.loads,
    DataType.TIMESTAMP: datetime.fromisoformat,
    DataType.DATE: date.fromisoformat,
    DataType.TIME: time.fromisoformat,
}


def _written(value: Any, column: Column) -> str:
    """Return a value's text; raises ``ValueError`` if the column cannot hold the value."""
    match value:
        case _ if column.data_type is DataType.JSON:
            text: str = coerce(value, DataType.JSON, DataType.TEXT)
            return text
        case bool():
            return "true" if value else "false"
        case int():
            return str(_in_bits(value, column))
        case Decimal():
            return f"{_in_sizes(plain_number(value), column):f}"
        case datetime():
            in_utc = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            zone = "" if column.is_naive else "Z"
            return _in_precision(in_utc, column).isoformat() + zone
        case time():
            return _in_precision(value, column).isoformat()
        case date():
            return value.isoformat()
        case bytes():
            return _in_length(value, column).hex()
        case str():
            return _in_length(value, column)
        case _:
            return str(_in_float(value, column))


def _in_length(value: L, column: Column) -> L:
    limit = column.properties.get("precision")
    if limit is not None and len(value) > int(limit):
        raise ValueError("too long")
    return value


def _in_bits(number: int, column: Column) -> int:
    bits = bits_of(column)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"more than {bits} bits")
    return number


def _in_float(number: float, column: Column) -> float:
    if column.properties.get("precision") == FLOAT_BITS and math.isfinite(number):
        (short,) = struct.unpack("f", struct.pack("f", number))  # overflows past the largest 4-byte float
        if short != number:
            raise ValueError(f"more than {FLOAT_BITS} bits")
    return number


def _in_sizes(number: Decimal, column: Column) -> Decimal:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # other exponents are of NaN and infinities
    precision, scale = int(column.properties.get("precision") or 38), int(column.properties.get("scale") or 0)
    if number and (-exponent > scale or len(digits) + exponent > precision - scale):
        raise ValueError(f"more than {precision} digits, {scale} of them behind the point")
    return number


def _in_precision(moment: M, column: Column) -> M:
    digits = column.properties.get("precision")
    if digits is not None and digits < _MICROSECONDS and moment.microsecond % 10 ** (_MICROSECONDS - digits):
        raise ValueError("parts of a second")
    return moment
