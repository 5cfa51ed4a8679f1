"""Tables of databases become the content of a named schema."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import duckdb
import mysql_server
import psycopg
import pyarrow as pa
import pymysql
import pytest
from deltalake import DeltaTable

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.flows.import_ import Imported, ImportRequest, import_files


@pytest.fixture
def mysql_address(mariadb_url: str) -> str:
    """The address of a server with an empty dataset ``related``."""
    run_in_mysql(mariadb_url, "create database related", dataset="mysql")
    return mariadb_url


def run_in_mysql(url: str, *statements: str, dataset: str = "related") -> None:
    socket = dict(parse_qsl(url.partition("?")[2]))["unix_socket"]
    with (
        pymysql.connect(
            user="loader", password=mysql_server.PASSWORD, unix_socket=socket, charset="utf8mb4", database=dataset
        ) as connection,
        connection.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)


TABLES = """
    create table "Customers" (id integer primary key, "eMail" varchar(80) unique, born date not null, shape {other});
    create table orders (id bigint not null, total decimal(10, 2));
"""


def imported(address: str, folder: Path, **options: Any) -> Imported:
    return import_files(ImportRequest((address,), None, "legacy", folder / "schemas", **options))


def columns(found: Imported, table: str) -> dict[str, dict[str, object]]:
    return {name: dict(each.properties) for name, each in found.after.tables[table].columns.items()}


def assert_is_the_shop(found: Imported, other: str):
    assert [name for name in found.after.tables if not name.startswith("_dlt")] == ["customers", "orders"]
    customers, orders = columns(found, "customers"), columns(found, "orders")
    assert customers["id"]["primary_key"] is True
    assert customers["e_mail"]["data_type"] == "text"
    assert customers["e_mail"]["unique"] is True
    assert customers["born"] == {"data_type": "date", "nullable": False}
    assert customers["shape"] == {"x-database-type": other}
    assert orders["total"]["data_type"] == "decimal"
    assert [(loss.path, loss.item) for loss in found.losses] == [("Customers.shape", "type")]


def test_duckdb(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(TABLES.format(other="interval"))
    found = imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path)
    assert_is_the_shop(found, "INTERVAL")
    assert len(found.written) == 2
    assert not imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path, is_check=True).changes_schema


def test_postgresql(postgres_url: str, tmp_path: Path):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop schema if exists legacy_import cascade; create schema legacy_import")
        connection.execute(f"set search_path to legacy_import; {TABLES.format(other='interval')}")
    separator = "&" if "?" in postgres_url else "?"
    assert_is_the_shop(imported(f"{postgres_url}{separator}dataset=legacy_import", tmp_path), "interval")


def test_sqlite_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.db") as connection:
        connection.executescript(TABLES.format(other="geometry"))
    assert run(["import", "sqlite:///shop.db", "--name", "legacy", "--strict"]) == 2
    assert "Customers.shape: type `type: " in capsys.readouterr().err
    assert run(["import", "sqlite:///shop.db", "--name", "legacy"]) == 0
    printed = capsys.readouterr().err
    assert "kept in `x-database-type`, without a dlt type: Customers.shape: `geometry`\n" in printed
    assert "not in the schema" not in printed
    assert (tmp_path / "schemas/import/legacy.schema.yaml").is_file()
    assert run(["import", "sqlite:///shop.db", "--name", "legacy", "--from", "avro"]) == 2
    assert "`--from` names the format of a file" in capsys.readouterr().err


@pytest.mark.parity
def test_a_destination_s_ledger_goes_before_its_tables(tmp_path: Path):
    import dlt

    destination = dlt.destinations.duckdb(str(tmp_path / "shop.duckdb"))
    pipeline = dlt.pipeline("shop", str(tmp_path / "pipelines"), destination=destination, dataset_name="d")
    pipeline.run([{"id": 1, "lines": [{"sku": "a"}]}], table_name="orders", primary_key="id")
    found = imported(f"duckdb:///{tmp_path}/shop.duckdb", tmp_path)
    assert found.after.tables["orders__lines"].parent == "orders"
    assert found.after.tables["orders"].columns["id"].properties["primary_key"] is True


RELATED = """
    create table "Users" ("userId" integer primary key, born date, a integer, b integer, unique (a, b));
    create table orders (
        id integer primary key, user_id integer not null references "Users" ("userId"),
        total decimal(10, 2) default 0, state varchar(9) check (state <> ''), last integer, check (id < last)
    );
    create index by_total on orders (total);
    create unique index by_state on orders (lower(state));
    create view open_orders as select id from orders;
"""
LOST = {
    ("Users", "UNIQUE"), ("orders.total", "DEFAULT"), ("orders", "CREATE INDEX"), ("orders", "CREATE UNIQUE INDEX"),
    ("open_orders", "CREATE VIEW"),
}  # fmt: skip


def assert_is_related(found: Imported):
    assert found.after.tables["orders"].properties["references"] == [
        {"columns": ["user_id"], "referenced_table": "users", "referenced_columns": ["user_id"]}
    ]
    lost = [(loss.path, str(loss.before)) for loss in found.losses]
    for place, words in LOST:
        assert any(loss[0] == place and loss[1].startswith(words) for loss in lost), (place, words, lost)
    checks = [text for place, text in lost if text.startswith("CHECK")]
    assert ["last" in text for text in checks].count(True) == 1
    assert ["state" in text for text in checks].count(True) == 1
    assert found.names == (("Users", "users"), ("Users.userId", "users.user_id"))


def test_relations_of_duckdb_are_references_and_other_properties_are_lost(tmp_path: Path):
    address = f"duckdb:///{tmp_path}/shop.duckdb"
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(RELATED)
        connection.execute("create table more (a integer, b integer as (a * 2), c varchar collate nocase)")
    found = imported(address, tmp_path)
    assert_is_related(found)
    lost = {(loss.path, loss.before) for loss in found.losses}
    assert {("more.b", "GENERATED ALWAYS AS ((a * 2))"), ("more.c", "COLLATE nocase")} <= lost
    with pytest.raises(InputError, match="--strict") as caught:
        imported(address, tmp_path, is_strict=True)
    assert any("orders.total: `constraint: DEFAULT (0)`" in problem.message for problem in caught.value.problems)


def test_relations_of_sqlite_are_references_and_other_properties_are_lost(tmp_path: Path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(RELATED)
        connection.executescript("""
            create table more (
                a integer primary key autoincrement, b integer as (a * 2) stored, c text collate nocase,
                u integer references USERS on delete cascade, at text default (date('now'))
            );
            create table pairs (k text primary key, v int, w text, x text) without rowid;
            create unique index one on pairs (v); create unique index two on pairs (w collate nocase);
            create unique index three on pairs (w, x); create unique index four on pairs (x) where x > 1;
            create trigger counting after insert on orders begin update orders set last = 1; select 2; end;
        """)
    found = imported(f"sqlite:///{tmp_path}/shop.db", tmp_path)
    assert_is_related(found)
    assert found.after.tables["more"].properties["references"] == [
        {"columns": ["u"], "referenced_table": "users", "referenced_columns": ["user_id"]}
    ]
    lost = {(loss.path, str(loss.before).upper()) for loss in found.losses}
    assert {
        ("more.a", "AUTO_INCREMENT"), ("more.b", "AS (A * 2) STORED"), ("more.c", "COLLATE NOCASE"),
        ("more.u", "ON DELETE CASCADE"), ("more.at", "DEFAULT (DATE('NOW'))"), ("pairs", "WITHOUT ROWID"),
        ("orders", "CREATE TRIGGER COUNTING AFTER INSERT ON ORDERS BEGIN UPDATE ORDERS SET LAST = 1; SELECT 2; END"),
    } <= lost  # fmt: skip
    assert columns(found, "pairs")["v"]["unique"] is True
    assert {text.split(" ON ")[0] for place, text in lost if place == "pairs" and "INDEX" in text} == {
        "CREATE UNIQUE INDEX TWO", "CREATE UNIQUE INDEX THREE", "CREATE UNIQUE INDEX FOUR",
    }  # fmt: skip


@pytest.mark.destinations
def test_relations_of_postgresql_are_references_and_other_properties_are_lost(postgres_url: str, tmp_path: Path):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop schema if exists related cascade; drop schema if exists elsewhere cascade")
        connection.execute("create schema elsewhere; create table elsewhere.orders (id int primary key)")
        connection.execute(f"create schema related; set search_path to related; {RELATED}")
        connection.execute("""
            create domain email as text check (value like '%@%');
            create table more (
                a bigint generated by default as identity, b int generated always as (1 + 1) stored,
                c text collate "C" not null, d email default 'x@y', e serial, u int unique deferrable,
                at tsrange, exclude using gist (at with &&),
                elsewhere int references elsewhere.orders on delete cascade
            );
            create table parts (day date not null) partition by range (day);
            create table part_1 partition of parts for values from ('2020-01-01') to ('2021-01-01');
            create table child () inherits (more);
            create function seen() returns trigger language plpgsql as $$ begin return new; end; $$;
            create trigger seen before insert on orders for each row execute function seen();
            alter table orders enable row level security;
            create policy own on orders using (id > 0);
            create unique index one on child (c); create unique index two on child (d) nulls not distinct;
            comment on index one is 'fast';
        """)
    separator = "&" if "?" in postgres_url else "?"
    found = imported(f"{postgres_url}{separator}dataset=related", tmp_path)
    assert_is_related(found)
    assert "references" not in found.after.tables["more"].properties
    assert "part_1" not in found.after.tables
    lost = {(loss.path, str(loss.before)) for loss in found.losses}
    assert {
        ("more.a", "GENERATED BY DEFAULT AS IDENTITY"), ("more.b", "GENERATED ALWAYS AS ((1 + 1)) STORED"),
        ("more.c", 'COLLATE pg_catalog."C"'), ("more.u", "DEFERRABLE"), ("more.elsewhere", "ON DELETE CASCADE"),
        ("more", "EXCLUDE USING gist(at WITH &&)"), ("parts", "PARTITION BY RANGE(day)"),
        ("child", "INHERITS (related.more)"), ("orders", "ALTER TABLE related.orders ENABLE ROW LEVEL SECURITY"),
        ("orders", "CREATE POLICY own ON related.orders"),
        ("more.elsewhere", "REFERENCES elsewhere.orders (id) ON DELETE CASCADE"),
    } <= lost  # fmt: skip
    assert columns(found, "child")["c"]["unique"] is True
    assert {text.split(" ON ")[0] for place, text in lost if place == "child" and "INDEX" in text} == {
        "CREATE UNIQUE INDEX two", "COMMENT",
    }  # fmt: skip
    starts = {(place, str(text).split("(")[0]) for place, text in lost}
    assert ("more.e", "DEFAULT NEXTVAL") in starts
    assert any(place == "more.d" and "DEFAULT" in str(text) for place, text in lost)
    assert any(place == "orders" and "CREATE TRIGGER seen" in str(text) for place, text in lost)


@pytest.mark.destinations
def test_relations_of_mysql_are_references_and_other_properties_are_lost(mysql_address: str, tmp_path: Path):
    run_in_mysql(
        mysql_address,
        "create table `Users` (`userId` int primary key, a int, b int, unique (a, b))",
        """create table orders (
            id int primary key auto_increment, user_id int not null,
            total decimal(10, 2) default 0, state varchar(9) collate latin1_bin check (state <> ''), last int,
            twice int as (id * 2), js json, at timestamp null on update current_timestamp,
            foreign key (user_id) references `Users` (`userId`) on delete cascade, check (user_id < last)
        ) auto_increment = 7""",
        "create index by_total on orders (total)",
        "create view open_orders as select id from orders",
        "create trigger seen before insert on orders for each row set new.total = 1",
        "create table parts (id int) partition by hash (id) partitions 2",
    )
    found = imported(f"{mysql_address}&dataset=related", tmp_path)
    assert found.after.tables["orders"].properties["references"] == [
        {"columns": ["user_id"], "referenced_table": "users", "referenced_columns": ["user_id"]}
    ]
    assert "parts" in found.after.tables
    assert found.names == (("Users", "users"), ("Users.userId", "users.user_id"))
    lost = {(loss.path, str(loss.before)) for loss in found.losses}
    assert {
        ("orders.id", "AUTO_INCREMENT"), ("orders.user_id", "ON DELETE CASCADE"), ("orders.total", "DEFAULT 0.00"),
        ("orders.state", "COLLATE latin1_bin"), ("orders.at", "ON UPDATE CURRENT_TIMESTAMP()"),
        ("orders.twice", "GENERATED ALWAYS AS (`id` * 2) VIRTUAL"), ("orders", "INDEX `by_total` (`total`)"),
        ("orders", "CHECK (`user_id` < `last`)"), ("orders.state", "CHECK (`state` <> '')"),
    } <= lost  # fmt: skip
    assert not any(place == "orders.js" or "AUTO_INCREMENT=" in text for place, text in lost)
    for place, words in (
        ("open_orders", "CREATE VIEW"),
        ("orders", "CREATE TRIGGER `seen`"),
        ("parts", "PARTITION BY"),
    ):
        assert any(loss[0] == place and words in loss[1] for loss in lost), (place, lost)


def test_the_naming_convention_of_a_stored_schema_keeps_the_names_of_a_database(tmp_path: Path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(RELATED)
    address = f"sqlite:///{tmp_path}/shop.db"
    imported(address, tmp_path)
    edit = ["edit", "legacy", "--naming", "direct", "--schemas", str(tmp_path / "schemas")]
    assert run(edit) == 0
    found = imported(address, tmp_path)
    assert "userId" in found.after.tables["Users"].columns
    assert found.after.tables["orders"].properties["references"][0]["referenced_columns"] == ["userId"]
    assert found.names == ()


def test_other_names_are_reported_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "shop.sql"
    file.write_text('create table "Orders" ("orderId" int, ADDR2LINE text, Note text);')
    assert run(["import", str(file), "--name", "shop", "--schemas", str(tmp_path / "schemas"), "--strict"]) == 0
    assert "names changed in the schema: Orders.orderId becomes orders.order_id\n" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="there is no file"):
        imported(f"duckdb:///{tmp_path}/none.duckdb", tmp_path)


def test_objects_and_lists_of_a_lake_keep_their_type(tmp_path: Path):
    point = pa.struct([("x", pa.int64())])
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("points", pa.list_(point))])
    DeltaTable.create(tmp_path / "lake" / "shop" / "orders", schema)
    found = imported(f"delta:{tmp_path}/lake?dataset=shop", tmp_path)
    assert columns(found, "orders")["points"] == {"data_type": "json", "x-spark-type": "array<struct<x:bigint>>"}
    assert found.losses == ()


ODD = """
    create table "Kunden Liste" ("ID" integer primary key, "Straße" varchar(80), "customerId" bigint);
    create table orders ("Betrag €" double);
"""


def odd_database(folder: Path) -> str:
    path = folder / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(ODD)
    return f"duckdb:///{path}?dataset=main"


def test_a_database_with_names_of_its_own_is_taken_over_under_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    address = odd_database(tmp_path)
    assert run(["import", address, "--name", "shop", "--dry-run"]) == 0
    assert "hint: to migrate this database, keep its names: import it with `--naming direct`" in capsys.readouterr().err
    assert run(["import", address, "--name", "shop", "--naming", "direct"]) == 0
    assert "names changed" not in capsys.readouterr().err
    assert run(["migrate", "baseline", "shop", "--to", address, "--yes"]) == 0
    assert run(["edit", "shop", "--column", "Kunden Liste.note:text"]) == 0
    assert run(["sync", "shop", "--yes"]) == 0
    assert run(["migrate", "apply", "shop", "--to", address, "--yes"]) == 0
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as connection:
        names = connection.execute(
            "select column_name from information_schema.columns where table_name = 'Kunden Liste'"
        )
        assert {name for (name,) in names.fetchall()} == {"ID", "Straße", "customerId", "note"}


def test_a_second_import_keeps_the_naming_convention_of_the_schema(tmp_path: Path) -> None:
    address = odd_database(tmp_path)
    assert imported(address, tmp_path, naming="direct").names == ()
    again = imported(address, tmp_path)
    assert (again.changes, again.names, again.kept_by) == ((), (), None)
    with pytest.raises(InputError, match="has the naming convention `direct`"):
        imported(address, tmp_path, naming="snake_case")


def test_files_and_the_schemas_of_dlt_have_a_naming_convention_already(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text('create table "T" ("a b" int);')
    with pytest.raises(InputError, match="has the naming convention `snake_case`") as caught:
        imported(str(file), tmp_path, naming="direct")
    assert caught.value.hint is not None
    assert "`--naming` is for a new schema from a database" in caught.value.hint
    assert imported(str(file), tmp_path).kept_by is None
