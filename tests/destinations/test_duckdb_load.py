"""Loading into a DuckDB file."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from staged_loads import IN_THE_WAY, line, lines, order, order_and_lines, orders, package, quiet, shop

from schemactl.destinations import duckdb as destination
from schemactl.errors import DestinationError, InputError
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.types import table_from_dict
from tests.destinations.conftest import TYPED

loading = import_module("schemactl.destinations.duckdb.load")  # whose name in the package is a function's


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.duckdb"


def load(path: Path, made: LoadPackage, dataset: str = "sales") -> None:
    destination.load(f"duckdb:///{path}?dataset={dataset}", made, quiet)


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f'use "{path.stem}".sales')
        return connection.execute(query).fetchall()


def make(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_load_makes_the_file_the_dataset_and_its_tables(path: Path, tmp_path: Path) -> None:
    path = path.parent / "new" / "folder" / path.name
    made = order_and_lines(tmp_path)
    load(path, made)
    assert ask(path, "select id, note from orders order by id") == [(1, "a"), (2, None)]
    assert ask(path, "select sku from orders__lines order by sku") == [("x",), ("y",)]
    loads = ask(path, "select load_id, schema_name, status, schema_version_hash, inserted_at::varchar from _dlt_loads")
    assert loads == [("1", "shop", 0, made.schema.version_hash, "1970-01-01 00:00:01+00")]
    catalogue = destination.read_catalogue(f"duckdb:///{path}?dataset=sales")
    assert catalogue.hashes == (made.schema.version_hash,)
    for table in (orders(), lines()):
        found = catalogue.schema.tables[table.name].columns
        assert list(found) == list(table.columns)
        for name, column in table.columns.items():
            assert destination.stored(found[name]) == destination.stored(column)


VALUES: dict[str, list[Any]] = {
    "a_text": ["", "a'b\"c\n\r\t", "ж🐘", "\\.", "\x00in it"],
    "a_double": [float("inf"), float("-inf"), 5e-324, 0.1, -0.0],
    "a_bool": [True, False],
    "a_timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
    "naive": [datetime(2026, 1, 2, 3, 4, 5, 678901)],
    "a_bigint": [-(2**63), 2**63 - 1, 0],
    "a_binary": [b"", b"\x00\xff\\x41", b"'"],
    "a_json": ['{"b":1,"a":[null,"\\u0001"]}', "[]", '"x"'],
    "a_decimal": [Decimal("0.000000001"), Decimal("-12345678901234567890123456789.123456789")],
    "a_wei": [Decimal(10**38 - 1), Decimal(-(10**37))],
    "a_date": [date(1, 1, 1), date(9999, 12, 31)],
    "a_time": [time(0), time(23, 59, 59, 999999)],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_arrive_as_they_are(name: str, path: Path, tmp_path: Path) -> None:
    values = [*VALUES[name], None]
    rows = [order(number, **{name: value}) for number, value in enumerate(values)]
    load(path, package(tmp_path, shop(orders({name: TYPED[name]})), "1", {"orders": rows}))
    assert [row[0] for row in ask(path, f"select {name} from orders order by id")] == values


def test_moments_in_sparks_old_form_are_in_utc(path: Path, tmp_path: Path) -> None:
    table = orders({"a_timestamp": TYPED["a_timestamp"]})
    folder = tmp_path / "it's [old]*"
    folder.mkdir()
    rows = pa.table(
        {
            "id": [1],
            "note": ["x"],
            "a_timestamp": pa.array([datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "_dlt_load_id": ["1"],
            "_dlt_id": ["r"],
        }
    )
    pq.write_table(rows, folder / "it's?.parquet", use_deprecated_int96_timestamps=True)
    made = LoadPackage("1", shop(table), (StagedTable(table, folder, 1),), datetime.now(UTC))
    load(path, made)
    assert ask(path, "select a_timestamp::varchar from orders") == [("2026-01-02 03:04:05+00",)]


def when_a_folder_is_made(do: Callable[[], None]) -> None:
    """Call ``do`` the next time that a folder is made: audit hooks stay, so this one answers once."""
    waiting = [do]

    def hook(event: str, _: tuple[Any, ...]) -> None:
        if event == "os.mkdir" and waiting:
            waiting.pop()()

    sys.addaudithook(hook)


def test_a_load_that_fails_keeps_the_file_that_another_one_has_made_meanwhile(path: Path, tmp_path: Path) -> None:
    first, second = order_and_lines(tmp_path), order_and_lines(tmp_path, "2")
    second = replace(second, tables=(replace(second.tables[0], rows=7), *second.tables[1:]))
    when_a_folder_is_made(lambda: load(path, first))

    with pytest.raises(DestinationError, match="2 of 7 rows"):
        load(path, second)

    assert ask(path, "select load_id from _dlt_loads") == [("1",)]


def test_a_load_that_finds_the_file_in_use_leaves_it_where_it_is(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    code = f"import duckdb\nwith duckdb.connect({str(path)!r}):\n    print('open', flush=True)\n    input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:

        def open_it() -> None:
            other.stdin.write(b"")
            assert other.stdout.readline() == b"open\n"

        when_a_folder_is_made(open_it)
        with pytest.raises(DestinationError, match="lock"):
            load(path, order_and_lines(tmp_path))
        assert path.exists()
        other.communicate(b"\n")


def test_descriptions_are_comments_of_what_is_made(path: Path, tmp_path: Path) -> None:
    first = orders({"note": {"data_type": "text", "description": "it's what\nthey said"}}, description="All orders")
    load(path, package(tmp_path, shop(first), "1", {"orders": [order(1)]}))
    grown = orders({"new": {"data_type": "double", "description": "added"}}, description="changed later")
    load(path, package(tmp_path, shop(grown), "2", {"orders": [order(2, "2", new=0.5)]}))
    assert ask(path, "select comment from duckdb_tables() where table_name = 'orders'") == [("All orders",)]
    columns = "select column_name, comment from duckdb_columns() where table_name = 'orders' and comment is not null"
    assert ask(path, columns) == [("note", "it's what\nthey said"), ("new", "added")]


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "insert-only"])
def test_of_rows_with_one_key_the_answer_is_the_same_in_any_order(strategy: str, path: Path, tmp_path: Path) -> None:
    key = {"id": {"data_type": "bigint", "primary_key": True}, "v": {"data_type": "text"}}
    schema = shop(orders(key, **{"write_disposition": "merge", "x-merge-strategy": strategy}))
    rows = [order(1, v=text, _dlt_id=f"k{text}" if strategy == "delete-insert" else "k") for text in "cab"]
    answers = set()
    for number in range(3):
        file = path.with_name(f"{number}.duckdb")
        turned = rows[number:] + rows[:number]
        load(file, package(tmp_path, schema, "1", {"orders": turned}))
        answers.add(tuple(ask(file, "select v from orders")))
    assert answers == {(("a",),)}


def test_nested_rows_follow_their_parents_where_there_is_no_root_key(path: Path, tmp_path: Path) -> None:
    key = {"id": {"data_type": "bigint", "primary_key": True}}
    tags = table_from_dict(
        "orders__lines__tags",
        {
            "columns": {
                "_dlt_parent_id": {"data_type": "text", "nullable": False, "parent_key": True},
                "_dlt_id": {"data_type": "text", "nullable": False, "row_key": True},
            },
            "parent": "orders__lines",
        },
    )
    schema = shop(orders(key, write_disposition="merge"), lines(has_root_key=False), tags)
    for load_id, number in (("1", 1), ("1.5", 2), ("2", 1)):
        root = f"r{number}.{load_id}"
        rows = {
            "orders": [order(number, load_id)],
            "orders__lines": [line(root, 0, load_id)],
            "orders__lines__tags": [{"_dlt_parent_id": f"{root}.0", "_dlt_id": f"t{load_id}"}],
        }
        load(path, package(tmp_path, schema, load_id, rows))
    assert ask(path, "select sku from orders__lines order by 1") == [("1.5",), ("2",)]
    assert ask(path, "select _dlt_id from orders__lines__tags order by 1") == [("t1.5",), ("t2",)]


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_is_reported_before_and_nothing_is_written(case: str, path: Path, tmp_path: Path) -> None:
    statements, message, columns = IN_THE_WAY[case]
    make(path, "create schema sales", *statements)
    before = ask(path, "select * from orders")
    made = package(tmp_path, shop(orders(columns)), "1", {"orders": [order(1, needed=1)]})
    for attempt in (
        lambda: destination.check_tables(f"duckdb:///{path}?dataset=sales", made.schema),
        lambda: load(path, made),
    ):
        with pytest.raises(DestinationError, match=message) as caught:
            attempt()
        assert caught.value.hint
        assert ask(path, "select * from orders") == before
        assert ask(path, "select table_name from duckdb_tables()") == ([("orders",)] if case != "a view" else [])


def test_an_empty_table_of_somebody_else_gets_the_columns_that_it_lacks(path: Path, tmp_path: Path) -> None:
    make(path, "create schema sales", "create table sales.orders (id bigint)")
    destination.check_tables(f"duckdb:///{path}?dataset=sales", order_and_lines(tmp_path).schema)
    assert ask(path, "select count(*) from duckdb_columns() where table_name = 'orders'") == [(1,)]
    load(path, order_and_lines(tmp_path))
    assert ask(path, "select count(*) from orders") == [(2,)]


UNLIKE = [
    ("a_bigint", "INTEGER", 2**40, None),
    ("a_bigint", "INTEGER", 7, 7),
    ("a_bigint", "HUGEINT", 7, 7),
    ("a_double", "BIGINT", 1.5, None),
    ("a_double", "FLOAT", 0.1, None),
    ("a_double", "FLOAT", 0.5, 0.5),
    ("a_decimal", "DECIMAL(10,2)", Decimal("1.239"), None),
    ("a_timestamp", "DATE", datetime(2026, 1, 2, 3, tzinfo=UTC), None),
    ("a_text", "BIGINT", "07", None),
    ("a_text", "BIGINT", "x", None),
    ("a_json", "VARCHAR", "[1]", "[1]"),
]


@pytest.mark.parametrize("disposition", ["append", "merge"])
@pytest.mark.parametrize(("name", "there", "value", "expected"), UNLIKE)
def test_a_column_of_another_type_takes_what_it_can_hold_and_no_more(
    name: str, there: str, value: Any, expected: Any, disposition: str, path: Path, tmp_path: Path
) -> None:
    make(path, "create schema sales", f"create table sales.orders (id bigint, {name} {there})")
    table = orders({name: TYPED[name]}, write_disposition=disposition)
    made = package(tmp_path, shop(table), "1", {"orders": [order(1, **{name: value})]})
    if expected is None:
        place = f"column `{name}` of table `orders` (`{there}` in the table"
        with pytest.raises(DestinationError, match=re.escape(place)) as caught:
            load(path, made)
        assert caught.value.hint
        assert ask(path, "select count(*) from orders") == [(0,)]
        assert ask(path, "select count(*) from duckdb_tables()") == [(1,)]
    else:
        load(path, made)
        assert ask(path, f"select {name} from orders") == [(expected,)]


def test_names_that_are_one_name_there_are_refused(path: Path, tmp_path: Path) -> None:
    schema = shop(orders({"Note": {"data_type": "text"}}))
    with pytest.raises(DestinationError, match="does not distinguish `note` from `Note`"):
        destination.check_tables(f"duckdb:///{path}", schema)
    with pytest.raises(DestinationError, match="does not distinguish `note` from `Note`"):
        load(path, package(tmp_path, schema, "1", {"orders": []}))
    assert not path.exists()


def test_rows_that_do_not_arrive_stop_the_load(path: Path, tmp_path: Path) -> None:
    made = order_and_lines(tmp_path)
    short = replace(made, tables=(replace(made.tables[0], rows=3), made.tables[1]))
    with pytest.raises(DestinationError, match="table `orders`: 2 of 3 rows arrived"):
        load(path, short)
    assert not path.exists()


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(loading, "_PATIENCE_OF_LOADS_SECONDS", 0.2)


def test_a_load_waits_until_another_process_has_closed_the_file(path: Path, tmp_path: Path) -> None:
    load(path, order_and_lines(tmp_path))
    holding = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        def close_stdin() -> None:
            assert holder.stdin is not None
            holder.stdin.close()

        def close_it(what: str, share: float | None) -> None:
            quiet(what, share)
            if "opening" in what:
                threading.Timer(1, close_stdin).start()

        destination.load(f"duckdb:///{path}?dataset=sales", order_and_lines(tmp_path, "2"), close_it)
    assert ask(path, "select load_id from _dlt_loads order by 1") == [("1",), ("2",)]


def test_a_file_that_another_process_holds_is_reported(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    load(path, order_and_lines(tmp_path))
    holding = f"import duckdb; c = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for attempt in (
            lambda: load(path, order_and_lines(tmp_path, "2")),
            lambda: destination.check_tables(f"duckdb:///{path}", order_and_lines(tmp_path).schema),
            lambda: destination.read_past_loads(f"duckdb:///{path}", "shop"),
        ):
            with pytest.raises(DestinationError, match="lock") as caught:
                attempt()
            assert "another process has the file open" in str(caught.value.hint)
        holder.kill()
    load(path, order_and_lines(tmp_path, "2"))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_goes_away_in_the_middle_is_no_load(is_replaced: bool, path: Path, tmp_path: Path) -> None:
    load(path, order_and_lines(tmp_path))
    other = tmp_path / "other.duckdb"
    load(other, order_and_lines(tmp_path, "7"))

    def remove(what: str, share: float | None) -> None:
        quiet(what, share)
        if "orders__lines" in what:
            path.unlink()
            if is_replaced:
                other.rename(path)

    reported = "was replaced by another file" if is_replaced else "was removed"
    with pytest.raises(DestinationError, match=f"{reported} while the load wrote to it"):
        destination.load(f"duckdb:///{path}?dataset=sales", order_and_lines(tmp_path, "2"), remove)
    assert path.exists() == is_replaced
    if is_replaced:
        assert ask(path, "select load_id from _dlt_loads") == [("7",)]
    load(path, order_and_lines(tmp_path, "2"))
    assert ask(path, "select count(*) from orders where _dlt_load_id = '2'") == [(2,)]


def test_files_and_folders_that_will_not_do_are_reported(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing of DuckDB's" * 1000)
    schema = order_and_lines(tmp_path).schema
    with pytest.raises(DestinationError, match="cannot open"):
        destination.check_tables(f"duckdb:///{text}", schema)
    with pytest.raises(InputError, match="is a folder"):
        destination.check_tables(f"duckdb:///{tmp_path}", schema)
    assert text.read_text() == "nothing of DuckDB's" * 1000
    lines = tmp_path / "orders.jsonl"
    lines.write_text('{"id":1}\n')
    with pytest.raises(DestinationError, match="not a valid DuckDB"):
        destination.check_tables(f"duckdb:///{lines}", schema)
    with pytest.raises(DestinationError, match="is not a folder"):
        destination.check_tables(f"duckdb:///{text}/shop.duckdb", schema)
    with pytest.raises(InputError, match="does not name a file"):
        destination.check_tables("duckdb:shop", schema)


IN_A_PROCESS = """
import pickle, resource, signal, sys
from schemactl.destinations import duckdb
from schemactl.errors import DestinationError
url, file, stop, limit = sys.argv[1:]
made = pickle.loads(open(file, "rb").read())
if int(limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
reported = 0
def progress(what, share):
    global reported
    reported += 1
    if reported == int(stop):
        import os
        os.kill(os.getpid(), signal.SIGKILL)
try:
    duckdb.load(url, made, progress)
except DestinationError as error:
    print(error)
    sys.exit(error.code)
print(reported)
"""


def run(path: Path, made: LoadPackage, folder: Path, *, stop: int = 0, limit: int = 0) -> tuple[int, str]:
    """Load in a process that dies at one of the moments it reports, or may write no file over a size in bytes."""
    import pickle

    file = folder / "package"
    file.write_bytes(pickle.dumps(made))
    arguments = [f"duckdb:///{path}?dataset=sales", str(file), str(stop), str(limit)]
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip() or done.stderr


def test_a_killed_load_leaves_the_old_state_and_the_next_one_succeeds(path: Path, tmp_path: Path) -> None:
    load(path, order_and_lines(tmp_path, write_disposition="replace"))
    before = ask(path, "select * from orders order by id")
    replacing = order_and_lines(tmp_path, "2", write_disposition="replace")
    code, reported = run(path.with_name("other.duckdb"), replacing, tmp_path)
    assert code == 0, reported
    for stop in range(1, int(reported) + 1):
        code, _ = run(path, replacing, tmp_path, stop=stop)
        assert code == -signal.SIGKILL
        assert ask(path, "select * from orders order by id") == before
        assert destination.read_past_loads(f"duckdb:///{path}", "shop").load_ids == {"1"}
    load(path, replacing)
    assert ask(path, "select distinct _dlt_load_id from orders") == [("2",)]
    assert ask(path, "select count(*) from orders__lines") == [(2,)]


def test_a_full_disk_is_reported_and_leaves_the_old_state(path: Path, tmp_path: Path) -> None:
    load(path, order_and_lines(tmp_path))
    rows = [order(number, "2", note=os.urandom(400).hex()) for number in range(20_000)]
    made = package(tmp_path, shop(orders(), lines()), "2", {"orders": rows})
    code, said = run(path, made, tmp_path, limit=4 << 20)
    assert code == 3, said
    assert "cannot" in said
    assert ask(path, "select count(*) from orders") == [(2,)]
    load(path, made)
    assert ask(path, "select count(*) from orders") == [(20_002,)]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4 << 20
