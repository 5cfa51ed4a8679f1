"""Views that read each other: what a bare name means, and who is downstream of whom."""

from __future__ import annotations

from schemactl.errors import Location
from schemactl.readers.sql_graph import SqlNode, read_sql_graph
from schemactl.readers.sql_texts import SqlText
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Reader

TABLES = ReadTables({"orders": ("id", "note")}, "raw")


def view(dataset: str, name: str, sql: str) -> SqlNode:
    return SqlNode(SqlText(sql, Reader("view", name, Location(name)), TABLES, "duckdb"), (dataset, name))


def test_a_bare_name_means_the_view_of_the_same_dataset_first() -> None:
    own = view("mart", "orders", "select id from raw.orders")
    readership = read_sql_graph([own, view("mart", "report", "select note from orders")])
    assert {use.reader.name for use in readership.uses_of("orders", "note")} == set()

    readership = read_sql_graph([view("mart", "ids", own.text.text), view("mart", "report", "select note from orders")])
    assert {use.reader.name for use in readership.uses_of("orders", "note")} == {"report"}


def test_readers_of_readers_are_downstream_nearest_first_and_once() -> None:
    first = view("mart", "first", "select id from raw.orders")
    second = view("mart", "second", "select id from mart.first")
    third = view("mart", "third", "select second.id from mart.second join mart.first using (id)")
    last = view("mart", "last", "select id from mart.third")
    readership = read_sql_graph([last, third, second, first])
    downstream = {reader.name: [item.name for item in readers] for reader, readers in readership.downstream.items()}
    assert (sorted(downstream["first"][:2]), downstream["first"][2:]) == (["second", "third"], ["last"])
    assert downstream["third"] == ["last"]
