"""Propose the type and the patterns by which all texts of a column can be typed (docs/arc.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.fields import Boolean, Date, Decimal, Field, FieldType, Long, String, Timestamp
from schemactl.arc.text_columns import ColumnTyper

_NULLS: Final = ("", "N/A", "n/a", "NA", "NULL", "null", "None", "-")
"""Texts that mean null in a column of numbers, dates or truth values."""

_WORDS: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Y", "N"), ("t", "f"))
_NUMBERS: Final = (None, ("#,##0.###",), ("#,##0.###;(#,##0.###)",), ("#,##0.###;#,##0.###-",))
_DATES: Final = (
    "uuuu-MM-dd", "dd/MM/uuuu", "MM/dd/uuuu", "dd.MM.uuuu", "uuuu/MM/dd", "dd-MM-uuuu", "d/M/uuuu", "M/d/uuuu",
    "d.M.uuuu", "uuuuMMdd", "dd MMM uuuu", "d MMMM uuuu", "MMM d, uuuu",
)  # fmt: skip
_CLOCKS: Final = ("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm:ss.SSSSSS", "HH:mm", "h:mm a")
_MOMENTS: Final = (
    *(f"uuuu-MM-dd'T'{clock}{zone}" for zone in ("XXX", "") for clock in _CLOCKS),
    *(f"{date} {clock}{zone}" for zone in ("", "XXX", "Z") for date in _DATES for clock in _CLOCKS),
)
_NOT_A_NUMBER: Final = r"^\s*(?:\+|-?0\d)"
"""Texts that `infer` takes for codes and telephone numbers."""

_FRACTION: Final = r"\.(?P<digits>\d+)\D*$"
_MOST_PATTERNS: Final = 3


def propose(name: str, texts: pa.Array) -> Field:
    """Return the field that types all texts of a column without an error; of text if no other type fits.

    If day and month could change places (all texts are like ``01/02/2020``), the day comes first.

    Args:
        name: of the column.
        texts: of the column; some may be null.
    """
    distinct = pc.unique(texts.drop_null())
    stripped = pc.utf8_trim_whitespace(distinct)
    nulls = tuple(null for null in _NULLS if pc.any(pc.equal(stripped, null)).as_py())
    values = distinct.filter(pc.invert(pc.is_in(stripped, value_set=pa.array(nulls, pa.string()))))
    type_ = _type_of(values) if len(values) else None
    if type_ is None:
        return Field(name=name, type=String(), nullable=True)
    nullable = bool(texts.null_count or nulls)
    return Field(name=name, type=type_, nullable=nullable, trim=True, nullable_values=nulls)


def _type_of(values: pa.Array) -> FieldType | None:
    for words in _WORDS:
        if pc.all(pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(words))).as_py():
            return Boolean(*((word,) for word in words))
    if not pc.any(pc.match_substring_regex(values, _NOT_A_NUMBER)).as_py():
        digits = pc.struct_field(pc.extract_regex(values, _FRACTION), "digits")
        scale = pc.max(pc.utf8_length(digits)).as_py() or 0
        for patterns in _NUMBERS:
            number = Decimal(38, min(scale, 38), patterns) if scale else Long(patterns)
            if not pc.any(_is_error(values, number)).as_py():
                return number
    if (dates := _cover(values, _DATES, lambda pattern: Date((pattern,)))) is not None:
        return Date(dates)
    moments = _cover(values, _MOMENTS, lambda pattern: Timestamp((pattern,), "UTC"))
    return None if moments is None else Timestamp(moments, "UTC")


def _is_error(values: pa.Array, of: FieldType) -> pa.Array:
    return ColumnTyper(Field(name="", type=of, nullable=True, trim=True)).run(values).values.is_null()


def _cover(values: pa.Array, patterns: Sequence[str], of: Callable[[str], FieldType]) -> tuple[str, ...] | None:
    """Return the fewest patterns that type all texts, the one that fits most texts first; None if they cannot."""
    chosen: list[str] = []
    # Patterns that fit none of the first texts are left out.
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
