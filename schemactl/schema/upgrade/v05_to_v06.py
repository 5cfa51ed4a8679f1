"""Engine 6 notes the schema's hash with each load: the table of loads gets another column."""

from __future__ import annotations

from typing import Any

from schemactl.schema.templates import LOADS_TABLE, loads_table


def upgrade(stored: dict[str, Any]) -> None:
    """Put today's template in place of the table of loads, as dlt does."""
    stored["tables"][LOADS_TABLE] = loads_table().to_dict()
