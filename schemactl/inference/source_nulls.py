"""Takes what sources state of nulls into columns, as dlt takes the nullability of Arrow fields."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Final

from schemactl.inference.classes import NULL
from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import Origin, Resolution, Taken
from schemactl.inference.values import TYPED
from schemactl.schema.contract import Mode, Stated, contract_for
from schemactl.schema.types import Column, DataType, Schema

_KEYS: Final = ("primary_key", "merge_key", "row_key", "parent_key", "root_key")


def with_source_nulls(
    resolution: Resolution, before: Schema, evidence: Evidence, contract: Stated, stated: Set[Origin]
) -> Resolution:
    """Return a resolution whose columns may be null as their sources state it.

    A new column takes no nulls if its sources state so. A column that exists is allowed nulls if types evolve; if they
    are frozen, ``judge`` refuses each difference. Keys stay as they are, and the columns of ``stated``.

    dlt 1.31 forbids nulls by a source's word in columns that exist, too; rows in the destination may have some.

    Args:
        resolution: of the evidence.
        before: the schema as it was.
        evidence: of the data.
        contract: of the call; None for those of the schema.
        stated: columns by table of which the call states whether they may be null.
    """
    tables, reasons = dict(resolution.schema.tables), dict(resolution.reasons)
    contracts = replace(before, tables={**tables, **before.tables})
    for (table, name), taken in resolution.taken.items():
        column = tables[table].columns[name]
        may_be_null = _may_be_null(evidence, column, taken)
        if may_be_null is None or (table, name) in stated or _is_key(column):
            continue
        known = before.tables[table].columns.get(name) if table in before.tables else None
        if known is not None and known.is_complete:
            mode = contract_for(contracts, table, contract).data_type
            is_taken = mode is Mode.FREEZE or (mode is Mode.EVOLVE and may_be_null)
        else:
            is_taken = not may_be_null and (known is None or "nullable" not in known.properties)
        if is_taken and column.nullable is not may_be_null:
            changed = replace(column, properties={**column.properties, "nullable": may_be_null})
            tables[table] = replace(tables[table], columns={**tables[table].columns, name: changed})
            reasons.setdefault((table, name), "may be null in its source" if may_be_null else "not null in its source")
    return replace(resolution, schema=replace(resolution.schema, tables=tables), reasons=reasons)


def _may_be_null(evidence: Evidence, column: Column, taken: Iterable[Taken]) -> bool | None:
    """Return whether the sources of a column state that it may be null; None where one of them states nothing."""
    stated = [
        evidence.nullable.get(path) if name == TYPED else None
        for path, name in taken
        # Objects and lists that stay whole are not their fields.
        if name != NULL and (len(path) == 1 or column.data_type is not DataType.JSON)
    ]
    if True in stated:
        return True
    return False if stated and None not in stated else None


def _is_key(column: Column) -> bool:
    return any(column.properties.get(hint) for hint in _KEYS)
