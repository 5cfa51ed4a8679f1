"""Models that are written as Python source: they import, and validate the documents that their schema describes."""

from __future__ import annotations

import base64
import builtins
import datetime
import keyword
import sys
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from fixture_documents import documents, inferred
from hypothesis import given
from pydantic import BaseModel, ValidationError
from test_round_trips import schemas

from schemactl.formats import pydantic as source
from schemactl.formats._folding import fold
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.type_systems.fields import HINTS, field_of


def imported(schema: Schema) -> ModuleType:
    module = ModuleType("written_models")
    sys.modules[module.__name__] = module
    exec(compile(source.write(schema), "written_models.py", "exec"), module.__dict__)
    return module


def models(schema: Schema) -> dict[str, type[BaseModel]]:
    found = [each for each in vars(imported(schema)).values() if isinstance(each, type) and issubclass(each, BaseModel)]
    return {str(each.model_config["title"]): each for each in found if "title" in each.model_config}


def shop(naming: str = "snake_case", **columns: dict[str, Any]) -> Schema:
    made = {name: Column(name, {"nullable": True, **stated}) for name, stated in columns.items()}
    properties = {"write_disposition": "append", "resource": "orders"}
    return new_schema("shop", naming).with_table(Table("orders", made, properties))


@pytest.mark.parametrize(("name", "coerced"), [("orders.jsonl", {("gift",)}), ("products.json", set())])
@pytest.mark.filterwarnings("error")
def test_documents_of_the_fixtures_are_valid_but_for_what_a_load_coerces(name: str, coerced: set[tuple[str]]):
    model = models(inferred(name))[name.partition(".")[0]]
    found = set()
    for each in documents(name):
        try:
            model.model_validate(each)
        except ValidationError as error:
            found |= {fault["loc"] for fault in error.errors()}
    assert found == coerced


def test_documents_of_other_types_are_not_valid():
    model = models(inferred("orders.jsonl"))["orders"]
    (first, *_) = documents("orders.jsonl")
    lists = [key for key, value in first.items() if isinstance(value, list)]
    assert lists
    with pytest.raises(ValidationError, match=lists[0]):
        model.model_validate({**first, lists[0]: "none"})


def test_nested_tables_are_nested_models():
    lines = Table(
        "orders__lines", {"sku": Column("sku", {"data_type": "text", "nullable": False})}, {"parent": "orders"}
    )
    schema = shop(id={"data_type": "bigint", "nullable": False}, ship__city={"data_type": "text"}).with_table(lines)
    module = imported(schema)
    order = module.Orders.model_validate({"id": 1, "lines": [{"sku": 7, "note": "x"}], "ship": {"city": "Ulm"}})
    assert isinstance(order.lines[0], module.OrdersLines)
    assert order.lines[0].sku == "7"
    assert order.lines[0].note == "x"
    assert order.ship.city == "Ulm"
    with pytest.raises(ValidationError, match=r"lines\.0\.sku"):
        module.Orders.model_validate({"id": 1, "lines": [{}]})


def test_types_are_python_s_and_limits_hold():
    columns: dict[str, dict[str, Any]] = {
        "at": {"data_type": "timestamp"}, "day": {"data_type": "date"}, "price": {"data_type": "decimal"},
        "small": {"data_type": "bigint", "precision": 8}, "code": {"data_type": "text", "precision": 3},
        "state": {"data_type": "text", "x-enum": ["new", "paid"]}, "any": {"data_type": "json"},
        "zip": {"data_type": "text", "x-pattern": r"^\d{5}(?!0)$"}, "share": {"data_type": "double", "x-maximum": 1},
    }  # fmt: skip
    model = models(shop(**columns))["orders"]
    given = {"at": "2026-01-02T03:04:05Z", "day": "2026-01-02", "price": "1.50", "small": 127, "code": "abc"}
    found = model.model_validate({**given, "state": "paid", "any": [1, {"a": None}], "zip": "89073", "share": 0.5})
    assert found.model_dump()["at"] == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert found.model_dump()["price"] == Decimal("1.50")
    for wrong in ({"small": 128}, {"code": "abcd"}, {"state": "old"}, {"zip": "a"}, {"share": 1.5}, {"day": "x"}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            model.model_validate(wrong)


def test_documents_hold_bytes_as_base64_which_is_longer_than_they_are():
    model = models(shop(key={"data_type": "binary", "precision": 16}))["orders"]
    model.model_validate({"key": base64.b64encode(bytes(16)).decode()})
    assert model.model_fields["key"].json_schema_extra == {HINTS: {"precision": 16}}


NASTY = [
    "class", "model_config", "model_x", "_id", "1st", "a b", "str", "datetime", "copy", "Field", "field", "ä", "\"'",
]  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_decimals_take_the_digits_that_dlt_stores():
    model = models(shop(price={"data_type": "decimal", "precision": 10}))["orders"]
    assert model.model_validate({"price": "1.123456789"})
    with pytest.raises(ValidationError, match="9 decimal places"):
        model.model_validate({"price": "0.1234567891"})


def test_names_that_python_or_pydantic_has_taken_are_aliases():
    types = ["text", "bigint", "timestamp", "date", "decimal", "json", "bool"]
    stated = {name: {"data_type": types[at % len(types)]} for at, name in enumerate((*NASTY, "a_b", "last", "Any"))}
    model = models(shop("direct", **stated))["orders"]
    assert {each.alias or name for name, each in model.model_fields.items()} == stated.keys()
    assert model.model_validate({"class": "x", "1st": 1, "str": None}).model_extra == {}


@given(schemas())
@pytest.mark.filterwarnings("error")
def test_every_source_imports_and_carries_all_that_columns_state(schema: Schema):
    found = models(schema)
    for table in data_tables(fold(schema)):
        written = found[table.name].model_json_schema(by_alias=True)
        assert written["title"] == table.name
        assert (written.get("description") or "") == " ".join([table.properties.get("description") or ""])
        for column in table.columns.values():
            info = written["properties"][column.name]
            field = field_of(column)
            assert info.get("description") == field.description
            assert (column.name in written.get("required", ())) == (not field.nullable)
            hints = info.get(HINTS, {})
            for key in ("primary_key", "sort", "cluster", "x-owner", "x-id"):
                assert hints.get(key) == field.properties.get(key)


def test_what_models_do_not_say_is_reported():
    lines = Table("orders__lines", {"a": Column("a", {"data_type": "text"})}, {"parent": "orders", "x-owner": "crm"})
    schema = shop(id={"data_type": "bigint"}).with_table(lines)
    stated = Schema(
        **{**{k: getattr(schema, k) for k in Schema.__dataclass_fields__}, "settings": {"schema_contract": "freeze"}}
    )
    assert [(each.path, each.item) for each in source.losses(stated)] == [
        ("", "settings.schema_contract"),
        ("orders__lines", "x-owner"),
    ]


ODD_NAMES = sorted({
    *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *dir(BaseModel), "none", "true", "false", "Document", "Item",
    "1st", "a b", "a-b", "a_b", "a_b_", "ª", "a", "a²", "a2", "ﬁ", "fi", "½", "𐄇", "?", "model_x", "self", "class_",
    "datetime", "Decimal", "Any", "Literal", "ConfigDict", "Field", "ｃｌａｓｓ",
})  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_tables_of_any_name_are_models():
    schema = new_schema("shop", "direct")
    for name in ODD_NAMES:
        schema = schema.with_table(Table(name, {name: Column(name, {"data_type": "text", "description": name})}))

    made = models(schema)

    assert sorted(made) == ODD_NAMES
    for name, model in made.items():
        assert model.model_validate({name: "x"}).model_dump(by_alias=True) == {name: "x"}


@pytest.mark.filterwarnings("error")
def test_columns_of_any_name_are_fields():
    nested = {"data_type": "json", "x-spark-type": "struct<a:bigint>"}
    shops = shop("direct", **{name: nested if name in ("a", "fi") else {"data_type": "text"} for name in ODD_NAMES})
    document = {name: {"a": 1} if name in ("a", "fi") else f"text {name}" for name in ODD_NAMES}

    model = models(shops)["orders"]

    assert model.model_validate(document).model_dump(by_alias=True) == document
    for name in ODD_NAMES:
        assert model.model_validate({name: document[name]}).model_dump(by_alias=True, exclude_unset=True) == {
            name: document[name]
        }


@pytest.mark.filterwarnings("error")
def test_a_field_hides_no_model_that_is_named_after_it():
    item = {"data_type": "json", "x-spark-type": "struct<a:bigint>"}
    schema = shop("direct", OrdersItem={"data_type": "text"}, item=item, item2=item)

    order = models(schema)["orders"].model_validate({"OrdersItem": "x", "item": {"a": 1}, "item2": {"a": 2}})

    assert (order.OrdersItem, order.item.a, order.item2.a) == ("x", 1, 2)
