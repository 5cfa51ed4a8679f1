"""``--model``: Pydantic models state tables and validate data; dlt's loads of the same models beside them."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import dlt
import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from dlt.pipeline.exceptions import PipelineStepFailed
from loading_shop import Shop

from schemactl.errors import CommandWarning, InputError
from schemactl.examples import Examples, show_examples
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.edit import read_hints
from schemactl.flows.import_ import ImportRequest, import_files
from schemactl.flows.models import find_model, unfilled_columns
from schemactl.flows.request import InferRequest
from schemactl.flows.root_tables import inputs_by_table
from schemactl.flows.schemas import open_schemas
from schemactl.flows.typing import find_typing
from schemactl.kernel.dispatch import Dispatch
from schemactl.normalization.report import Outcome, Stop
from schemactl.review.severity import Severity
from schemactl.schema.changes import ColumnAdded
from schemactl.schema.hints import Hints, parse_column, with_hints
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """
    from datetime import date, datetime
    from decimal import Decimal
    from enum import Enum
    from typing import Annotated, Any, ClassVar, Literal
    from pydantic import BaseModel, ConfigDict, Field, RootModel

    class Line(BaseModel):
        sku: str
        qty: int
        at: datetime | None = None

    class Customer(BaseModel):
        name: str
        since: date | None = None

    class Order(BaseModel):
        id: int
        at: datetime
        amount: Decimal = Decimal("1.50")
        tag: Literal["a", "b"] = "a"
        customer: Customer | None = None
        lines: list[Line] = []
        raw: bytes = b"abc"
        free: Any = None

    class Flat(Order):
        dlt_config: ClassVar = {"skip_nested_types": True}

    class Open(Order):
        model_config = ConfigDict(extra="allow")

    class Click(BaseModel):
        kind: Literal["click"]
        x: int

    class Buy(BaseModel):
        kind: Literal["buy"]
        total: float

    class Event(RootModel[Annotated[Click | Buy, Field(discriminator="kind")]]):
        pass

    class Return(BaseModel):
        model_config = ConfigDict(extra="forbid")
        kind: Literal["return"]

    class View(BaseModel):
        model_config = ConfigDict(extra="allow")
        kind: Literal["view"]

    class Mixed(RootModel[Annotated[Click | Return | View, Field(discriminator="kind")]]):
        pass

    class Wider(Order):
        more: int | None = None

    class Told(Wider):
        dlt_config: ClassVar = {"is_authoritative_model": True}

    class Loose(BaseModel):
        id: int
        u: int | str = 1

    class Fewer(BaseModel):
        id: int
        free: Any = None

    class FewerOpen(Fewer):
        model_config = ConfigDict(extra="allow")

    class Size(Enum):
        SMALL = "s"

    NUMBER = 3
"""
ORDERS = [
    {
        "id": "1", "at": "2024-01-01T00:00:00Z", "customer": {"name": "ann", "since": "2024-01-02", "x": 1},
        "lines": [{"sku": "a", "qty": "2", "at": "2024-01-01T05:00:00+02:00"}, {"sku": "b", "qty": 1}],
        "raw": "text", "free": {"z": [1, 2]}, "unknown": 1,
    },
    {"id": 2, "at": 1700000000, "amount": "10.25", "tag": "b"},
]  # fmt: skip
EVENTS = [{"kind": "click", "x": 1, "y": 2}, {"kind": "buy", "total": 3}, {"kind": "click", "x": "2"}]


@pytest.fixture(autouse=True)
def _models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("order_models.py").write_text(dedent(SOURCE))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("order_models", None)
    sys.path_importer_cache.pop(str(tmp_path), None)


def load(shop: Shop, model: str, documents: list[Any], contract: str | None = None, **asked: Any) -> Any:
    shop.write("orders.jsonl", *documents)
    found = find_model(f"order_models:{model}", contract)
    if found.key is not None:
        asked = {"dispatch": Dispatch((found.key,)), "table": None, **asked}
    return shop.load("orders.jsonl", model=found, contract=contract, to="duckdb:///ours.duckdb", **asked)


def stored() -> Schema:
    schema = open_schemas(SchemasFolder.at(Path("schemas")), "shop").schema
    assert schema is not None
    return schema


def tables(schema: Any) -> dict[str, Any]:
    """What a schema says of the tables of data: contracts, and columns in order."""
    return {
        name: (
            table.get("schema_contract"),
            [(each["name"], each["data_type"], each.get("nullable")) for each in table["columns"].values()],
        )
        for name, table in schema["tables"].items()
        if not name.startswith("_dlt")
    }


def rows(file: str, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(file) as connection:
        [(dataset,)] = connection.execute(
            "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name = ?", [table]
        ).fetchall()
        described = connection.execute(f'SELECT * FROM "{dataset}"."{table}" LIMIT 0').description
        names = sorted(f'"{column[0]}"' for column in described if not column[0].startswith("_dlt"))
        return sorted(connection.execute(f'SELECT {", ".join(names)} FROM "{dataset}"."{table}"').fetchall(), key=repr)


def load_by_dlt(model: str, documents: list[Any], folder: Path, **asked: Any) -> Any:
    module = importlib.import_module("order_models")
    pipeline = dlt.pipeline(
        "shop", pipelines_dir=str(folder / "dlt"), destination=dlt.destinations.duckdb(str(folder / "theirs.duckdb"))
    )
    pipeline.run(dlt.resource(documents, **{"name": "orders", "columns": getattr(module, model), **asked}))
    return pipeline.default_schema.to_dict()


@contextmanager
def sys_path(folder: Path) -> Iterator[None]:
    sys.path.append(str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@pytest.mark.parametrize("model", ["Order", "Flat", "Open"])
def test_a_load_is_that_of_dlt(shop: Shop, model: str, tmp_path: Path) -> None:
    report = load(shop, model, ORDERS)
    assert report.outcome is Outcome.LOADED
    with sys_path(tmp_path):
        theirs = load_by_dlt(model, ORDERS, tmp_path)
    assert tables(stored().to_dict()) == tables(theirs)
    for name in tables(theirs):
        assert rows("ours.duckdb", name) == rows("theirs.duckdb", name)


def test_the_call_states_types_by_columns_by_a_file_of_hints_and_by_a_model(shop: Shop) -> None:
    Path("hints.schema.yaml").write_text("tables: {orders: {columns: {id: {data_type: decimal}}}}\n")
    data = shop.write("orders.jsonl", {"id": "1", "at": "2024-01-01T00:00:00Z"})
    stated = {
        "by_column": {"hints": Hints((parse_column("id:double"),))},
        "by_file": {"hints": Hints(schema=read_hints(Path("hints.schema.yaml")))},
        "by_model": {"model": find_model("order_models:Order", None)},
        "by_data": {},
    }
    found = {}
    for name, each in stated.items():
        assert not Path("schemas", "import", f"{name}.schema.yaml").exists()
        assert shop.load(data, name=name, to=f"parquet:{name}", **each).outcome is Outcome.LOADED
        schema = open_schemas(SchemasFolder.at(Path("schemas")), name).schema
        assert schema is not None
        found[name] = str(schema.tables["orders"].columns["id"].data_type)
    assert found == {"by_column": "double", "by_file": "decimal", "by_model": "bigint", "by_data": "text"}


def test_rows_that_the_model_rejects_are_kept_with_its_reasons(shop: Shop) -> None:
    wrong = [{"id": 3, "at": "soon", "lines": [{"sku": "a", "qty": "x"}]}, {"at": "2024-01-01"}]
    report = load(shop, "Order", [*ORDERS, *wrong], "data_type=discard_row", rejects=Path("rejects"))
    assert (report.outcome, report.rows_loaded) == (Outcome.LOADED, 4)
    assert [(each.name, each.read, each.rejected) for each in report.tables][:1] == [("orders", 4, 2)]
    assert report.inference is not None
    assert [
        (each.column, each.count, str(each.first), each.mode, each.contract) for each in report.inference.typing
    ] == [
        ("unknown", 1, "orders.jsonl:1", "discard", "columns=discard_value"),
        ("customer.x", 1, "orders.jsonl:1", "discard", "columns=discard_value"),
        ("at", 1, "orders.jsonl:3", "reject", "data_type=discard_row"),
        ("lines.qty", 1, "orders.jsonl:3", "reject", "data_type=discard_row"),
        ("id", 1, "orders.jsonl:4", "reject", "data_type=discard_row"),
    ]
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT table_name, column_name, entity, expected, value, path, file, line, row "
            "FROM 'rejects/*.parquet' WHERE mode = 'discard_row' ORDER BY line, path"
        ).fetchall()
    assert [row[:8] for row in found] == [
        ("orders", "at", "data_type", "datetime_from_date_parsing", "soon", "$.at", "orders.jsonl", 3),
        ("orders", "lines.0.qty", "data_type", "int_parsing", "x", "$.lines[0].qty", "orders.jsonl", 3),
        ("orders", "id", "data_type", "missing", '{"at": "2024-01-01"}', "$.id", "orders.jsonl", 4),
    ]
    assert json.loads(found[0][8]) == wrong[0]


def test_keys_that_the_model_ignores_are_reported_and_kept_as_rejects(shop: Shop) -> None:
    report = load(shop, "Order", ORDERS)
    assert report.outcome is Outcome.LOADED
    assert [(each.name, each.rejected, each.values_rejected) for each in report.tables][:1] == [("orders", 0, 2)]
    assert report.inference is not None
    assert [(each.column, each.count, each.mode, each.contract) for each in report.inference.typing] == [
        ("unknown", 1, "discard", "columns=discard_value"), ("customer.x", 1, "discard", "columns=discard_value")
    ]  # fmt: skip
    assert report.rejects == "table `_rejects`"
    with duckdb.connect("ours.duckdb") as connection:
        rejects = connection.execute(
            "SELECT column_name, entity, mode, value, path, line, id "
            "FROM shop._rejects JOIN shop.orders ON row_key = _dlt_id"
        ).fetchall()
    assert rejects == [
        ("unknown", "columns", "discard_value", "1", "$.unknown", 1, 1),
        ("customer.x", "columns", "discard_value", "1", "$.customer.x", 1, 1),
    ]


def test_a_frozen_model_stops_the_load(shop: Shop) -> None:
    report = load(shop, "Order", [*ORDERS, {"id": "x", "at": "2024-01-01"}])
    assert (report.outcome, report.stops) == (Outcome.STOPPED, (Stop.TYPING,))
    assert "ours.duckdb" not in shop.files()
    frozen = load(shop, "Order", ORDERS, "columns=freeze")
    assert [(each.column, each.contract) for each in frozen.inference.typing] == [
        ("customer.x", "columns=freeze"), ("unknown", "columns=freeze")
    ]  # fmt: skip


def test_a_union_makes_a_table_of_each_variant(shop: Shop) -> None:
    report = load(shop, "Event", EVENTS)
    assert report.outcome is Outcome.LOADED
    assert {name: [each[0] for each in of[1]] for name, of in tables(stored().to_dict()).items()} == {
        "click": ["kind", "x", "_dlt_load_id", "_dlt_id"], "buy": ["kind", "total", "_dlt_load_id", "_dlt_id"]
    }  # fmt: skip
    assert rows("ours.duckdb", "click") == [("click", 1), ("click", 2)]

    odd = [*EVENTS, {"kind": "view"}, {"kind": "buy", "total": "a lot"}]
    again = load(shop, "Event", odd, "data_type=discard_row", rejects=Path("rejects"))
    assert (again.outcome, again.rows_loaded) == (Outcome.LOADED, 3)
    assert [(each.name, each.read, each.loaded, each.rejected) for each in again.tables] == [
        ("click", 2, 2, 0), ("", 1, 0, 1), ("buy", 2, 1, 1)
    ]  # fmt: skip
    with duckdb.connect() as connection:
        found = connection.execute("SELECT table_name, line, found FROM 'rejects/*.parquet' ORDER BY line").fetchall()
    assert [row[:2] for row in found] == [("click", 1), ("", 4), ("buy", 5)]
    assert found[1][2].startswith("Input tag 'view' found using 'kind' does not match")
    frozen = load(shop, "Event", odd)
    assert frozen.stops == (Stop.TYPING,)
    assert [(each.table, each.documents) for each in frozen.inference.files] == [("click", 2), ("", 1), ("buy", 2)]
    assert [(each.column, str(each.first)) for each in frozen.inference.typing] == [
        ("", "orders.jsonl:4"), ("y", "orders.jsonl:1"), ("buy.total", "orders.jsonl:5")
    ]  # fmt: skip
    with show_examples(Examples.MASKED):
        masked = load(shop, "Event", odd).inference.typing[0].message
    assert masked.startswith("Input tag 'xxxx' found using")
    with pytest.raises(InputError, match="the model accepts no record"):
        load(shop, "Event", [{"kind": "view"}], "data_type=discard_row")
    view = [*EVENTS, {"kind": "view"}]
    assert load(shop, "Event", view, "data_type=evolve,columns=evolve").outcome is Outcome.LOADED
    assert "view" in stored().tables


def test_a_variant_that_forbids_unknown_keys_stops_the_load(shop: Shop, tmp_path: Path) -> None:
    events = [{"kind": "click", "x": 1}, {"kind": "return", "more": 1}]
    report = load(shop, "Mixed", events)
    assert (report.outcome, report.stops) == (Outcome.STOPPED, (Stop.TYPING,))
    assert [(each.column, each.contract) for each in report.inference.typing] == [("return.more", "columns=freeze")]
    assert "ours.duckdb" not in shop.files()
    with sys_path(tmp_path), pytest.raises(PipelineStepFailed, match="not implemented for Pydantic validation"):
        load_by_dlt("Mixed", events, tmp_path, table_name=lambda event: event["kind"])

    with pytest.warns(CommandWarning, match=r"`columns=discard_value` overrides `extra='forbid'` of `Return`"):
        asked = load(shop, "Mixed", events, "columns=discard_value")
    assert (asked.outcome, asked.rows_loaded) == (Outcome.LOADED, 2)


def test_values_that_leave_a_column_null_stop_the_load_where_it_allows_none(shop: Shop) -> None:
    report = load(shop, "Loose", [{"id": 1}, {"id": 2, "u": "x"}], "columns=evolve")
    assert (report.outcome, report.stops) == (Outcome.STOPPED, (Stop.NULLS,))
    assert [(each.table, each.column, each.variant, str(each.first)) for each in report.inference.nulls] == [
        ("orders", "u", "u__v_text", "orders.jsonl:2")
    ]
    assert "ours.duckdb" not in shop.files()


def test_each_variant_of_a_union_has_the_contract_that_it_implies(shop: Shop) -> None:
    events = [{"kind": "click", "x": 1, "y": 2}, {"kind": "return"}, {"kind": "view", "more": 3}]
    assert load(shop, "Mixed", events).outcome is Outcome.LOADED
    found = {name: of[0]["columns"] for name, of in tables(stored().to_dict()).items()}
    assert found == {"click": "discard_value", "return": "freeze", "view": "evolve"}
    assert rows("ours.duckdb", "view") == [("view", 3)]
    assert rows("ours.duckdb", "click") == [("click", 1)]


@pytest.mark.parametrize("model", ["Event", "Click"])
def test_a_table_whose_records_are_all_rejected_comes_about_with_its_first_row(shop: Shop, model: str) -> None:
    odd = {"Event": {"kind": "buy", "total": "a lot"}, "Click": {"kind": "click", "x": "a"}}[model]
    good = {"Event": EVENTS, "Click": EVENTS[::2]}[model]
    name = {"Event": "buy", "Click": "orders"}[model]
    documents = [EVENTS[0], odd] if model == "Event" else [odd]
    report = load(shop, model, documents, "data_type=discard_row")
    assert (report.outcome, [(each.name, each.read, each.rejected) for each in report.tables][-1]) == (
        Outcome.LOADED,
        (name, 1, 1),
    )
    assert name not in stored().tables
    with duckdb.connect("ours.duckdb") as connection:
        made = connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = ?", [name]).fetchall()
    assert made == []

    assert load(shop, model, good, "data_type=discard_row").outcome is Outcome.LOADED
    assert list(stored().tables[name].columns)[-2:] == ["_dlt_load_id", "_dlt_id"]
    with duckdb.connect("ours.duckdb") as connection:
        made = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", [name]).fetchall()
    assert {each for (each,) in made} == set(stored().tables[name].columns)


MOMENT = datetime(2024, 1, 1, tzinfo=UTC)
TYPED_ORDERS = [
    {
        "id": 1, "at": MOMENT, "amount": Decimal("2.50"), "tag": "a",
        "customer": {"name": "ann", "since": date(2024, 1, 2)},
        "lines": [{"sku": "a", "qty": 2, "at": MOMENT}, {"sku": "b", "qty": 1, "at": None}], "free": 7,
        "shipped": date(2024, 1, 3), "price": Decimal("9.90"), "box": {"width": 1.5, "seal": b"\x01"}, "codes": [3],
    },
    {
        "id": 2, "at": MOMENT, "amount": Decimal("3.00"), "tag": "b", "customer": None, "lines": [], "free": None,
        "shipped": None, "price": None, "box": None, "codes": None,
    },
]  # fmt: skip
WRONG_ORDERS = [
    {**TYPED_ORDERS[0], "id": None, "tag": "c", "lines": [{"sku": None, "qty": 1, "at": MOMENT}]},
    {**TYPED_ORDERS[1], "id": 4, "amount": None},
]


MOMENTS = pa.timestamp("us", "UTC")
ORDERS_SCHEMA = pa.schema({
    "id": pa.int64(), "at": MOMENTS, "amount": pa.decimal128(10, 2), "tag": pa.string(),
    "customer": pa.struct({"name": pa.string(), "since": pa.date32()}),
    "lines": pa.list_(pa.struct({"sku": pa.string(), "qty": pa.int32(), "at": MOMENTS})), "free": pa.int32(),
    "shipped": pa.date32(), "price": pa.decimal128(6, 2),
    "box": pa.struct({"width": pa.float64(), "seal": pa.binary()}), "codes": pa.list_(pa.int16()),
})  # fmt: skip


def write_orders(shop: Shop, form: str, rows: list[Any]) -> str:
    """Write rows into a file that states types, and return its name."""
    write_table = {"parquet": pyarrow.parquet.write_table, "orc": pyarrow.orc.write_table}[form]
    write_table(pa.Table.from_pylist(rows, ORDERS_SCHEMA), shop.folder / f"orders.{form}")
    return f"orders.{form}"


def save_orders(shop: Shop, spark: SparkSession, rows: list[Any]) -> str:
    """Save rows as a table of Spark's catalog, and return the source."""
    schema = """
        id bigint, at timestamp, amount decimal(10,2), tag string, customer struct<name: string, since: date>,
        lines array<struct<sku: string, qty: int, at: timestamp>>, free int, shipped date, price decimal(6,2),
        box struct<width: double, seal: binary>, codes array<smallint>
    """
    name = f"orders_{shop.folder.name.replace('-', '_')}"
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema).coalesce(1)
    frame.write.saveAsTable(name, path=str(shop.folder / "table"))
    return f"table:spark_catalog.default.{name}"


def as_json(shop: Shop, rows: list[Any]) -> str:
    known = ("id", "at", "amount", "tag", "customer", "lines", "free")
    documents = ({key: value for key, value in row.items() if key in known or value} for row in rows)
    (shop.folder / "orders.jsonl").write_text("".join(json.dumps(each, default=str) + "\n" for each in documents))
    return "orders.jsonl"


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_rows_that_state_types_are_validated_as_the_same_json_is(shop: Shop, form: str) -> None:
    check_typed_orders(shop, write_orders(shop, form, [*TYPED_ORDERS, *WRONG_ORDERS]))


def test_rows_of_a_spark_table_are_validated_as_the_same_json_is(shop: Shop, loads_by_spark: SparkSession) -> None:
    check_typed_orders(shop, save_orders(shop, loads_by_spark, [*TYPED_ORDERS, *WRONG_ORDERS]))


def check_typed_orders(shop: Shop, typed_source: str) -> None:
    found = {}
    for name, source in (
        ("documents", as_json(shop, [*TYPED_ORDERS, *WRONG_ORDERS])), ("stated", typed_source),
    ):  # fmt: skip
        report = shop.load(
            source, name=name, to=f"duckdb:///of_{name}.duckdb", rejects=Path(name), contract="data_type=discard_row",
            model=find_model("order_models:Order", "data_type=discard_row"),
        )  # fmt: skip
        assert (report.outcome, report.inference is None) == (Outcome.LOADED, False)
        schema = open_schemas(SchemasFolder.at(Path("schemas")), name).schema
        assert schema is not None
        with duckdb.connect() as connection:
            rejects = connection.execute(
                "SELECT table_name, column_name, entity, mode, expected, found, path, line "
                f"FROM '{name}/*.parquet' ORDER BY ALL"
            ).fetchall()
        said = [(each.column, each.count, each.first.number, each.message) for each in report.inference.typing]
        loaded = {table: rows(f"of_{name}.duckdb", table) for table in tables(schema.to_dict())}
        counts = [(each.name, each.read, each.loaded, each.rejected) for each in report.tables]
        found[name] = (tables(schema.to_dict()), loaded, counts, said, rejects)
    assert found["stated"] == found["documents"]
    assert found["stated"][2][0] == ("orders", 4, 2, 2)
    assert [each[0] for each in found["stated"][3]] == [
        "shipped", "price", "box", "codes", "id", "tag", "lines.sku", "amount"
    ]  # fmt: skip


def test_columns_that_a_model_lacks_keep_the_type_that_their_source_states(shop: Shop) -> None:
    source = write_orders(shop, "parquet", TYPED_ORDERS)
    model = find_model("order_models:Order", "columns=evolve")
    assert shop.load(source, model=model, contract="columns=evolve").outcome is Outcome.LOADED
    columns = {name: each.properties for name, each in stored().tables["orders"].columns.items()}
    of = {name: (each["data_type"], each.get("precision"), each.get("scale")) for name, each in columns.items()}
    assert {name: of[name] for name in ("id", "amount", "shipped", "price", "box__width", "box__seal")} == {
        "id": ("bigint", None, None), "amount": ("decimal", None, None), "shipped": ("date", None, None),
        "price": ("decimal", 6, 2), "box__width": ("double", None, None), "box__seal": ("binary", None, None),
    }  # fmt: skip
    assert stored().tables["orders__codes"].columns["value"].properties["precision"] == 16
    assert shop.rows("orders", "id", "shipped", "price", "box__width", "box__seal") == [
        (1, date(2024, 1, 3), Decimal("9.90"), 1.5, b"\x01"), (2, None, None, None, None)
    ]  # fmt: skip
    assert shop.rows("orders__codes", "value") == [(3,)]
    frozen = shop.load(
        source, model=find_model("order_models:Order", "columns=freeze"), contract="columns=freeze", name="b"
    )
    assert sorted((each.column, each.contract, each.first.number) for each in frozen.inference.typing) == [
        (name, "columns=freeze", 1) for name in ("box", "codes", "price", "shipped")
    ]


def test_columns_of_csv_that_a_model_lacks_are_left_to_the_detectors(shop: Shop) -> None:
    Path("orders.csv").write_text("id,at,more\n1,2024-01-01T00:00:00Z,5\n")
    model = find_model("order_models:Order", "columns=evolve")
    assert shop.load("orders.csv", model=model, contract="columns=evolve").outcome is Outcome.LOADED
    assert shop.rows("orders", "id", "more") == [(1, 5)]


def test_rows_of_a_union_that_state_types_go_to_the_tables_of_its_variants(shop: Shop) -> None:
    kinds = {"kind": ["click", "buy", "view", "click"], "x": [1, None, None, 2], "total": [None, 2.5, None, None]}
    pyarrow.parquet.write_table(pa.table({**kinds, "seen": [None, None, None, date(2024, 1, 1)]}), "events.parquet")
    contract = "data_type=discard_row,columns=evolve"
    model = find_model("order_models:Event", contract)
    asked = {"model": model, "contract": contract, "dispatch": Dispatch(("kind",)), "table": None}
    report = shop.load("events.parquet", rejects=Path("rejects"), **asked)
    assert [(each.name, each.read, each.loaded, each.rejected) for each in report.tables] == [
        ("click", 2, 2, 0), ("", 1, 0, 1), ("buy", 1, 1, 0)
    ]  # fmt: skip
    assert {name: [each[0] for each in of[1]][:-2] for name, of in tables(stored().to_dict()).items()} == {
        "click": ["kind", "x", "seen"], "buy": ["kind", "total"]
    }  # fmt: skip
    assert shop.rows("click", "x", "seen") == [(1, None), (2, date(2024, 1, 1))]


def test_a_model_that_grows_is_judged_by_the_contract(shop: Shop) -> None:
    load(shop, "Order", ORDERS)
    refused = load(shop, "Wider", [{**ORDERS[1], "more": 1}], "columns=freeze")
    assert refused.stops == (Stop.CONTRACT,)
    violation = refused.inference.violations[0]
    assert (violation.table, violation.column, violation.mode) == ("orders", "more", "freeze")
    assert "more" not in stored().tables["orders"].columns
    assert load(shop, "Told", [{**ORDERS[1], "more": 1}], "columns=freeze").outcome is Outcome.LOADED
    assert "more" in stored().tables["orders"].columns


@pytest.mark.parametrize("mode", ["freeze", "discard_row"])
def test_a_model_makes_no_table_where_the_contract_refuses_new_ones(shop: Shop, mode: str) -> None:
    report = load(shop, "Order", ORDERS, f"tables={mode}")
    (violation,) = report.inference.violations
    assert (violation.table, violation.column, violation.mode) == ("orders", None, mode)
    assert report.stops == ((Stop.CONTRACT,) if mode == "freeze" else ())
    folder = SchemasFolder.at(Path("schemas"))
    schema = open_schemas(folder, "shop").schema
    assert schema is None or "orders" not in schema.tables


def test_models_are_imported_as_tables() -> None:
    import_files(ImportRequest((), None, "shop", Path("schemas"), model="order_models:Order", table="orders"))
    assert stored().tables["orders"].properties["schema_contract"]["columns"] == "discard_value"
    assert stored().tables["orders"].columns["amount"].properties["data_type"] == "decimal"
    import_files(ImportRequest((), None, "shop", Path("schemas"), model="order_models:Event", is_merged=True))
    assert {"orders", "click", "buy"} <= stored().tables.keys()


def test_a_schema_is_compared_with_a_model() -> None:
    import_files(ImportRequest((), None, "shop", Path("schemas"), model="order_models:Order", table="orders"))
    asked = DiffRequest(base="shop", head=None, schemas=Path("schemas"), today=date(2026, 1, 1))
    assert not diff_schemas(replace(asked, model="order_models:Order")).findings
    found = diff_schemas(replace(asked, model="order_models:Wider")).reviews[0]
    [change] = found.changes
    assert isinstance(change, ColumnAdded)
    assert (change.table, change.column.name) == ("orders", "more")
    with pytest.raises(InputError, match="is compared with one schema"):
        diff_schemas(replace(asked, base=None, model="order_models:Wider"))


def test_a_required_column_that_no_field_of_a_model_fills_is_an_error() -> None:
    import_files(ImportRequest((), None, "shop", Path("schemas"), model="order_models:Order", table="orders"))
    asked = DiffRequest(base="shop", head=None, schemas=Path("schemas"), today=date(2026, 1, 1))
    found = diff_schemas(replace(asked, model="order_models:Fewer")).findings
    assert {(each.rule, each.severity, each.table) for each in found} == {("N403", Severity.ERROR, "orders")}
    # Not `customer`, which may be null.
    assert [each.column for each in found] == ["at", "amount", "tag", "lines", "raw"]
    # Data may bring the others.
    opened = diff_schemas(replace(asked, model="order_models:FewerOpen")).findings
    assert "N403" not in {each.rule for each in opened}


def test_a_field_that_may_be_anything_fills_columns_of_its_own() -> None:
    columns = ("id:bigint,not_null", "free__z:text,not_null", "freedom:text,not_null", "free:text,not_null")
    schema = with_hints(new_schema("shop"), Hints(tuple(map(parse_column, columns))), "orders")
    model = find_model("order_models:Fewer", None)
    assert unfilled_columns(model, schema, "orders") == (("orders", "freedom"),)
    # A union has a table for each variant.
    columns = ("kind:text,not_null", "y:text,not_null")
    schema = with_hints(new_schema("shop"), Hints(tuple(map(parse_column, columns))), "click")
    assert unfilled_columns(find_model("order_models:Event", None), schema, None) == (("click", "y"),)


def test_options_that_a_model_leaves_no_room_for() -> None:
    Path("a.csv").write_text("id\n1\n")
    typing = find_typing_of("id")
    call = {"sources": ("a.csv",), "name": "shop", "table": None, "schemas": Path("schemas")}
    both = InferRequest(**call, typing=typing, model=find_model("order_models:Order", None))
    with pytest.raises(InputError, match="`--model` and `--typing` cannot be used together"):
        inputs_by_table(both, new_schema("shop"))
    union = find_model("order_models:Event", None)
    by_file = InferRequest(**call, model=union, dispatch=Dispatch(("kind",)), table_per_file=True)
    with pytest.raises(InputError, match="`--model` and `--table-per-file` do not go together"):
        inputs_by_table(by_file, new_schema("shop"))
    with pytest.raises(InputError, match="`--table` cannot name the tables"):
        import_files(ImportRequest((), None, "shop", Path("schemas"), model="order_models:Event", table="t"))


def find_typing_of(name: str) -> Any:
    Path("a.arc.json").write_text(json.dumps([{"id": "a", "name": name, "type": "string", "nullable": True}]))
    return find_typing("a.arc.json", "column", SchemasFolder.at(Path("schemas")))


@pytest.mark.parametrize(
    ("stated", "contract", "message"),
    [
        ("no_such:Order", None, "there is no module `no_such`"),
        ("order_models", None, "does not name a model"),
        ("order_models:Ordr", None, "does not name a model"),
        ("order_models:NUMBER", None, "is not a Pydantic model: Unable to generate pydantic-core schema for 3$"),
        ("order_models:Size", None, "is not a Pydantic model: no document is of this type"),
        ("order_models:date", None, "is not a Pydantic model: no document is of this type"),
        ("order_models:Order", "data_type=discard_value", "a model cannot discard single values"),
        ("broken_models:Order", None, "does not import"),
    ],
)
def test_models_that_cannot_be_used(stated: str, contract: str | None, message: str) -> None:
    Path("broken_models.py").write_text("import nothing_of_this_name\n")
    importlib.invalidate_caches()
    with pytest.raises(InputError, match=message):
        find_model(stated, contract)


def test_a_contract_that_contradicts_the_model_is_warned_of() -> None:
    with pytest.warns(CommandWarning, match=r"the contract `columns=freeze` overrides `extra='allow'`"):
        find_model("order_models:Open", "columns=freeze")
