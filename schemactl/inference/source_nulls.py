"""Makes columns nullable or required as their sources declare, like dlt does with Arrow fields."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Final

from schemactl.inference.classes import NULL
from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import Origin, Resolution, TakenClass
from schemactl.inference.values import DECLARED
from schemactl.schema.contract import ContractValue, Mode, contract_for
from schemactl.schema.types import Column, DataType, Schema

_KEYS: Final = ("primary_key", "merge_key", "row_key", "parent_key", "root_key")


def with_source_nulls(
    resolution: Resolution, before: Schema, evidence: Evidence, contract: ContractValue, call_columns: Set[Origin]
) -> Resolution:
    """Return a resolution whose columns are nullable as their sources declare.

    A new column is required if its sources say so. An existing column becomes nullable if types may evolve; if they are
    frozen, ``judge`` reports each difference. Keys do not change, nor do the columns of ``call_columns``. dlt 1.31 also
    makes existing columns required; here they stay nullable because stored rows may have nulls.
    """
    tables, reasons = dict(resolution.schema.tables), dict(resolution.reasons)
    contracts = replace(before, tables={**tables, **before.tables})
    for (table, name), taken_classes in resolution.taken.items():
        column = tables[table].columns[name]
        may_be_null = _may_be_null(evidence, column, taken_classes)
        if may_be_null is None or (table, name) in call_columns or any(map(column.properties.get, _KEYS)):
            continue
        known_column = before.column(table, name)
        if known_column is not None and known_column.is_complete:
            mode = contract_for(contracts, table, contract).data_type
            is_taken = mode is Mode.FREEZE or (mode is Mode.EVOLVE and may_be_null)
        else:
            is_taken = not may_be_null and (known_column is None or "nullable" not in known_column.properties)
        if is_taken and column.nullable is not may_be_null:
            changed = replace(column, properties={**column.properties, "nullable": may_be_null})
            tables[table] = replace(tables[table], columns={**tables[table].columns, name: changed})
            reasons.setdefault((table, name), "may be null in its source" if may_be_null else "not null in its source")
    return replace(resolution, schema=replace(resolution.schema, tables=tables), reasons=reasons)


def _may_be_null(evidence: Evidence, column: Column, taken_classes: Iterable[TakenClass]) -> bool | None:
    """Return whether the sources of a column declare it nullable; None if a source does not declare it."""
    declarations = [
        evidence.nullable.get(path) if name == DECLARED else None
        for path, name in taken_classes
        # The nullability of a field says nothing about the object that contains it and stays whole.
        if name != NULL and (len(path) == 1 or column.data_type is not DataType.JSON)
    ]
    if True in declarations:
        return True
    return False if declarations and None not in declarations else None
