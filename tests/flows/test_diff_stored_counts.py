"""What another type of a column breaks in a destination, counted where the values are stored."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from loading_shop import Shop
from test_promotion_loads import load

from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.edit import edit_import
from schemactl.flows.sync import sync_schemas
from schemactl.flows.target import find_destination
from schemactl.review.report import Finding
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column

pytestmark = pytest.mark.destinations


def review_of(to: str, data_type: str, contract: str = "data_type=evolve") -> list[Finding]:
    """Return the findings about `orders.x` after an edit of its type, against the catalog of a destination."""
    edit_import(
        "shop", Path("schemas"), Edits(hints=Hints(columns=(parse_column(f"orders.x:{data_type}"),)), contract=contract)
    )
    sync_schemas(("shop",), Path("schemas"), lambda _: True)
    base = f"parquet:{to}" if to == "warehouse" else to
    request = DiffRequest(base=base, head="shop", schemas=Path("schemas"), today=date(2026, 1, 1))
    return [finding for review in diff_schemas(request).reviews for finding in review.findings if finding.column == "x"]


@pytest.mark.parametrize(("values", "bad"), [((1, 2, None, 2**53), 0), ((1, 2**53 + 1, -(2**53) - 1), 2)])
def test_a_wider_column_is_counted_in_the_destination(
    shop: Shop, any_destination: str, values: tuple[Any, ...], bad: int
) -> None:
    load(shop, any_destination, *values)

    (finding,) = review_of(any_destination, "double", "data_type=promote")

    assert finding.rule == "D314"
    assert finding.counted is not None
    assert (finding.counted.values, finding.counted.bad) == (3, bad)
    assert len(finding.counted.examples) == bad


def test_values_that_do_not_fit_a_new_type_are_counted_in_the_destination(shop: Shop, any_destination: str) -> None:
    load(shop, any_destination, "1", "abc", "3", column="x")

    (finding,) = review_of(any_destination, "bigint")

    assert finding.counted is not None
    assert (finding.counted.values, finding.counted.bad) == (3, 1)
    assert finding.counted.examples == ("abc",)


def test_the_other_direction_counts_nothing(shop: Shop) -> None:
    to = "duckdb:///made.duckdb"
    load(shop, to, 1)
    review_of(to, "double", "data_type=promote")
    request = DiffRequest(base="shop", head=find_destination(to).url, schemas=Path("schemas"), today=date(2026, 1, 1))

    findings = [finding for review in diff_schemas(request).reviews for finding in review.findings]

    assert [finding.counted for finding in findings if finding.column == "x"] == [None]
