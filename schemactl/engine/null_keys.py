"""Finds the keys of documents with a null somewhere: read as texts or numbers, a null is like a key that is absent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemactl.engine.codegen import whole_stages
from schemactl.engine.shapes import Shape
from schemactl.inference.paths import ELEMENT

MOST_KEYS: Final = 1_000
"""That are told; where data stands as text in data, there may be any number."""


def find_null_keys(texts: DataFrame, shape: Shape) -> frozenset[str] | None:
    """Return at least all keys of documents with a null somewhere; None where they are too many to tell.

    Args:
        texts: with ``text``, JSON documents.
        shape: everything that they can hold.
    """
    text, before = F.col("text"), F.col("before")
    pieces = texts.where(text.contains("null")).select(F.explode(F.split(text, "null")).alias("before"))
    # What follows the last null ends with no colon.
    is_key = F.substring_index(before, '"', -1).rlike(r"^[ \t\r\n]*:[ \t\r\n]*\z")
    key = F.substring_index(F.substring_index(before, '"', -2), '"', 1)
    with whole_stages(texts.sparkSession):
        rows = pieces.where(is_key).select(key.alias("key")).distinct().limit(MOST_KEYS + 1).collect()
    if len(rows) > MOST_KEYS:
        return None
    # A key with a quote or a null in it is cut there.
    cut = {step for path, _ in shape.walk() for step in path if step is not ELEMENT and ('"' in step or "null" in step)}
    return frozenset(_parsed(row.key for row in rows)) | cut


def _parsed(keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        # Within a text that quotes JSON the last quote may be escaped.
        with suppress(ValueError):
            yield json.loads(f'"{key}"')
