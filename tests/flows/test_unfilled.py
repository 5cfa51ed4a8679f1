"""What only rejected rows ask for, by ``infer``: rows are made and counted, by the kernel alone or by an engine."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loading_shop import LOCAL, Shop

from schemactl.flows.infer import InferRequest, evolve_all, infer
from schemactl.flows.root_tables import TableData
from schemactl.flows.schemas import open_schemas
from schemactl.inference.evidence import Position, observe
from schemactl.inference.report import InferenceReport
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.dispatch import Tables
from schemactl.kernel.outcome import tally_of
from schemactl.kernel.rows import RowMaker
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import LoadTime, Tally
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder


@dataclass(frozen=True)
class Counted:
    tally: Tally
    filled: frozenset[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Reader:
    """Makes the rows of documents by the kernel, as a `ScanReader` does."""

    documents: tuple[Any, ...]
    reads_as_scanned = False

    def count(self, _tables: Tables, plan: Plan) -> Counted:
        maker = RowMaker(plan, LoadTime("1", datetime.now(UTC)))
        maker.make(Chunk("orders.jsonl", list(range(1, len(self.documents) + 1)), list(self.documents)))
        return Counted(tally_of(maker.outcome, maker.problems, plan), frozenset(maker.outcome.filled))

    def find(self, _wanted: Set[Position]) -> dict[Position, str]:
        return {}


def feed(root: Path, *documents: Any, contract: str | None = None, counts: bool = True) -> InferenceReport:
    evidence = observe((Position("orders.jsonl", number), each) for number, each in enumerate(documents, 1))
    request = InferRequest(("orders.jsonl",), "shop", "orders", root, contract=contract)
    return evolve_all(
        [TableData(request, evidence, reader=Reader(documents) if counts else None)], SchemasFolder.at(root)
    )


def schema_of(root: Path) -> Schema:
    schema = open_schemas(SchemasFolder.at(root), "shop").schema
    assert schema is not None
    return schema


def columns(root: Path, table: str = "orders") -> list[str]:
    return [name for name in schema_of(root).tables[table].columns if not name.startswith("_dlt")]


def test_a_refused_row_adds_no_variant_no_table_and_no_version(tmp_path: Path) -> None:
    feed(tmp_path, {"id": 1})
    before = schema_of(tmp_path)

    refused = {"id": "x", "new": 5, "lines": [{"n": 1}]}
    report = feed(tmp_path, {"id": 2}, refused, contract="columns=discard_row")

    assert not report.changes_schema
    assert (schema_of(tmp_path).version, schema_of(tmp_path).version_hash) == (before.version, before.version_hash)
    assert [(each.column, each.values) for each in report.violations] == [("new", 1)]


def test_what_accepted_rows_ask_for_comes_about_after_refused_ones(tmp_path: Path) -> None:
    feed(tmp_path, {"id": 1})
    documents = ({"id": "x", "new": 5, "lines": [{"a": 1}]}, {"id": "y", "lines": [{"b": 1}]})
    feed(tmp_path, *documents, contract="columns=discard_row")
    assert columns(tmp_path) == ["id", "id__v_text"]
    assert columns(tmp_path, "orders__lines") == ["b"]


def test_values_alone_that_are_refused_take_nothing_along(tmp_path: Path) -> None:
    feed(tmp_path, {"id": 1})
    feed(tmp_path, {"id": "x", "new": 5}, contract="columns=discard_value")
    assert columns(tmp_path) == ["id", "id__v_text"]


def test_without_the_data_all_that_it_asked_for_comes_about(tmp_path: Path) -> None:
    feed(tmp_path, {"id": 1})
    feed(tmp_path, {"id": "x", "new": 5}, contract="columns=discard_row", counts=False)
    assert columns(tmp_path) == ["id", "id__v_text"]


def test_infer_and_normalize_make_the_same_schema(shop: Shop) -> None:
    first = shop.write("first.jsonl", {"id": 1, "at": "2024-01-01"})
    documents = (
        {"id": "x", "new": 5, "only_refused": [{"n": 1}]},
        {"id": 2, "lines": [{"n": 1}]},
        {"id": "y", "new": None, "lines": [{"n": "z", "m": 1}]},
        {"id": 3, "at": "never", "new": 1},
    )
    second = shop.write("second.jsonl", *documents)
    for source, contract in ((first, None), (second, "columns=discard_row")):
        shop.load(source, contract=contract)
        infer(InferRequest((source,), "shop", "orders", Path("other"), contract=contract, engine=LOCAL))

    loaded, inferred = schema_of(Path("schemas")), schema_of(Path("other"))
    assert inferred.tables == loaded.tables
    assert "orders__only_refused" not in inferred.tables
    assert "at__v_text" not in inferred.tables["orders"].columns
