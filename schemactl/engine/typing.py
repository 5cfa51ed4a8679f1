"""Sources of texts that are typed: which columns a typing is about, and what a first look at their texts finds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.input_formats import FAULT, FILE, Batch, Documents, FileRows, Numbering, Typed
from schemactl.engine.reading.files import shares_frame
from schemactl.engine.reading.texts import place_columns
from schemactl.engine.sql import quoted
from schemactl.errors import CommandWarning, InputError, did_you_mean
from schemactl.examples import shown_error
from schemactl.inference.report import TypingFinding
from schemactl.kernel.outcome import FieldErrors
from schemactl.kernel.partitions import Gaps
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.typing.model import (
    ERRORS,
    Array,
    Field,
    OnError,
    Struct,
    TypingTask,
    column_type,
    spark_type,
    type_name,
)


def typed_by(spark: SparkSession, batches: Sequence[Batch], task: TypingTask) -> list[Typed]:
    """Return sources with the columns that a typing is about, in its order.

    Columns are found by their names; where no name is one of the typing's, by their places, as Arc does it.

    Raises:
        InputError: a source has no columns of texts, or other ones than the typing.
    """
    return [_typed(spark, batch, task) for batch in batches]


def _typed(spark: SparkSession, batch: Batch, task: TypingTask) -> Typed:
    if isinstance(batch, Documents):
        if batch.rows is None:
            hint = "`--typing` takes CSV, TSV, XML, and text columns of Parquet, ORC, Avro and tables"
            raise InputError("documents have no columns that could be typed", hint=hint)
        if isinstance(batch.rows, FileRows):
            return _typed_files(spark, batch.rows, batch.gaps, task)
        frame, cells, sql = batch.rows.frame, batch.rows.cells, batch.rows.texts
        file: Column = place_columns(frame)[0]
        fault = batch.rows.fault if batch.rows.fault is not None else F.lit(None)
        numbering, gaps = Numbering.BLOCK, batch.gaps
    else:
        frame, numbering, gaps, file, fault = batch.frame, batch.numbering, batch.gaps, F.col(FILE), F.lit(None)
        cells = {name: name for name in frame.columns if name != FILE}
        sql = {name: quoted(name) for name in cells}
    fields = task.typing.fields
    columns = _columns_of(fields, cells)
    types = {field.name: field.dataType for field in frame.schema.fields}
    for field, column in zip(fields, columns, strict=True):
        _check_type(field, types[column])
    texts = [F.expr(_text_sql(sql[column], types[column])).alias(f"c{at}") for at, column in enumerate(columns)]
    return Typed(frame.select(*texts, fault.cast("string").alias(FAULT), file.alias(FILE)), numbering, task, gaps)


def _typed_files(spark: SparkSession, rows: FileRows, gaps: Gaps | None, task: TypingTask) -> Typed:
    names = rows.layout.names
    columns = _columns_of(task.typing.fields, dict(zip(names, map(str, range(len(names))), strict=True)))
    for field in task.typing.fields:
        _check_type(field, T.StringType())
    layout = replace(rows.layout, taken=tuple(map(int, columns)))
    frame = shares_frame(spark, rows.with_layout(layout).shares)
    return Typed(frame, Numbering.BLOCK, task, gaps, is_for_workers=True)


def _columns_of(fields: Sequence[Field], cells: Mapping[str, str]) -> list[str]:
    """Return the columns of the frame for each field."""
    names = [field.name for field in fields]
    if not names:
        raise InputError("the typing has no fields", hint="a typing states a field for each column of the source")
    if set(names) == cells.keys():
        return [cells[name] for name in names]
    if len(names) == len(cells) and not set(names) & cells.keys():
        pairs = ", ".join(f"`{cell}` as `{name}`" for cell, name in zip(cells, names, strict=True))
        message = f"no column has the name of a field: columns are taken by their places, {pairs}"
        warnings.warn(CommandWarning(message), stacklevel=2)
        return list(cells.values())
    missing = [name for name in names if name not in cells]
    extra = [name for name in cells if name not in names]
    described = [f"the source lacks {_listed(missing)}"] if missing else []
    described += [f"the typing has no field for {_listed(extra)}"] if extra else []
    hint = did_you_mean(missing[0], extra) if missing else "add a field for it"
    counts = f"the typing has {len(names)} fields and the data {len(cells)} columns"
    raise InputError(f"{counts}: {'; '.join(described)}", hint=hint)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _check_type(field: Field, of: T.DataType) -> None:
    if isinstance(of, T.StringType | T.NullType) and not isinstance(field.type, Struct | Array):
        return
    if of.simpleString() != spark_type(field.type):
        described = f"`{of.simpleString()}`, and no text that could become `{type_name(field.type)}`"
        hint = "texts are typed; a column that has the field's type already is taken as it is"
        raise InputError(f"the column `{field.name}` is {described}", hint=hint)


def _text_sql(sql: str, of: T.DataType) -> str:
    return f"cast({sql} as string)" if isinstance(of, T.NullType) else sql


def findings_of(
    task: TypingTask, errors: Mapping[tuple[str, str], FieldErrors], converted: Mapping[str, int]
) -> tuple[TypingFinding, ...]:
    """Return the errors of each field, in the order of the typing.

    A field all of whose texts are errors stops the command, unless the call says what becomes of errors.
    """
    return tuple(
        TypingFinding(
            column=field.name,
            count=found.count,
            first=found.first,
            message=shown_error(found.message),
            mode=str(OnError.FAIL if task.is_default and not converted[field.name] else task.on_error),
            nullable=field.nullable,
            converted=converted[field.name],
        )
        for field in task.typing.fields
        if (found := errors.get((field.name, ""))) is not None
    )


def types_of(task: TypingTask) -> dict[Path, dict[str, Any]]:
    """Return the properties of the columns that texts become, by path."""
    typed: dict[Path, dict[str, Any]] = {(field.name,): column_type(field.type) for field in task.typing.fields}
    if task.on_error is OnError.COLUMN:
        typed |= {(ERRORS, ELEMENT, name): {"data_type": "text"} for name in ("field", "message")}
    return typed
