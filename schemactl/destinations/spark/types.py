"""The Spark types that columns, including nested ones, are stored as, and DDL of types."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as T

from schemactl.engine.spark.sql import quoted
from schemactl.kernel.stored import decimal_size
from schemactl.schema import types
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct, leaf_properties, structure_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import DataType

_FIXED_TYPES: Final[dict[DataType, T.DataType]] = {
    DataType.TEXT: T.StringType(),
    DataType.JSON: T.StringType(),
    DataType.DOUBLE: T.DoubleType(),
    DataType.BOOL: T.BooleanType(),
    DataType.BINARY: T.BinaryType(),
    DataType.DATE: T.DateType(),
    DataType.TIME: T.TimeType(6),
}
_INTEGERS: Final = {8: T.ByteType(), 16: T.ShortType(), 32: T.IntegerType()}


def stored_type(column: types.Column) -> T.DataType:
    """Return the Spark type that a complete column is stored as (docs/dlt.md §9.3, as DuckDB has it).

    Raises:
        ValueError: the column has no data type.
    """
    match column.data_type:
        case DataType.BIGINT:
            bits = column.properties.get("precision") or 64
            return next((kind for limit, kind in _INTEGERS.items() if bits <= limit), T.LongType())
        case DataType.DECIMAL | DataType.WEI:
            return T.DecimalType(*decimal_size(column))
        case DataType.TIMESTAMP:
            return T.TimestampNTZType() if column.is_naive else T.TimestampType()
        case None:
            raise ValueError(f"the column `{column.name}` has no data type")
        case data_type:
            return _FIXED_TYPES[data_type]


def structure_type(of: NestedType) -> T.DataType:
    """Return the Spark type that a structure is stored as."""
    match of:
        case Struct(fields):
            return T.StructType([T.StructField(name, structure_type(inner)) for name, inner in fields])
        case ListOf(element):
            return T.ArrayType(structure_type(element))
        case MapOf(of_keys):
            return T.MapType(T.StringType(), structure_type(of_keys))
        case Json():
            return T.StringType()
        case Leaf(name):
            properties = leaf_properties(name) or {}
            is_time = properties.get("data_type") == DataType.TIME
            return T.TimeType(properties["precision"]) if is_time else stored_type(types.Column(name, properties))


def ddl_of(of: NestedType) -> str:
    """Return Spark's DDL of the type that a structure is stored as."""
    return sql_type(structure_type(of))


def sql_type(of: T.DataType) -> str:
    """Return Spark's DDL of a type, whatever its fields are called; ``simpleString`` does not quote them."""
    match of:
        case T.StructType():
            fields = (f"{quoted(inner.name)}: {sql_type(inner.dataType)}" for inner in of.fields)
            return f"struct<{', '.join(fields)}>"
        case T.ArrayType():
            return f"array<{sql_type(of.elementType)}>"
        case T.MapType():
            return f"map<{sql_type(of.keyType)}, {sql_type(of.valueType)}>"
        case _:
            return of.simpleString()


def column_type(column: types.Column) -> str:
    """Return the type that a complete column is created with, in SQL; raises as ``stored_type``."""
    structure = structure_of(column)
    return stored_type(column).simpleString() if structure is None else ddl_of(structure)


def spark_type(column: types.Column) -> str:
    """Return the type of a column in SQL, the catalog's if dlt has no such type; raises as ``stored_type``."""
    return str(column.properties.get(DATABASE_TYPE) or column_type(column))
