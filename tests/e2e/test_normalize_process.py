"""``schemactl normalize`` as its users run it: the installed command, as a process, on files."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest
import shop_commands
from command_schemas import check_document
from forked_commands import Commands, forked_commands
from process_tree import wait_until
from shop_commands import ORDERS, files

pytestmark = pytest.mark.e2e

TIME_LIMIT_SECONDS = 300
start = partial(shop_commands.start, "normalize")
normalize = partial(shop_commands.run, TIME_LIMIT_SECONDS, "normalize")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with data, far from any settings of the machine; temporary files stay in it."""
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")] + ["COLUMNS", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    folder, temporary = tmp_path / "work", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.chdir(folder)
    (folder / "orders.jsonl").write_text(ORDERS)
    return folder


@pytest.fixture(scope="module")
def forked() -> Iterator[Commands]:
    """Runs commands that end before they open an engine."""
    with forked_commands("import pyarrow.parquet, pyspark.sql, schemactl.flows.normalize") as run:
        yield run


def rows_left() -> list[Path]:
    """The folders of rows that loads have left among the temporary files."""
    return list(Path(os.environ["TMPDIR"]).rglob("schemactl-rows-*"))


def rows_of(table: str) -> int:
    return sum(pyarrow.parquet.read_table(file).num_rows for file in Path("warehouse", table).glob("*.parquet"))


def test_life_of_a_folder_of_tables(work: Path) -> None:
    # first load
    answer = normalize("orders.jsonl", "--load-id", "monday")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("read 99 bytes in ")
    assert answer.stdout.splitlines()[1] == "shop: loaded 4 rows into 2 tables"
    assert "3 records = 3 loaded\n" in answer.stdout
    assert answer.stdout.endswith("loaded into parquet:warehouse as load monday\n")
    assert (rows_of("orders"), rows_of("orders__lines")) == (3, 1)

    # the same again
    before = files(work)
    answer = normalize("orders.jsonl", "--load-id", "monday")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (
        answer.stdout
        == "shop: load monday is already loaded\n\nnothing to do: parquet:warehouse already has this load\n"
    )
    assert files(work) == before

    # no new files
    answer = normalize("orders.jsonl", "--new-only", "--format", "json")
    document = json.loads(answer.stdout)
    check_document(document, "normalize")
    assert (answer.returncode, document["outcome"], document["seen"]) == (0, "nothing_new", ["orders.jsonl"])
    assert files(work) == before

    # data that a frozen contract forbids
    Path("more.jsonl").write_text('{"id": 4}\n{"id": 5, "colour": "red"}\n')
    answer = normalize("more.jsonl", "--table", "orders", "--contract", "columns=freeze")
    assert (answer.returncode, answer.stderr) == (1, "")
    reported = " ".join(answer.stdout.split())
    assert 'orders.colour: expected no new column, found text in 1 value, first in more.jsonl:2: "red"' in reported
    assert answer.stdout.endswith("nothing loaded: the data violates a frozen contract\n")
    assert {name: each for name, each in files(work).items() if name != "more.jsonl"} == before

    # the rest of it
    answer = normalize("more.jsonl", "--table", "orders", "--contract", "columns=discard_row", "--quiet")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("rejected: orders.colour: expected no new column, found text in 1 value")
    assert (rows_of("orders"), rows_of("_rejects")) == (4, 1)
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_load_into_duckdb_adds_up(work: Path, engine: str) -> None:
    to = ("--to", "duckdb:///shop.duckdb?dataset=raw")
    answer = normalize("orders.jsonl", *to, "--format", "json", "--lineage", engine=engine)

    assert (answer.returncode, answer.stderr) == (0, "")
    document = json.loads(answer.stdout)
    check_document(document, "normalize")
    with duckdb.connect("shop.duckdb", read_only=True) as database:
        for table in document["tables"]:
            count = database.execute(f"select count(*) from raw.{table['name']}").fetchone()
            assert count == (table["loaded"],)
        loads = database.execute("select load_id, schema_version_hash from raw._dlt_loads").fetchall()
        child = database.execute(
            "select parent.id, child.n from raw.orders__lines child "
            "join raw.orders parent on child._dlt_parent_id = parent._dlt_id"
        ).fetchall()
    assert loads == [(document["load_id"], document["inference"]["after_hash"])]
    assert child == [(3, 1)]
    assert document["lineage"]["orders"]["id__v_text"] == ["$.id"]


def test_bad_record_stops_the_load(work: Path) -> None:
    Path("orders.jsonl").write_text('{"id": 1}\n{"id": \n{"id": 3}\n')

    answer = normalize("orders.jsonl")

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: 1 record cannot be read\n  orders.jsonl:2:8: unreadable record, ")
    assert list(files(work)) == ["orders.jsonl"]
    assert rows_left() == []


@pytest.mark.parametrize(("args", "message"), [
    (("ordres.jsonl",), "error: there is no `ordres.jsonl`\nhint: did you mean `orders.jsonl`?\n"),
    (("orders.jsonl", "--to", "duckbd:///shop.duckdb"),
     "error: there is no destination `duckbd`\nhint: did you mean `duckdb`?\n"),
    (("orders.jsonl", "--contract", "frozen"), "error: there is no contract mode `frozen`\n"),
    (("orders.jsonl", "--load-id", "../a"), "error: `../a` cannot be the id of a load\n"),
    (("orders.jsonl", "--remote", "sc://nowhere"), "error: a cluster does not reach this machine's temporary"),
    (("orders.jsonl", "--on-bad-record", "ignore"), "error: "),
])  # fmt: skip
def test_wrong_call_is_reported_at_once(work: Path, forked: Commands, args: tuple[str, ...], message: str) -> None:
    before = files(work)
    spark = () if "--remote" in args else ("--master", "local[1]")

    answer = forked("normalize", *args, "--name", "shop", *spark)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(message)
    assert "Traceback" not in answer.err
    assert files(work) == before


def test_file_in_place_of_a_folder_is_reported_at_once(work: Path, forked: Commands) -> None:
    answer = forked("normalize", "orders.jsonl", "--to", "orders.jsonl", "--name", "shop", "--master", "local[1]")

    assert answer.code == 3
    assert (answer.out, "`orders.jsonl`" in answer.err, "Traceback" in answer.err) == ("", True, False)
    assert list(files(work)) == ["orders.jsonl"]


def test_folder_that_cannot_be_made_is_a_failure_of_the_destination(work: Path) -> None:
    answer = normalize("orders.jsonl", "--to", "/proc/warehouse")

    assert answer.returncode == 3
    assert (answer.stdout, "/proc/warehouse" in answer.stderr, "Traceback" in answer.stderr) == ("", True, False)
    assert rows_left() == []


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_interrupt_leaves_nothing_behind(work: Path, engine: str) -> None:
    orders = (work / "orders.jsonl").read_bytes()
    (work / "orders.jsonl").write_bytes(orders * (20_000_000 // len(orders)))  # making its rows takes seconds
    temporary = Path(os.environ["TMPDIR"])
    process = start("orders.jsonl", engine=engine)
    wait_until(lambda: list(temporary.rglob("schemactl-rows-*/*")) or process.poll() is not None, TIME_LIMIT_SECONDS)
    assert process.poll() is None

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIME_LIMIT_SECONDS)

    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert list(temporary.iterdir()) == []
    assert list(files(work)) == ["orders.jsonl"]


MODEL = """
from typing import Annotated, Literal
from pydantic import BaseModel, Field

class Click(BaseModel):
    kind: Literal["click"]
    x: int

class Buy(BaseModel):
    kind: Literal["buy"]
    total: float

Event = Annotated[Click | Buy, Field(discriminator="kind")]
"""


def test_a_model_of_the_working_folder_judges_records(work: Path) -> None:
    (work / "event_models.py").write_text(MODEL)
    events = [{"kind": "click", "x": "1"}, {"kind": "buy", "total": 2}, {"kind": "click", "x": "a"}, {"kind": "view"}]
    (work / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    asked = ("--model", "event_models:Event", "--dispatch", "buy=purchases")

    stopped = normalize("events.jsonl", *asked, "--format", "json")
    assert stopped.returncode == 1, stopped.stderr
    report = json.loads(stopped.stdout)
    check_document(report, "normalize")
    assert [finding["contract"] for finding in report["inference"]["typing"]] == ["data_type=freeze"] * 2

    loaded = normalize("events.jsonl", *asked, "--contract", "data_type=discard_row")
    assert loaded.returncode == 0, loaded.stderr
    assert "4 records = 2 loaded + 2 rejected\n" in loaded.stdout
    assert (rows_of("click"), rows_of("purchases")) == (1, 1)
