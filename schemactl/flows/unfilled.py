"""Leaves out what only rejected rows ask for: columns, variants and tables that nothing is loaded into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from schemactl.flows.evolution import Evolution, Unfilled
from schemactl.inference.evidence import Evidence
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import Tally
from schemactl.schema.contract import Mode


class CountedRows(Protocol):
    """The rows of a plan, counted."""

    @property
    def tally(self) -> Tally:
        """The counts of all rows."""
        ...

    @property
    def filled(self) -> frozenset[tuple[str, str]]:
        """The columns, by table, in which a row that is loaded has a value."""
        ...


CountRows: TypeAlias = Callable[[Plan], CountedRows]
"""Makes the rows of a plan and counts them."""


def without_unfilled(
    evolution: Evolution, evidence: Evidence, count: CountRows, evolve: Callable[[Unfilled], Evolution]
) -> Evolution:
    """Return an evolution without what only rejected rows ask for; where rows may be rejected they are made.

    Args:
        evolution: by all the data.
        evidence: of all the data.
        count: makes the rows.
        evolve: the evolution without columns and tables.
    """
    unfilled: Unfilled = frozenset()
    while _may_be_unfilled(evolution):
        rows = count(make_plan(PlanRequest(evidence, evolution.resolution, evolution.judgment)))
        further = find_unfilled(evolution, rows) - unfilled
        if not further:
            break
        unfilled |= further
        evolution = evolve(unfilled)
    return evolution


def _may_be_unfilled(evolution: Evolution) -> bool:
    judgment = evolution.judgment
    rejects_rows = any(each.mode is Mode.DISCARD_ROW for each in judgment.violations)
    return rejects_rows and not judgment.is_refused and judgment.schema != evolution.before


def find_unfilled(evolution: Evolution, rows: CountedRows) -> Unfilled:
    """Return the new columns without a value, and the tables without a row (column None), where rows are rejected.

    Args:
        evolution: what becomes of a schema by all the data.
        rows: that are made under it.
    """
    if not any(counts.rejected for counts in rows.tally.tables.values()):
        return frozenset()
    return frozenset(_find(evolution, rows))


def _find(evolution: Evolution, rows: CountedRows) -> Iterator[tuple[str, str | None]]:
    for name, table in evolution.judgment.schema.tables.items():
        counts, known = rows.tally.tables.get(name), evolution.before.tables.get(name)
        if counts is None or table == known:
            continue
        if not counts.loaded:
            if known is not None or table.is_nested:
                yield name, None
            continue
        for column in table.columns.values():
            is_new = known is None or column.name not in known.columns or not known.columns[column.name].is_complete
            is_asked_for = (name, column.name) in evolution.resolution.taken
            if is_new and is_asked_for and (name, column.name) not in rows.filled:
                yield name, column.name
