"""``schemactl normalize`` around its flow: what the flow is asked for, what is printed, and the exit code."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

import pytest
from command_schemas import check_document
from inference_report import INFERENCE

from schemactl.cli.app import run
from schemactl.errors import DestinationError
from schemactl.flows.backlog import LoadLimits
from schemactl.flows.infer import InferRequest
from schemactl.flows.loaded_files import Changed
from schemactl.flows.promotion import PromoteLocks, PromotionOptions
from schemactl.inference.evidence import Position
from schemactl.normalization.report import NormalizeReport, Outcome, TableCounts
from schemactl.normalization.tally import UnfitFinding
from schemactl.store.folder import SchemasFolder

REPORT = NormalizeReport(
    "shop",
    "1.5",
    "parquet:warehouse",
    Outcome.LOADED,
    INFERENCE,
    (TableCounts("orders", None, "append", 3, 2, 1),),
    rejects="table `_rejects`",
)
STOPPED = replace(
    REPORT,
    outcome=Outcome.STOPPED,
    unfit=(UnfitFinding("orders", "n", "$.n", "bigint", "bigint", 1, Position("a.jsonl", 1)),),
    tables=(),
)


@dataclass(frozen=True, kw_only=True)
class Request:
    inference: InferRequest
    to: str
    rejects: Path | None
    load_id: str | None
    new_only: bool
    lineage: bool
    staging: Path | None
    changed: Changed | None = None
    limits: LoadLimits = field(default_factory=LoadLimits)
    promotion: PromotionOptions = field(default_factory=PromotionOptions)


class Flow:
    """Stands where the flow does: keeps what it was asked and answers as configured."""

    def __init__(self) -> None:
        self.answer: NormalizeReport | BaseException = REPORT
        self.requests: list[Request] = []
        self.interrupts = False

    def normalize(
        self,
        request: Request,
        _progress: Callable[[str, float | None], None] | None,
        is_ended: Callable[[], bool] | None,
    ) -> NormalizeReport:
        if self.interrupts:
            assert is_ended is not None
            os.kill(os.getpid(), signal.SIGINT)
            assert is_ended()
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Flow:
    flow = Flow()
    module = ModuleType("schemactl.flows.normalize")
    module.normalize = flow.normalize
    module.NormalizeRequest = Request
    monkeypatch.setitem(sys.modules, "schemactl.flows.normalize", module)
    monkeypatch.chdir(tmp_path)
    for variable in ("SCHEMACTL_DEBUG", "SCHEMACTL_SCHEMAS", "SCHEMACTL_TO", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return flow


CALL = ("normalize", "a.jsonl", "--name", "shop")


def test_every_option_of_a_load_reaches_the_flow(flow: Flow) -> None:
    options = (
        "--to", "duckdb:///shop.duckdb", "--table", "orders", "--contract", "columns=freeze", "--rejects", "bad",
        "--load-id", "7", "--new-only", "--on-bad-record", "skip", "--input-format", "csv", "--resolve-collisions",
        "--lineage", "--staging", "tmp", "--schemas", "s", "--naming", "direct",
        "--normalizer", "nested", "--master", "local[2]", "--conf", "spark.a=1", "--promote-max-rows", "5",
        "--promote-locks", "fail",
    )  # fmt: skip

    run(["normalize", "a.jsonl", "b*.csv", "--name", "shop", *options])

    [request] = flow.requests
    spark = request.inference.engine.spark
    assert (spark.master, spark.conf) == ("local[2]", {"spark.a": "1"})
    assert replace(request, inference=replace(request.inference, engine=None)) == Request(
        inference=InferRequest(
            sources=("a.jsonl", "b*.csv"), name="shop", table="orders", schemas=SchemasFolder.at(Path("s")),
            contract="columns=freeze", on_bad_record="skip", input_format="csv", resolve_collisions=True,
            naming="direct", normalizer="nested",
        ),
        to="duckdb:///shop.duckdb", rejects=Path("bad"), load_id="7", new_only=True, lineage=True,
        staging=Path("tmp"), promotion=PromotionOptions(5, PromoteLocks.FAIL),
    )  # fmt: skip


def test_limits_of_a_backlog_reach_the_flow(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--max-files", "20", "--max-bytes", "1.5 GB", "--changed", "skip"]) == 0

    [request] = flow.requests
    assert (request.limits, request.changed) == (LoadLimits(20, 1_500_000_000), Changed.SKIP)
    for options, message in (
        (("--max-files", "0"), "`0` is not a whole number, 1 or greater (`--max-files`)"),
        (("--max-bytes", "ten"), "`ten` is not a size (`--max-bytes`)"),
        (("--changed", "append"), "--changed"),
    ):
        assert run([*CALL, *options]) == 2
        assert message in capsys.readouterr().err


def test_ctrl_c_ends_a_backlog_after_the_current_load(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.interrupts = True
    flow.answer = replace(REPORT, waiting=3)

    assert run([*CALL, "--max-files", "2"]) == 130

    output = capsys.readouterr()
    assert "the current load is the last one" in output.err
    assert "3 files left for the next call" in output.out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_typing_and_texts_for_null_reach_the_flow(flow: Flow) -> None:
    Path("a.arc.json").write_text('[{"name": "id", "type": "long", "nullable": true}]')

    run([*CALL, "--typing", "a.arc.json", "--typing-errors", "reject", "--null-value", "", "--null-value", "N/A"])

    [request] = flow.requests
    assert request.inference.typing is not None
    assert request.inference.typing.task.on_error == "reject"
    assert [field.name for field in request.inference.typing.task.typing.fields] == ["id"]
    assert request.inference.null_values == ("", "N/A")


def test_a_typing_with_faults_is_reported_with_their_places(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.arc.json").write_text('[{"name": "id", "type": "lnog", "nullable": true}]')

    assert run([*CALL, "--typing", "a.arc.json"]) == 2

    reported = " ".join(capsys.readouterr().err.split())
    assert "a.arc.json:1:17: `type` of `id`: Invalid value." in reported
    assert flow.requests == []


def test_defaults_of_a_load_are_the_ones_of_the_help(flow: Flow) -> None:
    assert run(CALL) == 0

    [request] = flow.requests
    assert replace(request, inference=replace(request.inference, engine=None)) == Request(
        inference=InferRequest(("a.jsonl",), name="shop", table=None, schemas=SchemasFolder.at(Path("schemas"))),
        to="warehouse", rejects=None, load_id=None, new_only=False, lineage=False, staging=None,
    )  # fmt: skip


def test_destination_may_stand_in_the_settings(flow: Flow, tmp_path: Path) -> None:
    (tmp_path / "schemactl.toml").write_text('[normalize]\nto = "duckdb:///a.duckdb"\nrejects = "bad"\n')

    run(CALL)

    assert (flow.requests[0].to, flow.requests[0].rejects) == ("duckdb:///a.duckdb", Path("bad"))


def test_rejects_are_no_failure(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(CALL) == 0

    assert "3 records = 2 loaded + 1 rejected\n" in capsys.readouterr().out


def test_what_stops_a_load_is_a_finding(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.answer = STOPPED

    assert run(CALL) == 1

    assert capsys.readouterr().out.endswith("nothing loaded: values do not fit any column\n")


@pytest.mark.parametrize("outcome", [Outcome.LOADED_BEFORE, Outcome.NOTHING_NEW])
def test_nothing_to_do_is_no_failure(flow: Flow, outcome: Outcome) -> None:
    flow.answer = replace(REPORT, outcome=outcome, inference=None, tables=(), rejects=None)

    assert run(CALL) == 0


def test_failed_destination_is_reported_with_its_exit_code(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.answer = DestinationError("the database is locked", hint="wait")

    assert run(CALL) == 3

    out, err = capsys.readouterr()
    assert (out, "the database is locked" in err, "wait" in err) == ("", True, True)


def test_load_as_json_follows_the_shipped_schema(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--format", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    check_document(document, "normalize")
    assert (document["rows_loaded"], document["rows_rejected"]) == (2, 1)


@pytest.mark.usefixtures("flow")
def test_one_call_reports_in_several_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--format", "text", "--report=json=a.json", "--report", "sarif=out/a.sarif"]) == 0

    assert capsys.readouterr().out.startswith("shop: ")
    assert json.loads(Path("a.json").read_text())["name"] == "shop"
    assert json.loads(Path("out/a.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.usefixtures("flow")
def test_quiet_load_prints_nothing_where_all_went_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--quiet"]) == 0

    assert capsys.readouterr().out == ""
