"""Spark's types of structs and arrays that are kept whole: as documents are read, as columns store them, and as DDL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T

from schemactl.engine.coercion import stored_type
from schemactl.engine.sql import quoted
from schemactl.normalization.plan import Plan
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.types import Column

_PLAIN: Final[Mapping[str, T.DataType]] = {
    "bigint": T.LongType(),
    "double": T.DoubleType(),
    "boolean": T.BooleanType(),
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
}


def column_type(column: Column, table: str, plan: Plan) -> T.DataType:
    """Return the Spark type that a column of a plan is stored as."""
    structure = plan.structures.get((table, column.name))
    return stored_type(column) if structure is None else structure_type(structure)


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
            return leaf_type(name)


def leaf_type(name: str) -> T.DataType:
    """Return the Spark type of scalars, by its name."""
    if name in _PLAIN:
        return _PLAIN[name]
    kind, _, sizes = name.rstrip(")").partition("(")
    numbers = [int(size) for size in sizes.split(",")]
    return T.TimeType(*numbers) if kind == "time" else T.DecimalType(*numbers)


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
