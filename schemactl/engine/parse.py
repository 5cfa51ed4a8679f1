"""Strict parsing of JSON texts into VARIANTs."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_END = "end of the document"


def parse_json(text: Column) -> Column:
    """Return the VARIANT of a JSON text, null where the text is no JSON.

    Spark's parser overlooks what follows a document, so the text is parsed as the first of two elements of a list: a
    text that closes the list early, or goes on after its document, does not leave the second one in its place.
    """
    wrapped = F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{_END}"]')))
    is_alone = (F.try_variant_get(wrapped, "$[1]", "string") == _END) & F.try_variant_get(
        wrapped, "$[2]", "variant"
    ).isNull()
    return F.when(is_alone, F.try_variant_get(wrapped, "$[0]", "variant"))
