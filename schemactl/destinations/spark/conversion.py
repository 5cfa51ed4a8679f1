"""Converts the values of a catalog's columns: which of them survive another type, and their values after steps.

See ``destinations._migration.conversion`` for the rule; this module has Spark's own casts that equal dlt's coercion,
and Spark's calls of the coercion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

import schemactl
from schemactl.destinations._migration.conversion import convert_text
from schemactl.destinations._migration.unfit import SHOWN_CHARACTERS
from schemactl.destinations.spark.address import NAMES
from schemactl.destinations.spark.statements import engine_of
from schemactl.destinations.spark.tables import Change, Filled
from schemactl.destinations.spark.types import spark_type, stored_type
from schemactl.engine.spark.sql import quoted
from schemactl.errors import DestinationError
from schemactl.migration.records import MOST_EXAMPLES, Example, Fill, ParentLink, Unfit
from schemactl.migration.statements import Retype, new_column, retype_of
from schemactl.migration.statements import constant as stored_constant
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    DropColumn,
    FillColumn,
    FoldVariant,
    RenameColumn,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.schema import types
from schemactl.schema.conversions import CONVERSIONS, Conversion
from schemactl.schema.nested_types import structure_in
from schemactl.schema.structure import DATABASE_TYPE

Kind = types.DataType

_EXACT_INTEGERS: Final = 2**53
_EXACT_DIGITS: Final = 15
_MICROS: Final = 1_000_000
_DAY_MICROS: Final = 86_400 * _MICROS
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_FIRST_DAY: Final = -719_162
_LAST_DAY: Final = 2_932_896
"""Python's calendar, the years 1 to 9999; Spark's goes further."""
_EPOCH: Final = "1970-01-01 00:00:00"
_BELOW_MICROSECONDS: Final = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
_MADE: Final = "_schemactl_made"

Copied = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn
"""Steps that a copy of their table can take."""

_OfColumn = DropColumn | RenameColumn | ChangeType | Backfill | FillColumn

_ROW_KEY: Final = "_dlt_id"
_DRAWS: Final = 1_000_000


def changes_of(steps: Sequence[Step]) -> list[Change]:
    """Return the columns of a table after one copy; ``DestinationError`` if no copy does a step."""
    if other := next((step for step in steps if not isinstance(step, Copied)), None):
        raise DestinationError(f"a copy of `{other.table_name}` cannot do this: {other.kind}")
    return [partial(copied_columns, step) for step in steps if isinstance(step, Copied)]


def copied_columns(step: Copied, frame: DataFrame, fields: Sequence[T.StructField]) -> tuple[Filled, ...]:
    """Return the columns of a table's copy after a step; ``fields`` are the table's declared columns."""
    if isinstance(step, AddColumn):
        name = step.column.name
        if any(_is(field, name) for field in fields):
            raise DestinationError(f"`{step.table}` already has a column `{name}`")
        null = F.lit(None).cast(spark_type(step.column))
        columns = [Filled(field, _value(field.name)) for field in fields]
        return (*columns, Filled(T.StructField(name, _kind(frame, null)), null))
    match step:
        case RenameColumn():
            name = step.before
        case ChangeType():
            name = step.before.name
        case Backfill():
            name = step.target.name
        case _:
            name = step.column.name
    if not any(_is(field, name) for field in fields):
        raise DestinationError(f"there is no column `{step.table_name}.{name}`")
    columns_after = (
        _after(step, frame, field) if _is(field, name) else Filled(field, _value(field.name)) for field in fields
    )
    return tuple(column for column in columns_after if column is not None)


def _after(step: _OfColumn, frame: DataFrame, field: T.StructField) -> Filled | None:
    """Return the column that a step is about, None if it goes."""
    value = _value(field.name)
    match step:
        case DropColumn():
            return None
        case RenameColumn():
            return Filled(T.StructField(step.after, field.dataType, field.nullable, field.metadata), value)
        case ChangeType():
            converted = survivor(value, retype_of(step))
            comment = {key: text for key, text in field.metadata.items() if key == "comment"}
            new_field = T.StructField(step.after.name, _kind(frame, converted), field.nullable, comment)
            blocker = f"a value of `{step.table}.{field.name}` does not survive as {spark_type(step.after)}"
            return Filled(new_field, converted, value, blocker)
        case Backfill():
            source = _value(step.source.name)
            if step.taken is Taken.NONE:
                return Filled(field, F.when(source.isNull(), value))
            if step.taken is Taken.FITTING:
                is_open = source.isNotNull() & (value.isNull() if isinstance(step, FoldVariant) else F.lit(True))
                return Filled(field, F.when(is_open, survivor(source, retype_of(step))).otherwise(value))
            filled = _value(new_column(step, frame.columns))
            is_taken = F.when(source.isNotNull() & filled.isNull(), source.cast(field.dataType))
            return Filled(field, is_taken.otherwise(value))
        case FillColumn():
            constant = stored_constant(step.value, step.column, engine_of("any.any"))
            refusal = F.raise_error(F.lit(f"{step.value!r} is not a value for column `{step.column.name}`"))
            return Filled(field, F.coalesce(value, F.expr(constant), refusal.cast(spark_type(step.column))))


def _is(field: T.StructField, name: str) -> bool:
    return NAMES.fold(field.name) == NAMES.fold(name)


def _value(name: str) -> Column:
    return F.col(quoted(name))


def _kind(frame: DataFrame, value: Column) -> T.DataType:
    return frame.select(value.alias("value")).schema.fields[0].dataType


def count_unfit(step: Step, frame: DataFrame, share: float, unless_filled: Sequence[str] = ()) -> Unfit:
    """Count the values that block a step by one query; if the count is not zero, a second query fetches examples."""
    for column in unless_filled:
        frame = frame.where(_value(column).isNull())
    match step:
        case ChangeType() | Backfill(taken=Taken.FITTING):
            value = _value(retype_of(step).before.name)
            is_bad = value.isNotNull() & survivor(value, retype_of(step)).isNull()
        case SetNotNull():
            value = _value(step.column.name)
            is_bad = value.isNull()
        case AddUnique():
            value = _value(step.column)
            is_bad = value.isNotNull() & (F.count("*").over(Window.partitionBy(value)) > 1)
        case _:
            return Unfit()
    return _counted(_sampled(frame, share), value, is_bad)


def count_fills(frame: DataFrame, columns: Sequence[str], load_column: str | None) -> tuple[Fill, ...]:
    """Return how many rows hold a value in each of some columns; see ``MigrationSession.fills``."""
    load = F.lit(None).cast("string") if load_column is None else _value(load_column).cast("string")
    figures = [F.count(F.lit(1))]
    for name in columns:
        figures += (F.count(_value(name)), F.min(F.when(_value(name).isNotNull(), load)))
    rows, *counts = frame.agg(*figures).collect()[0]
    return tuple(Fill(values, rows, first) for values, first in zip(counts[::2], counts[1::2], strict=True))


def find_first_load(
    table: str, column: str, links: Sequence[ParentLink], load_column: str, read: Callable[[str], DataFrame]
) -> str | None:
    """Return the first load that wrote a value into a nested table; see ``MigrationSession.first_load``."""
    frame = read(table).filter(_value(column).isNotNull())
    for link in links:
        keys = frame.select(_value(link.column).alias(_KEY_OF_PARENT)).distinct()
        frame = read(link.parent).join(keys, _value(link.key) == F.col(_KEY_OF_PARENT), "left_semi")
    first: str | None = frame.agg(F.min(_value(load_column).cast("string"))).collect()[0][0]
    return first


_KEY_OF_PARENT: Final = "_schemactl_parent_key"


def count_overlaps(step: FoldVariant, frame: DataFrame) -> Unfit:
    """Count the rows that hold values in both columns of a step."""
    source, target = _value(step.source.name), _value(step.target.name)
    return _counted(frame, source, source.isNotNull() & target.isNotNull())


def count_not_undone(step: ChangeType, frame: DataFrame) -> Unfit:
    """Count the texts that an undo of a step changes; arguments as in ``count_unfit``."""
    name = step.before.name
    frame = frame.withColumn(_MADE, survivor(_value(name), retype_of(step)))  # in a separate projection
    undone = survivor(_value(_MADE), Retype(step.after, step.before, is_strict=False))
    is_other = _value(_MADE).isNotNull() & ~undone.eqNullSafe(_value(name))
    return _counted(frame, _value(name), is_other, undone)


def _counted(frame: DataFrame, value: Column, is_bad: Column, undone: Column | None = None) -> Unfit:
    """Return how many values block the step; with ``undone``, the examples show the values after an undo."""
    null = F.lit(None)
    texts = {
        "shown": F.hex(value) if isinstance(_kind(frame, value), T.BinaryType) else value.cast("string"),
        "becomes": (null if undone is None else undone).cast("string"),
    }
    row_key = (_value(_ROW_KEY) if _ROW_KEY in frame.columns else null).cast("string")
    cut = (F.substring(text, 1, SHOWN_CHARACTERS).alias(name) for name, text in texts.items())
    rows_to_count = frame.select(*cut, row_key.alias("key"), is_bad.alias("is_bad"))
    total = rows_to_count.agg(F.count("*").alias("rows"), F.count_if("is_bad").alias("bad")).collect()[0]
    rows = rows_to_count.where("is_bad").limit(MOST_EXAMPLES).collect() if total.bad else []
    examples = (Example({_ROW_KEY: row.key} if row.key is not None else {}, row.shown, row.becomes) for row in rows)
    return Unfit(total.bad, total.rows, tuple(examples))


def _sampled(frame: DataFrame, share: float) -> DataFrame:
    """Return about a share of a table's rows, the same rows each time: Spark's sample depends on the files' order."""
    if share >= 1:
        return frame
    parts = [_ROW_KEY] if _ROW_KEY in frame.columns else frame.columns
    draw = F.pmod(F.xxhash64(*(_value(name) for name in parts)), F.lit(_DRAWS))
    return frame.where(draw < round(share * _DRAWS))


def survivor(value: Column, retype: Retype) -> Column:
    """Return a stored value in the type of another column; null if it does not survive.

    Spark casts by itself if its text of the result is the value again, or nothing can be lost; all other values go
    through ``coerce_value``. It needs a separate projection (no lambda), as it may call Python. Times of day need
    Spark's setting ``spark.sql.timeType.enabled``.
    """
    kind = spark_type(retype.after)
    before, after = retype.before.data_type, retype.after.data_type
    if after is Kind.JSON and structure_in(retype.before.properties.get(DATABASE_TYPE, "")):
        return F.to_json(value, {"ignoreNullFields": "false"})
    if before is None or after is None or CONVERSIONS.get((before, after)) is Conversion.REFUSED:
        return F.lit(None).cast(kind)
    retype = replace(retype, after=_as_stored(retype.after))
    text = _text(value, retype.before)
    sure_cast = _own_cast(value, retype, kind)
    if sure_cast is None:
        return _of_text(by_python(retype)(text), retype.after, kind)
    is_sure, cast = sure_cast
    limit = retype.after.properties.get("precision")
    if limit is not None and after in (Kind.TEXT, Kind.BINARY):
        measure = F.length if after is Kind.TEXT else F.octet_length
        is_sure = is_sure & (measure(cast) <= int(limit))
    is_sure = F.coalesce(is_sure, F.lit(False))
    coerced_text = by_python(retype)(F.when(~is_sure, text))
    return F.when(is_sure, cast).otherwise(_of_text(coerced_text, retype.after, kind))


def _as_stored(column: types.Column) -> types.Column:
    """Return a column with the sizes that Spark's type has: it rounds no timestamps, and has integers of four sizes."""
    properties = {key: value for key, value in column.properties.items() if key != "scale"}
    match stored_type(column):
        case T.DecimalType() as of:
            properties |= {"precision": of.precision, "scale": of.scale}
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType() as of:
            properties["precision"] = {"tinyint": 8, "smallint": 16, "int": 32}.get(of.simpleString(), 64)
        case T.StringType() | T.BinaryType():
            pass
        case _:
            properties.pop("precision", None)
    return replace(column, properties=properties)


def _text(value: Column, column: types.Column) -> Column:
    """Return a value as ``read_value`` reads it."""
    match column.data_type:
        case Kind.BINARY:
            return F.hex(value)
        case Kind.DOUBLE:  # a FLOAT has less digits
            return value.cast("double").cast("string")
        case Kind.TIMESTAMP:
            naive = _timestamp(F.unix_micros(value), is_naive=True).cast("string")
            return naive if column.is_naive else F.concat(naive, F.lit("+00:00"))
        case _:
            return value.cast("string")


def _of_text(text: Column, column: types.Column, kind: str) -> Column:
    """Return the value of a text that ``coerce_value`` has written."""
    match column.data_type:
        case Kind.BINARY:
            return F.unhex(text)
        case Kind.TEXT | Kind.JSON:
            return text
        case _:
            return text.try_cast(kind)


def _own_cast(  # noqa: C901, PLR0911, PLR0912 - a case for each pair
    value: Column, retype: Retype, kind: str
) -> tuple[Column, Column] | None:
    """Return the condition under which Spark's cast equals dlt's coercion, and the cast; None without one."""
    cast = value.try_cast(kind)
    match retype.before.data_type, retype.after.data_type:
        case ((Kind.TIMESTAMP | Kind.DATE), _):
            return _cast_moment(value, retype)
        case before, Kind.TEXT:
            return _written(value, before)
        case Kind.TEXT, Kind.BIGINT | Kind.DOUBLE | Kind.TIME:
            return cast.cast("string") == value, cast
        case Kind.TEXT, Kind.DECIMAL | Kind.WEI:
            return _digits(cast) == value, cast
        case Kind.TEXT, Kind.DATE:
            return (cast.cast("string") == value) & _in_calendar(_midnight(cast)), cast
        case Kind.TEXT, Kind.TIMESTAMP:
            naive = F.replace(F.regexp_replace(value, "Z$", ""), F.lit("T"), F.lit(" "))
            clock = naive.try_cast("timestamp_ntz")
            micros = F.unix_micros(clock)
            is_same = (clock.cast("string") == naive) & _in_calendar(micros)
            return is_same, _timestamp(micros, is_naive=retype.after.is_naive)
        case Kind.BIGINT | Kind.DOUBLE, Kind.BOOL:
            return value.isin(0, 1), value != 0
        case Kind.DECIMAL | Kind.WEI, Kind.BOOL:
            # Compared as a number, one of 38 digits after the point would be rounded.
            digits = _digits(value)
            return digits.isin("0", "1"), digits != "0"
        case Kind.BIGINT, Kind.BIGINT | Kind.DECIMAL | Kind.WEI:
            return cast.isNotNull(), cast
        case Kind.BIGINT, Kind.DOUBLE:
            return value.between(-_EXACT_INTEGERS, _EXACT_INTEGERS), cast
        case Kind.BIGINT, Kind.TIMESTAMP if retype.counts_seconds:
            micros = F.when(value.between(_FIRST_SECOND, _LAST_SECOND), value.cast("bigint")) * F.lit(_MICROS)
            return micros.isNotNull(), _timestamp(micros, is_naive=retype.after.is_naive)
        case Kind.DOUBLE, Kind.BIGINT:
            return (cast.cast("double") == value) & (value < 2.0**63), cast
        case Kind.DOUBLE, Kind.DECIMAL | Kind.WEI:
            digits = _text(value, retype.before)
            cast = digits.try_cast(kind)
            keeps = _is_exact(digits) & (cast.cast("string").cast("double") == value)
            return keeps if retype.is_strict else cast.isNotNull(), cast
        case ((Kind.DECIMAL | Kind.WEI), Kind.DOUBLE):
            digits = cast.cast("string")
            plain = F.rtrim(F.rtrim(digits, F.lit("0")), F.lit("."))
            return _is_exact(digits) & (plain == _digits(value)), cast
        case ((Kind.DECIMAL | Kind.WEI), Kind.BIGINT | Kind.DECIMAL | Kind.WEI):
            keeps = _digits(cast) == _digits(value)
            is_cut = retype.after.data_type is not Kind.BIGINT and not retype.is_strict
            return cast.isNotNull() if is_cut else keeps, cast
        case before, after if before is after:
            return F.lit(True), cast
        case _:
            return None


def _cast_moment(value: Column, retype: Retype) -> tuple[Column, Column]:
    """Return the result of ``_own_cast`` for a timestamp or a date."""
    before, after = retype.before, retype.after
    micros = F.unix_micros(value) if before.data_type is Kind.TIMESTAMP else _midnight(value)
    inside = _in_calendar(micros)
    match before.data_type, after.data_type:
        case Kind.TIMESTAMP, Kind.TEXT:
            text = _padded(F.replace(_timestamp(micros, is_naive=True).cast("string"), F.lit(" "), F.lit("T")), 26)
            return inside, text if before.is_naive else F.concat(text, F.lit("+00:00"))
        case Kind.DATE, Kind.TEXT:
            return inside, value.cast("string")
        case Kind.TIMESTAMP, Kind.TIMESTAMP:
            return F.lit(True), _timestamp(micros, is_naive=after.is_naive)
        case Kind.TIMESTAMP, Kind.DATE:
            in_day = F.pmod(micros, F.lit(_DAY_MICROS))
            days = F.call_function("div", micros - in_day, F.lit(_DAY_MICROS)).cast("int")
            return inside & (in_day == 0) if retype.is_strict else inside, F.date_from_unix_date(days)
        case Kind.DATE, Kind.TIMESTAMP:
            return inside, _timestamp(micros, is_naive=after.is_naive)
        case _:
            return F.lit(True), value


def _timestamp(micros: Column, *, is_naive: bool) -> Column:
    """Return the TIMESTAMP, or TIMESTAMP_NTZ if ``is_naive``, of microseconds since 1970 in UTC."""
    if is_naive:
        return F.timestamp_add("MICROSECOND", micros, F.lit(_EPOCH).cast("timestamp_ntz"))
    return F.timestamp_micros(micros)


def _midnight(date: Column) -> Column:
    """Return microseconds since 1970 of a DATE, null outside Python's calendar."""
    days = F.unix_date(date)
    return F.when(days.between(_FIRST_DAY, _LAST_DAY), days.cast("bigint")) * F.lit(_DAY_MICROS)


def _in_calendar(micros: Column) -> Column:
    """Return whether microseconds since 1970 are in the years that Python has, 1 to 9999; Spark's go further."""
    return micros.between(_FIRST_SECOND * _MICROS, (_LAST_SECOND + 1) * _MICROS - 1)


def _written(value: Column, before: Kind | None) -> tuple[Column, Column] | None:
    """Return the condition under which Spark writes a value as Python does, and its text; None if it does not."""
    text = value.cast("string")
    match before:
        case Kind.BOOL:
            return F.lit(True), F.initcap(text)
        case Kind.TIME:
            return F.lit(True), _padded(text, 15)
        case Kind.BINARY:  # Spark breaks lines after 76 characters
            return F.lit(True), F.replace(F.base64(value), F.lit("\r\n"), F.lit(""))
        case Kind.DECIMAL | Kind.WEI:
            # Python writes numbers below a millionth with an exponent.
            digits = _digits(value)
            return ~(digits.contains("E-") | digits.rlike(r"^-?0\.000000[0-9]")), digits
        case Kind.DOUBLE:
            text = value.cast("double").cast("string")
            return _is_exact(text) & text.rlike(r"^-?[0-9]+\.[0-9]+\z"), text
        case Kind.JSON:
            return None
        case _:
            return F.lit(True), text


def _padded(text: Column, length: int) -> Column:
    """Return a text of a time with six digits of a second, or without a fraction, as Python writes it."""
    return F.when(text.contains("."), F.rpad(text, length, "0")).otherwise(text)


def _is_exact(digits: Column) -> Column:
    """Return whether a double has so few digits that it has one shortest spelling, to Java as to Python."""
    significand = F.substring_index(F.replace(digits, F.lit("-"), F.lit("")), "E", 1)
    return F.length(significand) <= _EXACT_DIGITS + 1


def _digits(number: Column) -> Column:
    """Return the text of a decimal without zeros at its end: of equal numbers the same, whatever their scales."""
    text = number.cast("string")
    mantissa = F.substring_index(text, "E", 1)
    short = F.when(mantissa.contains("."), F.rtrim(F.rtrim(mantissa, F.lit("0")), F.lit("."))).otherwise(mantissa)
    return F.when(number.cast("double") == 0, "0").otherwise(F.concat(short, F.regexp_extract(text, "E.*", 0)))


def by_python(retype: Retype) -> Callable[[Column], Column]:
    """Return a function of a column of texts, which applies ``coerce_value`` to each distinct text of a batch.

    Spark's workers lack schemactl, so the function is sent with all that it needs. They need Python and pyarrow.
    """
    from pyspark import cloudpickle
    from pyspark.sql.pandas import functions

    def convert(texts: pa.Array) -> pa.Array:
        if texts.null_count == len(texts):
            return pa.nulls(len(texts), pa.string())
        encoded = texts.cast(pa.binary()).dictionary_encode()
        coerced = [None if text is None else coerce_value(text, retype) for text in encoded.dictionary.to_pylist()]
        return pa.array(coerced, pa.string()).take(encoded.indices)

    # What is ours is pickled by value, not by name.
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(schemactl)
    # Spark's own hints know only UDFs whose kind is given, and it warns of them.
    make: Callable[..., Callable[[Column], Column]] = functions.arrow_udf
    return make(convert, "string")


def coerce_value(value: bytes, retype: Retype) -> str | None:
    """Return the text of a value as dlt coerces it, see ``convert_text``; null if it is not UTF-8.

    It is also null for numbers and timestamps that Spark's doubles and timestamps cannot represent.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    coerced = convert_text(text, retype)
    match retype.before.data_type, retype.after.data_type:
        case Kind.TEXT, Kind.DOUBLE if coerced in ("inf", "-inf") and any(map(str.isdecimal, text)):
            return None
        case Kind.TEXT, Kind.TIMESTAMP | Kind.TIME if _BELOW_MICROSECONDS.search(text):
            return None
        case _:
            return coerced
