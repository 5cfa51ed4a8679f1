"""Large integers, past 64 bits, on their way through JSON documents: Spark has no type that keeps them.

A VARIANT holds such an integer as a decimal or a double: its last digits are gone, or it is told no more from a number
like ``1e19``. So they are put in the documents as marked texts before these are parsed, and taken for what they are
afterwards.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.sql import literal

LARGE_MARK: Final = "\ufdd0"
"""How a text begins that stands for a large integer; Unicode keeps the character out of data.

A text that holds it all the same is a text, unless nothing but the digits of a large integer follows.
"""

_DIGITS = "-?[0-9]{19,1000}"
_MARKED = rf"^{LARGE_MARK}{_DIGITS}\z"
_MARKED_IN_JSON = f'"{LARGE_MARK}({_DIGITS})"'
_LARGE = "(?:9[2-9][0-9]{17}|[1-9][0-9]{19})"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRING_OR_LARGE = rf"({_STRING})|(?<![0-9.eE+-])(-?{_LARGE}[0-9]{{0,980}}+)(?=[ \t\r\n]*(?:[,\]}}]|\z))"
_OPEN, _CLOSE = "\x01", "\x02"


def mark_large_integers(text: Column) -> Column:
    """Return a JSON text with its integers past 64 bits, up to 1,000 digits, as texts of ``LARGE_MARK`` and the digits.

    A VARIANT holds such an integer as a decimal or a double: its last digits are gone, or it is told no more from a
    number like ``1e19``. What is no JSON stays none.
    """
    marked = F.regexp_replace(text, _STRING_OR_LARGE, f"$1{_OPEN}$2{_CLOSE}")
    for mark, put in ((_OPEN + _CLOSE, ""), (_OPEN, f'"{LARGE_MARK}'), (_CLOSE, '"')):
        marked = F.replace(marked, F.lit(mark), F.lit(put))
    # JSON has no bare control characters; a text that does has to stay as bad as it is.
    can_mark = may_hold_large_integer(text) & ~text.rlike(f"[{_OPEN}{_CLOSE}]")
    return F.when(can_mark, marked).otherwise(text)


def may_hold_large_integer(text: Column) -> Column:
    """Return whether ``mark_large_integers`` may find something in a text."""
    # So many digits are soon looked for, and seldom there.
    return text.rlike(r"\d{19}") & text.rlike(_LARGE)


def is_marked(text: Column) -> Column:
    """Return whether a text stands for a large integer; false for null."""
    # The first test is the cheap one, and most texts end there.
    return F.coalesce(text.startswith(LARGE_MARK) & text.rlike(_MARKED), F.lit(False))


def unmarked_json(text: Column) -> Column:
    """Return a JSON text with its large integers as they were before ``mark_large_integers``."""
    return F.when(text.contains(LARGE_MARK), F.regexp_replace(text, _MARKED_IN_JSON, "$1")).otherwise(text)


def unmarked_json_sql(text: str) -> str:
    """Return SQL for ``unmarked_json``."""
    return f"regexp_replace({text}, {literal(_MARKED_IN_JSON)}, '$1')"


def marked_digits_sql(text: str) -> str:
    """Return SQL for the digits of the large integer that a text stands for, null for other texts."""
    is_large = f"startswith({text}, {literal(LARGE_MARK)}) and rlike({text}, {literal(_MARKED)})"
    return f"if({is_large}, substring({text}, 2), null)"


def unmarked_sql(text: str) -> str:
    """Return SQL for a text, or the digits of the large integer that it stands for."""
    return f"coalesce({marked_digits_sql(text)}, {text})"
