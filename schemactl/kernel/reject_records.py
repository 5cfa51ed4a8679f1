"""Adds to rejects the records that they are of: id, own row, the record as JSON. Without values that hints drop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from schemactl.kernel.stored import stored_type
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import STORED_REJECTS_COLUMNS, RejectState, reject_id
from schemactl.schema.types import Properties

STORED_SCHEMA: Final = pa.schema([pa.field(column.name, stored_type(column)) for column in STORED_REJECTS_COLUMNS])
"""The columns of rejects as they are stored."""


def drops_values(properties: Properties) -> bool:
    """Return whether a hint of a column or table keeps its values out of rejects (``x-annotation-pii: drop``)."""
    return str(properties.get("x-annotation-pii")).lower() == "drop"


@dataclass(frozen=True, slots=True)
class DroppedValues:
    """The columns of a root table and its nested tables whose values never go into rejects.

    Attributes:
        recordable: pairs of a table and a column whose values may be kept; a field of a model or a key of the data that
            is no column is not among them, as nothing says which column it is.
    """

    recordable: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, plan: Plan) -> DroppedValues | None:
        """Return the dropped columns of a plan, None without any; below a dropped table all tables are dropped."""
        dropped_tables: set[str] = set()
        recordable: set[tuple[str, str]] = set()
        is_any = False
        for rows in plan.rows.walk():
            table = plan.tables.get(rows.table)
            if rows.parent in dropped_tables or (table is not None and drops_values(table.properties)):
                dropped_tables.add(rows.table)
            for column in table.columns.values() if table is not None else ():
                if rows.table in dropped_tables or drops_values(column.properties):
                    is_any = True
                else:
                    recordable.add((rows.table, column.name))
        return cls(frozenset(recordable)) if is_any else None

    def hides(self, table: str, column: str | None) -> bool:
        """Return whether a value of a column is dropped, or may be."""
        return column is None or (table, column) not in self.recordable


def with_records(
    batches: Sequence[pa.RecordBatch],
    root_table: str,
    dropped: DroppedValues | None,
    record_text: Callable[[int], str],
    root_key: Callable[[int], str | None] = lambda _: None,
) -> list[pa.RecordBatch]:
    """Return rejects of one chunk with their records; the first row of each record has its text.

    A record that loses a value has neither text nor row: it cannot be replayed.

    Args:
        batches: batches with the columns ``REJECTS_SCHEMA``.
        root_table: the root table of the records; empty if they belong to no table.
        dropped: the values that are left out.
        record_text: returns the record with a number as JSON.
        root_key: returns the ``_dlt_id`` of the record's root row; None if the record creates no row.
    """
    recorded: set[int] = set()
    completed = []
    for batch in batches:
        values: dict[str, list[Any]] = {name: [] for name in ("record_id", "root_key", "record")}
        for row in batch.select(["load_id", "file", "line"]).to_pylist():
            line = row["line"]
            values["record_id"].append(reject_id(row["load_id"], row["file"], line))
            values["root_key"].append(root_key(line))
            is_without_text = line in recorded or dropped is not None
            values["record"].append(None if is_without_text else record_text(line))
            recorded.add(line)
        values["root_table"] = [root_table] * batch.num_rows
        values["state"] = [str(RejectState.WAITING)] * batch.num_rows
        if dropped is not None:
            values |= _without_dropped(batch, dropped)
        arrays = [
            pa.array(values.get(field.name, [None] * batch.num_rows), field.type)
            if field.name in values or field.name not in batch.schema.names
            else batch.column(field.name)
            for field in STORED_SCHEMA
        ]
        completed.append(pa.RecordBatch.from_arrays(arrays, schema=STORED_SCHEMA))
    return completed


def _without_dropped(batch: pa.RecordBatch, dropped: DroppedValues) -> dict[str, list[Any]]:
    """Return the columns of rejects with values, without dropped values; a message in ``found`` may contain one."""
    is_hidden = [
        dropped.hides(row["table_name"], row["column_name"])
        for row in batch.select(["table_name", "column_name"]).to_pylist()
    ]
    values = {
        name: [
            None if hidden else value for hidden, value in zip(is_hidden, batch.column(name).to_pylist(), strict=True)
        ]
        for name in ("value", "found")
    }
    return {**values, "row": [None] * batch.num_rows}
