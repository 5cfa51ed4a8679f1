"""Keeps structure: one table, in which objects and lists stay whole, as Spark structs and arrays.

Top-level scalars are columns as under ``relational``. Keys of nested objects keep their spelling, as in dlt's own
``json`` columns, and become neither tables nor columns.

dlt imports ``normalizers.json.module`` as a Python module: a schema that dlt shall read has the full name
``schemactl.normalization.normalizers.nested``, and dlt finds its own kind of normalizer in this module.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemactl.errors import InputError, backquoted
from schemactl.inference.nested_schema import flat, structures_in
from schemactl.normalization.plan import Cell, Plan, TargetColumn
from schemactl.normalization.planner import plan_relational
from schemactl.normalization.request import PlanRequest
from schemactl.schema.nested_types import structure_of
from schemactl.schema.types import DataType, Schema


def plan(request: PlanRequest) -> Plan:
    """Return the plan of a load."""
    resolved_schema, allowed_schema = request.resolution.schema, request.judgment.schema
    resolution = replace(request.resolution, schema=flat(resolved_schema))
    flat_plan = plan_relational(replace(request, resolution=resolution), coerces=True)
    if flat_plan.rows.lists:
        lists = backquoted(rows.table for rows in flat_plan.rows.lists)
        raise InputError(
            f"`{flat_plan.rows.table}` stores its lists in columns, but the schema has nested tables {lists}"
        )
    cells = tuple(_with_structure(cell, flat_plan.rows.table, allowed_schema) for cell in flat_plan.rows.cells)
    structures = {
        (table.name, column.name): structure
        for table, column in structures_in(allowed_schema)
        if (structure := structure_of(column)) is not None
    }
    return replace(flat_plan, rows=replace(flat_plan.rows, cells=cells), structures=structures)


def _with_structure(cell: Cell, table: str, allowed_schema: Schema) -> Cell:
    """Return a cell that keeps structure if its columns do."""
    targets = {
        kind: candidates
        if kind == DataType.JSON
        else tuple(candidate for candidate in candidates if structure_of(candidate.column) is None)
        for kind, candidates in cell.targets.items()
    }
    first = next(iter(targets.get(DataType.JSON, ())), None)
    if first is None or first.column.data_type is not DataType.JSON:
        return replace(cell, targets=targets)
    structure = structure_of(first.column)
    # Texts that other scalars feed are JSON in the resolved schema, except under `promote_text`.
    target = replace(first, structure=structure, spells_scalars=True)
    earlier_target = _earlier_target(first, table, allowed_schema)
    targets[DataType.JSON] = (target,) if earlier_target is None else (earlier_target, target)
    return replace(cell, targets=targets, structure=structure)


def _earlier_target(target: TargetColumn, table: str, allowed_schema: Schema) -> TargetColumn | None:
    """Return the stored column, for values that fit it, if the contract refuses its new type."""
    earlier_column = allowed_schema.column(table, target.column.name)
    if target.refusal is None or earlier_column is None or not earlier_column.is_complete:
        return None
    structure = structure_of(earlier_column)
    return None if structure is None else TargetColumn(earlier_column, structure=structure)


def __getattr__(name: str) -> Any:
    """Return dlt's class of a normalizer; only dlt calls this, so dlt is installed."""
    if name != "DataItemNormalizer":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from dlt.common.normalizers.json.relational import DataItemNormalizer as Relational

    class DataItemNormalizer(Relational):
        """dlt's rows of such a schema: one table, nested values kept as JSON."""

        def _reset(self) -> None:
            super()._reset()
            self.max_nesting = 0

    return DataItemNormalizer
