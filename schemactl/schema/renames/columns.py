"""Columns of a table that have another name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from schemactl.schema.changes import TYPE_PROPERTIES, ColumnRenamed
from schemactl.schema.renames.likeness import name_likeness
from schemactl.schema.renames.moves import column_claims
from schemactl.schema.renames.pairing import (
    MARGIN,
    MAX_PAIRS,
    MIN_SCORE,
    clear_pairs,
    id_pairs,
    is_dlts_own,
    is_stated_new,
    stated_pairs,
)
from schemactl.schema.types import Column, Properties, Table

_NAME_WEIGHT: Final = 0.8
"""The name says most: alone it makes a rename if most of its words are the same."""

_PLACE_WEIGHT: Final = 0.1
"""The columns before and after it; little, since inference puts new columns last."""

_HINTS_WEIGHT: Final = 0.1
"""The share of equal hints; little, since most columns have none."""

_MIN_LIKENESS: Final = (MIN_SCORE - MARGIN - _PLACE_WEIGHT - _HINTS_WEIGHT) / _NAME_WEIGHT
"""Of two names, below which nothing else makes them a rename, or a rival of one."""

_KEY_HINTS: Final = ("primary_key", "merge_key", "row_key", "parent_key", "root_key", "variant")
"""Hints that make a column another thing: they must be the same."""

_NO_HINTS: Final = frozenset(("description", *TYPE_PROPERTIES))

_FullType = tuple[str, ...]
_Kind = tuple[_FullType, tuple[bool, ...]]


def column_renames(
    before: Table, after: Table, *, is_guessing: bool, heeds_moves: bool = False
) -> tuple[ColumnRenamed, ...]:
    """Return the columns of a table that have another name, stated ones first.

    Args:
        before: the table, under any name.
        after: the same table in the other schema.
        is_guessing: whether likeness counts; else only ``x-renamed-from`` and ``x-id``.
        heeds_moves: whether columns may take names of each other, where the statement is new in ``after``.
    """
    claims = column_claims(after, before, before) if heeds_moves else {}
    moves = claims if any(new in before.columns for new in claims.values()) else {}
    if moves:
        before, after = _without(before, moves, moves.values()), _without(after, moves.values(), ())
    return (
        *(ColumnRenamed(after.name, old, name, is_stated=True) for old, name in moves.items()),
        *_plain_renames(before, after, is_guessing),
    )


def _without(table: Table, names: Collection[str], taken: Collection[str]) -> Table:
    columns = {name: column for name, column in table.columns.items() if name not in names and name not in taken}
    return replace(table, columns=columns)


def _plain_renames(before: Table, after: Table, is_guessing: bool) -> tuple[ColumnRenamed, ...]:
    gone = {name: column for name, column in before.columns.items() if name not in after.columns}
    new = {name: column for name, column in after.columns.items() if name not in before.columns}
    if not gone or not new:
        return ()
    named = {name: column.properties for name, column in new.items()}
    stated = stated_pairs(gone, named)
    left = {name: column.properties for name, column in gone.items() if name not in stated}
    stated |= id_pairs(left, {name: each for name, each in named.items() if name not in stated.values()})
    guessed = _guess(before, after, stated) if is_guessing else {}
    return (
        *(ColumnRenamed(after.name, old, name, is_stated=True) for old, name in stated.items()),
        *(ColumnRenamed(after.name, old, name) for old, name in guessed.items()),
    )


def full_type(column: Column) -> _FullType:
    """Return the column's type as something to compare; null and absent are the same."""
    return tuple(str(column.properties.get(name)) for name in TYPE_PROPERTIES)


def _guess(before: Table, after: Table, stated: Mapping[str, str]) -> dict[str, str]:
    kept = {name for name in before.columns if name in after.columns} | set(stated.values())
    gone = [
        column
        for name, column in before.columns.items()
        if name not in kept and name not in stated and _is_open(column)
    ]
    new = [
        column
        for name, column in after.columns.items()
        if name not in kept and _is_open(column) and not is_stated_new(column.properties)
    ]
    if not gone or not new or len(gone) * len(new) > MAX_PAIRS:
        return {}
    candidates: dict[_Kind, list[_Candidate]] = {}
    for candidate in _candidates(new, list(after.columns), kept):
        candidates.setdefault(candidate.kind, []).append(candidate)
    scores = {}
    for old in _candidates(gone, [stated.get(name, name) for name in before.columns], kept):
        for candidate in candidates.get(old.kind, ()):
            likeness = name_likeness(old.name, candidate.name)
            if likeness >= _MIN_LIKENESS:
                around = _PLACE_WEIGHT * _place_likeness(old, candidate) + _HINTS_WEIGHT * _hint_likeness(
                    old, candidate
                )
                scores[old.name, candidate.name] = _NAME_WEIGHT * likeness + around
    return clear_pairs(scores)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What counts of a column.

    Attributes:
        kind: what must be the same: type and key hints.
        previous, following: the nearest columns on either side that are there before and after.
        hints: the other hints that are set, and whether it is nullable.
    """

    name: str
    kind: _Kind
    previous: str | None
    following: str | None
    hints: Properties


def _candidates(columns: Iterable[Column], order: list[str], kept: Collection[str]) -> list[_Candidate]:
    previous, following = _last_kept(order, kept), _last_kept(reversed(order), kept)
    return [
        _Candidate(column.name, _kind(column), previous[column.name], following[column.name], _hints(column))
        for column in columns
    ]


def _is_open(column: Column) -> bool:
    """Return whether a guess may be made: a column without a type could be anything."""
    return column.is_complete and not is_dlts_own(column.name)


def _kind(column: Column) -> _Kind:
    return full_type(column), tuple(bool(column.properties.get(name)) for name in _KEY_HINTS)


def _last_kept(order: Iterable[str], kept: Collection[str]) -> dict[str, str | None]:
    last: str | None = None
    found = {}
    for name in order:
        found[name] = last
        if name in kept:
            last = name
    return found


def _place_likeness(before: _Candidate, after: _Candidate) -> float:
    return ((before.previous == after.previous) + (before.following == after.following)) / 2


def _hint_likeness(before: _Candidate, after: _Candidate) -> float:
    if before.hints == after.hints:
        return 1.0
    names = {*before.hints, *after.hints}
    same: int = sum(before.hints.get(name) == after.hints.get(name) for name in names)
    return same / len(names)


def _hints(column: Column) -> Properties:
    stated = {
        name: value
        for name, value in column.properties.items()
        if value and name not in _NO_HINTS and not name.startswith("x-")
    }
    return {**stated, "nullable": column.nullable}
