"""Names that change places, and names that differ in case alone, from the plan to the rollback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import migrated_datasets
import pytest
from hypothesis import HealthCheck, given, settings
from migrated_datasets import ID, Dataset, column, new_dataset, put, schema_of
from stated_renames import Renames, stated_renames

from schemactl.cli.app import run
from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.errors import DestinationError
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table

pytestmark = pytest.mark.destinations

FIRST = schema_of(ID, column("a"), column("b"))
SWAPPED = schema_of(
    ID, column("a", **{"x-renamed-from": "b"}), column("b", "bigint", **{"x-renamed-from": "a"}), before=FIRST
)
UPPER = schema_of(ID, column("A"), column("b"), before=FIRST)


ITEM = column("item")


def two_tables(of_orders: str, of_sales: str, before: Schema | None = None, **origins: str) -> Schema:
    """A schema with the tables `orders` and `sales`, each with a column of this name, and a table nested in it."""
    tables = {}
    for name, holds in (("orders", of_orders), ("sales", of_sales)):
        stated = {"x-renamed-from": origins[name]} if name in origins else {}
        made = {each.name: each for each in (ID, column(holds))}
        tables[name] = Table(name, made, {"write_disposition": "append", "resource": name, **stated})
        nested = f"{name}__items"
        tables[nested] = Table(nested, {"item": ITEM}, {"parent": name})
    start = before or new_schema("shop")
    return bump(replace(start, tables={**new_schema("shop").tables, **tables}))


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    return new_dataset(request.param, tmp_path, url)


@pytest.mark.parametrize("way", [(), ("--step-by-step",)])
def test_rows_follow_tables_that_swap_their_names_and_so_do_those_nested_in_them(
    empty: Dataset, way: tuple[str, ...]
) -> None:
    first = two_tables("a", "b")
    swapped = two_tables("b", "a", first, orders="sales", sales="orders")
    apply(empty, first)
    empty.sql("INSERT INTO @.orders VALUES (1, 'of orders')")
    empty.sql("INSERT INTO @.sales VALUES (2, 'of sales')")
    empty.sql("INSERT INTO @.orders__items VALUES ('o')")
    put(swapped, "wanted.yaml")

    assert run(["migrate", "apply", "./wanted.yaml", "--to", empty.url, "--yes", "--quiet", *way]) == 0

    assert empty.sql("SELECT id, a FROM @.sales") == [(1, "of orders")]
    assert empty.sql("SELECT id, b FROM @.orders") == [(2, "of sales")]
    assert empty.sql("SELECT item FROM @.sales__items") == [("o",)]
    assert empty.sql("SELECT item FROM @.orders__items") == []
    assert run(["migrate", "plan", "./wanted.yaml", "--to", empty.url, "--check", "--quiet"]) == 0  # once is enough
    assert run(["migrate", "verify", "./wanted.yaml", "--to", empty.url, "--quiet"]) == 0
    assert run(["migrate", "rollback", "--to", empty.url, "--yes", "--quiet"]) == 0
    assert empty.sql("SELECT id, a FROM @.orders") == [(1, "of orders")]
    assert empty.sql("SELECT item FROM @.orders__items") == [("o",)]


@pytest.mark.parametrize("done", range(7))
def test_a_swap_of_tables_that_broke_off_is_ended_or_undone_without_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    url, lake = f"parquet:{tmp_path}/lake?dataset=shop", tmp_path / "lake" / "shop"
    first = two_tables("a", "b")
    put(first, "first.yaml")
    put(two_tables("b", "a", first, orders="sales", sales="orders"), "wanted.yaml")
    assert run(["migrate", "apply", "./first.yaml", "--to", url, "--yes", "--quiet"]) == 0
    for name, column_name, nested in (("orders", "a", "o"), ("sales", "b", "s")):
        pq.write_table(pa.table({"id": [1], column_name: [name]}), lake / name / "9.1.a.parquet")
        pq.write_table(pa.table({"item": [nested]}), lake / f"{name}__items" / "9.1.a.parquet")
    real, renames = ParquetMigration.rename, iter(range(99))

    def dying(self: ParquetMigration, before: str, after: str) -> None:
        if next(renames) == done:
            raise DestinationError("the machine stands still")
        real(self, before, after)

    with monkeypatch.context() as patched:
        patched.setattr(ParquetMigration, "rename", dying)
        code = run(["migrate", "apply", "./wanted.yaml", "--to", url, "--yes", "--quiet"])
    assert code == (3 if done < 6 else 0)
    assert run(["migrate", "rollback", "--to", url, "--yes", "--quiet"]) == 0
    assert {name: items(lake, name) for name in ("orders", "sales")} == {"orders": ["o"], "sales": ["s"]}
    assert run(["migrate", "apply", "./wanted.yaml", "--to", url, "--yes", "--quiet"]) == 0
    assert {name: items(lake, name) for name in ("orders", "sales")} == {"orders": ["s"], "sales": ["o"]}
    assert run(["migrate", "verify", "./wanted.yaml", "--to", url, "--quiet"]) == 0


def items(lake: Path, name: str) -> list[str]:
    import pyarrow.parquet as pq

    files = sorted((lake / f"{name}__items").iterdir())
    return [row["item"] for file in files for row in pq.read_table(file).to_pylist()]


def test_a_table_that_lost_its_name_is_kept_and_is_no_drift(empty: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    first = two_tables("a", "b")
    taken = two_tables("a", "a", first, sales="orders")
    taken = bump(replace(taken, tables={name: each for name, each in taken.tables.items() if "orders" not in name}))
    apply(empty, first)
    empty.sql("INSERT INTO @.orders VALUES (1, 'of orders')")
    empty.sql("INSERT INTO @.sales VALUES (2, 'of sales')")
    apply(empty, taken)
    assert empty.sql("SELECT id, a FROM @.sales") == [(1, "of orders")]
    assert empty.sql("SELECT id, b FROM @.sales__before_1") == [(2, "of sales")]
    capsys.readouterr()
    assert run(["migrate", "verify", "./wanted.yaml", "--to", empty.url]) == 0
    assert run(["migrate", "status", "./wanted.yaml", "--to", empty.url, "--check"]) == 0
    assert "drift:" not in capsys.readouterr().out
    assert run(["migrate", "rollback", "--to", empty.url, "--yes", "--quiet"]) == 0
    assert empty.sql("SELECT id, b FROM @.sales") == [(2, "of sales")]


def test_dlts_staging_copies_of_tables_that_swap_their_names_are_dropped(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("postgresql", tmp_path, postgres_url)
    first = two_tables("a", "b")
    apply(made, first)
    made.sql("DROP SCHEMA IF EXISTS shop_staging CASCADE")
    made.sql("CREATE SCHEMA shop_staging")
    for name in ("orders", "sales", "sales__items", "others", "_dlt_version"):
        made.sql(f"CREATE TABLE shop_staging.{name} (id bigint)")
    put(two_tables("b", "a", first, orders="sales", sales="orders"), "wanted.yaml")
    assert run(["migrate", "apply", "./wanted.yaml", "--to", made.url, "--yes", "--quiet"]) == 0
    left = made.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop_staging'")
    made.sql("DROP SCHEMA shop_staging CASCADE")
    assert sorted(left) == [("_dlt_version",), ("others",)]


def put_in(dataset: Dataset, case: Renames) -> None:
    """Give each table a row whose values say where they stand."""
    for name, table in case.before.tables.items():
        if not name.startswith("_"):
            values = ", ".join(f"'{name}.{each}'" for each in table.columns)
            dataset.sql(f"INSERT INTO @.{name} ({', '.join(table.columns)}) VALUES ({values})")


@given(case=stated_renames())
@settings(max_examples=10, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_set_of_renames_moves_values_as_stated(empty: Dataset, case: Renames) -> None:
    clear(empty)
    apply(empty, case.before)
    put_in(empty, case)
    apply(empty, case.after, PlanOptions(drops_kept=True), allows_destructive=True)
    for (table, name), (old_table, old_name) in case.origins.items():
        assert empty.sql(f"SELECT {name} FROM @.{table}") == [(f"{old_table}.{old_name}",)]
    assert run(["migrate", "verify", "--to", empty.url, "--quiet"]) == 0
    assert run(["migrate", "plan", "./wanted.yaml", "--to", empty.url, "--check", "--quiet"]) == 0


def clear(dataset: Dataset) -> None:
    """Drop all tables of a dataset."""
    if dataset.kind == "sqlite":
        dataset.path.unlink()
    else:
        dataset.sql("DROP SCHEMA IF EXISTS @ CASCADE")


def test_values_that_an_older_version_left_under_wrong_names_are_noticed_and_mended(
    empty: Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = sales(a="b", b="a")
    apply(empty, FIRST)
    empty.sql("INSERT INTO @.orders VALUES (1, 'of a', 'of b')")
    with monkeypatch.context() as patched:  # what versions before this one did where the table was renamed, too
        patched.setattr("schemactl.migration.comparison.moves_of", lambda *_: ())
        apply(empty, swapped)
    assert empty.sql("SELECT a, b FROM @.sales") == [("of a", "of b")]
    capsys.readouterr()

    assert run(["migrate", "verify", "--to", empty.url]) == 1
    found = " ".join(capsys.readouterr().out.split())
    assert "`sales.a` does not contain the values of `b`, its name in `x-renamed-from`" in found
    assert "`sales.b` does not contain the values of `a`, its name in `x-renamed-from`" in found

    apply(empty, sales(before=swapped, a=["b"], b=["a"]))
    assert empty.sql("SELECT a, b FROM @.sales") == [("of b", "of a")]
    assert run(["migrate", "verify", "--to", empty.url]) == 0


def test_a_baseline_says_that_values_are_under_their_names(empty: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(empty, FIRST)
    with monkeypatch.context() as patched:
        patched.setattr("schemactl.migration.comparison.moves_of", lambda *_: ())
        apply(empty, sales(a="b", b="a"))
    assert run(["migrate", "verify", "--to", empty.url, "--quiet"]) == 1
    assert run(["migrate", "baseline", "./wanted.yaml", "--to", empty.url, "--yes", "--quiet"]) == 0
    assert run(["migrate", "verify", "--to", empty.url, "--quiet"]) == 0


def sales(before: Schema = FIRST, **origins: str | list[str]) -> Schema:
    """A schema whose table `sales` was called `orders`, with columns `a` and `b` of these names before."""
    columns = (column(name, **{"x-renamed-from": origin}) for name, origin in origins.items())
    made = schema_of(ID, *columns, before=before, table="sales")
    table = made.tables["sales"]
    return bump(made.with_table(replace(table, properties={**table.properties, "x-renamed-from": "orders"})))


@pytest.fixture(params=["duckdb", "sqlite"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset(request.param, tmp_path)
    apply(made, FIRST)
    made.sql("INSERT INTO @.orders (id, a, b) VALUES (1, '5', 'x')")
    return made


def apply(dataset: Dataset, schema: Schema, options: PlanOptions | None = None, **choices: bool) -> None:
    report = migrated_datasets.apply(dataset, schema, options, **choices)
    assert report.outcome in (Outcome.DONE, Outcome.NOTHING)


def test_values_follow_names_that_are_swapped(dataset: Dataset) -> None:
    apply(dataset, SWAPPED)
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "x", 5)]
    assert run(["migrate", "plan", "./wanted.yaml", "--to", dataset.url, "--check", "--quiet"]) == 0  # once is enough
    assert run(["migrate", "verify", "./wanted.yaml", "--to", dataset.url, "--quiet"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert dataset.sql("SELECT id, a, b FROM @.orders") == [(1, "5", "x")]


def test_a_name_of_another_case_is_no_drift(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    apply(dataset, UPPER)
    assert run(["migrate", "verify", "./wanted.yaml", "--to", dataset.url]) == 0
    assert run(["migrate", "status", "./wanted.yaml", "--to", dataset.url, "--check"]) == 0
    assert "drift:" not in capsys.readouterr().out


def test_a_schema_in_the_ledger_may_hold_any_letters(dataset: Dataset) -> None:
    described = schema_of(ID, column("a", description="Größe, 大きさ"), column("b"), column("größe"), before=FIRST)
    apply(dataset, described)
    apply(dataset, schema_of(ID, column("a"), column("b"), column("größe", "bigint"), before=described))
    assert run(["migrate", "verify", "--to", dataset.url, "--quiet"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert run(["export", dataset.url, "--to", "dlt", "--output", "there.yaml"]) == 0
    assert "大きさ" in Path("there.yaml").read_text()
