"""Rows of texts as JSON documents: what is known about a table of texts is what its texts tell."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemactl.engine.sources import Documents
from schemactl.engine.sources._place import place


def rows_as_documents(frame: DataFrame, bad: str | None = None) -> Documents:
    """Return rows as documents, keys in the order of columns, empty cells left out.

    Args:
        frame: rows as they come out of a reader of files.
        bad: the column that holds the text of a row that could not be read.
    """
    cells = [F.col(_quoted(name)).alias(name) for name in frame.columns if name != bad]
    text: Column = F.to_json(F.struct(*cells))
    if bad is not None:
        text = F.coalesce(F.col(_quoted(bad)), text)
    return Documents(frame.select(*place(), text.alias("text")))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
