"""Edits of import files taken over without data, and what the folder means until then."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from schema_parts import put_schema

from schemactl.flows.effective_schemas import read_effective
from schemactl.flows.schemas import open_schemas
from schemactl.flows.sync import sync_schemas
from schemactl.formats import dlt
from schemactl.inference.lineage import Lineage, TableLineage, to_json
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

ROOT = Path("schemas")
IMPORT, EXPORT = ROOT / "import/pay.schema.yaml", ROOT / "export/pay.schema.yaml"
KEY = {"nullable": False, "primary_key": True}


def data(**types: str) -> dict[str, dict[str, object]]:
    """Columns as data brings them."""
    return {name: {"data_type": kind, "nullable": True} for name, kind in types.items()}


def schema_of(columns: dict[str, dict[str, object]], *, has_data: bool = False, **more: object) -> Schema:
    properties = {"write_disposition": "append", "resource": "payments", **({} if not has_data else SEEN)}
    table = Table("payments", {name: Column(name, stated) for name, stated in columns.items()}, properties)
    return bump(replace(new_schema("pay").with_table(table), **more))


SEEN = {"x-normalizer": {"seen-data": True}}


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder whose export file holds the import file's columns and those that data brought."""
    monkeypatch.chdir(tmp_path)

    def begin(imported: dict, exported: dict, *, in_git: bool = True) -> None:
        first = schema_of(imported)
        put_schema(IMPORT, first)
        put_schema(EXPORT, bump(replace(schema_of(exported, has_data=True), version_hash=first.version_hash)))
        if in_git:
            identity = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
            for call in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "one")):
                subprocess.run(("git", *call), check=True, capture_output=True)

    return begin


def sync(*, agrees: bool = True, check: bool = False):
    (found,) = sync_schemas(("pay",), ROOT, lambda _: agrees, is_check=check)
    return found


def columns() -> dict[str, dict[str, object]]:
    schema = open_schemas(SchemasFolder.at(ROOT), "pay").schema
    assert schema is not None
    return {name: dict(column.properties) for name, column in schema.tables["payments"].columns.items()}


@pytest.mark.parametrize("in_git", [True, False])
def test_what_data_brought_stays_and_what_is_stated_wins(start, in_git):
    brought = data(id="bigint", amount="bigint", tags="text")
    start({}, brought, in_git=in_git)
    put_schema(IMPORT, schema_of({"id": KEY, "amount": {"data_type": "double"}, "note": {"data_type": "text"}}))
    found = sync()
    assert (found.is_pending, found.dropped, found.open_questions) == (True, (), ())
    assert columns() == {
        "id": {"data_type": "bigint", **KEY},
        "amount": {"data_type": "double"},
        "note": {"data_type": "text"},
        "tags": brought["tags"],
    }
    assert not sync().is_pending
    assert open_schemas(SchemasFolder.at(ROOT), "pay").import_adopted is None


@pytest.mark.parametrize("in_git", [True, False])
def test_a_hint_that_is_taken_back_leaves_the_column_as_data_brought_it(start, in_git):
    start({"id": KEY}, {"id": {**KEY, "data_type": "bigint"}}, in_git=in_git)
    put_schema(IMPORT, schema_of({}))
    assert sync().dropped == ()
    assert columns() == data(id="bigint")


def test_a_stated_column_that_is_taken_back_is_dropped_after_a_question(start):
    start(data(coupon="text"), data(coupon="text", id="bigint"))
    put_schema(IMPORT, schema_of({}))
    found = sync(agrees=False)
    assert (found.dropped, found.written) == (("payments.coupon",), ())
    assert "coupon" in EXPORT.read_text()
    assert sync().written == (str(EXPORT),)
    assert columns() == data(id="bigint")


def test_a_column_stated_by_hand_is_dropped_though_git_knows_nothing(start):
    start({"note": {"data_type": "text"}}, {"note": {"data_type": "text"}, **data(id="bigint")}, in_git=False)
    put_schema(IMPORT, schema_of({}))
    assert sync().dropped == ("payments.note",)
    assert columns() == data(id="bigint")


def test_a_stated_rename_takes_the_type_along(start):
    start({}, data(mail="text"))
    put_schema(IMPORT, schema_of({"email": {"x-renamed-from": "mail", "nullable": False}}))
    assert sync().dropped == ()
    assert columns() == {"email": {"data_type": "text", "nullable": False, "x-renamed-from": "mail"}}


def renamed_from(name: str) -> dict[str, object]:
    return {"x-renamed-from": name}


def test_columns_that_swap_their_names_take_their_types_along(start):
    brought = data(net="bigint", gross="double", note="text")
    start({}, brought)
    put_schema(IMPORT, schema_of({"net": renamed_from("gross"), "gross": renamed_from("net")}))

    assert sync().dropped == ()
    assert [*columns().items()] == [
        ("gross", {**brought["net"], **renamed_from("net")}),
        ("net", {**brought["gross"], **renamed_from("gross")}),
        ("note", brought["note"]),
    ]
    # What is taken over is not applied again.
    put_schema(IMPORT, schema_of({"net": {**renamed_from("gross"), "unique": True}, "gross": renamed_from("net")}))
    sync()
    assert columns()["net"] == {**brought["gross"], **renamed_from("gross"), "unique": True}


def test_a_chain_of_renames_takes_each_type_along(start):
    brought = data(first="bigint", second="text")
    start({}, brought)
    put_schema(IMPORT, schema_of({"second": renamed_from("first"), "third": renamed_from("second")}))

    assert sync().dropped == ()
    assert columns() == {
        "second": {**brought["first"], **renamed_from("first")},
        "third": {**brought["second"], **renamed_from("second")},
    }


def test_tables_that_swap_their_names_take_their_columns_along(start):
    start({}, data(id="bigint"))
    exported = dlt.read(EXPORT.read_text(), str(EXPORT)).schema
    refunds = Table("refunds", {"reason": Column("reason", data(reason="text")["reason"])}, SEEN)
    put_schema(EXPORT, bump(exported.with_table(refunds)))
    imported = new_schema("pay")
    for name, other in (("payments", "refunds"), ("refunds", "payments")):
        imported = imported.with_table(Table(name, {}, renamed_from(other)))
    put_schema(IMPORT, bump(imported))

    assert sync().dropped == ()
    schema = open_schemas(SchemasFolder.at(ROOT), "pay").schema
    assert {name: [*schema.tables[name].columns] for name in ("payments", "refunds")} == {
        "payments": ["reason"], "refunds": ["id"],
    }  # fmt: skip


def test_nested_tables_of_data_stay_and_those_of_a_dropped_table_go(start):
    start({}, data(id="bigint"))
    exported = dlt.read(EXPORT.read_text(), str(EXPORT)).schema
    nested = Table("payments__lines", {"value": Column("value", data(value="text")["value"])}, {"parent": "payments"})
    put_schema(EXPORT, bump(exported.with_table(replace(nested, properties={**nested.properties, **SEEN}))))
    put_schema(IMPORT, schema_of({"id": KEY}))
    assert sync().dropped == ()
    assert "payments__lines" in read_effective(SchemasFolder.at(ROOT), "pay").schema.tables
    put_schema(IMPORT, bump(new_schema("pay")))
    subprocess.run(("git", "add", "-A"), check=True)
    assert sync(agrees=False).dropped == ()  # nobody knows whether the import file ever stated the table


@pytest.mark.parametrize("are_hinted", [False, True])
def test_nested_tables_of_data_follow_a_table_that_is_renamed(start, are_hinted):
    start({}, data(id="bigint"))
    stored = open_schemas(SchemasFolder.at(ROOT), "pay").schema
    lines = Table("payments__lines", {"sku": Column("sku", data(sku="text")["sku"])}, {"parent": "payments", **SEEN})
    parts = Table("payments__lines__parts", {"n": Column("n", data(n="bigint")["n"])}, {"parent": lines.name, **SEEN})
    short = Table("pay_3b__x", {"n": Column("n", data(n="bigint")["n"])}, {"parent": "payments", **SEEN})
    put_schema(
        EXPORT, bump(replace(stored, tables={each.name: each for each in (parts, lines, short)} | dict(stored.tables)))
    )
    first = schema_of({})
    renamed = replace(first.tables["payments"], name="sales")
    renamed = replace(renamed, properties={**renamed.properties, **renamed_from("payments")})
    tables = {name: table for name, table in first.tables.items() if name != "payments"} | {"sales": renamed}
    if are_hinted:
        tables["sales__lines"] = Table("sales__lines", {"sku": Column("sku", KEY)}, {"parent": "sales"})
    put_schema(IMPORT, bump(replace(first, tables=tables)))
    found = sync()
    assert found.dropped == ()
    after = open_schemas(SchemasFolder.at(ROOT), "pay").schema
    own = {name: table.parent for name, table in after.tables.items() if not name.startswith("_dlt")}
    assert own == {
        "sales": None,
        "sales__lines": "sales",
        "sales__lines__parts": "sales__lines",
        "pay_3b__x": "sales",
    }
    assert dict(after.tables["sales__lines"].columns["sku"].properties) == (
        {"data_type": "text", **KEY} if are_hinted else data(sku="text")["sku"]
    )
    assert {type(each).__name__ for each in found.changes} >= {"TableRenamed"}
    assert not {type(each).__name__ for each in found.changes} & {"TableAdded", "TableRemoved"}


@pytest.mark.parametrize(
    ("change", "question"),
    [
        ({"settings": {"preferred_types": {"id": "text"}}}, "`preferred_types` changed for `payments.id`"),
        ({"settings": {"detections": ["iso_date"]}}, "`detections` changed"),
        ({"normalizers": {"names": "direct", "json": {"module": "a.b"}}}, "`normalizers` changed"),
    ],
)
def test_what_only_data_can_say_is_left_to_data(start, change, question):
    start({}, data(id="bigint"))
    before = EXPORT.read_text()
    put_schema(IMPORT, schema_of({}, **change))
    found = sync()
    assert any(question in each for each in found.open_questions)
    assert (found.written, EXPORT.read_text()) == ((), before)


def test_a_type_taken_back_is_left_to_data(start):
    start({"id": {"data_type": "text"}}, data(id="text"))
    put_schema(IMPORT, schema_of({"id": {"unique": True}}))
    assert sync().open_questions == ("`payments.id` no longer declares a type",)


def test_new_default_hints_hold_for_what_data_brought(start):
    start({}, data(id="bigint"))
    settings = {**new_schema("pay").settings, "default_hints": {"not_null": ["id"]}}
    put_schema(IMPORT, schema_of({}, settings=settings))
    sync()
    assert columns() == {"id": {"data_type": "bigint", "nullable": False}}


def test_a_check_writes_nothing(start):
    start({}, data(id="bigint"))
    put_schema(IMPORT, schema_of({"id": KEY}))
    before = EXPORT.read_text()
    assert sync(check=True).is_pending
    assert EXPORT.read_text() == before


def test_a_column_whose_name_was_too_long_is_the_one_that_the_import_file_states(start):
    long, short = "the_name_of_a_column_as_the_source_has_it", "the_name_abc123_has_it"
    brought = {"data_type": "text", "nullable": True, "x-renamed-from": long}
    for in_git in (True, False):
        start({long: {"unique": True}}, {short: {**brought, "unique": True}, **data(id="bigint")}, in_git=in_git)
        put_schema(IMPORT, schema_of({long: {"unique": True, "description": "as the source calls it"}}))
        assert sync().dropped == ()
        assert columns()[short] == {**brought, "unique": True, "description": "as the source calls it"}
        assert [*columns()] == [short, "id"]


def test_a_rename_that_is_taken_back_is_no_name_that_was_too_long(start):
    start({"mail": {"x-renamed-from": "email"}}, {"mail": {"data_type": "text", "x-renamed-from": "email"}})
    put_schema(IMPORT, schema_of({"email": {"data_type": "text"}}))
    sync()
    assert columns()["email"] == {"data_type": "text"}


def test_hints_by_path_hold_for_the_columns_that_lineage_names(start):
    start({}, data(id="bigint", order_id="bigint"))
    lineage = {"id": {"$.id": ("bigint",)}, "order_id": {"$.order.id": ("bigint",)}}
    EXPORT.with_name("pay.lineage.json").write_text(to_json(Lineage({"payments": TableLineage(("$",), lineage)})))
    put_schema(
        IMPORT, schema_of({}, settings={**new_schema("pay").settings, "default_hints": {"unique": ["path:$.order.id"]}})
    )
    assert not sync().open_questions
    assert columns()["order_id"]["unique"] is True
    assert "unique" not in columns()["id"]
