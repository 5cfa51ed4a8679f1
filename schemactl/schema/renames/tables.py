"""Tables that have another name, and the tables nested in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from schemactl.schema.changes import TableRenamed
from schemactl.schema.renames.columns import full_type
from schemactl.schema.renames.likeness import are_siblings, have_other_numbers, name_likeness
from schemactl.schema.renames.moves import table_claims
from schemactl.schema.renames.pairing import MAX_PAIRS, clear_pairs, is_dlts_own, is_stated_new, stated_pairs
from schemactl.schema.types import Schema, Table

_COLUMNS_WEIGHT: Final = 0.7
"""The share of columns that have the same name and type; the same ones all make a rename, whatever the name."""

_NAME_WEIGHT: Final = 0.3
"""The name without its parent's; it makes up for some columns that differ."""

_MIN_SHARE: Final = 0.5
"""Of equal columns, below which names are not looked at."""

_MIN_EQUAL_COLUMNS: Final = 3
"""Below which the names must be alike: every other table has an ``id`` and a ``name``."""

_ALIKE: Final = 0.6

_Features = frozenset[tuple[str, tuple[str, ...]]]


def is_related(before: Schema, after: Schema) -> bool:
    """Return whether one schema may be what became of the other: by name, by their hashes, or by a table of both."""
    if before.name == after.name:
        return True
    if before.version_hash and before.version_hash in after.previous_hashes:
        return True
    own = [{name for name in each.tables if not is_dlts_own(name)} for each in (before, after)]
    return not all(own) or not own[0].isdisjoint(own[1]) or bool(table_renames(before, after, is_guessing=True))


def table_renames(
    before: Schema, after: Schema, *, is_guessing: bool, heeds_moves: bool = False
) -> tuple[TableRenamed, ...]:
    """Return the tables that have another name: stated ones, then guesses, each followed by those nested in it.

    Args:
        before: a schema.
        after: the schema that it became.
        is_guessing: whether likeness counts; else only ``x-renamed-from`` and a parent's new name.
        heeds_moves: whether tables may take names of each other, where the statement is new in ``after``.
    """
    claims = table_claims(before, after, before) if heeds_moves else {}
    moves = _moves(claims, before, after) if any(new in before.tables for new in claims.values()) else ()
    moved = {name for move in moves for name in (move.before, move.after)}
    # A name that is moved from and to is settled; one that only goes, or comes, is no other table's.
    gone = {name: table for name, table in before.tables.items() if name not in after.tables and name not in moved}
    new = {name: table for name, table in after.tables.items() if name not in before.tables and name not in moved}
    return (*moves, *_plain_renames(before, gone, new, after, is_guessing))


def _moves(claims: Mapping[str, str], before: Schema, after: Schema) -> tuple[TableRenamed, ...]:
    """Return stated renames of tables that take names of each other, each followed by the tables nested in it."""
    found = {old: TableRenamed(old, new, is_stated=True) for old, new in claims.items()}
    open_moves, taken = list(found.values()), set(claims.values())
    for move in open_moves:
        for table in before.tables.values():
            new = move.after + table.name.removeprefix(move.before)
            is_nested = table.parent == move.before and table.name.startswith(move.before)
            if is_nested and table.name not in found and new in after.tables and new not in taken:
                found[table.name] = TableRenamed(table.name, new, follows_parent=True)
                open_moves.append(found[table.name])
                taken.add(new)
    return tuple(found.values())


def _plain_renames(
    before: Schema, gone: Mapping[str, Table], new: Mapping[str, Table], after: Schema, is_guessing: bool
) -> tuple[TableRenamed, ...]:
    """Return renames between tables that are gone and tables that are new."""
    if not gone or not new:
        return ()
    search = _Search(_by_parent(gone), _by_parent(new))
    search.add([TableRenamed(old, name, is_stated=True) for name, old in _stated(gone, new).items()])
    if is_guessing:
        search.guess((name, name) for name in before.tables if name in after.tables)
    return tuple(search.found.values())


def _stated(gone: Mapping[str, Table], new: Mapping[str, Table]) -> dict[str, str]:
    """Return stated old names by new ones; of two claims the first by name counts, since files order tables freely."""
    pairs = stated_pairs(gone, {name: new[name].properties for name in sorted(new)})
    origins = {name: old for old, name in pairs.items()}
    return {name: origins[name] for name in new if name in origins}


def _by_parent(tables: Mapping[str, Table]) -> dict[str | None, list[Table]]:
    grouped: dict[str | None, list[Table]] = {}
    for table in tables.values():
        grouped.setdefault(table.parent, []).append(table)
    return grouped


@dataclass(slots=True)
class _Search:
    """The renames found so far, among tables that are gone and tables that are new, each by parent."""

    gone: Mapping[str | None, list[Table]]
    new: Mapping[str | None, list[Table]]
    found: dict[str, TableRenamed] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def add(self, renames: Iterable[TableRenamed]) -> None:
        """Add renames, and those of the tables nested in them; stated ones must come before any that follow."""
        added = list(renames)
        self._note(added)
        for rename in added:
            following = self._following(rename)
            self._note(following)
            added += following

    def _note(self, renames: Iterable[TableRenamed]) -> None:
        for rename in renames:
            self.found[rename.before] = rename
            self.taken.add(rename.after)

    def _following(self, parent: TableRenamed) -> list[TableRenamed]:
        names = {table.name for table in self._left(self.new, parent.after)}
        nested = self._left(self.gone, parent.before)
        renamed = {
            table.name: parent.after + table.name.removeprefix(parent.before)
            for table in nested
            if table.name.startswith(parent.before)
        }
        return [TableRenamed(old, name, follows_parent=True) for old, name in renamed.items() if name in names]

    def guess(self, kept: Iterable[tuple[str, str]]) -> None:
        """Add guesses, table by table: those nested in one only once its own name is known.

        Args:
            kept: names of tables before and after that are the same.
        """
        parents: list[tuple[str | None, str | None]] = [(None, None), *kept]
        parents += [(rename.before, rename.after) for rename in self.found.values()]
        for before, after in parents:
            known = len(self.found)
            pairs = _guess(self._left(self.gone, before), self._left(self.new, after))
            self.add(TableRenamed(old, name) for old, name in pairs.items())
            parents += [(rename.before, rename.after) for rename in list(self.found.values())[known:]]

    def _left(self, tables: Mapping[str | None, list[Table]], parent: str | None) -> list[Table]:
        settled = self.found if tables is self.gone else self.taken
        return [table for table in tables.get(parent, ()) if table.name not in settled]


def _guess(gone: list[Table], new: list[Table]) -> dict[str, str]:
    gone = [table for table in gone if not is_dlts_own(table.name)]
    new = [table for table in new if not is_dlts_own(table.name) and not is_stated_new(table.properties)]
    if not gone or not new or len(gone) * len(new) > MAX_PAIRS:
        return {}
    features = {table.name: _features(table) for table in (*gone, *new)}
    scores = {}
    for old in gone:
        for table in new:
            if score := _score(old, table, features):
                scores[old.name, table.name] = score
    return clear_pairs(scores)


def _score(before: Table, after: Table, features: Mapping[str, _Features]) -> float:
    old, new = features[before.name], features[after.name]
    equal = len(old & new)
    share = 2 * equal / ((len(old) + len(new)) or 1)
    if share < _MIN_SHARE:
        return 0.0
    names = _own_name(before), _own_name(after)
    if have_other_numbers(*names) or are_siblings(*names):
        return 0.0
    likeness = name_likeness(*names)
    if equal < _MIN_EQUAL_COLUMNS and likeness < _ALIKE:
        return 0.0
    return _COLUMNS_WEIGHT * share + _NAME_WEIGHT * likeness


def _features(table: Table) -> _Features:
    own = (column for column in table.columns.values() if column.is_complete and not is_dlts_own(column.name))
    return frozenset((column.name, full_type(column)) for column in own)


def _own_name(table: Table) -> str:
    return table.name.removeprefix(table.parent or "")
