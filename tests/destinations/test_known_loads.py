"""What a destination knows of its loads, the same everywhere: which ones, their files, and the schemas of them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from staged_loads import ledger_files, order, orders, package, quiet

from schemactl.destinations import DESTINATIONS, is_loader, is_migrator
from schemactl.destinations.iceberg.address import open_catalog, read_address
from schemactl.normalization.package import ConcurrentLoadError, LoadedInput, LoadPackage
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema

AT = datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)
KINDS = ("duckdb", "sqlite", "parquet", "delta", "iceberg")


def address(kind: str, folder: Path) -> str:
    return f"{kind}:///{folder}/shop.db" if kind in ("duckdb", "sqlite") else f"{kind}:{folder}/shop"


def made(folder: Path, load_id: str, naming: str, *paths: str, **more: Any) -> LoadPackage:
    base = new_schema("shop", naming)
    schema = bump(replace(base, tables={**base.tables, "orders": orders(**more)}))
    inputs = tuple(LoadedInput(path, int(load_id), AT) for path in paths)
    return package(folder / "staged", schema, load_id, {"orders": [order(1, load_id)]}, inputs=inputs)


def load(kind: str, folder: Path, package: LoadPackage) -> tuple[frozenset[str], dict[str, LoadedInput]]:
    destination = DESTINATIONS[kind]
    assert is_loader(destination)
    destination.load(address(kind, folder), package, quiet)
    url = address(kind, folder)
    return destination.read_past_loads(url, "shop").load_ids, ledger_files(destination, url)


@pytest.mark.parametrize("naming", ["snake_case", "s3_tables"])
@pytest.mark.parametrize("kind", KINDS)
def test_loads_and_their_files_are_known_under_each_naming_convention(kind: str, naming: str, tmp_path: Path) -> None:
    load(kind, tmp_path, made(tmp_path, "1", naming, "/a", "/b"))
    past = load(kind, tmp_path, made(tmp_path, "2", naming, "/b"))
    assert past == ({"1", "2"}, {"/a": LoadedInput("/a", 1, AT), "/b": LoadedInput("/b", 2, AT)})
    # A load that is there is not loaded again, whatever it brings.
    assert load(kind, tmp_path, made(tmp_path, "2", naming, "/c")) == past


NEW_COLUMNS = ("etag", "row_count", "reject_count", "is_forgotten")
"""The columns of the file ledger that tables of schemactl 0.9 lack."""


def drop_new_columns(kind: str, folder: Path) -> None:
    """Make the ledger one of schemactl 0.9."""
    match kind:
        case "duckdb":
            with duckdb.connect(f"{folder}/shop.db") as connection:
                for name in NEW_COLUMNS:
                    connection.execute(f"ALTER TABLE shop.shop._schemactl_inputs DROP COLUMN {name}")
        case "sqlite":
            with closing(sqlite3.connect(f"{folder}/shop.db")) as connection:
                for name in NEW_COLUMNS:
                    connection.execute(f"ALTER TABLE _schemactl_inputs DROP COLUMN {name}")
        case "parquet" | "delta":
            for path in (folder / "shop").rglob("_schemactl_inputs/*.jsonl"):
                rows = [json.loads(line) for line in path.read_text().splitlines()]
                rows = [{name: value for name, value in row.items() if name not in NEW_COLUMNS} for row in rows]
                path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        case _:
            with open_catalog(read_address(address(kind, folder)), is_written=True) as catalog:
                table = catalog.load_table(("shop", "_schemactl_inputs"))
                with table.update_schema(allow_incompatible_changes=True) as update:
                    for name in NEW_COLUMNS:
                        update.delete_column(name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_of_an_earlier_version_is_read_and_gets_its_columns_with_the_next_load(
    kind: str, tmp_path: Path
) -> None:
    load(kind, tmp_path, made(tmp_path, "1", "snake_case", "/a"))
    drop_new_columns(kind, tmp_path)
    destination = DESTINATIONS[kind]
    assert is_loader(destination)
    [entry] = destination.read_ledger(address(kind, tmp_path), "shop")
    assert (entry.file.path, entry.file.rows, entry.file.rejects, entry.file.etag) == ("/a", None, None, None)
    counted = LoadedInput("/b", 7, AT, '"v2"', 5, 2)
    load(kind, tmp_path, replace(made(tmp_path, "2", "snake_case"), inputs=(counted,)))
    forgets = replace(made(tmp_path, "3", "snake_case"), tables=(), inputs=(counted,), forgets=True)
    _, files = load(kind, tmp_path, forgets)
    assert files == {"/a": LoadedInput("/a", 1, AT), "/b": counted}
    assert (files["/b"].rows, files["/b"].rejects) == (5, 2)
    entries = destination.read_ledger(address(kind, tmp_path), "shop")
    assert {entry.load_id: entry.is_forgotten for entry in entries} == {"1": False, "2": False, "3": True}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_another_load_has_loaded_meanwhile_fails_the_load(kind: str, tmp_path: Path) -> None:
    load(kind, tmp_path, made(tmp_path, "1", "snake_case", "/a"))
    second = replace(made(tmp_path, "2", "snake_case", "/b", "/c"), compared_loads=frozenset("1"))
    assert load(kind, tmp_path, second)[0] == {"1", "2"}
    third = replace(made(tmp_path, "3", "snake_case", "/c"), compared_loads=frozenset("1"))
    with pytest.raises(ConcurrentLoadError, match="load `2` has loaded `/c` meanwhile"):
        load(kind, tmp_path, third)
    # The load fails neither for files of loads that were compared, nor for other files.
    assert load(kind, tmp_path, replace(third, compared_loads=frozenset("12")))[0] == {"1", "2", "3"}
    fourth = replace(made(tmp_path, "4", "snake_case", "/a"), compared_loads=frozenset("1"))
    assert load(kind, tmp_path, fourth)[0] == {"1", "2", "3", "4"}


@pytest.mark.parametrize("naming", ["snake_case", "s3_tables"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_written_once_for_its_hash(kind: str, naming: str, tmp_path: Path) -> None:
    destination = DESTINATIONS[kind]
    assert is_migrator(destination)
    first, second = made(tmp_path, "1", naming), made(tmp_path, "3", naming, columns={"more": {"data_type": "text"}})
    for each in (first, replace(first, load_id="2"), second):
        load(kind, tmp_path, each)
    with destination.connect(address(kind, tmp_path), "shop", is_read_only=True) as session:
        known = session.versions("shop")
        assert [each.version_hash for each in known] == [second.schema.version_hash, first.schema.version_hash]
        assert [each.inserted_at for each in known] == [second.inserted_at, first.inserted_at]
        assert session.schema_of(first.schema.version_hash) == first.schema


@pytest.mark.parametrize("naming", ["snake_case", "s3_tables"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_forgotten_under_each_naming_convention(kind: str, naming: str, tmp_path: Path) -> None:
    destination = DESTINATIONS[kind]
    assert is_migrator(destination)
    first, second = made(tmp_path, "1", naming), made(tmp_path, "2", naming, columns={"more": {"data_type": "text"}})
    load(kind, tmp_path, first)
    with destination.connect(address(kind, tmp_path), "shop") as session, session.transaction():
        session.write_version(second.schema)
        session.forget_version(first.schema.version_hash)
        assert [each.version_hash for each in session.versions()] == [second.schema.version_hash]
