"""Names that are too long for a destination."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemactl.inference.evidence import Evidence, Position, observe
from schemactl.inference.fitting import DataPaths, Fitted, fit_names, without_long_names
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.schema.paths import Path
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema

LIMIT = 24
KEY = "Eine Sehr Lange Überschrift"
LONG = "eine_sehr_lange_berschrift"
DOCUMENTS = (
    {KEY: 1, "short": {"a" * 12: {"b" * 12: True}}, "items": [{"name of the item as it was sold": "x"}]},
    {KEY: "text", "Liste von Bestellungen": [[{"n": 1}], [{"Noch ein langer Name hier": 2}]]},
)


def seen(*documents: Any) -> Evidence:
    return observe((Position("orders.jsonl", number), document) for number, document in enumerate(documents, 1))


def resolved(before: Schema, *documents: Any, limit: int | None = None) -> Schema:
    return resolve(seen(*documents), before, "orders", ResolveOptions(max_identifier_length=limit)).schema


def fitted(
    schema: Schema, *documents: Any, renamed: dict[Path, str] | None = None, limit: int | None = LIMIT
) -> Fitted:
    evidence = seen(*documents)
    paths = {path[:end] for path in evidence.paths for end in range(1, len(path) + 1)}
    return fit_names(schema, DataPaths("orders", paths, renamed or {}), limit)


def names(schema: Schema) -> dict[str, list[str]]:
    return {table.name: sorted(table.columns) for table in schema.tables.values()}


def test_new_names_are_those_that_the_data_has_under_the_limit() -> None:
    before = new_schema("shop")
    long = resolved(before, *DOCUMENTS)
    assert any(len(name) > LIMIT for name in long.tables)

    found = fitted(long, *DOCUMENTS)

    expected = resolved(before, *DOCUMENTS, limit=LIMIT)
    assert names(found.schema) == names(expected)
    assert {each.name: each.parent for each in found.schema.tables.values()} == {
        each.name: each.parent for each in expected.tables.values()
    }
    # The same data then asks for nothing more.
    again = resolved(found.schema, *DOCUMENTS, limit=LIMIT)
    assert again.tables == found.schema.tables


def test_old_names_are_stated_for_migrations() -> None:
    long = resolved(new_schema("shop"), {KEY: 1})
    found = fitted(long, {KEY: 1})
    [(old, new)] = found.renamed.items()
    assert old == ("orders", LONG)
    assert found.schema.tables["orders"].columns[new].properties["x-renamed-from"] == LONG


def test_names_without_data_are_shortened_as_they_are() -> None:
    long = resolved(new_schema("shop"), *DOCUMENTS)
    found = fitted(long)
    assert all(len(name) <= LIMIT for table in found.schema.tables.values() for name in (table.name, *table.columns))
    assert {table.parent for table in found.schema.tables.values()} <= {None, *found.schema.tables}
    [variant] = [each for each in found.schema.tables["orders"].columns.values() if each.is_variant]
    assert variant.properties["x-renamed-from"] == f"{LONG}__v_text"


def test_a_column_becomes_one_with_its_shortened_twin() -> None:
    long = resolved(new_schema("shop"), {KEY: 1})
    table = long.tables["orders"]
    hinted = Column(LONG, {**table.columns[LONG].properties, "unique": True})
    long = long.with_table(replace(table, columns={**table.columns, LONG: hinted}))
    both = resolved(long, {KEY: 1}, limit=LIMIT)
    assert len(both.tables["orders"].columns) == len(table.columns) + 1

    [column] = [
        each for name, each in fitted(both, {KEY: 1}).schema.tables["orders"].columns.items() if "_dlt" not in name
    ]

    assert len(column.name) <= LIMIT
    assert column.properties == {"data_type": "bigint", "nullable": True, "unique": True}


def test_references_and_copied_columns_follow() -> None:
    long = resolved(new_schema("shop"), {KEY: 1, "items": [{"x": 1}]})
    items = long.tables["orders__items"]
    reference = {"columns": ["x"], "referenced_table": "orders", "referenced_columns": [LONG]}
    long = long.with_table(replace(items, properties={**items.properties, "references": [reference]}))
    propagation = {"propagation": {"tables": {"orders": {LONG: "above"}}}}
    json = {**long.normalizers["json"], "config": propagation}
    found = fitted(replace(long, normalizers={**long.normalizers, "json": json}), {KEY: 1})

    new = found.renamed["orders", LONG]
    [stated] = found.schema.tables["orders__items"].properties["references"]
    assert stated == {**reference, "referenced_columns": [new]}
    assert found.schema.normalizers["json"]["config"] == {"propagation": {"tables": {"orders": {new: "above"}}}}


def test_a_schema_whose_names_fit_stays_as_it_is() -> None:
    schema = resolved(new_schema("shop"), {"id": 1})
    assert fit_names(schema, DataPaths("orders", (), {}), LIMIT) == Fitted(schema, {}, LIMIT)
    assert fit_names(schema, DataPaths("orders", (), {}), None) == Fitted(schema, {}, None)


def test_what_does_not_fit_can_be_left_out() -> None:
    long = resolved(new_schema("shop"), {KEY: 1, "id": 1})
    assert list(without_long_names(long, LIMIT).tables["orders"].columns) == ["id", "_dlt_load_id", "_dlt_id"]
    assert without_long_names(long, None) is long


def limit_for(schema: Schema, *documents: Any, limit: int | None = None) -> int | None:
    return fitted(schema, *documents, limit=limit).max_length


def test_names_go_on_being_cut_as_those_of_the_schema_are() -> None:
    short = resolved(new_schema("shop"), *DOCUMENTS, limit=LIMIT)
    assert limit_for(short, *DOCUMENTS) == LIMIT
    assert limit_for(short, *DOCUMENTS, limit=63) == LIMIT
    assert resolved(short, *DOCUMENTS, limit=LIMIT).tables == short.tables
    # Of a nested table alone, or of a column of one.
    for document in DOCUMENTS:
        assert limit_for(short, document) == LIMIT


def test_names_that_no_key_of_the_data_was_cut_to_set_no_limit() -> None:
    short = resolved(new_schema("shop"), {KEY: 1}, limit=LIMIT)
    assert limit_for(short, {"another key, which is just as long": 1}) is None
    assert limit_for(short, {"another key, which is just as long": 1}, limit=63) == 63
    assert limit_for(resolved(new_schema("shop"), {KEY: 1}), {KEY: 1}) is None
    assert limit_for(short, {KEY: 1}, limit=20) == 20
