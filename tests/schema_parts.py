"""Columns and tables in few words."""

from __future__ import annotations

from typing import Any

from schemactl.schema.types import Column, Table


def column(name: str, kind: str = "text", **hints: Any) -> Column:
    return Column(name, {"data_type": kind, **hints})


def table(name: str, *columns: Column, **properties: Any) -> Table:
    return Table(name, {item.name: item for item in columns}, properties)
