from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from command_schemas import check_document
from syrupy.assertion import SnapshotAssertion

from schemactl.inference.evidence import Position
from schemactl.inference.report import InferenceReport, TypingFinding
from schemactl.normalization.report import (
    NormalizeReport,
    Outcome,
    TableCounts,
)
from schemactl.normalization.tally import OverwriteFinding, UnfitFinding
from schemactl.render.console import Look
from schemactl.render.json import read_schema, render_document
from schemactl.render.normalize import print_load

LOAD_ID = "1795209726.3859472"


@pytest.fixture
def loaded(new_schema: InferenceReport) -> NormalizeReport:
    """A first load, all of it taken."""
    return NormalizeReport(
        name="shop",
        load_id=LOAD_ID,
        destination="parquet:warehouse",
        outcome=Outcome.LOADED,
        inference=new_schema,
        tables=(
            TableCounts("orders", None, "append", 600_001, 600_001),
            TableCounts("orders__lines", "orders", "append", 1_799_999, 1_799_999),
            TableCounts("orders__lines__tags", "orders__lines", "append", 3, 3),
        ),
        lineage={"orders": {"id": ("$.id",), "address__city": ("$.address.city", "$['address__city']")}},
    )


@pytest.fixture
def discarded(troubled: InferenceReport) -> NormalizeReport:
    """A load from which a contract left rows and values out, and records that could not be read."""
    kept = tuple(each for each in troubled.violations if each.mode != "freeze")
    return NormalizeReport(
        name="shop",
        load_id="nightly-7",
        destination="postgresql://ann@db:5432/shop",
        outcome=Outcome.LOADED,
        inference=replace(troubled, violations=kept, nulls=(), collisions=(), sample="full", import_adopted=None),
        tables=(
            TableCounts("orders", None, "merge", 1_004, 990, 14, 0, 1),
            TableCounts("orders__lines", "orders", "merge", 2_000, 1_950, 20, 30, 0),
            TableCounts("orders__more", "orders", "merge", 7, 0, 7, 0, 0, is_written=False),
        ),
        seen=("data/0.jsonl",),
        rejects="table `_rejects`",
    )


@pytest.fixture
def stopped(troubled: InferenceReport) -> NormalizeReport:
    """A load that everything speaks against."""
    unfit = UnfitFinding(
        "orders", "number", "$.number", "bigint", "bigint", 2, Position("data/orders.jsonl", 3), "18446744073709551615"
    )
    return NormalizeReport(
        name="shop",
        load_id=LOAD_ID,
        destination="duckdb:///shop.duckdb",
        outcome=Outcome.STOPPED,
        inference=troubled,
        unfit=(unfit, replace(unfit, kind="text", example="\x00", count=1), replace(unfit, kind="null", example=None)),
        overwrites=(
            OverwriteFinding("orders", "user_id", ("$.userId", "$.user_id"), 3, Position("data/a.jsonl", 2)),
            OverwriteFinding("orders__items", None, ("$.items[*]", "$.Items[*]"), 1, Position("data/a.jsonl", 3)),
        ),
    )


@pytest.fixture
def idle() -> NormalizeReport:
    return NormalizeReport("shop", LOAD_ID, "warehouse", Outcome.NOTHING_NEW, seen=("a.jsonl", "b.jsonl"))


@pytest.fixture
def repeated() -> NormalizeReport:
    return NormalizeReport("shop", "nightly-7", "parquet:warehouse", Outcome.LOADED_BEFORE)


@pytest.fixture
def hostile_load(hostile: InferenceReport) -> NormalizeReport:
    """A report in which every text from data tries to steer the terminal."""
    evil = hostile.name
    first = Position(evil, 2)
    return NormalizeReport(
        name=evil,
        load_id=evil,
        destination=evil,
        outcome=Outcome.STOPPED,
        inference=hostile,
        tables=(TableCounts(evil, None, evil, 2, 1, 1),),
        unfit=(UnfitFinding(evil, evil, evil, evil, evil, 1, first, evil),),
        overwrites=(OverwriteFinding(evil, evil, (evil, evil), 1, first),),
        seen=(evil,),
        rejects=evil,
        lineage={evil: {evil: (evil,)}},
    )


SITUATIONS = ("loaded", "discarded", "stopped", "idle", "repeated", "hostile_load")


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_load_reads_well_in_a_terminal(
    situation: str, width: int, request: pytest.FixtureRequest, snapshot: SnapshotAssertion
) -> None:
    printed = print_load(request.getfixturevalue(situation), Look(width))

    assert max(map(len, printed.splitlines())) <= width
    assert printed == snapshot


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("width", [80, 160])
def test_no_number_of_rows_is_cut_off(situation: str, width: int, request: pytest.FixtureRequest) -> None:
    report: NormalizeReport = request.getfixturevalue(situation)

    printed = print_load(report, Look(width))

    for table in report.tables:
        for number in (table.read, table.loaded, table.rejected, table.rejected_with_parent):
            assert not number or f"{number:,}" in printed


def test_quiet_load_says_only_what_needs_attention(
    loaded: NormalizeReport, idle: NormalizeReport, discarded: NormalizeReport, stopped: NormalizeReport
) -> None:
    look = Look(None, is_quiet=True)

    assert print_load(loaded, look) == print_load(idle, look) == ""
    assert [line.partition(":")[0] for line in print_load(discarded, look).splitlines()] == [
        "rejected",
        "rejected",
        "warning",
        "warning",
    ]
    assert print_load(stopped, look).splitlines()[-1] == (
        "nothing loaded: the data violates a frozen contract, the data contains nulls in required columns, "
        "values would overwrite each other, values do not fit any column"
    )


def test_balance_accounts_for_each_record(discarded: NormalizeReport) -> None:
    lines = print_load(discarded, Look(None)).splitlines()

    assert "1,007 records = 990 loaded + 14 rejected + 3 skipped" in lines
    assert "saved rejected rows and values in table `_rejects`" in lines


def test_rows_with_the_key_of_others_have_a_count_of_their_own(loaded: NormalizeReport) -> None:
    tables = (
        TableCounts("orders", None, "merge", 2, 1, superseded=1),
        TableCounts("orders__lines", "orders", "merge", 3, 2, superseded=1),
    )

    lines = [line.split() for line in print_load(replace(loaded, tables=tables), Look(None)).splitlines()]

    assert ["shop:", "loaded", "3", "rows", "into", "2", "tables"] in lines
    assert ["rows", "read", "loaded", "same", "key"] in lines
    assert ["orders", "2", "1", "1"] in lines
    assert ["orders__lines", "3", "2", "1"] in lines
    assert ["2", "records", "=", "1", "loaded", "+", "1", "with", "the", "same", "key"] in lines


def test_files_left_out_are_listed_on_demand_only(idle: NormalizeReport) -> None:
    many = replace(idle, seen=tuple(f"{number}.jsonl" for number in range(4_000)))

    assert len(print_load(many, Look(80)).splitlines()) < 20
    assert "  3999.jsonl" in print_load(many, Look(80, is_verbose=True)).splitlines()


@pytest.mark.parametrize("color", [False, True])
def test_text_from_data_cannot_steer_the_terminal_after_a_load(hostile_load: NormalizeReport, color: bool) -> None:
    printed = print_load(hostile_load, Look(80, color=color, is_verbose=True))

    plain = re.sub(r"\x1b\[[\d;]*m", "", printed) if color else printed
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", plain)


def document_of(report: NormalizeReport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_document(report.to_dict()))
    return document


@pytest.mark.parametrize("situation", SITUATIONS)
def test_document_of_a_load_follows_the_shipped_schema(situation: str, request: pytest.FixtureRequest) -> None:
    document = document_of(request.getfixturevalue(situation))

    check_document(document, "normalize")


def test_schema_of_loads_describes_an_inference_as_that_of_infer_does() -> None:
    infer, normalize = read_schema("infer"), read_schema("normalize")

    inference = {key: value for key, value in normalize["$defs"]["inference"].items() if key != "description"}

    # A load reports warnings once, beside its inference.
    properties = {key: value for key, value in infer["properties"].items() if key != "warnings"}
    required = [key for key in infer["required"] if key != "warnings"]
    expected = {"type": infer["type"], "properties": properties, "required": required, "additionalProperties": False}
    assert inference == expected
    assert normalize["properties"]["warnings"] == infer["properties"]["warnings"]
    assert all(normalize["$defs"][name] == part for name, part in infer["$defs"].items())


@pytest.mark.parametrize("key", ["outcome", "tables", "stops", "destination"])
def test_a_wrong_document_of_a_load_is_found_wrong(key: str, loaded: NormalizeReport) -> None:
    document = document_of(loaded) | {key: 7}

    with pytest.raises(jsonschema.ValidationError):
        check_document(document, "normalize")


def test_reasons_to_stop_are_those_that_hold(stopped: NormalizeReport, loaded: NormalizeReport) -> None:
    assert document_of(stopped)["stops"] == ["contract", "nulls", "overwrites", "unfit"]
    assert document_of(replace(stopped, unfit=(), overwrites=()))["stops"] == ["contract", "nulls"]
    assert document_of(loaded)["stops"] == []


def test_each_table_stands_below_the_one_that_it_is_nested_in(loaded: NormalizeReport) -> None:
    parents = {"a": None, "a__x": "a", "a__y": "a", "a__x__deep": "a__x", "a__y__deep": "a__y", "b": None}
    tables = tuple(TableCounts(name, parent, "append", 1, 1) for name, parent in parents.items())
    printed = print_load(replace(loaded, tables=tables, inference=None, lineage=None), Look())
    rows = printed[printed.index("\nrows ") :].splitlines()[2 : len(parents) + 2]
    expected = ["a", "  a__x", "    a__x__deep", "  a__y", "    a__y__deep", "b"]
    assert [row.rstrip("1 ") for row in rows] == expected


def test_load_that_stops_says_of_no_row_that_it_was_loaded(stopped: NormalizeReport) -> None:
    report = replace(stopped, tables=(TableCounts("orders", None, "append", 4, 0),))

    printed = print_load(report, Look(None))

    assert "nothing loaded" in printed
    assert "records =" not in printed


def test_texts_that_could_not_be_typed_are_reported_with_what_becomes_of_them(loaded: NormalizeReport) -> None:
    assert loaded.inference is not None
    found = [
        TypingFinding("born", 2, Position("a.csv", 8), "Unable to convert 'x' to date", "column", nullable=True),
        TypingFinding("born", 2, Position("a.csv", 8), "Unable to convert 'x' to date", "reject", nullable=True),
        TypingFinding("id", 1, Position("a.csv", 10), "Non-null value expected", "column", nullable=False),
    ]
    typed = replace(loaded, outcome=Outcome.STOPPED, inference=replace(loaded.inference, typing=tuple(found)))
    reported = print_load(typed, Look(200))
    assert "2 strings of `born`, first in a.csv, row 8: Unable to convert 'x' to date (null, see `_errors`)" in reported
    assert "Unable to convert 'x' to date (rejected)" in reported
    assert "1 string of `id`, first in a.csv, row 10: Non-null value expected (the column is required)" in reported
    assert "strings could not be typed" in reported
    lost = replace(found[0], mode="fail", converted=0)
    reported = print_load(replace(typed, inference=replace(typed.inference, typing=(lost,))), Look(200))
    assert "'x' to date; no string of the column can be typed (--typing-errors column loads nulls)" in reported
    by_model = TypingFinding("id", 1, Position("a.csv", 10), "Field required", "fail", True, "data_type=freeze")
    judged = replace(typed, inference=replace(typed.inference, typing=(by_model,)))
    assert "nothing loaded: the model rejects the data" in print_load(judged, Look(200))
    document = json.loads(render_document(typed.to_dict()))
    check_document(document, "normalize")
    assert document["stops"] == ["typing"]
