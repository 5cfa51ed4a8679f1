"""Schemas that are built in Python."""

from __future__ import annotations

from pathlib import Path

import dlt
import pytest
from dlt.common.schema import Schema as DltSchema

from schemactl.api import build, diff, edit, read, save, write
from schemactl.errors import InputError
from schemactl.formats.dlt import read as read_dlt
from schemactl.schema.changes import ColumnAdded, ColumnRetyped


def test_dlt_takes_what_is_built_and_gives_it_the_same_hash(work: Path):
    shop = build("shop").table("orders", write_disposition="merge").column("id", "bigint", primary_key=True).schema()
    theirs = DltSchema.from_dict(read_dlt(str(write(shop)), "shop.schema.yaml").schema.to_dict())
    assert theirs.version_hash == shop.version_hash
    assert theirs.get_table_columns("orders")["id"]["primary_key"] is True
    assert dlt.__version__


def test_steps_change_no_value_that_was_there():
    start = build("shop").table("orders")
    one, two = start.column("a", "text"), start.column("b", "text")
    assert list(one.schema().tables["orders"].columns) == ["a"]
    assert list(two.schema().tables["orders"].columns) == ["b"]
    more = one.column("a", nullable=False).schema().tables["orders"].columns["a"]
    assert dict(more.properties) == {"data_type": "text", "nullable": False}


def test_nested_tables_have_a_parent():
    shop = build("shop").table("Orders").column("id", "bigint").table("Orders__Lines", parent="Orders")
    table = shop.column("sku", "text").schema().tables["orders__lines"]
    assert table.properties == {"parent": "orders"}


def test_all_problems_are_reported_at_once():
    wrong = build("shop").table("lines", parent="orders").column("a", "number")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not a valid schema") as caught:
        wrong.column("b", "text", precision=-1).schema()
    assert len(caught.value.problems) >= 1
    with pytest.raises(InputError, match="has no table"):
        build("shop").column("a", "text")
    with pytest.raises(InputError, match="has no table"):
        build("shop").reference("a", "b", "c")
    with pytest.raises(InputError, match="there is no format `avr`"):
        write(build("shop").schema(), "avr")


def test_schemas_are_compared_and_merged(work: Path):
    base = build("shop").table("orders").column("id", "bigint").column("total", "bigint").schema()
    head = edit(base).table("orders").column("total", "double").column("note", "text").schema()
    assert {type(each) for each in diff(base, head)} == {ColumnRetyped, ColumnAdded}
    save(base)
    other = build("shop").table("sales").column("id", "bigint").schema()
    assert not save(other, merge=True, dry_run=True).written
    save(other, merge=True)
    assert {"orders", "sales"} <= read("shop").tables.keys()


def test_files_of_other_formats_are_read(work: Path):
    shop = build("shop").table("orders").column("id", "bigint").schema()
    (work / "shop.avsc").write_text(str(write(shop, "avro")))
    assert list(read("shop.avsc").tables["orders"].columns) == ["id"]
    assert list(read(work / "shop.avsc", "avro").tables["orders"].columns) == ["id"]
