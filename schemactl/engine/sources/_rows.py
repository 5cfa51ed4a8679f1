"""Rows of texts as JSON documents: what is known about a table of texts is what its texts tell."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemactl.engine.sources import Documents
from schemactl.engine.sources._place import place


def rows_as_documents(frame: DataFrame, surplus: str | None = None) -> Documents:
    """Return rows as documents, keys in the order of columns, empty cells left out.

    Args:
        frame: rows as they come out of a reader of files.
        surplus: the column of what has no column; a row with something there is bad.
    """
    cells = [F.col(_quoted(name)).alias(name) for name in frame.columns if name != surplus]
    text = F.to_json(F.struct(*cells))
    if surplus is not None:
        bad = F.concat(F.lit("more cells than columns: "), F.concat_ws(", ", *cells, surplus))
        text = F.when(F.col(surplus).isNull(), text).otherwise(bad)
    return Documents(frame.select(*place(), text.alias("text")))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
