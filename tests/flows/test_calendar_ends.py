"""Texts that look like points in time, but that no column of points in time holds: no text stops a load."""

from __future__ import annotations

from typing import Any

import pytest
from loading_shop import Shop
from test_promotion_loads import PROMOTE, stored

from schemactl.schema.hints import Hints, parse_column

NOT_IN_CALENDAR = (
    *("9999-12-31T23:59:59-01:00", "9999-12-31 23:59:59.999999-00:01", "0001-01-01T00:00:00+01:00"),
    *("0000-01-01", "0000-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "-0001-01-01"),
    *("2024-01-01T24:00:00Z", "9999-12-31T24:00:00Z", "24:00:00", "24:00"),
    *("2016-12-31T23:59:60Z", "2016-12-31T23:59:60", "23:59:60", "2024-02-30", "253402300800", "-62135596801"),
)
FIRST_VALUES = {"timestamp": "2024-01-01T00:00:00Z", "timestamp,timezone=false": "2024-01-01T00:00:00"} | {
    "date": "2024-01-01",
    "time": "01:02:03",
}


@pytest.mark.destinations
@pytest.mark.parametrize("contract", ["evolve", PROMOTE])
def test_texts_past_the_ends_of_the_calendar_go_to_a_variant_column(
    shop: Shop, any_destination: str, contract: str
) -> None:
    kinds = [kind for kind in FIRST_VALUES if kind != "time" or not any_destination.startswith("spark")]  # has no times
    columns = {f"x{number}": type_words for number, type_words in enumerate(kinds)}
    hints = Hints(columns=tuple(parse_column(f"orders.{name}:{words}") for name, words in columns.items()))
    first = {name: FIRST_VALUES[words] for name, words in columns.items()}
    shop.load(shop.write("first.jsonl", first), to=any_destination, hints=hints)

    documents: list[dict[str, Any]] = [dict.fromkeys(columns, text) for text in NOT_IN_CALENDAR]
    report = shop.load(shop.write("later.jsonl", *documents), to=any_destination, contract=contract)

    assert report.rows_loaded == len(NOT_IN_CALENDAR)
    for name in columns:
        assert len(stored(any_destination, name)) == 1
        assert stored(any_destination, f"{name}__v_text") == sorted(NOT_IN_CALENDAR)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"])
def test_no_detector_takes_a_text_past_the_ends_of_the_calendar_for_a_timestamp(shop: Shop, text: str) -> None:
    shop.load(shop.write("orders.jsonl", {"x": text}, {"x": "2024-01-01T00:00:00Z"}), to="duckdb:///made.duckdb")

    assert stored("duckdb:///made.duckdb", "x") == sorted([text, "2024-01-01T00:00:00Z"])
