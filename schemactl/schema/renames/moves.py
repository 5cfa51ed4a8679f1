"""Renames that stand in each other's way: two columns or tables that swap names, a chain, a name that was another's.

The names are there before and afterwards, so only a person can say so: they count where ``x-renamed-from`` is new.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemactl.schema.nesting import ancestors
from schemactl.schema.renames.pairing import RENAMED_FROM, origins
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Schema, Table


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


def table_claims(catalogue: Schema, schema: Schema, known: Schema) -> dict[str, str]:
    """Return new names by old ones, as tables state them for the first time.

    Files order tables freely, so of two that state one name the first by name counts.

    Args:
        catalogue: the tables as they are.
        schema: the tables as they shall be.
        known: the last schema.
    """
    claims: dict[str, str] = {}
    for name in sorted(schema.tables):
        table, last = schema.tables[name], known.tables.get(name)
        if not _has_columns(table) or not is_newly_stated(table, last):
            continue
        open_origins = (each for each in origins(table.properties) if each in catalogue.tables and each not in claims)
        origin = next(open_origins, name)
        if origin != name:
            claims[origin] = name
    # A name that stays another's is not given away: then nothing says which rows are meant.
    while stuck := [old for old in claims if _stays(old, claims, catalogue, schema)]:
        for old in stuck:
            del claims[old]
    return claims


def _stays(name: str, claims: Mapping[str, str], catalogue: Schema, schema: Schema) -> bool:
    """Return whether the schema has a table of this name that is still the same one; nested ones go with parents."""
    is_left = any(parent in claims for parent in ancestors(catalogue, name))
    return name in schema.tables and name not in claims.values() and not is_left


def _has_columns(table: Table) -> bool:
    return any(column.is_complete or DATABASE_TYPE in column.properties for column in table.columns.values())


def is_newly_stated(found: Table | Column, last: Table | Column | None) -> bool:
    """Return whether a table or column states a name that it did not state in the last schema."""
    stated = found.properties.get(RENAMED_FROM)
    return stated is not None and (last is None or last.properties.get(RENAMED_FROM) != stated)
