"""How sources are staged that state their types: by these. Expressions are built as SQL text (see ``walk``)."""

from __future__ import annotations

from pyspark.sql import types as T

from schemactl.engine.items import Form, Item, object_item, struct_sql
from schemactl.engine.nested import Converter
from schemactl.engine.nested_types import structure_type
from schemactl.engine.spark_types import typed_columns
from schemactl.engine.sql import field_of
from schemactl.engine.uses import Use
from schemactl.inference.paths import ELEMENT
from schemactl.schema.types import DataType


def typed_item(source: T.DataType, use: Use) -> Item:
    """Return how values of a stated type are staged."""
    structure = use.structure
    match source:
        case T.StructType() | T.ArrayType() | T.MapType() if structure is not None and not use.is_row:
            return Item(Form.NESTED, source, structure_type(structure), structure=structure)
        case T.StructType() if use.is_row or not use.takes(DataType.JSON):
            found = {
                inner.name: typed_item(inner.dataType, use.below[inner.name])
                for inner in source.fields
                if inner.name in use.below
            }
            return (
                Item(Form.OBJECT, source, object_item(found).type, fields=found) if found else _typed_json(source, use)
            )
        case T.ArrayType() if ELEMENT in use.below and not use.takes(DataType.JSON):
            element = typed_item(source.elementType, use.below[ELEMENT])
            return Item(Form.LIST, source, T.ArrayType(element.type), element=element)
        case T.StructType() | T.ArrayType() | T.MapType() | T.VariantType():
            return _typed_json(source, use)
        case _:
            kind = typed_columns(T.StructType([T.StructField("value", source)]))[("value",)]["data_type"]
            return Item(Form.SCALAR, source, _staged_type(source), DataType(kind))


def _typed_json(source: T.DataType, use: Use) -> Item:
    is_row = use.is_row and isinstance(source, T.StructType)
    return Item(Form.JSON, source, T.StringType(), is_kept=use.takes(DataType.JSON) and not is_row)


def _staged_type(source: T.DataType) -> T.DataType:
    match source:
        case T.ByteType() | T.ShortType() | T.IntegerType():
            return T.LongType()
        case T.FloatType():
            return T.DoubleType()
        case (
            T.LongType() | T.DoubleType() | T.BooleanType() | T.DecimalType() | T.BinaryType() | T.DateType()
            | T.TimeType() | T.TimestampType() | T.TimestampNTZType()
        ):  # fmt: skip
            return source
        case _:
            return T.StringType()


def staged_sql(item: Item, value: str, depth: int = 0) -> str:
    """Return SQL that makes of a value of the stated type ``item.source`` what is staged."""
    match item.form:
        case Form.OBJECT:
            inner = [staged_sql(child, field_of(value, key), depth) for key, child in item.fields.items()]
            return f"if({value} is null, null, {struct_sql(item, inner)})"
        case Form.LIST if item.element is not None:
            each = f"e{depth}"
            inner_sql = staged_sql(item.element, each, depth + 1)
            return value if inner_sql == each else f"transform({value}, {each} -> {inner_sql})"
        case Form.NESTED if item.structure is not None:
            return Converter().of_typed(item.source, item.structure, value)
        case Form.JSON:
            return f"to_json({value}, map('ignoreNullFields', 'false'))"
        case _:
            return value if item.type == item.source else f"cast({value} as {item.type.simpleString()})"
