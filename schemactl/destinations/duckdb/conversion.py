"""DuckDB's own casts that equal dlt's coercion, and the function by which it calls the coercion.

See ``destinations._migration.conversion`` for the rule.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._migration.conversion import (
    FALSE,
    MOMENT,
    TRUE,
    Converted,
    begins_with_digit,
    bits_of,
    coerce_text,
    conjoin,
    from_utc,
    in_utc,
    is_short,
    keeps_fraction,
    plain_decimal,
    shared_cast,
    shared_text,
    stores_short_floats,
    write_retype,
)
from schemactl.destinations._types import sizes_of
from schemactl.destinations.duckdb.types import column_type, duckdb_type, structure_in
from schemactl.migration.statements import Retype, checked_type
from schemactl.schema import nested_types
from schemactl.schema.nested_types import Leaf, ListOf, MapOf, NestedType, Struct, leaf_properties, structure_of
from schemactl.schema.quoting import literal
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COERCED: Final = "_schemactl_coerced"
"""Calls ``coerce_text``: sessions that convert values have it, see ``register``."""

_EMPTY: Final = '""'
_STRING: Final = r'"([^"\\]|\\.)*"'
_NOT_AS_DLT: Final = r"[A-DF-Z]|nan|inf|[0-9]{18}|[eE][+-]?[0-9]{3}|,[ \t\n\r]*[\]}]"
_WITH_TEXTS: Final = frozenset(("UUID", "INET", "UBIGINT", "UHUGEINT", "BIGNUM", "VARINT"))


BY_RANGE: Final = frozenset({(DataType.BIGINT, DataType.DOUBLE), (DataType.DATE, DataType.TIMESTAMP)})
"""Types between which ``is_sure`` compares the value with two constants: only a null makes it null."""


def register(connection: DuckDBPyConnection) -> None:
    """Make dlt's coercion known to a connection as a function."""

    def coerced(text: str | None, retype: str) -> str | None:
        return None if text is None else coerce_text(text, retype)

    handling: Any = "special"  # its enum has moved from version to version
    connection.create_function(COERCED, coerced, ["VARCHAR", "VARCHAR"], "VARCHAR", null_handling=handling)


type_of: Final = partial(checked_type, column_type=column_type)
"""Returns a column's type, checked."""


_TEXT_IN_JSON: Final = r"""'"(\\.|[^"\\])*"'"""
"""A regular expression, as SQL has it."""


def has_texts(kind: str) -> bool:
    """Return whether every value of a type that dlt lacks casts to a distinct string; see ``Abilities``."""
    return kind.upper() in _WITH_TEXTS or kind.upper().startswith("ENUM(")


def convert(retype: Retype, value: str) -> Converted:
    """Return how DuckDB converts a value that is not null."""
    before, after = retype.before, retype.after
    stored_structure, structure = _structure(before), _structure(after)
    if stored_structure is not None and structure is not None:
        return _convert_structure(stored_structure, structure, value)
    kind = type_of(after)
    raised_error = f"error('a value does not survive: ' || left(CAST({value} AS VARCHAR), 200))"
    if before.data_type is None or after.data_type is None:
        is_sure, cast = _cast_other(retype, value, kind)
        return Converted(is_sure, cast, f"CAST(NULL AS {kind})", raised_error)
    is_sure, cast = _cast_text(retype, value, kind) if before.data_type is DataType.TEXT else _cast(retype, value, kind)
    if stores_short_floats(after, type_of):
        is_sure = FALSE  # the cast rounds
    text = f"{COERCED}({_as_text(value, before)}, {literal(write_retype(retype, type_of))})"
    match after.data_type:
        case DataType.TEXT:
            coerced = text
        case DataType.BINARY:
            coerced = f"unhex({text})"
        case _:
            coerced = f"CAST({text} AS {kind})"
    return Converted(is_sure, cast, coerced, f"coalesce({coerced}, {raised_error})")


def _structure(column: Column) -> NestedType | None:
    """Return the nested type of a column, which DuckDB or a table on files has."""
    own_type = column.properties.get(DATABASE_TYPE)
    if own_type is None:
        return structure_of(column)
    return structure_in(str(own_type)) or nested_types.structure_in(str(own_type), keeps_sizes=True)


def _convert_structure(before: NestedType, after: NestedType, value: str) -> Converted:
    """Return how DuckDB converts the scalars inside a struct, a list or a map; fields that are new are null."""
    is_sure, cast = _convert_inside(before, after, value, 0)
    kind = duckdb_type(after)
    raised_error = f"error('a value does not survive: ' || left(CAST({value} AS VARCHAR), 200))"
    return Converted(is_sure, f"CAST({cast} AS {kind})", f"CAST(NULL AS {kind})", raised_error)


def _convert_inside(before: NestedType, after: NestedType, value: str, depth: int) -> tuple[str, str]:
    """Return the condition under which a value inside of a column survives, or is null, and the converted value.

    ``depth`` is the number of lists and maps around it.
    """
    item = f'"_item{depth}"'
    match before, after:
        case _ if before == after:
            return TRUE, value
        case Struct(), Struct():
            return _convert_struct(before, after, value, depth)
        case ListOf(stored_element), ListOf(element):
            return _convert_items(value, item, *_convert_inside(stored_element, element, item, depth + 1))
        case MapOf(stored_value), MapOf(map_value):
            values = f"map_values({value})"
            is_sure, cast = _convert_items(values, item, *_convert_inside(stored_value, map_value, item, depth + 1))
            return is_sure, f"CASE WHEN {value} IS NULL THEN NULL ELSE map(map_keys({value}), {cast}) END"
        case Leaf(), Leaf():
            stored_column, column = (Column("", leaf_properties(leaf.name) or {}) for leaf in (before, after))
            converted = convert(Retype(stored_column, column), value)
            return (TRUE if converted.is_sure == TRUE else f"({value} IS NULL OR {converted.fits})"), converted.or_null
        case _:
            return FALSE, "NULL"


def _convert_struct(before: Struct, after: Struct, value: str, depth: int) -> tuple[str, str]:
    stored_fields, fields = dict(before.fields), dict(after.fields)
    removed_names = [name for name in stored_fields if name not in fields]  # the undo removes new fields
    conditions = [f"struct_extract({value}, {literal(name)}) IS NULL" for name in removed_names]
    casts = []
    for name, field in fields.items():
        if name in stored_fields:
            stored_value = f"struct_extract({value}, {literal(name)})"
            is_sure, cast = _convert_inside(stored_fields[name], field, stored_value, depth)
            conditions.append(is_sure)
        else:
            cast = f"CAST(NULL AS {duckdb_type(field)})"
        casts.append(f"{literal(name)}: {cast}")
    return conjoin(*conditions), f"CASE WHEN {value} IS NULL THEN NULL ELSE {{{', '.join(casts)}}} END"


def _convert_items(items: str, item: str, is_sure: str, cast: str) -> tuple[str, str]:
    """Return the condition of all elements of a list, and the converted list."""
    unfit = f"list_filter({items}, lambda {item}: ({is_sure}) IS NOT TRUE)"
    is_each_sure = TRUE if is_sure == TRUE else f"coalesce(len({unfit}), 0) = 0"
    return is_each_sure, f"list_transform({items}, lambda {item}: {cast})"


def _as_text(value: str, column: Column) -> str:
    """Return a value as ``conversion.read_value`` reads it."""
    match column.data_type:
        case DataType.TEXT:
            return value
        case DataType.BINARY:
            return f"hex({value})"
        case DataType.DOUBLE:  # a FLOAT has less digits
            return f"CAST(CAST({value} AS DOUBLE) AS VARCHAR)"
        case _:
            return f"CAST({value} AS VARCHAR)"


def _cast_other(retype: Retype, value: str, kind: str) -> tuple[str, str]:
    """Return how a value of a type that dlt does not know becomes a text or JSON, or the reverse."""
    before, after = retype.before, retype.after
    if after.data_type is DataType.JSON:
        # DuckDB writes ``NaN`` and ``Infinity``, which are not JSON.
        outside_texts = f"regexp_replace(CAST(to_json({value}) AS VARCHAR), {_TEXT_IN_JSON}, '', 'g')"
        return f"NOT regexp_matches({outside_texts}, 'NaN|Infinity')", f"CAST(to_json({value}) AS {kind})"
    if before.data_type is DataType.JSON:
        converted = f"TRY_CAST({value} AS {kind})"
        return f"CAST(to_json({converted}) AS VARCHAR) = CAST({value} AS VARCHAR)", converted
    if after.data_type is DataType.TEXT and has_texts(before.properties.get(DATABASE_TYPE, "")):
        return is_short(f"CAST({value} AS VARCHAR)", after), f"CAST({value} AS VARCHAR)"
    if before.data_type is DataType.TEXT and has_texts(after.properties.get(DATABASE_TYPE, "")):
        return f"CAST(TRY_CAST({value} AS {kind}) AS VARCHAR) = {value}", f"CAST({value} AS {kind})"
    return FALSE, f"CAST(NULL AS {kind})"


def _cast_text(retype: Retype, value: str, kind: str) -> tuple[str, str]:
    """Return the condition under which DuckDB casts a text as dlt coerces it, and the cast."""
    after = retype.after
    cast, is_read = f"CAST({value} AS {kind})", f"TRY_CAST({value} AS {kind}) IS NOT NULL"
    match after.data_type:
        case DataType.TEXT:
            return is_short(value, after), value
        case DataType.BIGINT:
            is_same = f"CAST(TRY_CAST({value} AS {kind}) AS VARCHAR) = {value}"
            return conjoin(is_same, _in_bits(f"TRY_CAST({value} AS {kind})", after)), cast
        case DataType.DOUBLE:
            # If a text begins with a digit, DuckDB reads it as Python does; otherwise it also reads ``+-1`` and
            # ``nan(1)``.
            return conjoin(begins_with_digit(value), is_read), cast
        case DataType.DECIMAL | DataType.WEI:
            # More digits than the scale would be rounded, and so would texts with a negative exponent.
            is_long = f"{value} LIKE '%.{'_' * (sizes_of(kind)[1] + 1)}%'"
            is_exact = f"NOT ({is_long}) AND {value} NOT LIKE '_%-%'"
            return conjoin(begins_with_digit(value), is_exact, is_read), cast
        case DataType.BOOL:
            return is_read, cast
        case DataType.DATE:
            # The cast takes blanks around, days of one digit, and a year 0.
            return f"({value} GLOB '[0-9]???-??-?[0-9]' AND {value} >= '0001' AND {is_read})", cast
        case DataType.TIME:
            # The cast accepts ``24:00:00``, blanks around, and many odd forms before and in a fraction.
            return f"({value} GLOB '[0-9]?:??:?[0-9]' AND {value} < '24' AND {is_read})", cast
        case DataType.TIMESTAMP:
            # Besides, the cast takes a point without digits after it, and blanks before the time.
            hours = ("[01]?", "2[0-3]")
            is_shaped = " OR ".join(f"{value} GLOB '[0-9]???-??-??[T ]{hour}:??:?[0-9]*Z'" for hour in hours)
            length = f"strlen({value}) <= 27 AND strlen({value}) <> 21"
            is_moment = f"{length} AND ({is_shaped}) AND {value} >= '0001'"
            naive = f"(TRY_CAST({value} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')"
            is_usual = conjoin(is_moment, f"TRY_CAST({value} AS TIMESTAMPTZ) IS NOT NULL")
            # Years at the ends of Python's calendar may leave it with an offset.
            inside = f"{value} BETWEEN '0002' AND '9999' AND regexp_full_match({value}, {literal(MOMENT)})"
            sure = conjoin(f"({is_usual} OR ({inside}))", keeps_fraction(retype, naive, type_of, "TRY_CAST"))
            zoned = f"CAST({value} AS TIMESTAMPTZ)"
            return sure, f"CAST(({zoned} AT TIME ZONE 'UTC') AS {kind})" if after.is_naive else zoned
        case DataType.JSON if kind == "JSON":
            # DuckDB reads NaN and a comma too many, and keeps numbers that Python cannot.
            outside = f"regexp_replace({value}, {literal(_STRING)}, {literal(_EMPTY)}, 'gs')"
            is_odd = f"regexp_matches({outside}, {literal(_NOT_AS_DLT)})"
            is_null = f"trim({value}, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)) = 'null'"
            return f"(json_valid({value}) AND NOT {is_odd} AND NOT {is_null})", f"json({value})"
        case _:
            return FALSE, cast


def _in_bits(number: str, column: Column) -> str:
    bits = bits_of(column)
    # Types of other sizes hold more than the column may.
    return TRUE if bits in (8, 16, 32, 64) else f"{number} BETWEEN {-(2 ** (bits - 1))} AND {2 ** (bits - 1) - 1}"


def _cast(  # noqa: C901, PLR0911 - a case for each pair
    retype: Retype, value: str, kind: str
) -> tuple[str, str]:
    """Return the condition under which DuckDB casts a value that is no text as dlt coerces it, and the cast."""
    before, after = retype.before, retype.after
    stored_type = type_of(before)
    cast, tried = f"CAST({value} AS {kind})", f"TRY_CAST({value} AS {kind})"
    match before.data_type, after.data_type:
        case _, DataType.TEXT:
            is_sure, text = _text_of(retype, value)
            return conjoin(is_sure, is_short(text, after)), text
        case DataType.BIGINT, DataType.BIGINT:
            is_wider = stored_type == kind and bits_of(before) <= bits_of(after)
            return TRUE if is_wider else conjoin(f"{tried} IS NOT NULL", _in_bits(tried, after)), cast
        case DataType.BIGINT, DataType.DECIMAL | DataType.WEI:
            precision, scale = sizes_of(kind)
            return TRUE if precision - scale >= 19 else f"{tried} IS NOT NULL", cast
        case DataType.BIGINT, DataType.DOUBLE:
            return f"{value} BETWEEN {-(2**53)} AND {2**53}", cast
        case DataType.BIGINT, DataType.TIMESTAMP if retype.counts_seconds:
            in_calendar = f"{value} BETWEEN -62135596800 AND 253402300799"
            return in_calendar, from_utc(after, f"make_timestamp(CAST({value} AS BIGINT) * 1000000)", kind)
        case DataType.DOUBLE, DataType.BIGINT:
            return conjoin(f"{tried} = {value}", _in_bits(tried, after)), cast
        case DataType.DOUBLE, DataType.DECIMAL | DataType.WEI:
            text = _as_text(value, before)
            decimal = f"TRY_CAST({text} AS {kind})"
            is_same = f"CAST(CAST({decimal} AS VARCHAR) AS DOUBLE) = {value}"
            return is_same if retype.is_strict else f"{decimal} IS NOT NULL", f"CAST({text} AS {kind})"
        case DataType.DECIMAL | DataType.WEI, DataType.BIGINT:
            return conjoin(f"TRY_CAST({tried} AS {stored_type}) = {value}", _in_bits(tried, after)), cast
        case DataType.DECIMAL | DataType.WEI, DataType.DOUBLE:
            # By way of its text: DuckDB divides, and is wrong in the last digit.
            number = f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
            return f"TRY_CAST(CAST({number} AS VARCHAR) AS {stored_type}) = {value}", number
        case DataType.DECIMAL | DataType.WEI, DataType.DECIMAL | DataType.WEI:
            if stored_type == kind:
                return TRUE, value
            is_same = f"TRY_CAST({tried} AS {stored_type}) = {value}"
            return is_same if retype.is_strict else f"{tried} IS NOT NULL", cast
        case _:
            return shared_cast(retype, value, type_of, "TRY_CAST")


def _text_of(retype: Retype, value: str) -> tuple[str, str]:
    """Return the condition under which DuckDB writes a value that is no text as Python does, and its text."""
    before = retype.before
    text = _as_text(value, before)
    match before.data_type:
        case DataType.BINARY:
            return TRUE, f"to_base64({value})"
        case DataType.JSON:
            return TRUE, f"CAST(json({value}) AS VARCHAR)"
        case DataType.DECIMAL | DataType.WEI:
            # Python writes numbers below a millionth with an exponent.
            is_plain = f"({text} NOT LIKE '0.000000%' AND {text} NOT LIKE '-0.000000%')"
            return TRUE if sizes_of(type_of(before))[1] <= 6 else is_plain, plain_decimal(text)
        case _:
            naive = f"CAST({in_utc(before, value)} AS TIMESTAMP)"
            written = f"strftime({naive}, '%Y-%m-%dT%H:%M:%S')", f"strftime({naive}, '.%f')"
            return shared_text(before, value, text, naive, written)
