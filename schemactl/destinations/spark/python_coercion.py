"""Coerce values by ``schema.coercion`` where no Spark expression is sure, and write JSON as dlt does.

The functions run as Arrow UDFs that travel with all they need: Spark's workers have no schemactl.
"""

# No `from __future__ import annotations`: Spark evaluates the hints of a UDF, where its types are not known by name.

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any, Final

from pyspark.sql import Column

import schemactl
from schemactl.schema.coercion import coerce
from schemactl.schema.types import DataType

_MAY_BE_LARGE: Final = re.compile(rb"[0-9]{19}")


def canonical_json(text: Column) -> Column:
    """Return JSON texts as dlt writes their values, null of texts that are no JSON."""
    return arrow_udf(rewrite_json, "string")(text)


def rewrite_json(text: bytes) -> str | None:
    """Return a JSON text as dlt writes its value, None where it is no JSON."""
    try:
        written: str = coerce(read_json(text), DataType.JSON, DataType.TEXT)
    except ValueError:
        return None
    return written


def read_json(text: bytes) -> Any:
    """Read a JSON text, all digits of its integers included.

    Raises:
        ValueError: it is no JSON.
    """
    import orjson

    value = orjson.loads(text)
    # orjson makes doubles of integers past 64 bits
    return json.loads(text) if _MAY_BE_LARGE.search(text) else value


_PLAIN_TYPES: Final = {
    DataType.TEXT: "string",
    DataType.JSON: "string",
    DataType.DECIMAL: "string",
    DataType.WEI: "string",
    DataType.BIGINT: "bigint",
    DataType.TIMESTAMP: "bigint",
    DataType.TIME: "bigint",
    DataType.DATE: "int",
    DataType.DOUBLE: "double",
    DataType.BINARY: "binary",
}

_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
_INT64: Final = range(-(2**63), 2**63)
_LARGEST_EXPONENT: Final = 38
_SMALLEST_EXPONENT: Final = -39
"""Of decimals that Spark's can hold, or that it rounds up to such."""


def by_python(value: Column, kind: DataType, to: DataType) -> Column:
    """Return what ``coerce`` makes of a value: null where it refuses, or where Spark has no such value.

    Decimals come as a string of digits, timestamps and times in microseconds (since 1970, in UTC), dates in days, JSON
    as dlt writes it.

    Args:
        value: a double, or a string: of decimals their digits.
        kind: the value's data type: text, double or decimal.
        to: the column's data type.
    """

    def convert(value: Any) -> Any:
        return outcome(value, kind, to)

    return arrow_udf(convert, _PLAIN_TYPES[to])(value)


def outcome(value: bytes | float, kind: DataType, to: DataType) -> Any:
    """Return the coerced value in its plain type, None where there is none."""
    try:
        return _plain(coerce(_python_value(value, kind), kind, to), to)
    except (ValueError, OverflowError):  # the latter of timestamps that leave the calendar in UTC
        return None


def _python_value(value: bytes | float, kind: DataType) -> Any:
    if isinstance(value, float):
        return value
    text = value.decode()
    return Decimal(text) if kind == DataType.DECIMAL else text


def _plain(value: Any, to: DataType) -> Any:
    match to:
        case DataType.JSON:
            return coerce(value, DataType.JSON, DataType.TEXT)
        case DataType.DECIMAL | DataType.WEI:
            return _digits(value)
        case DataType.BIGINT:
            return value if value in _INT64 else None
        case DataType.TIMESTAMP:
            return _micros(value)
        case DataType.DATE:
            return value.toordinal() - _EPOCH.toordinal()
        case DataType.TIME:
            return (datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND
        case _:
            return value


def _digits(number: Decimal) -> str | None:
    if not number.is_finite():
        return None
    if not number or number.adjusted() < _SMALLEST_EXPONENT:
        return "0"
    return f"{number:f}" if number.adjusted() <= _LARGEST_EXPONENT else None


def _micros(moment: datetime) -> int:
    in_utc = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return (in_utc - _EPOCH) // _MICROSECOND


_ARROW_TYPES: Final = {"string": "string", "binary": "binary", "bigint": "int64", "int": "int32", "double": "float64"}


def arrow_udf(
    function: Callable[[Any], Any], returns: str, *, are_distinct: bool = False
) -> Callable[[Column], Column]:
    """Return a UDF of one column. It calls the function once for each distinct value of a batch, never with null.

    Workers need Python and pyarrow, and what the function imports of others' packages.

    Args:
        function: it gets texts as bytes (UTF-8, unless the data is not), and may return None.
        returns: Spark's name of the type of results: string, binary, bigint, int or double.
        are_distinct: whether no value comes twice; to find that out takes as long as a hash of each.
    """
    import pyarrow as pa
    from pyspark import cloudpickle
    from pyspark.sql.pandas import functions

    def convert(values: pa.Array) -> pa.Array:
        arrow_type = pa.type_for_alias(_ARROW_TYPES[returns])
        if values.null_count == len(values):
            return pa.nulls(len(values), arrow_type)
        if not pa.types.is_floating(values.type):
            values = values.cast(pa.binary())
        encoded = None if are_distinct else values.dictionary_encode()
        asked = (values if encoded is None else encoded.dictionary).to_pylist()
        results = pa.array([None if value is None else function(value) for value in asked], arrow_type)
        return results if encoded is None else results.take(encoded.indices)

    # What is ours is pickled by value, not by name.
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(schemactl)
    # Spark's own hints know only UDFs whose kind is given, of which it warns.
    make: Callable[..., Callable[[Column], Column]] = functions.arrow_udf
    return make(convert, returns)
