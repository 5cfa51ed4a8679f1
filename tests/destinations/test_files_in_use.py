"""Migrations of files that others read and write: SQLite lets them, DuckDB does not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import migrated_datasets
import pytest
from migrated_datasets import ADDED, FIRST, Dataset, new_dataset, put

from schemactl.errors import DestinationError
from schemactl.migration.records import Patience
from schemactl.migration.reports import Outcome

pytestmark = pytest.mark.destinations

ROWS = 5_000
READERS, WRITERS = 4, 2

CLIENT = """
import os, sqlite3, sys, time
path, number, ended = sys.argv[1], int(sys.argv[2]), sys.argv[3]
connection = sqlite3.connect(path, timeout=120, isolation_level=None)
row = number * 1_000_000
print("ready", flush=True)
while not os.path.exists(ended):
    if number:
        row += 1
        connection.execute("INSERT INTO orders (id, amount) VALUES (?, ?)", (row, row))
        print(row, flush=True)  # from now on it counts as kept
    else:
        connection.execute("SELECT count(*), sum(amount) FROM orders WHERE id < 100").fetchall()
    time.sleep(0.002)
"""
"""Reads, or writes where ``argv[2]`` is not 0, until the file ``argv[3]`` is there; prints what was kept."""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


apply = partial(migrated_datasets.apply, patience=Patience(seconds=120))


undo = partial(migrated_datasets.undo, allows_destructive=True, patience=Patience(seconds=120))


def filled(kind: str, folder: Path) -> Dataset:
    dataset = new_dataset(kind, folder)
    assert apply(dataset, put(FIRST, "first.yaml")).outcome is Outcome.DONE
    numbers = f"WITH RECURSIVE n(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n WHERE g < {ROWS}) "
    dataset.sql(f"INSERT INTO @.orders (id, amount, note) {numbers} SELECT g, g, 'n' || g FROM n")
    return dataset


@contextmanager
def in_use(dataset: Dataset) -> Iterator[list[int]]:
    """Read and write in other processes all the time; yields what they have written, once they have ended."""
    ended, kept = dataset.path.with_name("ended"), list[int]()
    numbers = [max(number, 0) for number in range(1 - READERS, WRITERS + 1)]
    logs = [dataset.path.with_name(f"log{place}") for place in range(len(numbers))]
    clients = []
    for number, log in zip(numbers, logs, strict=True):
        with log.open("w") as file:
            call = [sys.executable, "-c", CLIENT, str(dataset.path), str(number), str(ended)]
            clients.append(subprocess.Popen(call, stdout=file, stderr=subprocess.PIPE, text=True))
    try:
        while not all(log.read_text() for log in logs):
            assert all(each.poll() is None for each in clients)
            time.sleep(0.05)
        yield kept
    finally:
        ended.touch()
        failures = [each.communicate(timeout=180)[1] for each in clients]
        ended.unlink()
    assert not any(failures), failures
    kept += [int(row) for log in logs for row in log.read_text().split()[1:]]


def test_a_sqlite_file_is_migrated_and_taken_back_while_others_read_and_write(tmp_path: Path) -> None:
    dataset = filled("sqlite", tmp_path)
    wanted = put(ADDED, "added.yaml")
    with in_use(dataset) as written:
        assert apply(dataset, wanted).outcome is Outcome.DONE
    assert dataset.columns()[-1] == "paid"
    assert [row for (row,) in dataset.sql("SELECT id FROM @.orders WHERE id > 1000000 ORDER BY id")] == sorted(written)
    dataset.sql("DELETE FROM @.orders WHERE id > 1000000")
    with in_use(dataset) as kept:
        assert undo(dataset).outcome is Outcome.DONE
    assert kept
    assert dataset.columns() == ["id", "amount", "note", "old"]
    found = dataset.sql("SELECT id, amount FROM @.orders WHERE id > 1000000 ORDER BY id")
    assert found == [(row, row) for row in sorted(kept)]
    assert dataset.sql(f"SELECT count(*), sum(amount) FROM @.orders WHERE id <= {ROWS}") == [
        (ROWS, ROWS * (ROWS + 1) // 2)
    ]


def test_a_sqlite_file_that_another_process_does_not_let_go_is_reported(tmp_path: Path) -> None:
    import sqlite3

    dataset = filled("sqlite", tmp_path)
    wanted = put(ADDED, "added.yaml")
    with sqlite3.connect(dataset.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO orders (id, amount) VALUES (7000000, 1)")
        with pytest.raises(DestinationError, match="lock"):
            apply(dataset, wanted, patience=Patience(seconds=0.2))
        other.execute("COMMIT")
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert apply(dataset, wanted).outcome is Outcome.DONE
    assert dataset.sql("SELECT amount FROM @.orders WHERE id = 7000000") == [(1.0,)]


def test_a_sqlite_file_with_a_write_ahead_log_is_migrated_once_others_have_closed_it(tmp_path: Path) -> None:
    dataset = filled("sqlite", tmp_path)
    assert dataset.sql("PRAGMA journal_mode = wal") == [("wal",)]
    wanted = put(ADDED, "added.yaml")
    with in_use(dataset) as kept, pytest.raises(DestinationError, match="lock"):
        apply(dataset, wanted, patience=Patience(seconds=0.5))
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert apply(dataset, wanted).outcome is Outcome.DONE
    assert [row for (row,) in dataset.sql("SELECT id FROM @.orders WHERE id > 1000000 ORDER BY id")] == sorted(kept)


def test_a_duckdb_file_that_this_process_has_open_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    import duckdb

    dataset = filled("duckdb", tmp_path)
    wanted = put(ADDED, "added.yaml")
    with duckdb.connect(str(dataset.path)) as connection:
        connection.execute("INSERT INTO shop.orders (id, amount) VALUES (7000000, 1)")
        with pytest.raises(DestinationError, match="already attached"):
            apply(dataset, wanted, patience=Patience(seconds=0.5))
        connection.execute("INSERT INTO shop.orders (id, amount) VALUES (7000001, 1)")
    assert dataset.columns() == ["id", "amount", "note", "old"]
    assert apply(dataset, wanted).outcome is Outcome.DONE
    assert dataset.sql("SELECT id, amount FROM @.orders WHERE id >= 7000000 ORDER BY id") == [
        (7000000, 1.0),
        (7000001, 1.0),
    ]


def test_a_duckdb_file_that_another_process_has_open_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    dataset = filled("duckdb", tmp_path)
    wanted = put(ADDED, "added.yaml")
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('ready', flush=True); sys.stdin.read(); c.close()"
    )
    call = [sys.executable, "-c", code, str(dataset.path)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(DestinationError, match="lock"):
            apply(dataset, wanted, patience=Patience(seconds=0.5))
        other.communicate("")
    assert apply(dataset, wanted).outcome is Outcome.DONE


def test_who_writes_a_sqlite_file_completes_while_a_command_waits_for_it(tmp_path: Path) -> None:
    import sqlite3

    dataset = filled("sqlite", tmp_path)
    wanted = put(ADDED, "added.yaml")
    with closing(sqlite3.connect(dataset.path, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO orders (id, amount) VALUES (7000000, 1)")
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(apply, dataset, wanted)
            time.sleep(1)  # in which it comes to wait
            other.execute("COMMIT")
            assert waiting.result().outcome is Outcome.DONE
    assert dataset.sql("SELECT amount FROM @.orders WHERE id = 7000000") == [(1.0,)]
