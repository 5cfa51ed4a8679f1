"""Loads under a schema that is known: values are not counted where they bring nothing new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine import scan
from schemactl.flows import normalize as flow
from schemactl.flows.infer import InferRequest, infer
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved import write_evidence
from schemactl.normalization.report import Outcome

pytestmark = pytest.mark.spark

FIRST = [
    {
        "id": 1, "at": "2026-01-31T10:00:00Z", "price": 1.5, "who": {"name": "x", "tags": ["a"]}, "empty": [],
        "lines": [{"n": 1, "sizes": [[1, 2], [3]]}, {"n": "many"}], "raw": None,
    },
    {"id": "idx-2", "at": None, "Price": None},
]  # fmt: skip
ALIKE = [
    {"id": 3, "price": 2.5, "lines": [{"n": "few", "sizes": [[], [4]]}, {}], "empty": []},
    {"who": {"tags": []}, "at": "2026-02-01T00:00:00+01:00", "id": "idx-4"},
    {},
]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Says each time that values are counted."""
    calls: list[str] = []
    real = scan.collect_evidence

    def collect(*arguments: Any) -> Any:
        calls.append("counted")
        return real(*arguments)

    monkeypatch.setattr(scan, "collect_evidence", collect)
    return calls


def learn(*documents: Any) -> None:
    """Have the schema that the documents have, without a load."""
    evidence = observe((Position("first.jsonl", number), each) for number, each in enumerate(documents, 1))
    Path("first.evidence.json").write_text(write_evidence(evidence))
    infer(InferRequest(("first.evidence.json",), "shop", "orders", Path("schemas")))


def held(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows below a folder, by table."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*/*.parquet")):
        tables.setdefault(file.parent.name, []).extend(pyarrow.parquet.read_table(file).to_pylist())
    return {name: sorted(rows, key=lambda row: row["_dlt_id"]) for name, rows in tables.items()}


def test_data_like_that_of_before_gives_the_same_rows_without_a_count(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(*FIRST)
    exported = Path("schemas/export/shop.schema.yaml").read_text()

    report = shop.load(shop.write("second.jsonl", *ALIKE), to="parquet:quick", load_id="2")

    assert counted == []
    assert report.outcome is Outcome.LOADED
    assert (report.documents, report.root.loaded) == (3, 3)
    assert Path("schemas/export/shop.schema.yaml").read_text() == exported
    lineage = Path("schemas/export/shop.lineage.json").read_text()
    Path("schemas/export/shop.lineage.json").unlink()
    monkeypatch.setattr(flow, "_goes_by_kinds", lambda _: False)
    shop.load("second.jsonl", to="parquet:counted", load_id="2")
    assert counted == ["counted"]
    assert held(Path("quick")) == held(Path("counted"))
    assert [row["n"] for row in held(Path("quick"))["orders__lines"]].count(None) == 2
    assert json.loads(Path("schemas/export/shop.lineage.json").read_text()) == json.loads(lineage)


CHANGES = {
    "new column": [{"id": 5, "sku": "a"}],
    "value that does not fit": [{"id": 5, "at": "soon"}],
    "text among numbers": [{"price": "cheap"}],
    "integer past 64 bits": [{"id": 2**70}],
    "nulls in a list that was empty": [{"empty": [None]}],
    "keys of rows": [{"id": 5, "_dlt_id": "mine"}],
}


@pytest.mark.parametrize("documents", CHANGES.values(), ids=CHANGES)
def test_what_is_new_is_counted_and_loaded_as_ever(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch, documents: list[Any]
) -> None:
    learn({"id": 1, "at": "2026-01-31T10:00:00Z", "price": 1.5, "empty": []})
    schemas = {path: path.read_bytes() for path in Path("schemas").rglob("*") if path.is_file()}

    shop.load(shop.write("second.jsonl", {"id": 2}, *documents), to="parquet:quick", load_id="2")

    assert len(counted) == 1
    found = {path: path.read_bytes() for path in schemas}
    for path, content in schemas.items():
        path.write_bytes(content)
    monkeypatch.setattr(flow, "_goes_by_kinds", lambda _: False)
    shop.load("second.jsonl", to="parquet:counted", load_id="2")
    assert {path: path.read_bytes() for path in schemas} == found
    assert held(Path("quick")) == held(Path("counted"))


def test_missing_values_of_required_columns_are_told_as_ever(shop: Shop, counted: list[str]) -> None:
    learn({"id": 1, "name": "a"})
    Path("schemas/import").mkdir(exist_ok=True)
    stored = Path("schemas/export/shop.schema.yaml").read_text()
    required = stored.replace("bigint\n        nullable: true", "bigint\n        nullable: false", 1)
    assert required != stored
    Path("schemas/import/shop.schema.yaml").write_text(required)
    shop.load(shop.write("alike.jsonl", {"id": 2, "name": "b"}), load_id="2")
    counted.clear()
    shop.load(shop.write("same.jsonl", {"id": 3}), load_id="3")
    assert counted == []

    report = shop.load(shop.write("nulls.jsonl", {"id": None, "name": "b"}))

    assert counted == ["counted"]
    assert report.outcome is Outcome.STOPPED
    assert [null.column for null in report.inference.nulls] == ["id"]


def test_events_are_loaded_again_without_a_count(
    shop: Shop, counted: list[str], fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list(map(json.loads, (fixtures / "github_events.jsonl").read_text().splitlines()))
    learn(*events)

    shop.load(shop.write("again.jsonl", *reversed(events)), to="parquet:quick", load_id="2")

    assert counted == []
    monkeypatch.setattr(flow, "_goes_by_kinds", lambda _: False)
    shop.load("again.jsonl", to="parquet:counted", load_id="2")
    assert held(Path("quick")) == held(Path("counted"))
