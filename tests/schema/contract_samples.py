"""Small schemas with contracts."""

from __future__ import annotations

from dataclasses import replace

from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

ROW_ID = Column("_dlt_id", {"data_type": "text", "nullable": False})


def column(name, data_type="text", **properties):
    return Column(name, {"data_type": data_type, "nullable": True, **properties})


def table(name, *columns, **properties):
    return Table(name, {each.name: each for each in (*columns, ROW_ID)}, properties)


def schema(*tables, contract=None) -> Schema:
    made = new_schema("demo")
    for each in tables:
        made = made.with_table(each)
    if contract is not None:
        made = replace(made, settings={**made.settings, "schema_contract": contract})
    return made


T = table("t", column("a", "bigint"))
L = table("t__l", column("v"), parent="t")
VARIANT = column("a__v_text", variant=True)
