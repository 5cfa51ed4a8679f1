"""Finds renamed tables and columns: by ``x-renamed-from``, by a parent's new name, or by likeness.

Names may also be exchanged: two columns or tables swap names, or one gets the former name of another. All these names
exist before and afterwards, so only a new ``x-renamed-from`` shows an exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final

from schemactl.grouping import group_by
from schemactl.schema.changes import TYPE_PROPERTIES, ColumnRenamed, TableRenamed
from schemactl.schema.likeness import are_siblings, name_likeness
from schemactl.schema.structure import DATABASE_TYPE, has_type, typed_columns
from schemactl.schema.types import Column, Properties, Schema, Table, ancestors

RENAMED_FROM: Final = "x-renamed-from"
"""Property of a table or column: the name, or the names, that it had."""

MAX_PAIRS: Final = 200 * 200
"""Pairs of old and new names beyond which too much has changed for a guess."""

MIN_SCORE: Final = 0.7
"""The score from which a pair counts as a rename."""

MARGIN: Final = 0.05
"""The margin that a pair needs over all other pairs of its names."""


def is_dlts_own(name: str) -> bool:
    """Return whether dlt gives a table or column this name; naming conventions change only its case."""
    return name.casefold().startswith("_dlt")


def is_declared_new(properties: Properties) -> bool:
    """Return whether ``x-renamed-from: []`` declares that a table or column had no other name, so no guess is made."""
    return properties.get(RENAMED_FROM) == []


SOURCE_NAMES: Final = "x-source-names"
"""Property of a root table: names of source keys, by JSONPath; the convention names other keys."""

ID: Final = "x-id"
"""Property of a column: an ID that stays the same when its name changes."""


def declared_pairs(gone: Container[str], new: Mapping[str, Properties]) -> dict[str, str]:
    """Return new names by old names according to ``x-renamed-from``; the first of two claims counts."""
    pairs: dict[str, str] = {}
    for name, properties in new.items():
        origin = next((origin for origin in origins(properties) if origin in gone and origin not in pairs), None)
        if origin is not None:
            pairs[origin] = name
    return pairs


def id_pairs(gone: Mapping[str, Properties], new: Mapping[str, Properties]) -> dict[str, str]:
    """Return new names by old names for pairs with the same unique ``x-id``."""
    old, now = _by_id(gone), _by_id(new)
    return {old[key]: name for key, name in now.items() if key in old}


def _by_id(properties_by_name: Mapping[str, Properties]) -> dict[str, str]:
    ids = {name: str(properties[ID]) for name, properties in properties_by_name.items() if properties.get(ID)}
    return {key: names[0] for key, names in group_by(ids, ids.__getitem__).items() if len(names) == 1}


def clear_pairs(scores: Mapping[tuple[str, str], float]) -> dict[str, str]:
    """Return new names by old names: pairs with a high score that is clearly the best for both names.

    Scores are from 0 to 1; pairs that are left out count as 0.
    """
    of_old, of_new = (
        {name: _lead([scores[pair] for pair in pairs]) for name, pairs in group_by(scores, itemgetter(side)).items()}
        for side in (0, 1)
    )
    clear = (pair for pair, score in scores.items() if score >= max(MIN_SCORE, of_old[pair[0]], of_new[pair[1]]))
    return dict(clear)


def _lead(scores: list[float]) -> float:
    """Return the score that it takes to be clearly the best of them."""
    *_, second, first = (float("-inf"), *sorted(scores))
    return max(first, second + MARGIN)


def origins(properties: Properties) -> Iterator[str]:
    """Yield the declared former names of a table or column."""
    names: Any = properties.get(RENAMED_FROM)
    names = names if isinstance(names, (list, tuple)) else (names,)
    yield from (name for name in names if isinstance(name, str))


def column_claims(table: Table, current: Table, last: Table) -> dict[str, str]:
    """Return the new names by old names that the columns of a table declare for the first time.

    ``current`` is the table as it is, ``last`` as the last schema had it.
    """
    claims = _claims(table.columns.values(), last.columns, current.columns)
    # A rename from a name that the table keeps for the same column is ambiguous.
    while ambiguous := [old for old in claims if old in table.columns and old not in claims.values()]:
        for old in ambiguous:
            del claims[old]
    return claims


def table_claims(catalogue: Schema, schema: Schema, last: Schema, *, counts_hints: bool = False) -> dict[str, str]:
    """Return the new names by old names that tables declare for the first time.

    Files order tables freely, so of two claims to a name that of the table that sorts first counts. ``catalogue`` has
    the current tables, ``last`` is the last schema. With ``counts_hints`` tables whose columns have only hints count
    too; no destination has such tables.
    """
    tables = [table for _, table in sorted(schema.tables.items()) if counts_hints or typed_columns(table)]
    claims = _claims(tables, last.tables, catalogue.tables)

    # A rename from a name that the schema keeps for the same table is ambiguous; nested tables go with their parents.
    def is_ambiguous(old: str) -> bool:
        follows_parent = any(parent in claims for parent in ancestors(catalogue, old))
        return old in schema.tables and old not in claims.values() and not follows_parent

    while ambiguous := list(filter(is_ambiguous, claims)):
        for old in ambiguous:
            del claims[old]
    return claims


def _claims(
    items: Iterable[Table | Column], last: Mapping[str, Table | Column], current: Container[str]
) -> dict[str, str]:
    claims: dict[str, str] = {}
    for item in items:
        if is_newly_declared(item, last.get(item.name)):
            open_origins = (name for name in origins(item.properties) if name in current and name not in claims)
            if (origin := next(open_origins, item.name)) != item.name:
                claims[origin] = item.name
    return claims


def is_newly_declared(item: Table | Column, last: Table | Column | None) -> bool:
    """Return whether a table or column declares a former name that the last schema did not."""
    former_name = item.properties.get(RENAMED_FROM)
    return former_name is not None and (last is None or last.properties.get(RENAMED_FROM) != former_name)


_COLUMN_NAME_WEIGHT: Final = 0.8
"""The weight of the name, the strongest sign: if most words are the same, it suffices for a rename."""

_PLACE_WEIGHT: Final = 0.1
"""The columns before and after it; little, since inference puts new columns last."""

_HINTS_WEIGHT: Final = 0.1
"""The weight of the share of equal hints; little, since most columns lack hints."""

_MIN_LIKENESS: Final = (MIN_SCORE - MARGIN - _PLACE_WEIGHT - _HINTS_WEIGHT) / _COLUMN_NAME_WEIGHT
"""Of two names, below which nothing else makes them a rename, or a rival of one."""

_KEY_HINTS: Final = ("primary_key", "merge_key", "row_key", "parent_key", "root_key", "variant")
"""Hints that make a column another thing: they must be the same."""

_NO_HINTS: Final = frozenset(("description", *TYPE_PROPERTIES))

_FullType = tuple[str, ...]
_Kind = tuple[_FullType, tuple[bool, ...]]


def column_renames(
    before: Table, after: Table, *, is_guessing: bool, heeds_moves: bool = False
) -> tuple[ColumnRenamed, ...]:
    """Return the renamed columns of a table, declared renames first.

    With ``is_guessing``, likeness counts in addition to ``x-renamed-from`` and ``x-id``. With ``heeds_moves``, columns
    may exchange names if the ``x-renamed-from`` is new in ``after``.
    """
    claims = column_claims(after, before, before) if heeds_moves else {}
    moves = claims if any(new in before.columns for new in claims.values()) else {}
    if moves:
        before, after = _without(before, moves, moves.values()), _without(after, moves.values(), ())
    return (
        *(ColumnRenamed(after.name, old, name, is_stated=True) for old, name in moves.items()),
        *_plain_column_renames(before, after, is_guessing),
    )


def _without(table: Table, names: Collection[str], claimed: Collection[str]) -> Table:
    columns = {name: column for name, column in table.columns.items() if name not in names and name not in claimed}
    return replace(table, columns=columns)


def _plain_column_renames(before: Table, after: Table, is_guessing: bool) -> tuple[ColumnRenamed, ...]:
    gone = {name: column for name, column in before.columns.items() if name not in after.columns}
    new = {name: column for name, column in after.columns.items() if name not in before.columns}
    if not gone or not new:
        return ()
    declared = declared_pairs(gone, {name: column.properties for name, column in new.items()})
    claimed = {*declared, *declared.values()}
    undeclared, unclaimed = (
        {name: column.properties for name, column in columns.items() if name not in claimed} for columns in (gone, new)
    )
    declared |= id_pairs(undeclared, unclaimed)
    guessed = _guess_columns(before, after, declared) if is_guessing else {}
    return (
        *(ColumnRenamed(after.name, old, name, is_stated=True) for old, name in declared.items()),
        *(ColumnRenamed(after.name, old, name) for old, name in guessed.items()),
    )


def _type_key(column: Column) -> _FullType:
    """Return the column's type as something to compare; null and absent are the same."""
    return tuple(str(column.properties.get(name)) for name in (*TYPE_PROPERTIES, DATABASE_TYPE))


def _guess_columns(before: Table, after: Table, declared: Mapping[str, str]) -> dict[str, str]:
    settled = {name for name in before.columns if name in after.columns} | set(declared.values())
    old_columns, new_columns = (
        [column for name, column in table.columns.items() if name not in settled and _is_open(column)]
        for table in (before, after)
    )
    gone = [column for column in old_columns if column.name not in declared]
    new = [column for column in new_columns if not is_declared_new(column.properties)]
    if not gone or not new or len(gone) * len(new) > MAX_PAIRS:
        return {}
    candidates = group_by(_candidates(new, list(after.columns), settled), lambda candidate: candidate.kind)
    scores = {}
    for old in _candidates(gone, [declared.get(name, name) for name in before.columns], settled):
        for candidate in candidates.get(old.kind, ()):
            if old.id and candidate.id and old.id != candidate.id:
                continue  # two ids are two columns
            likeness = name_likeness(old.name, candidate.name)
            if likeness >= _MIN_LIKENESS:
                neighborhood = ((old.previous == candidate.previous) + (old.following == candidate.following)) / 2
                names = {*old.hints, *candidate.hints}
                same = sum(old.hints.get(name) == candidate.hints.get(name) for name in names) / len(names)
                around = _PLACE_WEIGHT * neighborhood + _HINTS_WEIGHT * same
                scores[old.name, candidate.name] = _COLUMN_NAME_WEIGHT * likeness + around
    return clear_pairs(scores)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The features of a column for finding renames: type and key hints, id, unchanged neighbors, other hints."""

    name: str
    kind: _Kind
    id: Any
    previous: str | None
    following: str | None
    hints: Properties


def _candidates(columns: Iterable[Column], order: list[str], settled: Collection[str]) -> Iterator[_Candidate]:
    previous, following = _last_kept(order, settled), _last_kept(reversed(order), settled)
    for column in columns:
        name, properties = column.name, column.properties
        kind = _type_key(column), tuple(bool(properties.get(hint)) for hint in _KEY_HINTS)
        hint_names = (key for key in properties if key not in _NO_HINTS and not key.startswith("x-"))
        hints = {key: properties[key] for key in hint_names if properties[key]} | {"nullable": column.nullable}
        yield _Candidate(name, kind, properties.get(ID), previous[name], following[name], hints)


def _is_open(column: Column) -> bool:
    """Return whether a guess may be made: a column without a type could be anything."""
    return has_type(column) and not is_dlts_own(column.name)


def _last_kept(order: Iterable[str], settled: Collection[str]) -> dict[str, str | None]:
    last: str | None = None
    predecessors = {}
    for name in order:
        predecessors[name] = last
        if name in settled:
            last = name
    return predecessors


_COLUMNS_WEIGHT: Final = 0.7
"""The share of columns with the same name and type; a share of 1 makes a rename with any name."""

_TABLE_NAME_WEIGHT: Final = 0.3
"""The name without its parent's; it makes up for some columns that differ."""

_MIN_SHARE: Final = 0.5
"""Of equal columns, below which names are not looked at."""

_MIN_EQUAL_COLUMNS: Final = 3
"""Below which the names must be alike: every other table has an ``id`` and a ``name``."""

_ALIKE: Final = 0.6

_Features = frozenset[tuple[str, tuple[str, ...]]]


def is_related(before: Schema, after: Schema) -> bool:
    """Return whether one schema may be a successor of the other: by name, by hashes, or by a common table."""
    if before.name == after.name or (before.version_hash and before.version_hash in after.previous_hashes):
        return True
    table_names = [{name for name in schema.tables if not is_dlts_own(name)} for schema in (before, after)]
    has_shared = not all(table_names) or not table_names[0].isdisjoint(table_names[1])
    return has_shared or bool(table_renames(before, after, is_guessing=True))


def table_renames(
    before: Schema, after: Schema, *, is_guessing: bool, heeds_moves: bool = False
) -> tuple[TableRenamed, ...]:
    """Return the renamed tables: declared renames, then guesses, each followed by the tables nested in it.

    With ``is_guessing``, likeness counts in addition to ``x-renamed-from`` and a parent's new name. With
    ``heeds_moves``, tables may exchange names if the ``x-renamed-from`` is new in ``after``.
    """
    claims = table_claims(before, after, before) if heeds_moves else {}
    moves = _table_moves(claims, before, after) if any(new in before.tables for new in claims.values()) else ()
    moved = {name for move in moves for name in (move.before, move.after)}
    # A name that is moved from and to is settled; a name that only disappears, or appears, belongs to no other table.
    gone = {name: table for name, table in before.tables.items() if name not in after.tables and name not in moved}
    new = {name: table for name, table in after.tables.items() if name not in before.tables and name not in moved}
    if not gone or not new:
        return moves
    gone_by_parent, new_by_parent = (group_by(side.values(), lambda table: table.parent) for side in (gone, new))
    search = _Search(gone_by_parent, new_by_parent)
    # Of two claims the first by name counts, since files order tables freely.
    pairs = declared_pairs(gone, {name: new[name].properties for name in sorted(new)})
    old_names = {name: old for old, name in pairs.items()}
    search.add([TableRenamed(old_names[name], name, is_stated=True) for name in new if name in old_names])
    if is_guessing:
        search.guess((name, name) for name in before.tables if name in after.tables)
    return (*moves, *search.found.values())


def _table_moves(claims: Mapping[str, str], before: Schema, after: Schema) -> tuple[TableRenamed, ...]:
    """Return declared renames of tables that take each other's names, each followed by the tables nested in it."""
    moves = {old: TableRenamed(old, new, is_stated=True) for old, new in claims.items()}
    open_moves, taken_names = list(moves.values()), set(claims.values())
    for move in open_moves:
        for table in before.tables.values():
            new = move.after + table.name.removeprefix(move.before)
            is_nested = table.parent == move.before and table.name.startswith(move.before)
            if is_nested and table.name not in moves and new in after.tables and new not in taken_names:
                moves[table.name] = TableRenamed(table.name, new, follows_parent=True)
                open_moves.append(moves[table.name])
                taken_names.add(new)
    return tuple(moves.values())


@dataclass(slots=True)
class _Search:
    """The renames found so far, among tables that are gone and tables that are new, each by parent."""

    gone: Mapping[str | None, list[Table]]
    new: Mapping[str | None, list[Table]]
    found: dict[str, TableRenamed] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def add(self, renames: Iterable[TableRenamed]) -> None:
        """Add renames, and the renames of nested tables that follow; declared renames must come first."""
        added = list(renames)
        self._note(added)
        for rename in added:
            names = {table.name for table in self._left(self.new, rename.after)}
            nested = [of.name for of in self._left(self.gone, rename.before) if of.name.startswith(rename.before)]
            renamed = {old: rename.after + old.removeprefix(rename.before) for old in nested}
            following = [TableRenamed(old, name, follows_parent=True) for old, name in renamed.items() if name in names]
            self._note(following)
            added += following

    def _note(self, renames: Iterable[TableRenamed]) -> None:
        for rename in renames:
            self.found[rename.before] = rename
            self.taken.add(rename.after)

    def guess(self, unchanged: Iterable[tuple[str, str]]) -> None:
        """Add guesses, table by table, and guess nested tables after the name of their parent is known.

        ``unchanged`` contains pairs of the old and new name of unchanged tables.
        """
        parents: list[tuple[str | None, str | None]] = [(None, None), *unchanged]
        parents += [(rename.before, rename.after) for rename in self.found.values()]
        for before, after in parents:
            first_new = len(self.found)
            pairs = _guess_tables(self._left(self.gone, before), self._left(self.new, after))
            self.add(TableRenamed(old, name) for old, name in pairs.items())
            parents += [(rename.before, rename.after) for rename in list(self.found.values())[first_new:]]

    def _left(self, tables: Mapping[str | None, list[Table]], parent: str | None) -> list[Table]:
        settled = self.found if tables is self.gone else self.taken
        return [table for table in tables.get(parent, ()) if table.name not in settled]


def _guess_tables(gone: list[Table], new: list[Table]) -> dict[str, str]:
    gone = [table for table in gone if not is_dlts_own(table.name)]
    new = [table for table in new if not is_dlts_own(table.name) and not is_declared_new(table.properties)]
    if not gone or not new or len(gone) * len(new) > MAX_PAIRS:
        return {}
    features = {
        table.name: frozenset((column.name, _type_key(column)) for column in table.columns.values() if _is_open(column))
        for table in (*gone, *new)
    }
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
    if are_siblings(*names):
        return 0.0
    likeness = name_likeness(*names)
    if equal < _MIN_EQUAL_COLUMNS and likeness < _ALIKE:
        return 0.0
    return _COLUMNS_WEIGHT * share + _TABLE_NAME_WEIGHT * likeness


def _own_name(table: Table) -> str:
    return table.name.removeprefix(table.parent or "")
