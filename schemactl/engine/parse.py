"""Strict parsing of JSON texts into VARIANTs."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex

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
    return F.when(_is_unicode(text) & is_alone, F.try_variant_get(wrapped, "$[0]", "variant"))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Two keys that no data holds, made up anew each time: what follows a document shows as a third key beside them.

    To look into a VARIANT copies it; this tells the documents of many records from others without that.
    """

    key: str = field(default_factory=lambda: f"k{token_hex(4)}")

    def wrap(self, text: Column) -> Column:
        """Return the VARIANT of an object with a JSON text in it, null where it does not parse."""
        return F.try_parse_json(F.concat(F.lit(f'{{"{self.key}a":'), text, F.lit(f',"{self.key}b":0}}')))

    def checked(self, text: Column, wrapped: Column) -> Column:
        """Return the same object, null where the text is none, or no Unicode, as well."""
        is_closed = F.try_variant_get(wrapped, f"$.{self.key}b", "int").isNotNull()
        return F.when(_is_unicode(text) & is_closed, wrapped)

    def unwrap(self, shape: str) -> str | None:
        """Return the shape of the texts, of that of the objects; None where something followed a document."""
        # The keys of a shape are sorted.
        start, end = f"OBJECT<{self.key}a: ", f", {self.key}b: BIGINT>"
        return shape[len(start) : -len(end)] if shape.startswith(start) and shape.endswith(end) else None


def _is_unicode(text: Column) -> Column:
    return F.is_valid_utf8(text) & ~_has_lone_surrogate(text)


def _has_lone_surrogate(text: Column) -> Column:
    """Return whether the first half of an escaped pair lacks its second; Spark and orjson see to the other case."""
    may_have = text.contains(r"\u") & (text.contains(r"\ud") | text.contains(r"\uD"))
    return may_have & text.rlike(r"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


def is_blank(text: Column) -> Column:
    """Return whether a text holds nothing but what JSON takes for blank."""
    # `trim` with characters of its own goes through the whole text; this stops at the first character.
    return ~text.rlike(r"[^ \t\r\n]")
