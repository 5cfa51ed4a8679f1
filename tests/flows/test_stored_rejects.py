"""Rejects in each destination: read, exported, discarded and deleted, also of tables of the first version."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.errors import InputError
from schemactl.flows.rejects import (
    RejectStore,
    discard_rejects,
    export_rejects,
    list_rejects,
    open_store,
    prune_rejects,
    rejects_table,
    show_rejects,
)
from schemactl.kernel.outcome import REJECTS_SCHEMA
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.normalization.rejects import RejectFilter
from schemactl.normalization.tally import REJECTS_COLUMNS, RejectState
from schemactl.progress import no_progress

ALL = RejectFilter(states=None)
SUNDAY = {"id": 0, "amount": 5, "lines": [{"sku": "a", "qty": 1}]}
NO_AMOUNT = {"id": 2, "amount": "n/a", "lines": [{"sku": "b", "qty": 2}]}
NO_QUANTITY = {"id": 3, "amount": 7, "lines": [{"sku": "c", "qty": "two"}, {"sku": "ü", "qty": 1}]}


def loaded(shop: Shop, to: str) -> RejectStore:
    """Return the rejects of a load of which one record and one nested row are rejected."""
    shop.load(shop.write("sunday.jsonl", SUNDAY), to=to)
    shop.load(
        shop.write("monday.jsonl", {**SUNDAY, "id": 1}, NO_AMOUNT, NO_QUANTITY),
        to=to,
        contract="data_type=discard_row",
        load_id="monday",
    )
    return open_store("shop", to, Path("schemas"))


def exported(store: RejectStore, selection: RejectFilter = ALL) -> tuple[list[dict[str, Any]], int]:
    lines: list[str] = []
    _, lost = export_rejects(store, selection, lines.append)
    return [json.loads(line) for line in lines], lost


def test_rejects_are_read_with_their_records(shop: Shop, any_destination: str) -> None:
    store = loaded(shop, any_destination)
    rejects = {reject.column: reject for reject in store.read()}
    assert rejects.keys() == {"amount", "qty"}
    assert json.loads(rejects["amount"].record or "") == NO_AMOUNT
    assert json.loads(rejects["qty"].record or "") == NO_QUANTITY
    assert (rejects["qty"].table, rejects["qty"].root_table) == ("orders__lines", "orders")
    assert rejects["qty"].is_of_loaded_row
    assert not rejects["amount"].is_of_loaded_row
    moment = rejects["amount"].inserted_at
    assert moment is not None
    assert abs(moment - datetime.now(UTC)) < timedelta(hours=1)
    summary = list_rejects(store, RejectFilter(files=("mon*",))).summary
    assert {(group.table, group.count, group.lost) for group in summary.groups} == {
        ("orders", 1, 0), ("orders__lines", 1, 0),
    }  # fmt: skip
    records, lost = exported(store, RejectFilter(columns=("qty",)))
    assert (records, lost) == ([{"id": rejects["qty"].record_id, "record": NO_QUANTITY}], 0)
    report = show_rejects(store, ALL, limit=1)
    assert [len(record.rejects) for record in report.records] == [1]
    assert (report.records[0].rejects[0].line, report.total) == (2, 2)


def test_discarded_rejects_stay_with_their_reason_and_pruned_ones_go(shop: Shop, any_destination: str) -> None:
    to = any_destination
    store = loaded(shop, to)
    report = discard_rejects(store, RejectFilter(columns=("qty",)), "not ours", lambda _: True)
    assert (report.records, report.rejects, report.is_done) == (1, 1, True)
    states = {reject.column: (reject.state, reject.discarded_because) for reject in store.read()}
    assert states == {"amount": (RejectState.WAITING, None), "qty": (RejectState.DISCARDED, "not ours")}
    shop.load(shop.write("later.jsonl", NO_AMOUNT), to=to, contract="data_type=discard_row")
    assert sorted(reject.file for reject in store.read()) == ["later.jsonl", "monday.jsonl", "monday.jsonl"]
    discarded = replace(ALL, states=frozenset((RejectState.DISCARDED,)))
    assert prune_rejects(store, discarded, lambda _: True).rejects == 1
    assert {reject.column for reject in store.read()} == {"amount"}
    assert prune_rejects(store, ALL, lambda _: True).records == 2
    assert list(store.read()) == []
    shop.load(shop.write("last.jsonl", NO_AMOUNT), to=to, contract="data_type=discard_row")
    assert [reject.file for reject in store.read()] == ["last.jsonl"]


def test_nothing_changes_where_a_person_declines_or_nothing_is_selected(shop: Shop) -> None:
    store = loaded(shop, "warehouse")
    before = shop.files()
    assert not discard_rejects(store, ALL, "no", lambda _: False).is_done
    assert prune_rejects(store, RejectFilter(tables=("none",)), lambda _: pytest.fail("asked")).records == 0
    assert shop.files() == before


def test_a_record_with_other_rejects_is_not_pruned(shop: Shop) -> None:
    shop.load(shop.write("sunday.jsonl", SUNDAY))
    both = {"id": 9, "amount": "n/a", "lines": [{"sku": "c", "qty": "two"}]}
    shop.load(shop.write("monday.jsonl", both), contract="data_type=discard_value")
    store = open_store("shop", "warehouse", Path("schemas"))
    assert [reject.record is not None for reject in store.read()] == [True, False]
    assert prune_rejects(store, RejectFilter(columns=("amount",)), lambda _: True).records == 0
    assert prune_rejects(store, RejectFilter(columns=("amount", "qty")), lambda _: True).rejects == 2


def test_tables_of_rejects_of_the_first_version_are_read_and_completed(shop: Shop, any_destination: str) -> None:
    to = any_destination
    shop.load(shop.write("sunday.jsonl", SUNDAY), to=to)
    store = open_store("shop", to, Path("schemas"))
    shared = {
        "load_id": "1", "entity": "data_type", "mode": "discard_row", "file": "a.jsonl",
        "inserted_at": datetime(2026, 1, 1, tzinfo=UTC),
    }  # fmt: skip
    rows = [
        {**shared, "table_name": "orders", "path": "$.amount", "line": 1, "row_key": "k", "row": json.dumps(NO_AMOUNT)},
        {**shared, "table_name": "orders__lines", "path": "$.lines[0].qty", "line": 2, "row_key": "l", "row": "{}"},
    ]
    folder = shop.folder / "staged"
    folder.mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=REJECTS_SCHEMA), folder / "a.parquet")
    columns = {column.name: column for column in REJECTS_COLUMNS}
    table = replace(rejects_table(store.schema, "append"), columns=columns)
    package = LoadPackage("old", store.schema, (), datetime.now(UTC), StagedTable(table, folder, 2))
    store.destination.load(store.target.url, package, no_progress)

    records, lost = exported(store)
    assert ([record["record"] for record in records], lost) == ([NO_AMOUNT], 1)
    assert {reject.state for reject in store.read()} == {RejectState.WAITING}
    shop.load(shop.write("monday.jsonl", NO_QUANTITY), to=to, contract="data_type=discard_row")
    records, lost = exported(store)
    records.sort(key=lambda record: record["record"]["id"])
    assert ([record["record"] for record in records], lost) == ([NO_AMOUNT, NO_QUANTITY], 1)
    discard_rejects(store, RejectFilter(load_ids=("1",)), "old", lambda _: True)
    assert exported(store, RejectFilter())[0] == records[1:]
    assert sorted((reject.state, reject.load_id == "1") for reject in store.read()) == [
        ("discarded", True), ("discarded", True), ("waiting", False),
    ]  # fmt: skip


def test_a_destination_without_rejects_has_none(shop: Shop, any_destination: str) -> None:
    to = any_destination
    shop.load(shop.write("sunday.jsonl", SUNDAY), to=to)
    store = open_store("shop", to, Path("schemas"))
    assert list(store.read()) == []
    assert discard_rejects(store, ALL, "none", lambda _: pytest.fail("asked")).records == 0


@pytest.mark.parametrize(
    "missing", ["nowhere", "duckdb:///none.duckdb", "sqlite:///none.db", "delta:none", "iceberg:none"]
)
def test_a_destination_that_is_not_there_yet_has_no_rejects(shop: Shop, missing: str) -> None:
    shop.load(shop.write("sunday.jsonl", SUNDAY))
    before = shop.files()
    assert list(open_store("shop", missing, Path("schemas")).read()) == []
    assert shop.files() == before


def test_a_destination_whose_rejects_cannot_be_read_is_refused(shop: Shop) -> None:
    shop.load(shop.write("sunday.jsonl", SUNDAY))
    with pytest.raises(InputError, match="cannot read `dlt`"):
        open_store("shop", "dlt:duckdb?dataset=shop", Path("schemas"))


def test_a_value_that_is_dropped_is_kept_nowhere_and_its_record_counts_as_lost(shop: Shop) -> None:
    shop.load(shop.write("sunday.jsonl", {**SUNDAY, "mail": "bob@x.org"}))
    file = shop.folder / "schemas/import/shop.schema.yaml"
    text = file.read_text()
    columns = "    columns:\n      amount:\n        data_type: bigint\n"
    columns += "      mail:\n        data_type: text\n        x-annotation-pii: drop\n"
    file.write_text(text.replace("    columns: {}\n", columns, 1))
    shop.load(shop.write("monday.jsonl", {**NO_AMOUNT, "mail": "ann@x.org"}), contract="data_type=discard_row")
    store = open_store("shop", "warehouse", Path("schemas"))
    files = (shop.folder / "warehouse" / "_rejects").glob("*.parquet")
    assert "ann@x.org" not in str([pyarrow.parquet.read_table(path).to_pylist() for path in files])
    report = list_rejects(store, RejectFilter())
    assert (report.summary.lost, report.summary.records[RejectState.WAITING]) == (1, 1)
    assert exported(store) == ([], 1)
