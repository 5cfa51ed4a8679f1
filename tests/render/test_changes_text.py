from __future__ import annotations

from typing import Any, get_args

import pyarrow as pa
import pytest
import review_samples

from schemactl.render.changes import describe, what_changed
from schemactl.review.rule import place_of
from schemactl.schema.arrow_hint import NESTED_TYPE, encode
from schemactl.schema.changes import (
    ABSENT,
    Change,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    HeaderChanged,
    NormalizerChanged,
    NullabilityChanged,
    SettingChanged,
    TableAdded,
    TablePropertyChanged,
    TableRemoved,
    TableRenamed,
    VariantFolded,
)
from schemactl.schema.types import Column, Table
from schemactl.schema.wording import describe_column, describe_type, show_value

ID = Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True, "unique": False})
TABLE = Table("t", {"id": ID})
CASES: list[tuple[Change, tuple[str | None, str | None], str]] = [
    (HeaderChanged("version", 1, 2), (None, None), "`version`: 1 -> 2"),
    (SettingChanged("detections", ABSENT, ["iso"]), (None, None), 'setting `detections` added: ["iso"]'),
    (NormalizerChanged("names", "direct", ABSENT), (None, None), 'normalizer `names` removed (was "direct")'),
    (TableRenamed("s", "t"), ("t", None), "table renamed from `s` (a guess)"),
    (TableRenamed("s", "t", is_stated=True), ("t", None), "table renamed from `s` (declared)"),
    (TableRenamed("s", "t", follows_parent=True), ("t", None), "table renamed from `s`, as its parent was"),
    (TableRemoved(TABLE), ("t", None), "table removed, 1 column"),
    (TableAdded(Table("t")), ("t", None), "new table, 0 columns"),
    (TablePropertyChanged("t", "parent", "a", None), ("t", None), '`parent`: "a" -> null'),
    (ColumnRenamed("t", "a", "b"), ("t", "b"), "column renamed from `a` (a guess)"),
    (ColumnRemoved("t", ID), ("t", "id"), "column removed, was bigint, not null, primary_key"),
    (VariantFolded("t", ID, "k"), ("t", "id"), "variant folded into `k`, was bigint, not null, primary_key"),
    (ColumnAdded("t", Column("n")), ("t", "n"), "new column, no type"),
    (ColumnRetyped("t", "c", {"data_type": "text"}, {"data_type": "text", "precision": 9}), ("t", "c"),
     "type text -> text(9)"),
    (ColumnRetyped("t", "c", {"data_type": "text"}, {"data_type": "text", "precision": None}), ("t", "c"),
     'type rewritten: {"data_type": "text"} -> {"data_type": "text", "precision": null}'),
    (NullabilityChanged("t", "c", ABSENT, False), ("t", "c"), "now required"),
    (NullabilityChanged("t", "c", False, ABSENT), ("t", "c"), "now nullable"),
    (NullabilityChanged("t", "c", ABSENT, True), ("t", "c"), "still nullable (`nullable: true` added)"),
    (NullabilityChanged("t", "c", True, ABSENT), ("t", "c"), "still nullable (`nullable: true` removed)"),
    (NullabilityChanged("t", "c", None, True), ("t", "c"), "still nullable (`nullable`: null -> true)"),
    (ColumnPropertyChanged("t", "c", "x-a", {"b": 1}, 2), ("t", "c"), '`x-a`: {"b": 1} -> 2'),
    (ColumnsReordered("t", ("a", "b"), ("b", "a")), ("t", None), "columns reordered: `b`, `a`"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "where", "words"), CASES, ids=lambda each: type(each).__name__)
def test_change_is_reported_in_plain_words(change: Change, where: tuple[str | None, str | None], words: str) -> None:
    assert place_of(change) == where
    assert describe(change) == words


def test_every_kind_of_change_is_among_the_cases_and_the_samples() -> None:
    assert {type(change) for change, _, _ in CASES} == set(get_args(Change))
    for report in (review_samples.broken(), review_samples.hostile()):
        assert {type(change) for review in report.reviews for change in review.changes} == set(get_args(Change))


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"data_type": "decimal", "precision": 10, "scale": 2}, "decimal(10, 2)"),
        ({"data_type": "decimal", "scale": 2}, "decimal(scale 2)"),
        ({"data_type": "decimal", "precision": 10, "scale": 0}, "decimal(10, 0)"),
        ({"data_type": "timestamp", "timezone": False}, "timestamp without time zone"),
        ({"data_type": "timestamp", "precision": 6, "timezone": False}, "timestamp(6) without time zone"),
        ({"data_type": "timestamp", "precision": 6}, "timestamp(6)"),
        ({"data_type": "timestamp", "precision": 3, "timezone": True}, "timestamp(3) with time zone"),
        ({}, "no type"),
    ],
)
def test_type_is_reported_with_what_narrows_it(properties: dict[str, Any], words: str) -> None:
    assert describe_type(properties) == words


def test_column_is_reported_with_hints_that_say_yes() -> None:
    column = Column("c", {"data_type": "text", "nullable": True, "unique": True, "x-pii": True, "sort": False})

    assert describe_column(column) == "text, unique, x-pii"


def test_a_type_that_dlt_states_is_readable() -> None:
    integers, texts = (encode(pa.list_(of)) for of in (pa.int64(), pa.string()))
    column = Column("c", {"data_type": "json", "nullable": False, NESTED_TYPE: integers})
    assert describe_column(column) == "json as `list<item: int64>`, not null"
    changed = ColumnPropertyChanged("t", "c", NESTED_TYPE, integers, texts)
    assert describe(changed) == '`x-nested-type`: "list<item: int64>" -> "list<item: string>"'


def test_long_values_and_orders_are_cut() -> None:
    assert len(show_value("x" * 10_000)) < 100
    assert show_value("x" * 10_000).endswith("…")
    names = tuple(map(str, range(500)))
    assert describe(ColumnsReordered("t", names, names[::-1])).endswith("`488` and 488 more")


def test_cosmetic_changes_are_reported_by_what_they_are_about() -> None:
    assert what_changed(ColumnPropertyChanged("t", "c", "description", "a", "b")) == "`description`"
    assert what_changed(NullabilityChanged("t", "c", ABSENT, True)) == "the wording of `nullable`"
    assert what_changed(ColumnsReordered("t", ("a", "b"), ("b", "a"))) == "the order of columns"


def test_of_a_large_value_only_what_differs_is_reported() -> None:
    before = {"not_null": ["_dlt_id", "re:^_dlt_load_id$"], "unique": ["_dlt_id"], "primary_key": ["id"]}
    after = {"not_null": ["_dlt_id", "re:^id$", "_dlt_list_idx"], "unique": ["_dlt_id"]}

    assert describe(SettingChanged("default_hints", before, after)) == (
        'setting `default_hints`: `not_null[1]`: "re:^_dlt_load_id$" -> "re:^id$"; '
        '`not_null[2]` added: "_dlt_list_idx"; `primary_key` removed (was ["id"])'
    )


def test_a_value_that_became_another_kind_is_reported_whole() -> None:
    assert describe(SettingChanged("schema_contract", {"columns": "freeze"}, ["evolve"])) == (
        'setting `schema_contract`: {"columns": "freeze"} -> ["evolve"]'
    )


def test_a_type_that_only_a_database_has_is_reported() -> None:
    point = Column("at", {"x-database-type": "GEOMETRY"})

    assert describe(ColumnAdded("places", point)) == "new column, GEOMETRY"
