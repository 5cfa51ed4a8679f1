"""What somebody else has made in a schema of the search path does not run with the rights of a load or a migration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import migrated_datasets
import psycopg
import pytest
from migrated_datasets import ID, apply, column, put, schema_of
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import postgresql
from schemactl.errors import DestinationError
from schemactl.flows.migrate.apply import ApplyRequest
from schemactl.flows.migrate.migration_folder import NextRequest, hash_folder, next_migration
from schemactl.flows.migrate.pending import apply_folder
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.migration.steps import AddColumn, ChangeType, CreateTable, DropColumn, DropTable
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.destinations

TRAPS = {
    # Ours called it with a text and an integer; PostgreSQL's own takes a bigint.
    "hashtextextended": ("text, integer", "bigint", "1"),
    "pg_try_advisory_xact_lock": ("integer", "boolean", "true"),
    # Columns are `character varying`, and PostgreSQL's own functions take texts.
    **dict.fromkeys(("length", "octet_length", "char_length"), ("character varying", "integer", "1")),
    "rtrim": ("character varying, text", "text", "''"),
    "strpos": ("character varying, text", "integer", "0"),
    "left": ("character varying, integer", "text", "''"),
    "substr": ("character varying, integer, integer", "text", "''"),
    "replace": ("character varying, text, text", "text", "''"),
    "decode": ("character varying, text", "bytea", "''"),
    "abs": ("character varying", "integer", "1"),
    "trunc": ("bigint", "bigint", "1"),
    "round": ("bigint, integer", "bigint", "1"),
    "pg_describe_object": ("regclass, oid, integer", "text", "''"),
    "pg_relation_size": ("oid", "bigint", "1"),
    "count": None,
}
"""Functions that fit our calls better than PostgreSQL's own: their arguments, what they return, and a value of that."""

OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "~", "!~", "~~", "!~~", "||")


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The address of a database in whose schema `public` anybody may create."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE paths")
        connection.execute("CREATE ROLE intruder LOGIN PASSWORD 'intruder'")
    url = postgres_url.replace("/postgres", "/paths")
    ask(url, "GRANT CREATE ON SCHEMA public TO PUBLIC")
    yield url
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE paths WITH (FORCE)")
        connection.execute("DROP ROLE intruder")


def ask(url: str, *statements: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            found = connection.execute(statement.encode())
        return found.fetchall() if found.description else []


def set_traps(url: str) -> None:
    """Make functions and operators as somebody who may create in `public`, and no more; each notes who runs it."""
    user, _, place = url.rpartition("@")
    body = "BEGIN INSERT INTO public.caught VALUES (current_user, '{name}'); RETURN {value}; END"
    made = ["CREATE TABLE public.caught (who text, what text)", "GRANT INSERT ON public.caught TO PUBLIC"]
    for name, trap in TRAPS.items():
        if trap is not None:
            arguments, kind, value = trap
            text = body.format(name=name, value=value).replace("'", "''")
            made.append(f"CREATE FUNCTION public.{name}({arguments}) RETURNS {kind} LANGUAGE plpgsql AS '{text}'")
    kinds = ("character varying", "name", "text", "oid", "bigint", "integer", "boolean", '"char"', "numeric")
    for left in kinds:
        for right in kinds:
            text = body.format(name="operator", value="true").replace("'", "''")
            signature = f"public.trap_{kinds.index(left)}_{kinds.index(right)}"
            made.append(
                f"CREATE FUNCTION {signature}(a {left}, b {right}) RETURNS boolean LANGUAGE plpgsql AS '{text}'"
            )
            made += [
                f"CREATE OPERATOR public.{operator} (FUNCTION = {signature}, LEFTARG = {left}, RIGHTARG = {right})"
                for operator in OPERATORS
            ]
    assert user
    ask(f"postgresql://intruder:intruder@{place}", *made)


def caught(url: str) -> list[tuple[Any, ...]]:
    return ask(url, "SELECT DISTINCT who, what FROM public.caught")


undo = partial(migrated_datasets.undo, allows_destructive=True)


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


BEFORE = schema_of(ID, *(column(f"c{number}", precision=40) for number in range(6)), column("at", "timestamp"))
AFTER = schema_of(
    ID,
    *(column(f"c{number}", kind) for number, kind in enumerate(("bigint", "double", "date", "bool", "time", "binary"))),
    column("at", "text"),
    before=BEFORE,
)


@pytest.mark.parametrize("is_online", [False, True])
def test_no_function_or_operator_of_somebody_else_runs_in_a_migration(database: str, is_online: bool) -> None:
    url = f"{database}?dataset=shop"
    assert apply(url, BEFORE).outcome is Outcome.DONE
    ask(database, "INSERT INTO shop.orders VALUES (1, '1', '1.5', '2026-01-02', 'true', '01:02:03', 'YQ==', now())")
    set_traps(database)

    assert apply(url, AFTER, is_online=is_online).outcome is Outcome.DONE
    assert undo(url).outcome is Outcome.DONE

    assert caught(database) == []


def test_no_operator_of_somebody_else_runs_as_a_run_is_written_by_itself(database: str) -> None:
    url = f"{database}?dataset=shop"
    assert apply(url, BEFORE).outcome is Outcome.DONE
    set_traps(database)

    with postgresql.connect(url, "shop") as session:
        (run,) = session.runs()
        session.write_run(run)
        assert session.runs() == (run,)

    assert caught(database) == []


def test_no_function_or_operator_of_somebody_else_runs_in_a_load(database: str, tmp_path: Path) -> None:
    url, kinds = f"{database}?dataset=sales", {"note": {"data_type": "text", "precision": 9}}
    set_traps(database)

    for load_id, disposition in (("1", "append"), ("2", "merge"), ("3", "replace")):
        hints: dict[str, Any] = {"write_disposition": disposition}
        key = {"id": {"data_type": "bigint", "nullable": False, "primary_key": True}} if load_id == "2" else {}
        schema = shop(orders({**kinds, **key}, **hints))
        postgresql.check_tables(url, schema)
        made = package(tmp_path / "staged", schema, load_id, {"orders": [order(1, load_id, note="a")]})
        postgresql.load(url, made, quiet)
    postgresql.read_past_loads(url, "shop")
    postgresql.read_catalogue(url)

    assert caught(database) == []


TYPES = (
    "CREATE TYPE public.mood AS ENUM ('sad', 'glad')",
    "CREATE TYPE public.\"A mood\" AS ENUM ('sad', 'glad')",
    "CREATE DOMAIN public.mail AS text CHECK (length(value) > 2)",
    "CREATE EXTENSION vector SCHEMA public",
)
OTHER = ("mood", '"A mood"', "mail", "mood[]", "vector(3)", "shop.kind")


def test_types_in_the_search_path_are_found_and_written_as_before(database: str) -> None:
    url = f"{database}?dataset=shop"
    ask(database, "CREATE SCHEMA shop", "CREATE TYPE shop.kind AS ENUM ('a')", *TYPES)
    columns = {f"c{number}": column(f"c{number}", **{"x-database-type": kind}) for number, kind in enumerate(OTHER)}
    steps = [CreateTable(Table("orders", columns)), AddColumn("orders", column("c9", **{"x-database-type": "mood"}))]

    with postgresql.connect(url, "shop") as session, session.transaction():
        for step in steps:
            session.run(step, postgresql.render(step, None, "shop"))

    found = postgresql.read_catalogue(url).schema.tables["orders"].columns.values()
    assert [each.properties["x-database-type"] for each in found] == [*OTHER, "mood"]


@pytest.mark.parametrize("is_online", [False, True])
@pytest.mark.parametrize("kind", ["mood", '"A mood"', "mail"])
def test_columns_become_types_in_the_search_path_and_come_back(database: str, kind: str, is_online: bool) -> None:
    url = f"{database}?dataset=shop"
    ask(database, *TYPES)
    before = schema_of(ID, column("a"))
    assert apply(url, before).outcome is Outcome.DONE
    ask(database, "INSERT INTO shop.orders VALUES (1, 'glad'), (2, NULL)")
    after = schema_of(ID, Column("a", {"x-database-type": kind}), before=before)

    assert apply(url, after, is_online=is_online).outcome is Outcome.DONE
    assert ask(database, f"SELECT id, a::text FROM shop.orders WHERE a = CAST('glad' AS public.{kind})") == [
        (1, "glad")
    ]
    assert undo(url).outcome is Outcome.DONE

    assert ask(database, "SELECT id, a FROM shop.orders ORDER BY id") == [(1, "glad"), (2, None)]


def test_a_load_makes_and_fills_columns_of_types_in_the_search_path(database: str, tmp_path: Path) -> None:
    url = f"{database}?dataset=sales"
    ask(database, *TYPES)
    mood = {"note": {"data_type": "text", "x-database-type": "mood"}}
    for load_id in ("1", "2"):
        made = package(tmp_path / "staged", shop(orders(mood)), load_id, {"orders": [order(1, load_id, note="sad")]})
        postgresql.load(url, made, quiet)
    assert ask(database, "SELECT note::text FROM sales.orders") == [("sad",), ("sad",)]


def test_keys_of_an_extension_are_compared_by_its_own_equality(database: str, tmp_path: Path) -> None:
    url = f"{database}?dataset=sales"
    ask(database, *TYPES)
    key = {"data_type": "text", "x-database-type": "vector(2)", "nullable": False, "primary_key": True}
    schema = shop(orders({"note": key}, write_disposition="merge"))
    for load_id, note in (("1", "[1,2]"), ("2", "[1.0, 2.0]"), ("3", "[3,4]")):
        made = package(tmp_path / "staged", schema, load_id, {"orders": [order(int(load_id), load_id, note=note)]})
        postgresql.load(url, made, quiet)
    assert ask(database, "SELECT id, note::text FROM sales.orders ORDER BY id") == [(2, "[1,2]"), (3, "[3,4]")]


@pytest.mark.parametrize(("made", "step", "said"), [
    ("CREATE VIEW seen AS SELECT a FROM orders", DropColumn("orders", column("a")), "view seen needs `orders.a`"),
    ("CREATE VIEW seen AS SELECT a FROM orders", DropTable(Table("orders")), "view seen needs `orders`"),
    ("CREATE INDEX fast ON orders (upper(a))",
     ChangeType("orders", column("a"), column("a", "bigint"), needs_check=True), "index fast"),
    ("ALTER TABLE orders ALTER COLUMN a SET DEFAULT nextval('numbers')::text || 'x'",
     ChangeType("orders", column("a"), column("a", "bigint"), needs_check=True),
     "default ((nextval('numbers'::regclass))::text || 'x'::text)"),
])  # fmt: skip
def test_what_stands_in_a_steps_way_is_called_as_the_user_calls_it(
    database: str, made: str, step: Any, said: str
) -> None:
    ask(database, "CREATE SEQUENCE numbers", "CREATE TABLE orders (id bigint, a text)", made)
    with postgresql.connect(f"{database}?dataset=public", "shop") as session:
        found = session.find_blocker(step)
    assert found is not None
    assert said in f"{found.message} {found.hint}"


def test_defaults_of_sequences_in_the_search_path_hold(database: str, tmp_path: Path) -> None:
    url = f"{database}?dataset=public"
    schema = shop(orders())
    postgresql.load(url, package(tmp_path / "staged", schema, "1", {"orders": []}), quiet)
    ask(database, "CREATE SEQUENCE numbers", "ALTER TABLE orders ADD COLUMN number bigint DEFAULT nextval('numbers')")
    postgresql.load(url, package(tmp_path / "staged", schema, "2", {"orders": [order(1, "2"), order(2, "2")]}), quiet)
    with postgresql.connect(url, "shop") as session:
        step = AddColumn("orders", column("more"))
        with session.transaction():
            session.run(step, postgresql.render(step, None, "public"))
    assert ask(database, "SELECT number FROM orders ORDER BY 1") == [(1,), (2,)]


def test_a_trigger_that_relies_on_the_search_path_is_named_with_the_way_out(database: str, tmp_path: Path) -> None:
    url = f"{database}?dataset=sales"
    schema = shop(orders())
    postgresql.load(url, package(tmp_path / "staged", schema, "1", {"orders": []}), quiet)
    ask(
        database,
        "CREATE TABLE public.audit (id bigint)",
        "CREATE FUNCTION sales.note_it() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN INSERT INTO audit VALUES (new.id); RETURN new; END'",
        "CREATE TRIGGER noted BEFORE INSERT ON sales.orders FOR EACH ROW EXECUTE FUNCTION sales.note_it()",
    )
    made = package(tmp_path / "staged", schema, "2", {"orders": [order(1, "2")]})
    with pytest.raises(DestinationError, match='relation "audit" does not exist') as raised:
        postgresql.load(url, made, quiet)
    assert raised.value.hint is not None
    assert "ALTER FUNCTION sales.note_it() SET search_path = " in raised.value.hint
    ask(database, "ALTER FUNCTION sales.note_it() SET search_path = public")
    postgresql.load(url, made, quiet)
    assert ask(database, "SELECT id FROM audit") == [(1,)]


@pytest.fixture
def own(database: str) -> Callable[[str, str], Outcome]:
    """Applies a migration that adds a column, with own SQL after it, and before it where that is stated."""
    url, folder = f"{database}?dataset=shop", Path("migrations")

    def run(after: str, before: str = "") -> Outcome:
        for schema in (BEFORE, schema_of(*BEFORE.tables["orders"].columns.values(), column("new"), before=BEFORE)):
            next_migration(NextRequest(put(schema, "w.yaml"), folder, Path("s"), PlanOptions(), ("postgresql",)))
        (name,) = (path.stem for path in folder.glob("0002*.json"))
        for when, text in (("before", before), ("after", after)):
            if text:
                (folder / f"{name}.postgresql.1.{when}.sql").write_text(text)
        hash_folder(folder)
        request = ApplyRequest("", url, Path("s"), PlanOptions())
        return apply_folder(folder, request, lambda _: True, lambda: nullcontext(None)).outcome

    return run


def test_own_sql_finds_names_by_the_path_of_its_user_and_nothing_else_does(
    database: str, own: Callable[[str, str], Outcome]
) -> None:
    ask(
        database,
        "ALTER DATABASE paths SET search_path = tools, public",
        "CREATE SCHEMA tools",
        "CREATE FUNCTION tools.twice(integer) RETURNS integer LANGUAGE sql AS 'SELECT 2 * $1'",
        "CREATE TABLE public.settings (name text)",
        "INSERT INTO public.settings VALUES ('on')",
    )
    set_traps(database)
    text = (
        "-- schemactl: precondition\nSELECT 1 FROM settings;\n"
        "-- schemactl: run\nINSERT INTO settings SELECT CAST(twice(4) AS varchar);\n"
        "SET LOCAL search_path = shop, public;\nCREATE TABLE by_its_own_path (id bigint);\n"
        "CREATE TABLE by_the_same_path (id bigint);\n"
    )
    again = "INSERT INTO settings VALUES ('after');\nCREATE TABLE by_the_first_path (id bigint);\n"

    assert own(again, text) is Outcome.DONE

    assert ask(database, "SELECT name FROM public.settings ORDER BY name") == [("8",), ("after",), ("on",)]
    query = "SELECT relname, relnamespace::regnamespace::text FROM pg_class WHERE left(relname, 3) IN ('by_')"
    assert sorted(ask(database, query)) == [
        ("by_its_own_path", "shop"),
        ("by_the_first_path", "tools"),
        ("by_the_same_path", "shop"),
    ]
    assert caught(database) == []
