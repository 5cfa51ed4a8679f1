"""What a report says of a broken contract: who stated it, the table, the record; and what contracts leave out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from loading_shop import LOCAL, Shop

from schemactl.examples import Examples, show_examples
from schemactl.flows.edit import open_schemas
from schemactl.flows.infer import InferRequest, infer
from schemactl.inference.report import ViolationFinding
from schemactl.normalization.report import NormalizeReport, Stop
from schemactl.store.folder import SchemasFolder


def violation(report: NormalizeReport) -> ViolationFinding:
    assert report.stops == (Stop.CONTRACT,)
    assert report.inference is not None
    return report.inference.violations[0]


def item(report: NormalizeReport) -> str | None:
    assert report.stops == ()
    assert report.inference is not None
    return report.inference.violations[0].data_item


def hints(report: NormalizeReport) -> list[str]:
    assert report.inference is not None
    return [hint for hint in report.inference.hints if "contract" in hint]


def state(table: str, contract: str) -> None:
    """Write a contract of a table into the export file, as a person does."""
    path = Path("schemas/export/shop.schema.yaml")
    text = path.read_text()
    assert f"\n  {table}:\n" in text
    path.write_text(text.replace(f"\n  {table}:\n", f"\n  {table}:\n    schema_contract:\n      {contract}\n"))


def test_a_frozen_contract_says_where_it_stands_and_shows_the_record(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1, "lines": [{"n": 1}]}))
    long = "x" * 3_000
    shop.write("b.jsonl", {"id": 2}, {"id": 3, "new": 1, "long": long})
    found = violation(shop.load("b.jsonl", contract="columns=freeze"))
    schema = open_schemas(SchemasFolder.at(Path("schemas")), "shop").schema
    assert schema is not None
    assert (found.schema_name, found.table_schema) == ("shop", schema.tables["orders"].to_dict())
    assert found.schema_contract["columns"] == {"mode": "freeze", "level": "call"}
    assert found.schema_contract["data_type"] == {"mode": "evolve", "level": "default"}
    assert found.data_item is not None
    assert found.data_item.startswith('{"id": 3, "new": 1, "long": "xxx')
    assert len(found.data_item) == 1_000
    with show_examples(Examples.MASKED):
        masked = violation(shop.load("b.jsonl", contract="columns=freeze")).data_item
    assert masked is not None
    assert '"id": 3' not in masked
    with show_examples(Examples.NONE):
        assert violation(shop.load("b.jsonl", contract="columns=freeze")).data_item is None


def test_records_of_typed_sources_are_found_too(shop: Shop) -> None:
    pyarrow.parquet.write_table(pa.table({"id": [1, 2]}), "a.parquet")
    shop.load("a.parquet")
    pyarrow.parquet.write_table(pa.table({"id": [3, 4], "new": [None, "x"]}), "b.parquet")
    found = violation(shop.load("b.parquet", contract="freeze"))
    assert json.loads(found.data_item or "") == {"id": 4, "new": "x"}


def test_infer_shows_the_record(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1}))
    shop.write("b.jsonl", {"id": 2, "new": 1})
    call = {"sources": ("b.jsonl",), "name": "shop", "table": "orders", "schemas": Path("schemas"), "engine": LOCAL}
    for mode in ("freeze", "discard_row", "discard_value"):
        assert infer(InferRequest(**call, contract=mode)).violations[0].data_item == '{"id": 2, "new": 1}'


@pytest.mark.parametrize("mode", ["discard_row", "discard_value"])
def test_loads_show_the_first_record_of_what_they_discard(shop: Shop, mode: str) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1, "lines": [{"n": 1}]}))
    shop.write(
        "b.jsonl", {"id": 2}, {"id": 3, "lines": [{"n": 2}, {"n": 3, "new": 4}]}, {"id": 5, "lines": [{"new": 6}]}
    )
    assert (
        item(shop.load("b.jsonl", contract=f"columns={mode}")) == '{"id": 3, "lines": [{"n": 2}, {"n": 3, "new": 4}]}'
    )
    pyarrow.parquet.write_table(pa.table({"id": [7, 8], "new": [None, "x"]}), "c.parquet")
    found = item(shop.load("c.parquet", contract=f"columns={mode}"))
    assert json.loads(found or "") == {"id": 8, "new": "x"}
    with show_examples(Examples.NONE):
        assert item(shop.load("b.jsonl", contract=f"columns={mode}")) is None


def test_contracts_of_tables_that_go_before_that_of_the_call_are_named(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1, "lines": [{"n": 1}]}))
    state("orders__lines", "columns: evolve")
    report = shop.load(shop.write("b.jsonl", {"id": 2, "lines": [{"n": 1, "m": "x"}]}), contract="freeze")
    assert hints(report) == ["the contract of table `orders__lines` overrides `--contract` for table `orders__lines`"]
    state("orders", "data_type: freeze")
    found = violation(shop.load(shop.write("c.jsonl", {"id": "x"})))
    assert found.schema_contract["data_type"] == {"mode": "freeze", "level": "table orders"}


def test_what_a_contract_leaves_out_and_evolves_is_named(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1}))
    report = shop.load(shop.write("b.jsonl", {"id": "x", "l": [1]}), contract="columns=freeze")
    assert hints(report) == [
        "the contract of the call does not set `data_type`, which evolves: `orders.id__v_text`",
        "the contract of the call does not set `tables`, which evolves: `orders__l`",
    ]
