"""Conversion of stored values: distinct values go through dlt's coercion, and come back in a table of pairs.

Integers that become wider stay as they are. MySQL converts the texts of coerced values to a column's type when they are
assigned to it, or refuses them.
"""

from __future__ import annotations

from typing import Final

from schemactl.destinations._migration.conversion import FALSE, Converted, bits_of
from schemactl.destinations._types import sizes_of
from schemactl.destinations.mysql.types import column_type
from schemactl.migration.statements import Retype
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType

MAPPING: Final = "`_schemactl_coerced`"
"""A temporary table with the hash of a value's text, and the text of the coerced value."""

MAKE_MAPPING: Final = (
    f"DROP TEMPORARY TABLE IF EXISTS {MAPPING}",
    f"CREATE TEMPORARY TABLE {MAPPING} (given binary(32) PRIMARY KEY, made longtext CHARACTER SET utf8mb4)",
)


def convert(retype: Retype, value: str) -> Converted:
    """Return the conversion of a value by a lookup in the mapping table, or by MySQL itself if dlt's gives the same."""
    key = f"UNHEX(SHA2({as_text(value, retype.before)}, 256))"
    stored_value = "UNHEX(m.made)" if retype.after.data_type is DataType.BINARY else "m.made"
    looked_up = f"(SELECT {stored_value} FROM {MAPPING} m WHERE m.given = {key})"
    return Converted(_is_sure(retype, value), value, looked_up, looked_up)


def _is_sure(retype: Retype, value: str) -> str:
    """Return the condition that MySQL assigns a value to the new column as dlt coerces it."""
    match retype.before.data_type, retype.after.data_type:
        case _ if DATABASE_TYPE in retype.after.properties:
            return FALSE  # a float or an unsigned number holds fewer values
        case DataType.BIGINT, DataType.DOUBLE:
            return f"{value} BETWEEN {-(2**53)} AND {2**53}"
        case DataType.DOUBLE, DataType.BIGINT:
            limit = min(2 ** (bits_of(retype.after) - 1) - 1, 2**53)
            return f"({value} = FLOOR({value}) AND {value} BETWEEN {-limit} AND {limit})"
        case DataType.BIGINT, DataType.DECIMAL | DataType.WEI:
            precision, scale = sizes_of(column_type(retype.after))
            limit = 10 ** min(precision - scale, 19) - 1
            return f"{value} BETWEEN {-limit} AND {limit}"
        case DataType.DECIMAL | DataType.WEI, DataType.BIGINT:
            limit = 2 ** (bits_of(retype.after) - 1) - 1
            return f"({value} = TRUNCATE({value}, 0) AND {value} BETWEEN {-limit} AND {limit})"
        case DataType.DECIMAL | DataType.WEI, DataType.DECIMAL | DataType.WEI:
            precision, scale = sizes_of(column_type(retype.after))
            is_short = f"{value} > {-(10 ** (precision - scale))} AND {value} < {10 ** (precision - scale)}"
            return f"({value} = TRUNCATE({value}, {scale}) AND {is_short})"
        case DataType.DATE, DataType.TIMESTAMP:
            return f"({value} >= '0001-01-01' AND MONTH({value}) > 0 AND DAYOFMONTH({value}) > 0)"
        case DataType.TIMESTAMP, DataType.DATE:
            return f"({value} >= '0001-01-01' AND {value} = CAST({value} AS DATE))"
        case _:
            return FALSE


def as_text(value: str, column: Column) -> str:
    """Return a value as ``conversion.read_value`` reads it."""
    match column.data_type:
        case DataType.TEXT:
            return value
        case DataType.BOOL:
            return f"CASE WHEN {value} THEN 'true' ELSE 'false' END"
        case DataType.DOUBLE:  # a FLOAT is written with six digits
            return f"CAST({value} * 1e0 AS CHAR)"
        case DataType.BINARY:
            return f"HEX({value})"
        case DataType.TIMESTAMP:
            zone = "" if column.is_naive else "Z"
            return f"date_format({value}, '%Y-%m-%dT%H:%i:%s.%f{zone}')"
        case DataType.TIME:
            return f"time_format({value}, '%H:%i:%s.%f')"
        case _:
            return f"CAST({value} AS CHAR)"


def stored_text(text: str | None, column: Column) -> str | None:
    """Return the text that MySQL takes for a coerced value's; None if the column holds no such value."""
    match column.data_type:
        case _ if text is None:
            return None
        case DataType.BOOL:
            return "1" if text == "true" else "0"
        case DataType.TIMESTAMP:
            return text.removesuffix("Z").replace("T", " ")
        case DataType.DOUBLE if text in ("nan", "inf", "-inf"):
            return None
        case _:
            return text
