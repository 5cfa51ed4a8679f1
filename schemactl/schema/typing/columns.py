"""The fields of a typing as columns of a schema."""

from __future__ import annotations

from typing import Any, Final

from schemactl.schema.nested_columns import SPARK_TYPE
from schemactl.schema.typing.model import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    FieldType,
    Integer,
    Long,
    String,
    Struct,
    Time,
    Timestamp,
    spark_type,
)

ERRORS_COLUMN: Final = {
    "data_type": "json",
    "nullable": True,
    "description": "Errors of typing this row, the field and the message of each.",
}
"""The properties of the column with the errors of a row."""


def column_type(of: FieldType) -> dict[str, Any]:  # noqa: C901 - a case for each type
    """Return the properties of a column that holds values of a type; a time is kept as a text, as Arc keeps it."""
    match of:
        case Binary():
            return {"data_type": "binary"}
        case Boolean():
            return {"data_type": "bool"}
        case Date():
            return {"data_type": "date"}
        case Decimal(precision=precision, scale=scale):
            return {"data_type": "decimal", "precision": precision, "scale": scale}
        case Double():
            return {"data_type": "double"}
        case Integer():
            return {"data_type": "bigint", "precision": 32}
        case Long():
            return {"data_type": "bigint"}
        case Timestamp():
            return {"data_type": "timestamp"}
        case Struct() | Array():
            return {"data_type": "json", SPARK_TYPE: spark_type(of)}
        case String() | Time():
            return {"data_type": "text"}
