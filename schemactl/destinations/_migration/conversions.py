"""How a SQL database converts values as dlt's coercion does, and which values it cannot convert so.

``schema.coercion`` is the rule. What ``convert`` calls fit is converted to the very value that ``coerce`` gives;
what is not fit is refused by ``coerce``, or loses something. Texts that the database cannot read as Python does (digits
of other scripts, ``2024-W05``, seconds as text) are spelled anew by ``coercing`` first; nothing is guessed.
Decimals become texts without the zeros that a column's scale pads them with, as their source most likely wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from schemactl.destinations._migration import moments, numbers, texts
from schemactl.destinations._migration.conversion import has_spellings, write_retype
from schemactl.destinations._migration.words import FALSE, Converted, Maker, Retype, Words, conjoin, is_short
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import DataType


def convert(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a value is converted.

    Args:
        retype: from what to what.
        value: the expression of the value; not null.
        words: of the database.
    """
    before, after = retype.before.data_type, retype.after.data_type
    kind = words.type_of(retype.after)
    if before is not None and after is not None:
        maker = _SAME.get(after, texts.unchanged) if before is after else _MAKERS.get((before, after))
        found = maker(retype, value, words) if maker is not None else None
    else:
        found = _convert_other(retype, value, words)
    if found is None:
        return Converted(FALSE, FALSE, f"CAST(NULL AS {kind})")
    if after is DataType.TEXT:  # a cast would cut what is too long
        check = conjoin(found.check, is_short(retype, found.value, "length"))
        return replace(_cast(found, words.text), check=check)
    return _cast(_or_anew(found, retype, value, words) if has_spellings(retype) else found, kind)


def _or_anew(found: Converted, retype: Retype, value: str, words: Words) -> Converted:
    """Return a conversion that also takes what only dlt's coercion can read."""
    anew = words.spelled_anew(value, written_retype(retype, words))
    if anew is None:
        return found
    match retype.after.data_type:
        case DataType.BINARY:
            made = words.unhex(anew)
        case DataType.JSON:
            made = words.to_json(anew)
        case _:
            made = anew
    return replace(found, anew=anew, anew_value=f"CAST({made} AS {words.type_of(retype.after)})")


def written_retype(retype: Retype, words: Words) -> str:
    """Return a retype as ``coercing.spelled_anew`` takes it: with the sizes that the database gives to decimals."""
    column = retype.after
    if column.data_type in (DataType.DECIMAL, DataType.WEI):
        precision, scale = numbers.sizes_of(column, words)
        column = replace(column, properties={**column.properties, "precision": precision, "scale": scale})
    return write_retype(replace(retype, after=column))


def _convert_other(retype: Retype, value: str, words: Words) -> Converted | None:
    """Return how values of a type that dlt does not know become texts, or the reverse; None for others."""
    is_text_after = retype.after.data_type is DataType.TEXT
    if not is_text_after and retype.before.data_type is not DataType.TEXT:
        return None
    other = retype.before if is_text_after else retype.after
    if not words.has_texts(other.properties.get(DATABASE_TYPE, "")):
        return None
    convert_text = texts.text_of_other if is_text_after else texts.other_of_text
    return convert_text(words.type_of(other), value, words)


def _cast(found: Converted, kind: str) -> Converted:
    quick = f"CAST({found.quick} AS {kind})" if found.quick else ""
    return replace(found, value=f"CAST({found.value} AS {kind})", quick=quick)


_SAME: Final[Mapping[DataType, Maker]] = {
    DataType.BIGINT: numbers.bigint_of_bigint,
    DataType.DECIMAL: numbers.decimal_of_decimal,
    DataType.WEI: numbers.decimal_of_decimal,
    DataType.BINARY: texts.short_binary,
    DataType.TIMESTAMP: moments.moment_of_moment,
    DataType.TIME: moments.time_of_time,
}
"""Types that come in sizes; others stay as they are."""

_MAKERS: Final[Mapping[tuple[DataType, DataType], Maker]] = {
    (DataType.TEXT, DataType.BIGINT): numbers.bigint_of_text,
    (DataType.TEXT, DataType.DOUBLE): numbers.double_of_text,
    (DataType.TEXT, DataType.DECIMAL): numbers.decimal_of_text,
    (DataType.TEXT, DataType.WEI): numbers.decimal_of_text,
    (DataType.TEXT, DataType.BOOL): numbers.bool_of_text,
    (DataType.TEXT, DataType.BINARY): texts.binary_of_text,
    (DataType.TEXT, DataType.JSON): texts.json_of_text,
    (DataType.TEXT, DataType.TIMESTAMP): moments.moment_of_text,
    (DataType.TEXT, DataType.DATE): moments.date_of_text,
    (DataType.TEXT, DataType.TIME): moments.time_of_text,
    (DataType.BIGINT, DataType.TEXT): texts.text_of_plain,
    (DataType.BIGINT, DataType.DOUBLE): numbers.double_of_bigint,
    (DataType.BIGINT, DataType.DECIMAL): numbers.decimal_of_bigint,
    (DataType.BIGINT, DataType.WEI): numbers.decimal_of_bigint,
    (DataType.BIGINT, DataType.BOOL): numbers.bool_of_number,
    (DataType.BIGINT, DataType.BINARY): texts.binary_of_bigint,
    (DataType.BIGINT, DataType.TIMESTAMP): moments.moment_of_number,
    (DataType.BIGINT, DataType.DATE): moments.date_of_number,
    (DataType.DOUBLE, DataType.TEXT): numbers.text_of_double,
    (DataType.DOUBLE, DataType.BIGINT): numbers.bigint_of_double,
    (DataType.DOUBLE, DataType.DECIMAL): numbers.decimal_of_double,
    (DataType.DOUBLE, DataType.WEI): numbers.decimal_of_double,
    (DataType.DOUBLE, DataType.BOOL): numbers.bool_of_number,
    (DataType.DOUBLE, DataType.TIMESTAMP): moments.moment_of_number,
    (DataType.DOUBLE, DataType.DATE): moments.date_of_number,
    (DataType.DECIMAL, DataType.TEXT): numbers.text_of_decimal,
    (DataType.DECIMAL, DataType.BIGINT): numbers.bigint_of_decimal,
    (DataType.DECIMAL, DataType.DOUBLE): numbers.double_of_decimal,
    (DataType.DECIMAL, DataType.WEI): numbers.decimal_of_decimal,
    (DataType.DECIMAL, DataType.BOOL): numbers.bool_of_number,
    (DataType.WEI, DataType.TEXT): numbers.text_of_decimal,
    (DataType.WEI, DataType.BIGINT): numbers.bigint_of_decimal,
    (DataType.WEI, DataType.DOUBLE): numbers.double_of_decimal,
    (DataType.WEI, DataType.DECIMAL): numbers.decimal_of_decimal,
    (DataType.WEI, DataType.BOOL): numbers.bool_of_number,
    (DataType.BOOL, DataType.TEXT): texts.text_of_bool,
    (DataType.BINARY, DataType.TEXT): texts.text_of_binary,
    (DataType.JSON, DataType.TEXT): texts.text_of_json,
    (DataType.TIMESTAMP, DataType.TEXT): moments.text_of_moment,
    (DataType.TIMESTAMP, DataType.DATE): moments.date_of_moment,
    (DataType.DATE, DataType.TEXT): moments.text_of_date,
    (DataType.DATE, DataType.TIMESTAMP): moments.moment_of_date,
    (DataType.TIME, DataType.TEXT): moments.text_of_time,
}
"""Every pair of types that can be coerced, as (from, to)."""
