"""Strict parsing of JSON texts into VARIANTs."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

LARGE_MARK = "\ufdd0"
"""How a text begins that stands for a large integer; Unicode keeps the character out of data."""

_END = "end of the document"
_LARGE = "(?:9[2-9][0-9]{17}|[1-9][0-9]{19})"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRING_OR_LARGE = rf"({_STRING})|(?<![0-9.eE+-])(-?{_LARGE}[0-9]{{0,980}}+)(?=[ \t\r\n]*(?:[,\]}}]|\z))"
_OPEN, _CLOSE = "\x01", "\x02"


def parse_json(text: Column) -> Column:
    """Return the VARIANT of a JSON text, null where the text is no JSON, or no Unicode.

    Spark's parser overlooks what follows a document, so the text is parsed as the first of two elements of a list: a
    text that closes the list early, or goes on after its document, does not leave the second one in its place.
    """
    wrapped = F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{_END}"]')))
    is_alone = (F.try_variant_get(wrapped, "$[1]", "string") == _END) & F.try_variant_get(
        wrapped, "$[2]", "variant"
    ).isNull()
    return F.when(
        F.is_valid_utf8(text) & ~_has_lone_surrogate(text) & is_alone, F.try_variant_get(wrapped, "$[0]", "variant")
    )


def _has_lone_surrogate(text: Column) -> Column:
    """Return whether the first half of an escaped pair lacks its second; Spark and orjson see to the other case."""
    may_have = text.contains(r"\ud") | text.contains(r"\uD")
    return may_have & text.rlike(r"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


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


def is_blank(text: Column) -> Column:
    """Return whether a text holds nothing but what JSON takes for blank."""
    # `trim` with characters of its own goes through the whole text; this stops at the first character.
    return ~text.rlike(r"[^ \t\r\n]")
