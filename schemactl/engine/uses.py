"""What a plan takes from documents, by path."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemactl.inference.paths import Path
from schemactl.normalization.plan import Cell, Plan
from schemactl.schema.nested_types import NestedType
from schemactl.schema.types import DataType


@dataclass(slots=True)
class Use:
    """What a plan takes from one path.

    Attributes:
        cells: the cells that take the values there.
        is_row: whether the values make rows.
        below: the same for keys, and for elements under ``ELEMENT``.
    """

    cells: list[Cell] = field(default_factory=list)
    is_row: bool = False
    below: dict[str | None, Use] = field(default_factory=dict)

    def at(self, path: Path) -> Use:
        """Return the use of a path, made where there is none."""
        found = self
        for step in path:
            found = found.below.setdefault(step, Use())
        return found

    def takes(self, kind: DataType) -> bool:
        """Return whether a cell takes values of a kind."""
        return any(kind in cell.targets for cell in self.cells)

    @property
    def structure(self) -> NestedType | None:
        """What all cells that take objects and lists keep them in; None where one does not."""
        found = [cell.structure for cell in self.cells if DataType.JSON in cell.targets]
        return found[0] if found and all(each == found[0] for each in found) else None

    @property
    def is_double(self) -> bool:
        """Whether integers and other numbers go the same way, as doubles."""
        return bool(self.cells) and all(_is_double(cell) for cell in self.cells)


def _is_double(cell: Cell) -> bool:
    firsts = [cell.targets.get(kind, ())[:1] for kind in (DataType.BIGINT, DataType.DOUBLE)]
    return firsts[0] == firsts[1] and all(
        target.column.data_type is DataType.DOUBLE and target.refusal is None for target in firsts[0]
    )


def uses_of(plan: Plan) -> Use:
    """Return what ``plan`` takes from documents."""
    root = Use()
    for rows in plan.rows.walk():
        root.at(rows.path).is_row = True
        for cell in (*rows.cells, *rows.own_key):
            root.at(cell.path).cells.append(cell)
    return root
