"""The command around the flow: what the flow is asked for, what is printed, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from inference_report import INFERENCE as REPORT

from schemactl.cli.app import run
from schemactl.errors import EngineError, InputError, Location
from schemactl.inference.evidence import Position, observe
from schemactl.inference.report import InferenceReport, ViolationFinding
from schemactl.inference.saved_evidence import write_evidence
from schemactl.kernel.dispatch import Dispatch
from schemactl.schema.record_selection import RecordSelection, parse_selection
from schemactl.store.folder import SchemasFolder

FROZEN = ViolationFinding("orders", "id", "columns", "freeze", "no new column", "text", 1, Position("a", 1), None)


@dataclass(frozen=True, kw_only=True)
class Request:
    sources: tuple[str, ...]
    name: str
    table: str | None
    schemas: SchemasFolder
    sample: str = "full"
    contract: str | None = None
    is_check: bool = False
    evidence_file: Path | None = None
    on_bad_record: str = "stop"
    input_format: str | None = None
    resolve_collisions: bool = False
    engine: Any = None
    has_header: Any = None
    naming: str | None = None
    normalizer: str | None = None
    detect: str | None = None
    to: str | None = None
    hints: Any = field(default=None, compare=False)
    table_sources: tuple[tuple[str, str], ...] = ()
    table_per_file: bool = False
    dispatch: Any = None
    model: Any = None
    agrees: Any = None
    typing: Any = None
    null_values: tuple[str, ...] = ()
    selection: RecordSelection | None = None


class Flow:
    """Stands where the flow does: keeps what it was asked and answers as configured."""

    def __init__(self) -> None:
        self.answer: InferenceReport | BaseException = REPORT
        self.requests: list[Request] = []

    def infer(self, request: Request, progress: Callable[[str, float | None], None] | None) -> InferenceReport:
        self.requests.append(request)
        if progress is not None:
            progress("reading", 0.5)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Flow:
    flow = Flow()
    module = ModuleType("schemactl.flows.infer")
    module.infer = flow.infer
    monkeypatch.setitem(sys.modules, "schemactl.flows.infer", module)
    monkeypatch.setattr("schemactl.flows.request.InferRequest", Request)
    monkeypatch.chdir(tmp_path)
    for variable in ("SCHEMACTL_DEBUG", "SCHEMACTL_SCHEMAS", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return flow


CALL = ("infer", "a.jsonl", "--name", "shop")


def test_every_option_reaches_the_flow(flow: Flow) -> None:
    options = (
        "--table", "orders", "--table", "people=crm/*.csv", "--table-per-file", "--schemas", "s", "--sample", "10%",
        "--contract", "columns=freeze", "--check",
        "--evidence", "e.json", "--on-bad-record", "skip", "--input-format", "csv", "--resolve-collisions",
        "--naming", "direct", "--normalizer", "nested", "--to", "postgresql://h/d",
        "--master", "local[2]", "--remote", "sc://h:1", "--conf", "spark.a=1", "--conf", "spark.b=2",
        "--debug",
    )  # fmt: skip

    run(["infer", "a.jsonl", "b*.csv", "--name", "shop", *options])

    [request] = flow.requests
    spark = request.engine.spark
    assert replace(request, engine=None) == Request(
        sources=("a.jsonl", "b*.csv"), name="shop", table="orders", schemas=SchemasFolder.at(Path("s")), sample="10%",
        contract="columns=freeze", is_check=True, evidence_file=Path("e.json"), on_bad_record="skip",
        input_format="csv", resolve_collisions=True, naming="direct", normalizer="nested",
        to="postgresql://h/d", table_sources=(("people", "crm/*.csv"),), table_per_file=True,
    )  # fmt: skip
    assert (spark.master, spark.remote, spark.debug) == ("local[2]", "sc://h:1", True)
    assert spark.conf == {"spark.a": "1", "spark.b": "2"}


def test_tables_by_a_field_reach_the_flow(flow: Flow) -> None:
    asked = ("--table-by", "meta.kind", "--dispatch", "click=clicks,a=b=c", "--dispatch", "view=views", "--table", "t")
    assert run([*CALL, *asked]) == 0
    tables = {"click": "clicks", "a=b": "c", "view": "views"}
    assert flow.requests[0].dispatch == Dispatch(("meta", "kind"), tables, "t")


def test_records_inside_documents_reach_the_flow(flow: Flow) -> None:
    assert run([*CALL, "--records", "pages[*].data", "--keep", "page,meta.next", "--keep", "n=count"]) == 0
    assert flow.requests[0].selection == parse_selection("pages[*].data", ["page", "meta.next", "n=count"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--records", "data[0]"), "`data[0]` is not a path of records (`--records`)"),
        (("--keep", "page"), "`--keep` needs the path of the records"),
        (("--records", "data", "--keep", "a[*]"), "`a[*]` is not a key to keep (`--keep`)"),
    ],
)
def test_wrong_records_inside_documents(
    flow: Flow, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    assert run([*CALL, *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--dispatch", "a=b"), "`--dispatch` names tables by a field's values"),
        (("--table-by", "kind", "--dispatch", "a"), "`a` is not VALUE=TABLE"),
        (("--table-by", "kind", "--dispatch", "a=b,a=c"), "`--dispatch` sets `a` twice"),
        (("--table-by", "a..b"), "`a..b` is not a path to a field"),
        (("--table-by", ""), "`` is not a path to a field"),
    ],
)
def test_wrong_tables_by_a_field(
    flow: Flow, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], message: str
) -> None:
    assert run([*CALL, *asked]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not flow.requests


def test_a_setting_names_tables_only_where_the_call_names_a_field(
    flow: Flow, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("schemactl.toml").write_text('dispatch = {buy = "purchases"}\n')

    assert run(CALL) == 0
    assert run([*CALL, "--table-by", "kind"]) == 0
    assert [request.dispatch for request in flow.requests] == [None, Dispatch(("kind",), {"buy": "purchases"})]

    Path("schemactl.toml").write_text("dispatch = 1\n")
    assert run(CALL) == 0
    assert run([*CALL, "--dispatch", "a=b"]) == 2
    assert "names tables by a field's values" in " ".join(capsys.readouterr().err.split())


def test_defaults_are_the_ones_of_the_help(flow: Flow) -> None:
    assert run(CALL) == 0

    [request] = flow.requests
    assert replace(request, engine=None) == Request(
        sources=("a.jsonl",), name="shop", table=None, schemas=SchemasFolder.at(Path("schemas"))
    )


def test_schema_is_named_by_the_source_and_hints_lie_beside_it(flow: Flow) -> None:
    Path("data").mkdir()
    Path("data/shop_orders.schema.yaml").write_text("settings: {preferred_types: {'re:_s$': text}}\n")

    assert run(["infer", "data/shop_orders.jsonl"]) == 0
    assert run(["infer", "data/shop_orders.jsonl", "--name", "other"]) == 0
    assert run(["infer", "data/Orders-2026.jsonl"]) == 0

    named, other, dashed = flow.requests
    assert dashed.name == "orders_2026"
    assert (named.name, named.hints.schema.settings["preferred_types"]) == ("shop_orders", {"re:_s$": "text"})
    assert (other.name, other.hints) == ("other", None)


def test_hints_may_have_the_old_name_beside_the_source(flow: Flow) -> None:
    Path("shop_schema.yml").write_text("settings: {preferred_types: {'re:_s$': text}}\n")

    assert run(["infer", "shop.jsonl"]) == 0

    (named,) = flow.requests
    assert named.hints.schema.settings["preferred_types"] == {"re:_s$": "text"}


def test_common_option_may_stand_before_the_name(flow: Flow) -> None:
    run(["--schemas", "before", *CALL])
    run(["--schemas", "before", *CALL, "--schemas", "after"])

    assert [str(request.schemas.root) for request in flow.requests] == ["before", "after"]


def test_settings_file_and_environment_reach_the_flow(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("schemactl.toml").write_text('schemas = "contracts"\n[infer]\nsample = 1000\n')
    monkeypatch.setenv("SCHEMACTL_ON_BAD_RECORD", "skip")

    run(CALL)

    [request] = flow.requests
    assert (str(request.schemas.root), request.sample, request.on_bad_record) == ("contracts", "1000", "skip")


def test_wrong_settings_file_ends_the_command_with_its_place(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    Path("schemactl.toml").write_text('shcemas = "contracts"\n')

    assert run(CALL) == 2

    error = capsys.readouterr().err
    assert "schemactl.toml:1: there is no setting `shcemas`" in error
    assert "hint: did you mean `schemas`?" in error
    assert not flow.requests


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (REPORT, 0),
        (replace(REPORT, violations=(FROZEN,)), 1),
        (replace(REPORT, violations=(replace(FROZEN, mode="discard_row"),)), 0),
        (replace(REPORT, is_check=True), 1),
        (replace(REPORT, is_check=True, before_hash="abc="), 0),
        (replace(REPORT, before_hash="xyz="), 0),
    ],
)
def test_exit_code_reports_whether_there_are_findings(flow: Flow, report: InferenceReport, code: int) -> None:
    flow.answer = report

    assert run(CALL) == code


def test_result_goes_to_standard_output_alone(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    run(CALL)

    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("shop: new schema")
    assert "\x1b" not in captured.out


def test_json_is_one_document(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    run([*CALL, "--format", "json", "--color", "always", "--verbose"])

    document = json.loads(capsys.readouterr().out)
    assert (document["name"], document["changes_schema"]) == ("shop", True)


@pytest.mark.usefixtures("flow")
def test_one_call_reports_in_several_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--format", "text", "--report=json=a.json", "--report", "sarif=out/a.sarif"]) == 0

    assert capsys.readouterr().out.startswith("shop: ")
    assert json.loads(Path("a.json").read_text())["name"] == "shop"
    assert json.loads(Path("out/a.sarif").read_text())["version"] == "2.1.0"


def test_quiet_success_says_nothing(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    run([*CALL, "--quiet"])

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("args", "environ", "is_colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"SCHEMACTL_COLOR": "always"}, True),
        (("--color", "never"), {"SCHEMACTL_COLOR": "always"}, False),
    ],
)
def test_color_is_as_asked_for(
    flow: Flow,
    args: tuple[str, ...],
    environ: dict[str, str],
    is_colored: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    run([*CALL, *args])

    assert ("\x1b[" in capsys.readouterr().out) is is_colored


def test_error_is_reported_on_standard_error(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.answer = InputError("this is not JSON", at=Location("a.jsonl", 7), hint="use `--on-bad-record skip`")

    assert run(CALL) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: a.jsonl:7: this is not JSON\nhint: use `--on-bad-record skip`\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 2),
        (EngineError("x"), 3),
        (ZeroDivisionError("x"), 3),
        (BrokenPipeError("the connection to Java broke"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_code_reports_whose_fault_it_is(
    flow: Flow, error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    flow.answer = error

    assert run(CALL) == code

    assert "Traceback" not in capsys.readouterr().err


def test_traceback_is_shown_on_demand_only(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.answer = ZeroDivisionError("division by zero")

    run(CALL)
    short = capsys.readouterr().err
    run([*CALL, "--debug"])
    long = capsys.readouterr().err

    assert short.startswith("error: unexpected ZeroDivisionError: division by zero\n")
    assert "--debug" in short
    assert "Traceback" in long


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("ifner",), "there is no command `ifner`\nhint: did you mean `infer`?"),
        (("infer", "a", "--nmae", "x"), "no such option: --nmae\nhint: did you mean `--name`?"),
        (("infer", "a", "b"), "several sources do not name a schema\nhint: name the schema: `--name NAME`"),
        (("infer", "2026-01-31.csv"), "`2026-01-31.csv` does not name a schema"),
        (("infer", "--name", "x"), "no source given"),
        ((*CALL, "--table", "a", "--table", "b"), "`--table a` and `--table b` name two tables for the same sources"),
        ((*CALL, "--table", "=b.csv"), "`--table =b.csv` must be TABLE=SOURCE"),
        ((*CALL, "--name"), "option `--name` requires an argument\nhint: `schemactl infer --help`"),
        ((*CALL, "--format", "jsno"), "`jsno` is not a value of `--format`\nhint: did you mean `json`?"),
        ((*CALL, "--conf", "x"), "`x` is not a Spark setting"),
    ],
)
def test_wrong_call_is_answered_with_the_way_out(
    flow: Flow, args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2

    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not flow.requests


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--format", "json"]])
def test_files_that_are_left_out_are_reported_on_standard_error(
    options: list[str], tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    # Saved evidence needs no Spark.
    Path("data/orders.evidence.json").write_text(write_evidence(observe([(Position("orders.jsonl", 1), {"id": 1})])))
    Path("data/README.md").write_text("# Orders\n")

    code = run(["infer", "data", "--name", "shop", *options])

    printed = capsys.readouterr()
    assert code == 0
    assert printed.err.startswith("warning: a file of unknown format was skipped: `data/README.md`;")
    assert printed.err.count("\n") == 1
    reported = json.loads(printed.out)["warnings"] if "json" in options else []
    assert [each["files"] for each in reported] == [["data/README.md"]] * len(reported)
    assert bool(reported) == ("README" in printed.out) == ("json" in options)


TALKING_MODEL = """
from pydantic import BaseModel, field_validator

print("imported")


class Order(BaseModel):
    id: int

    @field_validator("id")
    def tell(cls, value: int) -> int:
        print("validated", value)
        return value
"""


@pytest.mark.usefixtures("local_commands")
@pytest.mark.parametrize("command", ["infer", "normalize"])
def test_what_a_model_prints_goes_to_standard_error(command: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path(f"talking_{command}.py").write_text(TALKING_MODEL)
    Path("orders.jsonl").write_text('{"id": 1}\n{"id": 2}\n')

    code = run([command, "orders.jsonl", "--name", "shop", "--model", f"talking_{command}:Order", "--format", "json"])

    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert json.loads(printed.out)["name"] == "shop"
    assert "imported\n" in printed.err
    assert "validated 2\n" in printed.err
