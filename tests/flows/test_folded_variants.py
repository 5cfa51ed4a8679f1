"""Variants that are folded into their columns: on every destination all values arrive, and an undo brings all back."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import pytest
from loading_shop import Shop
from migrated_datasets import undo

from schemactl.errors import DestinationError
from schemactl.flows.edit import edit_import
from schemactl.flows.migrate.inspection import find_status
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.sync import sync_schemas
from schemactl.flows.target import find_destination
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Fill
from schemactl.migration.reports import Outcome
from schemactl.migration.steps import FoldVariant
from schemactl.render.findings import report_of_plan
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.types import Schema, Table

pytestmark = pytest.mark.destinations

SCHEMAS = Path("schemas")
FIRST: list[dict[str, Any]] = [
    {"id": 1, "score": 1, "items": [{"size": 4}]},
    {"id": 2, "score": -(2**53), "items": []},
    {"id": 3, "score": 2**53},
    {"id": 4},
]
LATER: list[dict[str, Any]] = [
    {"id": 5, "score": 1.5, "items": [{"size": 0.25}, {"size": 8}]},
    {"id": 6, "score": 1e300},
    {"id": 7, "score": -0.5},
    {"id": 8, "score": 12},
]
SCORES = [(row["id"], row.get("score")) for row in (*FIRST, *LATER)]


def load(shop: Shop, to: str, name: str, *documents: Any) -> None:
    shop.load(shop.write(name, *documents), to=to)


def fold(*names: str, column: str | None = None, folds_all: bool = False, table: str | None = None) -> None:
    hints = Hints((parse_column(column),)) if column else Hints()
    edit_import("shop", SCHEMAS, Edits(folds=names, folds_all=folds_all, table=table, hints=hints))
    sync_schemas(("shop",), SCHEMAS, lambda _: True)


apply = partial(migrated_datasets.apply, schema="shop")


apply_online = partial(apply, is_online=True)


def blockers(to: str) -> list[str]:
    report = plan_migration(PlanRequest("shop", to, SCHEMAS, PlanOptions()))
    return [blocker.message for blocker in report.blockers]


def catalogue(to: str) -> Schema:
    target = find_destination(to)
    return target.destination.read_catalogue(target.url).schema


def rows(to: str, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """What the columns of a table hold, as their types in the destination say."""
    target, stored = find_destination(to), catalogue(to).tables[table]
    model = Table(table, {name: stored.columns[name] for name in columns})
    batches = target.destination.read_table(target.url, "shop", model)
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr)


def by_id(values: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    return sorted(values, key=repr)


@pytest.fixture
def destination(any_destination: str) -> str:
    return "parquet:warehouse" if any_destination == "warehouse" else any_destination


@pytest.fixture
def loaded(shop: Shop, destination: str) -> str:
    load(shop, destination, "first.jsonl", *FIRST)
    load(shop, destination, "later.jsonl", *LATER)
    assert "score__v_double" in catalogue(destination).tables["orders"].columns
    return destination


def test_all_values_arrive_in_the_column_and_an_undo_brings_both_columns_back(shop: Shop, loaded: str) -> None:
    before = rows(loaded, "orders", "id", "score", "score__v_double")
    nested = rows(loaded, "orders__items", "size", "size__v_double")

    fold(folds_all=True)
    report = apply(loaded)

    assert report.outcome is Outcome.DONE, report.planned.blockers
    assert rows(loaded, "orders", "id", "score") == by_id(SCORES)
    assert sorted(rows(loaded, "orders__items", "size")) == [(0.25,), (4.0,), (8.0,)]
    assert "score__v_double" not in catalogue(loaded).tables["orders"].columns
    assert blockers(loaded) == []
    assert apply(loaded).outcome is Outcome.NOTHING

    load(shop, loaded, "last.jsonl", {"id": 9, "score": 7}, {"id": 10, "score": 3.0})
    undone = undo(loaded, allows_destructive=True)

    assert undone.outcome is Outcome.DONE, undone.blockers
    if not loaded.startswith("mysql:"):  # there a new column takes the place of the old one, and goes with later values
        before = sorted([*before, (9, 7, None), (10, 3, None)], key=repr)
    found = rows(loaded, "orders", "id", "score", "score__v_double")
    assert [row for row in found if row[0] <= 8 or not loaded.startswith("mysql:")] == before
    assert rows(loaded, "orders__items", "size", "size__v_double") == nested


def test_integers_of_more_than_64_bits_come_home(shop: Shop, destination: str) -> None:
    load(shop, destination, "first.jsonl", {"id": 1, "score": 5})
    load(shop, destination, "later.jsonl", {"id": 2, "score": 2**64})
    before = rows(destination, "orders", "id", "score", "score__v_wei")

    fold(folds_all=True)
    report = apply(destination)

    assert report.outcome is Outcome.DONE, report.planned.blockers
    scores = [(number, int(score)) for number, score in rows(destination, "orders", "id", "score")]
    assert scores == [(1, 5), (2, int(before[1][2]))]  # SQLite stores 2^64 as a double
    assert undo(destination, allows_destructive=True).outcome is Outcome.DONE
    assert rows(destination, "orders", "id", "score", "score__v_wei") == before


def test_an_integer_that_a_double_would_change_refuses_the_fold(shop: Shop, destination: str) -> None:
    load(shop, destination, "first.jsonl", {"id": 1, "score": 2**53 + 1})
    load(shop, destination, "later.jsonl", {"id": 2, "score": 0.5})
    fold("orders.score__v_double")

    assert blockers(destination) == ["1 value of `orders.score` would not survive"]
    assert apply(destination).outcome is Outcome.REFUSED

    fold(column="orders.score:decimal(38,9)")

    assert apply(destination).outcome is Outcome.DONE
    if not destination.startswith("sqlite:"):  # it keeps 0.5 as a double, which is no decimal when it is read
        assert rows(destination, "orders", "id", "score") == [(1, Decimal(2**53 + 1)), (2, Decimal("0.5"))]


def test_rows_with_values_in_both_columns_refuse_the_fold(shop: Shop, loaded: str) -> None:
    load(shop, loaded, "both.jsonl", {"id": 20, "score": 3, "score__v_double": 3.0})
    before = rows(loaded, "orders", "id", "score", "score__v_double")
    assert (20, 3, 3.0) in before
    fold("orders.score__v_double")

    assert blockers(loaded) == ["1 row of `orders` holds values in both `score` and `score__v_double`"]
    assert apply(loaded).outcome is Outcome.REFUSED
    assert rows(loaded, "orders", "id", "score", "score__v_double") == before


def test_an_undo_that_would_change_a_later_value_is_refused(shop: Shop, loaded: str) -> None:
    fold("orders.score__v_double")
    assert apply(loaded).outcome is Outcome.DONE
    load(shop, loaded, "last.jsonl", {"id": 9, "score": 2.5})

    report = undo(loaded)

    assert report.outcome is Outcome.REFUSED
    assert (9, 2.5) in rows(loaded, "orders", "id", "score")


def test_a_load_says_once_that_variants_could_fold(shop: Shop) -> None:
    source = shop.write("all.jsonl", *FIRST, *LATER)
    report = shop.load(source)
    assert report.inference is not None
    folds = [hint for hint in report.inference.hints if "could fold" in hint]
    assert folds == ["2 variants of `shop` could fold: `schemactl edit shop --fold-all`"]

    fold(folds_all=True)
    assert apply("parquet:warehouse").outcome is Outcome.DONE
    report = shop.load(source)
    assert report.inference is not None
    assert [hint for hint in report.inference.hints if "could fold" in hint] == []


def test_status_lists_variants_with_their_share_and_first_load(shop: Shop, loaded: str) -> None:
    load_ids = [load_id for (load_id,) in rows(loaded, "orders", "_dlt_load_id")]

    report = find_status("shop", loaded, SCHEMAS, PlanOptions())

    score, size = sorted(report.stored_variants, key=lambda variant: variant.table)
    assert (score.table, score.column, score.home) == ("orders", "score__v_double", "score")
    assert score.fill == Fill(3, 8, max(load_ids))
    assert (size.table, size.column) == ("orders__items", "size__v_double")
    assert size.fill == Fill(1, 3, max(load_ids))
    assert score.is_foldable

    fold(folds_all=True)
    pending = find_status("shop", loaded, SCHEMAS, PlanOptions(), looks_at_rows=False)
    assert [(variant.fill, variant.is_foldable) for variant in pending.stored_variants] == [(None, False)] * 2
    assert apply(loaded).outcome is Outcome.DONE
    assert find_status("shop", loaded, SCHEMAS, PlanOptions()).stored_variants == ()


def test_a_variant_in_a_deeper_table_has_the_load_of_its_root_row(shop: Shop, destination: str) -> None:
    to = destination
    for number, size in enumerate((1, 0.5, 2.5)):
        shop.load(shop.write(f"{number}.jsonl", {"id": number, "items": [{"parts": [size]}]}), to=to)
    load_ids = [load_id for (load_id,) in rows(to, "orders", "_dlt_load_id")]

    (variant,) = find_status("shop", find_destination(to).url, SCHEMAS, PlanOptions()).stored_variants

    assert (variant.table, variant.column) == ("orders__items__parts", "value__v_double")
    assert variant.fill == Fill(2, 3, sorted(load_ids)[1])


@pytest.mark.parametrize("naming", ["direct", "sql_cs_v1", "duck_case"])
def test_variants_of_variants_in_nested_tables_fold_under_other_naming_conventions(shop: Shop, naming: str) -> None:
    to = "duckdb:///made.duckdb"
    for number, size in enumerate((1, "2024-01-01T00:00:00Z", "x", 1.5)):
        shop.load(shop.write("orders.jsonl", {"Id": number, "Items": [{"Key": size}]}), to=to, naming=naming)
    variants = find_status("shop", to, SCHEMAS, PlanOptions()).stored_variants

    fold(*(f"{variant.table}.{variant.column}" for variant in variants))
    outcome = apply(to).outcome

    (table,) = {variant.table for variant in variants}
    assert [(variant.home, variant.fill and variant.fill.values) for variant in variants] == [("Key", 1)] * 3
    assert outcome is Outcome.DONE
    assert sorted(value for (value,) in rows(to, table, "Key")) == ["1", "1.5", "2024-01-01T00:00:00+00:00", "x"]
    assert find_status("shop", to, SCHEMAS, PlanOptions()).stored_variants == ()


def test_a_plan_says_how_many_values_fold_and_survive(shop: Shop, loaded: str) -> None:
    fold("orders.score__v_double")
    report = plan_migration(PlanRequest("shop", loaded, SCHEMAS, PlanOptions()))

    (moved,) = report.folded
    assert isinstance(report.plan.steps[moved.number - 1].step, FoldVariant)
    (finding,) = [finding for finding in report_of_plan(report).reviews[0].findings if finding.rule == "M206"]
    assert finding.message == "`orders.score__v_double` folds into `score`: all 3 values survive"


def test_a_fold_while_others_write_is_undone(shop: Shop, postgres_database: str) -> None:
    to = f"{postgres_database}?dataset=online"
    load(shop, to, "first.jsonl", *FIRST)
    load(shop, to, "later.jsonl", *LATER)
    before = rows(to, "orders", "id", "score", "score__v_double")
    fold("orders.score__v_double")

    assert apply_online(to).outcome is Outcome.DONE
    assert rows(to, "orders", "id", "score") == by_id(SCORES)
    load(shop, to, "last.jsonl", {"id": 9, "score": 7})

    report = undo(to, allows_destructive=True)

    assert report.outcome is Outcome.DONE, report.blockers
    assert rows(to, "orders", "id", "score", "score__v_double") == sorted([*before, (9, 7, None)], key=repr)


MORE: list[dict[str, Any]] = [{"id": 9, "score": 2.5, "items": [{"size": 0.75}]}, {"id": 10, "score": 7}]
MORE_SCORES = [*SCORES, *((row["id"], row["score"]) for row in MORE)]
SIZES = [(size,) for size in (0.25, 0.75, 4, 8)]


def check_folded(to: str) -> None:
    assert rows(to, "orders", "id", "score") == by_id(MORE_SCORES)
    assert rows(to, "orders__items", "size") == by_id(SIZES)
    assert "score__v_double" not in catalogue(to).tables["orders"].columns
    assert find_status("shop", to, SCHEMAS, PlanOptions()).is_settled


def test_a_load_before_the_migration_of_a_fold_says_what_to_do(shop: Shop, loaded: str) -> None:
    fold(folds_all=True)

    with pytest.raises(DestinationError) as raised:
        load(shop, loaded, "more.jsonl", *MORE)

    assert "`schemactl migrate apply` gives stored columns the types of the schema" in str(raised.value.hint)
    assert apply(loaded).outcome is Outcome.DONE
    load(shop, loaded, "more.jsonl", *MORE)
    check_folded(loaded)


def test_a_promoting_load_before_the_migration_of_a_fold_loses_nothing(shop: Shop, loaded: str) -> None:
    fold(folds_all=True)

    shop.load(shop.write("more.jsonl", *MORE), to=loaded, contract="data_type=promote")

    assert apply(loaded).outcome is Outcome.DONE
    check_folded(loaded)


def test_a_fold_that_ends_while_a_load_waits_loses_no_value(shop: Shop, loaded: str) -> None:
    """The rows of the load have variants, as its schema had when they were made."""
    is_folded = False

    def fold_during_load(stage: str, _share: float | None) -> None:
        nonlocal is_folded
        if stage.startswith("loading into") and not is_folded:
            is_folded = True
            fold(folds_all=True)
            assert apply(loaded).outcome is Outcome.DONE

    shop.load(shop.write("more.jsonl", *MORE), to=loaded, progress=fold_during_load)

    assert is_folded
    apply(loaded)  # variants that the load has added again, where columns take new ones
    check_folded(loaded)
