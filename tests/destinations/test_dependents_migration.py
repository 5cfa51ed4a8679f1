"""What hangs on a table beside its schema is not lost by a step, and what blocks a step is reported before it."""

import time
from contextlib import contextmanager

import pytest
from schema_parts import column

from schemactl.destinations import duckdb, postgresql, sqlite
from schemactl.errors import DestinationError
from schemactl.migration.steps import AddColumn, AddUnique, ChangeType, DropColumn, DropNotNull, DropTable, RenameColumn
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table


def retype(name, before="text", after="bigint", **properties):
    old, new = column(name, before, **properties), column(name, after, **properties)
    return ChangeType("orders", old, new, Conversion.DEPENDS, needs_check=True)


def other(name, kind):
    return ChangeType("orders", Column(name, {"x-database-type": kind}), column(name))


@contextmanager
def duckdb_with(tmp_path, *statements):
    import duckdb as driver

    path = tmp_path / "file.duckdb"
    with driver.connect(str(path)) as connection:
        for statement in ("CREATE SCHEMA shop", "SET schema = 'shop'", *statements):
            connection.execute(statement)
    with duckdb.connect(f"duckdb:///{path}?dataset=shop", "shop") as session:
        yield session


@contextmanager
def sqlite_with(tmp_path, *statements):
    import sqlite3

    path = tmp_path / "file.db"
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    with sqlite.connect(f"sqlite:///{path}?dataset=main", "shop") as session:
        yield session


@contextmanager
def postgres_with(url, *statements):
    import psycopg

    name = f"d{time.monotonic_ns()}"
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (f"CREATE SCHEMA {name}", f"SET search_path = {name}", *statements):
            connection.execute(statement)
    with postgresql.connect(f"{url}?dataset={name}", "shop") as session:
        yield session


KEYED = "CREATE TABLE orders (id BIGINT PRIMARY KEY, a VARCHAR{}, b VARCHAR)"
DROP = DropColumn("orders", column("b"))
OTHER = "CREATE TABLE shops (id VARCHAR PRIMARY KEY)"


@pytest.mark.parametrize(
    ("made", "step", "reported"),
    [
        ([KEYED.format(" CHECK (length(a) < 9)")], DROP, "lose its CHECK"),
        ([KEYED.format(" DEFAULT 'x'")], DROP, "lose its DEFAULT of `a`"),
        ([KEYED.format(" COLLATE nocase")], DROP, "lose its COLLATE"),
        ([KEYED.format(", c VARCHAR GENERATED ALWAYS AS (upper(a))")], DROP, "lose its DEFAULT of `c`"),
        ([KEYED.format(", c VARCHAR, UNIQUE (a, c)")], DROP, "lose its UNIQUE (a, c)"),
        ([OTHER, KEYED.format(" REFERENCES shops (id)")], DROP, "lose its FOREIGN KEY"),
        ([KEYED.format(""), "CREATE INDEX seen ON orders (a)"], DROP, "has the index `seen`"),
        ([KEYED.format(""), "CREATE INDEX seen ON orders (a)"], retype("b"), "has the index `seen`"),
        ([KEYED.format(""), "CREATE TABLE r (o BIGINT REFERENCES orders (id))"], DROP, "foreign keys of `r`"),
        ([KEYED.format(" CHECK (length(a) < 9)")], retype("a"), "has a CHECK constraint"),
        ([OTHER, KEYED.format(" REFERENCES shops (id)")], RenameColumn("orders", "a", "c"), "FOREIGN KEY constraint"),
    ],
)
def test_duckdb_reports_what_stands_in_a_steps_way(tmp_path, made, step, reported):
    with duckdb_with(tmp_path, *made) as session:
        found = session.find_blocker(step)
        assert found is not None
        assert reported in found.message
        assert session.find_blocker(AddColumn("orders", column("new"))) is None


def test_duckdb_takes_steps_that_leave_all_as_it_is(tmp_path):
    with duckdb_with(
        tmp_path, "CREATE TABLE orders (id BIGINT, a VARCHAR CHECK (length(a) < 9), b VARCHAR DEFAULT 'x')"
    ) as session:
        for step in (retype("b"), DROP, RenameColumn("orders", "a", "c"), DropTable(Table("orders"))):
            assert session.find_blocker(step) is None
            assert session.find_blocker(AddUnique("orders", "b")) is not None


def test_duckdb_copies_no_table_that_would_lose_by_it(tmp_path):
    with duckdb_with(tmp_path, KEYED.format(" CHECK (length(a) < 9)"), "CREATE INDEX seen ON orders (a)") as session:
        table = session.catalogue().schema.tables["orders"]
        with pytest.raises(DestinationError, match="a copy of `orders` would lose its CHECK, index `seen`"):
            session.run(DROP, duckdb.render(DROP, table, "shop"))
        assert session.database.query("SELECT index_name FROM duckdb_indexes()") == [("seen",)]


def test_duckdb_keeps_comments_in_a_copy(tmp_path):
    comments = [
        "COMMENT ON TABLE orders IS 'what was sold'",
        "COMMENT ON COLUMN orders.a IS 'it''s one'",
        "COMMENT ON COLUMN orders.b IS 'goes'",
    ]
    with duckdb_with(tmp_path, KEYED.format(""), *comments) as session:
        table = session.catalogue().schema.tables["orders"]
        session.run(DROP, duckdb.render(DROP, table, "shop"))
        of_table = session.database.query("SELECT comment FROM duckdb_tables() WHERE table_name = 'orders'")
        of_columns = session.database.query(
            "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'orders' ORDER BY column_index"
        )
        assert (of_table, of_columns) == ([("what was sold",)], [("id", None), ("a", "it's one")])


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("a text default 'x'", "DEFAULT"),
        ("a text, g text as (upper(a)) stored", "GENERATED"),
        ("a text, c text, unique (a, c)", "UNIQUE (a, c)"),
        ("a text collate nocase check (a <> '')", "COLLATE, CHECK"),
        ("a text, id integer primary key autoincrement", "AUTOINCREMENT"),
    ],
)
def test_sqlite_reports_before_a_step_what_a_copy_would_lose(tmp_path, body, reported):
    with sqlite_with(tmp_path, f"create table orders ({body})") as session:
        found = session.find_blocker(retype("a"))
        assert found is not None
        assert found.message == f"a copy of table `orders` would lose its {reported}"
        assert session.find_blocker(RenameColumn("orders", "a", "c")) is None


def test_sqlite_columns_may_be_called_like_what_is_lost(tmp_path):
    with sqlite_with(tmp_path, 'create table orders (a text, generated text, strict text, "check" text)') as session:
        assert session.find_blocker(retype("a")) is None


def test_sqlite_still_numbers_the_rows_of_a_copied_table(tmp_path):
    with sqlite_with(tmp_path, "create table orders (id integer primary key, a text)") as session:
        step = retype("a")
        session.run(step, sqlite.render(step, session.catalogue().schema.tables["orders"], "main"))
        session.database.execute("insert into orders (a) values (7)")
        assert session.database.query("select id, a from orders") == [(1, 7)]


DROP_A = DropColumn("orders", column("a"))
KEYED_A = DropColumn("orders", column("a", unique=True))


@pytest.mark.parametrize(
    ("made", "step", "reported"),
    [
        (["create view seen as select a from orders"], DROP_A, "error in view seen"),
        (["create index seen on orders (upper(a))"], DROP_A, "error in index seen"),
        (["create index seen on orders (b) where a <> ''"], DROP_A, "error in index seen"),
        (["create trigger seen after insert on orders begin select new.a; end"], DROP_A, "error in trigger seen"),
        (["create view seen as select x from nowhere"], RenameColumn("orders", "a", "c"), "error in view seen"),
    ],
)
def test_sqlite_reports_what_stands_in_the_way_of_a_column(tmp_path, made, step, reported):
    with sqlite_with(tmp_path, "create table orders (a text, b text)", *made) as session:
        found = session.find_blocker(step)
        assert found is not None
        assert reported in found.message
        with pytest.raises(DestinationError):  # SQLite says the same
            session.run(step, sqlite.render(step, session.catalogue().schema.tables["orders"], "main"))


@pytest.mark.parametrize(
    ("made", "is_taken"),
    [
        (["create view seen as select a from orders"], False),
        (["create trigger seen after insert on orders begin select new.a; end"], False),
        (["create view seen as select b from orders", "create view broken as select x from nowhere"], True),
    ],
)
def test_sqlite_breaks_no_view_or_trigger_by_a_copy(tmp_path, made, is_taken):
    with sqlite_with(tmp_path, "create table orders (a text unique, b text)", *made) as session:
        assert (session.find_blocker(KEYED_A) is None) is is_taken


@pytest.mark.parametrize(
    "made",
    [
        [],
        ["create index seen on orders (a, b)"],
        ["create view seen as select * from orders"],
        ["create trigger seen after insert on orders begin select new.b; end", "create view other as select 1 as x"],
        ["create virtual table words using fts5(word)", "create view seen as select b from orders, words"],
    ],
)
def test_sqlite_takes_the_other_columns(tmp_path, made):
    with sqlite_with(tmp_path, "create table orders (a text, b text)", *made) as session:
        # Neither is the first rename in anybody's way, nor what is not there yet.
        for step in (DROP_A, RenameColumn("orders", "a", "b"), RenameColumn("orders", "new", "a")):
            assert session.find_blocker(step) is None
        session.run(DROP_A, sqlite.render(DROP_A, session.catalogue().schema.tables["orders"], "main"))


def test_sqlite_drops_the_last_column_where_another_comes_before(tmp_path):
    with sqlite_with(tmp_path, "create table orders (a text)") as session:
        assert session.find_blocker(DROP_A) is None


@pytest.mark.parametrize(("kind", "made", "left"), [
    ("duckdb", ["create view seen as select a from orders"], ["its default"]),
    ("sqlite", ["create view seen as select a from orders", "create index i on orders (a)"],
     ["view `seen`", "index `i`", "its default"]),
    ("postgresql", ["create view seen as select a from orders", "create index i on orders (upper(a))"],
     ["index i", "view seen", "its default 'x'::text"]),
])  # fmt: skip
def test_what_hangs_on_a_column_that_makes_room_is_known(request, tmp_path, kind, made, left):
    opens = {"duckdb": duckdb_with, "sqlite": sqlite_with, "postgresql": postgres_with}[kind]
    place = request.getfixturevalue("postgres_url") if kind == "postgresql" else tmp_path
    with opens(place, "create table orders (a text default 'x', b text)", *made) as session:
        found = [name.replace(f"{session.dataset}.", "") for name in session.left_behind("orders", "a")]
        assert sorted(found) == sorted(left)
        assert session.left_behind("orders", "b") == ()
        assert session.left_behind("orders", "new") == ()


@pytest.mark.parametrize("made", ["a text unique, b text", "a text primary key, b text", "A text unique, b text"])
def test_sqlite_lets_a_column_go_whose_key_an_earlier_step_takes(tmp_path, made):
    with sqlite_with(tmp_path, f"create table Orders ({made})") as session:
        assert session.find_blocker(DROP_A) is None
        assert session.catalogue().schema.tables.keys() == {"Orders"}


VIEW = "CREATE VIEW seen AS SELECT a FROM orders"


@pytest.mark.parametrize(("made", "step", "reported"), [
    (["CREATE TABLE orders (a text)", VIEW], retype("a"), "need"),
    (["CREATE TABLE orders (a text, b text)", VIEW], DropColumn("orders", column("a")), "seen"),
    (["CREATE TABLE orders (a text)", VIEW], DropTable(Table("orders", {})), "seen"),
    (["CREATE TABLE orders (a text, b text GENERATED ALWAYS AS (upper(a)) STORED)"], retype("a"), "column b of table"),
    (["CREATE TABLE orders (a text GENERATED ALWAYS AS ('1') STORED)"], retype("a"), "is generated"),
    (["CREATE TABLE orders (a text DEFAULT '5')"], retype("a"), "cannot become bigint: default for"),
    (["CREATE TABLE orders (a bigint GENERATED ALWAYS AS IDENTITY)"], retype("a", "bigint", "text"), "identity"),
    (["CREATE TABLE shops (id text PRIMARY KEY)", "CREATE TABLE orders (a text REFERENCES shops)"], retype("a"),
     "foreign key"),
    (["CREATE TABLE orders (a text) PARTITION BY LIST (a)"], retype("a"), "is partitioned by `a`"),
    (["CREATE TABLE above (a text)", "CREATE TABLE orders () INHERITS (above)"], retype("a"), "is inherited"),
    (["CREATE TABLE orders (a text CONSTRAINT short CHECK (length(a) < 9))"], retype("a"),
     "cannot become bigint: function length(bigint) does not exist"),
    (["CREATE TABLE orders (a text)", "CREATE INDEX ON orders (upper(a))"], retype("a"), "upper(bigint)"),
    (["CREATE TABLE orders (a text)", "CREATE INDEX ON orders (a text_pattern_ops)"], retype("a"), "text_pattern_ops"),
    (["CREATE TABLE above (a text)", "CREATE TABLE orders () INHERITS (above)"], RenameColumn("orders", "a", "b"),
     "is inherited"),
])  # fmt: skip
def test_postgresql_reports_what_stands_in_a_steps_way(postgres_url, made, step, reported):
    with postgres_with(postgres_url, *made) as session:
        found = session.find_blocker(step)
        assert found is not None
        assert reported in found.message
        statements = postgresql.render(step, session.catalogue().schema.tables["orders"], session.dataset)
        with pytest.raises(DestinationError):  # PostgreSQL says the same
            session.run(step, statements)


@pytest.mark.parametrize(("made", "step"), [
    (["CREATE TABLE orders (a text, b text)", "CREATE VIEW seen AS SELECT b FROM orders"], retype("a")),
    (["CREATE TABLE orders (a bigint DEFAULT 5)"], retype("a", "bigint", "text")),
    (["CREATE TABLE orders (a bigint DEFAULT 5)"], retype("a", "bigint", "double")),
    (["CREATE TABLE orders (a text UNIQUE)", "CREATE INDEX ON orders (a)"], retype("a")),
    (["CREATE TABLE shops (id int PRIMARY KEY)", "CREATE TABLE orders (a int REFERENCES shops)"],
     ChangeType("orders", column("a", "bigint", precision=32), column("a", "bigint"), Conversion.WHOLE,
         needs_check=False)),
    (["CREATE TABLE orders (a text NOT NULL, b text)", VIEW], DropNotNull("orders", column("a", nullable=False))),
    (["CREATE TABLE orders (a text)", VIEW], RenameColumn("orders", "a", "c")),
    (["CREATE TABLE orders (a text, b text CHECK (length(b) < 9) DEFAULT 'x')"], retype("a")),
    (["CREATE TABLE orders (a text CHECK (a IS NOT NULL))"], retype("a")),
    (["CREATE TYPE mood AS ENUM ('x')", "CREATE TABLE orders (a mood DEFAULT 'x')"], other("a", "mood")),
    (["CREATE TABLE orders (a text, b text DEFAULT 'x' CHECK (b <> a))"], DropColumn("orders", column("a"))),
])  # fmt: skip
def test_postgresql_takes_the_other_steps(postgres_url, made, step):
    with postgres_with(postgres_url, *made) as session:
        assert session.find_blocker(step) is None
        session.run(step, postgresql.render(step, session.catalogue().schema.tables["orders"], session.dataset))


def test_postgresql_names_the_check_that_does_not_take_a_type_and_tries_it_on_no_table(postgres_url):
    made = ["CREATE TABLE orders (a text CONSTRAINT short CHECK (length(a) < 9))", "INSERT INTO orders VALUES ('5')"]
    with postgres_with(postgres_url, *made) as session, session.transaction():
        found = session.find_blocker(retype("a"))
        assert found is not None
        assert found.hint is not None
        assert "constraint short on table" in found.hint
        session.database.execute(f"INSERT INTO {session.dataset}.orders VALUES ('x')")  # the transaction goes on
        assert session.row_count("orders") == 2
    with postgresql.connect(f"{postgres_url}?dataset={session.dataset}", "shop", is_read_only=True) as reading:
        assert reading.find_blocker(retype("a")) == found
        assert reading.database.query("SELECT 1 FROM pg_class WHERE relname = '_schemactl_trial'") == []
        with pytest.raises(DestinationError, match="read-only"), reading.database.wrap_errors("write"):
            reading.database.execute(f"INSERT INTO {session.dataset}.orders VALUES ('x')")


@pytest.mark.parametrize("made_of", ["pair", "spans", "int[]"])
def test_postgresql_makes_no_texts_of_what_has_none_of_its_own(postgres_url, made_of):
    made = ["CREATE TYPE pair AS (x int, y int)", "CREATE DOMAIN spans AS tsrange", "CREATE DOMAIN deep AS spans"]
    with postgres_with(
        postgres_url, *made, f"CREATE DOMAIN odd AS {made_of}", "CREATE TABLE orders (a odd)"
    ) as session:
        found = session.find_blocker(other("a", "odd"))
        assert found is not None
        assert "whose values have no stable text form" in found.message


def test_postgresql_tries_no_type_on_a_column_that_an_earlier_step_makes(postgres_url):
    with postgres_with(postgres_url, "CREATE TABLE orders (a boolean CHECK (a))") as session:
        assert session.find_blocker(retype("a")) is None
        assert session.find_blocker(retype("b")) is None
