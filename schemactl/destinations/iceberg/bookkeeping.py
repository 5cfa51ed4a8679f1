"""The tables in which a dataset of Iceberg keeps its loads: dlt's of versions and loads, and ours of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from schemactl.destinations._bookkeeping import LOADED
from schemactl.destinations._lake.types import arrow_type, kind_of
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table import Table as IcebergTable


def is_known(versions: IcebergTable, schema: Schema) -> bool:
    """Return whether a schema is written down already."""
    return _count(versions, version_hash=schema.version_hash, schema_name=schema.name) > 0


def rows_of(table: Table, rows: Sequence[Sequence[Any]]) -> pyarrow.Table:
    """Return rows, each in the order of the table's columns, as they are appended to a table of this dataset."""
    import pyarrow

    fields = [
        pyarrow.field(each.name, arrow_type(kind_of(each, has_time=True, sizes=(32,))), each.nullable)
        for each in table.columns.values()
    ]
    held = pyarrow.schema(fields)
    return pyarrow.Table.from_pylist([dict(zip(held.names, row, strict=True)) for row in rows], schema=held)


def is_loaded(loads: IcebergTable, schema_name: str, load_id: str) -> bool:
    """Return whether a load is complete."""
    return _count(loads, schema_name=schema_name, load_id=load_id, status=LOADED) > 0


def _count(table: IcebergTable, **equal: Any) -> int:
    from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Reference

    condition: BooleanExpression = AlwaysTrue()
    for name, value in equal.items():
        condition = And(condition, EqualTo(term=Reference(name), value=value))
    return len(table.scan(row_filter=condition, selected_fields=tuple(equal)).to_arrow())


def completed(loads: IcebergTable, schema_name: str) -> dict[str, Any]:
    """Return when each complete load of a schema was made, by its id."""
    fields = ("load_id", "schema_name", "status", "inserted_at")
    rows = loads.scan(selected_fields=fields).to_arrow().to_pylist()
    ours = (row for row in rows if row["schema_name"] == schema_name and row["status"] == LOADED)
    return {row["load_id"]: row["inserted_at"] for row in ours}
