"""Makes loads as the engine stages them, from rows: the schema ``shop``, orders with lines nested in them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from schemactl.destinations import Loader
from schemactl.normalization.package import LoadedInput, LoadPackage, StagedTable
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table, table_from_dict

TYPES = {
    "text": pa.string(),
    "json": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "binary": pa.binary(),
    "decimal": pa.decimal128(38, 9),
    "wei": pa.decimal128(38, 0),
}
ROW_KEY = {"data_type": "text", "nullable": False, "unique": True, "row_key": True}
TEXT = {"data_type": "text"}
Rows = Iterable[Mapping[str, Any]]


def orders(columns: Mapping[str, Any] | None = None, **properties: Any) -> Table:
    held = {
        "id": {"data_type": "bigint"},
        "note": TEXT,
        **(columns or {}),
        "_dlt_load_id": {"data_type": "text", "nullable": False},
        "_dlt_id": ROW_KEY,
    }
    return table_from_dict(
        "orders", {"columns": held, "write_disposition": "append", "resource": "orders", **properties}
    )


def lines(*, has_root_key: bool = True) -> Table:
    root = {"_dlt_root_id": {"data_type": "text", "nullable": False, "root_key": True}} if has_root_key else {}
    held = {
        "sku": TEXT,
        **root,
        "_dlt_parent_id": {"data_type": "text", "nullable": False, "parent_key": True},
        "_dlt_list_idx": {"data_type": "bigint", "nullable": False},
        "_dlt_id": ROW_KEY,
    }
    return table_from_dict("orders__lines", {"columns": held, "parent": "orders"})


def shop(*tables: Table) -> Schema:
    schema = new_schema("shop")
    return bump(replace(schema, tables={**schema.tables, **{table.name: table for table in tables}}))


def staged(folder: Path, table: Table, rows: Rows) -> StagedTable:
    """Write rows as the files of one table; columns that a row lacks are null."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="staged-", dir=folder))
    kinds = pa.schema([(column.name, staged_type(column.properties)) for column in table.columns.values()])
    half = len(rows) // 2
    for at, part in enumerate([rows[:half], rows[half:]] if half else [rows]):
        held = [{name: row.get(name) for name in kinds.names} for row in part]
        pyarrow.parquet.write_table(pa.Table.from_pylist(held, kinds), folder / f"part-{at}.parquet")
    return StagedTable(table, folder, len(rows))


def staged_type(properties: Mapping[str, Any]) -> pa.DataType:
    """Return the type that the engine writes for a column of dlt's type."""
    precision = properties.get("precision")
    match properties["data_type"]:
        case "timestamp":
            zone = None if properties.get("timezone") is False else "UTC"
            return pa.timestamp({0: "s", 3: "ms"}.get(precision, "us"), zone)
        case "time" if precision == 3:
            return pa.time32("ms")
        case "decimal" if precision:
            return pa.decimal128(precision, properties.get("scale", 0))
        case "bigint" if precision:
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(precision, pa.int64())
        case data_type:
            return TYPES[data_type]


def package(folder: Path, schema: Schema, load_id: str, rows: Mapping[str, Rows], **more: Any) -> LoadPackage:
    """Return a load; ``folder`` takes its files."""
    tables = tuple(staged(folder, schema.tables[name], held) for name, held in rows.items())
    at = datetime.fromtimestamp(float(load_id), UTC)
    return LoadPackage(load_id, schema, tables, more.pop("inserted_at", at), **more)


def order_and_lines(folder: Path, load_id: str = "1", **properties: Any) -> LoadPackage:
    """Return a load of orders 1 and 2 with a line each; ``properties`` are those of the table ``orders``."""
    rows = {
        "orders": [order(1, load_id, note="a"), order(2, load_id)],
        "orders__lines": [line(f"r1.{load_id}", 0, "x"), line(f"r2.{load_id}", 0, "y")],
    }
    return package(folder, shop(orders(**properties), lines()), load_id, rows)


def order(key: int, load_id: str = "1", **more: Any) -> dict[str, Any]:
    return {"id": key, "_dlt_load_id": load_id, "_dlt_id": f"r{key}.{load_id}", **more}


def line(root: str, at: int, sku: str) -> dict[str, Any]:
    return {
        "sku": sku,
        "_dlt_root_id": root,
        "_dlt_parent_id": root,
        "_dlt_list_idx": at,
        "_dlt_id": f"{root}.{at}",
    }


def an_input(path: str, size: int = 1) -> LoadedInput:
    return LoadedInput(path, size, datetime(2026, 1, 2, tzinfo=UTC))


def quiet(what: str, share: float | None) -> None:
    """Take what a load says of itself."""
    assert what
    assert share is None or 0 <= share <= 1


def ledger_files(destination: Loader, url: str, schema_name: str = "shop") -> dict[str, LoadedInput]:
    """Return the files that the destination's ledger has, by path, as their last load has found them."""
    entries = sorted(destination.read_ledger(url, schema_name), key=lambda entry: entry.order)
    return {entry.file.path: entry.file for entry in entries}


IN_THE_WAY: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "a view": (["create view sales.orders as select 1 as id"], "is a view", {}),
    "a table of somebody else": (["create table sales.orders (id bigint)", "insert into sales.orders values (1)"],
        "was not created by dlt or schemactl", {}),
    "a column without values": (["create table sales.orders (_dlt_id varchar, _dlt_load_id varchar)",
                                 "insert into sales.orders values ('a', 'b')"],
        "has rows, so the required column `needed` cannot be added",
        {"needed": {"data_type": "bigint", "nullable": False}}),
}  # fmt: skip
"""Statements that make what a load of `sales.orders` meets, what it says, and the columns that it brings."""
