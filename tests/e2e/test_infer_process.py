"""``schemactl infer`` as its users run it: the installed command, as a process, on files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import pytest
import shop_commands
from command_schemas import check_document
from process_tree import children_of, is_running, wait_until
from shop_commands import COMMAND, ENGINES, ORDERS, files

from schemactl.formats.dlt import read

pytestmark = pytest.mark.e2e

TIME_LIMIT_SECONDS = 120
start = partial(shop_commands.start, "infer")
infer = partial(shop_commands.run, TIME_LIMIT_SECONDS, "infer")
END_SECONDS = 10


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with data, far from any settings of the machine."""
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")] + ["COLUMNS", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.jsonl").write_text(ORDERS)
    return tmp_path


def save_evidence(path: str) -> None:
    """Make evidence of the orders, with which the command needs no engine."""
    from schemactl.inference.evidence import Position, observe
    from schemactl.inference.saved_evidence import write_evidence

    documents = [json.loads(line) for line in ORDERS.splitlines()]
    evidence = observe((Position("orders.jsonl", number), each) for number, each in enumerate(documents, start=1))
    Path(path).write_text(write_evidence(evidence))


def export_columns(work: Path, table: str = "orders") -> dict[str, str]:
    path = work / "schemas" / "export" / "shop.schema.yaml"
    columns = read(path.read_text(), str(path)).schema.tables[table].columns.values()
    return {column.name: str(column.data_type) for column in columns}


def test_life_of_a_schema(work: Path) -> None:
    # first run
    answer = infer("orders.jsonl", "--evidence", "orders.evidence.json")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert 'id__v_text: 1 of 3 values is text, first in orders.jsonl:2: "idx-2"' in answer.stdout
    assert "at: text -> timestamp, 1 of 1 value, 1 null, absent in 1 object" in answer.stdout
    written = ("schemas/import/shop.schema.yaml", "schemas/export/shop.schema.yaml", "schemas/export/shop.lineage.json")
    assert f"wrote {', '.join(written)}, orders.evidence.json" in " ".join(answer.stdout.split())
    assert export_columns(work)["id"] == "bigint"
    assert set(export_columns(work, "orders__lines")) >= {"n"}

    # the same again
    before = files(work)
    answer = infer("orders.jsonl", "--format", "json")
    assert (answer.returncode, answer.stderr) == (0, "")
    document = json.loads(answer.stdout)
    check_document(document, "infer")
    assert (document["changes_schema"], document["written"]) == (False, [])
    assert files(work) == before

    # the user edits the import file; what was seen stands for the data from here on
    path = work / "schemas" / "import" / "shop.schema.yaml"
    exported = (work / "schemas" / "export" / "shop.schema.yaml").read_text()
    path.write_text("# ours\n" + exported.replace("data_type: timestamp\n        nullable: true", "data_type: text"))
    edited = files(work)
    answer = infer("orders.evidence.json", "--check")
    assert answer.returncode == 1
    assert files(work) == edited
    answer = infer("orders.evidence.json")
    assert answer.returncode == 0
    assert "applied the edits of the import file" in answer.stdout
    assert export_columns(work)["at"] == "text"
    assert path.read_text().startswith("# ours\n")


@pytest.mark.spark
def test_spark_makes_the_same_files_and_report(work: Path) -> None:
    reports, written = [], []
    for engine in ENGINES:
        answer = infer("orders.jsonl", "--evidence", "orders.evidence.json", engine=engine)
        assert (answer.returncode, answer.stderr) == (0, "")
        reports.append(answer.stdout.splitlines()[1:])  # the first line says which engine read in what time
        written.append({name: content for name, (content, _) in files(work).items() if not name.endswith("lock")})
        shutil.rmtree("schemas")

    assert written[0] == written[1]
    assert reports[0] == reports[1]


def test_check_and_frozen_contract_leave_nothing_behind(work: Path) -> None:
    save_evidence("orders.evidence.json")
    before = files(work)

    checked = infer("orders.evidence.json", "--check", "--quiet")
    frozen = infer("orders.evidence.json", "--contract", "freeze", "--format", "json")

    assert (checked.returncode, checked.stdout, checked.stderr) == (
        1, "nothing written: the schema would change (--check)\n", "",
    )  # fmt: skip
    assert (frozen.returncode, frozen.stderr) == (1, "")
    document = json.loads(frozen.stdout)
    check_document(document, "infer")
    [violation] = document["violations"]
    assert (violation["table"], violation["entity"], violation["mode"]) == ("orders", "tables", "freeze")
    assert files(work) == before
    assert not (work / "schemas").exists()


def test_bad_record_stops_or_is_skipped(work: Path) -> None:
    (work / "orders.jsonl").write_text('{"id": 1}\n{"id": \n{"id": 3}\n')

    stopped = infer("orders.jsonl")
    left = sorted(path.name for path in work.iterdir())
    skipped = infer("orders.jsonl", "--on-bad-record", "skip")

    assert (stopped.returncode, stopped.stdout) == (2, "")
    assert stopped.stderr.startswith("error: 1 record cannot be read\n  orders.jsonl:2:8: unreadable record, ")
    assert left == ["orders.jsonl"]
    assert skipped.returncode == 0
    assert "1 record could not be read, the first is orders.jsonl:2; skipped" in skipped.stdout


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_interrupt_leaves_no_file_and_no_process(work: Path, engine: str) -> None:
    # Which takes seconds: Spark starts for some, and this machine reads a tenth of it in a second.
    (work / "orders.jsonl").write_text(ORDERS * (3_000_000 if engine == "local" else 300_000))
    process = start("orders.jsonl", "--schemas", "new", engine=engine)
    assert wait_until(lambda: children_of(process.pid), TIME_LIMIT_SECONDS)
    time.sleep(0.2 if engine == "local" else 1)
    children = children_of(process.pid)
    assert process.poll() is None

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIME_LIMIT_SECONDS)

    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert children
    assert wait_until(lambda: not any(map(is_running, children)), END_SECONDS)
    assert [path.name for path in work.iterdir()] == ["orders.jsonl"]


def test_two_commands_at_once_both_have_their_way(work: Path) -> None:
    save_evidence("orders.evidence.json")

    both = [start("orders.evidence.json", "--table", f"table_{number}") for number in (1, 2)]
    answers = [process.communicate(timeout=TIME_LIMIT_SECONDS) for process in both]

    assert [process.returncode for process in both] == [0, 0], answers
    assert export_columns(work, "table_1") == export_columns(work, "table_2")


KILLED = """
import gc, json, os, shutil, signal, sys
from pathlib import Path
from schemactl.cli.app import main, run

arguments = sys.argv[1:]
left = None
run(arguments)  # imports what all need
gc.freeze()  # or else each fork copies what garbage collection looks through

def step_of(real):
    def step(*args, **named):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if left is not None:
            left -= 1
        return real(*args, **named)
    return step

def run_command(steps=None):
    global left
    child = os.fork()
    if not child:
        left, sys.argv[1:] = steps, arguments
        main()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

os.fsync, os.open = step_of(os.fsync), step_of(os.open)
Path.replace = step_of(Path.replace)
for steps in range(30):
    shutil.rmtree("schemas")
    shutil.copytree("old", "schemas")
    code = run_command(steps)
    shutil.copytree("schemas", f"killed/{steps}/left")
    if code == 0:
        print(steps)
        sys.exit()
    assert (code, run_command()) == (-signal.SIGKILL, 0)
    shutil.copytree("schemas", f"killed/{steps}/after")
"""
"""Runs a command again and again on the files of `old`, each time killed a step later, and then once to its end.

Each runs in a fork, as a new Python takes longer than the command. Prints how many steps there are.
"""


def test_killed_command_leaves_the_old_files_or_the_new_ones(work: Path) -> None:
    save_evidence("orders.evidence.json")
    call = ["infer", "orders.evidence.json", "--name", "shop", "--quiet"]
    subprocess.run([COMMAND, *call, "--table", "first"], check=True)
    shutil.copytree("schemas", "old")
    subprocess.run([COMMAND, *call, "--table", "second"], check=True)
    shutil.copytree("schemas", "new")
    names = ("import/shop.schema.yaml", "export/shop.schema.yaml")

    killed = [sys.executable, "-c", textwrap.dedent(KILLED), *call, "--table", "second"]
    steps = int(subprocess.run(killed, check=True, stdout=subprocess.PIPE).stdout)

    assert steps > 2
    for step in range(steps + 1):
        left, after = Path("killed", str(step), "left"), Path("killed", str(step), "after")
        for name in names:
            assert (left / name).read_bytes() in (Path("old", name).read_bytes(), Path("new", name).read_bytes())
        if step < steps:
            # The next command finds its way, and clears up.
            assert (after / names[1]).read_bytes() == Path("new", names[1]).read_bytes()
            assert sorted(files(after)) == sorted(files(work / "new"))
