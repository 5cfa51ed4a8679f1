"""What lies in a shared database file, or beside it, reads, removes and overwrites no file elsewhere."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import duckdb
import pytest
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import DESTINATIONS
from schemactl.destinations._database_files import check_sqlite_files
from schemactl.destinations.sqlite.conversion import CHECKED
from schemactl.errors import DestinationError

pytestmark = pytest.mark.destinations


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".bashrc").write_text("mine\n")
    return tmp_path / "home"


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str, str], None]:
    """Loads a row into the dataset `sales` of a database."""

    def run(url: str, load_id: str) -> None:
        made = package(tmp_path / "staged", shop(orders(write_disposition="replace")), load_id, {"orders": [order(1)]})
        DESTINATIONS[url.partition(":")[0]].load(f"{url}?dataset=sales", made, quiet)

    return run


def hot_journal(path: Path, super_journal: str) -> None:
    """Leave a SQLite file as a writer that was killed leaves it, with a journal that names another file."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS there (a)")
    connection.close()
    copies = path.with_suffix(".copy"), path.with_suffix(".copy-journal")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    connection.execute(f"CREATE TABLE big AS {numbers} SELECT i, hex(randomblob(50)) FROM n")
    for source, copy in zip((path, Path(f"{path}-journal")), copies, strict=True):
        shutil.copyfile(source, copy)
    connection.execute("ROLLBACK")
    connection.close()
    shutil.copyfile(copies[0], path)
    name = super_journal.encode()
    ends = (0x40000000 // 4096 + 1).to_bytes(4, "big"), len(name).to_bytes(4, "big"), sum(name).to_bytes(4, "big")
    end = ends[0] + name + ends[1] + ends[2] + bytes.fromhex("d9d505f920a163d7")
    Path(f"{path}-journal").write_bytes(copies[1].read_bytes() + end)


def test_a_journal_of_sqlite_removes_no_file_elsewhere(
    tmp_path: Path, home: Path, load: Callable[[str, str], None]
) -> None:
    (tmp_path / "shop.db").touch()
    hot_journal(tmp_path / "shop__sales.db", str(home / ".bashrc"))
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    destination: Any = DESTINATIONS["sqlite"]
    for act in (
        lambda: destination.read_catalogue(f"{url}?dataset=sales"),
        lambda: load(url, "1"),
        lambda: destination.connect(f"{url}?dataset=sales", "shop").__enter__(),
    ):
        with pytest.raises(DestinationError, match=r"makes SQLite delete `.*\.bashrc`"):
            act()
    assert (home / ".bashrc").read_text() == "mine\n"


def test_a_journal_of_a_transaction_over_several_files_is_still_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    hot_journal(path, f"{path}-mj0A1B2C9F1")
    Path(f"{path}-mj0A1B2C9F1").write_bytes(f"{path}-journal\0".encode())
    assert list(DESTINATIONS["sqlite"].read_catalogue(f"sqlite:///{path}").schema.tables) == ["there"]
    assert not Path(f"{path}-journal").exists()
    assert not Path(f"{path}-mj0A1B2C9F1").exists()


def test_the_journal_of_the_catalog_in_an_iceberg_folder_removes_no_file_elsewhere(tmp_path: Path, home: Path) -> None:
    (tmp_path / "lake").mkdir()
    hot_journal(tmp_path / "lake" / "catalog.db", str(home / ".bashrc"))
    with pytest.raises(DestinationError, match=r"makes SQLite delete `.*\.bashrc`"):
        DESTINATIONS["iceberg"].read_catalogue(f"iceberg:{tmp_path / 'lake'}?dataset=sales")
    assert (home / ".bashrc").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("kind", "ending"), [("sqlite", "-journal"), ("sqlite", "-wal"), ("duckdb", ".wal"), ("duckdb", ".tmp")]
)
def test_links_beside_a_database_are_not_followed(
    tmp_path: Path, home: Path, load: Callable[[str, str], None], kind: str, ending: str
) -> None:
    path = tmp_path / f"shop.{kind}"
    load(f"{kind}:///{path}", "1")
    beside = Path(f"{path}{ending}" if kind == "duckdb" else f"{path.with_name('shop__sales.sqlite')}{ending}")
    beside.unlink(missing_ok=True)
    beside.symlink_to(home / (".bashrc" if ending != ".tmp" else ""))
    with pytest.raises(DestinationError, match=f"`{beside}` is a link"):
        load(f"{kind}:///{path}", "2")
    assert (home / ".bashrc").read_text() == "mine\n"


MACROS = (
    "MACRO lower(a) AS (SELECT content FROM read_text('{secret}'))",
    "MACRO main.count_star() AS 7",
    "MACRO \"||\"(a, b) AS (SELECT content FROM read_text('{secret}'))",
    "MACRO duckdb_tables() AS TABLE SELECT 'x' AS table_name",
    "MACRO Read_Parquet(a) AS TABLE SELECT content AS note FROM read_text('{secret}')",
)


@pytest.mark.parametrize("macro", MACROS)
def test_macros_of_a_duckdb_file_do_not_take_the_place_of_functions(
    tmp_path: Path, home: Path, load: Callable[[str, str], None], macro: str
) -> None:
    path = tmp_path / "shop.duckdb"
    url = f"duckdb:///{path}"
    load(url, "1")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE {macro.format(secret=home / '.bashrc')}")
    destination: Any = DESTINATIONS["duckdb"]
    for act in (
        lambda: destination.read_catalogue(url),
        lambda: load(url, "2"),
        lambda: destination.connect(url, "shop").__enter__(),
    ):
        with pytest.raises(DestinationError, match="would be called in the place of DuckDB's own functions: `"):
            act()


def test_other_macros_of_a_duckdb_file_stay(tmp_path: Path, load: Callable[[str, str], None]) -> None:
    path = tmp_path / "shop.duckdb"
    load(f"duckdb:///{path}", "1")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE MACRO twice(a) AS 2 * a")
        connection.execute("CREATE MACRO sales.lower(a) AS 'x'")  # which only its full name calls
    load(f"duckdb:///{path}", "2")
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT twice(id), note FROM sales.orders").fetchall() == [(2, None)]


def test_views_of_a_sqlite_file_call_no_functions_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE VIEW seen AS SELECT {CHECKED}('1', 'bigint')")
    connection.close()
    with (
        DESTINATIONS["sqlite"].connect(f"sqlite:///{path}?dataset=main", "shop") as session,
        pytest.raises(sqlite3.OperationalError, match="unsafe use of"),
    ):
        session.database.query("SELECT * FROM seen")


def test_a_dataset_that_is_a_link_beside_a_sqlite_file_is_not_followed(
    tmp_path: Path, home: Path, load: Callable[[str, str], None]
) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    with sqlite3.connect(home / "mine.db") as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    content = (home / "mine.db").read_bytes()
    (tmp_path / "shop.db").touch()
    (tmp_path / "shop__sales.db").symlink_to(home / "mine.db")
    destination: Any = DESTINATIONS["sqlite"]
    for act in (
        lambda: destination.read_catalogue(f"{url}?dataset=sales"),
        lambda: load(url, "1"),
        lambda: destination.connect(f"{url}?dataset=sales", "shop").__enter__(),
    ):
        with pytest.raises(DestinationError, match="is a link"):
            act()
    with destination.connect(url, "sales") as session:  # nor is it taken for the dataset of the schema
        assert session.dataset == "main"
    assert (home / "mine.db").read_bytes() == content


def test_own_sql_sets_no_path_for_what_follows_in_duckdb(tmp_path: Path, load: Callable[[str, str], None]) -> None:
    path = tmp_path / "shop.duckdb"
    load(f"duckdb:///{path}", "1")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA tools")
        connection.execute("CREATE MACRO tools.lower(a) AS 'x'")
    with DESTINATIONS["duckdb"].connect(f"duckdb:///{path}?dataset=sales", "shop") as session:
        before = session.database.query("SELECT current_setting('search_path')")
        with session.transaction():
            session.run_own(("SET search_path = 'tools'", "CREATE TABLE made AS SELECT lower('A') AS a"), "x.sql")
            assert session.database.query("SELECT current_setting('search_path'), lower('A')") == [(before[0][0], "a")]
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT a FROM tools.made").fetchall() == [("x",)]


def test_a_journal_that_a_writer_removes_meanwhile_is_no_error(tmp_path: Path) -> None:
    database, journal, is_done = tmp_path / "shop.db", tmp_path / "shop.db-journal", Event()

    def write() -> None:
        while not is_done.is_set():
            journal.write_bytes(b"")
            journal.unlink()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            for _ in range(3_000):
                check_sqlite_files(database)
        finally:
            is_done.set()
        writer.result()
