"""Renames that stand in each other's way: two columns that swap their names, a chain, a name that was another's.

The names are there before and afterwards, so only a person can say so: they count where ``x-renamed-from`` is new.
"""

from __future__ import annotations

from schemactl.schema.renames.pairing import RENAMED_FROM, origins
from schemactl.schema.types import Column, Table


def column_claims(table: Table, there: Table, last: Table) -> dict[str, str]:
    """Return new names by old ones, as the columns of a table state them for the first time.

    Args:
        table: as the schema has it.
        there: as it is.
        last: as the last schema had it.
    """
    claims: dict[str, str] = {}
    for column in table.columns.values():
        if not is_newly_stated(column, last.columns.get(column.name)):
            continue
        open_origins = (each for each in origins(column.properties) if each in there.columns and each not in claims)
        origin = next(open_origins, column.name)
        if origin != column.name:
            claims[origin] = column.name
    # A name that stays another's is not given away: then nothing says which values are meant.
    while stuck := [old for old in claims if old in table.columns and old not in claims.values()]:
        for old in stuck:
            del claims[old]
    return claims


def is_newly_stated(found: Table | Column, last: Table | Column | None) -> bool:
    """Return whether a table or column states a name that it did not state in the last schema."""
    stated = found.properties.get(RENAMED_FROM)
    return stated is not None and (last is None or last.properties.get(RENAMED_FROM) != stated)
