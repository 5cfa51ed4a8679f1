"""Rows of texts as JSON documents: nothing is known of a table of texts but its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from schemactl.engine.spark.batches import Documents, TextRows
from schemactl.engine.spark.places import place_columns
from schemactl.engine.spark.sql import literal, quoted


def rows_as_documents(
    frame: DataFrame,
    cells: Mapping[str, str] | None = None,
    fault: Column | None = None,
    null_values: Sequence[str] = (),
) -> Documents:
    """Return rows of texts as documents, keys in the order of columns, empty cells left out.

    Args:
        frame: rows as they come out of a reader of files.
        cells: the columns that are taken of a row, by key; None for all of them under their names.
        fault: why a row is bad, in words that are not JSON; null for a good one.
        null_values: texts that mean null.
    """
    columns_by_key = {name: name for name in frame.columns} if cells is None else cells
    # As SQL text: thousands of columns take Python seconds one by one.
    texts = {name: quoted(name) for name in columns_by_key.values()}
    if null_values:
        listed = ", ".join(map(literal, null_values))
        of_text = {field.name for field in frame.schema.fields if isinstance(field.dataType, StringType)}
        texts |= {name: f"if({sql} in ({listed}), null, {sql})" for name, sql in texts.items() if name in of_text}
    fields = ", ".join(f"{literal(key)}, {texts[column]}" for key, column in columns_by_key.items())
    text = F.expr(f"to_json(named_struct({fields}), map('ignoreNullFields', 'true'))")
    if fault is not None:
        text = F.coalesce(fault, text)
    return Documents(
        frame.select(*place_columns(frame), text.alias("text")), TextRows(frame, texts, columns_by_key, fault)
    )
