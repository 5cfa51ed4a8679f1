"""Compare the keys and references of tables, and how their rows are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from schemactl.review.comparison import Comparison, is_filled_by_dlt
from schemactl.review.rule import Finder, Match
from schemactl.review.severity import Impact
from schemactl.review.wording import key, place
from schemactl.schema.changes import (
    ABSENT,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnsReordered,
    TablePropertyChanged,
    TableRenamed,
)
from schemactl.schema.dispositions import Strategy
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table's key whose columns changed, by their names in the head schema, in the table's order."""

    table: str
    hint: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(column for column in self.after if column not in self.before)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(column for column in self.before if column not in self.after)

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match that points to the column where there is only one."""
        moved = (*self.added, *self.removed)
        column = moved[0] if len(moved) == 1 else None
        keys = ("tables", self.table, "columns")
        return Match(
            sentence=sentence,
            table=self.table,
            column=column,
            keys=(*keys, column, self.hint) if column else keys,
            before=list(self.before),
            after=list(self.after),
            # One column may be in several keys, which then change alike.
            aspect="" if column else self.hint,
            impact=impact,
        )


def key_changes(comparison: Comparison, hint: str) -> Iterator[KeyChange]:
    """Yield each table, new ones left out, whose set of columns with ``hint`` changed.

    A key of new columns alone is reported only where stored rows have no value in it: not in a table without rows, and
    not where dlt fills the columns.
    """
    touched = dict.fromkeys(_touched(comparison, hint))
    if not touched:
        return
    added = {(change.table, change.column.name) for change in comparison.of(ColumnAdded)}
    for table in touched:
        before, after = _sides(comparison, table, hint)
        is_harmless = not before and all((table, column) in added for column in after)
        if is_harmless and comparison.has_stored_rows(table):
            is_harmless = all(is_filled_by_dlt(column) for column in after)
        if set(before) != set(after) and not is_harmless:
            yield KeyChange(table, hint, before, after)


def reordered_keys(comparison: Comparison, hint: str) -> Iterator[KeyChange]:
    """Yield each table whose columns with ``hint`` are the same in another order."""
    for change in comparison.of(ColumnsReordered):
        before, after = _sides(comparison, change.table, hint)
        if before != after and set(before) == set(after):
            yield KeyChange(change.table, hint, before, after)


def _touched(comparison: Comparison, hint: str) -> Iterator[str]:
    yield from (change.table for change in comparison.of(ColumnPropertyChanged, hint))
    yield from (added.table for added in comparison.of(ColumnAdded) if added.column.properties.get(hint))
    yield from (removed.table for removed in comparison.of(ColumnRemoved) if removed.column.properties.get(hint))


def _sides(comparison: Comparison, table: str, hint: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a table's key before and after, by names of the head schema."""
    old = _columns(comparison.base_table(table), hint)
    before = tuple(comparison.head_columns.get((table, column), column) for column in old)
    return before, _columns(comparison.head.schema.tables.get(table), hint)


def _columns(table: Table | None, hint: str) -> tuple[str, ...]:
    if table is None:
        return ()
    return tuple(name for name, column in table.columns.items() if column.properties.get(hint))


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference by names of the head schema, with what its schema states."""

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    cardinality: str | None
    stated: Any

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Return what it is compared by; the order of its pairs of columns does not count."""
        return sorted(zip(self.columns, self.target_columns, strict=False)), self.target, self.cardinality

    def __str__(self) -> str:
        kind = f", {self.cardinality.replace('_', ' ')}" if self.cardinality else ""
        return f"{key(self.columns)} to `{self.target}` {key(self.target_columns)}{kind}"


@dataclass(frozen=True, slots=True)
class ReferenceChange:
    """A reference that is new (no ``before``), gone (no ``after``) or another one."""

    table: str
    before: Reference | None
    after: Reference | None


def reference_rule(applies: Callable[[ReferenceChange], bool], sentence: str) -> Finder:
    """Return the finder of the references that changed in one way.

    Args:
        applies: whether they did.
        sentence: with ``{table}``, ``{before}`` and ``{after}`` in it.
    """

    def find(comparison: Comparison) -> Iterator[Match]:
        for change in filter(applies, reference_changes(comparison)):
            yield Match(
                sentence=sentence.format(table=place(change.table), before=change.before, after=change.after),
                table=change.table,
                keys=("tables", change.table, "references"),
                before=change.before.stated if change.before else None,
                after=change.after.stated if change.after else None,
            )

    return find


def reference_changes(comparison: Comparison) -> Iterator[ReferenceChange]:
    """Yield the changed references of tables that both schemas have, matched by their columns, then by their target."""
    for change in comparison.of(TablePropertyChanged, "references"):
        before = distinct(
            _in_head_names(comparison, reference) for reference in read_references(change.table, change.before)
        )
        after = distinct(read_references(change.table, change.after))
        for same in ("meaning", "columns", "target"):
            for one, other in _pairs(before, after, same):
                before.remove(one)
                after.remove(other)
                if one.meaning != other.meaning:
                    yield ReferenceChange(change.table, one, other)
        yield from (ReferenceChange(change.table, gone, None) for gone in before)
        yield from (ReferenceChange(change.table, None, new) for new in after)


def distinct(references: Iterable[Reference]) -> list[Reference]:
    """Return the references without those that repeat another one."""
    found: list[Reference] = []
    for reference in references:
        if all(reference.meaning != other.meaning for other in found):
            found.append(reference)
    return found


def _pairs(before: list[Reference], after: list[Reference], same: str) -> Iterator[tuple[Reference, Reference]]:
    left = list(after)
    for one in list(before):
        other = next((other for other in left if getattr(other, same) == getattr(one, same)), None)
        if other is not None:
            left.remove(other)
            yield one, other


def read_references(table: str, stated: Any) -> list[Reference]:
    """Return the references that a table states."""
    references: list[Mapping[str, Any]] = [] if stated is ABSENT or not stated else stated
    return [
        Reference(
            table=table,
            columns=tuple(reference.get("columns") or ()),
            target=reference.get("referenced_table") or "",
            target_columns=tuple(reference.get("referenced_columns") or ()),
            cardinality=reference.get("cardinality"),
            stated=reference,
        )
        for reference in references
    ]


def _in_head_names(comparison: Comparison, reference: Reference) -> Reference:
    """Return a reference of the base schema by the names of the head schema."""
    tables = {change.before: change.after for change in comparison.of(TableRenamed)}
    columns, target = comparison.head_columns, tables.get(reference.target, reference.target)
    return replace(
        reference,
        columns=tuple(columns.get((reference.table, name), name) for name in reference.columns),
        target=target,
        target_columns=tuple(columns.get((target, name), name) for name in reference.target_columns),
    )


STRATEGY: Final = "x-merge-strategy"


def merge_strategy(table: Table | None) -> str | None:
    """Return how rows of a table are merged, None where they are not."""
    if table is None or table.properties.get("write_disposition") != "merge":
        return None
    return str(table.properties.get(STRATEGY) or Strategy.DELETE_INSERT)
