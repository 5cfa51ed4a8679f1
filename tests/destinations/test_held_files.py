"""Files that other processes hold are recognized by the engine's own words, not by their names."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from schemactl.destinations._address import is_busy, parse_file_address
from schemactl.destinations.duckdb.session import await_session, is_in_use, open_session
from schemactl.errors import DestinationError

pytestmark = pytest.mark.usefixtures("work")

ADDRESS = parse_file_address("duckdb:///Could not set lock.blocks.duckdb")


def test_file_that_is_no_database_is_not_waited_for_whatever_its_name() -> None:
    ADDRESS.path.write_text("no database " * 1000)
    with pytest.raises(DestinationError, match="not a valid DuckDB") as reported, await_session(ADDRESS, 3600.0):
        pass

    assert reported.value.hint == "use a DuckDB file, or a new file name"


def test_duckdb_file_of_another_process_is_in_use() -> None:
    held = "import duckdb, sys; kept = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", held, ADDRESS.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "1\n"
        with pytest.raises(DestinationError) as reported, open_session(ADDRESS):
            pass
    finally:
        holder.communicate()

    assert is_in_use(reported.value)
    assert "another process has the file open" in str(reported.value.hint)


def test_sqlite_file_is_busy_by_its_result_code() -> None:
    with sqlite3.connect("locked.db") as holder, sqlite3.connect("locked.db", timeout=0) as other:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as held:
            other.execute("CREATE TABLE a (b)")
        with pytest.raises(sqlite3.OperationalError) as missing:
            holder.execute("SELECT * FROM locked")

    assert is_busy(held.value)
    assert "locked" in str(missing.value)
    assert not is_busy(missing.value)
