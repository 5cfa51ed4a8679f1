"""Columns, tables and files of schemas in few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemactl.formats import dlt
from schemactl.schema.types import Column, Schema, Table


def column(name: str, kind: str = "text", **hints: Any) -> Column:
    return Column(name, {"data_type": kind, **hints})


def table(name: str, *columns: Column, **properties: Any) -> Table:
    return Table(name, {item.name: item for item in columns}, properties)


def put_schema(path: Path, schema: Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dlt.write(schema, str(path)))
