"""Finds values that are certain to overwrite one another, from evidence, before any row is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemactl.inference.classes import KEYED_OBJECT, LIST, NULL, OBJECT
from schemactl.inference.evidence import ClassEvidence, Evidence
from schemactl.normalization.plan import Cell, Plan, Rows, TargetColumn
from schemactl.normalization.tally import OverwriteFinding
from schemactl.schema.paths import Path, format_path


def find_certain_overwrites(plan: Plan, evidence: Evidence) -> tuple[OverwriteFinding, ...]:
    """Return the columns that two paths fill, one of them in every row, which making the rows would also report.

    Empty if the evidence cannot decide about each column, if lists may meet, or if a contract refuses anything: then
    making the rows reports all overwrites at once.
    """
    all_rows = list(plan.rows.walk())
    if any(rows.refusal or any(target.refusal for _, target in _targets(rows)) for rows in all_rows):
        return ()
    overwrites = [overwrite for rows in all_rows for overwrite in _in_rows(rows, evidence)]
    certain = tuple(overwrite for overwrite in overwrites if overwrite is not None)
    return certain if len(certain) == len(overwrites) else ()


def _in_rows(rows: Rows, evidence: Evidence) -> Iterator[OverwriteFinding | None]:
    """Yield the overwrites of each column or table that several paths fill; None if evidence cannot decide."""
    tables = [below.table for below in rows.lists]
    if len(set(tables)) < len(tables):
        yield None
    row_classes = evidence.paths.get(rows.path, {})
    count = sum(row_classes[name].count for name in (OBJECT, KEYED_OBJECT) if name in row_classes)
    by_column: dict[str, dict[Path, Cell]] = {}
    for cell, target in _targets(rows):
        by_column.setdefault(target.column.name, {})[cell.path] = cell
    for column, cells in by_column.items():
        if len(cells) == 1:
            continue
        if len(cells) > 2 or not all(_fills_only(cell, column) for cell in cells.values()):
            yield None
            continue
        values, always = sorted((_scalars_at(evidence.paths.get(path, {})) for path in cells), key=_count)
        if not values or _count(always) < count:
            yield None
            continue
        first = min(value.first for value in values)
        yield OverwriteFinding(rows.table, column, tuple(map(format_path, cells)), _count(values), first)


def _targets(rows: Rows) -> Iterator[tuple[Cell, TargetColumn]]:
    for cell in rows.cells:
        for targets in cell.targets.values():
            yield from ((cell, target) for target in targets)


def _fills_only(cell: Cell, column: str) -> bool:
    """Return whether each value of a cell goes to a column unchanged."""
    return all(
        len(targets) == 1 and targets[0].column.name == column and targets[0].column.data_type == kind
        for kind, targets in cell.targets.items()
    )


def _scalars_at(classes: Mapping[str, ClassEvidence]) -> list[ClassEvidence]:
    """Return the evidence of the scalars at a path; empty if objects or lists are among the values."""
    if classes.keys() & {OBJECT, KEYED_OBJECT, LIST}:
        return []
    return [class_evidence for name, class_evidence in classes.items() if name != NULL]


def _count(classes: list[ClassEvidence]) -> int:
    return sum(class_evidence.count for class_evidence in classes)
