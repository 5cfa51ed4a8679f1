"""Renames of tables that stand in each other's way: two that swap their names, a chain, a name that was another's.

As those of columns (``moves``), they count where ``x-renamed-from`` is new since the last schema of the ledger. Tables
nested in them follow: their rows belong to those of their parents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from schemactl.migration.moves import free_name
from schemactl.schema.changes import TableRenamed
from schemactl.schema.renames import table_claims
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema, Table

_KEPT: Final = re.compile(r"(.+?)__before_[1-9]\d*(__.+)?")


def table_moves_of(
    catalogue: Schema, schema: Schema, known: Schema | None, limits: NameLimits
) -> tuple[TableRenamed, ...]:
    """Return the renames of tables, where one of them takes a name that is there.

    A table whose name another one takes, and that gets none itself, is kept beside it.
    """
    claims = table_claims(catalogue, schema, known) if known is not None else {}
    if not any(new in catalogue.tables for new in claims.values()):
        return ()
    moves = _with_all_that_move(claims, catalogue, schema, limits)
    return tuple(
        TableRenamed(old, new, is_stated=old in claims, follows_parent=_follows(old, new, catalogue, moves))
        for old, new in moves.items()
    )


def renamed(schema: Schema, moves: Iterable[TableRenamed]) -> Schema:
    """Return a schema whose tables have the names that they move to; a table that lost its name to one is left out."""
    names = {move.before: move.after for move in moves}
    if not names:
        return schema
    tables = {name: table for name, table in schema.tables.items() if name not in names}
    for old, new in names.items():
        if old in schema.tables:
            tables[new] = replace(schema.tables[old], name=new)
    return replace(schema, tables={name: _under(table, names) for name, table in tables.items()})


def settled(moves: Iterable[TableRenamed], others: Iterable[TableRenamed]) -> Iterator[TableRenamed]:
    """Yield all renames of tables, each from the name that is there to the last one."""
    further = {change.before: change for change in others}
    for move in moves:
        last = further.pop(move.after, None)
        yield move if last is None else replace(last, before=move.before)
    yield from further.values()


def kept_table_origin(name: str) -> str | None:
    """Return the table whose name an earlier plan gave away; ``name`` is what it was kept as, or nested in it."""
    match = _KEPT.fullmatch(name)
    return match[1] if match else None


def _with_all_that_move(
    claims: Mapping[str, str], catalogue: Schema, schema: Schema, limits: NameLimits
) -> Mapping[str, str]:
    """Return new names by old ones, with nested tables that follow, and tables that make room."""
    moves = dict(claims)
    taken = {*catalogue.tables, *schema.tables}
    while True:
        following = next(_following(moves, catalogue, schema), None)
        if following is not None:
            old, new = following
            is_free = new not in moves.values() and (limits.max_bytes is None or len(new.encode()) <= limits.max_bytes)
            moves[old] = new if is_free else free_name(new, "before", {*taken, *moves.values()}, limits)
            continue
        displaced = next((new for new in moves.values() if new in catalogue.tables and new not in moves), None)
        if displaced is None:
            return moves
        moves[displaced] = free_name(displaced, "before", {*taken, *moves.values()}, limits)


def _following(moves: Mapping[str, str], catalogue: Schema, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield nested tables that have not moved with their parents yet, with their new names."""
    for name, table in catalogue.tables.items():
        parent = table.parent
        if name in moves or parent not in moves or parent is None or not name.startswith(parent):
            continue
        new = moves[parent] + name.removeprefix(parent)
        # One that the schema does not know under its new name follows where rows of others come into the old one.
        if new in schema.tables or parent in schema.tables:
            yield name, new


def _follows(old: str, new: str, catalogue: Schema, moves: Mapping[str, str]) -> bool:
    parent = catalogue.tables[old].parent
    return parent in moves and parent is not None and new == moves[parent] + old.removeprefix(parent)


def _under(table: Table, names: Mapping[str, str]) -> Table:
    if table.parent is None or table.parent not in names:
        return table
    return replace(table, properties={**table.properties, "parent": names[table.parent]})
