"""A schema with the normalizer `nested` is inferred, loaded, evolved and compared like any other."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.dataset
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine
from schemactl.errors import DestinationError, InputError
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.references import find_schemas
from schemactl.formats.dlt import write as write_schema
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved_evidence import write_evidence
from schemactl.normalization.report import Outcome
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = [
    {"id": 1, "buyer": {"name": "Ann", "tags": ["a", "b"]}, "lines": [{"n": 1, "price": 2.5}, {"n": 2}]},
    {"id": 2, "buyer": {"name": "Bob", "either": 1}, "lines": []},
    {"id": "idx-3", "buyer": {"either": "x"}},
]
LATER = [{"id": 4, "buyer": {"name": "Cid", "address": {"city": "Rome"}}, "lines": [{"n": 3, "note": "late"}]}]
MODULE = "schemactl.normalization.normalizers.nested"
ORDERS_TABLE = {"write_disposition": "append", "resource": "orders"}
BUYER = "struct<name:string,tags:array<string>,either:string COMMENT 'json'>"
LINES = "array<struct<n:bigint,price:double>>"


class NestedShop(Shop):
    """One whose schema has the normalizer `nested`."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        super().__init__(folder, engine)
        self.state()

    def state(self, module: str = MODULE, **changes: Any) -> None:
        """Write the schema to start from: what `new_schema` has, with changes of its parts."""
        new = new_schema("shop")
        schema = replace(new, normalizers={**new.normalizers, "json": {"module": module}})
        for column in changes.get("columns", ()):
            table = schema.tables.get("orders") or Table("orders", {}, changes.get("table", ORDERS_TABLE))
            schema = schema.with_table(replace(table, columns={**table.columns, column.name: column}))
        if "table" in changes and "orders" not in schema.tables:
            schema = schema.with_table(Table("orders", {}, changes["table"]))
        settings = {**schema.settings, **changes.get("settings", {})}
        imported = self.folder / "schemas" / "import" / "shop.schema.yaml"
        imported.parent.mkdir(parents=True, exist_ok=True)
        imported.write_text(write_schema(bump(replace(schema, settings=settings))))

    def inference(self, source: str, **asked: Any) -> InferRequest:
        return InferRequest((source,), "shop", "orders", Path("schemas"), **asked)

    def exported(self) -> str:
        return (self.folder / "schemas" / "export" / "shop.schema.yaml").read_text()

    def type_of(self, column: str, table: str = "orders") -> Any:
        schema = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema
        return schema.tables[table].columns[column].properties.get("x-spark-type")

    def parts(self) -> list[str]:
        return sorted(str(file) for file in (self.folder / "warehouse" / "orders").glob("*.parquet"))

    def orders(self) -> list[dict[str, Any]]:
        found = [row for file in self.parts() for row in pyarrow.parquet.read_table(file).to_pylist()]
        return sorted(found, key=lambda row: row["id"] or 0)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> NestedShop:
    monkeypatch.chdir(tmp_path)
    return NestedShop(tmp_path, local_engine)


def test_a_load_makes_one_table_with_structs_and_arrays(shop: NestedShop) -> None:
    report = shop.load(shop.write("orders.jsonl", *ORDERS))

    assert report.outcome is Outcome.LOADED
    assert [table.name for table in report.tables] == ["orders"]
    assert (shop.type_of("buyer"), shop.type_of("lines")) == (BUYER, LINES)
    read = pyarrow.dataset.dataset(shop.parts()).to_table()
    assert str(read.schema.field("buyer").type) == "struct<name: string, tags: list<element: string>, either: string>"
    assert read.column_names == ["id", "buyer", "lines", "_dlt_load_id", "_dlt_id", "id__v_text"]
    assert read["lines"].to_pylist() == [[{"n": 1, "price": 2.5}, {"n": 2, "price": None}], [], None]
    assert [row["either"] for row in read["buyer"].to_pylist()] == [None, "1", '"x"']
    query = "SELECT buyer.name, buyer.tags[1], len(lines), lines[1].price FROM read_parquet(?) ORDER BY id"
    assert duckdb.execute(query, [shop.parts()]).fetchall()[0] == ("Ann", "a", 2, 2.5)


def test_a_schema_is_the_same_by_infer_and_by_normalize(shop: NestedShop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)
    shop.load(source)
    loaded = shop.exported()
    (shop.folder / "schemas" / "export" / "shop.schema.yaml").unlink()
    evidence = observe((Position(source, number), document) for number, document in enumerate(ORDERS, 1))
    (shop.folder / "seen.evidence.json").write_text(write_evidence(evidence))

    infer(shop.inference("seen.evidence.json"))

    assert shop.exported() == loaded
    stored = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema
    assert stored.version_hash == version_hash(stored)
    assert stored.normalizers == {"names": "snake_case", "json": {"module": MODULE}}


def test_new_fields_are_added_to_the_files_that_are_there(shop: NestedShop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    report = shop.load(shop.write("later.jsonl", *LATER))

    assert report.outcome is Outcome.LOADED
    assert shop.type_of("buyer") == f"{BUYER[:-1]},address:struct<city:string>>"
    assert shop.type_of("lines") == "array<struct<n:bigint,price:double,note:string>>"
    files = {"id": shop.parts()}
    # One level only: DuckDB 2.0 cannot look into a struct that an older file lacks.
    query = "SELECT id, buyer.address FROM read_parquet($id, union_by_name = true) WHERE id IS NOT NULL ORDER BY id"
    assert duckdb.execute(query, files).fetchall() == [(1, None), (2, None), (4, {"city": "Rome"})]


def test_spark_merges_files_with_new_fields(shop: NestedShop, spark: SparkSession) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    shop.load(shop.write("later.jsonl", *LATER))

    together = spark.read.option("mergeSchema", True).parquet(*(Path(file).as_uri() for file in shop.parts()))

    assert [row[0] for row in together.where("id = 4").select("lines.note").collect()] == [["late"]]


def test_the_same_data_again_changes_nothing_of_the_schema(shop: NestedShop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)
    shop.load(source)
    before = shop.exported()

    report = shop.load(source)

    assert report.outcome is Outcome.LOADED
    assert shop.exported() == before
    assert len(shop.orders()) == 2 * len(ORDERS)


def test_files_with_another_type_of_a_field_are_not_mixed(shop: NestedShop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    before = shop.exported()

    with pytest.raises(DestinationError, match=r"`orders.lines\[\].n` is string, and bigint in `"):
        shop.load(shop.write("later.jsonl", {"id": 5, "lines": [{"n": "five"}]}))

    assert shop.exported() == before
    assert len(shop.orders()) == len(ORDERS)


def test_a_merge_keeps_structure(shop: NestedShop) -> None:
    key = Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True})
    shop.state(table={**ORDERS_TABLE, "write_disposition": "merge", "x-merge-strategy": "upsert"}, columns=[key])
    shop.load(shop.write("orders.jsonl", *ORDERS[:2]))

    shop.load(
        shop.write("later.jsonl", {"id": 2, "buyer": {"name": "Bea", "since": 9}}, {"id": 3, "lines": [{"n": 7}]})
    )

    assert [
        (row["id"], row["buyer"] and (row["buyer"]["name"], row["buyer"]["since"]), row["lines"])
        for row in shop.orders()
    ] == [
        (1, ("Ann", None), [{"n": 1, "price": 2.5}, {"n": 2, "price": None}]),
        (2, ("Bea", 9), None),
        (3, None, [{"n": 7, "price": None}]),
    ]


def test_a_new_top_level_column_is_refused_by_its_contract(shop: NestedShop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    source = shop.write("later.jsonl", {"id": 5, "more": {"a": 1}, "buyer": {"name": "Eve"}})

    frozen = shop.load(source, contract="columns=freeze")
    discarded = shop.load(source, contract="columns=discard_value")

    assert frozen.outcome is Outcome.STOPPED
    assert frozen.inference is not None
    assert [violation.column for violation in frozen.inference.violations] == ["more"]
    assert discarded.roots[0].values_rejected == 1
    assert shop.orders()[-1]["buyer"]["name"] == "Eve"
    assert "more" not in shop.orders()[-1]


def test_a_new_field_changes_the_type_of_its_column_for_a_contract(shop: NestedShop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    source = shop.write("later.jsonl", *LATER, {"id": 5, "buyer": {"name": "Eve"}, "lines": [{"n": 1}]})

    frozen = shop.load(source, contract="data_type=freeze")
    discarded = shop.load(source, contract="data_type=discard_row")

    assert frozen.outcome is Outcome.STOPPED
    assert frozen.inference is not None
    violations = [(each.column, str(each.entity), each.expected) for each in frozen.inference.violations]
    assert violations == [
        ("buyer", "data_type", f'x-spark-type: "{BUYER}"'), ("lines", "data_type", f'x-spark-type: "{LINES}"'),
    ]  # fmt: skip
    assert (discarded.roots[0].loaded, discarded.roots[0].rejected) == (1, 1)
    assert shop.type_of("buyer") == BUYER
    assert shop.orders()[-1]["buyer"] == {"name": "Eve", "tags": None, "either": None}


def test_a_spark_catalogue_takes_structs(shop: NestedShop, loads_by_spark: SparkSession) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS), to="spark:spark_catalog.nested_shop")
    shop.load(shop.write("more.jsonl", {"id": 9, "buyer": {"name": "Zoe"}}), to="spark:spark_catalog.nested_shop")

    rows = loads_by_spark.sql(
        "SELECT id, buyer.name, get(lines, 0).price FROM spark_catalog.nested_shop.orders ORDER BY id"
    )
    assert [tuple(row) for row in rows.collect()] == [
        (None, None, None),
        (1, "Ann", 2.5),
        (2, "Bob", None),
        (9, "Zoe", None),
    ]
    shop.load(shop.write("later.jsonl", *LATER), to="spark:spark_catalog.nested_shop")
    added = loads_by_spark.sql(
        "SELECT id, buyer.name, buyer.address.city, get(lines, 0).note "
        "FROM spark_catalog.nested_shop.orders WHERE id IN (1, 4) ORDER BY id"
    )
    assert [tuple(row) for row in added.collect()] == [(1, "Ann", None, None), (4, "Cid", "Rome", "late")]


def test_a_new_schema_gets_the_normalizer_that_is_asked_for(shop: NestedShop) -> None:
    (shop.folder / "schemas" / "import" / "shop.schema.yaml").unlink()

    shop.load(shop.write("orders.jsonl", *ORDERS), normalizer="nested")

    assert f"module: {MODULE}" in shop.exported()
    assert shop.type_of("lines") == LINES
    with pytest.raises(InputError, match=r"has the normalizer `schemactl.normalization.normalizers.nested`"):
        shop.load("orders.jsonl", normalizer="relational")


def test_a_folder_holds_what_its_schema_says(shop: NestedShop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    asked = DiffRequest(base="shop", head="parquet:warehouse", schemas=Path("schemas"), today=date(2026, 1, 2))
    report = diff_schemas(asked)

    assert [review.findings for review in report.reviews] == [()]
