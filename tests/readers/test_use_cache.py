"""The cache of uses."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from schemactl.readers import sql_uses, use_cache
from schemactl.readers.sql_texts import SqlText, read_sql_texts
from schemactl.readers.tables import ReadTables
from schemactl.readers.use_cache import FILE_NAME, read_entries, write_entries
from schemactl.review.readers import Reader, Readership

TABLES = ReadTables({"orders": ("id", "note"), "items": ("sku",)}, "raw")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCHEMACTL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def read(
    sql: str = "select id from raw.orders", tables: ReadTables = TABLES, dialect: str | None = "duckdb"
) -> Readership:
    return read_sql_texts([SqlText(sql, Reader("query", "q"), tables, dialect)])[0]


def entry_count(folder: Path) -> int:
    with sqlite3.connect(folder / FILE_NAME) as connection:
        return int(connection.execute("select count(*) from entry").fetchone()[0])


def test_a_text_is_parsed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readership = read()
    assert [use.column for use in readership.uses] == [None, "id"]
    monkeypatch.delattr(sql_uses, "find_uses")
    assert read() == readership
    assert (folder.stat().st_mode & 0o777) == 0o700


@pytest.mark.parametrize(
    "change",
    [
        {"sql": "select note from raw.orders"},
        {"dialect": "postgres"},
        {"tables": ReadTables({"orders": ("id",)}, "raw")},
        {"tables": ReadTables(TABLES.columns, "shop")},
        {"tables": ReadTables(TABLES.columns, "raw", "db")},
        {"tables": ReadTables(TABLES.columns, "raw", foreign={"raw.orders": ("x",)})},
    ],
)
def test_an_entry_is_for_the_same_text_dialect_and_tables(change: dict, folder: Path) -> None:
    read()
    read(**change)
    assert entry_count(folder) == 2


def test_an_entry_is_for_the_same_versions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read()
    monkeypatch.setattr("schemactl.readers.sql_texts._code_version", lambda: "another")
    read()
    assert entry_count(folder) == 2


def test_tables_that_a_text_does_not_name_are_no_part_of_its_key(folder: Path) -> None:
    read()
    read(tables=ReadTables({"orders": ("id", "note")}, "raw"))
    assert entry_count(folder) == 1


DAMAGED = {
    "no database": b"this is no database" * 100,
    "an empty file": b"",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_replaced(content: bytes, folder: Path) -> None:
    folder.mkdir()
    (folder / FILE_NAME).write_bytes(content)
    expected = read()
    read()
    read()
    assert entry_count(folder) == 1
    assert read() == expected


@pytest.mark.parametrize(
    "content",
    ["substr(content, 1, size / 2)", "x'00'", "'text'", "null", "x'789c030000000001'", "x'789c33540000320032'"],
)
def test_a_damaged_entry_is_replaced(content: str, folder: Path) -> None:
    expected = read()
    with sqlite3.connect(folder / FILE_NAME) as connection:
        connection.execute("create table other as select * from entry")
        connection.execute("drop table entry")
        connection.execute("create table entry (key blob primary key, content blob, size int, used_day int)")
        connection.execute(f"insert into entry select key, {content}, size, used_day from other")
    assert read() == expected
    assert read() == expected


@pytest.mark.parametrize("content", [b"1", b"{}", b'{"tables": [], "columns": [[1]], "blind": []}', b"not json"])
def test_an_entry_of_another_form_is_no_entry(content: bytes, folder: Path) -> None:
    expected = read()
    with sqlite3.connect(folder / FILE_NAME) as connection:
        (key,) = connection.execute("select key from entry").fetchone()
    write_entries(folder, {key: content})
    assert read() == expected


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path) -> None:
    folder.write_text("a file")
    assert [use.column for use in read().uses] == [None, "id"]


def test_the_longest_unused_entries_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use_cache, "MAX_BYTES", 4_000)
    monkeypatch.setattr(use_cache, "_today", lambda: 1)
    contents = {bytes([number]): random.Random(number).randbytes(500) for number in range(9)}
    old_keys, new_keys = list(contents)[:5], list(contents)[5:]
    write_entries(tmp_path, {key: contents[key] for key in old_keys})
    monkeypatch.setattr(use_cache, "_today", lambda: 2)
    assert read_entries(tmp_path, [old_keys[0]]) == {old_keys[0]: contents[old_keys[0]]}
    write_entries(tmp_path, {key: contents[key] for key in new_keys})
    assert list(read_entries(tmp_path, list(contents))) == [old_keys[0], *new_keys]
