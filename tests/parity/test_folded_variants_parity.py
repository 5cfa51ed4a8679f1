"""A dlt pipeline whose variant is folded loads into the column again, with its working folder and without."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dlt
import pytest
from dlt.pipeline.exceptions import PipelineStepFailed

from schemactl.flows.edit import edit_import
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.sync import sync_schemas
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.edits import Edits

pytestmark = pytest.mark.parity

SCHEMAS = Path("schemas")
FIRST: list[dict[str, Any]] = [{"id": 1, "score": 1, "lines": [{"size": 2}]}, {"id": 2, "score": -4}]
LATER: list[dict[str, Any]] = [{"id": 3, "score": 1.5, "lines": [{"size": 0.5}]}, {"id": 4, "score": 6}]
AFTER: list[dict[str, Any]] = [{"id": 5, "score": 2.5, "lines": [{"size": 1.5}]}, {"id": 6, "score": 7}]


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Any:
    import postgres_server

    with postgres_server.database(postgres_url) as url:
        yield url


@pytest.fixture(params=["duckdb", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any, str]:
    """The address for schemactl, dlt's destination, and the dataset."""
    monkeypatch.chdir(tmp_path)
    if request.param == "postgresql":
        url, dataset = request.getfixturevalue("server"), f"sales{time.monotonic_ns()}"
        return f"{url}?dataset={dataset}", dlt.destinations.postgres(url), dataset
    return "duckdb:///made.duckdb?dataset=sales", dlt.destinations.duckdb("made.duckdb"), "sales"


def load(place: tuple[str, Any, str], folder: str, rows: list[dict[str, Any]], *, has_files: bool = True) -> Any:
    """Run a pipeline with a working folder, and with the folders of schema files that schemactl reads."""
    files = {f"{kind}_schema_path": str(SCHEMAS / kind) for kind in ("import", "export")} if has_files else {}
    pipeline = dlt.pipeline(
        "shop", destination=place[1], dataset_name=place[2], pipelines_dir=str(Path(folder).resolve()), **files
    )
    pipeline.run(rows, table_name="orders").raise_on_failed_jobs()
    return pipeline


def stored(pipeline: Any, query: str) -> list[tuple[Any, ...]]:
    with pipeline.sql_client() as client:
        return [tuple(row) for row in client.execute_sql(query) or ()]


def fold(place: tuple[str, Any, str]) -> None:
    edit_import("shop", SCHEMAS, Edits(folds_all=True))
    sync_schemas(("shop",), SCHEMAS, lambda _: True)
    request = ApplyRequest("shop", place[0], SCHEMAS, PlanOptions())
    report = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    assert report.outcome is Outcome.DONE, report.planned.blockers


def check(pipeline: Any) -> None:
    scores = stored(pipeline, "SELECT id, score FROM orders ORDER BY id")
    assert scores == [(1, 1.0), (2, -4.0), (3, 1.5), (4, 6.0), (5, 2.5), (6, 7.0)]
    assert stored(pipeline, "SELECT size FROM orders__lines ORDER BY size") == [(0.5,), (1.5,), (2.0,)]
    columns = pipeline.default_schema.tables["orders"]["columns"]
    assert columns["score"]["data_type"] == "double"
    assert not [name for name in columns if "__v_" in name]


@pytest.mark.parametrize("folder", ["kept", "lost"])
def test_a_pipeline_loads_into_the_folded_column(place: tuple[str, Any, str], folder: str) -> None:
    load(place, "kept", FIRST)
    pipeline = load(place, "kept", LATER)
    assert stored(pipeline, "SELECT id, score__v_double FROM orders WHERE score IS NULL") == [(3, 1.5)]

    fold(place)

    pipeline = load(place, folder, AFTER)
    check(pipeline)
    again = load(place, folder, [{"id": 7, "score": "a"}])
    assert stored(again, "SELECT id, score, score__v_text FROM orders WHERE id = 7") == [(7, None, "a")]


def test_a_pipeline_without_files_and_folder_finds_the_folded_column_in_the_destination(
    place: tuple[str, Any, str],
) -> None:
    load(place, "kept", FIRST)
    load(place, "kept", LATER)
    fold(place)
    check(load(place, "lost", AFTER, has_files=False))


def test_a_pipeline_goes_on_with_the_variant_after_an_undo(place: tuple[str, Any, str]) -> None:
    load(place, "kept", FIRST, has_files=True)
    load(place, "kept", LATER, has_files=True)
    fold(place)
    report = rollback(RollbackRequest("shop", place[0]), lambda _: True, lambda: nullcontext(None))
    assert report.outcome is Outcome.DONE

    pipeline = load(place, "lost", AFTER, has_files=False)

    variants = stored(pipeline, "SELECT id, score, score__v_double FROM orders ORDER BY id")
    assert variants == [(1, 1, None), (2, -4, None), (3, None, 1.5), (4, 6, None), (5, None, 2.5), (6, 7, None)]


def test_a_pipeline_with_its_folder_and_without_files_has_to_sync_first(place: tuple[str, Any, str]) -> None:
    load(place, "kept", FIRST)
    load(place, "kept", LATER)
    fold(place)
    with pytest.raises(PipelineStepFailed, match="__v_double"):
        load(place, "kept", AFTER, has_files=False)

    # As `dlt pipeline shop sync` does.
    pipeline = dlt.pipeline(
        "shop", destination=place[1], dataset_name=place[2], pipelines_dir=str(Path("kept").resolve())
    )
    pipeline.drop().sync_destination()

    check(load(place, "kept", AFTER, has_files=False))
