"""Files that are read as texts and are none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from schemactl.errors import InputError
from schemactl.store.text import read_text


def test_a_database_is_named_with_its_address(tmp_path: Path) -> None:
    made, other = tmp_path / "a.duckdb", tmp_path / "b.db"
    duckdb.connect(made).close()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER)")
    for path, name, scheme in ((made, "DuckDB", "duckdb"), (other, "SQLite", "sqlite")):
        with pytest.raises(InputError, match=f"is a {name} database, not a text file") as caught:
            read_text(path)
        assert caught.value.hint == f"name it by its address: `{scheme}:///{path}`"
