"""Refuses columns that keep structure (``x-spark-type``) where a destination has no types for them."""

from __future__ import annotations

from schemactl.errors import DestinationError, Problem
from schemactl.normalization.nested_schema import structures_in
from schemactl.schema.types import Schema


def refuse_structure(schema: Schema, shown: str) -> None:
    """Find out whether a schema keeps structs or lists.

    Args:
        schema: what is to be loaded.
        shown: the destination, for people.

    Raises:
        DestinationError: it does.
    """
    found = tuple(
        Problem(f"column `{table.name}.{column.name}` is {column.properties['x-spark-type']}")
        for table, column in structures_in(schema)
    )
    if found:
        hint = "load into a folder of Parquet, `--to parquet:FOLDER`, or use the normalizer `relational`"
        raise DestinationError(f"structs and lists cannot be loaded into `{shown}`", problems=found, hint=hint)
