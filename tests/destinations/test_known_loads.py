"""What a destination knows of its loads, the same everywhere: which ones, their files, and the schemas of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from staged_loads import order, orders, package, quiet

from schemactl.destinations import DESTINATIONS, is_loader, is_migrator
from schemactl.normalization.package import LoadedInput, LoadPackage, PastLoads
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


def load(kind: str, folder: Path, package: LoadPackage) -> PastLoads:
    destination = DESTINATIONS[kind]
    assert is_loader(destination)
    destination.load(address(kind, folder), package, quiet)
    return destination.read_past_loads(address(kind, folder), "shop")


@pytest.mark.parametrize("naming", ["snake_case", "s3_tables"])
@pytest.mark.parametrize("kind", KINDS)
def test_loads_and_their_files_are_known_under_each_naming_convention(kind: str, naming: str, tmp_path: Path) -> None:
    load(kind, tmp_path, made(tmp_path, "1", naming, "/a", "/b"))
    past = load(kind, tmp_path, made(tmp_path, "2", naming, "/b"))
    assert past.load_ids == {"1", "2"}
    assert past.inputs == {"/a": LoadedInput("/a", 1, AT), "/b": LoadedInput("/b", 2, AT)}
    # A load that is there is not loaded again, whatever it brings.
    assert load(kind, tmp_path, made(tmp_path, "2", naming, "/c")) == past


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
