"""Compares the references of tables to other tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.origins import renamed_columns
from schemactl.review.places import key
from schemactl.review.rule import Match
from schemactl.schema.changes import ABSENT, TablePropertyChanged, TableRenamed


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
        """What distinguishes it from another; the order of its pairs of columns does not count."""
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

    def match(self, sentence: str) -> Match:
        """Return the match with a sentence."""
        return Match(
            sentence=sentence,
            table=self.table,
            keys=("tables", self.table, "references"),
            before=self.before.stated if self.before else None,
            after=self.after.stated if self.after else None,
        )


def reference_changes(comparison: Comparison) -> Iterator[ReferenceChange]:
    """Yield the references of tables on both sides that changed.

    Those that lead from the same columns belong together, then those that lead to the same table.
    """
    names = _new_names(comparison)
    for change in comparison.of(TablePropertyChanged):
        if change.name != "references":
            continue
        before = distinct(_renamed(names, reference) for reference in read_references(change.table, change.before))
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
    """Return the references without those that say again what another one says."""
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


@dataclass(frozen=True, slots=True)
class _Names:
    """Names in the head schema: of tables by their old names, of columns by their tables and old names."""

    tables: Mapping[str, str]
    columns: Mapping[tuple[str, str], str]

    def of_columns(self, table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.columns.get((table, column), column) for column in columns)


def _new_names(comparison: Comparison) -> _Names:
    return _Names(
        tables={change.before: change.after for change in comparison.of(TableRenamed)},
        columns={(table, old): new for (table, new), old in renamed_columns(comparison).items()},
    )


def _renamed(names: _Names, reference: Reference) -> Reference:
    """Return a reference of the base schema by the names of the head schema."""
    target = names.tables.get(reference.target, reference.target)
    return replace(
        reference,
        columns=names.of_columns(reference.table, reference.columns),
        target=target,
        target_columns=names.of_columns(target, reference.target_columns),
    )
