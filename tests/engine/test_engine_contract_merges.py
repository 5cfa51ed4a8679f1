"""A merge keeps the same rows on both engines (``test_engine_contract``), whatever its key and its order are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_outcomes import Contract, normalize_outcome, request

from schemactl.formats.dlt import write as write_schema
from schemactl.schema.hash import bump
from schemactl.schema.templates import OWN_NORMALIZERS, new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.spark

VALUES: dict[str, tuple[pa.DataType, Sequence[Any], dict[str, Any]]] = {
    "number": (pa.int64(), [1, 2, -(2**63)], {"data_type": "bigint"}),
    "ratio": (pa.float64(), [math.nan, 0.0, -0.0, 1.5, -math.inf], {"data_type": "double"}),
    "amount": (pa.decimal128(12, 2), [Decimal("1.50"), Decimal("-2.00")], {"data_type": "decimal"}),
    "clock": (pa.time64("us"), [time(1), time(2)], {"data_type": "time"}),
    "nanos": (pa.timestamp("ns"), [1, 2], {"data_type": "timestamp", "precision": 9, "timezone": False}),
    "flag": (pa.bool_(), [True, False], {"data_type": "bool"}),
    "octets": (pa.binary(), [b"", b"\xff", b"a"], {"data_type": "binary"}),
    "tags": (pa.list_(pa.string()), [[], [None], ["a"], ["a", "b"]], {"data_type": "json"}),
    "ratios": (pa.list_(pa.float64()), [[math.nan], [0.0], [-0.0], [None]], {"data_type": "json"}),
    "buyer": (
        pa.struct({"n": pa.int64(), "at": pa.timestamp("us"), "l": pa.list_(pa.int8())}),
        [
            {"n": 1, "at": datetime(2024, 1, 1), "l": [1]}, {"n": 1, "at": None, "l": [1]},
            {"n": 1, "at": None, "l": None},
            {"n": None, "at": datetime(2024, 1, 1), "l": None},
        ],
        {"data_type": "json"},
    ),
    "counts": (
        pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", None)], []],
        {"data_type": "json"},
    ),
}  # fmt: skip


def write_merged_table(contract: Contract, *columns: Column) -> None:
    schema = new_schema("shop", normalizer=OWN_NORMALIZERS["nested"])
    table = Table("data", {column.name: column for column in columns}, {"write_disposition": "merge"})
    text = write_schema(bump(replace(schema.with_table(table))))
    for engine in ("local", "spark"):
        file = contract.folder_of(engine) / "schemas" / "import" / "shop.schema.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text)


def write_rows(contract: Contract, names: Sequence[str], seed: int) -> None:
    chance = Random(seed)
    for number in range(3):
        columns = {"id": pa.array(range(40), pa.int64())}
        for name in names:
            of, values, _ = VALUES[name]
            columns[name] = pa.array([chance.choice([None, *values]) for _ in range(40)], of)
        pq.write_table(pa.table(columns), contract.data / f"{number}.parquet", row_group_size=15)


@pytest.mark.parametrize("key", VALUES)
def test_rows_with_one_key(contract: Contract, key: str) -> None:
    write_rows(contract, [key], seed=1)
    write_merged_table(contract, Column(key, {**VALUES[key][2], "primary_key": True}))
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error
    (table,) = (table for table in outcome.report["tables"] if table["name"] == "data")
    assert table["read"] == 120
    assert table["superseded"] > 100


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("order", VALUES)
def test_rows_with_one_key_in_an_order(contract: Contract, order: str, direction: str) -> None:
    key = "number" if order != "number" else "flag"
    write_rows(contract, [key, order], seed=2)
    keys = [Column(key, {**VALUES[key][2], "primary_key": True})]
    write_merged_table(contract, *keys, Column(order, {**VALUES[order][2], "dedup_sort": direction}))
    outcome = contract.check(normalize_outcome, request("../data"))
    assert outcome.error is None, outcome.error
    assert len(outcome.tables["data"][1]) == len({repr(value) for value in VALUES[key][1]}) + 1


def test_keys_of_several_columns(contract: Contract) -> None:
    names = ["tags", "buyer", "flag"]
    write_rows(contract, names, seed=3)
    write_merged_table(contract, *(Column(name, {**VALUES[name][2], "primary_key": True}) for name in names))
    contract.check(normalize_outcome, request("../data"))
