"""Propose the type and the patterns that can type all texts of a column (docs/arc.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.fields import Boolean, Date, Decimal, Field, FieldType, Long, String, Timestamp
from schemactl.arc.number_columns import to_american
from schemactl.arc.text_columns import ColumnTyper
from schemactl.schema.text_looks import ANY_LOOK, CURRENCIES

_NULLS: Final = ("", "N/A", "n/a", "NA", "NULL", "null", "None", "-")
"""Texts that mean null in a column of numbers, dates or truth values."""

_WORDS: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Y", "N"), ("t", "f"))
_NUMBERS: Final = (None, ("#,##0.###",), ("#,##0.###;(#,##0.###)",), ("#,##0.###;#,##0.###-",))
_DATES: Final = (
    "uuuu-MM-dd", "dd/MM/uuuu", "MM/dd/uuuu", "dd.MM.uuuu", "uuuu/MM/dd", "dd-MM-uuuu", "MM-dd-uuuu", "d/M/uuuu",
    "M/d/uuuu", "d.M.uuuu", "d-M-uuuu", "M-d-uuuu", "uuuu.MM.dd", "uuuuMMdd", "dd MMM uuuu", "d MMM uuuu",
    "d-MMM-uuuu", "d MMMM uuuu", "MMM d, uuuu", "MMMM d, uuuu",
)  # fmt: skip
_CLOCKS: Final = ("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm:ss.SSSSSS", "HH:mm", "h:mm a")
_MOMENTS: Final = (
    *(f"uuuu-MM-dd'T'{clock}{zone}" for zone in ("XXX", "") for clock in _CLOCKS),
    *(f"{date} {clock}{zone}" for zone in ("", "XXX", "Z") for date in _DATES for clock in _CLOCKS),
)
_NOT_A_NUMBER: Final = r"^\s*(?:\+|-?0\d)"
"""Texts that `infer` treats as codes and telephone numbers."""

_FRACTION: Final = r"\.(?P<digits>\d+)\D*$"
_MOST_PATTERNS: Final = 3


LEAST_SHARE: Final = 0.8
"""The share of a column's strings that must have a type so that the remaining strings count as exceptions."""


@dataclass(frozen=True, slots=True)
class DraftedField:
    """A field that types most texts of a column.

    Attributes:
        texts: how many there are.
        exceptions: how many of them it cannot type.
        first_exception: the first of these; None for none.
        is_ambiguous: whether day and month could change places in all its dates.
    """

    field: Field
    texts: int
    exceptions: int
    first_exception: str | None
    is_ambiguous: bool


class DateOrder(StrEnum):
    """The order of day and month in numeric dates."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


def propose(name: str, texts: pa.Array, order: DateOrder | None = None) -> Field:
    """Return the field that types all texts of a column without an error; of text if no other type fits.

    If day and month could change places (all texts are like ``01/02/2020``) and ``order`` is None, the day comes first.
    """
    distinct = pc.unique(texts.drop_null())
    stripped = pc.utf8_trim_whitespace(distinct)
    nulls = tuple(null for null in _NULLS if pc.any(pc.equal(stripped, null)).as_py())
    values = distinct.filter(pc.invert(pc.is_in(stripped, value_set=pa.array(nulls, pa.string()))))
    type_ = _type_of(values, order) if len(values) else None
    if type_ is None:
        return Field(name=name, type=String(), nullable=True)
    nullable = bool(texts.null_count or nulls)
    return Field(name=name, type=type_, nullable=nullable, trim=True, nullable_values=nulls)


def draft(name: str, texts: pa.Array, order: DateOrder | None = None) -> DraftedField:
    """Return the field that types the strings of a column, or most of them if these look like dates, money or numbers.

    Nulls are allowed, because later strings may be missing. See ``propose`` for the arguments.
    """
    field = propose(name, texts, order)
    typed_texts = texts
    if isinstance(field.type, String):
        alike = texts.filter(pc.match_substring_regex(texts, f"{ANY_LOOK}|{_PLAIN_VALUE}"))
        if len(alike) >= LEAST_SHARE * (len(texts) - texts.null_count):
            field, typed_texts = propose(name, alike, order), alike
    is_ambiguous = order is None and has_ambiguous_dates(typed_texts, field)
    field = replace(field, nullable=True)
    typed = ColumnTyper(field).run(texts)
    exceptions = texts.filter(typed.messages.is_valid())
    first = exceptions[0].as_py() if len(exceptions) else None
    return DraftedField(field, len(texts) - texts.null_count, len(exceptions), first, is_ambiguous)


_PLAIN_VALUE: Final = r"^[ \t]*(?:-?[0-9]+(?:\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.Z+-]+)?)[ \t]*$"
"""Numbers and ISO dates, which other texts of a column may look like."""


def has_ambiguous_dates(texts: pa.Array, field: Field) -> bool:
    """Return whether day and month could change places in the texts of a proposed field."""
    if not isinstance(field.type, Date | Timestamp):
        return False
    day_first, month_first = (propose(field.name, texts, order) for order in DateOrder)
    if not (type(day_first.type) is type(month_first.type) is type(field.type)):
        return False
    values = [ColumnTyper(candidate).run(texts).values for candidate in (day_first, month_first)]
    return bool(pc.any(pc.not_equal(*values)).as_py())


def _type_of(values: pa.Array, order: DateOrder | None) -> FieldType | None:
    for words in _WORDS:
        if pc.all(pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(words))).as_py():
            return Boolean(*((word,) for word in words))
    if not pc.any(pc.match_substring_regex(values, _NOT_A_NUMBER)).as_py():
        digits = pc.struct_field(pc.extract_regex(values, _FRACTION), "digits")
        scale = pc.max(pc.utf8_length(digits)).as_py() or 0
        for patterns in _NUMBERS:
            number = Decimal(38, min(scale, 38), patterns) if scale else Long(patterns)
            if patterns is not None and not _has_valid_groups(pc.replace_substring_regex(values, "[-() \t]", "")):
                break
            if not pc.any(_is_error(values, number)).as_py():
                return number
    if (amount := _amount_type(values)) is not None:
        return amount
    dates = [pattern for pattern in _DATES if _has_order(pattern, order)]
    if (covering := _cover(values, dates, lambda pattern: Date((pattern,)))) is not None:
        return Date(covering)
    moments = [pattern for pattern in _MOMENTS if _has_order(pattern, order)]
    covering = _cover(values, moments, lambda pattern: Timestamp((pattern,), "UTC"))
    return None if covering is None else Timestamp(covering, "UTC")


def _has_order(pattern: str, order: DateOrder | None) -> bool:
    """Return whether a pattern of dates puts day and month in an order, or does not begin with either as a number."""
    begins = re.match(r"(d{1,2}|M{1,2})[/-](?:M{1,2}|d{1,2})[/-]", pattern)
    return order is None or begins is None or begins[1].startswith("d" if order is DateOrder.DAY_FIRST else "M")


_AMOUNT: Final = (
    r"^(?P<before>[^0-9.,]{0,8})(?P<number>[0-9](?:[0-9.,'’ \x{a0}\x{202f}]{0,40}[0-9])?)(?P<after>[^0-9.,]{0,8})$"
)
_UNIT: Final = re.compile(rf"[ \u00a0\u202f]?(?:{CURRENCIES}|%)[ \u00a0\u202f]?")
_MOST_FORMS: Final = 12
"""Combinations of currency and sign in one column."""


def has_decimal_comma(field: Field) -> bool:
    """Return whether a proposed field reads commas as decimal separators."""
    return isinstance(field.type, Decimal) and field.type.decimal_separator == ","


def draft_with_decimal_comma(drafted: DraftedField, texts: pa.Array) -> DraftedField:
    """Return the draft of a column of a file whose numbers have decimal commas.

    If all texts are like ``1.234``, their points divide thousands there.
    """
    values = pc.utf8_trim_whitespace(pc.unique(texts.drop_null()))
    if not len(values) or not pc.all(pc.match_substring_regex(values, r"^-?[0-9]{1,3}(?:\.[0-9]{3})+$")).as_py():
        return drafted
    amount = _amount_type(values, (",",))
    return drafted if amount is None else replace(drafted, field=replace(drafted.field, type=amount))


def _amount_type(values: pa.Array, separators: Sequence[str | None] = (None, ",", ".")) -> Decimal | None:
    """Return the decimal that types amounts of money, percentages and numbers with separators; None for other texts."""
    parts = pc.extract_regex(pc.utf8_trim_whitespace(values), _AMOUNT)
    if parts.null_count:
        return None
    before, number, after = (pc.struct_field(parts, name) for name in ("before", "number", "after"))
    affixes = pc.unique(pc.binary_join_element_wise(before, after, "\n")).to_pylist()
    if len(affixes) > _MOST_FORMS or pc.any(pc.match_substring_regex(number, "^0[0-9]")).as_py():
        return None
    formatters: dict[str, None] = {}
    for prefix, _, suffix in (affix.partition("\n") for affix in affixes):
        positive_prefix, positive_suffix = (re.sub("[-+()]", "", affix) for affix in (prefix, suffix))
        units = [unit for unit in (positive_prefix, positive_suffix) if unit]
        if len(units) > 1 or not all(map(_UNIT.fullmatch, units)) or "+" in prefix + suffix:
            return None
        form = "#,##0.###"
        positive = f"{_quoted(positive_prefix)}{form}{_quoted(positive_suffix)}"
        is_positive = (prefix.removeprefix("-"), suffix) == (positive_prefix, positive_suffix)
        formatters[positive if is_positive else f"{positive};{_quoted(prefix)}{form}{_quoted(suffix)}"] = None
    has_percent = any("%" in affix for affix in affixes)
    for separator in separators:
        american = number if separator is None else to_american(number, separator)
        fractions = pc.struct_field(pc.extract_regex(american, _FRACTION), "digits")
        digits = pc.max(pc.utf8_length(fractions)).as_py() or 0
        amount = Decimal(38, min(digits + 2 if has_percent else max(digits, 2), 38), tuple(formatters), separator)
        if _has_valid_groups(american) and not pc.any(_is_error(values, amount)).as_py():
            return amount
    return None


def _has_valid_groups(numbers: pa.Array) -> bool:
    """Return whether commas divide groups of three digits, in which case they are not decimal separators."""
    return bool(
        pc.all(pc.match_substring_regex(numbers, r"^(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?$")).as_py()
    )


def _quoted(affix: str) -> str:
    """Return an affix as a pattern writes it, with letters in quotes: an ``E`` would be an exponent."""
    return re.sub("[A-Za-z]+", r"'\g<0>'", affix)


def _is_error(values: pa.Array, of: FieldType) -> pa.Array:
    return ColumnTyper(Field(name="", type=of, nullable=True, trim=True)).run(values).values.is_null()


def _cover(values: pa.Array, patterns: Sequence[str], of: Callable[[str], FieldType]) -> tuple[str, ...] | None:
    """Return the smallest set of patterns that type all texts, best pattern first; None if no set does."""
    chosen: list[str] = []
    # Drop patterns that fit no string of the sample.
    first_values = values.slice(0, 50)
    likely = [pattern for pattern in patterns if not pc.all(_is_error(first_values, of(pattern))).as_py()]
    while len(values) and len(chosen) < _MOST_PATTERNS:
        errors = {pattern: _is_error(values, of(pattern)) for pattern in likely if pattern not in chosen}
        best = min(errors, key=lambda pattern: errors[pattern].true_count, default=None)
        if best is None or errors[best].true_count == len(values):
            return None
        chosen.append(best)
        values = values.filter(errors[best])
    return None if len(values) else tuple(chosen)
