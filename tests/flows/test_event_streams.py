"""``--table-by``: one stream of records becomes several tables, in one load; dlt's dynamic tables beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine.scan import Scan
from schemactl.errors import InputError
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import check_root
from schemactl.flows.root_tables import inputs_by_table, split_by_table
from schemactl.flows.schemas import open_schemas
from schemactl.inference.evidence import Position, observe
from schemactl.kernel.dispatch import MOST_TABLES, Dispatch
from schemactl.normalization.report import Outcome
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder

EVENTS = [
    {"kind": "Click", "at": "2024-01-01T00:00:00Z", "x": 1},
    {"kind": "purchase", "total": 9.5, "items": [{"sku": "a", "n": 1}, {"sku": "b"}], "x": "text here"},
    {"kind": "click", "x": 2, "y": 3},
    {"kind": "purchase", "total": 3, "items": []},
]


def stored() -> Schema:
    schema = open_schemas(SchemasFolder.at(Path("schemas")), "shop").schema
    assert schema is not None
    return schema


def test_one_stream_becomes_the_tables_that_dlt_makes(shop: Shop, tmp_path: Path) -> None:
    shop.write("events.jsonl", *EVENTS)
    report = shop.load("events.jsonl", to="duckdb:///ours.duckdb", table=None, dispatch=Dispatch(("kind",)))

    assert (report.outcome, report.rows_loaded) == (Outcome.LOADED, 6)
    assert report.inference is not None
    assert [(file.table, file.documents) for file in report.inference.files] == [("click", 2), ("purchase", 2)]

    theirs_file = dlt.destinations.duckdb(str(tmp_path / "theirs.duckdb"))
    pipeline = dlt.pipeline("shop", pipelines_dir=str(tmp_path / "dlt"), destination=theirs_file)
    pipeline.run(dlt.resource(EVENTS, name="events", table_name=lambda event: event["kind"]))
    theirs = pipeline.default_schema.tables
    for name, table in stored().tables.items():
        if not name.startswith("_dlt"):
            assert {each.name: each.properties["data_type"] for each in table.columns.values()} == {
                each["name"]: each["data_type"] for each in theirs[name]["columns"].values()
            }
    for query in (
        'SELECT kind, "at", x, y FROM {}.click ORDER BY x',
        "SELECT kind, total, x FROM {}.purchase ORDER BY total",
        "SELECT p.total, i.sku, i.n FROM {0}.purchase p JOIN {0}.purchase__items i ON i._dlt_parent_id = p._dlt_id "
        "ORDER BY i.sku",
    ):
        with duckdb.connect("ours.duckdb") as ours, duckdb.connect("theirs.duckdb") as others:
            own, dataset = (
                connection.sql("SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name = 'click'")
                for connection in (ours, others)
            )
            own_rows = ours.sql(query.format(own.fetchall()[0][0])).fetchall()
            assert own_rows == others.sql(query.format(dataset.fetchall()[0][0])).fetchall()
            assert own_rows


def test_tables_have_the_names_that_the_call_gives_them(shop: Shop) -> None:
    shop.write("events.jsonl", *EVENTS, {"x": 1}, {"kind": None, "x": 2})
    named = Dispatch(("kind",), {"Click": "clicks", "click": "clicks"}, "others")
    shop.load("events.jsonl", table="others", dispatch=named)

    assert shop.rows("clicks", "kind", "x") == [("Click", 1), ("click", 2)]
    assert shop.rows("others", "x") == [(1,), (2,)]
    assert [file for file in shop.files() if file.startswith("warehouse/click/")] == []


def test_records_of_no_table_load_nothing(shop: Shop) -> None:
    shop.write("events.jsonl", *EVENTS, {"x": 1}, {"kind": "", "x": 2})
    with pytest.raises(InputError, match="2 records have no string in `kind`") as caught:
        shop.load("events.jsonl", table=None, dispatch=Dispatch(("kind",)))
    assert str(caught.value.at) == "events.jsonl:5"
    assert shop.files() == ["events.jsonl"]


def test_a_contract_refuses_tables_of_a_stream(shop: Shop) -> None:
    shop.write("events.jsonl", *EVENTS)
    shop.load("events.jsonl", table=None, dispatch=Dispatch(("kind",)))
    shop.write("more.jsonl", {"kind": "click", "x": 5}, {"kind": "view", "x": 1}, {"kind": "view", "x": 2})

    frozen = shop.load("more.jsonl", table=None, dispatch=Dispatch(("kind",)), contract="tables=freeze")
    assert frozen.outcome is Outcome.STOPPED
    assert frozen.inference is not None
    [violation] = frozen.inference.violations
    assert (violation.table, violation.table_schema, violation.first) == ("view", None, Position("more.jsonl", 2))
    assert violation.data_item == '{"kind": "view", "x": 1}'
    assert violation.schema_contract["tables"] == {"mode": "freeze", "level": "call"}
    report = shop.load("more.jsonl", table=None, dispatch=Dispatch(("kind",)), contract="tables=discard_row")

    assert report.outcome is Outcome.LOADED
    assert {table.name: (table.read, table.loaded) for table in report.tables} == {"click": (1, 1), "view": (2, 0)}
    assert "view" not in stored().tables
    assert shop.rows("click", "x") == [(1,), (2,), (5,)]


def test_a_field_with_a_value_for_each_record_names_no_tables(shop: Shop) -> None:
    shop.write("events.jsonl", *({"id": at} for at in range(MOST_TABLES + 1)))
    with pytest.raises(InputError, match="`--table-by id` results in more than 1,000 tables"):
        shop.load("events.jsonl", table=None, dispatch=Dispatch(("id",)))


def test_parquet_is_sorted_by_a_column(shop: Shop) -> None:
    rows = [{"kind": "a", "n": 1}, {"kind": "b", "n": 2}, {"kind": "a", "n": 3}]
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), "events.parquet")
    report = shop.load("events.parquet", table=None, dispatch=Dispatch(("kind",)))
    assert report.rows_loaded == 3
    assert (shop.rows("a", "n"), shop.rows("b", "n")) == ([(1,), (3,)], [(2,)])


def test_a_table_that_is_nested_in_another_one_is_no_table_of_a_stream(shop: Shop) -> None:
    shop.write("events.jsonl", {"kind": "a", "b": [1]}, {"kind": "a__b", "x": 1})
    with pytest.raises(InputError, match="`a__b` is nested in `a`"):
        shop.load("events.jsonl", table=None, dispatch=Dispatch(("kind",)))
    shop.write("turned.jsonl", {"kind": "a__b", "x": 1}, {"kind": "a", "b": [1]})
    with pytest.raises(InputError, match="a list in the data of table `a` and other data both go to table `a__b`"):
        shop.load("turned.jsonl", table=None, dispatch=Dispatch(("kind",)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("_dlt_loads", "`_dlt_loads` is dlt's own table"),
        ("__", "`__` is not a name for a table"),
        ("a__b", "`a__b` is nested in `a` and cannot be a root table"),
    ],
)
def test_a_value_that_cannot_name_a_table_is_named_with_its_place_and_a_way_out(value: str, message: str) -> None:
    documents = {Position("events.jsonl", 3): {"kind": value, "x": 1}, Position("events.jsonl", 5): {"kind": value}}
    scan = Scan({value: observe(documents.items())}, {}, (), ())
    before = new_schema("shop").with_table(Table("a")).with_table(Table("a__b", properties={"parent": "a"}))
    request = InferRequest(("events.jsonl",), "shop", None, Path("schemas"), dispatch=Dispatch(("kind",)))

    with pytest.raises(InputError) as caught:
        split_by_table(request, scan, before, None)

    assert (caught.value.message, str(caught.value.at)) == (message, "events.jsonl:3")
    assert "`--dispatch VALUE=TABLE`" in str(caught.value.hint)


def test_a_table_of_ours_is_left_by_naming_another_one_for_the_value() -> None:
    with pytest.raises(InputError, match="is a table of schemactl's own") as caught:
        check_root("_rejects")
    assert "`--dispatch VALUE=TABLE`" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"table_per_file": True}, "`--table-by` and `--table-per-file` do not go together"),
        ({"table_sources": (("a", "b.jsonl"),)}, "`--table-by` and `--table TABLE=SOURCE`"),
        ({"sources": ("a.evidence.json",)}, "is evidence of one table"),
    ],
)
def test_calls_that_name_tables_twice(
    asked: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.jsonl").write_text(json.dumps(EVENTS[0]))
    call = {"sources": ("events.jsonl",), "name": "shop", "table": None, "schemas": Path("schemas"), **asked}
    with pytest.raises(InputError, match=message):
        inputs_by_table(InferRequest(**call, dispatch=Dispatch(("kind",))), new_schema("shop"))
