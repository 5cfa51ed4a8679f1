"""The columns of files that declare types, with the Arrow types that the kernel reads and Spark would also use.

Spark's rules apply, so that both engines infer the same schema: unsigned integers become wider signed ones, timestamps
count microseconds, durations are whole numbers of their unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_a

from schemactl.engine.declared_columns import TypeReader
from schemactl.engine.parquet_footers import SECOND_DIGITS
from schemactl.errors import InputError
from schemactl.schema.nested_types import write_type
from schemactl.schema.paths import Path
from schemactl.schema.types import DataType
from schemactl.type_systems.arrow_types import from_arrow, is_list

_MOST_DIGITS: Final = 38
_WIDER: Final = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.date64(): pa.date32(), pa.null(): pa.int32(),
}  # fmt: skip


SPARK_HINT: Final = "`--engine spark` reads it"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of files.

    Attributes:
        type: the type for the kernel.
        second_digits: the digits of timestamps and times that are coarser than microseconds; None for other types.
        has_nested_nanoseconds: whether timestamps inside of it lose nanoseconds.
    """

    name: str
    type: pa.DataType
    second_digits: int | None = None
    has_nested_nanoseconds: bool = False


def source_columns(schema: pa.Schema) -> tuple[SourceColumn, ...]:
    """Return the columns of a file, without columns of nulls that lack a type, as in dlt."""
    return tuple(_column(field) for field in schema if not is_a.is_null(field.type))


def _column(field: pa.Field) -> SourceColumn:
    of = field.type
    if is_nanoseconds(of):
        return SourceColumn(field.name, of if of.tz is None else pa.timestamp("ns", "UTC"))
    digits = SECOND_DIGITS.get(of.unit) if is_a.is_timestamp(of) or is_a.is_time(of) else None
    return SourceColumn(field.name, kernel_type(of), digits, _has_nanoseconds(of))


def kernel_type(of: pa.DataType) -> pa.DataType:
    """Return the type for the kernel of values of a type."""
    return map_leaves(pa.field("", of), lambda field: _scalar_type(field.type))


def map_leaves(field: pa.Field, convert: Callable[[pa.Field], pa.DataType]) -> pa.DataType:
    """Return the type of a field with its scalar types converted, first to last, and without Arrow's encodings."""
    of = field.type
    if is_a.is_dictionary(of) or is_a.is_run_end_encoded(of):
        return map_leaves(field.with_type(of.value_type), convert)
    if isinstance(of, pa.BaseExtensionType):
        return map_leaves(field.with_type(of.storage_type), convert)
    if is_a.is_struct(of):
        return pa.struct([pa.field(inner.name, map_leaves(inner, convert), inner.nullable) for inner in of])
    if is_list(of):
        return pa.list_(pa.field("element", map_leaves(of.value_field, convert)))
    if is_a.is_map(of):
        return pa.map_(map_leaves(of.key_field, convert), map_leaves(of.item_field, convert))
    return convert(field)


def _scalar_type(of: pa.DataType) -> pa.DataType:
    if is_a.is_decimal(of):
        if of.precision > _MOST_DIGITS:
            message = f"a column is a decimal of {of.precision} digits: Spark reads no more than {_MOST_DIGITS}"
            raise InputError(message)
        return pa.decimal128(of.precision, of.scale)
    if is_a.is_timestamp(of):
        return pa.timestamp("us", None if of.tz is None else "UTC")
    if is_a.is_time(of):
        return pa.time64("ns" if of.unit == "ns" else "us")
    if is_a.is_duration(of):
        return pa.int64()
    if is_a.is_large_string(of) or is_a.is_string_view(of):
        return pa.string()
    is_bytes = is_a.is_large_binary(of) or is_a.is_binary_view(of) or is_a.is_fixed_size_binary(of)
    return pa.binary() if is_bytes else _WIDER.get(of, of)


def unsupported_type(column: str, spark_type: str) -> InputError:
    """Return the error for a column of a type that only Spark reads."""
    message = f"the column `{column}` is of the Spark type `{spark_type}`, which the local engine cannot read"
    return InputError(message, hint=SPARK_HINT)


def is_nanoseconds(of: pa.DataType) -> bool:
    """Return whether a type is one of timestamps that count nanoseconds."""
    return bool(is_a.is_timestamp(of) and of.unit == "ns")


def _has_nanoseconds(of: pa.DataType) -> bool:
    """Return whether timestamps of nanoseconds are inside of a struct, list or map."""
    return any(
        is_nanoseconds(field.type) or _has_nanoseconds(field.type)
        for field in (of.field(number) for number in range(of.num_fields))
    )


def merge_columns(
    columns: Sequence[SourceColumn], other_columns: Sequence[SourceColumn]
) -> tuple[SourceColumn, ...] | None:
    """Return the columns of two files together, as Spark merges schemas; None if a column has two types."""
    merged = {column.name: column for column in columns}
    for column in other_columns:
        merged_column = merged.setdefault(column.name, column)
        of = _merge_types(merged_column.type, column.type)
        if of is None or merged_column.second_digits != column.second_digits:
            return None
        nested = merged_column.has_nested_nanoseconds or column.has_nested_nanoseconds
        merged[column.name] = SourceColumn(column.name, of, merged_column.second_digits, nested)
    return tuple(merged.values())


def _merge_types(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    if is_a.is_struct(first) and is_a.is_struct(second):
        fields = {field.name: field.type for field in first}
        for field in second:
            of = _merge_types(fields.setdefault(field.name, field.type), field.type)
            if of is None:
                return None
            fields[field.name] = of
        return pa.struct(list(fields.items()))
    if is_a.is_list(first) and is_a.is_list(second):
        element = _merge_types(first.value_type, second.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    if is_a.is_map(first) and is_a.is_map(second):
        key, item = _merge_types(first.key_type, second.key_type), _merge_types(first.item_type, second.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return first if first.equals(second) else None


def read_as(values: pa.Array, of: pa.DataType) -> pa.Array:
    """Return values in the type for the kernel; fields that a file lacks are null."""
    if is_a.is_null(values.type):
        return pa.nulls(len(values), of)
    if values.type.equals(of):
        return values
    if isinstance(values.type, pa.BaseExtensionType):
        return read_as(values.storage, of)
    if is_a.is_dictionary(values.type):
        return read_as(values.dictionary_decode(), of)
    if is_a.is_struct(of):
        names = [field.name for field in values.type]
        children = dict(zip(names, values.flatten(), strict=True))
        arrays = [
            read_as(children[field.name], field.type) if field.name in children else pa.nulls(len(values), field.type)
            for field in of
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(of), mask=values.is_null())
    if is_a.is_list(of):
        lists = _plain_lists(values)
        return _with_children(lists, of, read_as(lists.values, of.value_type))
    if is_a.is_map(of):
        members = [read_as(values.keys, of.key_type), read_as(values.items, of.item_type)]
        return _with_children(values, of, pa.StructArray.from_arrays(members, fields=[of.key_field, of.item_field]))
    # Digits of a second beyond microseconds are cut; `count_nanoseconds` reports them.
    return values.cast(of, safe=False) if is_a.is_temporal(of) or is_a.is_integer(of) else values.cast(of)


def _plain_lists(values: pa.Array) -> pa.ListArray:
    """Return lists of any layout in the usual one."""
    if is_a.is_list(values.type):
        return values
    of = pa.list_(values.type.value_type)
    is_view = is_a.is_list_view(values.type) or is_a.is_large_list_view(values.type)
    # pyarrow 26 casts no slice of a view.
    return pa.array(values.to_pylist(), of) if is_view else values.cast(of)


def _with_children(values: pa.Array, of: pa.DataType, children: pa.Array) -> pa.Array:
    """Return lists or maps with other elements in the same places; a slice has the elements of the whole array."""
    validity, offsets = values.buffers()[:2]
    return pa.Array.from_buffers(of, len(values), [validity, offsets], offset=values.offset, children=[children])


def count_nanoseconds(values: pa.Array) -> int:
    """Return how many rows have timestamps with nanoseconds, which microseconds do not keep."""
    of = values.type
    if is_a.is_timestamp(of):
        if of.unit != "ns":
            return 0
        counts = values.cast(pa.int64())
        return pc.sum(pc.not_equal(counts, pc.multiply(pc.divide(counts, 1000), 1000))).as_py() or 0
    if is_a.is_struct(of) or is_list(of):
        return sum(1 for row in values.to_pylist() if _has_finer(row))
    return 0


def _has_finer(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_finer, value.values()))
        case list():
            return any(map(_has_finer, value))
        case _:
            return bool(getattr(value, "nanosecond", 0))


def spark_name(of: pa.DataType) -> str | None:
    """Return the name of a type in Spark's words; None for text."""
    return None if is_a.is_string(of) else write_type(from_arrow(of))


def column_properties(columns: Sequence[SourceColumn]) -> dict[Path, dict[str, Any]]:
    """Return the dlt properties of every column by path, nested ones flattened like documents (``spark.types``)."""
    properties: dict[Path, dict[str, Any]] = {}
    for column in columns:
        coarse = {} if column.second_digits is None else {"precision": column.second_digits}
        for path, declared in _TYPES.columns(column.type, (column.name,)):
            properties[path] = {**declared, **coarse}
    return properties


_SCALARS: Final[Mapping[Any, Mapping[str, Any]]] = {
    pa.bool_(): {"data_type": DataType.BOOL},
    pa.int8(): {"data_type": DataType.BIGINT, "precision": 8},
    pa.int16(): {"data_type": DataType.BIGINT, "precision": 16},
    pa.int32(): {"data_type": DataType.BIGINT, "precision": 32},
    pa.int64(): {"data_type": DataType.BIGINT},
    pa.float32(): {"data_type": DataType.DOUBLE},
    pa.float64(): {"data_type": DataType.DOUBLE},
    pa.string(): {"data_type": DataType.TEXT},
    pa.binary(): {"data_type": DataType.BINARY},
    pa.date32(): {"data_type": DataType.DATE},
    pa.time64("us"): {"data_type": DataType.TIME, "precision": 6},
    pa.time64("ns"): {"data_type": DataType.TIME, "precision": 9},
}


def _scalar(of: pa.DataType) -> Mapping[str, Any]:
    if is_a.is_decimal(of):
        return {"data_type": DataType.DECIMAL, "precision": of.precision, "scale": of.scale}
    if is_a.is_timestamp(of):
        # Columns that ask for nanoseconds keep them.
        zone = {"timezone": False} if of.tz is None else {}
        return {"data_type": DataType.TIMESTAMP, "precision": 6, **zone}
    return _SCALARS.get(of, {"data_type": DataType.TEXT})


_TYPES: Final[TypeReader[pa.DataType]] = TypeReader(
    fields=lambda of: [(field.name, field.type) for field in of] if is_a.is_struct(of) else None,
    element=lambda of: of.value_type if is_a.is_list(of) else None,
    entries=lambda of: (
        (of.item_type, not (is_a.is_nested(of.key_type) or is_a.is_binary(of.key_type))) if is_a.is_map(of) else None
    ),
    scalar=_scalar,
)
