"""Converts the values of a catalog's columns: which of them survive another type, and what steps make of a table.

``coercion`` says what dlt makes of a value; here stands when something of it would be lost: digits, a time of day, the
meaning of a number. The rules are those of ``destinations._migration.conversion``, which says them in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StructField

from schemactl.destinations.spark.coercion import OF_DOUBLE, OF_TEXT, coerced
from schemactl.destinations.spark.python_coercion import by_python
from schemactl.destinations.spark.tables import Change, Filled
from schemactl.destinations.spark.types import DAY_SECONDS, MICROS, in_calendar, midnight, spark_type, stored_type
from schemactl.engine.sql import quoted
from schemactl.errors import DestinationError, InputError
from schemactl.migration.statements import new_column
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

Kind = types.DataType

_EXACT_INTEGERS: Final = 2**53
_NUMBERS: Final = (Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL, Kind.WEI)
_DECIMALS: Final = (Kind.DECIMAL, Kind.WEI)
_TINY: Final = "E-"
_BELOW_MICROSECONDS: Final = r"[.,][0-9]{6}[0-9]*[1-9]"


Copied = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn
"""Steps that a copy of their table can take."""

_OfColumn = DropColumn | RenameColumn | ChangeType | Backfill | FillColumn

_COMMENT: Final = "comment"
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
    filled = _value(new_column(step, frame.columns))
    return F.when(source.isNotNull() & filled.isNull(), source.cast(field.dataType)).otherwise(target)


def constant(value: Any, column: types.Column) -> Column:
    """Return plain JSON data as dlt would store it in a column.

    Raises:
        InputError: it is no value that a column can hold.
    """
    if not isinstance(value, str | int | float):
        raise InputError(f"{value!r} is no value for column `{column.name}`")
    kind = type_of(value)
    plain = F.lit(str(value) if kind is Kind.WEI else value)
    found = coerced(plain.cast("bigint") if kind is Kind.BIGINT else plain, kind, column)
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


def survivor(
    value: Column, before: types.Column, after: types.Column, *, counts_seconds: bool = False, is_strict: bool = True
) -> Column:
    """Return a stored value in the type of another column; null where it does not survive there.

    It needs a projection of its own level, as ``coerced`` does.

    Args:
        value: of the column as the table has it.
        before: that column.
        after: the column afterwards.
        counts_seconds: whether numbers are seconds since 1970.
        is_strict: whether a value that loses digits or its time of day does not survive.
    """
    kind = before.data_type
    if kind is None or after.data_type is None:
        return F.lit(None).cast(spark_type(after))
    own = _plain(value, kind)
    if kind is Kind.DECIMAL and after.data_type is Kind.TEXT:
        found = _decimal_text(own)
    else:
        found = coerced(own, kind, after, naive=before.properties.get("timezone") is False)
    keeps = _keeps(own, found, before, after, counts_seconds=counts_seconds, is_strict=is_strict)
    return found if keeps is None else F.when(keeps, found)


def _plain(value: Column, kind: Kind) -> Column:
    """Return a value of a column as ``coerced`` takes it."""
    match kind:
        case Kind.BIGINT | Kind.DOUBLE:
            return value.cast(str(kind))
        case Kind.WEI | Kind.TEXT | Kind.JSON:
            return value.cast("string")
        case _:
            return value


def _keeps(
    own: Column, found: Column, before: types.Column, after: types.Column, *, counts_seconds: bool, is_strict: bool
) -> Column | None:
    """Return whether nothing of a value that is coerced is lost; None where nothing can be."""
    kind = before.data_type
    match kind, after.data_type:
        case _, Kind.TEXT | Kind.BINARY:
            return _fits_length(own, found, kind, after)
        case ((Kind.BIGINT | Kind.DOUBLE), (Kind.TIMESTAMP | Kind.DATE)):
            is_whole = own % F.lit(DAY_SECONDS) == 0 if after.data_type is Kind.DATE else F.lit(True)
            return F.lit(counts_seconds) & is_whole
        case _, Kind.TIMESTAMP | Kind.DATE | Kind.TIME:
            return _keeps_moment(own, found, kind, after, is_strict=is_strict)
        case _, Kind.BOOL if kind in _NUMBERS:
            return own.cast("double").isin(0.0, 1.0)
        case _, Kind.DOUBLE:
            return _keeps_as_double(own, found, before)
        case Kind.TEXT, (Kind.DECIMAL | Kind.WEI):
            return _keeps_fraction(own, found, after)
        case Kind.DOUBLE, (Kind.DECIMAL | Kind.WEI) if is_strict:
            return found.cast("double") == own
        case _, Kind.DECIMAL | Kind.WEI if kind in _DECIMALS and is_strict:
            return _digits(found) == _digits(own)
        case _:
            return None


def _fits_length(own: Column, found: Column, kind: Kind | None, after: types.Column) -> Column | None:
    inside = None
    if kind is Kind.TIMESTAMP:
        inside = in_calendar(F.unix_micros(own)).isNotNull()
    elif kind is Kind.DATE:
        inside = _is_day(own)
    limit = after.properties.get("precision")
    if limit is None:
        return inside
    measure = F.length if after.data_type is Kind.TEXT else F.octet_length
    is_short = measure(found) <= int(limit)
    return is_short if inside is None else inside & is_short


def _is_day(date: Column) -> Column:
    return in_calendar(midnight(date)).isNotNull()


def _keeps_moment(
    own: Column, found: Column, kind: Kind | None, after: types.Column, *, is_strict: bool
) -> Column | None:
    match kind, after.data_type:
        case Kind.TIMESTAMP, Kind.DATE:
            micros = F.unix_micros(own)
            inside = in_calendar(micros).isNotNull()
            return inside & (micros % F.lit(DAY_SECONDS * MICROS) == 0) if is_strict else inside
        case Kind.DATE, Kind.TIMESTAMP:
            return _is_day(own)
        case Kind.TEXT, Kind.DATE:
            moment = OF_TEXT[Kind.TIMESTAMP](own)
            return moment.isNull() | (moment == midnight(found))
        case Kind.TEXT, _:
            return ~own.rlike(_BELOW_MICROSECONDS)
        case _:
            return None


def _keeps_as_double(own: Column, found: Column, before: types.Column) -> Column | None:
    match before.data_type:
        case Kind.BIGINT:
            return own.between(-_EXACT_INTEGERS, _EXACT_INTEGERS)
        case Kind.DECIMAL | Kind.WEI:
            exact = stored_type(before)
            digits = OF_DOUBLE[Kind.DECIMAL](found)
            return digits.try_cast(exact) == own.try_cast(exact)
        case Kind.TEXT:
            return ~((F.abs(found) == float("inf")) & own.rlike("[0-9]"))  # digits beyond all doubles
        case _:
            return None


def _keeps_fraction(text: Column, found: Column, after: types.Column) -> Column:
    """Return whether a text has no more digits after the point than a decimal column, zeros left out."""
    digits = OF_TEXT[Kind.DECIMAL](text)
    fraction = F.rtrim(F.regexp_extract(digits, r"\.([0-9]+)", 1), F.lit("0"))
    _, _, scale = stored_type(after).simpleString().rstrip(")").partition(",")
    # What is too small to be written out comes as 0.
    is_zero = (found == 0) & F.split(F.lower(text), "e").getItem(0).rlike("[1-9]")
    return (F.length(fraction) <= int(scale or 0)) & ~is_zero


def _digits(number: Column) -> Column:
    """Return the text of a decimal without zeros at its end: of equal numbers the same, whatever their scales."""
    text = number.cast("string")
    mantissa = F.substring_index(text, "E", 1)
    short = F.when(mantissa.contains("."), F.rtrim(F.rtrim(mantissa, F.lit("0")), F.lit("."))).otherwise(mantissa)
    return F.when(number.cast("double") == 0, "0").otherwise(F.concat(short, F.regexp_extract(text, "E.*", 0)))


def _decimal_text(number: Column) -> Column:
    """Return what Python makes of a decimal without the zeros that a column's scale pads it with."""
    digits = _digits(number)
    is_tiny = digits.contains(_TINY) | digits.rlike(r"^-?0\.000000[0-9]")
    rest = by_python(F.when(is_tiny, digits), Kind.DECIMAL, Kind.TEXT)
    return F.when(is_tiny, rest).otherwise(digits)
