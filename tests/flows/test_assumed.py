"""Loads whose values are not counted: a known schema takes them, or the one that the first documents make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.engine import first_documents, scan
from schemactl.flows import normalize_load
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
    lineage = Path("schemas/export/shop.lineage.json").read_bytes()
    Path("schemas/export/shop.lineage.json").unlink()
    monkeypatch.setattr(normalize_load, "_goes_by_kinds", lambda _: False)
    shop.load("second.jsonl", to="parquet:counted", load_id="2")
    assert counted == ["counted"]
    assert held(Path("quick")) == held(Path("counted"))
    assert [row["n"] for row in held(Path("quick"))["orders__lines"]].count(None) == 2
    assert sources_in(Path("schemas/export/shop.lineage.json").read_bytes()) == sources_in(lineage)


def test_integers_among_other_numbers_are_loaded(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learn({"n": 1.5, "m": 2.5, "l": [0.5]}, {"m": "many"})
    shop.write("a.jsonl", {"n": 1.5, "m": 3}, {"m": "few", "n": 4, "l": [7, 0.25]})
    shop.write("b.jsonl", {"n": 2, "m": 1}, {"n": 3, "l": [8]})
    assert_same_as_counted(shop, ("a.jsonl", "b.jsonl"), monkeypatch)
    assert counted == ["counted"]
    assert sorted(row["n"] for row in held(Path("quick"))["orders"]) == [1.5, 2, 3, 4]
    assert sorted(row["value"] for row in held(Path("quick"))["orders__l"]) == [0.25, 7, 8]


CHANGES = {
    "new column": ([{"id": 5, "sku": "a"}], 0),
    "text among numbers": ([{"price": "cheap"}], 0),
    "a value that does not fit": ([{"id": 5, "at": "soon"}], 0),
    "integer past 64 bits": ([{"id": 2**70}], 1),
    "nulls in a list that was empty": ([{"empty": [None]}], 0),
    "new nested tables": ([{"empty": [{"a": [1, {"b": None}]}, 3], "more": {"deep": [[1.5]]}}], 0),
    "keys that collide": ([{"User": 1, "user": 2}], 1),
    "keys of rows": ([{"id": 5, "_dlt_id": "mine"}], 1),
}


@pytest.mark.parametrize(("documents", "counts"), CHANGES.values(), ids=CHANGES)
def test_what_is_new_is_loaded_as_if_it_were_counted(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch, documents: list[Any], counts: int
) -> None:
    learn({"id": 1, "at": "2026-01-31T10:00:00Z", "price": 1.5, "empty": []})
    shop.write("second.jsonl", {"id": 2}, *documents)
    assert_same_as_counted(shop, "second.jsonl", monkeypatch)
    assert len(counted) == counts + 1


LATE = {
    "a column past the first documents": ({"id": 5}, {"id": 6, "late": 1}),
    "columns in another order than their kinds": (
        {"id": 5}, {"z": {"b": [{"c": "2026-01-31", "a": None}]}, "id": 6, "b": "x", "a": 1.5},
    ),
    "a column that is null at first": ({"id": 5}, {"late": None, "b": None, "id": 6}),
    "a text that is no number": ({"id": 5}, {"id": "idx-6"}),
    "a text that is one": ({"id": 5}, {"id": "6"}),
    "a fraction": ({"id": 5}, {"id": 6.5}),
    "a whole double": ({"id": 5}, {"id": 6.0}),
    "a double that was an integer": ({"id": 5.5}, {"id": 6}),
    "a moment that is none": ({"at": "2026-01-31T10:00:00Z"}, {"at": "soon"}),
    "a moment where nothing was": ({"id": 5}, {"at": "2026-01-31T10:00:00Z"}),
    "an object where a list was": ({"a": [1]}, {"a": {"b": 1}}),
    "a list of lists": ({"a": [[1], []]}, {"a": [2]}),
    "a list where nothing was": ({"id": 5}, {"l": [{"n": 1}, {"n": "x", "m": [[1.5]]}], "e": []}),
    "a null where the first had none": ({"a": 1, "l": [1]}, {"a": None, "l": [None]}),
    "a key that collides": ({"id": 5}, {"Id": 6}),
}  # fmt: skip
COUNTED = {
    "a text that is no number", "a fraction", "a moment that is none", "a key that collides",
}  # fmt: skip


@pytest.mark.parametrize(("first", "late"), LATE.values(), ids=LATE)
def test_a_first_load_gives_what_a_count_of_all_values_gives(
    request: pytest.FixtureRequest,
    shop: Shop,
    counted: list[str],
    monkeypatch: pytest.MonkeyPatch,
    first: dict[str, Any],
    late: dict[str, Any],
) -> None:
    monkeypatch.setattr(first_documents, "MOST_RECORDS", 4)
    shop.write("new.jsonl", *[first] * 4, first | late, first)
    assert_same_as_counted(shop, "new.jsonl", monkeypatch)
    assert (len(counted) == 2) == (request.node.callspec.id in COUNTED)


def test_values_that_come_late_differ_from_the_first_one(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_documents, "MOST_RECORDS", 1)
    shop.write("new.jsonl", {"id": 1}, {"at": "2026-01-31T10:00:00Z"}, {"at": "soon"}, {"at": 1.5})
    assert_same_as_counted(shop, "new.jsonl", monkeypatch)
    assert len(counted) == 2


def test_late_keys_stand_in_the_order_of_their_documents(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_documents, "MOST_RECORDS", 1)
    shop.write("a.jsonl", {"id": 1}, {"z": 1, "y": None}, {"x": {"b": 1}})
    shop.write("b.jsonl", {"w": [{"k": 1}]}, {"y": 2, "a": "t", "x": {"a": None, "c": True}}, {"w": [{"j": 2, "k": 3}]})
    assert_same_as_counted(shop, ("b.jsonl", "a.jsonl"), monkeypatch)
    assert len(counted) == 1


def test_rows_that_copy_values_down_are_looked_at_whole(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_documents, "MOST_RECORDS", 1)
    shop.write("learn.jsonl", {"id": 1})
    shop.load("learn.jsonl", to="parquet:learnt")
    export = Path("schemas/export/shop.schema.yaml")
    Path("schemas/import").mkdir(exist_ok=True)
    config = "propagation:\n        root:\n          id: order_id\n"
    text = export.read_text()
    assert "module: dlt.common.normalizers.json.relational\n" in text
    Path("schemas/import/shop.schema.yaml").write_text(
        text.replace(
            "module: dlt.common.normalizers.json.relational\n",
            f"module: dlt.common.normalizers.json.relational\n    config:\n      {config}",
        )
    )
    counted.clear()
    shop.write("new.jsonl", {"id": 2}, {"id": 3, "l": [{"n": 1}]})
    assert_same_as_counted(shop, "new.jsonl", monkeypatch)
    assert len(counted) == 2
    assert [row["order_id"] for row in held(Path("quick"))["orders__l"]] == [3]


def test_blank_lines_are_no_first_documents(shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gaps.jsonl").write_text('\n{"a": 1}\n \t\n\n{"a": 2, "b": "x"}\n\n')
    assert_same_as_counted(shop, "gaps.jsonl", monkeypatch)
    assert counted == ["counted"]


def test_the_first_documents_are_those_of_the_first_files(
    shop: Shop, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_documents, "MOST_RECORDS", 3)
    shop.write("b.jsonl", {"z": "2026-01-31", "b": 1}, {"y": 1})
    shop.write("a.jsonl", {"y": 1.5, "z": "2026-02-01"})
    shop.write("c c.jsonl", {"b": 1, "y": 3, "z": "2026-01-31"})
    assert_same_as_counted(shop, ("b.jsonl", "c c.jsonl", "a.jsonl"), monkeypatch)
    assert len(counted) == 1
    assert "z" in held(Path("quick"))["orders"][0]


def test_what_a_first_load_brings_is_told_with_the_values_that_it_loaded(shop: Shop, counted: list[str]) -> None:
    report = shop.load(shop.write("new.jsonl", *FIRST, *ALIKE), to="parquet:quick")
    assert counted == []
    [orders, *_] = report.inference.tables
    told = {column.name: (column.data_type, column.values, column.total) for column in orders.columns if column.sources}
    assert told["id"] == ("bigint", 2, 4)
    assert told["id__v_text"] == ("text", 2, 4)
    assert told["at"] == ("timestamp", 2, 2)
    ids = {column.name: column for column in orders.columns}
    assert str(ids["id__v_text"].first) == "new.jsonl:2"
    assert ids["at"].kinds == {"text": 2}
    assert (ids["at"].nulls, ids["at"].absences) == (None, None)


def sources_in(lineage: bytes) -> dict[str, dict[str, list[str]]]:
    tables = json.loads(lineage)["tables"]
    return {
        name: {column: [source["path"] for source in sources] for column, sources in table["columns"].items()}
        for name, table in tables.items()
    }


def assert_same_as_counted(shop: Shop, sources: str | tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Load twice, with a count of all values the second time, from the same state; all must be the same."""
    sources = (sources,) if isinstance(sources, str) else sources
    before = {path: path.read_bytes() for path in Path("schemas").rglob("*") if path.is_file()}
    shop.load(*sources, to="parquet:quick", load_id="2")
    quick = {path: path.read_bytes() for path in Path("schemas").rglob("*") if path.is_file()}
    for path in quick:
        path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr(normalize_load, "_goes_by_kinds", lambda _: False)
        shop.load(*sources, to="parquet:counted", load_id="2")
    counted = {path: path.read_bytes() for path in quick}
    lineage, none = Path("schemas/export/shop.lineage.json"), b'{"tables": {}}'
    # Of integers among other numbers Spark tells nothing, so kinds may differ.
    assert sources_in(counted.pop(lineage, none)) == sources_in(quick.pop(lineage, none))
    assert counted == quick
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
    monkeypatch.setattr(normalize_load, "_goes_by_kinds", lambda _: False)
    shop.load("again.jsonl", to="parquet:counted", load_id="2")
    assert held(Path("quick")) == held(Path("counted"))
