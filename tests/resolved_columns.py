"""Evidence of documents, and the types of the columns that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemactl.inference.evidence import Evidence, Position, observe
from schemactl.inference.resolve import Resolution


def evidence_of(documents: Iterable[Any], file: str = "data.jsonl") -> Evidence:
    """Return the evidence of the records of one file."""
    return observe((Position(file, number), document) for number, document in enumerate(documents, 1))


def types_of(resolution: Resolution, table: str = "data") -> dict[str, str]:
    """Return the types of a table's columns, without dlt's own columns."""
    columns = resolution.schema.tables[table].columns.values()
    return {column.name: str(column.data_type) for column in columns if not column.name.startswith("_dlt")}
