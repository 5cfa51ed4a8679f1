"""Batches of records as Spark has them: frames of documents, and of rows whose columns have types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.arc.fields import TypingTask
from schemactl.arc.source_columns import check_column_type, match_columns, no_columns
from schemactl.engine.input import shown_path
from schemactl.engine.input_warnings import warn_of_cuts
from schemactl.engine.parts import TaskParts
from schemactl.engine.protocol import DocumentBatch, RowBatch, RowRecords, TextBatch
from schemactl.engine.spark.places import FILE, Numbering, block_column, place_columns, place_of
from schemactl.engine.spark.shipping import parts_frame
from schemactl.engine.spark.sql import literal, quoted
from schemactl.engine.spark.types import NANOSECONDS, column_properties
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.partitions import Gaps
from schemactl.schema.paths import ELEMENT, Path

FAULT: Final = "__schemactl_fault"
"""The column of ``Texts.frame`` with the reason why a row is bad, null for a good row."""

_PASSED_TYPES: Final = (
    T.StringType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType,
    T.DecimalType, T.BinaryType, T.DateType, T.TimeType, T.TimestampType, T.TimestampNTZType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows of texts as they come out of a reader of files.

    Attributes:
        texts: SQL of each column's texts, nulls in the place of texts that mean null.
        cells: the columns that are taken of a row, by key, in order.
        fault: why a row is bad, in words that are not JSON; null for a good one. None if all are good.
    """

    frame: DataFrame
    texts: Mapping[str, str]
    cells: Mapping[str, str]
    fault: Column | None = None


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of texts that workers read of files by themselves; all parts of ``tasks`` are of one layout."""

    tasks: tuple[TaskParts, ...]
    layout: CsvLayout

    def with_layout(self, layout: CsvLayout) -> FileRows:
        return FileRows(tuple(task.with_layout(layout) for task in self.tasks), layout)


@dataclass(frozen=True, slots=True)
class Documents(DocumentBatch):
    """JSON documents.

    Attributes:
        frame: columns ``file`` (string: Spark's address of it), ``block`` (bigint: the offset in the file at which the
            reading task began), ``text`` (string: one JSON document, or blank), in the order of the file; or shares or
            pieces for workers to read (``kernel.files``).
        rows: the same records as columns of strings, if they were made from columns.
        is_for_workers: whether the frame contains shares or pieces of ``kernel.files``.
        is_small: whether this process handles the records, without Python workers.
    """

    frame: DataFrame
    rows: TextRows | FileRows | None = None
    gaps: Gaps | None = None
    is_for_workers: bool = False
    is_small: bool = False

    @property
    def has_columns(self) -> bool:
        return self.rows is not None

    def csv_layout(self) -> CsvLayout | None:
        return self.rows.layout if isinstance(self.rows, FileRows) else None

    def records(self) -> Any:
        frame = self.frame
        if not self.is_for_workers:
            frame = frame.selectExpr("file", "block", "cast(text as binary) as text")
        return frame.toArrow().to_batches() if self.is_small else frame

    def typed_by(self, task: TypingTask) -> Texts:
        match self.rows:
            case None:
                raise no_columns()
            case FileRows(tasks=tasks, layout=layout):
                cells = dict(zip(layout.names, map(str, range(len(layout.names))), strict=True))
                columns = match_columns(task.typing.fields, cells)
                for field in task.typing.fields:
                    check_column_type(field, None)
                rows = FileRows(tasks, layout).with_layout(replace(layout, taken=tuple(map(int, columns))))
                frame = parts_frame(self.frame.sparkSession, rows.tasks)
                return Texts(frame, Numbering.BLOCK, task, self.gaps, is_for_workers=True)
            case TextRows(frame=frame, texts=texts, cells=cells, fault=fault):
                file = place_columns(frame)[0]
                described = fault if fault is not None else F.lit(None)
                return _texts(frame, cells, texts, described, file, Texts(frame, Numbering.BLOCK, task, self.gaps))


@dataclass(frozen=True, slots=True)
class ColumnarRows(RowBatch):
    """Rows whose columns have declared types.

    Attributes:
        frame: the columns, and ``file`` under the name in ``FILE``.
        numbering: the numbering that is possible for the rows.
    """

    frame: DataFrame
    numbering: Numbering
    nulls: Mapping[Path, bool] = field(default_factory=dict)

    def column_types(self) -> dict[Path, dict[str, Any]]:
        return column_properties(T.StructType(self._columns()))

    def count_by_block(self) -> dict[tuple[str, int], int]:
        rows = self.frame.select(F.col(FILE).alias("file"), block_column(self.numbering).alias("block"))
        counts = rows.groupBy("file", "block").count().collect()
        return {(shown_path(row["file"]), row["block"]): row["count"] for row in counts}

    def rows(self, keys: Set[str | None] | None = None) -> RowRecords:
        columns = [column for column in self._columns() if keys is None or column.name in keys]
        # PySpark looks columns up by their names, which it cannot do with all of them.
        values = [
            F.expr(_arrow_sql(column.dataType, quoted(column.name))).alias(
                f"{column.metadata.get(NANOSECONDS, 'c')}{number}"
            )
            for number, column in enumerate(columns)
        ]
        json_paths = frozenset(path for column in columns for path in _variants(column.dataType, (column.name,)))
        frame = self.frame.select(*values, *place_of(self.numbering))
        return RowRecords(frame, tuple(column.name for column in columns), json_paths)

    def typed_by(self, task: TypingTask) -> Texts:
        cells = {name: name for name in self.frame.columns if name != FILE}
        texts = {name: quoted(name) for name in cells}
        return _texts(self.frame, cells, texts, F.lit(None), F.col(FILE), Texts(self.frame, self.numbering, task))

    def warn_of_nanoseconds(self) -> None:
        names = [field.name for field in self.frame.schema.fields if NANOSECONDS in field.metadata]
        counts = count_values(self.frame, {name: F.count_if(F.col(quoted(name)) % 1000 != 0) for name in names})
        warn_of_cuts(counts, "columns without `precision: 9` cut timestamps with nanoseconds to microseconds")

    def _columns(self) -> list[T.StructField]:
        return [column for column in self.frame.schema.fields if column.name != FILE]


@dataclass(frozen=True, slots=True)
class Texts(TextBatch):
    """Columns that a typing is about, in its order.

    Attributes:
        frame: the columns, named ``c0``, ``c1`` and so on, ``FAULT`` and ``FILE``; or shares, which have these columns
            (``Documents.is_for_workers``).
        numbering: as in ``ColumnarRows``.
        task: how texts are typed.
        gaps, is_for_workers: as in ``Documents``.
    """

    frame: DataFrame
    numbering: Numbering
    task: TypingTask
    gaps: Gaps | None = None
    is_for_workers: bool = False

    def texts(self) -> RowRecords:
        names = tuple(field.name for field in self.task.typing.fields)
        if self.is_for_workers:
            return RowRecords(self.frame, names)
        columns = (f"c{number}" for number in range(len(names)))
        return RowRecords(self.frame.select(*columns, FAULT, *place_of(self.numbering)), names)


Batch: TypeAlias = "Documents | ColumnarRows"


def count_values(frame: DataFrame, counted: Mapping[str, Column]) -> dict[str, int]:
    """Return the counts that are not 0, by name."""
    counts = frame.agg(*counted.values()).first() if counted else None
    return {} if counts is None else {name: count for name, count in zip(counted, counts, strict=True) if count}


def _texts(
    frame: DataFrame, cells: Mapping[str, str], texts: Mapping[str, str], fault: Column, file: Column, batch: Texts
) -> Texts:
    """Return a batch with the texts of a frame's columns that its typing is about."""
    fields = batch.task.typing.fields
    columns = match_columns(fields, cells)
    types = {field.name: field.dataType for field in frame.schema.fields}
    for typing_field, column in zip(fields, columns, strict=True):
        is_text = isinstance(types[column], T.StringType | T.NullType)
        check_column_type(typing_field, None if is_text else types[column].simpleString())
    selected = [
        F.expr(f"cast({texts[column]} as string)" if isinstance(types[column], T.NullType) else texts[column]).alias(
            f"c{number}"
        )
        for number, column in enumerate(columns)
    ]
    return replace(batch, frame=frame.select(*selected, fault.cast("string").alias(FAULT), file.alias(FILE)))


def _arrow_sql(of: T.DataType, value: str, depth: int = 0) -> str:
    """Return SQL for values as workers know them: VARIANTs as JSON texts, types that dlt lacks as texts."""
    match of:
        case T.StructType():
            inner = [
                (field.name, _arrow_sql(field.dataType, f"{value}.{quoted(field.name)}", depth)) for field in of.fields
            ]
            if all(sql == f"{value}.{quoted(name)}" for name, sql in inner):
                return value
            members = ", ".join(f"{literal(name)}, {sql}" for name, sql in inner)
            return f"if({value} is null, null, named_struct({members}))"
        case T.ArrayType():
            sql = _arrow_sql(of.elementType, f"e{depth}", depth + 1)
            return value if sql == f"e{depth}" else f"transform({value}, e{depth} -> {sql})"
        case T.MapType():
            sql = _arrow_sql(of.valueType, f"v{depth}", depth + 1)
            return value if sql == f"v{depth}" else f"transform_values({value}, (k{depth}, v{depth}) -> {sql})"
        case T.VariantType():
            return f"to_json({value})"
        case _ if isinstance(of, _PASSED_TYPES):
            return value
        case _:
            return f"cast({value} as string)"


def _variants(of: T.DataType, path: Path) -> Iterator[Path]:
    match of:
        case T.StructType():
            for field in of.fields:
                yield from _variants(field.dataType, (*path, field.name))
        case T.ArrayType():
            yield from _variants(of.elementType, (*path, ELEMENT))
        case T.VariantType():
            yield path
