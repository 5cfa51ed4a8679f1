"""What a table is nested in, by the tables that a schema names as parents."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.schema.types import Schema


def chain_of(schema: Schema, name: str | None) -> Iterator[str]:
    """Yield the name of a table and of what it is nested in, up to the root table; a circle ends where it closes.

    The last name is none of the schema's where a parent is missing.
    """
    seen: set[str] = set()
    while name is not None and name not in seen:
        yield name
        seen.add(name)
        table = schema.tables.get(name)
        name = table.parent if table else None


def ancestors(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the names of the tables that a table is nested in, the nearest first."""
    return tuple(chain_of(schema, name))[1:]


def root_of(schema: Schema, name: str) -> str:
    """Return the name of the table at the top of what a table is nested in: its own where it is nested in none."""
    return (name, *ancestors(schema, name))[-1]
