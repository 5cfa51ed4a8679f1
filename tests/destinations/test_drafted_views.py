"""``plan --draft-sql``: views that block a step are dropped before it, and created after it as they were."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from migrated_datasets import column, put, schema_of

from schemactl.cli.app import run
from schemactl.flows.migrate.migration_folder import read_folder

FIRST = schema_of(column("id", "bigint"), column("amount"), column("rate"), column("note"))
RETYPED = schema_of(
    column("id", "bigint"), column("amount", "bigint"), column("rate", "double"), column("note"), before=FIRST
)
BEFORE, AFTER = "0002_retype.postgresql.1.before.sql", "0002_retype.postgresql.2.after.sql"
_COUNT = count()


class Database:
    """A dataset in PostgreSQL, and a way past schemactl to it; ``@`` stands for the dataset, ``#`` for a role."""

    def __init__(self, server: str) -> None:
        number = next(_COUNT)
        self.dataset, self.role = f"drafts{number}", f"reader{number} of all"
        self.server, self.address = server, f"{server}?dataset={self.dataset}"

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as connection:
            for statement in statements:
                text = statement.replace("@", self.dataset).replace("#", f'"{self.role}"')
                cursor = connection.execute(text)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []

    def views(self) -> list[tuple[Any, ...]]:
        """All that PostgreSQL knows of the views, but their numbers and the types of their columns."""
        return self.ask(
            "SELECT c.relname, c.relkind::text, pg_get_viewdef(c.oid), pg_get_userbyid(c.relowner), c.reloptions,"
            " ARRAY(SELECT x::text FROM unnest(c.relacl) x ORDER BY 1), obj_description(c.oid, 'pg_class'),"
            " ARRAY(SELECT (attname, attacl, col_description(c.oid, attnum))::text FROM pg_attribute"
            "  WHERE attrelid = c.oid AND attnum > 0 ORDER BY attnum),"
            " ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid ORDER BY 1),"
            " ARRAY(SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = c.oid ORDER BY 1)"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('v', 'm') AND n.nspname = '@' ORDER BY 1"
        )


@pytest.fixture
def database(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A dataset with the tables of ``FIRST``, a row, and a folder with the migration that made them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    database = Database(postgres_url)
    command = ["migrate", "plan", put(FIRST, "first.yaml"), "--dir", "migrations", "--dialect", "postgresql", "--name"]
    assert run([*command, "first"]) == 0
    assert run(["migrate", "apply", "--dir", "migrations", "--to", database.address, "--yes"]) == 0
    database.ask("INSERT INTO @.orders (id, amount, rate, note) VALUES (1, '5', '0.5', 'a')", "CREATE ROLE #")
    return database


def plan(database: Database, *more: str) -> int:
    command = ["migrate", "plan", put(RETYPED, "retyped.yaml"), "--to", database.address, "--name", "retype", *more]
    return run(command)


def apply(database: Database) -> int:
    return run(["migrate", "apply", "--dir", "migrations", "--to", database.address, "--yes"])


def test_views_come_back_with_owners_privileges_comments_and_indexes(
    database: Database, capsys: pytest.CaptureFixture[str]
):
    database.ask(
        "CREATE VIEW @.totals WITH (security_barrier=true) AS SELECT id, amount FROM @.orders WHERE note <> ';'",
        "CREATE VIEW @.zwhole AS SELECT o FROM @.orders o",
        "CREATE MATERIALIZED VIEW @.cached AS SELECT t.id, t.amount, o.rate FROM @.totals t JOIN @.orders o USING (id)",
        "CREATE UNIQUE INDEX cached_key ON @.cached (id)",
        'CREATE VIEW @."A view\'s" AS SELECT amount || \'x\' AS "Text" FROM @.cached',
        "CREATE MATERIALIZED VIEW @.empty AS SELECT rate FROM @.orders WITH NO DATA",
        "COMMENT ON VIEW @.totals IS 'it''s; -- all'",
        "COMMENT ON COLUMN @.totals.amount IS 'in cents'",
        "COMMENT ON MATERIALIZED VIEW @.cached IS 'nightly'",
        "GRANT SELECT ON @.totals TO PUBLIC",
        "GRANT SELECT, UPDATE ON @.totals TO # WITH GRANT OPTION",
        "GRANT SELECT (id) ON @.cached TO #",
        "GRANT CREATE, USAGE ON SCHEMA @ TO #",
        "GRANT SELECT ON @.orders TO #",
        "ALTER VIEW @.zwhole OWNER TO #",
        "CREATE FUNCTION @.ignore() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER no_rows INSTEAD OF DELETE ON @.totals FOR EACH ROW EXECUTE FUNCTION @.ignore()",
        "CREATE VIEW @.unrelated AS SELECT note FROM @.orders",
    )
    before = database.views()
    assert plan(database, "--dir", "migrations") == 1, "a view blocks the step"
    capsys.readouterr()

    assert plan(database, "--draft-sql", "migrations") == 0
    assert f"wrote migrations/{BEFORE}" in capsys.readouterr().err
    assert "unrelated" not in Path("migrations", BEFORE).read_text()
    assert run(["migrate", "check", "migrations"]) == 0
    assert apply(database) == 0, capsys.readouterr()
    assert database.views() == before
    assert database.ask('SELECT t.amount + 1, c.rate, "Text" FROM @.totals t, @.cached c, @."A view\'s"') == [
        (6, 0.5, "5x")
    ]

    command = ["migrate", "rollback", "--dir", "migrations", "--to", database.address, "--yes"]
    assert run(command) == 0, capsys.readouterr()
    assert database.views() == before
    assert database.ask("SELECT amount || 'y' FROM @.totals") == [("5y",)]


def test_views_on_several_columns_are_created_behind_all_that_they_read(database: Database):
    database.ask(
        "CREATE VIEW @.b AS SELECT rate FROM @.orders",
        "CREATE VIEW @.a AS SELECT rate FROM @.b",
        "CREATE VIEW @.c AS SELECT o.amount, a.rate FROM @.orders o, @.a",
    )
    before = database.views()
    assert plan(database, "--draft-sql", "migrations") == 0
    assert apply(database) == 0
    assert database.views() == before


def test_a_failed_step_leaves_the_views_as_they_were(database: Database):
    database.ask("CREATE VIEW @.totals AS SELECT amount FROM @.orders", "COMMENT ON VIEW @.totals IS 'x'")
    before = database.views()
    assert plan(database, "--draft-sql", "migrations") == 0
    database.ask("INSERT INTO @.orders (id, amount) VALUES (2, 'no number')")
    assert apply(database) != 0
    assert database.views() == before


def test_what_other_objects_need_is_not_dropped_with_a_view(database: Database, capsys: pytest.CaptureFixture[str]):
    database.ask(
        "CREATE VIEW @.totals AS SELECT amount FROM @.orders",
        "CREATE FUNCTION @.first_total() RETURNS text BEGIN ATOMIC SELECT amount FROM @.totals LIMIT 1; END",
    )
    before = database.views()
    assert plan(database, "--draft-sql", "migrations") == 0
    assert apply(database) == 3
    assert "first_total" in capsys.readouterr().err
    assert database.views() == before


def test_a_new_folder_begins_with_the_schema_that_the_destination_has(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    database = Database(postgres_url)
    assert run(["migrate", "apply", put(FIRST, "first.yaml"), "--to", database.address, "--yes"]) == 0
    database.ask("CREATE VIEW @.totals AS SELECT amount FROM @.orders")
    before = database.views()
    assert run(["migrate", "plan", put(RETYPED, "retyped.yaml"), "--to", database.address]) == 1
    assert "--draft-sql DIR" in " ".join(capsys.readouterr().out.split())
    assert plan(database, "--draft-sql", "migrations") == 0, capsys.readouterr()
    assert apply(database) == 0, capsys.readouterr()
    assert database.views() == before


def test_without_views_no_sql_is_drafted(database: Database):
    assert plan(database, "--draft-sql", "migrations") == 0
    (_, migration) = read_folder(Path("migrations")).migrations
    assert not migration.plans["postgresql"].own
    assert apply(database) == 0


def test_views_of_duckdb_have_the_new_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import duckdb

    monkeypatch.chdir(tmp_path)
    to = ("--to", "duckdb:///data.duckdb")
    command = ["migrate", "plan", put(FIRST, "first.yaml"), "--dir", "migrations", "--dialect", "duckdb"]
    assert run([*command, "--name", "first"]) == 0
    assert run(["migrate", "apply", "--dir", "migrations", *to, "--yes"]) == 0
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("INSERT INTO shop.orders (id, amount, rate) VALUES (1, '5', '0.5')")
        connection.execute("CREATE VIEW shop.totals AS SELECT amount, id FROM shop.orders")
        connection.execute('CREATE VIEW main."All of it" (n, "Id") AS SELECT t.* FROM shop.totals t')
        connection.execute("CREATE VIEW shop.unrelated AS SELECT note AS \"as\" FROM shop.orders WHERE note <> ' AS ;'")
        connection.execute("COMMENT ON VIEW shop.totals IS 'it''s all'")
        connection.execute("COMMENT ON COLUMN shop.totals.amount IS 'in cents'")
    command = ["migrate", "plan", put(RETYPED, "retyped.yaml"), *to, "--draft-sql", "migrations", "--name", "retype"]
    assert run(command) == 0
    (before,) = Path("migrations").glob("*.before.sql")
    assert "unrelated" not in before.read_text()
    assert run(["migrate", "check", "migrations"]) == 0
    assert run(["migrate", "apply", "--dir", "migrations", *to, "--yes"]) == 0
    columns = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE table_name = '{}'"
    with duckdb.connect("data.duckdb") as connection:
        assert connection.execute('SELECT n + 1, "Id" FROM main."All of it"').fetchall() == [(6, 1)]
        assert connection.execute(columns.format("totals")).fetchall() == [
            ("totals", "amount", "BIGINT", "in cents"),
            ("totals", "id", "BIGINT", None),
        ]
        assert connection.execute(columns.format("All of it")).fetchone() == ("All of it", "n", "BIGINT", None)
        comment = connection.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'totals'").fetchone()
        assert comment == ("it's all",)
    assert run(["migrate", "rollback", "--dir", "migrations", *to, "--yes"]) == 0
    with duckdb.connect("data.duckdb") as connection:
        assert connection.execute("SELECT amount || 'x' FROM shop.totals").fetchall() == [("5x",)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--draft-sql", "migrations"], "reads the views of a destination"),
        (["--draft-sql", "m", "--dir", "m", "--to", "duckdb:///x.duckdb"], "names the folder of the migrations"),
        (["--draft-sql", "m", "--out", "x.plan.json", "--to", "duckdb:///x.duckdb"], "cannot be used with `--dir`"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str], message: str
):
    monkeypatch.chdir(tmp_path)
    assert run(["migrate", "plan", put(FIRST, "first.yaml"), *more]) == 2
    assert message in capsys.readouterr().err


def test_views_of_mysql_are_dropped_and_created_by_hand(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import mysql_database

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    to = ("--to", mariadb_url)
    command = ["migrate", "plan", put(FIRST, "first.yaml"), "--dir", "migrations", "--dialect", "mysql"]
    assert run([*command, "--name", "first"]) == 0
    assert run(["migrate", "apply", "--dir", "migrations", *to, "--yes"]) == 0
    ((dataset,),) = mysql_database.ask(
        mariadb_url, "select table_schema from information_schema.tables where table_name = 'orders'", "mysql"
    )
    mysql_database.run(
        mariadb_url,
        f"insert into {dataset}.orders (id, amount, rate) values (1, '5', '0.5')",
        f"create sql security invoker view {dataset}.totals as select amount as `as` from {dataset}.orders",
        f"create view {dataset}.`a b` as select `as` from {dataset}.totals where `as` <> ' view as '",
        f"create view {dataset}.unrelated as select note from {dataset}.orders",
    )
    command = ["migrate", "plan", put(RETYPED, "retyped.yaml"), *to, "--draft-sql", "migrations"]
    assert run([*command, "--name", "retype"]) == 1
    before, after = (Path("migrations", f"views.mysql.{when}.sql") for when in ("before", "after"))
    assert f"run `{before}`" in capsys.readouterr().out
    created = [mysql_database.ask(mariadb_url, f"show create view {name}", dataset) for name in ("totals", "`a b`")]
    mysql_database.run(mariadb_url, *before.read_text().replace(";\n", ";\0").split("\0")[:-1])
    assert run([*command, "--name", "retype"]) == 0, capsys.readouterr()
    assert run(["migrate", "apply", "--dir", "migrations", *to, "--yes"]) == 0
    mysql_database.run(mariadb_url, *after.read_text().replace(";\n", ";\0").split("\0")[:-1])
    assert [
        mysql_database.ask(mariadb_url, f"show create view {name}", dataset) for name in ("totals", "`a b`")
    ] == created
    assert mysql_database.ask(mariadb_url, "select `as` + 1 from `a b`", dataset) == [(6,)]
