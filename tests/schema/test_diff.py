from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schema_parts import column, table

from schemactl.schema.apply import apply
from schemactl.schema.changes import (
    ABSENT,
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
)
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

TABLES = ("orders", "orders__items", "orders__items__tags", "sales", "sales__items", "sales__items__tags", "_dlt_loads")
COLUMNS = ("id", "cust_id", "customer_id", "createdAt", "created_at", "note", "notes", "_dlt_id")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
leaves = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False, width=16) | texts
)
free_form = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
flags = st.sampled_from((True, False, 1, 0, 1.0, None))


def mappings(**optional):
    return st.fixed_dictionaries({}, optional={name.replace("x_", "x-"): values for name, values in optional.items()})


def origins(names):
    return {"x-renamed-from": st.sampled_from(names) | st.lists(st.sampled_from(names), max_size=2) | free_form}


properties = st.fixed_dictionaries(
    {},
    optional={
        "data_type": st.sampled_from(("text", "text", "bigint", None)),
        "precision": flags | st.integers(1, 3),
        "timezone": flags,
        "nullable": flags,
        "unique": flags,
        "description": texts,
        "x-note": free_form,
        **origins(COLUMNS),
    },
)
columns = st.dictionaries(st.sampled_from(COLUMNS), properties, max_size=6).map(
    lambda found: {name: Column(name, stated) for name, stated in found.items()}
)
table_properties = st.fixed_dictionaries(
    {},
    optional={
        "parent": st.sampled_from((*TABLES, None)),
        "write_disposition": st.sampled_from(("append", "merge")),
        "x-normalizer": free_form,
        **origins(TABLES),
    },
)
tables = st.dictionaries(st.sampled_from(TABLES), st.tuples(columns, table_properties), max_size=5).map(
    lambda found: {name: Table(name, *parts) for name, parts in found.items()}
)
schemas = st.builds(
    Schema,
    name=st.sampled_from(("shop", "store")),
    version=st.integers(1, 3),
    version_hash=st.sampled_from(("", "a", "b")),
    tables=tables,
    settings=mappings(detections=free_form, schema_contract=free_form),
    normalizers=mappings(names=texts, json=free_form),
    previous_hashes=st.lists(texts, max_size=2).map(tuple),
    imported_version_hash=st.none() | st.sampled_from(("", "i")),
    description=st.none() | texts,
    extensions=mappings(x_owner=free_form, x_note=free_form),
    engine_version=st.sampled_from((10, 11)),
)


@st.composite
def edited(draw):
    """Draw a schema, and the same with some tables dropped, taken from another one, or with another one's columns."""
    base, other = draw(schemas), draw(schemas)
    made = {}
    for name, base_table in base.tables.items():
        fate = draw(st.sampled_from(("keep", "keep", "drop", "merge", "turn")))
        if fate == "merge" and name in other.tables:
            made[name] = replace(base_table, columns={**base_table.columns, **other.tables[name].columns})
        elif fate == "turn":
            made[name] = replace(base_table, columns=dict(reversed(base_table.columns.items())))
        elif fate != "drop":
            made[name] = base_table
    added = {name: table for name, table in other.tables.items() if name not in base.tables and draw(st.booleans())}
    return base, replace(base, tables={**added, **made})


def assert_leads(before, after, **options):
    changes = diff(before, after, **options)
    made = apply(before, changes)
    assert made == after
    assert {name: [*table.columns] for name, table in made.tables.items()} == {
        name: [*table.columns] for name, table in after.tables.items()
    }
    assert version_hash(made) == version_hash(after)
    return changes


@settings(suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.booleans(), st.booleans())
def test_changes_lead_from_any_schema_to_any_other(before, after, is_guessing, heeds_moves):
    assert_leads(before, after, guess_renames=is_guessing, heeds_moves=heeds_moves)


@settings(suppress_health_check=list(HealthCheck))
@given(edited())
def test_changes_lead_to_an_edited_schema_and_back_and_there_are_none_in_the_same_schema(pair):
    before, after = pair
    assert diff(before, before) == diff(before, deepcopy(before)) == ()
    assert_leads(before, after, heeds_moves=True)
    assert_leads(after, before)


def shop(*found, **others):
    return Schema(name="shop", tables={table.name: table for table in found}, **others)


def of_columns(before, after):
    """Return the changes of a table with these columns."""
    return assert_leads(shop(table("orders", *before)), shop(table("orders", *after)))


def test_a_type_changes_as_a_whole():
    before = column("price", "decimal", precision=38, scale=9)
    after = column("price", "decimal", precision=10, scale=None)
    assert of_columns([before], [after]) == (
        ColumnRetyped("orders", "price", before.properties, {"data_type": "decimal", "precision": 10, "scale": None}),
    )


def test_a_type_that_is_taken_back_leaves_an_incomplete_column():
    (change,) = of_columns([column("price", "bigint", unique=True)], [Column("price", {"unique": True})])
    assert change == ColumnRetyped("orders", "price", {"data_type": "bigint"}, {})


@pytest.mark.parametrize(
    ("before", "after", "is_restated"),
    [(ABSENT, True, True), (None, True, True), (ABSENT, None, True), (True, False, False), (False, ABSENT, False)],
)
def test_nullable_reports_meaning_from_wording(before, after, is_restated):
    def stating(nullable):
        return column("note") if nullable is ABSENT else column("note", nullable=nullable)

    (change,) = of_columns([stating(before)], [stating(after)])
    assert change == NullabilityChanged("orders", "note", before, after)
    assert change.is_restated == is_restated


@pytest.mark.parametrize(
    ("before", "after"),
    [(True, 1), (1, 1.0), (0.0, -0.0), ([True], [1]), ({"a": 0}, {"a": False}), ({1: "a"}, {True: "a"}), ((1,), [1])],
)
def test_values_that_python_takes_for_equal_differ(before, after):
    (change,) = of_columns([column("note", **{"x-a": before})], [column("note", **{"x-a": after})])
    assert isinstance(change, ColumnPropertyChanged)
    assert (repr(change.before), repr(change.after)) == (repr(before), repr(after))


def test_a_null_is_stated():
    changes = of_columns([column("note", unique=None)], [column("note", **{"x-a": None})])
    assert changes == (
        ColumnPropertyChanged("orders", "note", "unique", None, ABSENT),
        ColumnPropertyChanged("orders", "note", "x-a", ABSENT, None),
    )


def test_order_is_reported_only_where_the_other_changes_leave_another_one():
    id_, note, price = column("id", "bigint"), column("note"), column("price", "double")
    assert of_columns([id_, note], [id_, note, price]) == (ColumnAdded("orders", price),)
    assert of_columns([id_, note, price], [id_, price]) == (ColumnRemoved("orders", note),)
    assert of_columns([id_, note], [id_, price, note]) == (
        ColumnAdded("orders", price),
        ColumnsReordered("orders", ("id", "note", "price"), ("id", "price", "note")),
    )


def test_the_order_of_keys_and_tables_is_no_change():
    first, second = table("a", column("x", unique=True)), table("b", column("y"))
    turned = replace(first, columns={"x": Column("x", {"unique": True, "data_type": "text"})})
    assert diff(shop(first, second), shop(second, turned)) == ()


def test_changes_come_in_the_order_in_which_they_apply():
    before = shop(
        table("b", column("x")),
        table("gone", column("other", "json")),
        table("clients", column("cust_id", "bigint"), column("y"), column("z", "date")),
        settings={"detections": []},
        normalizers={"names": "direct"},
    )
    after = shop(
        table("a", column("q", "binary")),
        table("b", column("x", "bigint"), description="b"),
        table(
            "buyers",
            column("customer_id", "bigint", nullable=False),
            column("w", "time"),
            column("y"),
            **{"x-renamed-from": "clients"},
        ),
        description="a shop",
        settings={"detections": ["timestamp"]},
        normalizers={"names": "snake_case"},
    )
    assert [type(change) for change in assert_leads(before, after)] == [
        HeaderChanged,
        SettingChanged,
        NormalizerChanged,
        TableRenamed,
        TableAdded,
        TablePropertyChanged,
        ColumnRetyped,
        TableRemoved,
        TablePropertyChanged,
        ColumnRenamed,
        ColumnRemoved,
        ColumnAdded,
        NullabilityChanged,
        ColumnsReordered,
    ]


def test_a_bump_changes_the_header_only():
    before = bump(new_schema("shop"))
    after = bump(before.with_table(table("orders", column("id"))))
    header = [change for change in assert_leads(before, after) if isinstance(change, HeaderChanged)]
    assert header == [
        HeaderChanged("previous_hashes", [], [before.version_hash]),
        HeaderChanged("version", 1, 2),
        HeaderChanged("version_hash", before.version_hash, after.version_hash),
    ]


def test_what_the_header_does_not_state_is_absent():
    before = shop(extensions={"x-owner": "sales"})
    after = shop(version_hash="h", imported_version_hash="i", description="")
    assert assert_leads(before, after) == (
        HeaderChanged("description", ABSENT, ""),
        HeaderChanged("imported_version_hash", ABSENT, "i"),
        HeaderChanged("version_hash", ABSENT, "h"),
        HeaderChanged("x-owner", "sales", ABSENT),
    )


def test_a_new_variant_is_a_new_column():
    value, variant = column("value", "bigint"), column("value__v_text", variant=True)
    assert of_columns([value], [value, variant]) == (ColumnAdded("orders", variant),)
    assert of_columns([value], [variant]) == (ColumnRemoved("orders", value), ColumnAdded("orders", variant))


def test_a_table_that_turns_nested_keeps_its_name():
    lines = table("lines", column("id"))
    nested = replace(lines, properties={"parent": "orders"})
    orders = table("orders", column("a"))
    assert assert_leads(shop(orders, lines), shop(orders, nested)) == (
        TablePropertyChanged("lines", "parent", ABSENT, "orders"),
    )
