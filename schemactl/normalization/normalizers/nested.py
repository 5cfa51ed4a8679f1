"""Keeps structure: one table, in which objects and lists stay whole, as Spark's own structs and arrays.

Named as dlt calls such data. Top-level scalars are columns as under ``relational``. Keys inside stay as the data has
them, as they do in dlt's own ``json`` columns: no table or column is made of them.

dlt imports ``normalizers.json.module`` as a module of Python: a schema that dlt is to read names this one in full,
``schemactl.normalization.normalizers.nested``, and dlt finds a normalizer of its own kind here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemactl.errors import InputError
from schemactl.normalization.nested_schema import flat, structures_in
from schemactl.normalization.plan import Cell, Plan, TargetColumn
from schemactl.normalization.planner import plan_relational
from schemactl.normalization.request import PlanRequest
from schemactl.schema.nested_types import structure_of
from schemactl.schema.types import DataType, Schema


def plan(request: PlanRequest) -> Plan:
    """Return the plan of a load."""
    asked, allowed = request.resolution.schema, request.judgment.schema
    resolution = replace(request.resolution, schema=flat(asked))
    found = plan_relational(replace(request, resolution=resolution), coerces=True)
    if found.rows.lists:
        lists = ", ".join(f"`{rows.table}`" for rows in found.rows.lists)
        raise InputError(f"`{found.rows.table}` keeps its lists in columns, yet the schema nests {lists} in it")
    cells = tuple(_with_structure(cell, found.rows.table, allowed) for cell in found.rows.cells)
    stated = {(table.name, column.name): structure_of(column) for table, column in structures_in(allowed)}
    kept = {place: structure for place, structure in stated.items() if structure is not None}
    return replace(found, rows=replace(found.rows, cells=cells), structures=kept)


def _with_structure(cell: Cell, table: str, allowed: Schema) -> Cell:
    """Return a cell that keeps structure where its columns do."""
    targets = {
        kind: found if kind == DataType.JSON else tuple(each for each in found if structure_of(each.column) is None)
        for kind, found in cell.targets.items()
    }
    first = next(iter(targets.get(DataType.JSON, ())), None)
    if first is None or first.column.data_type is not DataType.JSON:
        return replace(cell, targets=targets)
    structure = structure_of(first.column)
    asked = replace(first, structure=structure)
    before = _before(first, table, allowed)
    targets[DataType.JSON] = (asked,) if before is None else (before, asked)
    return replace(cell, targets=targets, structure=structure)


def _before(asked: TargetColumn, table: str, allowed: Schema) -> TargetColumn | None:
    """Return the column as it was, which takes what fits it, where the contract refuses its new type."""
    known = allowed.tables[table].columns.get(asked.column.name) if table in allowed.tables else None
    if asked.refusal is None or known is None or not known.is_complete:
        return None
    structure = structure_of(known)
    return None if structure is None else TargetColumn(known, structure=structure)


def __getattr__(name: str) -> Any:
    """Return what dlt looks for in the module of a normalizer; dlt is there wherever it asks."""
    if name != "DataItemNormalizer":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from dlt.common.normalizers.json.relational import DataItemNormalizer as Relational

    class DataItemNormalizer(Relational):
        """dlt's rows of such a schema: one table, what is nested kept as JSON."""

        def _reset(self) -> None:
            super()._reset()
            self.max_nesting = 0

    return DataItemNormalizer
