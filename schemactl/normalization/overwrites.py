"""Finds in evidence, before any row is made, values that are bound to overwrite one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemactl.inference.classes import KEYED_OBJECT, LIST, NULL, OBJECT
from schemactl.inference.evidence import ClassEvidence, Evidence
from schemactl.normalization.plan import Cell, Plan, Rows, TargetColumn
from schemactl.normalization.tally import OverwriteFinding
from schemactl.schema.paths import Path, format_path


def find_certain_overwrites(plan: Plan, evidence: Evidence) -> tuple[OverwriteFinding, ...]:
    """Return what making the rows would find as well: columns that two paths fill, one of them in every row.

    Empty where the evidence cannot decide about each column, where lists may meet, and where a contract keeps anything
    out: then all are found at once as the rows are made.
    """
    walked = list(plan.rows.walk())
    if any(rows.refusal or any(target.refusal for _, target in _targets(rows)) for rows in walked):
        return ()
    found = [each for rows in walked for each in _in_rows(rows, evidence)]
    certain = tuple(each for each in found if each is not None)
    return certain if len(certain) == len(found) else ()


def _in_rows(rows: Rows, evidence: Evidence) -> Iterator[OverwriteFinding | None]:
    """Yield the overwrites of each column or table that several paths fill; None where evidence cannot decide."""
    tables = [below.table for below in rows.lists]
    if len(set(tables)) < len(tables):
        yield None
    seen = evidence.paths.get(rows.path, {})
    count = sum(seen[name].count for name in (OBJECT, KEYED_OBJECT) if name in seen)
    by_column: dict[str, dict[Path, Cell]] = {}
    for cell, target in _targets(rows):
        by_column.setdefault(target.column.name, {})[cell.path] = cell
    for column, cells in by_column.items():
        if len(cells) == 1:
            continue
        if len(cells) > 2 or not all(_fills_only(cell, column) for cell in cells.values()):
            yield None
            continue
        one, other = (_scalars_at(evidence.paths.get(path, {})) for path in cells)
        always, values = (one, other) if _count(one) >= _count(other) else (other, one)
        if not values or _count(always) < count:
            yield None
            continue
        sources = tuple(map(format_path, cells))
        yield OverwriteFinding(rows.table, column, sources, _count(values), min(each.first for each in values))


def _targets(rows: Rows) -> Iterator[tuple[Cell, TargetColumn]]:
    for cell in rows.cells:
        for targets in cell.targets.values():
            yield from ((cell, target) for target in targets)


def _fills_only(cell: Cell, column: str) -> bool:
    """Return whether each value of a cell goes to a column, as it is."""
    return all(
        len(targets) == 1 and targets[0].column.name == column and targets[0].column.data_type == kind
        for kind, targets in cell.targets.items()
    )


def _scalars_at(seen: Mapping[str, ClassEvidence]) -> list[ClassEvidence]:
    """Return the values at a path; none where some of them may be parted further."""
    if seen.keys() & {OBJECT, KEYED_OBJECT, LIST}:
        return []
    return [found for name, found in seen.items() if name != NULL]


def _count(seen: list[ClassEvidence]) -> int:
    return sum(each.count for each in seen)
