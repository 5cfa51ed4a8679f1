"""Renames of columns that stand in each other's way: two that swap their names, a chain, a name that was another's.

The difference of two schemas cannot show them: the names are there before and afterwards. They count where
``x-renamed-from`` is new since the last schema of the ledger; there it stays, and is history from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from schemactl.schema.changes import ColumnRenamed
from schemactl.schema.renames import column_claims, is_newly_stated
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Schema, Table


def moves_of(catalogue: Schema, schema: Schema, known: Schema | None, limits: NameLimits) -> tuple[ColumnRenamed, ...]:
    """Return the renames of tables in which one of them takes a name that is there.

    Without a last schema of the ledger, nothing is known to be new.

    A column whose name another one takes, and that gets none itself, is kept beside it, as columns are whose type
    changed.
    """
    found: list[ColumnRenamed] = []
    for name, table in schema.tables.items() if known is not None else ():
        there, last = catalogue.tables.get(name), known.tables.get(name) if known is not None else None
        if there is not None and last is not None and table.columns.keys() & there.columns.keys():
            moved = _moved(table, there, last, limits)
            found += (ColumnRenamed(name, old, new, is_stated=True) for old, new in moved.items())
    return tuple(found)


def is_fresh(column: Column, last: Table | None) -> bool:
    """Return whether a column states a name that the last schema did not state for it."""
    before = last.columns.get(column.name) if last is not None else None
    return is_newly_stated(column, before)


def moved(catalogue: Schema, moves: Collection[ColumnRenamed]) -> Schema:
    """Return a catalog whose columns have the names that they move to."""
    names: dict[str, dict[str, str]] = {}
    for move in moves:
        names.setdefault(move.table, {})[move.before] = move.after
    tables = dict(catalogue.tables)
    for name, pairs in names.items():
        columns = (
            replace(column, name=pairs.get(column.name, column.name)) for column in tables[name].columns.values()
        )
        tables[name] = replace(tables[name], columns={column.name: column for column in columns})
    return replace(catalogue, tables=tables)


def in_order(pairs: Mapping[str, str], taken: Collection[str], limits: NameLimits) -> Iterator[tuple[str, str]]:
    """Yield renames so that each new name is free when its turn comes; a circle goes by a name that nobody has.

    Args:
        pairs: new names by old ones, in the order to keep where it does not matter.
        taken: names of all columns, before and afterwards.
        limits: of names.
    """
    left = dict(pairs)
    while left:
        old = next((old for old, new in left.items() if new not in left), None)
        if old is None:
            old = next(iter(left))
            spare = free_name(old, "moved", {*taken, *left, *left.values()}, limits)
            left = {spare if each == old else each: target for each, target in left.items()}
            yield old, spare
        else:
            yield old, left.pop(old)


def free_name(name: str, word: str, taken: Collection[str], limits: NameLimits) -> str:
    """Return the first free name of the form ``NAME__WORD_1``; the name is cut where the destination would cut it."""
    folded = taken if limits.is_case_sensitive else {each.casefold() for each in taken}
    number = 1
    while True:
        ending = f"__{word}_{number}"
        room = None if limits.max_bytes is None else limits.max_bytes - len(ending)
        found = name.encode()[:room].decode(errors="ignore") + ending
        if (found if limits.is_case_sensitive else found.casefold()) not in folded:
            return found
        number += 1


def _moved(table: Table, there: Table, last: Table, limits: NameLimits) -> dict[str, str]:
    """Return new names by old ones for one table; none where no two are in each other's way."""
    claims = column_claims(table, there, last)
    if not any(new in there.columns for new in claims.values()):
        return {}
    displaced = [new for new in claims.values() if new in there.columns and new not in claims]
    taken = {*there.columns, *table.columns}
    return {**{name: free_name(name, "before", taken, limits) for name in displaced}, **claims}
