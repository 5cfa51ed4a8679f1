"""PostgreSQL's own casts that equal dlt's coercion, and the mapping table of the coerced values.

See ``destinations._migration.conversion`` for the rule. PostgreSQL has no cast that returns null if it fails. So a
retype first runs under quick conditions under which its casts are right or fail. If it fails, the conditions under
which casts do not fail select the values that go through the coercion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from schemactl.destinations._migration.conversion import (
    DAY_ALONE,
    FALSE,
    MOMENT,
    TIME_OF_DAY,
    TRUE,
    Converted,
    begins_with_digit,
    bits_of,
    conjoin,
    from_utc,
    has_any_precision,
    in_utc,
    is_short,
    plain_decimal,
    shared_cast,
    shared_text,
    stores_short_floats,
)
from schemactl.destinations._types import sizes_of
from schemactl.destinations.postgresql.types import column_type, has_texts
from schemactl.migration.statements import Retype, checked_type
from schemactl.schema.quoting import literal
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType

COERCED: Final = "pg_temp._schemactl_coerced"
MAPPING: Final = "pg_temp._schemactl_values"

MAKE_MAPPING: Final = (
    f"DROP TABLE IF EXISTS {MAPPING}",
    f"CREATE TEMPORARY TABLE {MAPPING.partition('.')[2]} (given text, made text)",
    f"CREATE OR REPLACE FUNCTION {COERCED}(value text) RETURNS text LANGUAGE plpgsql STABLE AS "
    f"'BEGIN RETURN (SELECT made FROM {MAPPING} WHERE given = value); END'",
)
"""Makes the table of coerced values, and the function that looks one up: ALTER TABLE takes no subquery."""

INDEX_MAPPING: Final = f"CREATE INDEX ON {MAPPING} USING hash (given)"

_EXACT: Final = 2**53
"""PostgreSQL writes doubles up to here as Python does."""

_SURE_CHARACTERS: Final = 31
"""No number of so many digits leaves the range of a double."""

_BYTES: Final = 'COLLATE "C"'
"""Comparisons by bytes are quick, and the same in every database."""

_BLANK_IN_JSON: Final = r'("(?:[^"\\]|\\.)*")|([,:]) '
_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BOOLS: Final = tuple(
    spelling(word)
    for word in ("true", "false", "yes", "t", "y", "1", "no", "f", "n", "0")
    for spelling in (str.lower, str.title, str.upper)
)
"""An ALTER compares with these in order: the most frequent values come first."""


@dataclass(frozen=True, slots=True)
class OwnCast:
    """A cast of PostgreSQL.

    Attributes:
        is_sure: the condition that it equals dlt's coercion; it never fails.
        cast: the value in its new type; null of a null.
        is_right: a quicker condition, under which the cast equals dlt's coercion, or fails.
    """

    is_sure: str
    cast: str
    is_right: str = FALSE


type_of: Final = partial(checked_type, column_type=column_type)
"""Returns a column's type, checked."""


def convert(retype: Retype, value: str) -> Converted:
    """Return how PostgreSQL converts a value (not null), once the mapping holds the values that it cannot cast."""
    kind, cast = type_of(retype.after), own_cast(retype, value)
    text = f"{COERCED}({as_text(value, retype.before)})"
    coerced = f"CAST({f'''decode({text}, 'hex')''' if retype.after.data_type is DataType.BINARY else text} AS {kind})"
    return Converted(cast.is_sure, cast.cast, coerced, f"coalesce({coerced}, {_refuse(value, kind)})")


def guarded(retype: Retype, value: str) -> str:
    """Return the value in its new type without the mapping table; it fails if PostgreSQL's cast is not right."""
    cast, kind = own_cast(retype, value), type_of(retype.after)
    if cast.is_sure == TRUE:
        return cast.cast
    if cast.is_sure == FALSE == cast.is_right:
        return f"CASE WHEN {value} IS NOT NULL THEN {convert(retype, value).value} END"
    is_right = f"WHEN {cast.is_right} THEN {cast.cast} " if cast.is_right != FALSE else ""
    is_sure = f"WHEN {cast.is_sure} THEN {cast.cast} " if cast.is_sure != FALSE else ""
    return f"CASE {is_right}{is_sure}WHEN {value} IS NOT NULL THEN {_refuse(value, kind)} END"


def as_text(value: str, column: Column) -> str:
    """Return a value as ``conversion.read_value`` reads it."""
    match column.data_type:
        case DataType.TEXT:
            return value
        case DataType.BINARY:
            return f"encode({value}, 'hex')"
        case DataType.DOUBLE:  # a real has less digits
            return f"CAST(CAST({value} AS double precision) AS text)"
        case _:
            return f"CAST({value} AS text)"


def _refuse(value: str, kind: str) -> str:
    """Return an expression of a type that fails with the value: PostgreSQL has no function for it."""
    message = f"'a value does not survive: ' || left(CAST({value} AS text), 200)"
    return f"CAST(CAST(CAST({message} AS integer) AS text) AS {kind})"


def own_cast(retype: Retype, value: str) -> OwnCast:
    """Return PostgreSQL's own cast of a value; its condition is FALSE if no cast gives the same as dlt."""
    before, after = retype.before.data_type, retype.after.data_type
    kind = type_of(retype.after)
    if before is None or after is None:
        return _cast_other(retype, value, kind)
    if stores_short_floats(retype.after, type_of):
        return OwnCast(FALSE, f"CAST({value} AS {kind})")  # it rounds
    cast = _cast_text(retype, value, kind) if before is DataType.TEXT else OwnCast(*_cast(retype, value, kind))
    return cast if after is not DataType.TEXT else replace(cast, cast=f"CAST({cast.cast} AS {kind})")


def _cast_other(retype: Retype, value: str, kind: str) -> OwnCast:
    """Return how a value of a type that dlt does not know becomes a text, or the reverse."""
    before, after = retype.before, retype.after
    if after.data_type is DataType.TEXT and has_texts(before.properties.get(DATABASE_TYPE, "")):
        text = other_text(value, type_of(before))
        return OwnCast(is_short(text, after), f"CAST({text} AS {kind})")
    if before.data_type is DataType.TEXT and has_texts(after.properties.get(DATABASE_TYPE, "")):
        is_same = f"{other_text(f'CAST({value} AS {kind})', kind)} = {value}"
        return OwnCast(_matches(value, _UUID) if kind == "uuid" else FALSE, f"CAST({value} AS {kind})", is_same)
    return OwnCast(FALSE, f"CAST(NULL AS {kind})")


def other_text(value: str, kind: str) -> str:
    """Return the text of a value of a type that dlt does not know."""
    # The cast writes ``/32`` behind each address.
    return f"abbrev({value})" if kind == "inet" else f"CAST({value} AS text)"


def _bounds(column: Column) -> tuple[int, int]:
    bits = bits_of(column)
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _matches(text: str, regex: str) -> str:
    return f"{text} ~ {literal(f'^({regex})$')}"


def _cast_text(retype: Retype, value: str, kind: str) -> OwnCast:
    after, cast = retype.after, f"CAST({value} AS {kind})"
    match after.data_type:
        case DataType.TEXT:
            return OwnCast(is_short(value, after), value)
        case DataType.BIGINT:
            return _integer_of_text(value, cast, after)
        case DataType.DOUBLE:
            # The C library's reader takes ``0x1p3`` and ``nan(1)``, too.
            is_sure = f"octet_length({value}) <= {_SURE_CHARACTERS} AND {_matches(value, '-?[0-9]+([.][0-9]+)?')}"
            return OwnCast(f"({is_sure})", cast, begins_with_digit(f"{value} {_BYTES}"))
        case DataType.DECIMAL | DataType.WEI:
            return _decimal_of_text(value, cast, *sizes_of(kind))
        case DataType.BOOL:
            # The cast takes blanks around, ``on``, ``off``, and parts of a word.
            return OwnCast(f"{value} IN ({', '.join(map(literal, dict.fromkeys(_BOOLS)))})", cast)
        case DataType.DATE | DataType.TIME | DataType.TIMESTAMP:
            return _moment_of_text(retype, value, kind)
        case _:
            return OwnCast(FALSE, cast)


def _integer_of_text(value: str, cast: str, column: Column) -> OwnCast:
    most = str(_bounds(column)[1])
    # A count in the regular expression would make it five times as slow.
    is_small = f"octet_length({value}) < {len(most)} OR ({value} {_BYTES} BETWEEN '0' AND '{most}' "
    is_small += f"AND octet_length({value}) = {len(most)})"
    is_sure = f"(({is_small}) AND {_matches(value, '-?[0-9]+')})"
    if (column.properties.get("precision") or 64) not in (16, 32, 64):
        return OwnCast(is_sure, cast)  # its type holds more than the column may
    # Before version 16, the cast fails on ``1_000``.
    return OwnCast(is_sure, cast, rf"({begins_with_digit(f'{value} {_BYTES}')} AND {value} {_BYTES} NOT LIKE '%\_%')")


def _decimal_of_text(value: str, cast: str, precision: int, scale: int) -> OwnCast:
    # More digits than the scale would be rounded, and so would numbers with a negative exponent.
    is_long = f"{value} {_BYTES} LIKE '%.{'_' * (scale + 1)}%'"
    is_right = f"({begins_with_digit(f'{value} {_BYTES}')} AND NOT ({is_long}) AND {value} {_BYTES} NOT LIKE '_%-%')"
    # Counts of a regular expression are slow: the length shows that neither side of the point has too many digits.
    digits, is_number = precision - scale, _matches(value, "-?[0-9]+([.][0-9]+)?")
    is_short = f"length({value}) <= {digits} AND "
    is_short += f"(strpos({value}, '.') = 0 OR length({value}) - strpos({value}, '.') <= {scale})"
    return OwnCast(f"({is_short} AND {is_number})" if digits else FALSE, cast, is_right)


def _is_shaped(text: str, shape: str, mark: str) -> str:
    """Return whether a text has a shape of digits between two marks; one regular expression of it is much slower."""
    is_made_of_them = f"{text} {_BYTES} !~ '[^0-9{mark}]'"
    has_more_marks = f"{text} {_BYTES} LIKE '%{mark}%{mark}%{mark}%'"
    return f"{text} {_BYTES} LIKE '{shape}' AND NOT ({has_more_marks}) AND {is_made_of_them}"


def _moment_of_text(retype: Retype, value: str, kind: str) -> OwnCast:
    """Return the cast of a text to a date, a time or a timestamp."""
    after = retype.after
    has_year = f"left({value}, 4) <> '0000'"
    is_any_precision = has_any_precision(retype)
    match after.data_type:
        case DataType.DATE:
            is_sure = conjoin(_matches(value, DAY_ALONE), has_year)
            return OwnCast(is_sure, f"CAST({value} AS DATE)", f"({_is_shaped(value, '____-__-__', '-')})")
        case DataType.TIME:
            # The cast takes ``24:00:00`` and a second 60, too.
            in_day = f"{value} < '24' {_BYTES} AND {value} {_BYTES} NOT LIKE '%:60'"
            is_right = f"({_is_shaped(value, '__:__:__', ':')} AND {in_day})"
            is_sure = conjoin(_matches(value, TIME_OF_DAY), TRUE if is_any_precision else f"strpos({value}, '.') = 0")
            return OwnCast(is_sure, f"CAST({value} AS {kind})", is_right)
    # Years at the ends of Python's calendar may leave it with an offset.
    inside = f"(left({value}, 4) NOT IN ('0001', '9999') OR {_matches(value, '.{10}[^+-]*')})"
    is_sure = conjoin(_matches(value, MOMENT), has_year, inside)
    zoned = f"CAST({value} AS TIMESTAMPTZ)"
    cast = f"CAST({f'''({zoned} AT TIME ZONE 'UTC')''' if after.is_naive else zoned} AS {kind})"
    if not is_any_precision:
        return OwnCast(conjoin(is_sure, f"strpos({value}, '.') = 0"), cast)
    return OwnCast(is_sure, cast, _is_right_moment(value))


def _is_right_moment(value: str) -> str:
    # Two of the characters between digits must not be neighbors: so each part has as many digits as it should.
    shape = "____-__-__T__:__:__"
    is_long = f"octet_length({value}) BETWEEN 22 AND 27 AND {value} {_BYTES} LIKE '{shape}.%Z'"
    is_shaped = f"({is_long} OR {value} {_BYTES} LIKE '{shape}Z')"
    in_day = f"{value} {_BYTES} NOT LIKE '___________24%' AND {value} {_BYTES} NOT LIKE '_________________60%'"
    is_apart = f"{value} {_BYTES} !~ '[^0-9][^0-9]'"
    # The fraction must contain only digits, too: the cast accepts ``.12E4Z`` and ``.12Z4Z``.
    is_apart = f"{is_apart} AND {value} {_BYTES} !~ '[.].*[^0-9].'"
    return f"({value} BETWEEN '0' AND ':' {_BYTES} AND {is_shaped} AND {in_day} AND {is_apart})"


def _cast(retype: Retype, value: str, kind: str) -> tuple[str, str]:
    """Return the condition under which PostgreSQL casts a value that is no text as dlt coerces it, and the cast."""
    before, after = retype.before, retype.after
    cast = f"CAST({value} AS {kind})"
    low, high = _bounds(after)
    match before.data_type, after.data_type:
        case _, DataType.TEXT:
            is_sure, text = _text_of(before, value)
            return conjoin(is_sure, is_short(text, after)), text
        case DataType.BIGINT, DataType.BIGINT:
            return TRUE if _bounds(before)[1] <= high else f"{value} BETWEEN {low} AND {high}", cast
        case DataType.BIGINT, DataType.DECIMAL | DataType.WEI:
            precision, scale = sizes_of(kind)
            is_small = f"abs(CAST({value} AS numeric)) < {10 ** (precision - scale)}"
            return TRUE if precision - scale >= 19 else is_small, cast
        case DataType.BIGINT, DataType.DOUBLE:
            return f"{value} BETWEEN {-_EXACT} AND {_EXACT}", cast
        case DataType.BIGINT, DataType.TIMESTAMP if retype.counts_seconds:
            naive = f"(to_timestamp({value}) AT TIME ZONE 'UTC')"
            return f"{value} BETWEEN -62135596800 AND 253402300799", from_utc(after, naive, kind)
        case DataType.DOUBLE, DataType.BIGINT:
            return f"({value} = trunc({value}) AND {value} >= {low}e0 AND {value} < {high + 1}e0)", cast
        case DataType.DOUBLE | DataType.DECIMAL | DataType.WEI, DataType.DECIMAL | DataType.WEI:
            number = f"CAST({as_text(value, before)} AS numeric)" if before.data_type is DataType.DOUBLE else value
            return _fits_decimal(retype, value, number), f"CAST({number} AS {kind})"
        case DataType.DECIMAL | DataType.WEI, DataType.BIGINT:
            return f"({value} = trunc({value}) AND {value} BETWEEN {low} AND {high})", cast
        case DataType.DECIMAL | DataType.WEI, DataType.DOUBLE:
            return conjoin(_is_number(value), f"CAST(CAST({cast} AS text) AS numeric) = {value}"), cast
        case _:
            return shared_cast(retype, value, type_of)


def _fits_decimal(retype: Retype, value: str, number: str) -> str:
    """Return whether a number fits a decimal column."""
    precision, scale = sizes_of(type_of(retype.after))
    rounded = f"round({number}, {scale})"
    is_plain = _is_number(value)
    if retype.before.data_type is DataType.DOUBLE:
        is_plain = conjoin(is_plain, f"abs({value}) < {_EXACT}")
    is_same = f"{rounded} = {number}" if retype.is_strict else TRUE
    return conjoin(is_plain, f"abs({rounded}) < {10 ** (precision - scale)}", is_same)


def _is_number(value: str) -> str:
    return f"CAST({value} AS text) NOT LIKE '%n%'"  # NaN, Infinity


def _text_of(column: Column, value: str) -> tuple[str, str]:
    """Return the condition under which PostgreSQL writes a value that is no text as Python does, and its text."""
    text = as_text(value, column)
    match column.data_type:
        case DataType.BINARY:
            return TRUE, f"replace(encode({value}, 'base64'), chr(10), '')"
        case DataType.JSON:
            return TRUE, rf"regexp_replace(CAST({value} AS text), {literal(_BLANK_IN_JSON)}, '\1\2', 'g')"
        case DataType.DOUBLE:
            return f"abs({value}) < 1e15", f"CASE WHEN {text} ~ '^-?[0-9]+$' THEN {text} || '.0' ELSE {text} END"
        case DataType.DECIMAL | DataType.WEI:
            # Python writes numbers below a millionth with an exponent.
            return conjoin(_is_number(value), f"(abs({value}) >= 0.000001 OR {value} = 0)"), plain_decimal(text)
        case _:
            naive = in_utc(column, value)
            written = f"to_char({naive}, 'YYYY-MM-DD\"T\"HH24:MI:SS')", f"to_char({naive}, '.US')"
            return shared_text(column, value, text, naive, written)
