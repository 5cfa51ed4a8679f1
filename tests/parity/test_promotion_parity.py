"""A dlt pipeline loads before, between and after loads that widen columns, with its working folder and without it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dlt
import pytest

from schemactl.engine.choice import EngineName, EngineOptions
from schemactl.flows.edit import edit_import
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column

LOCAL = EngineOptions(EngineName.LOCAL)
DATASET = "shop_data"


@pytest.fixture(params=["duckdb", "postgresql"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a destination without a dataset."""
    if request.param == "duckdb":
        yield f"duckdb:///{tmp_path}/made.duckdb"
        return
    import postgres_server

    with postgres_server.database(request.getfixturevalue("postgres_url")) as url:
        yield url


class Team:
    """A dlt pipeline and schemactl, which share a folder of schemas and a dataset."""

    def __init__(self, folder: Path, to: str, *, has_schema_files: bool = True) -> None:
        self.folder, self.to, self.has_schema_files = folder, to, has_schema_files
        self.schemas = folder / "schemas"
        self.hints: tuple[str, ...] = ()

    def pipeline(self) -> Any:
        is_duckdb = self.to.startswith("duckdb")
        destination = (
            dlt.destinations.duckdb(self.to.removeprefix("duckdb:///"))
            if is_duckdb
            else dlt.destinations.postgres(self.to)
        )
        folders = {f"{kind}_schema_path": str(self.schemas / kind) for kind in ("import", "export")}
        return dlt.pipeline(
            "shop",
            destination=destination,
            dataset_name=DATASET,
            pipelines_dir=str(self.folder / "pipelines"),
            **(folders if self.has_schema_files else {}),
        )

    def run_pipeline(self, *documents: dict[str, Any], loses_folder: bool = False) -> None:
        if loses_folder:
            shutil.rmtree(self.folder / "pipelines")
        source = dlt.source(lambda: dlt.resource(list(documents), name="orders"), name="shop")
        self.pipeline().run(source()).raise_on_failed_jobs()

    def load(self, *documents: dict[str, Any]) -> dict[str, str | None]:
        """Load documents by schemactl; return the wider types by column."""
        source = self.folder / "orders.jsonl"
        source.write_text("".join(json.dumps(document) + "\n" for document in documents))
        inference = InferRequest(
            (str(source),), "shop", table="orders", schemas=self.schemas, contract="data_type=promote", engine=LOCAL
        )
        report = normalize(NormalizeRequest(inference, f"{self.to}?dataset={DATASET}"))
        assert report.inference is not None
        self.hints = report.inference.hints
        return {finding.column: finding.after for finding in report.inference.promotions}

    def rows(self) -> list[tuple[Any, ...]]:
        query = f"select id, score from {DATASET}.orders order by id"
        if self.to.startswith("duckdb"):
            import duckdb

            with duckdb.connect(self.to.removeprefix("duckdb:///"), read_only=True) as connection:
                return connection.execute(query).fetchall()
        import psycopg

        with psycopg.connect(self.to) as connection:
            return connection.execute(query.encode()).fetchall()

    def columns(self) -> set[str]:
        where = f"table_schema = '{DATASET}' and table_name = 'orders'"
        query = f"select column_name from information_schema.columns where {where}"
        if self.to.startswith("duckdb"):
            import duckdb

            with duckdb.connect(self.to.removeprefix("duckdb:///"), read_only=True) as connection:
                return {name for (name,) in connection.execute(query).fetchall()}
        import psycopg

        with psycopg.connect(self.to) as connection:
            return {name for (name,) in connection.execute(query.encode()).fetchall()}


@pytest.mark.parity
@pytest.mark.parametrize("loses_folder", [False, True])
def test_a_pipeline_goes_on_in_the_wider_column(tmp_path: Path, to: str, *, loses_folder: bool) -> None:
    team = Team(tmp_path, to)
    team.run_pipeline({"id": 1, "score": 1})

    assert team.load({"id": 2, "score": 1.5}) == {"score": "double"}
    if not loses_folder:
        # A pipeline that keeps its working folder learns new types from the import file alone.
        edit_import("shop", team.schemas, Edits(hints=Hints((parse_column("orders.score:double"),))))
    team.run_pipeline({"id": 3, "score": 2.5}, {"id": 4, "score": 4}, loses_folder=loses_folder)
    assert team.load({"id": 5, "score": 0.25}) == {}
    team.run_pipeline({"id": 6, "score": 7.5, "note": "new"}, loses_folder=loses_folder)

    assert team.rows() == [(1, 1), (2, 1.5), (3, 2.5), (4, 4), (5, 0.25), (6, 7.5)]
    assert not {name for name in team.columns() if name.startswith("score__v_")}


@pytest.mark.parity
@pytest.mark.parametrize("is_synced", [False, True])
def test_a_pipeline_without_schema_files_has_to_sync(tmp_path: Path, to: str, *, is_synced: bool) -> None:
    team = Team(tmp_path, to, has_schema_files=False)
    team.run_pipeline({"id": 1, "score": 1})
    team.load({"id": 2, "score": 1.5})
    (hint,) = [hint for hint in team.hints if "dlt pipeline" in hint]
    assert "`dlt pipeline NAME sync`" in hint
    assert "`schemactl edit shop --column orders.score:double`" in hint

    if is_synced:  # as `dlt pipeline shop sync` does
        pipeline = team.pipeline()
        pipeline.drop()
        pipeline.sync_destination()
    team.run_pipeline({"id": 3, "score": 2.5})

    variants = {name for name in team.columns() if name.startswith("score__v_")}
    assert variants == (set() if is_synced else {"score__v_double"})
    assert team.rows()[-1] == (3, 2.5 if is_synced else None)
