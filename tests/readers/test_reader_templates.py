"""Templates in SQL files."""

# ruff: noqa: E501 - a query is one line

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.readers.kinds.sql import read
from schemactl.readers.tables import ReadTables
from schemactl.store.file_trees import WorkingFiles

COLUMNS = ("id", "amount", "note")
TABLES = ReadTables({"orders": COLUMNS, "orders__items": ("sku",)}, "raw")

READ = {
    "a source and a ref": ("select id from {{ source('raw', 'orders') }} join {{ ref('days') }} using (day)", "id"),
    "spaces before parentheses": ("{{ config (tags=1) }}select id from {{ source ('raw', 'orders') }} join {{ ref ('days') }} using (day) where note = {{ var ('n') }}", "id note"),
    "a dataset by a variable": ("select id from {{ var('schema') }}.orders where note = '{{ ds }}'", "id note"),
    "a dataset by a shell variable": ("select id from ${DATASET}.orders where note > ${day}", "id note"),
    "a database and dataset by variables": ("select id from ${db}.${schema}.orders", "id"),
    "a dataset with a suffix by a variable": ("select id from raw_{{ env }}.orders", "id"),
    "parameters": ("select id from raw.orders where note = :note and amount > %(amount)s", "id note amount"),
    "a value in a list": ("select id from raw.orders where amount in ({{ first }}, {{ second }})", "id amount"),
    "a limit": ("select id from raw.orders limit {{ rows }}", "id"),
    "an alias by a variable": ("select id as {{ name }}_id from raw.orders", "id"),
    "a condition": ("select id from raw.orders {% if full %} where note > 1 {% endif %}", "id note"),
    "a loop": ("{% set days = [1, 2] %}select {% for day in days %} id + {{ day }} as d, {% endfor %} id from raw.orders", None),
    "the model itself": ("select id from raw.orders where id > (select max(t.id) from {{ this }} t)", "id"),
    "settings of the model": ("{{ config(materialized='table', tags=['a']) }}\nselect id from raw.orders", "id"),
    "a comment": ("{# {{ anything() }} #} select id from raw.orders", "id"),
    "an optional clause": ("select id from raw.orders where true [[ and note = {{ note }} ]]", "id note"),
    "a list in a list": ("select [[1, 2], [3]] as lists, id from raw.orders", "id"),
    "a table by a variable": ("select id from {{ table }}", None),
    "a table by a shell variable": ("select id from raw.${table}", None),
    "a table by a part of its name": ("select id from raw.ord{{ suffix }}", None),
    "another table by a part of its name": ("select id from raw.days_{{ suffix }}", ""),
    "a table of another dataset by a variable": ("select id from other.{{ table }}", ""),
    "a table by a parameter": ("select id from identifier(:table)", None),
    "a column by a variable": ("select {{ column }} from raw.orders", None),
    "a column of an alias by a variable": ("select o.{{ column }} from raw.orders o", None),
    "a column by a part of its name": ("select amount_{{ currency }} from raw.orders", None),
    "a column in a function": ("select sum(${column}) from raw.orders", None),
    "a condition by a variable": ("select id from raw.orders where {{ filter }}", None),
    "a column before a value": ("select id from raw.orders where {{ column }} = 3", None),
    "one of two clauses": ("select {% if a %} id {% else %} note {% endif %} from raw.orders", None),
    "a macro": ("select {{ cents('amount') }} from raw.orders", None),
    "a macro's definition": ("{% macro m() %} select id from raw.orders {% endmacro %}", None),
}  # fmt: skip


@pytest.mark.parametrize(("sql", "columns"), READ.values(), ids=READ)
def test_templates_are_filled_in_or_cannot_be_told(
    sql: str, columns: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text(sql)
    readership = read("q.sql", TABLES, "duckdb" if "identifier" not in sql else "snowflake", WorkingFiles())
    assert readership is not None
    if columns is None:
        assert readership.blind_for("orders", "amount"), readership
    else:
        assert readership.blind == ()
        assert {use.column for use in readership.uses if use.column} == set(columns.split())


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "postgres", "tsql", None])
def test_variables_are_found_in_all_cases_of_names(
    dialect: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text("select id from {{ schema }}.orders where {{ column }} = 1")
    readership = read("q.sql", TABLES, dialect, WorkingFiles())
    assert readership is not None
    assert [use.column for use in readership.uses] == [None, "id"]
    assert [item.reason for item in readership.blind] == ["a template that may be any SQL"]
