"""Schema files that a pipeline of dlt has written over: found by the destination's ledger."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import dlt
import pytest

from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.lost_versions import with_lost
from schemactl.flows.schemas import open_schemas
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved import write_evidence
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.sources import LeftOutWarning


class Pipelines:
    """One pipeline that runs from several working folders, with one database and one folder of schemas."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = f"duckdb:///{root / 'shop.duckdb'}?dataset=ds"

    def load(self, working: str, *documents: Any) -> None:
        pipeline = dlt.pipeline(
            "shop",
            pipelines_dir=str(self.root / working),
            destination=dlt.destinations.duckdb(str(self.root / "shop.duckdb")),
            dataset_name="ds",
            export_schema_path=str(self.root / "schemas" / "export"),
        )
        pipeline.run(dlt.resource(list(documents), name="orders")).raise_on_failed_jobs()

    @property
    def stored(self) -> Schema:
        schema = open_schemas(SchemasFolder.at(self.root / "schemas"), "shop").schema
        assert schema is not None
        return schema


@pytest.fixture
def pipelines(tmp_path: Path) -> Pipelines:
    return Pipelines(tmp_path)


def types(schema: Schema) -> dict[str, str]:
    columns = schema.tables["orders"].columns.values()
    return {each.name: str(each.data_type) for each in columns if not each.name.startswith("_dlt")}


def test_what_a_pipeline_with_a_kept_folder_wrote_over_is_taken_from_the_destination(pipelines: Pipelines) -> None:
    pipelines.load("kept", {"a": 1})
    shutil.copytree(pipelines.root / "kept", pipelines.root / "other")
    pipelines.load("other", {"a": 1, "b": 1, "items": [{"x": 1}]})
    pipelines.load("kept", {"a": 1, "c": 1})
    assert types(pipelines.stored) == {"a": "bigint", "c": "bigint"}

    with pytest.warns(LeftOutWarning, match=r"written over .*`orders.b`, .* from the destination"):
        found = with_lost(pipelines.stored, pipelines.url)

    assert types(found) == {"a": "bigint", "b": "bigint", "c": "bigint"}
    assert found.tables["orders__items"].parent == "orders"


def test_versions_that_the_file_is_made_from_are_not_lost(pipelines: Pipelines, recwarn: Any) -> None:
    for document in ({"a": 1}, {"b": 1}, {"c": 1}):
        pipelines.load("kept", document)
    assert with_lost(pipelines.stored, pipelines.url) == pipelines.stored
    assert not [each for each in recwarn if isinstance(each.message, LeftOutWarning)]


def test_a_destination_that_is_not_there_has_nothing_lost(pipelines: Pipelines, tmp_path: Path) -> None:
    pipelines.load("kept", {"a": 1})
    assert with_lost(pipelines.stored, f"duckdb:///{tmp_path / 'new.duckdb'}") == pipelines.stored
    assert not (tmp_path / "new.duckdb").exists()


def test_infer_takes_what_its_destination_holds(pipelines: Pipelines, tmp_path: Path) -> None:
    pipelines.load("kept", {"a": 1})
    shutil.copytree(pipelines.root / "kept", pipelines.root / "other")
    pipelines.load("other", {"a": 1, "b": 1})
    pipelines.load("kept", {"a": 1, "c": 1})
    source = tmp_path / "orders.evidence.json"
    source.write_text(write_evidence(observe([(Position("orders.jsonl", 1), {"a": 1, "b": "x"})])))

    request = InferRequest((str(source),), "shop", "orders", tmp_path / "schemas", to=pipelines.url)
    report = infer(request)

    assert [each for each in report.warnings if "`orders.b`" in each.message]
    assert types(pipelines.stored) == {"a": "bigint", "b": "bigint", "c": "bigint", "b__v_text": "text"}
