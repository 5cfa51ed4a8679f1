"""Cells that destinations store, and whether one is the same value as the JSON value, or the cell, that it came from.

Python reads both sides: numbers as fractions, points in time as datetimes in UTC, documents as JSON. dlt changes some
values on purpose, and so the comparison allows it:

- a bool column takes every number but 0 as true, and words such as ``yes``,
- a column of timestamps or dates takes numbers as seconds since 1970; points in time have microseconds,
- -0.0 is 0 except in a double column,
- a decimal has the digits that spell a double,
- a JSON column takes a text as the document that it spells, with numbers beyond 64 bits as doubles,
- a text column that was of another type before has that type's spelling.
"""

from __future__ import annotations

import base64
import json
import math
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

import orjson

from schemactl.flows.target import find_destination
from schemactl.schema.types import DataType, Table

NUMBERS: Final = (DataType.BIGINT, DataType.DECIMAL, DataType.WEI, DataType.DOUBLE)
_DECIMALS: Final = (DataType.DECIMAL, DataType.WEI)
_EARLIER_TYPES: Final = {
    DataType.BIGINT: (DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL),
    DataType.DATE: (DataType.DATE, DataType.TIMESTAMP),
}
"""The types that a column may have had before it became text, by its first type."""

_WORDS: Final = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}


@dataclass(frozen=True)
class Rows:
    """The rows of a table by their ``id``, and the types of its columns."""

    types: dict[str, DataType]
    cells: dict[int, dict[str, Any]]

    def values(self, row: int, *columns: str) -> dict[str, Any]:
        """Return the values of a row in columns that hold one."""
        return {name: self.cells[row][name] for name in columns if self.cells[row].get(name) is not None}


def read_rows(to: str, table_name: str) -> Rows:
    """Return the rows that a destination stores in a table; points in time are naive, in UTC."""
    target = find_destination(to)
    table = target.destination.read_catalogue(target.url).schema.tables[table_name]
    types = {name: DataType(str(column.data_type)) for name, column in table.columns.items()}
    if to.startswith("sqlite:"):  # which keeps decimals as doubles, and no sizes
        unsized = {name: DataType.DOUBLE if of in _DECIMALS else of for name, of in types.items()}
        columns = {name: replace(table.columns[name], properties={"data_type": of}) for name, of in unsized.items()}
        table = Table(table_name, columns)
    cells = {
        row["id"]: {name: _naive(value) for name, value in row.items()}
        for batch in target.destination.read_table(target.url, "shop", table)
        for row in batch.to_pylist()
    }
    return Rows(types, cells)


def _naive(value: Any) -> Any:
    has_zone = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if has_zone else value


def survives(value: Any, cell: Any, data_type: DataType, first_type: DataType) -> bool:
    """Return whether a cell of a type is a JSON value; ``first_type`` is the type that its column began with."""
    match data_type:
        case DataType.TEXT:
            return _is_text_of(value, cell, first_type)
        case DataType.JSON:
            document = json.loads(cell)
            return is_same_json(value, document) or (isinstance(value, str) and _document(value) == document)
        case DataType.BOOL:
            return (_WORDS.get(value.lower()) if isinstance(value, str) else bool(value)) is cell
        case DataType.TIMESTAMP:
            return moment_of(value) == cell
        case DataType.DATE:
            return moment_of(value) == datetime.combine(cell, time())
        case DataType.TIME:
            return _time_of(value) == cell
        case DataType.BINARY:
            return bytes_of(value) == cell if isinstance(value, str) else int.from_bytes(cell, "little") == value
        case _:
            return not isinstance(value, dict | list) and is_same_number(value, cell)


def _is_text_of(value: Any, cell: str, first_type: DataType) -> bool:
    if cell == value or (not isinstance(value, str) and cell in (str(value), repr(value))):
        return True
    if isinstance(value, dict | list) or first_type is DataType.JSON:  # lakes store JSON as text
        return survives(value, cell, DataType.JSON, first_type)
    earlier_types = _EARLIER_TYPES.get(first_type, (first_type,))
    return any(_survives_in_text(value, cell, earlier_type) for earlier_type in earlier_types)


def is_same_cell(before: Any, type_before: DataType, after: Any, type_after: DataType) -> bool:
    """Return whether a cell that a fold has moved or converted is the value that it was."""
    if type_before in NUMBERS and type_after in NUMBERS:
        return is_same_number(before, after)
    if (type_before, type_after) == (DataType.DATE, DataType.TIMESTAMP):
        return bool(datetime.combine(before, time()) == after)
    if DataType.JSON in (type_before, type_after):
        return is_same_json(json.loads(before), json.loads(after))
    if type_after is DataType.TEXT and type_before is not DataType.TEXT:
        typed = base64.b64decode(after) if type_before is DataType.BINARY else _read_text(after, type_before)
        return is_same_number(before, typed) if type_before in NUMBERS else bool(before == typed)
    return bool(before == after)


def number_of(value: Any) -> Fraction | float | None:
    """Return the exact number that a value spells: a fraction, or a float for NaN, infinities and -0.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        with suppress(ValueError, InvalidOperation):
            return Fraction(int(text, 16)) if text.lower().startswith("0x") else _number_of_decimal(Decimal(text))
        return None
    if isinstance(value, float):
        is_plain = math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
        return Fraction(value) if is_plain else value
    return _number_of_decimal(Decimal(value))


def _number_of_decimal(number: Decimal) -> Fraction | float:
    if number.is_finite():
        return Fraction(number)
    return math.nan if number.is_nan() else math.copysign(math.inf, number)


def is_same_number(value: Any, cell: Any) -> bool:
    """Return whether a cell is the number that a value spells; doubles have a sign of zero."""
    number, stored_number = number_of(value), number_of(cell)
    if number is None or stored_number is None:
        return False
    if math.isnan(number) or math.isnan(stored_number):
        return math.isnan(number) and math.isnan(stored_number)
    is_signed = isinstance(value, float) and isinstance(cell, float) and number == 0
    if is_signed and math.copysign(1, value) != math.copysign(1, cell):
        return False
    if number == stored_number:
        return True
    # The digits that spell a double, in a decimal or in a double.
    digits = {Decimal(repr(double)) for double in (value, cell) if isinstance(double, float)}
    return bool(digits) and any(
        Fraction(spelled) in (number, stored_number) for spelled in digits if spelled.is_finite()
    )


def is_same_json(value: Any, document: Any) -> bool:
    """Return whether two documents are the same; numbers count by their value."""
    match value, document:
        case dict(), dict():
            is_alike = value.keys() == document.keys()
            return is_alike and all(is_same_json(value[key], document[key]) for key in value)
        case list(), list():
            return len(value) == len(document) and all(map(is_same_json, value, document))
        case (bool() | str() | None, _) | (_, bool() | str() | None):
            return type(value) is type(document) and value == document
        case (int() | float(), int() | float()):
            return is_same_number(value, document)
    return False


def moment_of(value: Any) -> datetime | None:
    """Return the point in time in UTC that a value spells; one without a zone counts as UTC."""
    with suppress(ValueError, OverflowError, TypeError):
        if not isinstance(value, str):
            return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        return moment_of(float(value))
    return None


def bytes_of(text: str) -> bytes | None:
    """Return the bytes that a text spells in Base64, or in hexadecimal digits after ``0x``."""
    with suppress(ValueError):
        return bytes.fromhex(text[2:]) if text.startswith("0x") else base64.b64decode(text, validate=True)
    return None


def _time_of(value: Any) -> time | None:
    with suppress(ValueError, TypeError):
        clock = time.fromisoformat(value)
        return clock if clock.tzinfo is None else datetime.combine(date(1970, 1, 2), clock).astimezone(UTC).time()
    return None


def _document(text: str) -> Any:
    with suppress(ValueError):
        return orjson.loads(text)
    return ...


def _survives_in_text(value: Any, cell: str, earlier_type: DataType) -> bool:
    if earlier_type in (DataType.TEXT, DataType.JSON):
        return False
    with suppress(ValueError, KeyError, InvalidOperation):
        typed = base64.b64decode(cell) if earlier_type is DataType.BINARY else _read_text(cell, earlier_type)
        return survives(value, typed, earlier_type, earlier_type)
    return False


def _read_text(text: str, data_type: DataType) -> Any:
    """Return the value of a type that a text spells, as dlt spells it."""
    match data_type:
        case DataType.BIGINT:
            return int(text)
        case DataType.DECIMAL | DataType.WEI:
            return Decimal(text)
        case DataType.DOUBLE:
            return float(text)
        case DataType.BOOL:
            return {"True": True, "False": False}[text]
        case DataType.DATE:
            return date.fromisoformat(text)
        case DataType.TIME:
            return time.fromisoformat(text)
        case DataType.TIMESTAMP:
            return moment_of(text)
    return text
