"""New fields inside structs, lists and maps of tables that Spark's own catalog has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from spark_schemas import copy_schema
from staged_loads import line, lines, order, orders, package, quiet, shop

from schemactl.destinations import spark as destination
from schemactl.destinations.spark import commit
from schemactl.destinations.spark.staging import added_fields
from schemactl.errors import DestinationError
from schemactl.migration.steps import AddColumn, DropColumn
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.nested_types import read_type
from schemactl.schema.types import Schema, Table

_COUNT = itertools.count()
load = import_module("schemactl.destinations.spark.load")  # whose name in the package is a function's
MODULE = "schemactl.normalization.normalizers.nested"
BEFORE = {
    "buyer": "struct<name:string,either:string COMMENT 'json',deep:struct<a:bigint>>",
    "lines": "array<struct<n:bigint>>",
    "prices": "map<string,struct<net:decimal(10,2)>>",
}
AFTER = {
    "buyer": "struct<name:string,either:string COMMENT 'json',deep:struct<a:bigint,`b c`:date>,"
    "more:string COMMENT 'json'>",
    "lines": "array<struct<note:string,n:bigint>>",
    "prices": "map<string,struct<net:decimal(10,2),tax:double>>",
}
ARROW = {
    BEFORE["buyer"]: pa.struct(
        [("name", pa.string()), ("either", pa.string()), ("deep", pa.struct([("a", pa.int64())]))]),
    BEFORE["lines"]: pa.list_(pa.struct([("n", pa.int64())])),
    BEFORE["prices"]: pa.map_(pa.string(), pa.struct([("net", pa.decimal128(10, 2))])),
    AFTER["buyer"]: pa.struct([("name", pa.string()), ("either", pa.string()),
                               ("deep", pa.struct([("a", pa.int64()), ("b c", pa.date32())])), ("more", pa.string())]),
    AFTER["lines"]: pa.list_(pa.struct([("note", pa.string()), ("n", pa.int64())])),
    AFTER["prices"]: pa.map_(pa.string(), pa.struct([("net", pa.decimal128(10, 2)), ("tax", pa.float64())])),
}  # fmt: skip
FIRST: dict[str, Any] = {
    "buyer": {"name": "Ann", "either": "1", "deep": None},
    "lines": [{"n": 1}, None],
    "prices": [("eur", {"net": None}), ("usd", None)],
}
LATER: dict[str, Any] = {
    "buyer": {"name": "Bob", "either": '"x"', "deep": {"a": 2, "b c": None}, "more": "[1]"},
    "lines": [{"note": "late", "n": 3}],
    "prices": [("gbp", {"net": None, "tax": 0.2})],
}
READ_FIRST = [
    {"name": "Ann", "either": "1", "deep": None, "more": None},
    [{"n": 1, "note": None}, None],
    {"eur": {"net": None, "tax": None}, "usd": None},
]
READ_LATER = [
    {"name": "Bob", "either": '"x"', "deep": {"a": 2, "b c": None}, "more": "[1]"},
    [{"n": 3, "note": "late"}],
    {"gbp": {"net": None, "tax": 0.2}},
]


@pytest.fixture
def url(spark: Any) -> Iterator[str]:
    name = f"grown{next(_COUNT)}"
    yield f"spark:spark_catalog.{name}"
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture(scope="module")
def first_load(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A schema that has had a load of the former types."""
    name = "grown_first"
    made = loaded(tmp_path_factory.mktemp(name), nested(BEFORE), "1", order(1, **FIRST))
    destination.load(f"spark:spark_catalog.{name}", made, quiet)
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def begun(first_load: str, url: str, spark: Any) -> None:
    """The schema of the test has had that load."""
    copy_schema(spark, first_load, url.partition(".")[2])


@pytest.fixture
def rows(spark: Any, url: str) -> Callable[..., list[list[Any]]]:
    def read(table: str = "orders") -> list[list[Any]]:
        held = spark.table(f"{url.partition(':')[2]}.{table}").select("id", *BEFORE).orderBy("id").collect()
        return [list(row.asDict(recursive=True).values()) for row in held]

    return read


def nested(types: dict[str, str], **properties: Any) -> Schema:
    columns = {name: {"data_type": "json", "x-spark-type": written} for name, written in types.items()}
    schema = shop(orders(columns, **properties), lines())
    return replace(schema, normalizers={**schema.normalizers, "json": {"module": MODULE}})


def loaded(folder: Path, schema: Schema, load_id: str, *held: dict[str, Any], **more: Any) -> LoadPackage:
    """Return a load of orders, whose columns have the types that the schema states."""
    table = schema.tables["orders"]
    return replace(package(folder, schema, load_id, {}, **more), tables=(staged_nested(folder / load_id, table, held),))


def staged_nested(folder: Path, table: Table, held: tuple[dict[str, Any], ...]) -> StagedTable:
    folder.mkdir(parents=True)
    plain = {"bigint": pa.int64(), "text": pa.string()}
    kinds = pa.schema(
        [
            (
                name,
                ARROW[each.properties["x-spark-type"]] if "x-spark-type" in each.properties else plain[each.data_type],
            )
            for name, each in table.columns.items()
        ]
    )
    full = [{name: row.get(name) for name in kinds.names} for row in held]
    pyarrow.parquet.write_table(pa.Table.from_pylist(full, kinds), folder / "part.parquet")
    return StagedTable(table, folder, len(full))


@pytest.mark.usefixtures("begun")
def test_new_fields_are_added_wherever_they_stand(tmp_path: Path, url: str, rows: Any, spark: Any) -> None:
    name = url.partition(":")[2]
    spark.sql(f"COMMENT ON TABLE {name}.orders IS 'all orders'")
    spark.sql(f"ALTER TABLE {name}.orders SET TBLPROPERTIES ('owned by' = 'sales')")
    destination.check_tables(url, nested(AFTER))
    destination.load(url, loaded(tmp_path, nested(AFTER), "2", order(2, "2", **LATER)), quiet)
    assert rows() == [[1, *READ_FIRST], [2, *READ_LATER]]
    # Files of the former type go on, and what the table is said to be stays.
    destination.load(url, loaded(tmp_path, nested(BEFORE), "3", order(3, "3", **FIRST)), quiet)
    assert rows() == [[1, *READ_FIRST], [2, *READ_LATER], [3, *READ_FIRST]]
    reported = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}.orders").collect()}
    assert (reported["Comment"], reported["Provider"], reported["Type"]) == ("all orders", "parquet", "MANAGED")
    assert "owned by=sales" in reported["Table Properties"]
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2", "3"}
    assert not [row for row in spark.sql(f"SHOW TABLES IN {name}").collect() if "_schemactl_new" in row.tableName]


@pytest.mark.parametrize("disposition", ["replace", "merge"])
def test_tables_that_are_written_anew_take_new_fields_too(
    tmp_path: Path, url: str, rows: Any, disposition: str
) -> None:
    hints = {"write_disposition": disposition}
    key = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}}

    def keyed(types: dict[str, str]) -> Schema:
        schema = nested(types, **hints)
        table = schema.tables["orders"]
        properties = key["id"] if disposition == "merge" else table.columns["id"].properties
        columns = {**table.columns, "id": replace(table.columns["id"], properties=properties)}
        return schema.with_table(replace(table, columns=columns))

    held = [order(1, **FIRST), order(2, **FIRST)]
    destination.load(url, loaded(tmp_path, keyed(BEFORE), "1", *held), quiet)
    destination.load(url, loaded(tmp_path, keyed(AFTER), "2", order(2, "2", **LATER)), quiet)
    kept = [[1, *READ_FIRST]] if disposition == "merge" else []
    assert rows() == [*kept, [2, *READ_LATER]]


class Killed(BaseException):
    """Stands for the end of the process: nobody cleans up."""


@pytest.mark.parametrize("moment", ["before", "between", "after"])
@pytest.mark.usefixtures("begun")
def test_a_load_that_is_killed_as_a_table_changes_is_finished_by_the_next(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    real = commit.take_place

    def taken(tables: Any, name: str, copy: str) -> None:
        if moment == "between":
            spark.sql(f"DROP TABLE {tables.full(name)}")
        elif moment == "after":
            real(tables, name, copy)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "take_place", taken)
        with pytest.raises(Killed):
            destination.load(url, loaded(tmp_path, nested(AFTER), "2", order(2, "2", **LATER)), quiet)
    assert destination.read_past_loads(url, "shop").load_ids == {"1", "2"}
    destination.load(url, loaded(tmp_path, nested(AFTER), "3", order(3, "3", **LATER)), quiet)
    assert rows() == [[1, *READ_FIRST], [2, *READ_LATER], [3, *READ_LATER]]


@pytest.mark.usefixtures("begun")
def test_a_load_that_fails_leaves_the_table_as_it_was(
    tmp_path: Path, url: str, rows: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = url.partition(":")[2]
    before, schema = rows(), spark.table(f"{name}.orders").schema

    def fail(*_: Any) -> None:
        raise DestinationError("is full")

    with monkeypatch.context() as patched:
        patched.setattr(load, "stage_rows", fail)
        with pytest.raises(DestinationError, match="is full"):
            destination.load(url, loaded(tmp_path, nested(AFTER), "2", order(2, "2", **LATER)), quiet)
    assert rows() == before
    assert spark.table(f"{name}.orders").schema == schema
    assert not [row for row in spark.sql(f"SHOW TABLES IN {name}").collect() if "_schemactl_new" in row.tableName]


@pytest.mark.usefixtures("begun")
def test_tables_nested_in_one_that_grows_are_loaded_as_ever(tmp_path: Path, url: str, rows: Any, spark: Any) -> None:
    later = loaded(tmp_path, nested(AFTER), "2", order(2, "2", **LATER))
    below = package(tmp_path, nested(AFTER), "2", {"orders__lines": [line("r2.2", 0, "a")]}).tables
    destination.load(url, replace(later, tables=(*later.tables, *below)), quiet)
    assert [row[0] for row in rows()] == [1, 2]
    assert spark.table(f"{url.partition(':')[2]}.orders__lines").count() == 1


@pytest.mark.parametrize(
    ("there", "written", "reported"),
    [
        ("LOCATION", AFTER["buyer"], r"`orders\.buyer\.deep\.b c` is a new field.*`orders` is an external table"),
        ("PARTITIONED BY", AFTER["buyer"], r"`orders\.buyer\.deep\.b c` is a new field.*`orders` is partitioned"),
        ("", "struct<name:date>", r"`orders\.buyer\.name` is string there, and date in the schema"),
        ("", "struct<Name:string>", r"`orders\.buyer\.Name` is called `name` there, and called `Name` in the schema"),
    ],
)
def test_what_no_copy_can_do_is_refused_before_anything_is_written(
    tmp_path: Path, url: str, spark: Any, there: str, written: str, reported: str
) -> None:
    name = url.partition(":")[2]
    spark.sql(f"CREATE SCHEMA {name}")
    kinds = f"id BIGINT, note STRING, buyer {BEFORE['buyer']}, _dlt_load_id STRING, _dlt_id STRING"
    layout = {"": "", "LOCATION": f"LOCATION '{tmp_path}/elsewhere'", "PARTITIONED BY": "PARTITIONED BY (note)"}
    spark.sql(f"CREATE TABLE {name}.orders ({kinds}) USING parquet {layout[there]}")
    schema = nested({"buyer": written})
    with pytest.raises(DestinationError, match=reported):
        destination.check_tables(url, schema)
    assert [row.tableName for row in spark.sql(f"SHOW TABLES IN {name}").collect() if not row.isTemporary] == ["orders"]


def test_other_catalogues_are_reported_each_new_field() -> None:
    """As Spark's own catalog takes no such statement, its text is what there is to look at."""
    pairs = ((name, read_type(BEFORE[name]), read_type(AFTER[name])) for name in BEFORE)
    assert [each for name, there, of in pairs for each in added_fields(f"`{name}`", there, of)] == [
        "`buyer`.`deep`.`b c` date",
        "`buyer`.`more` string",
        "`lines`.element.`note` string",
        "`prices`.value.`tax` double",
    ]


@pytest.mark.usefixtures("begun")
def test_the_catalogue_reports_structures_as_schemas_state_them(tmp_path: Path, url: str, spark: Any) -> None:
    spark.sql(f"ALTER TABLE {url.partition(':')[2]}.orders ADD COLUMNS (smaller ARRAY<INT>)")
    found = destination.read_catalogue(url).schema.tables["orders"].columns
    for name, column in nested(BEFORE).tables["orders"].columns.items():
        assert found[name].properties == destination.stored(column), name
        assert destination.stored(found[name]) == found[name].properties
    assert found["smaller"].properties == {"x-database-type": "array<int>"}
    gains = destination.ABILITIES.gains
    reported = {
        name: gains(found[name].properties["x-database-type"], destination.stored(column)["x-database-type"])
        for name, column in nested(AFTER).tables["orders"].columns.items()
        if name in BEFORE
    }
    assert reported == {"buyer": ("deep.b c", "more"), "lines": ("[].note",), "prices": ("[].tax",)}


def test_columns_that_a_migration_adds_and_copies_keep_structure(tmp_path: Path, url: str, rows: Any) -> None:
    first = nested({"buyer": BEFORE["buyer"]})
    destination.load(url, loaded(tmp_path, first, "1", order(1, **FIRST)), quiet)
    table = nested(BEFORE).tables["orders"]
    with destination.connect(url, "shop") as session:
        for name in ("lines", "prices"):
            step = AddColumn("orders", table.columns[name])
            session.run(step, destination.render(step, table, session.dataset))
        session.run(DropColumn("orders", table.columns["note"]), ())
    assert rows() == [[1, {name: READ_FIRST[0][name] for name in ("name", "either", "deep")}, None, None]]
    destination.load(url, loaded(tmp_path, nested(AFTER), "2", order(2, "2", **LATER)), quiet)
    assert rows() == [[1, READ_FIRST[0], None, None], [2, *READ_LATER]]
