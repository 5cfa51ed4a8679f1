"""The changes that lead from one schema to another, exactly, and the leaves in which two free-form values differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemactl.schema import changes
from schemactl.schema.apply import apply, header_of
from schemactl.schema.folds import folds_of
from schemactl.schema.renames import column_renames, table_renames
from schemactl.schema.types import Column, Properties, Schema, Table


def diff(
    before: Schema,
    after: Schema,
    *,
    guess_renames: bool = True,
    heeds_moves: bool = False,
    renamed_tables: Sequence[changes.TableRenamed] | None = None,
) -> tuple[changes.Change, ...]:
    """Return the changes from one schema to another, such that ``apply(before, changes) == after``.

    They come in the order of ``apply``: header, settings, normalizers, removals of tables whose names are reused, table
    renames, then table by table in the order of ``after``, removed tables at their position in ``before``.

    With ``guess_renames`` a missing and a new table or column may count as one under another name; ``x-renamed-from``
    always counts. With ``heeds_moves`` tables and columns may have taken each other's names if ``x-renamed-from`` is
    new, so ``before`` must have its earlier value, which no catalog has. ``renamed_tables`` are tables of ``before``
    with another name in ``after``; None to find them.
    """
    renames = renamed_tables
    if renames is None:
        renames = table_renames(before, after, is_guessing=guess_renames, heeds_moves=heeds_moves)
    names = {change.before: change.after for change in renames}
    # Another table takes their names.
    displaced_names = (name for name in names.values() if name in before.tables and name not in names)
    displaced = tuple(changes.TableRemoved(before.tables[name]) for name in displaced_names)
    renamed = apply(before, (*displaced, *renames)) if renames else before
    order = _interleaved([names.get(name, name) for name in before.tables], after.tables)
    return (
        *(changes.HeaderChanged(*difference) for difference in _differences(header_of(before), header_of(after))),
        *(changes.SettingChanged(*difference) for difference in _differences(before.settings, after.settings)),
        *(changes.NormalizerChanged(*difference) for difference in _differences(before.normalizers, after.normalizers)),
        *displaced,
        *renames,
        *(
            change
            for name in order
            for change in _table(renamed.tables.get(name), after.tables.get(name), guess_renames, heeds_moves)
        ),
    )


def _table(
    before: Table | None, after: Table | None, guess_renames: bool, heeds_moves: bool
) -> Iterator[changes.Change]:
    if before and after:
        for difference in _differences(before.properties, after.properties):
            yield changes.TablePropertyChanged(after.name, *difference)
        yield from _columns(before, after, guess_renames, heeds_moves)
    elif before:
        yield changes.TableRemoved(before)
    elif after:
        yield changes.TableAdded(after)


def _columns(before: Table, after: Table, guess_renames: bool, heeds_moves: bool) -> Iterator[changes.Change]:
    renames = column_renames(before, after, is_guessing=guess_renames, heeds_moves=heeds_moves)
    names = {change.before: change.after for change in renames}
    # Another column takes their names.
    displaced = {name for name in names.values() if name in before.columns and name not in names}
    yield from (changes.ColumnRemoved(after.name, before.columns[name]) for name in displaced)
    yield from renames
    columns = {
        names.get(name, name): replace(column, name=names[name]) if name in names else column
        for name, column in before.columns.items()
        if name not in displaced
    }
    folds = folds_of(after.columns.values())
    for name, column in columns.items():
        if name not in after.columns and name not in folds:
            yield changes.ColumnRemoved(after.name, column)
    for name, column in after.columns.items():
        if name not in columns:
            yield changes.ColumnAdded(after.name, column)
    for name, column in after.columns.items():
        if name in columns and not _are_same(columns[name].properties, column.properties):
            yield from _column(after.name, columns[name], column)
    for name, column in columns.items():
        if name not in after.columns and name in folds:
            yield changes.VariantFolded(after.name, column, folds[name])
    order = (*(key for key in columns if key in after.columns), *(key for key in after.columns if key not in columns))
    if order != tuple(after.columns):
        yield changes.ColumnsReordered(after.name, order, tuple(after.columns))


def _column(table: str, before: Column, after: Column) -> Iterator[changes.Change]:
    old_type, new_type = _type(before), _type(after)
    if not _are_same(old_type, new_type):
        yield changes.ColumnRetyped(table, after.name, old_type, new_type)
    for name, old, new in _differences(before.properties, after.properties):
        if name == "nullable":
            yield changes.NullabilityChanged(table, after.name, old, new)
        elif name not in changes.TYPE_PROPERTIES:
            yield changes.ColumnPropertyChanged(table, after.name, name, old, new)


def _type(column: Column) -> Properties:
    return {name: column.properties[name] for name in changes.TYPE_PROPERTIES if name in column.properties}


def _interleaved(before: Iterable[str], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of ``after`` in order, and each removed name behind its predecessor in ``before``."""
    gone: dict[str | None, list[str]] = {}
    last: str | None = None
    for name in before:
        if name in after:
            last = name
        else:
            gone.setdefault(last, []).append(name)
    yield from gone.get(None, ())
    for name in after:
        yield name
        yield from gone.get(name, ())


def _differences(before: Properties, after: Properties) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key whose value differs, with both values, by key."""
    if _are_same(before, after):
        return
    for name in sorted({*before, *after}):
        old, new = before.get(name, changes.ABSENT), after.get(name, changes.ABSENT)
        if not is_same(old, new):
            yield name, old, new


def _are_same(before: Properties, after: Properties) -> bool:
    if before is after:
        return True
    return before.keys() == after.keys() and all(is_same(value, after[name]) for name, value in before.items())


def is_same(before: Any, after: Any) -> bool:
    """Return whether two values are stored alike: unlike ``==``, 1 is not ``true``, nor 1.0, and NaN is NaN."""
    if before is after:
        return True
    if isinstance(before, str):
        return bool(before == after)
    if isinstance(before, Mapping):
        return isinstance(after, Mapping) and _keys(before) == _keys(after) and _are_same(before, after)
    if isinstance(before, (list, tuple)):
        is_alike = type(before) is type(after) and len(before) == len(after)
        return is_alike and all(map(is_same, before, after))
    return type(before) is type(after) and repr(before) == repr(after)


def _keys(mapping: Mapping[Any, Any]) -> list[str]:
    # YAML has keys that are not text: 1 and true are one key to Python, and two in the hash.
    return sorted(map(repr, mapping))


@dataclass(frozen=True, slots=True)
class Detail:
    """A leaf that differs: the keys and positions (from 0) that lead to it; ``ABSENT`` if it is new or gone."""

    path: tuple[str | int, ...]
    before: Any
    after: Any


def details(before: Any, after: Any) -> tuple[Detail, ...]:
    """Return the leaves that differ between two JSON values, in the order of their paths.

    Lists are compared position by position, so paths are the same in both values. Only this function compares nested
    values leaf by leaf with deepdiff, whose import takes long: call it only for values that differ.
    """
    if before is changes.ABSENT or after is changes.ABSENT:
        return () if before is after else (Detail((), before, after),)
    from deepdiff import DeepDiff

    differences = DeepDiff(
        before,
        after,
        view="tree",
        zip_ordered_iterables=True,
        ignore_private_variables=False,  # it treats keys that start with `__` as private
        threshold_to_diff_deeper=0,  # or else it reports two mappings with few keys in common as wholes
    )
    leaves = []
    for kind, levels in differences.items():
        for level in levels:
            old = changes.ABSENT if kind.endswith("_item_added") else level.t1
            new = changes.ABSENT if kind.endswith("_item_removed") else level.t2
            leaves.append(Detail(tuple(level.path(output_format="list")), old, new))
    # Positions are compared as numbers, and keys that are not text have a place as well.
    return tuple(sorted(leaves, key=lambda leaf: [(type(key).__name__, key) for key in leaf.path]))
