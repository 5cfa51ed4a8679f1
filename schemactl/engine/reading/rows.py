"""Rows of texts as JSON documents: what is known about a table of texts is what its texts tell."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemactl.engine.input_formats import Documents
from schemactl.engine.reading.places import place_columns


def rows_as_documents(
    frame: DataFrame, cells: Sequence[Column] | None = None, fault: Column | None = None
) -> Documents:
    """Return rows as documents, keys in the order of columns, empty cells left out.

    Args:
        frame: rows as they come out of a reader of files.
        cells: what is taken of a row, under the names of keys; None for all of it.
        fault: why a row is bad, in words that are no JSON; null for a good one.
    """
    if cells is None:
        cells = [F.col(_quoted(name)).alias(name) for name in frame.columns]
    text = F.to_json(F.struct(*cells))
    if fault is not None:
        text = F.coalesce(fault, text)
    return Documents(frame.select(*place_columns(), text.alias("text")))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
