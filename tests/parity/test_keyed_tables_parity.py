"""dlt makes no primary keys, and its pipelines go on into tables that a migration has given one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
    "delete-insert": ({"disposition": "merge", "strategy": "delete-insert"}, LATER),
    "upsert": ({"disposition": "merge", "strategy": "upsert"}, LATER),
    "insert-only": ({"disposition": "merge", "strategy": "insert-only"}, LATER),
}


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
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    monkeypatch.chdir(tmp_path)

    def run_pipeline(dataset: str, rows: list[dict[str, Any]], disposition: Any) -> None:
        @dlt.resource(name="orders", primary_key=("id", "at"), write_disposition=disposition)
        def orders() -> Iterator[dict[str, Any]]:
            yield from rows

        pipeline = dlt.pipeline(
            "shop",
            destination=place[2](),
            dataset_name=dataset,
            pipelines_dir=str(tmp_path / dataset),
            export_schema_path=str(tmp_path / dataset),
        )
        pipeline.run(orders()).raise_on_failed_jobs()

    return run_pipeline


def key(kind: Any, url: str) -> set[str]:
    found = kind.read_catalogue(url).schema.tables["orders"].columns.values()
    return {each.name for each in found if each.properties.get("primary_key")}


def rows(kind: Any, url: str) -> list[list[tuple[Any, ...]]]:
    with kind.connect(url, "shop", is_read_only=True) as session:
        place = f'"{session.dataset}"'
        return [
            session.database.query(f'SELECT id, "at", note FROM {place}."orders" ORDER BY 1, 2, 3'),
            session.database.query(f'SELECT sku FROM {place}."orders__lines" ORDER BY 1'),
        ]


@pytest.mark.parametrize("way", WAYS)
def test_a_pipeline_goes_on_into_a_table_with_the_key_of_its_schema(
    way: str, place: tuple[Any, str, Callable[[], Any]], load: Callable[..., None]
) -> None:
    kind, url, _ = place
    disposition, later = WAYS[way]
    plain, keyed = f"plain{time.monotonic_ns()}", f"keyed{time.monotonic_ns()}"
    for dataset in (plain, keyed):
        load(dataset, FIRST, disposition)
    to = f"{url}?dataset={keyed}"
    assert key(kind, to) == set(), "dlt makes no primary key"
    schema = f"./{keyed}/shop.schema.yaml"
    assert run(["migrate", "plan", schema, "--to", to, "--check"]) == 0
    assert run(["migrate", "apply", schema, "--to", to, "--primary-keys", "--yes", "--quiet"]) == 0
    assert key(kind, to) == {"id", "at"}
    for dataset in (plain, keyed):
        load(dataset, later, disposition)
    assert rows(kind, to) == rows(kind, f"{url}?dataset={plain}")
    assert rows(kind, to)[0]
    assert key(kind, to) == {"id", "at"}
    assert run(["migrate", "status", schema, "--to", to, "--primary-keys", "--check"]) == 0
