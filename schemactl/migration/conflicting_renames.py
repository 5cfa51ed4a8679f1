"""Find renames that conflict: two names swapped, a chain of renames, the former name of another table or column.

The difference of two schemas cannot show them, because the same names exist before and after. A rename counts if its
``x-renamed-from`` is new since the last schema of the ledger; later it stays in the schema as history. Nested tables
follow their renamed parents, since their rows belong to the rows of the parents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from schemactl.schema.changes import ColumnRenamed, TableRenamed
from schemactl.schema.folds import folds_of
from schemactl.schema.renames import column_claims, table_claims
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema, Table

_BEFORE: Final = r"__before_[1-9]\d*"
_KEPT_COLUMN: Final = re.compile(rf"(.+){_BEFORE}")
_KEPT_TABLE: Final = re.compile(rf"(.+?){_BEFORE}(__.+)?")


# --- columns ---


def moves_of(
    catalogue: Schema, schema: Schema, ledger_schema: Schema | None, limits: NameLimits
) -> tuple[ColumnRenamed, ...]:
    """Return the column renames of each table in which a renamed column takes an existing name.

    Without a last schema of the ledger, no rename is known to be new.

    A column that loses its name to another column and gets no new name is kept under a spare name, as a column is whose
    type changed.
    """
    renames: list[ColumnRenamed] = []
    ledger_tables = ledger_schema.tables if ledger_schema is not None else {}
    for name, table in schema.tables.items():
        current_table, last = catalogue.tables.get(name), ledger_tables.get(name)
        if current_table is not None and last is not None and table.columns.keys() & current_table.columns.keys():
            claims = column_claims(table, current_table, last)
            if any(new in current_table.columns for new in claims.values()):
                displaced = [new for new in claims.values() if new in current_table.columns and new not in claims]
                taken_names = {*current_table.columns, *table.columns}
                moved = {**{column: free_name(column, "before", taken_names, limits) for column in displaced}, **claims}
                renames += (ColumnRenamed(name, old, new, is_stated=True) for old, new in moved.items())
    return tuple(renames)


def moved(catalogue: Schema, moves: Collection[ColumnRenamed]) -> Schema:
    """Return a catalog whose columns have the names that they move to."""
    names: dict[str, dict[str, str]] = {}
    for move in moves:
        names.setdefault(move.table, {})[move.before] = move.after
    tables = dict(catalogue.tables)
    for name, pairs in names.items():
        columns = (replace(column, name=pairs.get(key, key)) for key, column in tables[name].columns.items())
        tables[name] = replace(tables[name], columns={column.name: column for column in columns})
    return replace(catalogue, tables=tables)


def in_order(pairs: Mapping[str, str], taken_names: Collection[str], limits: NameLimits) -> Iterator[tuple[str, str]]:
    """Yield renames so that each new name is free when its turn comes; a circle uses a temporary name.

    The renames are new names by old ones, in the order to keep if it does not matter; ``taken_names`` are the names of
    all columns, before and afterwards.
    """
    pending_renames = dict(pairs)
    while pending_renames:
        old = next((old for old, new in pending_renames.items() if new not in pending_renames), None)
        if old is None:
            old = next(iter(pending_renames))
            spare = free_name(old, "moved", {*taken_names, *pending_renames, *pending_renames.values()}, limits)
            pending_renames = {spare if name == old else name: target for name, target in pending_renames.items()}
            yield old, spare
        else:
            yield old, pending_renames.pop(old)


def free_name(name: str, word: str, taken_names: Collection[str], limits: NameLimits) -> str:
    """Return the first free name of the form ``NAME__WORD_1``; the name is cut if the destination would cut it."""
    folded = set(map(limits.fold, taken_names))
    for number in count(1):
        ending = f"__{word}_{number}"
        room = None if limits.max_bytes is None else limits.max_bytes - len(ending)
        candidate = name.encode()[:room].decode(errors="ignore") + ending
        if limits.fold(candidate) not in folded:
            break
    return candidate


def kept_origin(name: str) -> str | None:
    """Return the name of the column that an earlier plan kept as ``name``; None if ``name`` is no such column."""
    match = _KEPT_COLUMN.fullmatch(name)
    return match[1] if match else None


def is_kept(name: str, table: Table) -> bool:
    """Return whether ``name`` is the name by which an earlier plan kept a column that a table of a schema replaces."""
    origin = kept_origin(name)
    return origin is not None and (origin in table.columns or origin in folds_of(table.columns.values()))


# --- tables ---


def table_moves_of(
    catalogue: Schema, schema: Schema, ledger_schema: Schema | None, limits: NameLimits
) -> tuple[TableRenamed, ...]:
    """Return the renames of tables if one of them takes an existing name.

    A table that loses its name to another table and gets no new name is kept under a spare name.
    """
    claims = table_claims(catalogue, schema, ledger_schema) if ledger_schema is not None else {}
    if not any(new in catalogue.tables for new in claims.values()):
        return ()
    moves = _with_all_that_move(claims, catalogue, schema, limits)
    renames = []
    for old, new in moves.items():
        parent = catalogue.tables[old].parent
        follows = parent is not None and parent in moves and new == moves[parent] + old.removeprefix(parent)
        renames.append(TableRenamed(old, new, is_stated=old in claims, follows_parent=follows))
    return tuple(renames)


def renamed(schema: Schema, moves: Iterable[TableRenamed]) -> Schema:
    """Return a schema whose tables have their new names; a table that lost its name to another table is left out."""
    names = {move.before: move.after for move in moves}
    if not names:
        return schema
    tables = {name: table for name, table in schema.tables.items() if name not in names}
    for old, new in names.items():
        if old in schema.tables:
            tables[new] = replace(schema.tables[old], name=new)
    for name, table in tables.items():
        if table.parent in names:
            tables[name] = replace(table, properties={**table.properties, "parent": names[table.parent]})
    return replace(schema, tables=tables)


def settled(moves: Iterable[TableRenamed], later_renames: Iterable[TableRenamed]) -> Iterator[TableRenamed]:
    """Yield all renames of tables, each from the current name to the last one."""
    renames = {change.before: change for change in later_renames}
    for move in moves:
        last = renames.pop(move.after, None)
        yield move if last is None else replace(last, before=move.before)
    yield from renames.values()


def kept_table_origin(name: str) -> str | None:
    """Return the former name of a table that an earlier plan kept as ``name``, or whose nested table ``name`` is."""
    match = _KEPT_TABLE.fullmatch(name)
    return match[1] if match else None


def _with_all_that_move(
    claims: Mapping[str, str], catalogue: Schema, schema: Schema, limits: NameLimits
) -> Mapping[str, str]:
    """Return new names by old ones, with nested tables that follow, and tables that make room."""
    moves = dict(claims)
    taken_names = {*catalogue.tables, *schema.tables}
    while True:
        following = next(_following(moves, catalogue, schema), None)
        if following is not None:
            old, new = following
            is_free = new not in moves.values() and not limits.is_too_long(new)
            moves[old] = new if is_free else free_name(new, "before", {*taken_names, *moves.values()}, limits)
            continue
        displaced = next((new for new in moves.values() if new in catalogue.tables and new not in moves), None)
        if displaced is None:
            return moves
        moves[displaced] = free_name(displaced, "before", {*taken_names, *moves.values()}, limits)


def _following(moves: Mapping[str, str], catalogue: Schema, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield nested tables that have not moved with their parents yet, with their new names."""
    for name, table in catalogue.tables.items():
        parent = table.parent
        if name in moves or parent not in moves or parent is None or not name.startswith(parent):
            continue
        new = moves[parent] + name.removeprefix(parent)
        # A nested table that the schema lacks under its new name follows if other rows come into its old parent.
        if new in schema.tables or parent in schema.tables:
            yield name, new
