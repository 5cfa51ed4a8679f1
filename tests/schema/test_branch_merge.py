"""Two branches of a schema: what merges, what conflicts, and the law that merging obeys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.schema.apply import apply
from schemactl.schema.branch_merge import merge_schemas
from schemactl.schema.changes import ABSENT, ColumnsReordered, HeaderChanged
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.schema.validation import check


def column(name, data_type="text", **hints):
    properties = {"data_type": data_type, **hints} if data_type else hints
    return Column(
        name,
        {
            key.replace("x_", "x-", 1).replace("renamed_from", "renamed-from"): value
            for key, value in properties.items()
        },
    )


def table(name, *columns, **properties):
    return Table(name, {item.name: item for item in columns}, {"write_disposition": "append", **properties})


def shop(*tables, **others):
    schema = replace(new_schema("shop"), **others)
    for item in tables:
        schema = schema.with_table(item)
    return bump(schema)


ID, AMOUNT, NOTE = column("id", "bigint"), column("amount", "double"), column("note")
BASE = shop(table("orders", ID, AMOUNT, NOTE))


def with_columns(*columns, base=BASE, name="orders"):
    """Return the next version of a schema in which a table has these columns."""
    items = {item.name: item for item in columns}
    return bump(base.with_table(replace(base.tables[name], columns=items)))


def merged_columns(ours, theirs, base=BASE, name="orders"):
    merged = merge_schemas(base, ours, theirs)
    assert merged.conflicts == ()
    return list(merged.schema.tables[name].columns.values())


def conflicts(ours, theirs, base=BASE):
    """Return the messages of the conflicts, which are the same whichever side wins them."""
    merged = merge_schemas(base, ours, theirs)
    of_theirs = merge_schemas(base, ours, theirs, prefers_theirs=True)
    messages = [conflict.message for conflict in merged.conflicts]
    assert [conflict.message for conflict in of_theirs.conflicts] == messages
    return messages


def test_columns_of_both_sides_are_joined_ours_first():
    first, second = column("city"), column("vip", "bool")
    ours, theirs = with_columns(ID, AMOUNT, NOTE, first), with_columns(ID, AMOUNT, NOTE, second)
    assert merged_columns(ours, theirs) == [ID, AMOUNT, NOTE, first, second]


def test_new_columns_stay_behind_the_columns_that_they_followed():
    first, second, third = column("a"), column("b"), column("c")
    ours, theirs = with_columns(first, ID, AMOUNT, second, NOTE), with_columns(ID, third, AMOUNT, NOTE)
    assert merged_columns(ours, theirs) == [first, ID, third, AMOUNT, second, NOTE]


def test_an_order_of_one_side_holds_for_what_the_other_adds():
    new = column("new")
    ours, theirs = with_columns(NOTE, AMOUNT, ID), with_columns(ID, AMOUNT, new, NOTE)
    assert merged_columns(ours, theirs) == [NOTE, AMOUNT, new, ID]
    assert conflicts(with_columns(NOTE, AMOUNT, ID), with_columns(AMOUNT, ID, NOTE)) == [
        "the columns of `orders` are in one order in ours and in another in theirs"
    ]


def test_properties_of_one_column_are_joined():
    ours = with_columns(ID, column("amount", "decimal", precision=10, scale=2), NOTE)
    theirs = with_columns(ID, column("amount", "double", description="gross"), NOTE)
    assert merged_columns(ours, theirs)[1] == column("amount", "decimal", precision=10, scale=2, description="gross")


def test_one_column_with_two_types_conflicts():
    ours = with_columns(ID, column("amount", "decimal", precision=10, scale=2), NOTE)
    theirs = with_columns(ID, column("amount", "bigint"), NOTE)
    assert conflicts(ours, theirs) == ["`orders.amount` is `decimal(10, 2)` in ours and `bigint` in theirs"]
    assert merge_schemas(BASE, ours, theirs).schema.column("orders", "amount").data_type == "decimal"
    assert (
        merge_schemas(BASE, ours, theirs, prefers_theirs=True).schema.column("orders", "amount").data_type == "bigint"
    )


def test_half_a_type_of_each_side_is_no_type():
    ours = with_columns(ID, column("amount", "double", precision=20), NOTE)
    theirs = with_columns(ID, column("amount", "decimal"), NOTE)
    assert conflicts(ours, theirs) == ["`orders.amount` is `double(20)` in ours and `decimal` in theirs"]


def test_a_new_column_of_both_sides_is_one_column():
    ours = with_columns(ID, AMOUNT, NOTE, column("city", description="of delivery"))
    theirs = with_columns(ID, AMOUNT, NOTE, column("city", unique=True))
    assert merged_columns(ours, theirs)[3] == column("city", description="of delivery", unique=True)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (column("city"), column("city", "bigint"), "`orders.city` is `text` in ours and `bigint` in theirs"),
        (column("city", nullable=False), column("city"),
         "`nullable` of `orders.city` is false in ours and true in theirs"),
        (column("city", description="a"), column("city", description="b"),
         '`description` of `orders.city` is "a" in ours and "b" in theirs'),
    ],
    ids=["type", "nullable", "description"],
)  # fmt: skip
def test_a_new_column_of_both_sides_conflicts_if_it_differs(ours, theirs, message):
    assert conflicts(with_columns(ID, AMOUNT, NOTE, ours), with_columns(ID, AMOUNT, NOTE, theirs)) == [message]


def test_a_column_that_one_side_drops_is_dropped_unless_the_other_changed_it():
    ours = with_columns(ID, AMOUNT)
    assert merged_columns(ours, with_columns(ID, column("amount", "decimal"), NOTE)) == [
        ID,
        column("amount", "decimal"),
    ]
    theirs = with_columns(ID, AMOUNT, column("note", unique=True))
    assert conflicts(ours, theirs) == ["`orders.note` is dropped in ours and changed in theirs"]
    assert conflicts(theirs, ours) == ["`orders.note` is changed in ours and dropped in theirs"]
    assert list(merge_schemas(BASE, ours, theirs).schema.tables["orders"].columns) == ["id", "amount"]
    their_columns = merge_schemas(BASE, ours, theirs, prefers_theirs=True).schema.tables["orders"].columns
    assert list(their_columns) == ["id", "amount", "note"]


def test_a_rename_takes_the_changes_of_the_other_side_along():
    total = column("total", "double", **{"x-renamed-from": "amount"})
    ours = with_columns(ID, total, NOTE)
    theirs = with_columns(ID, column("amount", "decimal"), NOTE, column("city"))
    expected = [ID, column("total", "decimal", **{"x-renamed-from": "amount"}), NOTE, column("city")]
    assert merged_columns(ours, theirs) == merged_columns(theirs, ours) == expected
    assert merge_schemas(BASE, theirs, ours).renames[1] == {("orders", "amount"): "total"}


def test_one_rename_on_both_sides_is_one_rename_and_two_conflict():
    total, gross = (column(name, "double", **{"x-renamed-from": "amount"}) for name in ("total", "gross"))
    assert merged_columns(with_columns(ID, total, NOTE), with_columns(ID, total, NOTE)) == [ID, total, NOTE]
    assert conflicts(with_columns(ID, total, NOTE), with_columns(ID, gross, NOTE)) == [
        "`orders.amount` is renamed to `total` in ours and to `gross` in theirs"
    ]


def test_a_new_name_that_the_other_side_takes_conflicts():
    renamed, new = column("total", "double", **{"x-renamed-from": "amount"}), column("total", "bigint")
    ours, theirs = with_columns(ID, renamed, NOTE), with_columns(ID, AMOUNT, NOTE, new)
    assert conflicts(ours, theirs) == [
        "two columns would be named `orders.total`: `amount`, renamed in ours and a new column in theirs"
    ]
    assert list(merge_schemas(BASE, ours, theirs).schema.tables["orders"].columns) == ["id", "total", "note"]
    of_theirs = merge_schemas(BASE, ours, theirs, prefers_theirs=True).schema
    assert list(of_theirs.tables["orders"].columns.values()) == [ID, AMOUNT, NOTE, new]


def test_columns_that_swap_names_are_followed():
    ours = with_columns(
        ID,
        column("note", "double", **{"x-renamed-from": "amount"}),
        column("amount", **{"x-renamed-from": "note"}),
    )
    theirs = with_columns(ID, AMOUNT, column("note", unique=True))
    assert merged_columns(ours, theirs)[2] == column("amount", unique=True, **{"x-renamed-from": "note"})


def test_tables_of_both_sides_are_joined_and_dropped_ones_go():
    base = shop(table("orders", ID), table("old", ID))
    ours = shop(table("orders", ID), table("old", ID), table("carts", ID))
    theirs = shop(table("orders", ID), table("stores", ID))
    merged = merge_schemas(base, ours, theirs)
    assert merged.conflicts == ()
    assert set(merged.schema.tables) - set(new_schema("shop").tables) == {"orders", "carts", "stores"}


NESTED = shop(table("orders", ID), Table("orders__lines", {"id": ID}, {"parent": "orders"}))


def test_a_nested_table_of_the_other_side_follows_its_renamed_parent():
    ours = shop(
        table("sales", ID, **{"x-renamed-from": "orders"}), Table("orders__lines", {"id": ID}, {"parent": "sales"})
    )
    theirs = NESTED.with_table(Table("orders__tags", {"tag": NOTE}, {"parent": "orders"}))
    merged = merge_schemas(NESTED, ours, theirs)
    assert merged.conflicts == ()
    assert {name: item.parent for name, item in merged.schema.tables.items() if item.parent} == {
        "orders__lines": "sales",
        "orders__tags": "sales",
    }


REFERENCE = {"columns": ["id"], "referenced_table": "orders", "referenced_columns": ["id"]}


@pytest.mark.parametrize(
    "theirs",
    [
        NESTED.with_table(Table("orders__lines", {"id": ID, "note": NOTE}, {"parent": "orders"})),
        NESTED.with_table(Table("orders__tags", {"tag": NOTE}, {"parent": "orders"})),
        NESTED.with_table(table("returns", ID, references=[REFERENCE])),
    ],
    ids=["changed nested table", "new nested table", "new reference"],
)  # fmt: skip
def test_a_dropped_table_conflicts_with_a_change_that_needs_it(theirs):
    ours = shop()
    assert "`orders` is dropped in ours and changed in theirs" in conflicts(ours, theirs, NESTED)
    for prefers_theirs in (False, True):
        merged = merge_schemas(NESTED, ours, theirs, prefers_theirs=prefers_theirs).schema
        assert not list(check(merged.to_dict()))
        assert all(item.parent is None or item.parent in merged.tables for item in merged.tables.values())


def test_changes_that_are_valid_alone_and_not_together_conflict():
    base = shop(table("a", ID), table("b", ID))
    ours = base.with_table(Table("a", {"id": ID}, {"parent": "b"}))
    theirs = base.with_table(Table("b", {"id": ID}, {"parent": "a"}))
    assert conflicts(ours, theirs, base) == [
        "both changes together are no valid schema: the table `a` is nested in itself: `a` in `b` in `a`"
    ]


def test_lists_of_names_are_joined_item_by_item():
    base, ours, theirs = (shop(table("orders", column("state", **{"x-enum": values}))) for values in (
        ["new", "open", "closed"], ["new", "open", "paid", "closed"], ["open", "closed", "lost"],
    ))  # fmt: skip
    (state,) = merged_columns(ours, theirs, base)
    assert state.properties["x-enum"] == ["open", "paid", "closed", "lost"]


def test_settings_are_joined_by_key_and_conflict_by_key():
    def stating(**settings):
        return replace(BASE, settings={**BASE.settings, **settings})

    ours = stating(schema_contract={"tables": "freeze"}, detections=["iso_timestamp"])
    theirs = stating(schema_contract={"columns": "freeze"})
    merged = merge_schemas(BASE, ours, theirs)
    assert merged.conflicts == ()
    assert merged.schema.settings["schema_contract"] == {"tables": "freeze", "columns": "freeze"}
    (conflict,) = merge_schemas(BASE, ours, stating(schema_contract={"tables": "evolve"})).conflicts
    assert conflict.message == '`tables` of `settings.schema_contract` is "freeze" in ours and "evolve" in theirs'
    assert (conflict.base, conflict.ours, conflict.theirs) == (ABSENT, "freeze", "evolve")


def test_the_ancestors_are_those_of_both_and_the_version_is_the_next():
    first = with_columns(ID, AMOUNT, NOTE, column("a"))
    ours = with_columns(ID, AMOUNT, NOTE, column("a"), column("b"), base=first)
    theirs = with_columns(ID, AMOUNT, NOTE, column("c"))
    merged = merge_schemas(BASE, ours, theirs).schema
    assert merged.version_hash == version_hash(merged)
    assert merged.version == ours.version + 1
    assert merged.previous_hashes[:4] == (ours.version_hash, theirs.version_hash, first.version_hash, BASE.version_hash)
    assert len(merged.previous_hashes) == len(set(merged.previous_hashes)) <= 10


def test_content_of_one_side_keeps_its_version_and_hash():
    theirs = with_columns(ID, AMOUNT, NOTE, column("c"))
    merged = merge_schemas(BASE, BASE, theirs).schema
    assert (merged.version, merged.version_hash) == (theirs.version, theirs.version_hash)
    assert merged.version_hash not in merged.previous_hashes


def test_a_schema_that_both_sides_added_is_merged_without_a_base():
    ours, theirs = shop(table("orders", ID)), shop(table("orders", ID, NOTE), table("carts", ID))
    merged = merge_schemas(None, ours, theirs)
    assert merged.conflicts == ()
    assert list(merged.schema.tables["orders"].columns) == ["id", "note"]
    assert "carts" in merged.schema.tables


NAMES = ("id", "amount", "note", "city", "vip")
column_hints = st.fixed_dictionaries(
    {"data_type": st.sampled_from(("text", "bigint", "double"))},
    optional={
        "nullable": st.booleans(),
        "unique": st.booleans(),
        "description": st.sampled_from(("a", "b")),
        "precision": st.integers(1, 3),
    },
)
table_names = st.sampled_from(("orders", "carts", "stores"))


@st.composite
def branches(draw):
    """Draw the schema at which two branches parted, and both branches, each some edits later."""
    base = new_schema("shop")
    for name in draw(st.sets(table_names, min_size=1)):
        base = base.with_table(_drawn_table(draw, name))
    base = bump(base)
    return base, draw(edited(base)), draw(edited(base))


def _drawn_table(draw, name):
    columns = draw(st.dictionaries(st.sampled_from(NAMES), column_hints, min_size=1))
    return table(name, *(Column(key, hints) for key, hints in columns.items()))


@st.composite
def edited(draw, base):
    schema = base
    for _ in range(draw(st.integers(1, 4))):
        name = draw(table_names)
        if name not in schema.tables:
            schema = schema.with_table(_drawn_table(draw, name))
            continue
        action = draw(st.sampled_from(("column", "column", "property", "drop column", "drop")))
        changed, key = schema.tables[name], draw(st.sampled_from(NAMES))
        if action == "drop":
            schema = replace(schema, tables={key: item for key, item in schema.tables.items() if key != name})
        elif action == "property":
            disposition = draw(st.sampled_from(("replace", "merge")))
            schema = schema.with_table(
                replace(changed, properties={**changed.properties, "write_disposition": disposition})
            )
        elif action == "drop column":
            columns = {old: item for old, item in changed.columns.items() if old != key}
            schema = schema.with_table(replace(changed, columns=columns))
        else:
            schema = schema.with_table(
                replace(changed, columns={**changed.columns, key: Column(key, draw(column_hints))})
            )
    return bump(schema)


def content(schema):
    """Return the content of a schema in which the order of tables and columns has no meaning."""
    stored = schema.to_dict()
    return {key: value for key, value in stored.items() if key not in ("version", "version_hash", "previous_hashes")}


def applied(schema, changes, other_changes):
    """Return a schema with the changes that the other side did not make as well; None if they do not apply."""
    single = [
        change
        for change in changes
        if change not in other_changes and not isinstance(change, (HeaderChanged, ColumnsReordered))
    ]
    try:
        return content(apply(schema, single))
    except KeyError:
        return None


@given(branches())
def test_merging_is_applying_both_changes_in_either_order_or_conflicts(drawn):
    base, ours, theirs = drawn
    merged = merge_schemas(base, ours, theirs)
    our_changes, their_changes = (diff(base, side, guess_renames=False) for side in (ours, theirs))
    in_either_order = [
        applied(ours, their_changes, our_changes),
        applied(theirs, our_changes, their_changes),
    ]
    if not merged.conflicts and not _share_a_new_name(base, ours, theirs):
        assert in_either_order == [content(merged.schema)] * 2
    assert not list(check(merged.schema.to_dict()))


def _share_a_new_name(base, ours, theirs):
    """Return whether both sides added one table or column: their hints are joined, which no change says."""
    for name in {*ours.tables} & {*theirs.tables}:
        earlier = base.tables.get(name)
        shared = {*ours.tables[name].columns} & {*theirs.tables[name].columns}
        if earlier is None or shared - {*earlier.columns}:
            return True
    return False


@given(branches())
def test_the_sides_can_be_exchanged(drawn):
    base, ours, theirs = drawn
    forth, back = merge_schemas(base, ours, theirs), merge_schemas(base, theirs, ours)
    assert bool(forth.conflicts) == bool(back.conflicts)
    assert content(forth.schema) == content(merge_schemas(base, theirs, ours, prefers_theirs=True).schema)
    if not forth.conflicts:
        assert content(forth.schema) == content(back.schema)


@given(branches())
def test_a_side_without_changes_leaves_the_other_as_it_is(drawn):
    base, ours, _ = drawn
    for merged in (merge_schemas(base, ours, base), merge_schemas(base, base, ours), merge_schemas(base, ours, ours)):
        assert merged.conflicts == ()
        assert merged.schema.version_hash == ours.version_hash


@given(branches())
def test_columns_with_new_names_are_followed(drawn):
    base, _, theirs = drawn
    renamed = bump(
        replace(
            base,
            tables={
                name: replace(
                    item,
                    columns={
                        f"new_{key}": Column(f"new_{key}", {**value.properties, "x-renamed-from": key})
                        for key, value in item.columns.items()
                    },
                )
                if not name.startswith("_dlt")
                else item
                for name, item in base.tables.items()
            },
        )
    )
    merged = merge_schemas(base, renamed, theirs)
    dropped = {name for name in base.tables if name not in theirs.tables} | {
        name
        for name, item in base.tables.items()
        if name in theirs.tables and {*item.columns} - {*theirs.tables[name].columns}
    }
    if dropped:
        assert merged.conflicts
    else:
        assert merged.conflicts == ()
        changes = diff(base, renamed, guess_renames=False)
        assert content(merged.schema) == applied(theirs, changes, ())
