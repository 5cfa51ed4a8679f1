"""Engine 5 stores schemas at the destination: dlt's own tables get other columns."""

from __future__ import annotations

from typing import Any

from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, loads_table, version_table


def upgrade(stored: dict[str, Any]) -> None:
    """Put today's templates in place of both tables of dlt's, as dlt does."""
    stored["tables"][VERSION_TABLE] = version_table().to_dict()
    stored["tables"][LOADS_TABLE] = loads_table().to_dict()
