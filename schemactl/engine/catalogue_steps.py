"""What the steps of a migration make of a table's columns, and which of its values stand in their way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StructField

from schemactl.engine.catalogue import Change, Filled
from schemactl.engine.coercion import coerced
from schemactl.engine.retype import spark_type, survivor
from schemactl.engine.sql import quoted
from schemactl.errors import DestinationError, InputError
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    DropColumn,
    FillColumn,
    RenameColumn,
    SetNotNull,
    Step,
    Taken,
    table_of,
)
from schemactl.schema import types
from schemactl.schema.coercion import type_of
from schemactl.schema.conversions import Conversion

Copied = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn
"""Steps that a copy of their table can take."""

_OfColumn = DropColumn | RenameColumn | ChangeType | Backfill | FillColumn

_COMMENT: Final = "comment"
_NEW_COLUMN: Final = "__new_"
_SHOWN_CHARACTERS: Final = 200
_DRAWS: Final = 1_000_000


def changes_of(steps: Sequence[Step]) -> list[Change]:
    """Return what one copy of a table makes of its columns, step by step.

    Raises:
        DestinationError: no copy does such a step.
    """
    if other := next((step for step in steps if not isinstance(step, Copied)), None):
        raise DestinationError(f"a copy of `{table_of(other)}` does no `{type(other).__name__}`")
    return [partial(copied_columns, step) for step in steps if isinstance(step, Copied)]


def copied_columns(step: Copied, frame: DataFrame, fields: Sequence[StructField]) -> tuple[Filled, ...]:
    """Return the columns of a table's copy after a step.

    Args:
        step: what is done.
        frame: the rows.
        fields: what the table says of their columns.

    Raises:
        DestinationError: the table lacks the column that the step is about, or has one that it adds.
        InputError: a value cannot be written.
    """
    if isinstance(step, AddColumn):
        return _widened(step, frame, fields)
    name = _about(step)
    if not any(_is(field, name) for field in fields):
        raise DestinationError(f"there is no column `{table_of(step)}.{name}`")
    return tuple(_copied(step, frame, fields, name))


def _widened(step: AddColumn, frame: DataFrame, fields: Sequence[StructField]) -> tuple[Filled, ...]:
    name = step.column.name
    if any(_is(field, name) for field in fields):
        raise DestinationError(f"there is a column `{step.table}.{name}` already")
    null = F.lit(None).cast(spark_type(step.column))
    held = [Filled(field, _value(field.name)) for field in fields]
    return (*held, Filled(StructField(name, _kind(frame, null)), null))


def _about(step: _OfColumn) -> str:
    match step:
        case RenameColumn() | ChangeType():
            return step.before if isinstance(step, RenameColumn) else step.before.name
        case Backfill():
            return step.target.name
        case _:
            return step.column.name


def _copied(step: _OfColumn, frame: DataFrame, fields: Sequence[StructField], name: str) -> Iterator[Filled]:
    for field in fields:
        value = _value(field.name)
        if not _is(field, name):
            yield Filled(field, value)
            continue
        match step:
            case DropColumn():
                continue
            case RenameColumn():
                yield Filled(StructField(step.after, field.dataType, field.nullable, field.metadata), value)
            case ChangeType():
                yield _converted(step, frame, field)
            case Backfill():
                yield Filled(field, _backfilled(step, frame, field))
            case FillColumn():
                yield Filled(field, F.coalesce(value, constant(step.value, step.column)))


def _is(field: StructField, name: str) -> bool:
    return bool(field.name.casefold() == name.casefold())


def _value(name: str) -> Column:
    return F.col(quoted(name))


def _converted(step: ChangeType, frame: DataFrame, field: StructField) -> Filled:
    value = _value(field.name)
    found = _survivor(step, value)
    kind = _kind(frame, found)
    comment = {_COMMENT: field.metadata[_COMMENT]} if _COMMENT in field.metadata else {}
    refusal = f"a value of `{step.table}.{field.name}` does not survive as {spark_type(step.after)}"
    return Filled(StructField(step.after.name, kind, field.nullable, comment), found, value, refusal)


def _kind(frame: DataFrame, value: Column) -> DataType:
    return frame.select(value.alias("value")).schema.fields[0].dataType


def _survivor(step: ChangeType | Backfill, value: Column) -> Column:
    before, after = (step.before, step.after) if isinstance(step, ChangeType) else (step.source, step.target)
    is_strict = step.conversion is not Conversion.WHOLE
    return survivor(value, before, after, counts_seconds=step.counts_seconds, is_strict=is_strict)


def _backfilled(step: Backfill, frame: DataFrame, field: StructField) -> Column:
    source, target = _value(step.source.name), _value(field.name)
    if step.taken is Taken.FITTING:
        return F.when(source.isNotNull(), _survivor(step, source)).otherwise(target)
    filled = _value(filled_from(step.source.name, frame.columns, step.table))
    return F.when(source.isNotNull() & filled.isNull(), source.cast(field.dataType)).otherwise(target)


def filled_from(source: str, columns: Sequence[str], table: str) -> str:
    """Return the column that took the values which fit: the last one that was made for the source."""
    for name in reversed(columns):
        start, mark, number = name.rpartition(_NEW_COLUMN)
        if mark and number.isdecimal() and source.casefold().startswith(start.casefold()):
            return name
    raise InputError(f"nothing says into which column `{table}.{source}` is converted")


def constant(value: Any, column: types.Column) -> Column:
    """Return plain JSON data as dlt would store it in a column.

    Raises:
        InputError: it is no value that a column can hold.
    """
    if not isinstance(value, str | int | float):
        raise InputError(f"{value!r} is no value for column `{column.name}`")
    kind = type_of(value)
    plain = F.lit(str(value) if kind is types.DataType.WEI else value)
    found = coerced(plain.cast("bigint") if kind is types.DataType.BIGINT else plain, kind, column)
    refused = F.raise_error(F.lit(f"{value!r} is no value for column `{column.name}`"))
    return F.coalesce(found, refused.cast(spark_type(column)))


@dataclass(frozen=True, slots=True)
class Counted:
    """How many values stand in a step's way.

    Attributes:
        count: of them.
        rows: of the table.
        examples: the row's key, the value as Spark writes it, cut, and what an undo makes of it, where that is asked.
    """

    count: int
    rows: int
    examples: tuple[tuple[str | None, str | None, str | None], ...]


def count_unfit(step: Step, frame: DataFrame, column: str | None, key: str | None, most: int) -> Counted | None:
    """Count what stands in a step's way by one query; where there is something, another one fetches examples.

    Args:
        step: what is to be done.
        frame: the table's rows.
        column: the name of the step's column now, where it is another one than the step finds.
        key: the column that identifies the rows; None where none does.
        most: examples.

    Returns:
        None where no data can stand in the step's way.
    """
    match step:
        case ChangeType():
            value = _value(column or step.before.name)
            is_bad = value.isNotNull() & _survivor(step, value).isNull()
        case Backfill(taken=Taken.FITTING):
            value = _value(column or step.source.name)
            is_bad = value.isNotNull() & _survivor(step, value).isNull()
        case SetNotNull():
            value = _value(column or step.column.name)
            is_bad = value.isNull()
        case AddUnique():
            value = _value(column or step.column)
            is_bad = value.isNotNull() & (F.count("*").over(Window.partitionBy(value)) > 1)
        case _:
            return None
    return _counted(frame, value, is_bad, key, most)


def count_not_undone(step: ChangeType, frame: DataFrame, column: str | None, key: str | None, most: int) -> Counted:
    """Count the texts that an undo of a step does not bring back as they are; arguments as in ``count_unfit``."""
    value = _value(column or step.before.name)
    made = _survivor(step, value)
    again = _survivor(replace(step, before=step.after, after=step.before, conversion=Conversion.WHOLE), made)
    return _counted(frame, value, made.isNotNull() & ~again.eqNullSafe(value), key, most, again)


def _counted(
    frame: DataFrame, value: Column, is_bad: Column, key: str | None, most: int, again: Column | None = None
) -> Counted:
    shown = F.hex(value) if isinstance(_kind(frame, value), BinaryType) else value.cast("string")
    row_key = _value(key).cast("string") if key else F.lit(None).cast("string")
    becomes = F.lit(None).cast("string") if again is None else again.cast("string")
    cut, becomes = (F.substring(each, 1, _SHOWN_CHARACTERS) for each in (shown, becomes))
    looked = frame.select(cut.alias("shown"), row_key.alias("key"), is_bad.alias("is_bad"), becomes.alias("becomes"))
    total = looked.agg(F.count("*").alias("rows"), F.count_if("is_bad").alias("bad")).collect()[0]
    rows = looked.where("is_bad").limit(most).collect() if total.bad else []
    return Counted(total.bad, total.rows, tuple((row.key, row.shown, row.becomes) for row in rows))


def sampled(frame: DataFrame, share: float, key: str | None) -> DataFrame:
    """Return about a share of a table's rows, the same ones each time: Spark's own sample goes by the files' order.

    Args:
        frame: the table's rows.
        share: of the rows, from 0 to 1; 1 for all.
        key: the column that identifies the rows; None where none does.
    """
    if share >= 1:
        return frame
    parts = [key] if key else frame.columns
    draw = F.pmod(F.xxhash64(*(_value(name) for name in parts)), F.lit(_DRAWS))
    return frame.where(draw < round(share * _DRAWS))
