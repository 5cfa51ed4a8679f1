"""The verdicts of rules, held against what PostgreSQL, DuckDB and dlt do with the same change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, time
from decimal import Decimal
from itertools import product

import postgres_server
import pytest

from schemactl.review.comparison import Side
from schemactl.review.review import ReviewSettings, compare, review
from schemactl.review.rules.names import RESERVED_WORDS
from schemactl.review.severity import Severity
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, schema_from_dict

Run = Callable[[str], list]


@pytest.fixture(scope="module")
def engines(postgres_url: str) -> Iterator[dict[str, Run]]:
    import duckdb
    import psycopg

    with (
        postgres_server.database(postgres_url) as url,
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as postgres,
    ):
        memory = duckdb.connect()
        for connection in (postgres, memory):
            connection.execute("SET TimeZone = 'UTC'")

        def on_postgres(statement: str) -> list:
            cursor = postgres.execute(statement)
            return cursor.fetchall() if cursor.description else []

        yield {"postgres": on_postgres, "duckdb": lambda statement: memory.execute(statement).fetchall()}


# Readers of a column whose type changed

TYPES = {
    DataType.BIGINT: {"postgres": "bigint", "duckdb": "bigint", "value": "42"},
    DataType.DOUBLE: {"postgres": "double precision", "duckdb": "double", "value": "42.5"},
    DataType.DECIMAL: {"postgres": "numeric(38, 9)", "duckdb": "decimal(38, 9)", "value": "42.5"},
    DataType.WEI: {"postgres": "numeric(38, 0)", "duckdb": "decimal(38, 0)", "value": "42"},
    DataType.TEXT: {"postgres": "varchar", "duckdb": "varchar", "value": "'abc'"},
    DataType.TIMESTAMP: {"postgres": "timestamptz", "duckdb": "timestamptz", "value": "'2024-02-03 04:05:06+00'"},
    DataType.DATE: {"postgres": "date", "duckdb": "date", "value": "'2024-02-03'"},
    DataType.TIME: {"postgres": "time", "duckdb": "time", "value": "'04:05:06'"},
    DataType.BOOL: {"postgres": "boolean", "duckdb": "boolean", "value": "true"},
    DataType.JSON: {"postgres": "jsonb", "duckdb": "json", "value": "'[1, 2]'"},
    DataType.BINARY: {"postgres": "bytea", "duckdb": "blob", "value": "'abc'"},
}
JOIN = "SELECT * FROM facts JOIN keys ON facts.c = keys.c"
ON_NUMBERS = (
    *("SELECT sum(c) FROM facts", "SELECT c + 1 FROM facts", "SELECT count(*) FROM facts WHERE c > 10"),
    *("SELECT abs(c) FROM facts", "SELECT avg(c) FROM facts", JOIN),
)
ON_DAYS = ("SELECT extract(year FROM c) FROM facts", "SELECT c + INTERVAL '1 day' FROM facts", JOIN)
QUERIES = {
    **dict.fromkeys((DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI), ON_NUMBERS),
    DataType.TEXT: (
        *("SELECT upper(c) FROM facts", "SELECT trim(c) FROM facts", "SELECT replace(c, 'a', 'b') FROM facts"),
        *("SELECT length(c) FROM facts", "SELECT c || 'x' FROM facts"),
        *("SELECT count(*) FROM facts WHERE c = 'abc'", "SELECT count(*) FROM facts WHERE c LIKE 'a%'", JOIN),
    ),
    DataType.TIMESTAMP: (
        *("SELECT date_trunc('day', c) FROM facts", *ON_DAYS),
        "SELECT count(*) FROM facts WHERE c > TIMESTAMPTZ '2024-01-01 00:00:00+00'",
    ),
    DataType.DATE: (
        *("SELECT date_trunc('month', c) FROM facts", *ON_DAYS),
        "SELECT count(*) FROM facts WHERE c >= DATE '2024-01-01'",
    ),
    DataType.TIME: (
        *("SELECT extract(hour FROM c) FROM facts", "SELECT count(*) FROM facts WHERE c > TIME '12:00:00'"),
        *("SELECT c + INTERVAL '1 hour' FROM facts", JOIN),
    ),
    DataType.BOOL: (
        *("SELECT count(*) FROM facts WHERE c", "SELECT NOT c FROM facts", "SELECT bool_and(c) FROM facts"),
        *("SELECT CASE WHEN c THEN 1 ELSE 0 END FROM facts", JOIN),
    ),
    DataType.JSON: (
        *("SELECT c->'a' FROM facts", "SELECT c->>'a' FROM facts"),
        "SELECT * FROM facts JOIN keys ON CAST(facts.c AS text) = CAST(keys.c AS text)",
    ),
    DataType.BINARY: ("SELECT octet_length(c) FROM facts", "SELECT encode(c, 'base64') FROM facts", JOIN),
}


@pytest.mark.parametrize(("before", "after"), list(product(DataType, DataType)))
def test_readers_are_broken_where_postgres_refuses_half_of_their_queries_or_more(engines, before, after):
    refused = {name: refused_share(run, name, before, after) for name, run in engines.items()}

    readers = worst(retyped(before, after), "readers")

    assert (readers is Severity.ERROR) == (refused["postgres"] >= 0.5)
    assert readers is Severity.ERROR or refused["duckdb"] == 0


def refused_share(run: Run, engine: str, before: DataType, after: DataType) -> float:
    """Return which share of the queries on a column of type ``before`` fails once it is of type ``after``."""
    create(run, engine, "keys", before)
    create(run, engine, "facts", before)
    queries = [query for query in QUERIES[before] if not is_refused(run, query)]
    create(run, engine, "facts", after)
    return sum(is_refused(run, query) for query in queries) / len(queries)


def create(run: Run, engine: str, table: str, kind: DataType) -> None:
    run(f"DROP TABLE IF EXISTS {table}")
    run(f"CREATE TABLE {table} (c {TYPES[kind][engine]})")
    run(f"INSERT INTO {table} VALUES ({TYPES[kind]['value']})")


def is_refused(run: Run, query: str) -> bool:
    import duckdb
    import psycopg

    try:
        run(query)
    except (psycopg.Error, duckdb.Error):
        return True
    return False


def retyped(before: DataType, after: DataType) -> tuple:
    return findings(*({"tables": {"facts": {"columns": {"c": {"data_type": str(kind)}}}}} for kind in (before, after)))


# Names


def test_reserved_words_are_those_of_the_engines(engines):
    words = engines["postgres"]("SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')")
    assert RESERVED_WORDS["PostgreSQL"] >= {word for (word,) in words}
    words = engines["duckdb"](
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
    )
    assert RESERVED_WORDS["DuckDB"] >= {word for (word,) in words}


def test_duckdb_takes_names_that_differ_in_case_for_one(engines):
    assert is_refused(engines["duckdb"], 'CREATE TABLE clash ("id" bigint, "Id" bigint)')
    columns = {"id": {"data_type": "bigint"}, "Id": {"data_type": "bigint"}}
    found = findings(
        {"tables": {"clash": {"columns": {"id": columns["id"]}}}}, {"tables": {"clash": {"columns": columns}}}
    )
    assert "M908" in {each.rule for each in found}


# How engines spell what becomes text

SPELLED = {
    DataType.BIGINT: (0, -5, 10**15),
    DataType.DOUBLE: (1.0, 1.5, 1e20, 0.1),
    DataType.DECIMAL: (Decimal("1.50"), Decimal("100")),
    DataType.WEI: (Decimal("100"),),
    DataType.DATE: (date(2024, 1, 2),),
    DataType.TIME: (time(4, 5, 6), time(4, 5, 6, 120000)),
    DataType.BOOL: (True,),
}


@pytest.mark.parametrize("before", SPELLED)
def test_d312_names_the_types_that_an_engine_spells_otherwise_than_dlt(engines, before):
    from dlt.common.data_types import coerce_value

    differs = any(
        run(f"SELECT CAST(CAST('{value}' AS {TYPES[before][name]}) AS varchar)")
        != [(coerce_value("text", str(before), value),)]
        for value in SPELLED[before]
        for name, run in engines.items()
    )

    assert ("D312" in {each.rule for each in retyped(before, DataType.TEXT)}) == differs


# Write dispositions: two loads by dlt, with another disposition for the second

LOADS = {
    "append": ([{"id": 1, "v": 10}, {"id": 2, "v": 20}], [{"id": 3, "v": 30}]),
    "replace": ([{"id": 1, "v": 10}, {"id": 2, "v": 20}], [{"id": 1, "v": 10}, {"id": 2, "v": 20}, {"id": 3, "v": 30}]),
    "merge": ([{"id": 1, "v": 10}, {"id": 2, "v": 20}], [{"id": 2, "v": 25}, {"id": 3, "v": 30}]),
}
"""What a source sends whose rows are appended, replaced or merged."""


@pytest.mark.parametrize(("before", "after"), [pair for pair in product(LOADS, LOADS) if pair[0] != pair[1]])
def test_readers_are_broken_where_sums_are_others_after_the_next_load(tmp_path, before, after):
    sums = [
        loaded_twice(tmp_path / second, LOADS[before], before, second).sql("SELECT sum(v) FROM sales.orders")
        for second in (before, after)
    ]

    readers = worst(findings(*(orders_with(each) for each in (before, after))), "readers")

    assert (readers is Severity.ERROR) == (sums[0].fetchall() != sums[1].fetchall())


@pytest.mark.parametrize("before", LOADS)
def test_readers_are_broken_by_scd2_as_keys_stand_twice(tmp_path, before):
    rows = LOADS["merge"]
    found = loaded_twice(tmp_path, rows, before, {"disposition": "merge", "strategy": "scd2"})

    assert found.sql("SELECT count(*) > count(DISTINCT id) FROM sales.orders").fetchall() == [(True,)]
    head = orders_with("merge")
    head["tables"]["orders"]["x-merge-strategy"] = "scd2"
    assert worst(findings(orders_with(before), head), "readers") is Severity.ERROR


NESTED = (
    [{"id": 1, "items": [{"sku": "a"}]}, {"id": 2, "items": [{"sku": "b"}]}],
    [{"id": 1, "items": [{"sku": "c"}]}],
)


def test_the_first_merge_fails_where_nested_rows_have_no_root_key_and_the_advice_helps(tmp_path):
    from dlt.pipeline.exceptions import PipelineStepFailed

    def fill(database) -> None:
        database.execute("ALTER TABLE sales.orders__items ADD COLUMN _dlt_root_id varchar")
        database.execute("UPDATE sales.orders__items SET _dlt_root_id = _dlt_parent_id")

    with pytest.raises(PipelineStepFailed, match="_dlt_root_id"):
        loaded_twice(tmp_path / "failing", NESTED, "append", "merge")
    filled = loaded_twice(tmp_path / "filled", NESTED, "append", "merge", fill)

    assert filled.sql("SELECT sku FROM sales.orders__items ORDER BY sku").fetchall() == [("b",), ("c",)]
    items = {"orders__items": {"parent": "orders", "columns": {"sku": {"data_type": "text"}}}}
    base, head = ({"tables": {**orders_with(each)["tables"], **items}} for each in ("append", "merge"))
    assert worst(findings(base, head), "data") is Severity.ERROR


def loaded_twice(folder, loads, first, second, between=lambda database: None):
    """Return a DuckDB database that dlt has loaded twice."""
    import dlt
    import duckdb

    folder.mkdir(exist_ok=True)
    file = folder / "shop.duckdb"
    opened = duckdb.connect(str(file))  # dlt opens it for each job anew, which takes less time while it is open
    for rows, disposition in zip(loads, (first, second), strict=True):
        if disposition is second:
            between(opened)
        to = dlt.destinations.duckdb(str(file))
        pipeline = dlt.pipeline("shop", destination=to, dataset_name="sales", pipelines_dir=str(folder / "work"))
        pipeline.run(dlt.resource(rows, name="orders", write_disposition=disposition, primary_key="id"))
    return opened


def orders_with(disposition: str) -> dict:
    columns = {"id": {"data_type": "bigint", "primary_key": True}, "v": {"data_type": "bigint"}}
    return {"tables": {"orders": {"write_disposition": disposition, "columns": columns}}}


# What both have in common


def findings(base: dict, head: dict) -> tuple:
    """Return what a review finds between two schemas, of which only the parts are stated that matter."""
    return review(compare(_side(base), _side(head), date(2026, 1, 1)), ReviewSettings())


def _side(parts: dict) -> Side:
    tables = {
        name: {**({} if "parent" in table else {"write_disposition": "append", "resource": name}), **table}
        for name, table in parts["tables"].items()
    }
    return Side(schema_from_dict({**new_schema("shop").to_dict(), **parts, "tables": tables}))


def worst(found: tuple, axis: str) -> Severity:
    return max((getattr(each.impact, axis) for each in found), key=lambda each: each.rank, default=Severity.NONE)
