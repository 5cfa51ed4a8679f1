"""Values of a schema file as SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any

from schemactl.destinations._session import literal
from schemactl.errors import InputError
from schemactl.schema.coercion import coerce, type_of
from schemactl.schema.types import Column, DataType


def constant(
    value: Any, column: Column, column_type: Callable[[Column], str] | None, unhex: Callable[[str], str]
) -> str:
    """Return a value, as dlt would store it in a column, as an expression.

    Args:
        value: plain JSON data.
        column: a complete one.
        column_type: of the destination; None where it makes what the column is of a text.
        unhex: writes the bytes of a text of hexadecimal digits.

    Raises:
        InputError: it is no value of the column's type, or no database can hold it.
    """
    kind = column.data_type
    if kind is None:
        raise InputError(f"column `{column.name}` has no type")
    try:
        stored = coerce(value, type_of(value), kind)
    except (ValueError, TypeError) as error:
        raise InputError(f"{value!r} is no value for column `{column.name}` of type `{kind}`") from error
    if isinstance(stored, bytes):
        return unhex(literal(stored.hex()))
    text = _text(stored, column)
    if "\0" in text:
        raise InputError(f"the value for column `{column.name}` holds a NUL character")
    if kind is DataType.TEXT or column_type is None:
        return literal(text)  # a cast would cut it
    return f"CAST({literal(text)} AS {column_type(column)})"


def _text(stored: Any, column: Column) -> str:
    if column.data_type is DataType.JSON:
        return json.dumps(stored, separators=(",", ":"))
    match stored:
        case bool():
            return "true" if stored else "false"
        case datetime():
            moment = stored.replace(tzinfo=UTC) if stored.tzinfo is None else stored.astimezone(UTC)
            is_zoned = column.properties.get("timezone") is not False
            return (moment if is_zoned else moment.replace(tzinfo=None)).isoformat(" ")
        case date() | time():
            return stored.isoformat()
        case _:
            return str(stored)
