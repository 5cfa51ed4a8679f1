from __future__ import annotations

import random
from dataclasses import replace

import pytest
from growth import LINEAR, growth
from hypothesis import given, settings
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
    TableAdded,
    TablePropertyChanged,
    TableRemoved,
    TableRenamed,
)
from schemactl.schema.diff import diff
from schemactl.schema.likeness import name_likeness
from schemactl.schema.types import Column, Schema

RENAMED_FROM = "x-renamed-from"


def came_from(column, *origins):
    stated = origins[0] if len(origins) == 1 else list(origins)
    return replace(column, properties={**column.properties, RENAMED_FROM: stated})


def shop(*tables):
    return Schema(name="shop", tables={table.name: table for table in tables})


def changes_of(before, after, **options):
    changes = diff(before, after, **options)
    assert apply(before, changes) == after
    return changes


def of_columns(before, after, **options):
    """Return the changes of a table with these columns."""
    return changes_of(shop(table("orders", *before)), shop(table("orders", *after)), **options)


def renames(changes):
    return {change.before: change.after for change in changes if isinstance(change, (ColumnRenamed, TableRenamed))}


# Columns, stated


def test_a_stated_rename_needs_no_likeness():
    changes = of_columns([column("a")], [came_from(column("total", "double"), "a")])
    assert changes == (
        ColumnRenamed("orders", "a", "total", is_stated=True),
        ColumnRetyped("orders", "total", {"data_type": "text"}, {"data_type": "double"}),
        ColumnPropertyChanged("orders", "total", RENAMED_FROM, ABSENT, "a"),
    )


def test_the_first_of_the_stated_names_that_is_gone_counts():
    after = [column("kept"), came_from(column("total"), "never", "kept", "a", "b")]
    changes = of_columns([column("kept"), column("a", "json"), column("b", "json")], after)
    assert renames(changes) == {"a": "total"}
    assert ColumnRemoved("orders", column("b", "json")) in changes


def test_the_first_of_two_that_state_one_origin_counts():
    changes = of_columns([column("a", "json")], [came_from(column("x"), "a"), came_from(column("y"), "a")])
    assert renames(changes) == {"a": "x"}


def test_the_second_claim_falls_back_on_its_other_names():
    after = [came_from(column("x"), "a"), came_from(column("y"), "a", "b")]
    assert renames(of_columns([column("a"), column("b")], after)) == {"a": "x", "b": "y"}


def test_a_statement_that_was_made_good_before_renames_nothing():
    done = came_from(column("total"), "a")
    assert renames(of_columns([done, column("a")], [done])) == {}
    assert renames(of_columns([column("a"), column("total")], [came_from(column("total"), "a")])) == {}


def test_names_that_move_on_in_a_chain_are_followed_where_they_are_new():
    before = [column("a", "json"), column("b", "date")]
    after = [came_from(column("b", "json"), "a"), came_from(column("c", "date"), "b")]
    # `b` is on both sides, so nothing says that it is another column now.
    assert renames(of_columns(before, after)) == {}


@pytest.mark.parametrize(
    "origins",
    [
        {"a": "b", "b": "a"},
        {"b": "a", "c": "b"},
        {"a": "c", "b": "a", "c": "b"},
        {"b": "a"},
        {"b": "a", "d": "b", "a": "c"},
    ],
)
def test_columns_that_take_names_of_each_other_are_followed_where_that_is_asked_for(origins):
    kinds = {"a": "json", "b": "date", "c": "time"}
    before = [column(name, kind) for name, kind in kinds.items()]
    kept = [column(name, kind) for name, kind in kinds.items() if name not in {*origins, *origins.values()}]
    after = [*kept, *(came_from(column(name, kinds[origin]), origin) for name, origin in origins.items())]

    changes = of_columns(before, after, heeds_moves=True)

    assert renames(changes) == {origin: name for name, origin in origins.items()}
    assert not [change for change in changes if isinstance(change, (ColumnRetyped, ColumnAdded))]
    # What is stated on both sides is history.
    assert renames(of_columns(after, [*after, column("z")], heeds_moves=True)) == {}


@pytest.mark.parametrize("stated", [None, 1, {"a": "b"}, [], [None, ["a"]]])
def test_a_statement_that_names_nothing_is_passed_over(stated):
    after = replace(column("total"), properties={"data_type": "double", RENAMED_FROM: stated})
    assert renames(of_columns([column("a")], [after])) == {}


# Columns, guessed

FRAME = (column("first", "json"), column("last", "json"))


def guessed(before, after):
    """Return the guesses for columns between two that stay."""
    first, last = FRAME
    return renames(of_columns([first, *before, last], [first, *after, last]))


@pytest.mark.parametrize(("before", "after"), [
    ("customer_email", "email_of_customer"), ("cust_id", "customer_id"), ("createdAt", "created_at"),
    ("HTTPStatus", "http_status"), ("item_count", "items_count"), ("color", "colour"), ("email", "email_address"),
    ("created", "created_at"), ("addr_line", "address_line"), ("category_id", "categories_id"),
    ("organisation", "organization"), ("qty", "quantity"), ("canceled_at", "cancelled_at"), ("straße_nr", "strasse_nr"),
    ("customername", "customer_name"), ("line1", "line_1"), ("sales_01", "sales_1"),
    ("address2_line", "address_2_line"), ("utf8_text", "text_utf8"),
    # one letter more or less, or two swapped
    ("recieved_at", "received_at"), ("recieved", "received"), ("reciept_no", "receipt_no"), ("lenght", "length"),
    ("statsu", "status"), ("amout", "amount"), ("ammount", "amount"), ("adress", "address"), ("addres", "address"),
    ("email_adress", "email_address"), ("custmer_id", "customer_id"), ("cutsomer_name", "customer_name"),
    ("quantiy", "quantity"), ("invoce_number", "invoice_number"), ("deparment", "department"), ("proces", "process"),
    ("contry_code", "country_code"), ("custmers", "customers"), ("delivry_2_date", "delivery_2_date"),
    # two letters swapped that are no neighbors, or one in another place
    ("relavent_at", "relevant_at"), ("intergation", "integration"), ("remenant", "remanent"),
    ("custoerm_id", "customer_id"), ("recveied_at", "received_at"), ("categroy_id", "category_id"),
    ("dsecription", "description"), ("qunatity", "quantity"), ("pyament_no", "payment_no"), ("shippment", "shipment"),
    ("occured_at", "occurred_at"), ("succesful", "successful"), ("enviroment", "environment"),
    ("tempature", "temprature"), ("adminstrator", "administrator"), ("lattitude", "latitude"),
    ("accomodation", "accommodation"), ("transacton_id", "transaction_id"), ("discountt", "discount"),
    ("maintenence_prefered", "maintenence_preferred"),
])  # fmt: skip
def test_names_that_are_alike(before, after):
    assert guessed([column(before)], [column(after)]) == {before: after}
    assert guessed([column(after)], [column(before)]) == {after: before}


@pytest.mark.parametrize("before", ["customer_email", "cust_id", "createdAt"])
def test_a_renamed_column_may_come_last(before):
    after = {"customer_email": "email_of_customer", "cust_id": "customer_id", "createdAt": "created_at"}[before]
    changes = of_columns([column(before), *FRAME], [*FRAME, column(after)])
    assert renames(changes) == {before: after}


@pytest.mark.parametrize(("before", "after"), [
    ("id", "name"), ("first_name", "last_name"), ("created_at", "updated_at"),
    ("billing_address_city", "shipping_address_city"), ("line_1", "line_2"),
    # what counts: quarters, versions, years, percentiles, sizes, indexes, bits
    ("sales_q1", "sales_q2"), ("q1_sales", "q2_sales"), ("price_v1", "price_v2"), ("price_v1", "price_v10"),
    ("revenue_2023", "revenue_2024"), ("p50", "p95"), ("latency_p99", "latency_p999"), ("size_10", "size_12"),
    ("address_1", "address_2"), ("address", "address_1"), ("address1", "address2"), ("top_10_rank", "top_100_rank"),
    ("sha256", "sha512"), ("a1_b2", "a2_b1"), ("sales_q1_2", "sales_q12"), ("recieved_1_at", "received_2_at"),
    ("phase_i", "phase_ii"), ("phase_ii", "phase_iii"), ("phase_i", "phase_v"), ("plan_a", "plan_b"),
    # words that a slip makes of each other
    ("contact_id", "contract_id"), ("contacts", "contracts"), ("trial_end", "trail_end"), ("action_id", "auction_id"),
    ("filed_at", "field_at"), ("altitude", "latitude"), ("external_id", "eternal_id"), ("coast_km", "coats_km"),
    ("needles", "needless"), ("reserved_at", "reversed_at"), ("restored_at", "resorted_at"),
    ("conversation_id", "conservation_id"), ("intended_for", "indented_for"), ("expected", "excepted"),
    ("resource", "recourse"), ("planet", "platen"), ("sorted", "stored"),
    # what counts, in other words
    ("sales_h1", "sales_h2"), ("sales_2023q1", "sales_2023q2"), ("fy23_total", "fy24_total"), ("avg_7d", "avg_28d"),
    ("cpu_32", "cpu_64"), ("rate_1h", "rate_24h"), ("img_128x128", "img_256x256"), ("size_s", "size_m"),
    ("size_xl", "size_xxl"), ("level_1_name", "level_2_name"), ("week_01", "week_10"),
    ("model_v2_score", "model_v3_score"), ("percentile_25", "percentile_75"), ("pm2_5", "pm10"),
    ("utm_zone_31", "utm_zone_32"),
    # other forms of a word, and words too short
    ("close_price", "closed_price"), ("driver_id", "drive_id"), ("drivers", "drives"), ("payed_by", "payer_by"),
    ("status", "stats"), ("cost", "cots"), ("band", "brand"), ("weight", "height"), ("ab12", "ba12"),
    ("is_valid", "is_invalid"), ("is_active", "is_not_active"), ("price_usd", "price_eur"),
    ("tax_included", "tax_excluded"), ("start_date", "end_date"), ("latitude", "longitude"), ("email", "email_hash"),
    ("email", "emailhash"), ("external_id", "external_ids_count"), ("country_code", "county_code"),
    ("form_id", "from_id"), ("user", "username"), ("part_id", "partner_id"), ("order_date", "order_state"),
    ("total", "total_net"), ("name", "name_normalized"), ("updated_at", "updated_by"), ("phone", "phone_country_code"),
    ("message", "messages_count"), ("shipping_cost", "shopping_cost"), ("___", "_"),
])  # fmt: skip
def test_names_that_are_not_alike_enough(before, after):
    assert guessed([column(before)], [column(after)]) == {}


def test_what_states_no_origin_is_new():
    new = replace(column("customer_id"), properties={"data_type": "text", RENAMED_FROM: []})
    assert guessed([column("cust_id")], [new]) == {}
    columns = [column(name) for name in ("id", "total", "note", "status")]
    stated = table("sales_orders", *columns, **{RENAMED_FROM: []})
    assert renames(changes_of(shop(table("orders", *columns)), shop(stated))) == {}


def test_the_same_type_is_needed_in_full():
    assert guessed([column("cust_id", "bigint")], [column("customer_id", "text")]) == {}
    assert guessed([column("cust_id", precision=10)], [column("customer_id", precision=20)]) == {}
    assert guessed([column("cust_id", precision=None)], [column("customer_id")]) == {"cust_id": "customer_id"}
    assert guessed([Column("cust_id")], [Column("customer_id")]) == {}


def test_a_key_is_another_column():
    assert guessed([column("cust_id", primary_key=True)], [column("customer_id")]) == {}


def test_two_that_fit_as_well_are_no_rename():
    after = [column("customer_email_of"), column("email_of_customer")]
    assert guessed([column("customer_email")], after) == {}
    assert guessed(after, [column("customer_email")]) == {}


def test_each_finds_its_own_among_many():
    old, new = ("cust_id", "cust_name", "cust_email"), ("customer_email", "customer_id", "customer_name")
    found = guessed([column(name) for name in old], [column(name) for name in new])
    assert found == {"cust_id": "customer_id", "cust_name": "customer_name", "cust_email": "customer_email"}


def test_the_place_decides_where_names_are_less_alike():
    first, last = FRAME
    assert renames(of_columns([column("email"), first, last], [first, last, column("email_address")])) == {}


def test_dlts_own_columns_keep_their_names():
    assert guessed([column("_dlt_load_id")], [column("_dlt_load_ids")]) == {}
    assert guessed([column("load_id")], [column("_dlt_load_id")]) == {}


def test_guessing_can_be_switched_off():
    before, after = [column("cust_id"), column("a")], [column("customer_id"), came_from(column("b"), "a")]
    changes = of_columns(before, after, guess_renames=False)
    assert renames(changes) == {"a": "b"}
    assert ColumnAdded("orders", column("customer_id")) in changes
    assert [change.is_stated for change in of_columns(before, after)[:2]] == [True, False]


def test_a_table_that_changed_all_over_is_not_guessed_at():
    old = [column(f"field_{number}x_a") for number in range(201)]
    new = [column(f"field_{number}x_b_a") for number in range(201)]
    assert renames(of_columns(old[:20], new[:20])) != {}
    assert renames(of_columns(old, new)) == {}


# Tables

SALE = (column("id", "bigint"), column("customer"), column("total", "double"), column("placed_at", "timestamp"))
ITEM = (column("value"), column("_dlt_parent_id"))


def nested(name, parent, *columns):
    return table(name, *(columns or ITEM), parent=parent)


def test_a_stated_rename_takes_nested_tables_along():
    before = shop(
        table("orders", column("id")),
        nested("orders__items", "orders"),
        nested("orders__items__tags", "orders__items"),
    )
    after = shop(
        replace(table("sales", column("key", "json")), properties={RENAMED_FROM: "orders"}),
        nested("sales__items", "sales"),
        nested("sales__items__tags", "sales__items"),
    )
    expected = (
        TableRenamed("orders", "sales", is_stated=True),
        TableRenamed("orders__items", "sales__items", follows_parent=True),
        TableRenamed("orders__items__tags", "sales__items__tags", follows_parent=True),
        TablePropertyChanged("sales", RENAMED_FROM, ABSENT, "orders"),
        ColumnRemoved("sales", column("id")),
        ColumnAdded("sales", column("key", "json")),
    )
    assert changes_of(before, after, guess_renames=False) == expected


def test_a_nested_table_that_does_not_follow_is_gone():
    before = shop(table("orders", *SALE), nested("orders__items", "orders"), nested("orders__notes", "orders"))
    after = shop(table("sales", *SALE), nested("sales__items", "sales"), table("sales__notes", *ITEM))
    changes = changes_of(before, after)
    assert renames(changes) == {"orders": "sales", "orders__items": "sales__items"}
    # What is gone speaks of its parent's new name, as all that comes after a rename.
    assert TableRemoved(nested("orders__notes", "sales")) in changes


def test_a_table_of_the_same_columns_is_renamed_whatever_its_name():
    changes = changes_of(shop(table("orders", *SALE)), shop(table("sales", *SALE)))
    assert changes == (TableRenamed("orders", "sales"),)
    assert changes_of(shop(table("orders", *SALE)), shop(table("sales", *SALE)), guess_renames=False) == (
        TableRemoved(table("orders", *SALE)),
        TableAdded(table("sales", *SALE)),
    )


def test_a_like_name_makes_up_for_some_columns():
    fewer = SALE[:3]
    assert renames(diff(shop(table("orders", *SALE)), shop(table("sales", *fewer)))) == {}
    assert renames(diff(shop(table("order", *SALE)), shop(table("orders", *fewer)))) == {"order": "orders"}


def test_few_equal_columns_need_a_like_name():
    few = (column("id"), column("name"))
    assert renames(diff(shop(table("countries", *few)), shop(table("brands", *few)))) == {}
    assert renames(diff(shop(table("brand", *few)), shop(table("brands", *few)))) == {"brand": "brands"}


@pytest.mark.parametrize(
    ("before", "after", "is_rename"),
    [
        ("orders_2023", "orders_2024", False),
        ("orders_2023_1", "orders_2023_2", False),
        ("orders_v1", "orders_v2", True),
        ("orders", "orders_2024", True),
        ("orders_2024", "sales_2024", True),
        ("sales_q1", "sales_q2", False),
        ("recieved_orders", "received_orders", True),
        ("recieved_orders_1", "received_orders_2", False),
    ],
)
def test_tables_with_other_numbers_are_siblings(before, after, is_rename):
    columns = [column(name) for name in ("id", "total", "note", "status")]
    changes = changes_of(shop(table(before, *columns)), shop(table(after, *columns)))
    assert renames(changes) == ({before: after} if is_rename else {})


@pytest.mark.parametrize(("before", "after"), [
    ("sales_eu", "sales_us"), ("raw_orders", "clean_orders"), ("users_active", "users_archived"),
    ("salesEu", "salesUs"),
])  # fmt: skip
def test_tables_that_are_distinguished_by_one_word_are_siblings(before, after):
    columns = [column(name) for name in ("id", "total", "note", "status", "placed_at")]
    assert renames(changes_of(shop(table(before, *columns)), shop(table(after, *columns)))) == {}


def test_columns_of_a_renamed_table_are_compared_by_its_new_name():
    before = table("order", *SALE, column("cust_mail", "text"))
    after = table("orders", *SALE, column("customer_mail", "text", unique=True))
    assert changes_of(shop(before), shop(after)) == (
        TableRenamed("order", "orders"),
        ColumnRenamed("orders", "cust_mail", "customer_mail"),
        ColumnPropertyChanged("orders", "customer_mail", "unique", ABSENT, True),
    )


def test_two_tables_alike_are_no_rename():
    assert renames(diff(shop(table("orders", *SALE)), shop(table("sales", *SALE), table("deals", *SALE)))) == {}


def test_nested_tables_are_only_taken_for_others_of_their_parent():
    before = shop(table("orders", *SALE), nested("orders__lines", "orders", *SALE))
    apart = shop(table("orders", *SALE), table("carts", *SALE), nested("carts__lines", "carts", *SALE))
    assert renames(diff(before, apart)) == {}
    beside = shop(table("orders", *SALE), nested("orders__rows", "orders", *SALE))
    assert renames(diff(before, beside)) == {"orders__lines": "orders__rows"}


def test_a_guess_below_a_renamed_parent_takes_its_own_nested_tables_along():
    before = shop(
        table("orders", *SALE),
        nested("orders__lines", "orders", *SALE),
        nested("orders__lines__tags", "orders__lines"),
    )
    after = shop(
        table("sales", *SALE),
        nested("sales__rows", "sales", *SALE),
        nested("sales__rows__tags", "sales__rows"),
    )
    assert changes_of(before, after) == (
        TableRenamed("orders", "sales"),
        TableRenamed("orders__lines", "sales__rows"),
        TableRenamed("orders__lines__tags", "sales__rows__tags", follows_parent=True),
    )


def test_dlts_own_tables_and_columns_count_for_nothing():
    own = [column(f"_dlt_{name}") for name in ("id", "load_id", "root_id", "parent_id")]
    assert renames(diff(shop(table("orders", *own)), shop(table("order", *own)))) == {}
    assert renames(diff(shop(table("_dlt_load", *SALE)), shop(table("_dlt_loads", *SALE)))) == {}


def test_of_two_tables_that_state_one_origin_the_first_by_name_counts_in_whatever_order_they_stand():
    stated = {RENAMED_FROM: ["orders"]}
    sales, deals = (replace(table(name, *SALE), properties=stated) for name in ("sales", "deals"))
    for after in (shop(sales, deals), shop(deals, sales)):
        assert renames(changes_of(shop(table("orders", *SALE)), after)) == {"orders": "deals"}


def test_a_column_with_the_same_id_is_renamed_for_certain_whatever_else_changes():
    before = [column("name", **{"x-id": "7"}), column("age", "bigint", **{"x-id": "8"})]
    after = [column("full", "bigint", **{"x-id": "7"}), column("age", "bigint", **{"x-id": "8"})]
    (rename, *_) = of_columns(before, after, guess_renames=False)
    assert rename == ColumnRenamed("orders", "name", "full", is_stated=True)


def test_an_id_that_two_columns_have_says_nothing():
    before = [column("a", "double", **{"x-id": "7"})]
    after = [column("b", "double", **{"x-id": "7"}), column("c", "double", **{"x-id": "7"})]
    assert renames(of_columns(before, after, guess_renames=False)) == {}


def test_columns_with_two_ids_are_two_columns_however_alike_their_names():
    assert guessed([column("cust_id", **{"x-id": 1})], [column("customer_id", **{"x-id": 2})]) == {}
    assert guessed([column("cust_id", **{"x-id": 1})], [column("customer_id")]) == {"cust_id": "customer_id"}


def test_a_stated_origin_goes_before_an_id():
    before = [column("a", "double", **{"x-id": "7"}), column("b", "double")]
    after = [came_from(column("c", "double", **{"x-id": "7"}), "b")]
    assert renames(of_columns(before, after, guess_renames=False)) == {"b": "c"}


# Likeness and speed


@settings(max_examples=200)
@given(st.text("ab_C1é", max_size=8), st.text("ab_C1é", max_size=8))
def test_likeness_is_a_share(before, after):
    assert 0 <= name_likeness(before, after) <= 1
    assert name_likeness(before, before) in (0, 1)


def test_renames_of_a_wholly_new_schema_take_time_in_proportion_to_its_tables():
    words = ("order", "customer", "item", "price", "date", "state", "note", "code", "line", "total", "amount", "key")
    chance = random.Random(7)

    def guess(tables):
        before, after = (
            shop(
                *(
                    table(f"t{n}", *(column(f"{'_'.join(chance.sample(words, 3))}_{mark}{c}") for c in range(30)))
                    for n in range(tables)
                )
            )
            for mark in "ab"
        )
        diff(before, after)

    assert growth(guess, 20) < LINEAR


@pytest.mark.parametrize(
    "origins",
    [
        {"a": "b", "b": "a"},
        {"b": "a", "c": "b"},
        {"a": "c", "b": "a", "c": "b"},
        {"b": "a"},
        {"b": "a", "d": "b", "a": "c"},
    ],
)
def test_tables_that_take_names_of_each_other_are_followed_where_that_is_asked_for(origins):
    def tables_of(origin, name, **properties):
        inside = f"{name}__items"
        return table(name, column(f"in_{origin}"), **properties), nested(inside, name, column(f"in_{origin}"))

    kept = {"a", "b", "c"} - {*origins, *origins.values()}
    before = shop(*(each for name in "abc" for each in tables_of(name, name)))
    moved = [tables_of(origin, name, **{"x-renamed-from": origin}) for name, origin in origins.items()]
    after = shop(*(each for name in kept for each in tables_of(name, name)), *(each for pair in moved for each in pair))

    changes = changes_of(before, after, heeds_moves=True)

    found = {each.before: each.after for each in changes if isinstance(each, TableRenamed)}
    own = {origin: name for name, origin in origins.items()}
    assert found == {**own, **{f"{origin}__items": f"{name}__items" for origin, name in own.items()}}
    # Nothing else is another table's now: what is gone gave its name away.
    removed = {each.table.name for each in changes if isinstance(each, TableRemoved)}
    assert removed == {name for each in {*"abc"} - kept - {*own} for name in (each, f"{each}__items")}
    assert not [each for each in changes if isinstance(each, (TableAdded, ColumnAdded, ColumnRemoved, ColumnRenamed))]
    assert not [each for each in changes if isinstance(each, TablePropertyChanged) and each.name == "parent"]
    # What is stated on both sides is history.
    assert not [each for each in changes_of(after, after, heeds_moves=True) if isinstance(each, TableRenamed)]
