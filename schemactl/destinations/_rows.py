"""Rows of staged files, a batch at a time, for databases that do not read Parquet themselves.

Structs, lists and maps are JSON texts there: fields that are null are written as such, and all numbers are JSON's, so
PostgreSQL's ``jsonb`` keeps each of their digits.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_a
from pyarrow import parquet

from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable
from schemactl.schema.nested_types import Json, ListOf, MapOf, NestedType, Struct, structure_of
from schemactl.schema.types import Column, DataType
from schemactl.type_systems.arrow_types import is_nested

_BATCH_BYTES: Final = 8 << 20
_MOST_ROWS: Final = 65_536

_SHORT: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\b": r"\b", "\f": r"\f"}
_ESCAPES: Final = {**_SHORT, **{chr(at): rf"\u{at:04x}" for at in range(32) if chr(at) not in _SHORT}}
_NEEDS_ESCAPE: Final = r'[\x00-\x1f"\\]'


def batches(staged: StagedTable) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a staged table, with columns in its order; structs, lists and maps are JSON texts."""
    for path in staged.files:
        with parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            # The footer has the sizes before compression: a batch is of some megabytes.
            widest = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=1.0)
            batch_rows = max(1, min(_MOST_ROWS, int(_BATCH_BYTES / max(widest, 1.0))))
            for batch in file.iter_batches(batch_size=batch_rows):
                chosen = batch.select(list(staged.table.columns))
                columns = list(chosen.columns)
                for index, name in enumerate(chosen.schema.names):
                    if not is_nested(columns[index].type):
                        continue
                    if (structure := structure_of(staged.table.columns[name])) is None:
                        message = f"column `{name}` has structs or lists, but the schema does not declare their type"
                        raise DestinationError(message)
                    columns[index] = json_texts(columns[index], structure)
                yield pa.RecordBatch.from_arrays(columns, names=chosen.schema.names)


def stored_rows(
    staged: StagedTable, decimal: Callable[[Decimal], Any] | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a staged table, a batch at a time; timestamps, dates, times and JSON are texts.

    ``decimal`` stores decimals; None if the driver does.
    """
    columns = tuple(staged.table.columns.values())
    for batch in batches(staged):
        values = [_stored(array, column, decimal) for array, column in zip(batch.columns, columns, strict=True)]
        yield list(zip(*values, strict=True))


def _stored(values: pa.Array, column: Column, decimal: Callable[[Decimal], Any] | None) -> list[Any]:
    match column.data_type:
        case DataType.TIMESTAMP:
            values = values.cast(pa.timestamp("us")).cast(pa.string())  # without its zone, in UTC
        case DataType.DATE:
            values = values.cast(pa.string())
        case DataType.TIME:
            values = values.cast(pa.time64("us")).cast(pa.string())
        case DataType.DECIMAL | DataType.WEI if decimal is not None:
            return [None if value is None else decimal(value) for value in values.to_pylist()]
        case DataType.JSON:
            return [None if value is None else json.dumps(json.loads(value)) for value in values.to_pylist()]
    stored_values: list[Any] = values.to_pylist()
    return stored_values


def json_texts(values: pa.Array, of: NestedType) -> pa.Array:
    """Return the JSON text of each value, null for null.

    Values are of the type that Spark writes for ``of``, which tells the texts inside that are JSON already.
    """
    match of:
        case Struct(fields):
            parts: list[pa.Array | str] = []
            for index, (name, inner) in enumerate(fields):
                field_values = values.field(values.type.get_field_index(name))  # under a struct that is null, too
                parts += [
                    f"{',' if index else '{'}{json.dumps(name, ensure_ascii=False)}:",
                    _or_null(json_texts(field_values, inner)),
                ]
            return _joined(values, [*parts, "}"])
        case ListOf(element):
            texts = _or_null(json_texts(values.flatten(), element))
            return _joined(values, ["[", _lists(values, texts), "]"])
        case MapOf(value):
            entries = values.cast(pa.list_(pa.struct([("key", pa.string()), ("value", values.type.item_type)])))
            inside = entries.flatten()
            pairs = [_quoted_all(inside.field("key")), ":", _or_null(json_texts(inside.field("value"), value))]
            return _joined(values, ["{", _lists(entries, _joined(inside, pairs)), "}"])
        case Json():
            return values.cast(pa.large_string())
        case _:
            return _scalars(values)


def _lists(values: pa.Array, texts: pa.Array) -> pa.Array:
    """Return the texts of the elements of each list, joined by commas."""
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(values), 0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), pa.scalar(",", pa.large_string()))


def _joined(values: pa.Array, pieces: Sequence[pa.Array | str]) -> pa.Array:
    """Return the joined parts of a text, null if the value is null."""
    texts = [pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else piece for piece in pieces]
    joined = pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))
    return pc.if_else(values.is_valid(), joined, pa.scalar(None, pa.large_string()))


def _or_null(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, "null")


def _quoted_all(texts: pa.Array) -> pa.Array:
    escaped = texts.cast(pa.large_string())
    if pc.any(pc.match_substring_regex(escaped, _NEEDS_ESCAPE)).as_py():
        for character, written in _ESCAPES.items():  # the backslash first
            escaped = pc.replace_substring(escaped, character, written)
    return _joined(escaped, ['"', escaped, '"'])


def _scalars(values: pa.Array) -> pa.Array:
    of = values.type
    if is_a.is_string(of) or is_a.is_large_string(of):
        return _quoted_all(values)
    if is_a.is_binary(of) or is_a.is_large_binary(of):
        texts = [None if value is None else base64.b64encode(value).decode() for value in values.to_pylist()]
        return _quoted_all(pa.array(texts, pa.large_string()))
    if is_a.is_timestamp(of):
        zone = "Z" if of.tz else ""
        return _quoted_all(pc.strftime(values, format=f"%Y-%m-%dT%H:%M:%S{zone}"))
    if is_a.is_date(of) or is_a.is_time(of):
        return _quoted_all(values.cast(pa.large_string()))
    texts = values.cast(pa.large_string())
    if not is_a.is_floating(of):
        return texts
    # JSON has neither infinities nor NaN.
    return pc.if_else(pc.is_finite(values), texts, pa.scalar(None, pa.large_string()))
