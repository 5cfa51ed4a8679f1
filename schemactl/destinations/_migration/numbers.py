"""Conversions to and from numbers and truth."""

from __future__ import annotations

from schemactl.destinations._migration import forms
from schemactl.destinations._migration.words import (
    FALSE,
    TRUE,
    Converted,
    Retype,
    Words,
    by_cast,
    conjoin,
    trusted_and_readable,
    where,
)
from schemactl.destinations._session import literal
from schemactl.schema.types import Column


def _bounds(column: Column) -> tuple[int, int]:
    bits = min(int(column.properties.get("precision") or 64), 64)
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _in_range(wide: str, column: Column, words: Words) -> str:
    low, high = _bounds(column)
    return f"{wide} BETWEEN CAST('{low}' AS {words.wide}) AND CAST('{high}' AS {words.wide})"


def bigint_of_bigint(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a bigint becomes a bigint."""
    return by_cast(TRUE, _in_range(f"CAST({value} AS {words.wide})", retype.after, words), value)


def bigint_of_text(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a bigint."""
    trimmed = words.trim(value)
    plain = f"CAST(replace({trimmed}, '_', '') AS {words.wide})"
    hexadecimal = f"CAST({words.hexadecimal(trimmed)} AS {words.wide})"
    wide = f"CASE WHEN {trimmed} LIKE '0x%' THEN {hexadecimal} ELSE {plain} END"
    regex = forms.blank_around(f"({forms.INTEGER}|{forms.HEX})")
    form = conjoin(words.matches(value, regex), f"length({value}) < 38")
    digits = len(str(_bounds(retype.after)[1])) - 1
    usual = words.is_usual_integer(value, words.type_of(retype.after), digits)
    trusted = words.is_trusted_integer(value)
    check = _in_range(f"({wide})", retype.after, words)
    return Converted(form, check, wide, usual, trusted, value, _is_without(value, "x", "_"))


def _is_without(value: str, *marks: str) -> str:
    return " AND ".join(f"strpos({value}, {literal(mark)}) = 0" for mark in marks)


def bigint_of_double(retype: Retype, value: str, _: Words) -> Converted:
    """Return how a double becomes a bigint."""
    low, high = _bounds(retype.after)
    check = f"{value} = trunc({value}) AND {value} >= {low}e0 AND {value} < {high + 1}e0"
    return by_cast(TRUE, check, value)


def bigint_of_decimal(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a decimal becomes a bigint."""
    text = plain_decimal(value, words)
    wide = f"CAST({text} AS {words.wide})"
    form = words.matches(text, "-?[0-9]{1,37}")
    return Converted(form, _in_range(wide, retype.after, words), wide, quick=value, plain=TRUE)


def sizes_of(column: Column, words: Words) -> tuple[int, int]:
    """Return precision and scale of a decimal column's type."""
    _, _, sizes = words.type_of(column).partition("(")
    precision, _, scale = sizes.rstrip(")").partition(",")
    return int(precision), int(scale or 0)


def plain_decimal(value: str, words: Words) -> str:
    """Return the text of a decimal without zeros at its end."""
    text = f"CAST({value} AS {words.text})"
    return f"CASE WHEN {text} LIKE '%.%' THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def decimal_of_decimal(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a decimal becomes a decimal."""
    precision, scale = sizes_of(retype.after, words)
    rescaled = f"CAST({value} AS {words.type_of(retype.after)})"
    is_same = f"({plain_decimal(rescaled, words)}) = ({plain_decimal(value, words)})"
    check = where(words.fits_decimal(value, precision, scale), is_same if retype.is_strict else TRUE)
    return by_cast(_is_number(value, words), check, value)


def _is_number(value: str, words: Words) -> str:
    # PostgreSQL's numeric may hold NaN and Infinity
    return f"CAST({value} AS {words.text}) NOT LIKE '%n%'"


def decimal_of_bigint(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a bigint becomes a decimal."""
    precision, scale = sizes_of(retype.after, words)
    digits = precision - scale
    if digits >= 19:
        return by_cast(TRUE, TRUE, value)
    return by_cast(TRUE, f"abs(CAST({value} AS {words.wide})) < {10**digits}", value)


def decimal_of_double(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a double becomes a decimal."""
    precision, scale = sizes_of(retype.after, words)
    text = words.double_text(value)
    is_small = f"abs({value}) < {10 ** (precision - scale)}e0"  # and neither NaN nor infinite
    form = conjoin(is_small, words.is_python_text(value))
    found = f"CAST({text} AS {words.type_of(retype.after)})"
    is_same = f"CAST(CAST({found} AS {words.text}) AS {words.double}) = {value}"
    check = where(words.fits_decimal(text, precision, scale), is_same if retype.is_strict else TRUE)
    return by_cast(form, check, found)


def decimal_of_text(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a decimal."""
    precision, scale = sizes_of(retype.after, words)
    digits = precision - scale
    trimmed = words.trim(value)
    kind = words.type_of(retype.after)
    plain = f"CAST({trimmed} AS {kind})"
    number = f"[+-]?0*[0-9]{{0,{digits}}}([.][0-9]{{0,{scale}}}0*)?"
    is_plain = conjoin(
        words.matches(value, forms.blank_around(number)),
        words.matches(value, "[^0-9]*[0-9].*"),
        f"length({value}) < 150",
    )
    usual = _is_usual_decimal(value, digits, scale, words)
    trusted = words.is_trusted_decimal(value, scale)
    readable = words.is_readable(value, kind)
    if readable != FALSE:
        usual = trusted_and_readable(trusted, readable)
    if digits < 19:
        return Converted(is_plain, TRUE, plain, usual, trusted, quick=value, plain=TRUE)
    hexadecimal = f"CAST({words.hexadecimal(trimmed)} AS {kind})"
    form = f"({is_plain}) OR {words.matches(value, forms.blank_around(forms.HEX))}"
    value_of_form = f"CASE WHEN {trimmed} LIKE '0x%' THEN {hexadecimal} ELSE {plain} END"
    return Converted(form, TRUE, value_of_form, usual, trusted, value, _is_without(value, "x"))


def _is_usual_decimal(value: str, digits: int, scale: int, words: Words) -> str:
    # Counts of a regular expression are slow: the length says that neither side of the point has too many digits.
    if not digits:
        return FALSE
    is_integer = f"length({value}) <= {digits} AND strpos({value}, '.') = 0"
    is_number = words.matches(value, "-?[0-9]+([.][0-9]+)?")
    if not scale:
        return f"({is_integer} AND {is_number})"
    is_short = f"length({value}) <= {digits} AND length({value}) - strpos({value}, '.') <= {scale}"
    return f"(({is_integer} OR {is_short}) AND {is_number})"


def double_of_text(_: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a double."""
    trimmed = words.trim(value)
    regex = forms.blank_around(f"({forms.REAL}|{forms.LARGE_REAL}|{forms.NO_NUMBER}|{forms.HEX})")
    form = conjoin(words.matches(value, regex), f"length({value}) < 150")
    plain = f"CAST({trimmed} AS {words.double})"
    hexadecimal = f"CAST({words.hexadecimal(trimmed)} AS {words.double})"
    value_of_form = f"CASE WHEN {trimmed} LIKE '0x%' THEN {hexadecimal} ELSE {plain} END"
    usual, trusted = words.is_usual_real(value), words.is_trusted_real(value)
    return Converted(form, TRUE, value_of_form, usual, trusted, value, _is_without(value, "x"))


def double_of_bigint(_: Retype, value: str, words: Words) -> Converted:
    """Return how a bigint becomes a double."""
    return by_cast(TRUE, f"abs(CAST({value} AS {words.wide})) <= {2**53}", value)


def double_of_decimal(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a decimal becomes a double."""
    # By way of its text: DuckDB divides, and is wrong in the last digit.
    number = f"CAST(CAST({value} AS {words.text}) AS {words.double})"
    check = words.is_exact(value, words.double_text(number), words.type_of(retype.before))
    return by_cast(_is_number(value, words), check, number)


def bool_of_number(_: Retype, value: str, __: Words) -> Converted:
    """Return how a number becomes a bool."""
    return by_cast(TRUE, f"{value} IN (0, 1)", f"{value} <> 0")


def bool_of_text(_: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a bool."""
    yes, no = (", ".join(map(literal, each)) for each in (forms.YES, forms.NO))
    is_yes = f"lower({value}) IN ({yes})"
    form, trusted = f"lower({value}) IN ({yes}, {no})", words.is_trusted_bool(value)
    usual = trusted_and_readable(trusted, words.is_readable(value, "BOOLEAN"))
    return Converted(form, TRUE, is_yes, usual, trusted, value, TRUE)


def text_of_decimal(_: Retype, value: str, words: Words) -> Converted:
    """Return how a decimal becomes a text."""
    # Python writes numbers below a millionth with an exponent.
    plain = f"({plain_decimal(value, words)})"
    fraction = f"split_part({plain}, '.', 2)"
    digits = f"ltrim({fraction}, '0')"
    small = (
        f"CASE WHEN {plain} LIKE '-%' THEN '-' ELSE '' END || left({digits}, 1) "
        f"|| CASE WHEN length({digits}) > 1 THEN '.' || substr({digits}, 2) ELSE '' END "
        f"|| 'E-' || CAST(length({fraction}) - length({digits}) + 1 AS {words.text})"
    )
    is_small = words.matches(plain, "-?0[.]000000[0-9]*")
    return by_cast(_is_number(value, words), TRUE, f"CASE WHEN {is_small} THEN {small} ELSE {plain} END")


def text_of_double(_: Retype, value: str, words: Words) -> Converted:
    """Return how a double becomes a text."""
    return by_cast(words.is_python_text(value), TRUE, words.double_text(value))
