"""Brings a destination's catalog and what it is compared with to what both can hold."""

from __future__ import annotations

from dataclasses import replace

from schemactl.flows.references import Referred
from schemactl.schema.changes import Change, ColumnsReordered
from schemactl.schema.structure import structure_of
from schemactl.schema.types import Column, Properties, Schema


def comparable(base: Referred, head: Referred) -> tuple[Schema, Schema]:
    """Return two schemas, of which one is a catalog at least, such that what differs is drift.

    Two catalogs of one kind of destination are compared as they are.
    """
    kinds = [side.destination for side in (base, head) if side.destination]
    if len(kinds) == 2 and kinds[0] is kinds[1]:
        return base.schema, replace(head.schema, name=base.schema.name)

    def stored(column: Column) -> Properties:
        for kind in kinds:
            column = Column(column.name, kind.stored(column))
        return column.properties

    name = (head if base.destination else base).schema.name
    sides = structure_of(base.schema, head.schema, stored), structure_of(head.schema, base.schema, stored)
    return replace(sides[0], name=name), replace(sides[1], name=name)


def reported(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes that say something of a catalog: its columns stand in the order in which they were made."""
    return tuple(change for change in changes if not isinstance(change, ColumnsReordered))
