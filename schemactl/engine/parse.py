"""Strict parsing of JSON texts into VARIANTs."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_END = "end of the document"


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


def is_blank(text: Column) -> Column:
    """Return whether a text holds nothing but what JSON takes for blank."""
    # `trim` with characters of its own goes through the whole text; this stops at the first character.
    return ~text.rlike(r"[^ \t\r\n]")
