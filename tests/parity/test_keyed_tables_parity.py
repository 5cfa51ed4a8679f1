"""dlt makes no primary keys, and its pipelines go on into tables that a migration has given one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dlt
import pytest

from schemactl.cli.app import run
from schemactl.destinations import duckdb, postgresql

KINDS = {"duckdb": duckdb, "postgresql": postgresql}
FIRST = [{"id": 1, "at": 1, "note": "a", "lines": [{"sku": "x"}]}, {"id": 2, "at": 1, "note": "b"}]
LATER = [{"id": 2, "at": 1, "note": "c", "lines": [{"sku": "y"}]}, {"id": 3, "at": 1, "note": "d"}]
NEW = [{"id": 2, "at": 2, "note": "c"}, {"id": 3, "at": 1, "note": "d"}]
WAYS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "append": ("append", NEW),
    "replace": ("replace", LATER),
    "delete_insert": ({"disposition": "merge", "strategy": "delete-insert"}, LATER),
    "upsert": ({"disposition": "merge", "strategy": "upsert"}, LATER),
    "insert_only": ({"disposition": "merge", "strategy": "insert-only"}, LATER),
}
"""The write disposition and the later rows, by the names of the tables: all are of one pipeline."""


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, str, Callable[[], Any]]:
    """A destination's module, an address without a dataset, and what makes dlt's destination."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        return postgresql, url, lambda: dlt.destinations.postgres(url)
    path = f"{tmp_path}/file.duckdb"
    return duckdb, f"duckdb:///{path}", lambda: dlt.destinations.duckdb(path)


@pytest.fixture
def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str, Callable[[], Any]]
) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)

    def run_pipeline(dataset: str, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        pipeline = dlt.pipeline(
            "shop",
            destination=place[2](),
            dataset_name=dataset,
            pipelines_dir=str(tmp_path / dataset),
            export_schema_path=str(tmp_path / dataset),
        )
        resources = [
            dlt.resource(rows[way], name=way, primary_key=("id", "at"), write_disposition=disposition)
            for way, (disposition, _) in WAYS.items()
        ]
        pipeline.run(resources).raise_on_failed_jobs()

    return run_pipeline


def keys(kind: Any, url: str) -> dict[str, set[str]]:
    tables = kind.read_catalogue(url).schema.tables
    return {
        way: {each.name for each in tables[way].columns.values() if each.properties.get("primary_key")} for way in WAYS
    }


def rows(kind: Any, url: str) -> dict[str, list[list[tuple[Any, ...]]]]:
    with kind.connect(url, "shop", is_read_only=True) as session:
        place = f'"{session.dataset}"'
        return {
            way: [
                session.database.query(f'SELECT id, "at", note FROM {place}."{way}" ORDER BY 1, 2, 3'),
                session.database.query(f'SELECT sku FROM {place}."{way}__lines" ORDER BY 1'),
            ]
            for way in WAYS
        }


def test_a_pipeline_goes_on_into_tables_with_the_keys_of_its_schema(
    place: tuple[Any, str, Callable[[], Any]], load: Callable[..., None]
) -> None:
    kind, url, _ = place
    plain, keyed = f"plain{time.monotonic_ns()}", f"keyed{time.monotonic_ns()}"
    for dataset in (plain, keyed):
        load(dataset, dict.fromkeys(WAYS, FIRST))
    to = f"{url}?dataset={keyed}"
    assert not any(keys(kind, to).values()), "dlt makes no primary key"
    schema = f"./{keyed}/shop.schema.yaml"
    assert run(["migrate", "plan", schema, "--to", to, "--check"]) == 0
    assert run(["migrate", "apply", schema, "--to", to, "--primary-keys", "--yes", "--quiet"]) == 0
    assert keys(kind, to) == {way: {"id", "at"} for way in WAYS}
    for dataset in (plain, keyed):
        load(dataset, {way: later for way, (_, later) in WAYS.items()})
    found = rows(kind, to)
    assert found == rows(kind, f"{url}?dataset={plain}")
    assert all(of_way[0] for of_way in found.values())
    assert keys(kind, to) == {way: {"id", "at"} for way in WAYS}
    assert run(["migrate", "status", schema, "--to", to, "--primary-keys", "--check"]) == 0
