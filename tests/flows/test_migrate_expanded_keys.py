"""A column in a key gets another type by a new column: the key moves to it, or it is said what stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated_datasets import ID, Dataset, apply, column, plan, schema_of, undo

from schemactl.destinations import DESTINATIONS
from schemactl.flows.migrate.inspection import find_status
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

KEYS = {"compares_unique": True, "compares_primary_keys": True}


def keys(dataset: Dataset) -> dict[str, list[str]]:
    """Names of the columns of ``orders`` that are unique, in the primary key, or may not be null."""
    columns = DESTINATIONS[dataset.kind].read_catalogue(dataset.url).schema.tables["orders"].columns.values()
    return {
        "unique": sorted(each.name for each in columns if each.properties.get("unique")),
        "primary_key": sorted(each.name for each in columns if each.properties.get("primary_key")),
        "required": sorted(each.name for each in columns if not each.nullable),
    }


def make(dataset: Dataset, schema: Schema, *rows: str) -> None:
    assert apply(dataset, schema, **KEYS).outcome is Outcome.DONE
    for row in rows:
        dataset.sql(f"INSERT INTO @.orders VALUES {row}")


def unique(kind: str, before: Schema | None = None) -> Schema:
    return schema_of(ID, column("code", kind, unique=True), before=before)


def keyed(*kinds: str, nullable: bool = False, key: bool = True, before: Schema | None = None) -> Schema:
    """A schema of which ``code`` and ``place`` are the primary key, of these types."""
    hints = {"nullable": nullable, **({"primary_key": True} if key else {})}
    made = (column(name, kind, **hints) for name, kind in zip(("code", "place"), kinds, strict=True))
    return schema_of(*made, column("note"), before=before)


def test_the_new_column_of_a_unique_one_is_unique_and_takes_nulls(dataset: Dataset) -> None:
    before, after = unique("text"), unique("bigint", unique("text"))
    make(dataset, before, "(1, '5')", "(2, 'x')", "(3, 'y')", "(4, NULL)")

    report = apply(dataset, after, on_unfit=OnUnfit.EXPAND)

    assert report.outcome is Outcome.DONE
    assert report.planned.counted[0].count == 2
    assert dataset.sql("SELECT code, code__before_1 FROM @.orders ORDER BY id") == [
        (5, "5"),
        (None, "x"),
        (None, "y"),
        (None, None),
    ]
    assert keys(dataset) == {"unique": ["code", "code__before_1"], "primary_key": [], "required": ["id"]}
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        dataset.sql("INSERT INTO @.orders (id, code) VALUES (5, 5)")
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.sql("SELECT id, code FROM @.orders ORDER BY id") == [(1, "5"), (2, "x"), (3, "y"), (4, None)]
    assert keys(dataset) == {"unique": ["code"], "primary_key": [], "required": ["id"]}


def test_a_unique_column_is_retyped_by_a_new_one_again_and_again(dataset: Dataset) -> None:
    first, second = unique("text"), unique("bigint", unique("text"))
    third = unique("date", second)
    make(dataset, first, "(1, '5')", "(2, '6')")
    assert apply(dataset, second, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE
    assert apply(dataset, third, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE
    assert keys(dataset)["unique"] == ["code", "code__before_1", "code__before_2"]

    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert keys(dataset)["unique"] == ["code", "code__before_1"]
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert keys(dataset)["unique"] == ["code"]
    assert dataset.sql("SELECT id, code FROM @.orders ORDER BY id") == [(1, "5"), (2, "6")]


def test_an_old_column_that_was_unique_is_dropped_once_nobody_needs_it(dataset: Dataset) -> None:
    after = unique("bigint", unique("text"))
    make(dataset, unique("text"), "(1, '5')", "(2, '6')")
    assert apply(dataset, after, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE

    assert apply(dataset, after, drops_kept=True, allows_destructive=True).outcome is Outcome.DONE

    assert dataset.columns() == ["id", "code"]
    assert keys(dataset)["unique"] == ["code"]
    assert dataset.sql("SELECT id, code FROM @.orders ORDER BY id") == [(1, 5), (2, 6)]
    dataset.sql("INSERT INTO @.orders VALUES (3, 7), (4, 8)")


def test_values_that_become_equal_stand_in_the_way_of_a_unique_column(dataset: Dataset) -> None:
    make(dataset, unique("text"), "(1, '1')", "(2, '01')")

    report = apply(dataset, unique("bigint", unique("text")), on_unfit=OnUnfit.EXPAND)

    assert report.outcome is Outcome.REFUSED
    (blocker,) = report.planned.blockers
    assert blocker.message == "2 rows of `orders.code` share their value with another row"
    assert dataset.columns() == ["id", "code"]


def test_a_primary_key_moves_to_the_new_column_where_no_value_is_lost(dataset: Dataset) -> None:
    before = keyed("text", "text")
    make(dataset, before, "('1', 'a', 'n')", "('1', 'b', NULL)", "('2', 'a', 'm')")

    report = apply(dataset, keyed("bigint", "text", before=before), on_unfit=OnUnfit.EXPAND)

    assert report.outcome is Outcome.DONE
    assert keys(dataset) == {"unique": [], "primary_key": ["code", "place"], "required": ["code", "place"]}
    rows = "SELECT code, place, code__before_1 FROM @.orders ORDER BY code, place"
    assert dataset.sql(rows) == [(1, "a", "1"), (1, "b", "1"), (2, "a", "2")]
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        dataset.sql("INSERT INTO @.orders (code, place) VALUES (2, 'a')")
    assert find_status(None, dataset.url, Path("schemas"), PlanOptions()).is_settled

    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE

    assert keys(dataset) == {"unique": [], "primary_key": ["code", "place"], "required": ["code", "place"]}
    assert dataset.columns() == ["code", "place", "note"]
    rows = "SELECT code, place FROM @.orders ORDER BY code, place"
    assert dataset.sql(rows) == [("1", "a"), ("1", "b"), ("2", "a")]


def test_a_key_of_two_columns_that_both_get_a_new_one_moves_once(dataset: Dataset) -> None:
    before = keyed("text", "text")
    make(dataset, before, "('1', '2024-01-01', 'n')", "('1', '2024-01-02', NULL)")
    after = keyed("bigint", "date", before=before)

    planned = plan(dataset, after, on_unfit=OnUnfit.EXPAND)

    kinds = [type(each.step).__name__ for each in planned.plan.steps]
    assert (kinds[0], kinds[-1]) == ("DropPrimaryKey", "AddPrimaryKey")
    assert (kinds.count("DropPrimaryKey"), kinds.count("AddPrimaryKey"), kinds.count("Backfill")) == (1, 1, 2)
    assert apply(dataset, after, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE
    assert keys(dataset)["primary_key"] == ["code", "place"]
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert keys(dataset)["primary_key"] == ["code", "place"]


@pytest.mark.parametrize("on_unfit", [OnUnfit.EXPAND, OnUnfit.VARIANT])
def test_values_that_a_primary_key_would_lose_are_counted_before_anything_is_done(
    dataset: Dataset, on_unfit: OnUnfit
) -> None:
    before = keyed("text", "text")
    make(dataset, before, "('1', 'a', 'n')", "('x', 'a', NULL)", "('y', 'b', NULL)")
    after = keyed("bigint", "text", before=before)

    report = plan(dataset, after, on_unfit=on_unfit)

    (blocker,) = report.blockers
    assert blocker.kind is BlockerKind.UNFIT
    lost = "2 values of `orders.code` would not survive"
    assert blocker.message == f"{lost}, and a primary key cannot contain nulls instead"
    assert "`--primary-keys`" in blocker.hint
    assert sorted(report.counted[0].examples)[0].startswith('"x"')
    assert apply(dataset, after, on_unfit=on_unfit).planned.blockers == (blocker,)
    assert keys(dataset)["primary_key"] == ["code", "place"]
    refused = plan(dataset, after).blockers[0]
    assert (refused.message, "drop the key first" in refused.hint) == (lost, True)

    free = keyed("bigint", "text", nullable=True, key=False, before=before)
    assert apply(dataset, free, on_unfit=on_unfit, **KEYS).outcome is Outcome.DONE

    assert dataset.sql("SELECT count(*) FROM @.orders WHERE code IS NULL") == [(2,)]
    assert keys(dataset)["primary_key"] == []


def test_values_that_a_required_column_would_lose_are_counted_before_anything_is_done(dataset: Dataset) -> None:
    before = schema_of(ID, column("code", nullable=False))
    make(dataset, before, "(1, '5')", "(2, 'x')")

    report = plan(dataset, schema_of(ID, column("code", "bigint", nullable=False), before=before), on_unfit="expand")

    (blocker,) = report.blockers
    assert blocker.message == "1 value of `orders.code` would not survive, and it cannot contain nulls instead"
    assert blocker.hint == "fix them, or allow nulls in the schema"
    free = schema_of(ID, column("code", "bigint"), before=before)
    assert apply(dataset, free, on_unfit=OnUnfit.EXPAND).outcome is Outcome.DONE
    assert dataset.sql("SELECT code, code__before_1 FROM @.orders ORDER BY id") == [(5, "5"), (None, "x")]


def test_a_key_that_is_renamed_and_retyped_moves_under_its_new_name(dataset: Dataset) -> None:
    before = schema_of(column("code", nullable=False, primary_key=True), column("note"))
    renamed = column("number", "bigint", nullable=False, primary_key=True, **{"x-renamed-from": "code"})
    make(dataset, before, "('7', 'n')")

    assert apply(dataset, schema_of(renamed, column("note"), before=before), on_unfit="expand").outcome is Outcome.DONE

    assert dataset.sql("SELECT number, number__before_1, note FROM @.orders") == [(7, "7", "n")]
    assert keys(dataset)["primary_key"] == ["number"]
    assert undo(dataset, allows_destructive=True).outcome is Outcome.DONE
    assert dataset.sql("SELECT code, note FROM @.orders") == [("7", "n")]
    assert keys(dataset)["primary_key"] == ["code"]
