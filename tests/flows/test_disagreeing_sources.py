"""Sources that state different types for one column are loaded whole, each value as its column takes it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import scan_inputs
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.references import find_schemas
from schemactl.inference.sample import Sample
from schemactl.inference.saved_evidence import read_evidence, write_evidence
from schemactl.normalization.report import Outcome
from schemactl.store.folder import SchemasFolder

MOMENT = datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
UTC_TYPE = pyarrow.timestamp("us", "UTC")

PAIRS: dict[str, tuple[Any, Any, str, list[Any]]] = {
    "text": (pyarrow.array([7]), pyarrow.array(["q"]), "text", ["7", "q"]),
    "double": (pyarrow.array([7], pyarrow.int32()), pyarrow.array([1.5]), "double", [7.0, 1.5]),
    "decimal": (
        pyarrow.array([Decimal("1.25")], pyarrow.decimal128(10, 2)),
        pyarrow.array([Decimal("1.2345")], pyarrow.decimal128(12, 4)),
        "decimal", [Decimal("1.2500"), Decimal("1.2345")],
    ),
    "mixed": (
        pyarrow.array([2**53 + 1]), pyarrow.array([Decimal("1.25")], pyarrow.decimal128(10, 2)),
        "decimal", [Decimal(2**53 + 1), Decimal("1.25")],
    ),
    "day": (
        pyarrow.array([date(1969, 12, 31)]), pyarrow.array([MOMENT], UTC_TYPE),
        "timestamp", [datetime(1969, 12, 31, tzinfo=UTC), MOMENT],
    ),
    "moment": (
        pyarrow.array([MOMENT.replace(tzinfo=None)], pyarrow.timestamp("us")), pyarrow.array([MOMENT], UTC_TYPE),
        "timestamp", [MOMENT, MOMENT],
    ),
    "flag": (pyarrow.array([True]), pyarrow.array([5]), "text", ["True", "5"]),
    "bytes": (pyarrow.array([b"\xff\x00"]), pyarrow.array(["x"]), "text", ["/wA=", "x"]),
}  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> Shop:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    return Shop(tmp_path, local_engine)


def write(first: dict[str, Any], second: dict[str, Any], *, is_one_format: bool = False) -> None:
    """Write two files of a row each, whose ids are 1 and 2."""
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], **first}), "d/a.parquet")
    table = pyarrow.table({"id": [2], **second})
    if is_one_format:
        pyarrow.parquet.write_table(table, "d/b.parquet")
    else:
        pyarrow.orc.write_table(table, "d/b.orc")


def types(table: str = "orders") -> dict[str, Any]:
    schema = find_schemas("shop", SchemasFolder.at(Path("schemas")))[0].schema
    return {name: column.data_type for name, column in schema.tables[table].columns.items()}


@pytest.mark.parametrize("is_one_format", [False, True])
def test_every_value_gets_into_the_column_that_takes_both_types(shop: Shop, is_one_format: bool) -> None:
    write(
        {name: pair[0] for name, pair in PAIRS.items()}, {name: pair[1] for name, pair in PAIRS.items()},
        is_one_format=is_one_format,
    )  # fmt: skip

    report = shop.load("d")

    assert report.outcome is Outcome.LOADED
    assert [(table.read, table.loaded) for table in report.tables] == [(2, 2)]
    assert {name: types()[name] for name in PAIRS} == {name: pair[2] for name, pair in PAIRS.items()}
    first, second = shop.rows("orders", "id", *PAIRS)
    assert [list(pair) for pair in zip(first, second, strict=True)][1:] == [pair[3] for pair in PAIRS.values()]


def test_fields_and_elements_of_different_types_get_into_one_column(shop: Shop) -> None:
    write(
        {"s": [{"n": 1, "b": b"\xff"}], "l": [[1, 2]], "r": [[{"k": 1}]], "either": [7]},
        {"s": [{"n": "t", "b": "z"}], "l": [["p"]], "r": [[{"k": 1.5}, {"k": 2.5}]], "either": [[8, 9]]},
    )

    assert shop.load("d").outcome is Outcome.LOADED

    assert shop.rows("orders", "id", "s__n", "s__b", "either") == [(1, "1", "/w==", 7), (2, "t", "z", None)]
    assert shop.rows("orders__l", "value", "_dlt_list_idx") == [("1", 0), ("2", 1), ("p", 0)]
    assert shop.rows("orders__r", "k") == [(1.0,), (1.5,), (2.5,)]
    assert shop.rows("orders__either", "value") == [(8,), (9,)]


def test_what_a_known_column_does_not_take_goes_to_variants(shop: Shop) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"id": [0], "n": [True]}), "known.parquet")
    shop.load("known.parquet")
    write({"n": [date(2024, 1, 2)]}, {"n": ["x"]})

    assert shop.load("d").outcome is Outcome.LOADED

    assert shop.rows("orders", "id", "n", "n__v_date", "n__v_text") == [
        (0, True, None, None), (1, None, date(2024, 1, 2), None), (2, None, None, "x"),
    ]  # fmt: skip


def test_infer_makes_the_same_schema_of_saved_evidence(shop: Shop) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"id": [0], "n": [True]}), "known.parquet")
    exported = Path("schemas/export/shop.schema.yaml")
    shop.load("known.parquet")
    known = exported.read_text()
    write({"n": [date(2024, 1, 2)]}, {"n": ["x"]})
    shop.load("d")
    loaded = exported.read_text()
    exported.write_text(known)
    evidence = scan_inputs(shop.engine, find_inputs(["d"]), Sample()).evidence
    Path("seen.evidence.json").write_text(write_evidence(evidence))

    infer(InferRequest(("seen.evidence.json",), "shop", "orders", Path("schemas")))

    assert exported.read_text() == loaded
    assert read_evidence(write_evidence(evidence), "e") == evidence


def test_structures_keep_values_of_different_types_as_json(shop: Shop) -> None:
    write(
        {"s": [{"n": 1, "b": b"\xff", "m": 7}], "l": [[1, 2]], "n": [7]},
        {"s": [{"n": "1", "b": "z", "m": 1.5}], "l": [["p"]], "n": ["q"]},
    )

    assert shop.load("d", normalizer="nested").outcome is Outcome.LOADED

    assert shop.rows("orders", "s", "l", "n") == [
        ({"n": '"1"', "b": '"z"', "m": 1.5}, '["p"]', "q"),
        ({"n": "1", "b": '"/w=="', "m": 7.0}, "[1,2]", "7"),
    ]


def test_orc_rows_are_numbered_without_an_error_in_the_log(shop: Shop, capfd: pytest.CaptureFixture[str]) -> None:
    write({"n": [1]}, {"n": [1]})
    capfd.readouterr()

    shop.load("d")

    assert "row_index" not in capfd.readouterr().err
