"""What schemas can state, one thing at a time, and what each format makes of it: the table of docs/format-table.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa

from schemactl.formats import FORMATS, Format, find_losses, holds_one_table, is_binary, is_readable
from schemactl.formats._losses import losses_between
from schemactl.formats._tables import data_tables
from schemactl.schema.arrow_hint import NESTED_TYPE, encode
from schemactl.schema.nested_types import FIELDS
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.type_systems.fields import HINTS

_ARROW = pa.struct({"a": pa.int32(), "b": pa.list_(pa.struct({"c": pa.string()}))})
KEY = Column("id", {"data_type": "bigint", "nullable": False})


def shop(table: Mapping[str, Any] | None = None, **column: Any) -> Schema:
    properties = {"write_disposition": "append", "resource": "orders", **(table or {})}
    columns = {"id": KEY, **({"a": Column("a", {"nullable": True, **column})} if column else {})}
    return new_schema("shop").with_table(Table("orders", columns, properties))


def _types() -> dict[str, Schema]:
    sized: dict[str, dict[str, Any]] = {
        "text(20)": {"data_type": "text", "precision": 20},
        "binary(16)": {"data_type": "binary", "precision": 16},
        "bigint(16)": {"data_type": "bigint", "precision": 16},
        "bigint(32)": {"data_type": "bigint", "precision": 32},
        "decimal(10, 2)": {"data_type": "decimal", "precision": 10, "scale": 2},
        "timestamp(3)": {"data_type": "timestamp", "precision": 3},
        "timestamp without time zone": {"data_type": "timestamp", "timezone": False},
        "time(3)": {"data_type": "time", "precision": 3},
        "json with x-nested-type": {"data_type": "json", NESTED_TYPE: encode(_ARROW)},
        "json with x-spark-type": {"data_type": "json", "x-spark-type": "struct<a:int,b:array<struct<c:string>>>"},
    }
    plain = {str(each): {"data_type": str(each)} for each in DataType}
    return {f"type {name}": shop(**stated) for name, stated in {**plain, **sized}.items()}


def _parent() -> Schema:
    return shop().with_table(Table("orders__lines", {"id": KEY}, {"parent": "orders"}))


def _naming() -> Schema:
    columns = {"Id": replace(KEY, name="Id")}
    return new_schema("shop", "direct").with_table(Table("Orders", columns, {"resource": "Orders"}))


REFERENCES = [{"columns": ["id"], "referenced_table": "orders", "referenced_columns": ["id"]}]

FEATURES: dict[str, Schema] = {
    **_types(),
    "`nullable: false`": shop(data_type="text", nullable=False),
    "`description` of a column": shop(data_type="text", description='A "word", or two'),
    "`primary_key`": shop(data_type="text", nullable=False, primary_key=True),
    "`unique`": shop(data_type="text", unique=True),
    "other hints of dlt on columns": shop(data_type="text", cluster=True, sort=True, merge_key=True),
    "a column without a type": shop(cluster=True),
    "`x-enum`": shop(**{"data_type": "text", "x-enum": ["new", "paid"]}),
    "`x-id`": shop(**{"data_type": "text", "x-id": "f17"}),
    "other `x-` hints": shop(**{"data_type": "text", "x-owner": {"team": "crm"}}),
    "`description` of a table": shop({"description": "All orders"}),
    "`parent` (nested tables)": _parent(),
    "`write_disposition`": shop({"write_disposition": "merge"}),
    "`references`": shop({"references": REFERENCES}),
    "other hints on tables": shop({"schema_contract": {"columns": "freeze"}, "x-owner": "crm"}),
    "settings, contract": replace(shop(), settings={"schema_contract": "freeze"}),
    "naming convention": _naming(),
    "`description` of the schema": replace(shop(), description="What we sell"),
}


@cache
def outcome(name: str, feature: str) -> str:
    """Return ``yes``, ``x-`` where it is carried as a hint, or ``lost``."""
    module = FORMATS[name]
    schema = FEATURES[feature]
    if holds_one_table(module):
        own = [table.name for table in data_tables(schema)]
        schema = replace(schema, tables={key: table for key, table in schema.tables.items() if key not in own[:-1]})
    path = f"{[table.name for table in data_tables(schema)][-1]}{module.ENDINGS[0]}"
    try:
        text = module.write(schema, path)
    except Exception:
        if name != "arc":
            raise
        return "lost"
    if find_losses(module, schema, text, path):
        return "lost"
    if is_binary(module) and is_readable(module):
        # Footers repeat Arrow's schema in Base64: the bytes of Arrow's own file are edited in place of them.
        module, path = FORMATS["arrow"], path.partition(".")[0] + ".arrow"
        assert is_readable(module)
        text = module.write(schema, path)
    if not is_readable(module) and isinstance(text, str) and HINTS in text:
        return "x-"
    if is_readable(module) and (HINTS.encode() if isinstance(text, bytes) else HINTS) in text:
        other = f"x-{'o' * (len(HINTS) - 2)}"
        hidden = text.replace(HINTS.encode(), other.encode()) if isinstance(text, bytes) else text.replace(HINTS, other)
        # Without hints a file counts as one of others, whose fields have ids.
        bare = without_nested_ids(module.read(hidden, path).schema)
        if any(loss.before is not None for loss in losses_between(schema, bare)):
            return "x-"
    return "yes"


def without_nested_ids(schema: Schema) -> Schema:
    """Return a schema whose columns state no ids of the fields inside of them."""

    def bare(notes: dict[str, Any]) -> dict[str, Any]:
        inner = {}
        for name, note in notes.items():
            fields = bare(note.get("fields", {}))
            others = {key: value for key, value in note.items() if key not in ("x-id", "fields")}
            inner[name] = {**others, **({"fields": fields} if fields else {})}
        return {name: note for name, note in inner.items() if note}

    tables = {}
    for name, table in schema.tables.items():
        columns = {}
        for key, column in table.columns.items():
            notes = bare(column.properties.get(FIELDS, {}))
            others = {hint: value for hint, value in column.properties.items() if hint != FIELDS}
            columns[key] = Column(key, {**others, **({FIELDS: notes} if notes else {})})
        tables[name] = replace(table, columns=columns)
    return replace(schema, tables=tables)


def formats() -> dict[str, Format]:
    return {name: FORMATS[name] for name in FORMATS if name not in ("dlt", "arc")}


def table() -> str:
    """Return the table as Markdown."""
    names = list(formats())
    head = f"| | {' | '.join(names)} |\n| --- |{' --- |' * len(names)}\n"
    rows = (f"| {each} | {' | '.join(outcome(name, each) for name in names)} |\n" for each in FEATURES)
    return head + "".join(rows)
