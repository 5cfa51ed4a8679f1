"""Reads the fields of a dataclass, for documents and ledgers; nested dataclasses stay as they are."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def field_values(record: Any) -> dict[str, Any]:
    """Return the values of a dataclass by field; ``dataclasses.asdict`` would copy and convert them.

    >>> from schemactl.errors import Location
    >>> field_values(Location("orders.csv", 3))["line"]
    3
    """
    return {field.name: getattr(record, field.name) for field in fields(record)}
