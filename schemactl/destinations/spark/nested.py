"""Structs, lists and maps in tables of a Spark catalogue: what columns of a load and those there make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemactl.destinations._structure import Clash, cut, first_difference, gained, grown
from schemactl.schema.nested_types import NestedType, read_type, structure_of, write_type
from schemactl.schema.types import Column, Table


@dataclass(frozen=True, slots=True)
class Growing:
    """A column gets a new field inside.

    Attributes:
        field: its path below the column; the first one, where there are several.
    """

    field: str


def outgrown(column: Column, there: str) -> Growing | str | None:
    """Return what keeps a column from taking a load's values as it is: a new field, or in words why it cannot at all.

    Args:
        column: of the load.
        there: its type in the catalog, as Spark writes it.
    """
    from schemactl.engine.catalogue import column_type

    wanted = column_type(column)
    if there == wanted:
        return None
    after = _after(column, there)
    if after is None:
        return _misfit(column, there) or f"is {cut(wanted)}, and {cut(there)}"
    fields = gained(read_type(there), after)
    return Growing(fields[0]) if fields else None


def structures_after(table: Table, held: Mapping[str, str]) -> Mapping[str, NestedType]:
    """Return what columns keep their objects and lists in after a load, those alone that are there.

    Args:
        table: of the load.
        held: the types of the columns that are there, as Spark writes them.
    """
    columns = (column for column in table.columns.values() if column.is_complete and column.name in held)
    found = {column.name: _after(column, held[column.name]) for column in columns}
    return {name: of for name, of in found.items() if of is not None}


def _after(column: Column, there: str) -> NestedType | None:
    """Return the type that holds what is there and what comes; None where there is none, or no structure."""
    from schemactl.engine.stored_types import ddl_of

    ours = structure_of(column)
    if ours is None:
        return None
    try:
        held = read_type(there)
    except ValueError:  # a type of Spark's that nested data is not kept in
        return None
    # The schema's DDL has integers and floats of one size alone: what it does not say stays as it is.
    found = grown(held, ours) if ddl_of(held) == there else Clash("", held, ours)
    return None if isinstance(found, Clash) else read_type(write_type(found, has_comments=False))


def _misfit(column: Column, there: str) -> str | None:
    """Return in words which field of a column is not as it is in the catalog; None where it holds no structure."""
    ours = structure_of(column)
    if ours is None:
        return None
    try:
        found = first_difference(read_type(there), ours)
    except ValueError:
        return None
    return None if found is None else f"has {found}"
