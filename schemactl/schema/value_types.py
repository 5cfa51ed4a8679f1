"""What type dlt gives a Python value (docs/dlt.md §6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from schemactl.schema.types import DataType

_BY_TYPE: Final[Mapping[type, DataType]] = {
    str: DataType.TEXT,
    int: DataType.BIGINT,
    float: DataType.DOUBLE,
    bool: DataType.BOOL,
    bytes: DataType.BINARY,
    dict: DataType.JSON,
    list: DataType.JSON,
    Decimal: DataType.DECIMAL,
    datetime: DataType.TIMESTAMP,
    date: DataType.DATE,
    time: DataType.TIME,
}

_BY_BASE: Final[tuple[tuple[type, DataType], ...]] = (
    (Decimal, DataType.DECIMAL),
    (datetime, DataType.TIMESTAMP),
    (date, DataType.DATE),
    (time, DataType.TIME),
    (str, DataType.TEXT),
    (float, DataType.DOUBLE),
    (int, DataType.BIGINT),
    (bytes, DataType.BINARY),
    (Mapping, DataType.JSON),
    (Sequence, DataType.JSON),
)
"""In this order: a datetime is a date, and texts and bytes are sequences."""


def type_of(value: Any) -> DataType:
    """Return the type that dlt gives a Python value.

    Raises:
        TypeError: dlt has no type for it, for example ``None``.
    """
    exact = _BY_TYPE.get(type(value))
    if exact is not None:
        return exact
    for base, data_type in _BY_BASE:
        if isinstance(value, base):
            return data_type
    raise TypeError(f"no data type for {type(value).__name__}")
