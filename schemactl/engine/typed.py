"""Rows whose columns state their types, as the kernel is handed them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.input import shown_path
from schemactl.engine.input_formats import FAULT, FILE, Numbering, Typed
from schemactl.engine.spark_types import NANOSECONDS, typed_columns
from schemactl.engine.sql import literal, quoted
from schemactl.schema.paths import ELEMENT, Path

_KNOWN: Final = (
    T.StringType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType,
    T.DecimalType, T.BinaryType, T.DateType, T.TimeType, T.TimestampType, T.TimestampNTZType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Rows for workers.

    Attributes:
        frame: the columns, and after them ``file`` and ``block``, under names that ``kernel.partitions.read_rows``
            knows; or shares of files.
        names: what the columns are called.
        whole: the paths whose values come as JSON texts.
    """

    frame: DataFrame
    names: tuple[str, ...]
    whole: frozenset[Path]


def typed_rows(batch: Typed, wanted: Set[str | None] | None = None) -> TypedRows:
    """Return the rows of a batch with some of its columns; None for all of them."""
    columns = [each for each in columns_of(batch) if wanted is None or each.name in wanted]
    # PySpark looks columns up by their names, which it cannot do with all of them.
    values = [
        F.expr(_arrow_sql(column.dataType, quoted(column.name))).alias(f"{column.metadata.get(NANOSECONDS, 'c')}{at}")
        for at, column in enumerate(columns)
    ]
    whole = frozenset(path for column in columns for path in _variants(column.dataType, (column.name,)))
    placed = batch.frame.select(*values, *place_of(batch))
    return TypedRows(placed, tuple(column.name for column in columns), whole)


def text_rows(batch: Typed) -> TypedRows:
    """Return the texts of a batch for workers, and why a row is bad after them."""
    assert batch.task is not None
    names = tuple(field.name for field in batch.task.typing.fields)
    if batch.is_for_workers:
        return TypedRows(batch.frame, names, frozenset())
    texts = (f"c{at}" for at in range(len(names)))
    return TypedRows(batch.frame.select(*texts, FAULT, *place_of(batch)), names, frozenset())


def columns_of(batch: Typed) -> list[T.StructField]:
    """Return the columns of the data."""
    return [column for column in batch.frame.schema.fields if column.name != FILE]


def stated_types(batch: Typed) -> dict[Path, dict[str, Any]]:
    """Return dlt's column properties of every column by path."""
    return typed_columns(T.StructType(columns_of(batch)))


def count_by_block(batch: Typed) -> dict[tuple[str, int], int]:
    """Return how many rows each block of a file has, by file as people are shown it; no column is read."""
    rows = batch.frame.select(F.col(FILE).alias("file"), _block(batch).alias("block"))
    counts = rows.groupBy("file", "block").count().collect()
    return {(shown_path(row["file"]), row["block"]): row["count"] for row in counts}


def place_of(batch: Typed) -> tuple[Column, Column]:
    """Return the columns ``file`` and ``block`` (``kernel.partitions.read_rows``)."""
    return F.col(FILE).alias("file"), _block(batch).alias("block")


def _block(batch: Typed) -> Any:
    block = F.spark_partition_id() if batch.numbering is Numbering.PARTITION else F.col(batch.numbering)
    return block.cast("bigint")


def _arrow_sql(of: T.DataType, value: str, depth: int = 0) -> str:
    """Return SQL for values as workers know them: VARIANTs as JSON texts, types that dlt lacks as texts."""
    match of:
        case T.StructType():
            inner = [
                (each.name, _arrow_sql(each.dataType, f"{value}.{quoted(each.name)}", depth)) for each in of.fields
            ]
            if all(sql == f"{value}.{quoted(name)}" for name, sql in inner):
                return value
            made = ", ".join(f"{literal(name)}, {sql}" for name, sql in inner)
            return f"if({value} is null, null, named_struct({made}))"
        case T.ArrayType():
            sql = _arrow_sql(of.elementType, f"e{depth}", depth + 1)
            return value if sql == f"e{depth}" else f"transform({value}, e{depth} -> {sql})"
        case T.MapType():
            sql = _arrow_sql(of.valueType, f"v{depth}", depth + 1)
            return value if sql == f"v{depth}" else f"transform_values({value}, (k{depth}, v{depth}) -> {sql})"
        case T.VariantType():
            return f"to_json({value})"
        case _ if isinstance(of, _KNOWN):
            return value
        case _:
            return f"cast({value} as string)"


def _variants(of: T.DataType, path: Path) -> Iterator[Path]:
    match of:
        case T.StructType():
            for each in of.fields:
                yield from _variants(each.dataType, (*path, each.name))
        case T.ArrayType():
            yield from _variants(of.elementType, (*path, ELEMENT))
        case T.VariantType():
            yield path
