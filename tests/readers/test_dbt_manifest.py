"""Readers of a dbt project, by its manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemactl.errors import InputError
from schemactl.readers.kinds.dbt import read, read_manifest
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Answer, Clause, Reader, Readership
from schemactl.schema.reader_effects import ReaderEffect
from schemactl.store.file_trees import WorkingFiles

TABLES = ReadTables({"orders": ("id", "amount", "note"), "customers": ("id",)}, "raw")
SOURCE = "source.shop.raw.orders"


def node(name: str, *parents: str, kind: str = "model", **more: Any) -> dict[str, Any]:
    path = f"models/{name}.sql"
    fields = {"resource_type": kind, "name": name, "original_file_path": path, "language": "sql"}
    return {**fields, "depends_on": {"nodes": list(parents)}, **more}


SQL = "with source as (\n  select * from {}\n)\nselect id, amount + 1 as a\nfrom source"


def manifest(*, version: int = 12, **nodes: dict[str, Any]) -> str:
    stg = node(
        "stg_orders",
        SOURCE,
        raw_code=SQL.format("{{ source('raw', 'orders') }}"),
        compiled_code=SQL.format('"db"."raw"."orders"'),
        config={"meta": {"owner": "data@shop"}},
    )
    content = {
        "metadata": {
            "dbt_schema_version": f"https://schemas.getdbt.com/dbt/manifest/v{version}.json",
            "adapter_type": "postgres",
        },
        "sources": {
            SOURCE: {"database": "db", "schema": "raw", "identifier": "orders", "name": "orders"},
            "source.shop.raw.other": {"database": "db", "schema": "raw", "identifier": "other", "name": "other"},
        },
        "nodes": {
            "model.shop.stg_orders": stg,
            "model.shop.mart": node("mart", "model.shop.stg_orders"),
            "test.shop.t": node("t", "model.shop.mart", kind="test"),
            **nodes,
        },
        "exposures": {
            "exposure.shop.revenue": {
                "resource_type": "exposure",
                "name": "revenue",
                "label": "Revenue",
                "owner": {"name": "Finance", "email": "f@shop"},
                "original_file_path": "models/exposures.yml",
                "depends_on": {"nodes": ["model.shop.mart"]},
            }
        },
    }
    return json.dumps(content)


def readership(text: str) -> Readership:
    return read_manifest(text, "target/manifest.json", TABLES, None)


def test_compiled_sql_says_which_columns_of_a_source_a_model_reads() -> None:
    project = readership(manifest())
    assert [project.answer("orders", column) for column in ("id", "amount", "note")] == [
        Answer.READ,
        Answer.READ,
        Answer.NOT_READ,
    ]
    (broken,) = project.broken_by(ReaderEffect.RETYPED, "orders", "amount")
    assert (broken.reader.name, broken.reader.owner) == ("stg_orders", "data@shop")
    assert str(broken.uses[0].location) == "models/stg_orders.sql:4"


def test_what_depends_on_a_model_is_downstream_of_it() -> None:
    (broken,) = readership(manifest()).broken_by(ReaderEffect.REMOVED, "orders", "id")
    assert [(reader.kind, reader.name, reader.owner) for reader in broken.downstream] == [
        ("model", "mart", None),
        ("exposure", "Revenue", "Finance"),
    ]


def test_lines_of_compiled_sql_that_a_macro_has_moved_are_left_out() -> None:
    moved = node(
        "moved",
        SOURCE,
        raw_code="{{ columns() }}",
        compiled_code='select\n  note\nfrom "db"."raw"."orders"',
    )
    project = readership(manifest(**{"model.shop.moved": moved}))
    locations = {str(use.location) for use in project.uses_of("orders", "note")}
    assert locations == {"models/moved.sql"}


def test_a_column_that_a_model_passes_on_by_a_star_is_read_by_the_models_behind_it() -> None:
    base = node("base", SOURCE, schema="stage", compiled_code='select * from "db"."raw"."orders"')
    again = node("again", "model.shop.base", schema="stage", compiled_code="select * from stage.base where id > 1")
    mart = node("mart", "model.shop.again", schema="marts", compiled_code="select sum(amount) from stage.again")
    nodes = {"model.shop.base": base, "model.shop.again": again, "model.shop.mart": mart}
    content = json.loads(manifest(**nodes))
    del content["nodes"]["model.shop.stg_orders"]
    project = readership(json.dumps(content))
    named = {(use.reader.name, use.column, use.clause.value) for use in project.uses if use.clause.value != "select *"}
    assert named == {("base", None, "from"), ("again", "id", "where"), ("mart", "amount", "select")}
    answers = [project.answer("orders", column) for column in ("id", "amount", "note")]
    assert answers == [Answer.READ, Answer.READ, Answer.UNKNOWN]


BLIND = {
    "a Python model": {"language": "python", "compiled_code": "def model(dbt, session): ..."},
    "no compiled SQL: run `dbt compile`": {"raw_code": "select 1"},
    "compiled SQL that does not name the source": {"raw_code": "select 1", "compiled_code": "select 1"},
}


@pytest.mark.parametrize(("reason", "fields"), BLIND.items(), ids=BLIND)
def test_a_model_that_cannot_be_followed_is_named(reason: str, fields: dict[str, Any]) -> None:
    project = readership(manifest(**{"model.shop.odd": node("odd", SOURCE, **fields)}))
    assert [(item.reader.name, item.table, item.reason) for item in project.blind] == [("odd", "orders", reason)]
    assert project.answer("orders", "note") is Answer.UNKNOWN


def test_an_exposure_of_a_source_cannot_be_told() -> None:
    board = node("board", SOURCE, kind="exposure", label="Board")
    project = readership(manifest(**{"exposure.shop.board": board}))
    assert [item.reader for item in project.blind] == [Reader("exposure", "Board", project.blind[0].reader.location)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a manifest of dbt"),
        ('{"metadata": {"dbt_schema_version": 3}}', "is not a manifest of dbt"),
        (manifest(version=4), "is version 4 of dbt's manifest; versions 9 to 12 can be read"),
    ],
)
def test_another_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        readership(text)


@pytest.mark.parametrize("version", [9, 10, 11, 12])
def test_the_four_newest_versions_are_read(version: int) -> None:
    assert readership(manifest(version=version)).answer("orders", "id") is Answer.READ


def test_a_project_folder_stands_for_its_manifest(tmp_path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "manifest.json").write_text(manifest())
    assert read(str(tmp_path), TABLES, None, WorkingFiles()).answer("orders", "id") is Answer.READ


@pytest.mark.parametrize("section", ["nodes", "sources", "exposures"])
def test_parts_of_another_shape_are_left_out(section: str) -> None:
    content = json.loads(manifest())
    content[section] = {"a": 1, "b": {"depends_on": 3}, "c": {"depends_on": {"nodes": "x"}}}
    assert readership(json.dumps(content)).uses_of("customers") == ()


OWNERS = {
    "a string": ({"config": {"meta": {"owner": "data@shop"}}}, "data@shop"),
    "a list": ({"meta": {"owner": ["a", "b", 3]}}, "a, b"),
    "an object": ({"meta": {"owner": {"email": "a@shop", "slack": "x"}}}, "a@shop"),
    "of the group": ({"config": {"group": "finance"}}, "Finance team"),
    "of the node before that of the group": ({"group": "finance", "meta": {"owner": "me"}}, "me"),
    "of an unknown group": ({"group": "sales"}, None),
    "of another shape": ({"meta": {"owner": 3}, "config": 4}, None),
    "deep": ({"meta": {"owner": [[[["x"]]]]}}, None),
}


@pytest.mark.parametrize(("fields", "owner"), OWNERS.values(), ids=OWNERS)
def test_a_model_has_the_owner_in_its_meta_or_of_its_group(fields: dict[str, Any], owner: str | None) -> None:
    content = json.loads(manifest(**{"model.shop.owned": node("owned", SOURCE, **fields)}))
    content["groups"] = {"group.shop.finance": {"name": "finance", "owner": {"name": "Finance team", "email": "f@x"}}}
    blind = readership(json.dumps(content)).blind
    assert [item.reader.owner for item in blind if item.reader.name == "owned"] == [owner]


def test_a_model_of_a_package_is_in_the_folder_of_the_package() -> None:
    content = json.loads(manifest(**{"model.x.m": node("m", SOURCE, package_name="x")}))
    content["metadata"]["project_name"] = "shop"
    locations = {item.reader.name: str(item.reader.location) for item in readership(json.dumps(content)).blind}
    assert locations["m"] == "dbt_packages/x/models/m.sql"


def sql_node(name: str, sql: str, *parents: str, **more: Any) -> dict[str, dict[str, Any]]:
    return {f"model.shop.{name}": node(name, *parents, schema="stage", raw_code=sql, compiled_code=sql, **more)}


STAGING = sql_node("renamed", "select id, amount as euros, note from raw.orders", SOURCE)
MART = sql_node("sums", "select sum(euros) as total\nfrom stage.renamed\nwhere note > 'a'", "model.shop.renamed")


def breaking(effect: ReaderEffect, column: str, nodes: dict[str, dict[str, Any]]) -> list[tuple[str, list[int]]]:
    """Return the readers that a change breaks, with lines."""
    content = json.loads(manifest(**nodes))
    del content["nodes"]["model.shop.stg_orders"]
    broken = readership(json.dumps(content)).broken_by(effect, "orders", column)
    return sorted((item.reader.name, [use.location.line for use in item.uses if use.location]) for item in broken)


def test_a_retype_breaks_the_models_that_compute_a_column_which_another_model_passes_on() -> None:
    nodes = STAGING | MART
    assert breaking(ReaderEffect.RETYPED, "amount", nodes) == [("sums", [1])]
    assert breaking(ReaderEffect.RETYPED, "note", nodes) == [("sums", [3])]
    assert breaking(ReaderEffect.RETYPED, "id", nodes) == []


def test_a_removal_breaks_the_model_that_names_the_column() -> None:
    assert breaking(ReaderEffect.REMOVED, "amount", STAGING | MART) == [("renamed", [1])]


def test_columns_are_followed_through_models_of_both_kinds() -> None:
    base = sql_node("base", "select * from raw.orders", SOURCE)
    middle = sql_node("middle", "select amount as cents, note from stage.base", "model.shop.base")
    last = sql_node("last", "select cents / 100 as euros from stage.middle", "model.shop.middle")
    nodes = base | middle | last
    assert breaking(ReaderEffect.REMOVED, "amount", nodes) == [("middle", [1])]
    assert breaking(ReaderEffect.RETYPED, "amount", nodes) == [("last", [1])]


def test_a_star_passes_on_its_columns_without_excluded_and_computed_columns() -> None:
    sql = "select * exclude (note, amount), lower(note) as note from raw.orders"
    base = sql_node("base", sql, SOURCE)
    mart = sql_node("mart", "select id + 1, upper(note), amount from stage.base", "model.shop.base")
    content = json.loads(manifest(**base, **mart))
    content["metadata"]["adapter_type"] = "duckdb"
    uses = {(use.column, use.clause.value) for use in readership(json.dumps(content)).uses if use.reader.name == "mart"}
    assert uses == {("id", "select")}


def test_the_sql_of_an_ephemeral_model_is_read_in_the_models_that_contain_it() -> None:
    inner = sql_node("inner", "select * from raw.orders", SOURCE, config={"materialized": "ephemeral"})
    sql = "with __dbt__cte__inner as (select * from raw.orders) select note from __dbt__cte__inner where id > 1"
    outer = sql_node("outer", sql, "model.shop.inner")
    assert breaking(ReaderEffect.REMOVED, "note", inner | outer) == [("outer", [1])]
    assert breaking(ReaderEffect.RETYPED, "id", inner | outer) == [("outer", [1])]


def test_a_table_that_a_model_names_without_source_is_read() -> None:
    nodes = sql_node("direct", "select note from raw.orders")
    assert breaking(ReaderEffect.REMOVED, "note", nodes) == [("direct", [1])]


def test_a_model_with_the_name_of_a_table_is_no_reader_of_it() -> None:
    nodes = sql_node("orders", "select note from stage.orders where 'raw' = 'raw'")
    assert breaking(ReaderEffect.REMOVED, "note", nodes) == []


def test_models_that_depend_on_each_other_end() -> None:
    first = sql_node("first", "select * from raw.orders join stage.second using (id)", SOURCE, "model.shop.second")
    second = sql_node("second", "select * from stage.first where amount > 1", "model.shop.first")
    assert breaking(ReaderEffect.REMOVED, "amount", first | second) == [("second", [1])]


@pytest.mark.parametrize("adapter", ["vertica", "glue", "an adapter to come"])
def test_an_adapter_whose_dialect_is_not_known_is_read(adapter: str) -> None:
    content = json.loads(manifest())
    content["metadata"]["adapter_type"] = adapter
    assert readership(json.dumps(content)).answer("orders", "id") is Answer.READ


def test_readers_behind_a_star_have_what_depends_on_them() -> None:
    base = sql_node("base", "select * from raw.orders", SOURCE)
    mart = sql_node("daily", "select amount from stage.base", "model.shop.base")
    last = sql_node("last", "select 1", "model.shop.daily")
    content = json.loads(manifest(**base, **mart, **last))
    (daily,) = [
        item
        for item in readership(json.dumps(content)).broken_by(ReaderEffect.REMOVED, "orders", "amount")
        if item.reader.name == "daily"
    ]
    assert [reader.name for reader in daily.downstream] == ["last"]


@pytest.mark.parametrize(("fields", "uses", "blind"), [
    ({"loaded_at_field": "id"}, set(), []),
    ({"loaded_at_field": "id", "freshness": {"warn_after": {"count": None}}}, set(), []),
    ({"loaded_at_field": "id", "freshness": {"warn_after": {"count": 1}}}, {("id", "select")}, []),
    ({"loaded_at_field": "cast(note as date)", "freshness": {"error_after": {"count": 1}, "filter": "amount > 1"}},
     {("note", "select"), ("amount", "where")}, []),
    ({"loaded_at_query": "select 1", "freshness": {"error_after": {"count": 1}}}, set(),
     ["the query of its freshness"]),
])  # fmt: skip
def test_the_freshness_of_a_source_reads_its_columns(
    fields: dict[str, Any], uses: set[tuple[str, str]], blind: list[str]
) -> None:
    content = json.loads(manifest())
    content["sources"][SOURCE] |= {"source_name": "shop", "original_file_path": "models/sources.yml", **fields}
    project = readership(json.dumps(content))
    readers = [use for use in project.uses if use.reader.kind == "source freshness" and use.column is not None]
    assert {(use.column, use.clause.value) for use in readers} == uses
    assert {(use.reader.name, str(use.location)) for use in readers} <= {("shop.orders", "models/sources.yml")}
    assert [item.reason for item in project.blind] == blind


CONFIGURED = {
    "a snapshot by columns": (
        "snapshot",
        {"unique_key": "id", "check_cols": ["amount"]},
        {"id", "amount"},
    ),
    "a snapshot by time": ("snapshot", {"unique_key": ["ID"], "updated_at": "note"}, {"id", "note"}),
    "a key that is an expression": ("snapshot", {"unique_key": "id || '-' || note"}, {"id", "note"}),
    "an incremental model": ("model", {"materialized": "incremental", "unique_key": "id"}, {"id"}),
    "a table": ("model", {"materialized": "table", "unique_key": "id"}, set()),
    "other shapes": ("snapshot", {"unique_key": 3, "check_cols": {"a": "id"}}, set()),
}


@pytest.mark.parametrize(("kind", "config", "columns"), CONFIGURED.values(), ids=CONFIGURED)
def test_the_configuration_of_a_node_compares_columns(kind: str, config: dict[str, Any], columns: set[str]) -> None:
    text = 'select * from "db"."raw"."orders"'
    nodes = {f"{kind}.shop.keyed": node("keyed", SOURCE, kind=kind, compiled_code=text, config=config)}
    project = readership(manifest(**nodes))
    compared = {use.column for use in project.uses if use.reader.name == "keyed" and use.clause is Clause.WHERE}
    assert compared == columns


@pytest.mark.parametrize(
    ("sql", "effect", "broken"),
    [
        ("select * from raw.orders", ReaderEffect.REMOVED, ["Sales"]),
        ("select * from raw.orders", ReaderEffect.RETYPED, ["Sales"]),
        ("select id, amount from raw.orders", ReaderEffect.REMOVED, ["base"]),
        ("select id, amount from raw.orders", ReaderEffect.RETYPED, ["Sales"]),
    ],
)
def test_a_semantic_model_reads_the_columns_that_its_model_passes_on(
    sql: str, effect: ReaderEffect, broken: list[str]
) -> None:
    base = sql_node("base", sql, SOURCE)
    content = json.loads(manifest(**base))
    del content["nodes"]["model.shop.stg_orders"]
    content["semantic_models"] = {
        "semantic_model.shop.sales": {
            "resource_type": "semantic_model",
            "name": "Sales",
            "original_file_path": "models/sales.yml",
            "node_relation": {"relation_name": '"db"."stage"."base"'},
            "depends_on": {"nodes": ["model.shop.base"]},
            "entities": [{"name": "order", "expr": "id"}, 3],
            "dimensions": None,
            "measures": [{"name": "revenue", "expr": "amount", "agg": "sum"}, {"name": "count", "expr": "1"}],
        }
    }
    project = readership(json.dumps(content))
    readers = project.broken_by(effect, "orders", "amount")
    assert [item.reader.name for item in readers] == broken
    assert {str(use.location) for use in project.uses if use.reader.name == "Sales"} == {"models/sales.yml"}
    assert project.answer("orders", "note") is not Answer.READ


CORRELATED = """
select id from "db"."raw"."orders" as o
where exists (select 1 from "db"."marts"."Cities" where note = o.id)
"""


@pytest.mark.parametrize(
    ("catalog", "answer"),
    [
        (None, Answer.UNKNOWN),
        ({"nodes": {"m": {"metadata": {"schema": "marts", "name": "Cities"}, "columns": {"note": {}}}}}, None),
        ({"sources": {"s": {"metadata": {"schema": "MARTS", "name": "cities"}, "columns": {"x": {}}}}}, Answer.READ),
        ({"nodes": {"m": {"metadata": {"schema": "other", "name": "cities"}, "columns": {}}}}, Answer.UNKNOWN),
        ({"nodes": []}, Answer.UNKNOWN),
    ],
)
def test_a_catalog_says_which_columns_other_tables_have(
    catalog: dict[str, Any] | None, answer: Answer | None, tmp_path: Path
) -> None:
    content = json.loads(manifest(**{"model.shop.c": node("c", SOURCE, compiled_code=CORRELATED)}))
    del content["nodes"]["model.shop.stg_orders"]
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    if catalog is not None:
        (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    project = read(str(tmp_path), TABLES, None, WorkingFiles())
    assert project.answer("orders", "note") is (answer or Answer.NOT_READ)
    assert project.answer("orders", "id") is Answer.READ


def test_a_catalog_that_is_not_json_is_reported(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(manifest())
    (tmp_path / "catalog.json").write_text("{")
    with pytest.raises(InputError, match=r"catalog\.json` is not JSON") as refusal:
        read(str(tmp_path), TABLES, None, WorkingFiles())
    assert "dbt docs generate" in str(refusal.value.hint)


def test_a_name_that_needs_quotes_is_followed_through_a_star() -> None:
    tables = ReadTables({"orders": ("Id", "Note")}, "raw")
    stg = node("stg_orders", SOURCE, compiled_code='select * from "db"."raw"."orders"', schema="main")
    mart = node("mart", "model.shop.stg_orders", compiled_code='select max("Id") from "db"."main"."stg_orders"')
    text = manifest(**{"model.shop.stg_orders": stg, "model.shop.mart": mart})
    project = read_manifest(text, "target/manifest.json", tables, None)
    assert [reader.reader.name for reader in project.broken_by(ReaderEffect.REMOVED, "orders", "Id")] == ["mart"]


def test_the_star_of_a_test_reads_no_column() -> None:
    sql = "select * from raw.orders where amount < 0"
    union = "select * from raw.orders union all select * from raw.orders"
    nodes = {
        "test.shop.a": node("a", SOURCE, kind="test", compiled_code=sql),
        "test.shop.b": node("b", SOURCE, kind="test", compiled_code=union),
    }
    project = readership(manifest(**nodes))
    uses = {(use.reader.name, use.column) for use in project.uses if use.reader.kind == "test" and use.column}
    assert uses == {("a", "amount"), *(("b", column) for column in TABLES.columns["orders"])}
