"""Schema files that a pipeline of dlt has written over: found by the destination's ledger."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import dlt
import pytest

from schemactl.errors import ChangedMeanwhile
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.inspection import find_status
from schemactl.flows.migrate.ledger_schemas import with_lost
from schemactl.flows.migrate.plan import PlanRequest, plan_from_state, plan_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.schemas import open_schemas
from schemactl.flows.sync import sync_schemas
from schemactl.flows.target import find_destination, migratable
from schemactl.inference.evidence import Position, observe
from schemactl.inference.report import InferenceReport
from schemactl.inference.saved_evidence import write_evidence
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Patience
from schemactl.migration.reports import PlanReport
from schemactl.schema.changes import ColumnAdded
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.sources import LeftOutWarning

pytestmark = pytest.mark.parity


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

    with pytest.warns(LeftOutWarning, match=r"has overwritten .*`orders.b`, .* were restored from the destination"):
        found = with_lost(pipelines.stored, find_destination(pipelines.url))

    assert types(found) == {"a": "bigint", "b": "bigint", "c": "bigint"}
    assert found.tables["orders__items"].parent == "orders"


def test_versions_that_the_file_is_made_from_are_not_lost(pipelines: Pipelines, recwarn: Any) -> None:
    for document in ({"a": 1}, {"b": 1}, {"c": 1}):
        pipelines.load("kept", document)
    assert with_lost(pipelines.stored, find_destination(pipelines.url)) == pipelines.stored
    assert not [each for each in recwarn if isinstance(each.message, LeftOutWarning)]


def test_a_destination_that_is_not_there_has_nothing_lost(pipelines: Pipelines, tmp_path: Path) -> None:
    pipelines.load("kept", {"a": 1})
    assert with_lost(pipelines.stored, find_destination(f"duckdb:///{tmp_path / 'new.duckdb'}")) == pipelines.stored
    assert not (tmp_path / "new.duckdb").exists()


@pytest.fixture(scope="module")
def overwritten_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pipelines = Pipelines(tmp_path_factory.mktemp("overwritten"))
    pipelines.load("kept", {"a": 1})
    shutil.copytree(pipelines.root / "kept", pipelines.root / "other")
    pipelines.load("other", {"a": 1, "b": 1})
    pipelines.load("kept", {"a": 1, "c": 1})
    return pipelines.root


@pytest.fixture
def overwritten(overwritten_once: Path, tmp_path: Path) -> Pipelines:
    """A file without the column `b`, which the destination holds."""
    for name in ("schemas", "shop.duckdb"):
        copy = shutil.copytree if (overwritten_once / name).is_dir() else shutil.copyfile
        copy(overwritten_once / name, tmp_path / name)
    return Pipelines(tmp_path)


def write_evidence_of(root: Path, *documents: Any) -> str:
    source = root / "orders.evidence.json"
    places = ((Position("orders.jsonl", number), each) for number, each in enumerate(documents, 1))
    source.write_text(write_evidence(observe(places)))
    return str(source)


def infer_from(pipelines: Pipelines, *documents: Any, to: str | None = None) -> InferenceReport:
    source = write_evidence_of(pipelines.root, *documents)
    return infer(InferRequest((source,), "shop", "orders", pipelines.root / "schemas", to=to))


@pytest.mark.filterwarnings("ignore::schemactl.store.sources.LeftOutWarning")
def test_infer_takes_what_its_destination_holds(overwritten: Pipelines) -> None:
    report = infer_from(overwritten, {"a": 1, "b": "x"}, to=overwritten.url)
    assert [each for each in report.warnings if "`orders.b`" in each.message]
    assert types(overwritten.stored) == {"a": "bigint", "b": "bigint", "c": "bigint", "b__v_text": "text"}


@pytest.mark.filterwarnings("ignore::schemactl.store.sources.LeftOutWarning")
def test_what_was_lost_is_found_after_the_file_was_evolved_too(overwritten: Pipelines) -> None:
    infer_from(overwritten, {"d": 1})
    assert "b" not in types(overwritten.stored)
    assert "b" in types(with_lost(overwritten.stored, find_destination(overwritten.url)))


def test_what_was_dropped_later_is_not_lost(overwritten: Pipelines) -> None:
    with pytest.warns(LeftOutWarning):
        found = bump(with_lost(overwritten.stored, find_destination(overwritten.url)))
    with migratable(overwritten.url).open_for_writing("shop", Patience()) as session, session.transaction():
        session.write_version(found)
    orders = found.tables["orders"]
    left = {name: each for name, each in orders.columns.items() if name != "b"}
    dropped = bump(found.with_table(replace(orders, columns=left)))
    assert with_lost(dropped, find_destination(overwritten.url)) == dropped


def test_a_version_that_is_gone_back_to_has_lost_nothing(pipelines: Pipelines) -> None:
    pipelines.load("kept", {"a": 1})
    first = pipelines.stored
    pipelines.load("kept", {"b": 1})
    assert with_lost(first, find_destination(pipelines.url)) == first


def test_sync_takes_back_what_the_destination_holds(overwritten: Pipelines) -> None:
    take_back = partial(sync_schemas, ("shop",), overwritten.root / "schemas", lambda _: True, to=overwritten.url)
    with pytest.warns(LeftOutWarning, match=r"`orders.b`"):
        (found,) = take_back()
    assert (found.is_pending, found.dropped) == (True, ())
    assert [each.column.name for each in found.changes if isinstance(each, ColumnAdded)] == ["b"]
    assert types(overwritten.stored) == {"a": "bigint", "b": "bigint", "c": "bigint"}
    (again,) = take_back()
    assert not again.is_pending


@pytest.mark.parametrize("allows_destructive", [False, True])
def test_a_migration_drops_nothing_that_was_lost(overwritten: Pipelines, allows_destructive: bool) -> None:
    path = overwritten.root / "schemas/export/shop.schema.yaml"
    request = PlanRequest(
        str(path), overwritten.url, overwritten.root / "schemas", PlanOptions(), allows_destructive=allows_destructive
    )
    with pytest.warns(LeftOutWarning, match=r"`orders.b`"):
        report = plan_migration(request)
    assert report.plan.steps == ()


def test_what_was_lost_is_said_once_where_the_destination_is_read_again(
    overwritten: Pipelines, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = 0

    def changed_at_first(*arguments: Any, **options: Any) -> PlanReport:
        nonlocal readings
        readings += 1
        if readings == 1:
            raise ChangedMeanwhile("changed")
        return plan_from_state(*arguments, **options)

    monkeypatch.setattr("schemactl.flows.migrate.plan.plan_from_state", changed_at_first)
    path = overwritten.root / "schemas/export/shop.schema.yaml"
    with pytest.warns(LeftOutWarning, match=r"`orders.b`") as warned:
        plan_migration(PlanRequest(str(path), overwritten.url, overwritten.root / "schemas", PlanOptions()))
    assert (readings, len(warned)) == (2, 1)


def test_a_comparison_with_the_destination_says_what_the_file_has_lost(overwritten: Pipelines) -> None:
    path = overwritten.root / "schemas/export/shop.schema.yaml"
    request = DiffRequest(
        base=overwritten.url, head=str(path), schemas=overwritten.root / "schemas", today=date(2026, 1, 1)
    )
    with pytest.warns(LeftOutWarning, match=r"has `orders.b`.*`schemactl sync shop --to DEST`"):
        diff_schemas(request)


IMPORTED = [
    {"id": "{data_type: bigint}", "note": "{data_type: text}", "old": "{data_type: text}"},
    {"id": "{data_type: bigint}", "remark": "{data_type: text, x-renamed-from: note}"},
    {"id": "{data_type: bigint}", "remark": "{data_type: text, x-renamed-from: note}", "more": "{data_type: text}"},
]
"""The columns of an import file that people edit, and that states no ancestors."""


def test_what_edits_of_an_import_file_renamed_or_dropped_is_not_lost(tmp_path: Path, recwarn: Any) -> None:
    folder, url = tmp_path / "schemas", f"duckdb:///{tmp_path}/shop.duckdb"
    (folder / "import").mkdir(parents=True)

    def sync(columns: dict[str, str]) -> None:
        lines = "".join(f"      {name}: {of}\n" for name, of in columns.items())
        (folder / "import" / "shop.schema.yaml").write_text(f"tables:\n  orders:\n    columns:\n{lines}")
        sync_schemas(("shop",), folder, lambda _: True)

    def apply() -> None:
        request = ApplyRequest("shop", url, folder, PlanOptions(), allows_destructive=True)
        apply_migration(request, lambda _: True, lambda: nullcontext(None))

    sync(IMPORTED[0])
    apply()
    for columns in IMPORTED[1:]:
        sync(columns)
    apply()
    assert find_status("shop", url, folder, PlanOptions()).is_settled

    rollback(RollbackRequest("shop", url), lambda _: True, lambda: nullcontext(None))
    sync({**IMPORTED[1], "again": "{data_type: text}"})
    apply()
    assert find_status("shop", url, folder, PlanOptions()).is_settled
    assert not [each for each in recwarn if isinstance(each.message, LeftOutWarning)]
