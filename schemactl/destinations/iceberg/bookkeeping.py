"""The tables in which a dataset of Iceberg keeps its loads: dlt's of versions and loads, and ours of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from schemactl.destinations._bookkeeping import INPUTS, version_row
from schemactl.destinations._lake.types import arrow_type, kind_of
from schemactl.destinations._package import INPUTS_TABLE, LoadedInput, LoadPackage
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, loads_table, version_table
from schemactl.schema.types import Table

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table import Table as IcebergTable

_LOADED: Final = 0


class _Opened(Protocol):
    @property
    def table(self) -> IcebergTable: ...


def write_bookkeeping(
    open_: Callable[[str], _Opened | None], package: LoadPackage
) -> Iterator[tuple[str, pyarrow.Table]]:
    """Yield tables and the rows to append to them; the one that completes the load comes last."""
    schema, at = package.schema, package.inserted_at
    versions = open_(VERSION_TABLE)
    if versions is None or not _count(versions.table, version_hash=schema.version_hash, schema_name=schema.name):
        yield VERSION_TABLE, rows_of(version_table(), [version_row(schema, at)])
    if package.inputs:
        rows = [(package.load_id, schema.name, each.path, each.bytes, each.modified) for each in package.inputs]
        yield INPUTS_TABLE, rows_of(INPUTS, rows)
    yield LOADS_TABLE, rows_of(loads_table(), [(package.load_id, schema.name, _LOADED, at, schema.version_hash)])


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
    return _count(loads, schema_name=schema_name, load_id=load_id, status=_LOADED) > 0


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
    ours = (row for row in rows if row["schema_name"] == schema_name and row["status"] == _LOADED)
    return {row["load_id"]: row["inserted_at"] for row in ours}


def loaded_inputs(inputs: IcebergTable, schema_name: str, loads: Mapping[str, Any]) -> dict[str, LoadedInput]:
    """Return the files of complete loads, by path, the last load of each."""
    rows = [row for row in inputs.scan().to_arrow().to_pylist() if row["schema_name"] == schema_name]
    ours = sorted((row for row in rows if row["load_id"] in loads), key=lambda row: loads[row["load_id"]])
    return {row["path"]: LoadedInput(row["path"], row["bytes"], row["modified"]) for row in ours}
