"""What becomes of the values that a table's column holds when it takes on another type, and which of them survive.

``coercion`` says what dlt makes of a value; here stands when something of it would be lost: digits, a time of day, the
meaning of a number. The rules are those of ``destinations._migration.conversions``, which says them in SQL.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.coercion import OF_DOUBLE, OF_TEXT, coerced
from schemactl.engine.python_coercion import by_python
from schemactl.engine.stored_types import DAY_SECONDS, MICROS, ddl_of, in_calendar, midnight, stored_type
from schemactl.schema import types
from schemactl.schema.nested_types import structure_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import DataType

_EXACT_INTEGERS: Final = 2**53
_NUMBERS: Final = (DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI)
_DECIMALS: Final = (DataType.DECIMAL, DataType.WEI)
_TINY: Final = "E-"
_BELOW_MICROSECONDS: Final = r"[.,][0-9]{6}[0-9]*[1-9]"


def spark_type(column: types.Column) -> str:
    """Return the type of a column as SQL writes it, that of the catalog where dlt has none.

    Raises:
        ValueError: the column has neither.
    """
    structure = structure_of(column)
    if DATABASE_TYPE not in column.properties and structure is not None:
        return ddl_of(structure)
    return str(column.properties.get(DATABASE_TYPE) or stored_type(column).simpleString())


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
    if kind is DataType.DECIMAL and after.data_type is DataType.TEXT:
        found = _decimal_text(own)
    else:
        found = coerced(own, kind, after, naive=before.properties.get("timezone") is False)
    keeps = _keeps(own, found, before, after, counts_seconds=counts_seconds, is_strict=is_strict)
    return found if keeps is None else F.when(keeps, found)


def _plain(value: Column, kind: DataType) -> Column:
    """Return a value of a column as ``coerced`` takes it."""
    match kind:
        case DataType.BIGINT | DataType.DOUBLE:
            return value.cast(str(kind))
        case DataType.WEI | DataType.TEXT | DataType.JSON:
            return value.cast("string")
        case _:
            return value


def _keeps(
    own: Column, found: Column, before: types.Column, after: types.Column, *, counts_seconds: bool, is_strict: bool
) -> Column | None:
    """Return whether nothing of a value that is coerced is lost; None where nothing can be."""
    kind = before.data_type
    match kind, after.data_type:
        case _, DataType.TEXT | DataType.BINARY:
            return _fits_length(own, found, kind, after)
        case ((DataType.BIGINT | DataType.DOUBLE), (DataType.TIMESTAMP | DataType.DATE)):
            is_whole = own % F.lit(DAY_SECONDS) == 0 if after.data_type is DataType.DATE else F.lit(True)
            return F.lit(counts_seconds) & is_whole
        case _, DataType.TIMESTAMP | DataType.DATE | DataType.TIME:
            return _keeps_moment(own, found, kind, after, is_strict=is_strict)
        case _, DataType.BOOL if kind in _NUMBERS:
            return own.cast("double").isin(0.0, 1.0)
        case _, DataType.DOUBLE:
            return _keeps_as_double(own, found, before)
        case DataType.TEXT, (DataType.DECIMAL | DataType.WEI):
            return _keeps_fraction(own, found, after)
        case DataType.DOUBLE, (DataType.DECIMAL | DataType.WEI) if is_strict:
            return found.cast("double") == own
        case _, DataType.DECIMAL | DataType.WEI if kind in _DECIMALS and is_strict:
            return _digits(found) == _digits(own)
        case _:
            return None


def _fits_length(own: Column, found: Column, kind: DataType | None, after: types.Column) -> Column | None:
    inside = None
    if kind is DataType.TIMESTAMP:
        inside = in_calendar(F.unix_micros(own)).isNotNull()
    elif kind is DataType.DATE:
        inside = _is_day(own)
    limit = after.properties.get("precision")
    if limit is None:
        return inside
    measure = F.length if after.data_type is DataType.TEXT else F.octet_length
    is_short = measure(found) <= int(limit)
    return is_short if inside is None else inside & is_short


def _is_day(date: Column) -> Column:
    return in_calendar(midnight(date)).isNotNull()


def _keeps_moment(
    own: Column, found: Column, kind: DataType | None, after: types.Column, *, is_strict: bool
) -> Column | None:
    match kind, after.data_type:
        case DataType.TIMESTAMP, DataType.DATE:
            micros = F.unix_micros(own)
            inside = in_calendar(micros).isNotNull()
            return inside & (micros % F.lit(DAY_SECONDS * MICROS) == 0) if is_strict else inside
        case DataType.DATE, DataType.TIMESTAMP:
            return _is_day(own)
        case DataType.TEXT, DataType.DATE:
            moment = OF_TEXT[DataType.TIMESTAMP](own)
            return moment.isNull() | (moment == midnight(found))
        case DataType.TEXT, _:
            return ~own.rlike(_BELOW_MICROSECONDS)
        case _:
            return None


def _keeps_as_double(own: Column, found: Column, before: types.Column) -> Column | None:
    match before.data_type:
        case DataType.BIGINT:
            return own.between(-_EXACT_INTEGERS, _EXACT_INTEGERS)
        case DataType.DECIMAL | DataType.WEI:
            exact = stored_type(before)
            digits = OF_DOUBLE[DataType.DECIMAL](found)
            return digits.try_cast(exact) == own.try_cast(exact)
        case DataType.TEXT:
            return ~((F.abs(found) == float("inf")) & own.rlike("[0-9]"))  # digits beyond all doubles
        case _:
            return None


def _keeps_fraction(text: Column, found: Column, after: types.Column) -> Column:
    """Return whether a text has no more digits after the point than a decimal column, zeros left out."""
    digits = OF_TEXT[DataType.DECIMAL](text)
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
    rest = by_python(F.when(is_tiny, digits), DataType.DECIMAL, DataType.TEXT)
    return F.when(is_tiny, rest).otherwise(digits)
