"""Maps of Parquet files stay maps under the normalizer `nested`, in every destination, and grow like structs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine
from schemactl.errors import DestinationError
from schemactl.flows.references import find_schemas
from schemactl.formats.dlt import write as write_schema
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = pa.string()
FIRST = pa.schema(
    {
        "id": pa.int64(),
        "prices": pa.map_(TEXT, pa.float64()),
        "counts": pa.map_(TEXT, pa.int32()),
        "days": pa.map_(pa.int32(), pa.list_(pa.date32())),
        "people": pa.map_(TEXT, pa.struct({"age": pa.int16()})),
        "order": pa.struct({"tags": pa.map_(TEXT, TEXT), "lines": pa.list_(pa.map_(TEXT, pa.decimal128(10, 2)))}),
    }
)
LATER = pa.schema(
    {
        "id": pa.int64(),
        "counts": pa.map_(TEXT, pa.int64()),
        "people": pa.map_(TEXT, pa.struct({"town": TEXT, "age": pa.int64(), "pets": pa.map_(TEXT, pa.int64())})),
    }
)
TYPES = {
    "prices": "map<string,double>",
    "counts": "map<string,bigint>",
    "days": "map<string,array<date>>",
    "people": "map<string,struct<age:bigint,town:string,pets:map<string,bigint>>>",
    "order": "struct<tags:map<string,string>,lines:array<map<string,decimal(10,2)>>>",
}
ROWS = [
    {"id": 1, "prices": [("eur", 1.5), ("us d", None)], "counts": [("a", 2**31 - 1)],
     "days": [(1, [date(2026, 1, 2), None]), (-2, None)], "people": [("ann", {"age": 7}), ("bob", None)],
     "order": {"tags": [("k", "v")], "lines": [[("net", Decimal("1.50"))], None, []]}},
    {"id": 2, "prices": [], "counts": [], "days": [], "people": [], "order": {"tags": [], "lines": []}},
    {"id": 3, "order": {}},
]  # fmt: skip
LATER_ROWS = [
    {"id": 4, "counts": [("b", 2**40)], "people": [("cid", {"town": "Rome", "age": 2**40, "pets": [("rex", 1)]})]}
]


def person(**known: Any) -> dict[str, Any]:
    return {**dict.fromkeys(("age", "town", "pets")), **known}


EMPTY = dict.fromkeys(TYPES)
LOADED = [
    {"id": 1, "prices": {"eur": 1.5, "us d": None}, "counts": {"a": 2**31 - 1},
     "days": {"1": [date(2026, 1, 2), None], "-2": None}, "people": {"ann": person(age=7), "bob": None},
     "order": {"tags": {"k": "v"}, "lines": [{"net": Decimal("1.50")}, None, {}]}},
    {"id": 2, "prices": {}, "counts": {}, "days": {}, "people": {}, "order": {"tags": {}, "lines": []}},
    {**EMPTY, "id": 3, "order": {"tags": None, "lines": None}},
    {**EMPTY, "id": 4, "counts": {"b": 2**40}, "people": {"cid": person(age=2**40, town="Rome", pets={"rex": 1})}},
]  # fmt: skip


class NestedShop(Shop):
    """One whose new schemas keep structure."""

    def write_parquet(self, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> str:
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema), self.folder / name)
        return name

    def types(self) -> dict[str, Any]:
        columns = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema.tables["orders"].columns
        return {name: each.properties["x-spark-type"] for name, each in columns.items() if name in TYPES}

    def state(self, *columns: Column) -> None:
        new = new_schema("shop")
        table = Table("orders", {each.name: each for each in columns}, {"write_disposition": "append"})
        schema = new.with_table(table)
        imported = self.folder / "schemas" / "import" / "shop.schema.yaml"
        imported.parent.mkdir(parents=True)
        imported.write_text(write_schema(bump(schema)))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> NestedShop:
    monkeypatch.chdir(tmp_path)
    return NestedShop(tmp_path, local_engine)


def parquet_rows() -> list[dict[str, Any]]:
    parts = [pyarrow.parquet.read_table(str(file)) for file in Path("warehouse/orders").glob("*.parquet")]
    return [row for part in parts for row in part.to_pylist()]


def delta_rows() -> list[dict[str, Any]]:
    from deltalake import DeltaTable

    return DeltaTable("lake/shop/orders").to_pyarrow_dataset().to_table().to_pylist()


def duckdb_rows() -> list[dict[str, Any]]:
    import duckdb

    with duckdb.connect("shop.duckdb", read_only=True) as connection:
        return connection.sql("SELECT * FROM shop.shop.orders").to_arrow_table().to_pylist()


DESTINATIONS: dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]] = {
    "parquet": ("parquet:warehouse", parquet_rows),
    "delta": ("delta:lake", delta_rows),
    "duckdb": ("duckdb:///shop.duckdb", duckdb_rows),
}


def with_maps(value: Any) -> Any:
    """What Arrow returns for maps, pairs, as dicts; an empty list is known by its column alone."""
    match value:
        case dict():
            return {name: with_maps(inner) for name, inner in value.items()}
        case [tuple(), *_]:
            return {key: with_maps(inner) for key, inner in value}
        case list():
            return [with_maps(inner) for inner in value]
        case _:
            return value


def emptied(value: Any) -> Any:
    """A value whose empty maps are empty lists, as Arrow returns them."""
    match value:
        case dict() if not value:
            return []
        case dict():
            return {name: emptied(inner) for name, inner in value.items()}
        case list():
            return [emptied(inner) for inner in value]
        case _:
            return value


def of_data(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [{name: row.get(name) for name in ("id", *TYPES)} for row in rows]
    return sorted((emptied(with_maps(row)) for row in found), key=lambda row: row["id"])


def with_later_fields(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of files of which older ones lack the fields that came later."""
    people = [row["people"] or {} for row in rows]
    for each in people:
        each.update({name: known and person(**known) for name, known in each.items()} if each else {})
    return rows


@pytest.mark.parametrize("kind", DESTINATIONS)
def test_maps_stay_maps_and_grow_wider_values_and_new_fields(shop: NestedShop, kind: str) -> None:
    check_growing_maps(shop, *DESTINATIONS[kind])


def test_maps_grow_in_a_spark_catalog(shop: NestedShop, loads_by_spark: SparkSession) -> None:
    def catalog_rows() -> list[dict[str, Any]]:
        rows = loads_by_spark.sql("SELECT * FROM spark_catalog.nested_maps.orders").collect()
        return [row.asDict(recursive=True) for row in rows]

    check_growing_maps(shop, "spark:spark_catalog.nested_maps", catalog_rows)


def check_growing_maps(shop: NestedShop, url: str, read: Callable[[], list[dict[str, Any]]]) -> None:
    shop.load(shop.write_parquet("first.parquet", ROWS, FIRST), to=url, normalizer="nested")
    assert shop.types() == {**TYPES, "people": "map<string,struct<age:bigint>>"}

    shop.load(shop.write_parquet("later.parquet", LATER_ROWS, LATER), to=url)

    assert shop.types() == TYPES
    found = [row for row in of_data(read()) if row["id"]]
    assert with_later_fields(found) == [emptied(row) for row in LOADED]
    before = (shop.folder / "schemas" / "export" / "shop.schema.yaml").read_text()
    shop.load("later.parquet", to=url)
    assert (shop.folder / "schemas" / "export" / "shop.schema.yaml").read_text() == before


def test_files_together_make_what_they_make_one_after_the_other(shop: NestedShop) -> None:
    shop.write_parquet("1.parquet", ROWS, FIRST)
    shop.write_parquet("2.parquet", LATER_ROWS, LATER)

    shop.load("1.parquet", "2.parquet", to="parquet:warehouse", normalizer="nested")

    assert with_later_fields(of_data(parquet_rows())) == [emptied(row) for row in LOADED]
    assert shop.types() == TYPES


def test_maps_with_values_of_another_type_are_not_mixed_into_files(shop: NestedShop) -> None:
    shop.load(shop.write_parquet("first.parquet", ROWS, FIRST), normalizer="nested")
    prices = pa.schema({"id": pa.int64(), "prices": pa.map_(TEXT, TEXT)})

    with pytest.raises(DestinationError, match=r"`orders.prices` is `text`, and `map<string,double>` in `"):
        shop.load(shop.write_parquet("later.parquet", [{"id": 5, "prices": [("eur", "much")]}], prices))

    assert len(of_data(parquet_rows())) == len(ROWS)


def test_a_contract_rejects_maps_that_do_not_fit_and_loads_those_that_do(shop: NestedShop) -> None:
    shop.load(shop.write_parquet("first.parquet", ROWS, FIRST), normalizer="nested")
    before = shop.types()
    changed = pa.schema({**dict(zip(LATER.names, LATER.types, strict=True)), "prices": pa.map_(TEXT, TEXT)})
    rows = [
        *LATER_ROWS,
        {"id": 5, "people": [("dan", {"age": 1, "town": None, "pets": None})]},
        {"id": 6, "prices": [("eur", "much")]},
        {"id": 7, "counts": [("c", 1)], "prices": []},
    ]

    report = shop.load(shop.write_parquet("later.parquet", rows, changed), contract="data_type=discard_row")

    assert (report.roots[0].loaded, report.roots[0].rejected) == (2, 2)
    assert shop.types() == before
    found = {row["id"]: (row["people"], row["counts"], row["prices"]) for row in of_data(parquet_rows())}
    assert (found[5], found[7]) == (({"dan": {"age": 1}}, None, None), (None, {"c": 1}, []))
    assert {4, 6}.isdisjoint(found)


def test_a_stated_map_is_kept_for_documents_and_files_with_maps_or_structs(shop: NestedShop) -> None:
    shop.load(shop.write_parquet("1.parquet", ROWS, FIRST), normalizer="nested")
    struct = pa.schema({"id": pa.int64(), "prices": pa.struct({"gbp": pa.float64(), "chf": pa.float64()})})
    rows = [{"id": 4, "prices": {"gbp": 2.0, "chf": None}}, {"id": 5, "prices": None}]
    shop.write_parquet("2.parquet", rows, struct)

    shop.load(shop.write("3.jsonl", {"id": 6, "prices": {"sek": 0.5}}), "2.parquet")

    assert shop.types()["prices"] == "map<string,double>"
    found = {row["id"]: row["prices"] for row in of_data(parquet_rows())}
    assert found == {1: {"eur": 1.5, "us d": None}, 2: [], 3: None, 4: {"gbp": 2.0}, 5: None, 6: {"sek": 0.5}}


def test_the_relational_normalizer_makes_json_of_maps_and_states_no_type(shop: NestedShop) -> None:
    shop.state()
    schema = pa.schema({"id": pa.int64(), "prices": pa.map_(TEXT, pa.float64())})
    source = shop.write_parquet("first.parquet", [{"id": 1, "prices": [("eur", 1.5)]}], schema)

    shop.load(source)

    stored = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema
    assert stored.tables["orders"].columns["prices"].properties == {"data_type": "json", "nullable": True}
    assert shop.rows("orders", "id", "prices") == [(1, '{"eur":1.5}')]
