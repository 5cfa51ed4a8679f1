"""Loads for the tests of tables on files, and what is read back of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from staged_loads import ROW_KEY as KEY
from staged_loads import shop as schema_of
from staged_loads import staged_type

from schemactl.normalization.package import LoadedInput, LoadPackage, StagedTable
from schemactl.schema.types import Column, Table

AT = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
Rows = list[dict[str, Any]]

LOAD = {"data_type": "text", "nullable": False}


def table(name: str, columns: Mapping[str, Mapping[str, Any]], **properties: Any) -> Table:
    """Return a root table with dlt's own columns at the end."""
    held = {**columns, "_dlt_load_id": LOAD, "_dlt_id": KEY}
    stated = {"write_disposition": "append", "resource": name, **properties}
    return Table(name, {each: Column(each, kind) for each, kind in held.items()}, stated)


def nested(name: str, parent: str, columns: Mapping[str, Mapping[str, Any]]) -> Table:
    link = {"data_type": "text", "nullable": False, "parent_key": True}
    held = {**columns, "_dlt_parent_id": link, "_dlt_list_idx": {"data_type": "bigint"}, "_dlt_id": KEY}
    return Table(name, {each: Column(each, kind) for each, kind in held.items()}, {"parent": parent})


def stage(folder: Path, table: Table, rows: Rows, files: int = 1, **options: Any) -> StagedTable:
    """Write rows as the engine does: all columns may be null."""
    folder.mkdir(parents=True)
    held = pa.schema(
        [pa.field(each.name, staged_type(each.properties)) for each in table.columns.values() if each.is_complete]
    )
    for number in range(files):
        part = pa.Table.from_pylist(rows[number::files], schema=held)
        pyarrow.parquet.write_table(part, folder / f"part-{number:05}.parquet", **options)
    return StagedTable(table, folder, len(rows))


def package(
    folder: Path,
    load_id: str,
    rows: Mapping[str, Rows],
    tables: Iterable[Table],
    at: datetime = AT,
    files: int = 1,
    inputs: tuple[LoadedInput, ...] = (),
    **options: Any,
) -> LoadPackage:
    """Return a load; rows get dlt's columns where they bring none."""
    known = {each.name: each for each in tables}
    staged = tuple(
        stage(folder / load_id / name, known[name], completed(known[name], held, load_id), files, **options)
        for name, held in rows.items()
    )
    return LoadPackage(load_id, schema_of(*known.values()), staged, at, inputs=inputs)


def completed(table: Table, rows: Rows, load_id: str) -> Rows:
    def filled(number: int, row: dict[str, Any]) -> dict[str, Any]:
        made = {"_dlt_id": f"{table.name}-{load_id}-{number}", "_dlt_load_id": load_id}
        return {**{name: value for name, value in made.items() if name in table.columns}, **row}

    return [filled(number, row) for number, row in enumerate(rows)]
