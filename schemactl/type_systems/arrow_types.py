"""Converts types of columns and of nested data to Arrow types and back.

pyarrow is imported only to convert a type, so that schemas without Arrow types do not wait for it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError
from schemactl.schema import nested_types
from schemactl.schema.arrow_hint import NESTED_TYPE, NESTED_TYPE_HINT, decode, encode
from schemactl.schema.full_types import DEFAULT_DECIMAL
from schemactl.schema.nested_types import SPARK_TYPE, STRING, Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.types import Column, DataType, Properties

if TYPE_CHECKING:
    import pyarrow

_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
WEI: Final = (76, 0)
"""The most digits that Arrow has."""


def nested_type_of(column: Column) -> NestedType | None:
    """Return the type of a JSON column's objects and lists, by schemactl's hint or else by dlt's."""
    nested_type = nested_types.stated_type(column, keeps_sizes=True)
    if nested_type is not None:
        return nested_type
    arrow_type = arrow_type_of(column)
    return None if arrow_type is None else from_arrow(arrow_type)


def restate(properties: Properties, current: object) -> Properties:
    """Return properties with dlt's ``x-nested-type`` instead of ``x-spark-type``.

    ``current``, the column's value so far, is kept if it holds the same type, since the hash counts it.
    """
    nested_type = nested_types.stated_type(Column("", properties), keeps_sizes=True)
    if nested_type is None or isinstance(nested_type, Json):
        return properties
    current_type = nested_type_of(Column("", {"data_type": "json", NESTED_TYPE: current}))
    remaining = {key: value for key, value in properties.items() if key not in (SPARK_TYPE, nested_types.FIELDS)}
    return {**remaining, NESTED_TYPE: current if current_type == nested_type else encode(to_arrow(nested_type))}


def arrow_type_of(column: Column) -> pyarrow.DataType | None:
    """Return the Arrow type in dlt's hint of a JSON column, None without one."""
    text = column.properties.get(NESTED_TYPE)
    if not text or column.data_type is not DataType.JSON:
        return None
    try:
        return decode(str(text))
    except ValueError as error:
        message = f"`{NESTED_TYPE}` of the column `{column.name}` is not an Arrow type: {error}"
        raise InputError(message, hint=NESTED_TYPE_HINT) from error


def to_arrow(of: NestedType) -> pyarrow.DataType:
    """Return the type that files keep nested data in, as Spark writes it."""
    import pyarrow as pa

    match of:
        case Struct(fields):
            return pa.struct([pa.field(name, to_arrow(inner)) for name, inner in fields])
        case ListOf(element):
            return pa.list_(pa.field("element", to_arrow(element)))
        case MapOf(value):
            return pa.map_(pa.string(), to_arrow(value))
        case Json():
            return pa.string()
        case Leaf(name):
            return _leaf(name)


def from_arrow(of: pyarrow.DataType) -> NestedType:
    """Return the nested type of an Arrow type; types without a word in Spark DDL become dlt's, without sizes."""
    import pyarrow.types as is_a

    if is_a.is_dictionary(of) or is_a.is_run_end_encoded(of):
        return from_arrow(of.value_type)
    if is_a.is_struct(of):
        return Struct(tuple((field.name, from_arrow(field.type)) for field in of)) if of.num_fields else Json()
    if is_list(of):
        element = from_arrow(of.value_type)
        return element if isinstance(element, Json) else ListOf(element)
    if is_a.is_map(of):
        value = from_arrow(of.item_type) if _is_text(of.key_type) else Json()
        return value if isinstance(value, Json) else MapOf(value)
    name = _leaf_name(of)
    if name is not None:
        return Leaf(name)
    return nested_types.leaf_of(scalar_properties(of) or {"data_type": "text"}, keeps_sizes=True)


def from_exact_arrow(of: pyarrow.DataType) -> NestedType | None:
    """Return the nested type of an Arrow type, None if Spark DDL has no word for a part of it.

    Integers and floats keep their sizes here: ``int`` is not ``bigint``, the only integer that ``read_type`` returns.
    """
    import pyarrow.types as is_a

    if is_a.is_struct(of):
        fields = [(field.name, from_exact_arrow(field.type)) for field in of]
        known_fields = tuple((name, inner) for name, inner in fields if inner is not None)
        return Struct(known_fields) if fields and len(known_fields) == len(fields) else None
    if is_a.is_list(of) or is_a.is_large_list(of):
        element = from_exact_arrow(of.value_type)
        return None if element is None else ListOf(element)
    if is_a.is_map(of):
        value = from_exact_arrow(of.item_type)
        return None if value is None or not _is_text(of.key_type) else MapOf(value)
    name = _leaf_name(of)
    return None if name is None else Leaf(name)


def is_nested(of: pyarrow.DataType) -> bool:
    """Return whether a type is a struct, list or map."""
    import pyarrow.types as is_a

    return bool(is_a.is_struct(of) or is_a.is_list(of) or is_a.is_large_list(of) or is_a.is_map(of))


def is_list(of: pyarrow.DataType) -> bool:
    """Return whether a type is a list of any layout."""
    import pyarrow.types as is_a

    kinds = (is_a.is_list, is_a.is_large_list, is_a.is_fixed_size_list, is_a.is_list_view, is_a.is_large_list_view)
    return any(kind(of) for kind in kinds)


def plain_type(of: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type without differences in memory layout: large texts, lists and views become plain types.

    Elements of lists get Parquet's name for them.
    """
    import pyarrow as pa
    import pyarrow.types as is_a

    if is_a.is_struct(of):
        return pa.struct([field.with_type(plain_type(field.type)) for field in of])
    if is_a.is_list(of) or is_a.is_large_list(of):
        return pa.list_(pa.field("element", plain_type(of.value_type), of.value_field.nullable))
    if is_a.is_fixed_size_list(of):
        return pa.list_(pa.field("element", plain_type(of.value_type), of.value_field.nullable), of.list_size)
    if is_a.is_map(of):
        key, item = (field.with_type(plain_type(field.type)) for field in (of.key_field, of.item_field))
        return pa.map_(key, item)
    if is_a.is_large_string(of) or is_a.is_string_view(of):
        return pa.string()
    return pa.binary() if is_a.is_large_binary(of) or is_a.is_binary_view(of) else of


def scalar_properties(of: pyarrow.DataType) -> dict[str, Any] | None:
    """Return the properties of a column of scalars of a type, as dlt takes it; None for types that dlt has not."""
    import pyarrow as pa
    import pyarrow.types as is_a

    if isinstance(of, pa.BaseExtensionType):
        return {"data_type": "json"} if of.extension_name == "arrow.json" else scalar_properties(of.storage_type)
    if is_a.is_uint64(of):
        return {"data_type": "decimal", "precision": 20, "scale": 0}
    if is_a.is_integer(of):
        bits = of.bit_width * 2 if is_a.is_unsigned_integer(of) else of.bit_width
        return {"data_type": "bigint", **({"precision": bits} if bits < 64 else {})}
    if is_a.is_decimal(of):
        if (of.precision, of.scale) == WEI:
            return {"data_type": "wei"}
        return {"data_type": "decimal", "precision": of.precision, "scale": max(of.scale, 0)}
    if is_a.is_timestamp(of) or is_a.is_time(of):
        size = {} if of.unit == "us" else {"precision": _UNITS[of.unit]}
        zone = {"timezone": False} if is_a.is_timestamp(of) and of.tz is None else {}
        return {"data_type": "timestamp" if is_a.is_timestamp(of) else "time", **size, **zone}
    if is_a.is_fixed_size_binary(of):
        return {"data_type": "binary", "precision": of.byte_width}
    kinds = {
        "text": (is_a.is_string, is_a.is_large_string, is_a.is_string_view),
        "binary": (is_a.is_binary, is_a.is_large_binary, is_a.is_binary_view),
        "double": (is_a.is_floating,),
        "bool": (is_a.is_boolean,),
        "date": (is_a.is_date,),
    }
    data_type = next((kind for kind, tests in kinds.items() if any(test(of) for test in tests)), None)
    return {"data_type": data_type} if data_type else None


def scalar_type(properties: Properties) -> pyarrow.DataType:
    """Return the Arrow type of scalars with a column's properties, as dlt writes it; text without a ``data_type``."""
    import pyarrow as pa

    size = properties.get("precision")
    match DataType(properties.get("data_type") or "text"):
        case DataType.BIGINT:
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(size or 64, pa.int64())
        case DataType.DECIMAL:
            digits, places = (size, properties.get("scale") or 0) if size else DEFAULT_DECIMAL
            return (pa.decimal128 if digits <= 38 else pa.decimal256)(digits, places)
        case DataType.WEI:
            return pa.decimal256(*WEI)
        case DataType.TIMESTAMP:
            return pa.timestamp(_unit(size), None if properties.get("timezone") is False else "UTC")
        case DataType.TIME:
            return pa.time32("ms") if _unit(size) == "ms" else pa.time64(_unit(size))
        case DataType.BINARY:
            return pa.binary(size or -1)
        case DataType.TEXT | DataType.JSON:
            return pa.string()
        case other:
            return _leaves()[{"bool": nested_types.BOOLEAN}.get(other, str(other))]


def _unit(digits: int | None) -> str:
    wanted_digits = 6 if digits is None else digits
    # Parquet has no seconds.
    return next((unit for unit, unit_digits in _UNITS.items() if unit_digits >= wanted_digits and unit != "s"), "ns")


def _is_text(of: pyarrow.DataType) -> bool:
    import pyarrow.types as is_a

    return bool(is_a.is_string(of) or is_a.is_large_string(of) or is_a.is_string_view(of))


def _leaf_name(of: pyarrow.DataType) -> str | None:
    import pyarrow.types as is_a

    if _is_text(of):
        return STRING
    if is_a.is_binary(of) or is_a.is_large_binary(of) or is_a.is_binary_view(of):
        return "binary"
    if is_a.is_decimal(of):
        return f"decimal({of.precision},{of.scale})"
    return next((name for name, arrow_type in _leaves().items() if arrow_type == of), None)


def _leaf(name: str) -> pyarrow.DataType:
    import pyarrow as pa

    kind, _, sizes = name.rstrip(")").partition("(")
    if kind == "decimal":
        return pa.decimal128(*map(int, sizes.split(",")))
    arrow_type = _leaves().get("time(6)" if kind == "time" else name)
    if arrow_type is None:
        raise ValueError(f"files have no type `{name}`")
    return arrow_type


@cache
def _leaves() -> dict[str, pyarrow.DataType]:
    import pyarrow as pa

    return {
        STRING: pa.string(), "binary": pa.binary(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
        "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(),
        "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
        "time(6)": pa.time64("us"),
    }  # fmt: skip
