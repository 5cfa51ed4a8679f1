"""Types of databases that dlt does not have: they are created as they are, as the nearest type, or refused."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from migrated_datasets import ID, column, put, schema_of, undo

from schemactl.cli.app import run
from schemactl.destinations import DESTINATIONS
from schemactl.errors import InputError
from schemactl.flows.import_ import ImportRequest, import_files
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.flows.migrate.migration_folder import NextRequest, check_folder, next_migration
from schemactl.flows.migrate.pending import apply_folder
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.script import write_script
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.types import Column, Properties, Schema

pytestmark = pytest.mark.destinations

TYPES = {
    "duckdb": (
        "UUID", "UBIGINT", "UHUGEINT", "HUGEINT", "UTINYINT", "TINYINT", "ENUM('a', 'it''s')", "INTERVAL", "BIT",
        "TIME WITH TIME ZONE", "INTEGER[]", "INTEGER[3]", "VARCHAR[][]", "STRUCT(a INTEGER, \"b c\" UUID[])",
        "MAP(INTEGER, VARCHAR)", "MAP(VARCHAR, UBIGINT)", "UNION(a INTEGER, b VARCHAR)", "TIMESTAMP_NS", "TIMESTAMP_S",
        "STRUCT(e ENUM('x', 'y'), u UNION(n DOUBLE))", "DECIMAL(5,2)[]", "JSON", "DECIMAL(38,0)", "VARCHAR", "DATE",
        "FLOAT", "BIGNUM", "TIMESTAMP WITH TIME ZONE[]", "STRUCT(a STRUCT(b DATE))[]", "DECIMAL(4,1)[3]", "TIME_NS",
        "MAP(INTEGER, STRUCT(x ENUM('q')))", "VARIANT",
    ),
    "postgresql": (
        "uuid", "character(3)", "bpchar", '"char"', "name", "money", "numeric", "numeric(10,2)", "real", "json",
        "interval", "interval day to second(3)", "interval(2)", "interval year to month", "bit(3)", "bit varying",
        "bit varying(5)", "time with time zone", "time(3) with time zone", "time(2) without time zone", "inet", "cidr",
        "macaddr", "macaddr8", "xml", "point", "box", "polygon", "tsvector", "tsquery", "int4range", "tstzmultirange",
        "integer[]", "uuid[]", "numeric(10,2)[]", "character varying(10)[]", "oid", "regclass", "pg_lsn", "jsonpath",
        "timestamp(3) without time zone", "timestamp with time zone", "character varying(80)", "smallint", "date",
        "jsonb", '"char"[]', "bit(3)[]", "time(3) with time zone[]", "interval minute to second(3)", "oidvector",
        "xid8", "pg_snapshot", "numeric(3,-2)", "numeric(2,5)", "name[]", "real[]", "interval second(2)",
        "int4multirange",
    ),
    "sqlite": (
        "UUID", "UNSIGNED BIG INT", "NATIVE CHARACTER(70)", "MEDIUMINT", "geometry", "", "ANY", "INTERVAL", "POINT",
        "timestamptz", "VARCHAR(80)", "CHAR(3)", "NUMERIC(10, 2)", "INT", "INTEGER", "REAL", "DATE", "int[]", "money",
        "time with time zone", "BIT", "CHARACTER VARYING(10)", "[my type]", "STRING", "DOUBLE PRECISION", "INT2",
        "LONG VARCHAR", "nvarchar(100)", "DATETIME2(7)", "VARCHAR (80)", "int unsigned", "FLOAT(24)",
        "decimal( 10 , 5 )",
    ),
    "mysql": (
        "char(3)", "binary(16)", "varbinary(20)", "bit(3)", "tinyint(4)", "tinyint(1)", "tinyint unsigned", "mediumint",
        "int unsigned", "int(5) unsigned zerofill", "bigint unsigned", "float", "float unsigned", "double unsigned",
        "decimal(10,2) unsigned", "decimal(10,2)", "year", "enum('a','it''s','c,d')", "set('x','y')", "datetime(3)",
        "timestamp null", "timestamp(3) null", "time", "point", "polygon", "geometry", "uuid", "inet4", "inet6", "json",
        "tinytext", "mediumblob", "varchar(20)", "date",
        "double(10,2)", "float(7,4)", "decimal(10,0) unsigned zerofill", "multipoint", "geometrycollection", "bit(64)",
        "time(3)", "tinyint(1) unsigned", "national char(3)", "int(7)", "enum('é','x')",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Engine:
    """A database with two datasets, of which the second one is empty at first."""

    kind: str
    folder: Path
    server: str = ""

    def url(self, dataset: str) -> str:
        match self.kind:
            case "duckdb":
                return f"duckdb:///{self.folder}/{dataset}.duckdb?dataset=main"
            case "sqlite":
                return f"sqlite:///{self.folder}/{dataset}.db"
            case _:
                return f"{self.server}{'&' if '?' in self.server else '?'}dataset={dataset}"

    def run(self, dataset: str, *statements: str) -> list[tuple[Any, ...]]:
        match self.kind:
            case "duckdb":
                with duckdb.connect(f"{self.folder}/{dataset}.duckdb") as connection:
                    return [row for statement in statements for row in connection.execute(statement).fetchall()]
            case "sqlite":
                with closing(sqlite3.connect(f"{self.folder}/{dataset}.db")) as connection:
                    rows = [row for statement in statements for row in connection.execute(statement)]
                    connection.commit()
                    return rows
            case "postgresql":
                with psycopg.connect(self.server, autocommit=True) as connection:
                    connection.execute(f"create schema if not exists {dataset}; set search_path to {dataset}")
                    cursors = [connection.execute(statement) for statement in statements]
                    return [row for cursor in cursors if cursor.description for row in cursor.fetchall()]
            case _:
                import pymysql

                socket = self.server.partition("unix_socket=")[2]
                with pymysql.connect(user="root", unix_socket=socket) as connection, connection.cursor() as cursor:
                    for statement in (f"create database if not exists {dataset}", f"use {dataset}", *statements):
                        cursor.execute(statement)
                    rows = list(cursor.fetchall())
                    connection.commit()
                    return rows

    def columns(self, dataset: str) -> dict[str, dict[str, Properties]]:
        """Return the types of all columns, by table and name."""
        tables = DESTINATIONS[self.kind].read_catalogue(self.url(dataset)).schema.tables
        return {
            name: {key: {**column.properties, "primary_key": None} for key, column in table.columns.items()}
            for name, table in tables.items()
            if not name.startswith(("_dlt", "_schemactl"))
        }


@pytest.fixture(params=list(TYPES))
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.chdir(tmp_path)
    server = {"postgresql": "postgres_url", "mysql": "mariadb_url"}.get(request.param)
    return Engine(request.param, tmp_path, request.getfixturevalue(server) if server else "")


def create(engine: Engine, dataset: str, types: dict[str, list[str]]) -> None:
    for table, kinds in types.items():
        listed = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
        engine.run(dataset, f"create table {table} ({listed})")


def import_schema(engine: Engine, dataset: str, folder: Path) -> Schema:
    return import_files(ImportRequest((engine.url(dataset),), None, "shop", folder)).after


def apply(url: str, reference: str = "shop", folder: Path = Path("schemas")) -> Outcome:
    request = ApplyRequest(reference, url, folder, PlanOptions())
    return apply_migration(request, lambda _: True, lambda: nullcontext(None)).outcome


def drift(url: str, reference: str | None = "shop", folder: Path = Path("schemas")) -> tuple[Any, ...]:
    return verify(VerifyRequest(reference, url, folder)).drift


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(data=st.data())
def test_tables_of_the_same_engine_are_made_as_they_are(engine: Engine, data: st.DataObject):
    """Whatever types a database has: `import`, `apply` into an empty one, and both have the same ones."""
    kinds = st.lists(st.sampled_from(TYPES[engine.kind]), min_size=1, max_size=8)
    types = data.draw(st.dictionaries(st.sampled_from(("orders", "events")), kinds, min_size=1))
    made, copy = (f"{name}_{uuid.uuid4().hex[:8]}" for name in ("made", "copy"))
    create(engine, made, types)
    folder = engine.folder / made
    import_schema(engine, made, folder)
    assert apply(engine.url(copy), folder=folder) is Outcome.DONE
    assert drift(engine.url(copy), folder=folder) == ()
    assert engine.columns(copy) == engine.columns(made)
    assert apply(engine.url(copy), folder=folder) is Outcome.NOTHING


def test_each_type_is_made_as_it_is(engine: Engine):
    create(engine, "every_type", {"orders": list(TYPES[engine.kind])})
    import_schema(engine, "every_type", Path("schemas"))
    assert apply(engine.url("every_copy")) is Outcome.DONE
    assert drift(engine.url("every_copy")) == ()
    assert engine.columns("every_copy") == engine.columns("every_type")


OWN = {"duckdb": "UBIGINT", "postgresql": "character(3)", "sqlite": "geometry", "mysql": "int unsigned"}
"""A type of each engine that dlt does not have, that numbers are values of."""


def of_database(name: str, written: str, **hints: Any) -> Column:
    return Column(name, {"x-database-type": written, **hints})


def test_columns_are_added_renamed_and_taken_back(engine: Engine):
    own, url = OWN[engine.kind], engine.url(f"added_{engine.kind}")
    first = schema_of(ID, of_database("first", own))
    assert apply(url, put(first, "first.yaml")) is Outcome.DONE
    engine.run(f"added_{engine.kind}", "insert into orders values (1, 7)")
    second = schema_of(
        ID,
        of_database("renamed", own, **{"x-renamed-from": "first"}),
        of_database("more", own),
        of_database("filled", own, nullable=False, **{"x-backfill": "5"}),
        before=first,
    )
    assert apply(url, put(second, "second.yaml")) is Outcome.DONE
    assert drift(url, "./second.yaml") == ()
    rows = engine.run(f"added_{engine.kind}", "select * from orders")
    assert [[str(value).strip() for value in row] for row in rows] == [["1", "7", "None", "5"]]
    assert undo(url, allows_destructive=True).outcome is Outcome.DONE
    assert drift(url, "./first.yaml") == ()
    assert [list(columns) for columns in engine.columns(f"added_{engine.kind}").values()] == [["id", "first"]]


def test_a_folder_of_migrations_leads_to_columns_of_own_types(engine: Engine):
    own, dataset = OWN[engine.kind], f"folder_{engine.kind}"
    schema = schema_of(ID, of_database("own", own))
    for target in (schema, schema_of(ID, of_database("own", own), of_database("more", own), before=schema)):
        request = NextRequest(put(target, "w.yaml"), Path("m"), Path("schemas"), PlanOptions(), (engine.kind,))
        assert next_migration(request).is_written
        assert check_folder(Path("m"), "./w.yaml").problems == ()
        applying = ApplyRequest("", engine.url(dataset), Path("schemas"), PlanOptions())
        report = apply_folder(Path("m"), applying, lambda _: True, lambda: nullcontext(None))
        assert report.outcome is Outcome.DONE
        assert drift(engine.url(dataset), "./w.yaml") == ()
    assert list(engine.columns(dataset)["orders"]) == ["id", "own", "more"]


FOREIGN = {
    "duckdb": {"character(3)": "VARCHAR", "tsvector": "VARCHAR", "int(10) unsigned": "BIGINT", "inet": "VARCHAR"},
    "postgresql": {"UBIGINT": "numeric(156,78)", "STRUCT(a INTEGER)": "jsonb", "ENUM('a', 'b')": "character varying"},
    "sqlite": {"interval day to second(3)": "TEXT", "MAP(VARCHAR, INTEGER)": "JSON", "UNION(a INTEGER)": "TEXT"},
    "mysql": {"uuid[]": "json", "interval": "longtext", "UTINYINT": "smallint", "int5range": None},
}


@pytest.mark.parametrize("is_added", [False, True])
def test_another_engine_s_type_becomes_the_nearest_one_which_the_plan_says(engine: Engine, is_added: bool):
    foreign = {kind: word for kind, word in FOREIGN[engine.kind].items() if word is not None}
    url = engine.url(f"foreign_{engine.kind}_{is_added}")
    start = schema_of(ID)
    if is_added:
        assert apply(url, put(start, "start.yaml")) is Outcome.DONE
    columns = [of_database(f"c{number}", kind) for number, kind in enumerate(foreign)]
    target = put(schema_of(ID, *columns, before=start), "target.yaml")
    plan = plan_migration(PlanRequest(target, url, Path("schemas"), PlanOptions())).plan
    statements = " ".join(statement for step in plan.steps for statement in step.statements)
    assert [word for word in foreign.values() if f" {word}" not in statements] == []
    notes = [note for note in plan.notes if note.kind is NoteKind.TYPE]
    assert [(note.table, note.column) for note in notes] == [("orders", each.name) for each in columns]
    assert [kind for kind, note in zip(foreign, notes, strict=True) if f"`{kind}`" not in note.message] == []
    assert apply(url, target) is Outcome.DONE
    assert drift(url, target) == ()


@pytest.mark.parametrize("is_added", [False, True])
@pytest.mark.parametrize("written", ['"shop"."Mood"', "no such type at all (x)", "TEXT DEFAULT x"])
def test_a_type_that_is_near_to_none_is_refused_before_anything_runs(engine: Engine, written: str, is_added: bool):
    dataset = f"refused_{uuid.uuid4().hex[:8]}"
    url, start = engine.url(dataset), schema_of(ID)
    if is_added:
        assert apply(url, put(start, "start.yaml")) is Outcome.DONE
    target = schema_of(ID, of_database("odd", written), before=start, others=schema_of(ID).tables["orders"])
    if engine.kind == "postgresql" and written == '"shop"."Mood"':  # where it could be a type of somebody's own
        request = PlanRequest(put(target, "target.yaml"), url, Path("schemas"), PlanOptions())
        (blocker,) = plan_migration(request).blockers
        assert "`orders.odd`" in blocker.message
        assert apply(url, "./target.yaml") is Outcome.REFUSED
    else:
        with pytest.raises(InputError, match="`odd`"):
            apply(url, put(target, "target.yaml"))
    if is_added:
        assert list(engine.columns(dataset)["orders"]) == ["id"]


def test_a_data_type_goes_before_another_engine_s_type(engine: Engine):
    """PostgreSQL's `numeric` is any number: elsewhere it is another type, which would round."""
    url = engine.url(f"numbers_{engine.kind}")
    target = put(schema_of(ID, column("total", "decimal", **{"x-database-type": "numeric"})), "target.yaml")
    assert apply(url, target) is Outcome.DONE
    assert drift(url, target) == ()
    total = engine.columns(f"numbers_{engine.kind}")["orders"]["total"]
    expected = {"postgresql": {"x-database-type": "numeric"}, "sqlite": {}}
    sizes = expected.get(engine.kind, {"precision": 38, "scale": 9})
    assert {key: value for key, value in total.items() if value} == {"data_type": "decimal", **sizes}


SCRIPTS = {
    "duckdb": {"uuid": "UUID", "character(3)": "VARCHAR", "int(10) unsigned": "BIGINT"},
    "postgres": {"UBIGINT": "numeric(156,78)", "uuid": "uuid", "mood": "mood"},
    "mysql": {"int(10) unsigned": "int(10) unsigned", "ENUM('a', 'b')": "enum('a','b')", "interval": "longtext"},
    "snowflake": {"uuid": "VARCHAR", "GEOGRAPHY": "GEOGRAPHY", "STRUCT(a INTEGER)": "VARIANT"},
    "spark": {"struct<a:bigint>": "struct<a:bigint>", "uuid": "STRING"},
}


@pytest.mark.parametrize("dialect", SCRIPTS)
def test_a_script_adds_columns_of_the_types_of_its_dialect(dialect: str):
    start = schema_of(ID)
    for written, word in SCRIPTS[dialect].items():
        for is_added in (False, True):
            target = schema_of(ID, of_database("own", written), before=start)
            report = write_script(target, start if is_added else None, dialect, Path("schemas"), PlanOptions())
            statements = " ".join(statement for step in report.plan.steps for statement in step.statements)
            assert f" {word}" in statements
            assert bool(report.plan.notes) is (word.lower().replace("','", "', '") != written.lower())


def test_a_script_refuses_a_type_that_its_dialect_has_not():
    target = schema_of(ID, of_database("own", "shop.mood"))
    with pytest.raises(InputError, match="`own` is not a type of snowflake"):
        write_script(target, None, "snowflake", Path("schemas"), PlanOptions())


@pytest.fixture
def typed_database(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A dataset `typed` with enums, domains and composite types of its own, and one in the search path."""
    monkeypatch.chdir(tmp_path)
    engine = Engine("postgresql", tmp_path, postgres_url)
    clean = "drop schema if exists typed, typed_copy cascade; drop type if exists public.size"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(clean)
        connection.execute("create type public.size as enum ('s', 'l')")
    engine.run(
        "typed",
        "create type mood as enum ('sad', 'it''s ok', 'a,b')",
        "create type \"A mood\" as enum ('x')",
        "create domain mail as character varying(80)",
        "create domain amount as numeric(10,2)",
        'create type place as (x integer, "Y z" numeric(5,2), at timestamp(3) without time zone)',
        'create table orders (a mood not null, b mood[], c "A mood", d mail, e amount, f place, g public.size)',
    )
    yield engine
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(clean)


def test_postgresql_s_enums_domains_and_composite_types_are_created(typed_database: Engine):
    engine = typed_database
    after = import_schema(engine, "typed", Path("schemas"))
    definition = after.tables["orders"].columns["a"].properties["x-type-definition"]
    assert definition == "ENUM('sad', 'it''s ok', 'a,b')"
    before = engine.columns("typed")
    with psycopg.connect(engine.server, autocommit=True) as connection:
        connection.execute("drop schema typed cascade; drop type public.size")
    assert apply(engine.url("typed_copy")) is Outcome.DONE
    assert drift(engine.url("typed_copy")) == ()
    assert engine.columns("typed_copy") == before
    row = "('it''s ok', '{sad}', 'x', 'm', 1.5, '(1,2.5,2026-01-01)', 'l')"
    engine.run("typed_copy", f"insert into orders values {row}")
    assert undo(engine.url("typed_copy"), allows_destructive=True).outcome is Outcome.DONE
    assert apply(engine.url("typed_copy")) is Outcome.DONE  # the types are there


def test_a_type_with_other_values_is_refused(typed_database: Engine):
    odd = of_database("odd", "typed.mood", **{"x-type-definition": "ENUM('sad')"})
    target = put(schema_of(ID, odd), "target.yaml")
    url = typed_database.url("typed_copy")
    (blocker,) = plan_migration(PlanRequest(target, url, Path("schemas"), PlanOptions())).blockers
    assert "as `ENUM('sad')`; the database defines it as `ENUM('sad', 'it''s ok', 'a,b')`" in blocker.message


@pytest.mark.parametrize("definition", ["ENUM(SELECT 1)", "text DEFAULT now()", "STRUCT(a int, b)", "ENUM('a'); x", ""])
def test_what_is_more_than_a_definition_is_refused(typed_database: Engine, definition: str):
    odd = of_database("odd", "typed.new", **{"x-type-definition": definition})
    with pytest.raises(InputError, match="is not a definition of a type"):
        apply(typed_database.url("typed_copy"), put(schema_of(ID, odd), "target.yaml"))


def test_other_engines_get_what_defines_a_type_of_postgresql(typed_database: Engine, mariadb_url: str):
    import_schema(typed_database, "typed", Path("schemas"))
    types = {}
    for other in (Engine("duckdb", Path.cwd()), Engine("mysql", Path.cwd(), mariadb_url), Engine("sqlite", Path.cwd())):
        dataset = f"from_typed_{other.kind}"
        assert apply(other.url(dataset)) is Outcome.DONE
        assert drift(other.url(dataset)) == ()
        columns = other.columns(dataset)["orders"].values()
        types[other.kind] = [each.get("x-database-type") or each["data_type"] for each in columns]
    assert types["duckdb"][:4] == [
        "ENUM('sad', 'it''s ok', 'a,b')",
        "ENUM('sad', 'it''s ok', 'a,b')[]",
        "ENUM('x')",
        "text",
    ]
    assert types["mysql"][:4] == ["enum('sad','it''s ok','a,b')", "json", "enum('x')", "text"]
    assert types["sqlite"][:4] == ["text", "json", "text", "character varying(80)"]
    assert [kinds[4] for kinds in types.values()] == ["decimal", "decimal", "decimal"]


OTHERS = {
    "duckdb": ("UBIGINT", "UHUGEINT"),
    "postgresql": ("character(3)", "character(5)"),
    "sqlite": ("geometry", "UUID"),
    "mysql": ("int unsigned", "bigint unsigned"),
}
"""Two types of each engine, of which a column has first the one and then the other."""


@pytest.mark.parametrize("has_rows", [False, True])
def test_a_column_of_an_own_type_gets_another_one_or_the_plan_is_refused(engine: Engine, has_rows: bool):
    before, after = OTHERS[engine.kind]
    dataset = f"changed_{engine.kind}_{has_rows}".lower()
    url, first = engine.url(dataset), schema_of(ID, of_database("a", before))
    assert apply(url, put(first, "first.yaml")) is Outcome.DONE
    if has_rows:
        engine.run(dataset, "insert into orders values (1, 7)")
    second = put(schema_of(ID, of_database("a", after), before=first), "second.yaml")
    outcome = apply(url, second)
    assert (outcome is Outcome.REFUSED) or (outcome is Outcome.DONE and drift(url, second) == ())
    assert has_rows or outcome is Outcome.DONE
    if outcome is Outcome.DONE:
        assert undo(url, allows_destructive=True).outcome is Outcome.DONE
    assert drift(url, "./first.yaml") == ()
    assert not has_rows or str(engine.run(dataset, "select a from orders")[0][0]).strip() == "7"


LOADED = {
    "duckdb": {"UUID": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "UBIGINT": 5, "ENUM('a', 'b')": "b"},
    "postgresql": {"uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "character(3)": "abc", "inet": "10.0.0.1"},
    "sqlite": {"UUID": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "geometry": "x"},
    "mysql": {"int unsigned": 5, "enum('a','b')": "b", "char(3)": "abc"},
}
"""Values of types that dlt does not have."""


def test_loads_fill_columns_of_own_types(engine: Engine):
    values = LOADED[engine.kind]
    dataset = f"loaded_{engine.kind}"
    url = engine.url(dataset)
    create(engine, f"before_{dataset}", {"orders": list(values)})
    import_schema(engine, f"before_{dataset}", Path("schemas"))
    assert apply(url) is Outcome.DONE
    types = engine.columns(dataset)["orders"]
    Path("orders.jsonl").write_text(json.dumps({f"c{number}": value for number, value in enumerate(values.values())}))
    assert (
        run(["normalize", "orders.jsonl", "--name", "shop", "--table", "orders", "--to", url, "--engine", "local"]) == 0
    )
    columns = ", ".join(f"c{number}" for number in range(len(values)))
    (row,) = engine.run(dataset, f"select {columns} from orders")
    assert list(map(str, row)) == list(map(str, values.values()))
    assert {name: kind for name, kind in engine.columns(dataset)["orders"].items() if name in types} == types
    assert drift(url) == ()
