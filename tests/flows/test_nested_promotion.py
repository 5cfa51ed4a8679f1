"""Loads that widen fields of structs, elements of lists and values of maps (``--normalizer nested``)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from loading_shop import LOCAL, Shop
from test_promotion_loads import PROMOTE, findings, stored_table

from schemactl.destinations.iceberg.address import open_catalog, read_address
from schemactl.errors import DestinationError
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.references import find_schemas
from schemactl.flows.target import find_destination
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.normalization.report import NormalizeReport
from schemactl.schema.types import Table
from schemactl.store.folder import SchemasFolder

TYPED = ("parquet", "delta", "iceberg", "duckdb")
"""The destinations that store structs and lists as such, and change the types of their fields."""


def load(shop: Shop, to: str, *documents: Any, contract: str = PROMOTE, **options: Any) -> NormalizeReport:
    numbered = [{"id": number, **document} for number, document in enumerate(documents)]
    source = shop.write("orders.jsonl", *numbered)
    return shop.load(source, to=to, contract=contract, normalizer="nested", **options)


def stored(to: str, column: str) -> list[Any]:
    """Return the values of a column as a destination's own client reads them, sorted, without nulls."""
    match to.partition(":")[0]:
        case "duckdb":
            with duckdb.connect("made.duckdb", read_only=True) as connection:
                values = [value for (value,) in connection.execute(f"SELECT {column} FROM shop.orders").fetchall()]
        case "warehouse":
            files = [pyarrow.parquet.read_table(file) for file in Path("warehouse/orders").glob("*.parquet")]
            values = [value for file in files for value in file.column(column).to_pylist()]
        case "delta":
            values = DeltaTable("lake/shop/orders").to_pyarrow_table().column(column).to_pylist()
        case "iceberg":
            catalog = open_catalog(read_address(to), is_written=False)
            rows = catalog.load_table(("shop", "orders")).scan().to_arrow().column(column).to_pylist()
            values = [None if value == [] else value for value in rows]  # PyIceberg reads nulls as empty lists
        case _:
            target, table = find_destination(to), stored_table(to)
            only_column = replace(table, columns={column: table.columns[column]})
            batches = target.destination.read_table(target.url, "shop", only_column)
            texts = [row[column] for batch in batches for row in batch.to_pylist()]
            values = [None if text is None else json.loads(text) for text in texts]
    return in_order(value for value in values if value is not None)


def in_order(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda value: json.dumps(value, default=str).replace(".0", ""))


def schema_table() -> Table:
    return find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema.tables["orders"]


def schema_type(column: str) -> str:
    return str(schema_table().columns[column].properties["x-spark-type"])


@pytest.mark.parametrize(
    ("column", "first", "later", "types", "values"),
    [
        ("a", {"score": 1}, {"score": 1.5}, ("bigint", "double"), [{"score": 1}, {"score": 1.5}]),
        ("xs", [1, None], [0.5], ("bigint", "double"), [[0.5], [1, None]]),
        ("ls", [{"n": [1]}], [{"n": [0.5]}, None], ("bigint", "double"), [[{"n": [0.5]}, None], [{"n": [1]}]]),
    ],
)
def test_a_load_widens_fields_and_elements_before_its_rows(
    shop: Shop, any_destination: str, column: str, first: Any, later: Any, types: tuple[str, str], values: list[Any]
) -> None:
    to = any_destination
    load(shop, to, {column: first}, {})
    if to.startswith("spark:"):
        with pytest.raises(DestinationError, match=" there, and "):
            load(shop, to, {column: later})
        return

    report = load(shop, to, {column: later})

    (finding,) = findings(report)
    assert (finding.column, finding.before, finding.after) == (column, *types)
    assert finding.rows == (2 if to.partition(":")[0] in (*TYPED, "warehouse") else None)
    assert stored(to, column) == in_order(values)
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean
    assert findings(load(shop, to, {column: later})) == []
    assert len(stored(to, column)) == 3


@pytest.fixture(params=TYPED)
def typed_destination(request: pytest.FixtureRequest) -> str:
    addresses = {"parquet": "warehouse", "duckdb": "duckdb:///made.duckdb"}
    return addresses.get(request.param, f"{request.param}:lake")


def test_stored_values_that_a_double_does_not_hold_make_a_decimal(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 2**53 + 1}}, {"a": {"score": 5}}, {"a": None})

    (finding,) = findings(load(shop, to, {"a": {"score": 1.5}}))
    assert findings(load(shop, to, {"a": {"score": 7}}, {"a": {"score": 0.25}})) == []

    assert (finding.after, finding.field, finding.rows) == ("decimal(38, 9)", ".score", 3)
    assert sorted(value["score"] for value in stored(to, "a")) == [0.25, 1.5, 5, 7, 2**53 + 1]


def test_a_field_of_decimals_gets_more_places(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    price = pyarrow.array([Decimal("1.25")], pyarrow.decimal128(10, 2))
    typed = pyarrow.table({"id": [0], "a": pyarrow.StructArray.from_arrays([price], ["price"])})
    pyarrow.parquet.write_table(typed, "typed.parquet")
    shop.load("typed.parquet", to=to, contract=PROMOTE, normalizer="nested")

    (finding,) = findings(load(shop, to, {"a": {"price": 1.2567}}, {"a": {"price": 7}}))

    assert (finding.before, finding.after) == ("decimal(10, 2)", "decimal(38, 9)")
    assert sorted(value["price"] for value in stored(to, "a")) == [Decimal("1.25"), Decimal("1.2567"), 7]


@pytest.mark.parametrize("value", [1e300, "abc", True, [1], {"b": 1}])
def test_values_that_no_type_holds_are_refused_as_without_promotion(
    shop: Shop, typed_destination: str, value: Any
) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 2**53 + 1}, "b": {"n": 1}})

    with pytest.raises(DestinationError):
        load(shop, to, {"a": {"score": value}})

    assert stored(to, "a") == [{"score": 2**53 + 1}]
    assert schema_type("a") == "struct<score:bigint>"


def test_a_list_that_becomes_json_is_refused_as_without_promotion(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"xs": [1]})

    with pytest.raises(DestinationError):
        load(shop, to, {"xs": ["abc"]})

    assert stored(to, "xs") == [[1]]


def test_other_contracts_do_not_widen_fields(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 1}}, contract="evolve")

    with pytest.raises(DestinationError):
        load(shop, to, {"a": {"score": 1.5}}, contract="evolve")


def test_new_fields_come_with_wider_ones(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 1, "old": True}})

    load(shop, to, {"a": {"score": 1.5, "new": "x"}})

    assert stored(to, "a") == [
        {"score": 1.0, "old": True, "new": None},
        {"score": 1.5, "old": None, "new": "x"},
    ]


def test_a_field_that_only_the_schema_widened_becomes_wider_with_the_next_load(
    shop: Shop, typed_destination: str
) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 1}})
    source = shop.write("later.jsonl", {"id": 9, "a": {"score": 1.5}})
    request = InferRequest((source,), "shop", table="orders", schemas=Path("schemas"), contract=PROMOTE)

    report = infer(replace(request, engine=LOCAL))
    load(shop, to, {"a": {"score": 2.5}})

    assert any("`orders.a.score`" in hint and "migrate apply" in hint for hint in report.hints)
    assert stored(to, "a") == in_order([{"score": 1.0}, {"score": 2.5}])


def test_migrate_widens_fields_and_rolls_back(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"score": 1}, "xs": [1]})
    source = shop.write("later.jsonl", {"id": 9, "a": {"score": 1.5}, "xs": [2.5]})
    request = InferRequest((source,), "shop", table="orders", schemas=Path("schemas"), contract=PROMOTE)
    infer(replace(request, engine=LOCAL))
    url, schemas = find_destination(to).url, Path("schemas")

    applied = apply_migration(ApplyRequest("shop", url, schemas, PlanOptions()), lambda _: True, nullcontext)
    widened = stored(to, "a"), stored(to, "xs")
    undone = rollback(RollbackRequest("shop", url), lambda _: True, nullcontext)

    assert (applied.outcome, undone.outcome) == (Outcome.DONE, Outcome.DONE)
    assert widened == ([{"score": 1.0}], [[1.0]])
    assert isinstance(widened[0][0]["score"], float)
    assert isinstance(stored(to, "a")[0]["score"], int)


def test_the_rollback_of_a_load_stops_at_values_that_do_not_fit(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"xs": [1]})
    load(shop, to, {"xs": [0.5]})

    report = rollback(RollbackRequest("shop", find_destination(to).url), lambda _: False, nullcontext)

    assert report.outcome is Outcome.REFUSED
    assert [counted.count for counted in report.counted] == [1]


def test_dates_of_files_become_timestamps_at_midnight(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    for number, field_type in enumerate((pyarrow.date32(), pyarrow.timestamp("us", "UTC"), pyarrow.date32())):
        day = pyarrow.array([number + 1], pyarrow.int32()).cast(pyarrow.date32()).cast(field_type)
        table = pyarrow.table({"a": pyarrow.StructArray.from_arrays([day], ["day"])})
        pyarrow.parquet.write_table(table, f"days{number}.parquet")
        shop.load(f"days{number}.parquet", to=to, contract=PROMOTE, normalizer="nested")

    assert schema_type("a") == "struct<day:timestamp>"
    assert [str(value["day"])[:19] for value in stored(to, "a")] == [f"1970-01-0{day} 00:00:00" for day in (2, 3, 4)]


def test_values_of_maps_become_wider(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    map_type = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    typed = pyarrow.table({"id": [0], "m": pyarrow.array([[("eur", 1), ("usd", None)]], map_type)})
    pyarrow.parquet.write_table(typed, "typed.parquet")
    shop.load("typed.parquet", to=to, contract=PROMOTE, normalizer="nested")

    (finding,) = findings(load(shop, to, {"m": {"eur": 1.5}}))

    assert (finding.field, finding.after, schema_type("m")) == ("[]", "double", "map<string,double>")
    assert in_order(map(dict, stored(to, "m"))) == in_order([{"eur": 1.5}, {"eur": 1.0, "usd": None}])


ODD_INTEGERS = [0, 1, -1, 127, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
ODD_NUMBERS = [*ODD_INTEGERS, 0.1, 1.5, -7.25, 2.0**53, 1.23456789012345]
SMALL_NUMBERS = [0, 1, -3, 0.5, 2.25]


def spelled(number: float | Decimal) -> Fraction:
    """Return a stored or original number; fractions by their shortest spelling, as Python and dlt spell them."""
    return Fraction(str(number))


@pytest.mark.parametrize("seed", range(2))
def test_random_numbers_in_fields_come_back_as_they_were(shop: Shop, typed_destination: str, seed: int) -> None:
    to, chance = typed_destination, random.Random(f"{typed_destination} {seed}")
    names = [f"c{number}" for number in range(6)]
    batches = [
        [{name: {"n": chance.choice(pool), "xs": [chance.choice(pool)]} for name in names} for _ in range(2)]
        for pool in (ODD_INTEGERS, ODD_NUMBERS, SMALL_NUMBERS)
    ]
    is_refused = []

    for batch in batches:
        try:
            report = load(shop, to, *batch)
            assert report.rows_loaded == len(batch), report.unfit
        except DestinationError:
            is_refused.append(batch)

    loaded = [document for batch in batches if batch not in is_refused for document in batch]
    assert len(loaded) >= 4
    for name in names:
        values = stored(to, name)
        for numbers in (lambda value: [value["n"]], lambda value: value["xs"]):
            originals = sorted(spelled(number) for document in loaded for number in numbers(document[name]))
            assert sorted(spelled(number) for value in values for number in numbers(value)) == originals


def test_without_the_normalizer_fields_are_columns_and_become_wider(shop: Shop, tmp_path: Path) -> None:
    to = f"duckdb:///{tmp_path}/made.duckdb"
    first, later = ({"a": {"score": value}, "xs": [value], "ls": [{"n": value}]} for value in (1, 1.5))
    for document in (first, later):
        report = shop.load(shop.write("orders.jsonl", document), to=to, contract=PROMOTE)

    widened = {(finding.table, finding.column, finding.after) for finding in findings(report)}
    assert widened == {
        ("orders", "a__score", "double"),
        ("orders__xs", "value", "double"),
        ("orders__ls", "n", "double"),
    }
    for table, column in (("orders", "a__score"), ("orders__xs", "value"), ("orders__ls", "n")):
        assert str(stored_table(to, table).columns[column].data_type) == "double"


PROMOTE_TEXT = "data_type=promote_text"


@pytest.mark.parametrize(
    ("column", "first", "later", "values"),
    [
        ("a", {"code": 1}, {"code": "x"}, [{"code": "1"}, {"code": "x"}, {"code": "7"}]),
        ("a", {"code": 1.5}, {"code": "x"}, [{"code": "1.5"}, {"code": "x"}, {"code": "7"}]),
        ("a", {"code": True}, {"code": "x"}, [{"code": "True"}, {"code": "x"}, {"code": "7"}]),
        ("a", {"b": {"code": 2**53 + 1}}, {"b": {"code": 1.5, "new": True}}, None),
        ("xs", [1, None], ["x", 2.5, False], [["1", None], ["x", "2.5", "False"], ["7"]]),
        ("ls", [{"n": [1]}], [{"n": ["x"]}, None], [[{"n": ["1"]}], [{"n": ["x"]}, None], [{"n": ["7"]}]]),
    ],
)
def test_promote_text_makes_fields_and_elements_texts(
    shop: Shop, typed_destination: str, column: str, first: Any, later: Any, values: list[Any] | None
) -> None:
    to = typed_destination
    load(shop, to, {column: first}, contract=PROMOTE_TEXT)

    (finding,) = findings(load(shop, to, {column: later}, contract=PROMOTE_TEXT))
    if values is None:  # a decimal holds both
        assert finding.after == "decimal(38, 9)"
        return
    third = {"xs": [7], "ls": [{"n": [7]}], "a": {"code": 7}}[column]
    again = findings(load(shop, to, {column: third}, contract=PROMOTE_TEXT))

    assert (finding.after, finding.variant, finding.rows, again) == ("text", None, 1, [])
    assert stored(to, column) == in_order(values)
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean


def test_texts_of_numbers_are_numbers_again_after_a_rollback(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"code": 1}}, contract=PROMOTE_TEXT)
    load(shop, to, {"a": {"code": "2"}}, contract=PROMOTE_TEXT)

    undone = rollback(RollbackRequest("shop", find_destination(to).url), lambda _: True, nullcontext)

    assert undone.outcome is Outcome.DONE
    assert stored(to, "a") == [{"code": 1}, {"code": 2}]


def test_a_text_field_takes_no_numbers_under_other_contracts(shop: Shop, typed_destination: str) -> None:
    to = typed_destination
    load(shop, to, {"a": {"code": "x"}})

    report = load(shop, to, {"a": {"code": 7}}, contract="data_type=discard_row")

    assert (report.rows_loaded, stored(to, "a")) == (0, [{"code": "x"}])


@pytest.mark.parametrize("value", [[1], {"b": 1}])
def test_promote_text_makes_no_text_of_objects_and_lists(shop: Shop, typed_destination: str, value: Any) -> None:
    to = typed_destination
    load(shop, to, {"a": {"code": 1}, "b": 1}, contract=PROMOTE_TEXT)

    with pytest.raises(DestinationError):
        load(shop, to, {"a": {"code": value}}, contract=PROMOTE_TEXT)

    assert stored(to, "a") == [{"code": 1}]
