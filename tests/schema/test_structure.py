"""What a destination holds of a schema."""

from __future__ import annotations

from typing import Any

from schemactl.schema.structure import structure_of
from schemactl.schema.types import Column, Properties, Schema, Table, schema_from_dict


def schema(tables: dict[str, Any], name: str = "shop") -> Schema:
    return schema_from_dict({"name": name, "version": 3, "engine_version": 11, "tables": tables})


def stored(column: Column) -> Properties:
    return {key: column.properties[key] for key in ("data_type", "x-database-type") if key in column.properties}


ORDERS = {
    "columns": {
        "id": {"data_type": "bigint", "primary_key": True, "description": "d"},
        "waits": {"nullable": True},
        "odd": {"x-database-type": "uuid"},
    },
    "write_disposition": "merge",
    "parent": "carts",
}


def test_types_stay_and_what_only_dlt_reads_goes():
    found = structure_of(schema({"orders": ORDERS}), schema({}), stored)
    columns = {"id": Column("id", {"data_type": "bigint"}), "odd": Column("odd", {"x-database-type": "uuid"})}
    assert found == Schema(name="shop", tables={"orders": Table("orders", columns)})


def test_a_table_whose_columns_all_wait_is_not_there():
    assert structure_of(schema({"t": {"columns": {"x": {}}}}), schema({}), stored).tables == {}


COLUMNS = {"columns": {"x": {"data_type": "text"}}}
SEEN = {**COLUMNS, "x-normalizer": {"seen-data": True}}


def test_a_table_that_saw_no_data_may_be_missing():
    planned = schema({"seen": SEEN, "planned": COLUMNS})
    assert list(structure_of(planned, schema({}), stored).tables) == ["seen"]
    assert list(structure_of(planned, schema({"planned": COLUMNS}), stored).tables) == ["seen", "planned"]


def test_without_marks_of_data_all_tables_count():
    assert list(structure_of(schema({"planned": COLUMNS}), schema({}), stored).tables) == ["planned"]


def test_dlts_own_tables_count_where_both_have_them():
    own = schema({"_dlt_loads": COLUMNS})
    assert structure_of(own, schema({}), stored).tables == {}
    assert list(structure_of(own, own, stored).tables) == ["_dlt_loads"]
