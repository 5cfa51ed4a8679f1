"""The generic tests of dbt's YAML files, and their SQL."""

from __future__ import annotations

from typing import Any

import pytest

from schemactl.readers.dbt_tests import ColumnTest, read_column_tests, sql_of_test

YAML = """
version: 2
models:
  - name: stg
    tests:
      - dbt_utils.not_constant: {column_name: note}
      - dbt_utils.unique_combination_of_columns: {combination_of_columns: [id, note]}
    columns:
      - name: id
        data_tests:
          - unique
          - not_null:
              name: has_id
              config: {severity: warn}
      - name: buyer
        tests:
          - relationships: {to: "ref('customers')", field: id}
          - relationships: {arguments: {to: "source('shop', 'people')", field: key}}
          - test_name: accepted_values
            values: [1, 2]
          - dbt_expectations.expect_column_to_exist:
      - name: plain
sources:
  - name: shop
    tables:
      - name: orders
        columns:
          - {name: amount, tests: [not_null]}
"""


def test_tests_are_read_in_all_forms() -> None:
    assert read_column_tests(YAML, "models/schema.yml") == [
        ColumnTest(None, "stg", "note", "not_constant", "dbt_utils_not_constant_stg_note"),
        ColumnTest(None, "stg", "id", "unique", "unique_stg_id"),
        ColumnTest(None, "stg", "id", "not_null", "has_id"),
        ColumnTest(None, "stg", "buyer", "relationships", "relationships_stg_buyer", "ref('customers')", "id"),
        ColumnTest(None, "stg", "buyer", "relationships", "relationships_stg_buyer", "source('shop', 'people')", "key"),
        ColumnTest(None, "stg", "buyer", "accepted_values", "accepted_values_stg_buyer"),
        ColumnTest(None, "stg", "buyer", "expect_column_to_exist", "dbt_expectations_expect_column_to_exist_stg_buyer"),
        ColumnTest("shop", "orders", "amount", "not_null", "source_not_null_shop_orders_amount"),
    ]


@pytest.mark.parametrize("text", ["models: [", "models:\n\t- x", "- &a [*a]"])
def test_a_file_that_is_no_yaml_has_unknown_tests(text: str) -> None:
    assert read_column_tests(text, "models/schema.yml") is None


@pytest.mark.parametrize("text", ["models: 1", "- a", "models: [1, {name: x, columns: {a: b}, tests: {unique: 1}}]"])
def test_a_file_of_another_form_has_no_tests(text: str) -> None:
    assert read_column_tests(text, "models/schema.yml") == []


def node(kind: str, column: str = "id", **arguments: str) -> dict[str, Any]:
    return {"column_name": column, "test_metadata": {"name": kind, "kwargs": arguments}}


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("unique", "select id from a.t where id is not null group by id having count(*) > 1"),
        ("not_null", "select id from a.t where id is null"),
        ("accepted_values", "select id from a.t where id not in ('x') group by id"),
        ("at_least_one", "select max(id) from a.t"),
        ("relationships", "select max(id) from a.t"),
    ],
)
def test_a_test_has_sql(kind: str, sql: str) -> None:
    assert sql_of_test(node(kind), "a.t", None, "duckdb") == sql


def test_a_test_of_relationships_reads_both_tables() -> None:
    sql = sql_of_test(node("relationships", "my id", field="Key"), "a.t", "b.u", "duckdb")
    assert sql == 'select c."my id" from a.t as c left join b.u as p on c."my id" = p.Key ' + (
        'where c."my id" is not null and p.Key is null'
    )
