"""``schemactl rejects`` as it is called: options, output, exit codes."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document

from schemactl.cli.app import run

TO = "duckdb:///made.duckdb"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_commands: None, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Calls a command of rejects after two loads, of which the second has rejects."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    Path("sunday.jsonl").write_text('{"id": 0, "amount": 5}\n')
    Path("monday.jsonl").write_text('{"id": 1, "amount": "n/a"}\n{"id": 2, "amount": 7}\n{"id": 3, "amount": "?"}\n')
    load = ["normalize", "--name", "shop", "--table", "orders", "--to", TO, "--quiet"]
    assert run([*load, "sunday.jsonl"]) == 0
    assert run([*load, "monday.jsonl", "--contract", "data_type=discard_row", "--load-id", "monday"]) == 0
    capsys.readouterr()

    def call(name: str, *options: str) -> tuple[int, str, str]:
        code = run(["rejects", name, "shop", "--to", TO, *options])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


def document(call: Call, name: str, *options: str) -> Any:
    code, out, _ = call(name, *options, "--format", "json")
    assert code == 0
    check_document(json.loads(out), f"rejects-{name}")
    return json.loads(out)


def test_rejects_are_listed_by_reason(call: Call) -> None:
    listed = document(call, "list")
    assert listed["records"] == {"waiting": 2, "replayed": 0, "discarded": 0}
    (group,) = listed["groups"]
    assert (group["count"], group["column"], group["example"], group["load_id"]) == (2, "amount", "n/a", "monday")
    code, out, _ = call("list", "--format", "csv", "--examples", "masked")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (code, row["count"], row["example"]) == (0, "2", "x/x")
    assert "2 records waiting" in call("list")[1]
    assert document(call, "list", "--reason", "typing")["groups"] == []
    assert call("list", "--since", "1h", "--quiet")[0] == 0


def test_records_are_shown_with_their_place_and_a_remedy(call: Call) -> None:
    shown = document(call, "show", "--limit", "1")
    assert (shown["total"], len(shown["records"])) == (2, 1)
    assert (shown["records"][0]["file"], shown["records"][0]["line"]) == ("monday.jsonl", 1)
    out = call("show")[1]
    assert "monday.jsonl:1: record " in out
    assert "change the value to bigint" in out
    assert "n/a" not in call("show", "--examples", "masked")[1]


def test_records_are_exported_as_they_are(call: Call) -> None:
    assert document(call, "export", "--output", "rejects.jsonl", "--examples", "masked") == {
        "output": "rejects.jsonl", "records": 2, "lost": 0,
    }  # fmt: skip
    records = [json.loads(line) for line in Path("rejects.jsonl").read_text().splitlines()]
    assert [record["record"] for record in records] == [{"id": 1, "amount": "n/a"}, {"id": 3, "amount": "?"}]
    assert Path("rejects.jsonl").stat().st_mode & 0o077 == 0
    code, out, err = call("export", "--output", "-", "--id", records[1]["id"][:6])
    assert (code, json.loads(out), "1 record" in err) == (0, records[1], True)


def test_discarded_records_wait_no_longer(call: Call) -> None:
    (first, _) = document(call, "show")["records"]
    report = document(call, "discard", "--id", first["id"], "--reason", "a test", "--yes")
    assert (report["records"], report["is_done"]) == (1, True)
    assert document(call, "list")["records"] == {"waiting": 1, "replayed": 0, "discarded": 0}
    (discarded,) = document(call, "show", "--state", "discarded")["records"]
    assert discarded["rejects"][0]["discarded_because"] == "a test"
    assert document(call, "prune", "--older-than", "0m", "--state", "discarded", "--yes")["rejects"] == 1
    assert document(call, "prune", "--older-than", "1d", "--yes")["records"] == 0
    assert document(call, "list", "--state", "all")["records"] == {"waiting": 1, "replayed": 0, "discarded": 0}


def test_a_load_with_rejects_ends_with_the_next_commands_and_status_counts_them(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ["normalize", "monday.jsonl", "--name", "shop", "--table", "orders", "--contract", "data_type=discard_row"]
    assert run([*load, "--to", TO]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"schemactl rejects show shop --to {TO}",
        f"schemactl rejects replay shop --to {TO} --dry-run",
    ]
    assert run([*load, "--to", "files?dataset=a b"]) == 0
    assert capsys.readouterr().out.endswith("--to 'parquet:files?dataset=a b' --dry-run\n")
    assert run([*load, "--to", TO, "--rejects", "kept"]) == 0
    assert "schemactl rejects" not in capsys.readouterr().out
    assert run(["migrate", "status", "--to", TO]) == 0
    assert "rejects: 4 rejected records waiting" in capsys.readouterr().out
    assert run(["migrate", "status", "--to", TO, "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    check_document(status, "migrate-status")
    assert status["waiting_records"] == 4


def test_records_are_replayed(call: Call) -> None:
    strict = ("--contract", "data_type=discard_row")
    dry = document(call, "replay", "--dry-run", *strict)
    assert (dry["records"], dry["passed"], dry["waiting"], dry["load_id"]) == (2, 0, 2, None)
    assert call("replay", "--dry-run", *strict)[1].startswith("shop: 0 of 2 records would pass, 2 would wait\n")
    document(call, "export", "--output", "r.jsonl")
    Path("r.jsonl").write_text(Path("r.jsonl").read_text().replace('"?"', "9"))
    report = document(call, "replay", "--from", "r.jsonl", "--yes", *strict)
    assert (report["passed"], report["waiting"], report["remaining"][0]["count"]) == (1, 1, 1)
    assert document(call, "list")["records"] == {"waiting": 1, "replayed": 0, "discarded": 0}
    code, out, err = call("replay", *strict)
    assert (code, "no terminal for confirmation" in err, out.startswith("shop: 1 record to load")) == (2, True, True)
    Path("r.jsonl").write_text(Path("r.jsonl").read_text().replace('"n/a"', "8"))
    code, out, _ = call("replay", "--from", "r.jsonl", "--yes", *strict)
    assert (code, "1 of 1 record loaded" in out, "skipped: 1 record of the file" in out) == (0, True, True)
    assert call("replay", "--yes")[1] == "shop: nothing to replay\n"


def test_records_whose_values_overwrite_one_another_stop_a_replay(call: Call) -> None:
    document(call, "export", "--output", "r.jsonl")
    Path("r.jsonl").write_text(Path("r.jsonl").read_text().replace('"?"', '9, "Amount": 1'))
    code, out, _ = call("replay", "--from", "r.jsonl", "--yes")
    assert (code, "monday.jsonl:3" in out, "nothing loaded" in out) == (1, True, True), out
    report = json.loads(call("replay", "--from", "r.jsonl", "--yes", "--format", "json")[1])
    check_document(report, "rejects-replay")
    assert (report["stops"], report["is_done"]) == (["overwrites"], False)


def test_the_walk_of_the_documentation_brings_a_bad_file_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_commands: None, capsys: pytest.CaptureFixture[str]
) -> None:
    import duckdb

    page = (Path(__file__).parents[2] / "docs" / "rejects.md").read_text()
    walk = page.partition("## Repair a bad file in six commands")[2].partition("\n## ")[0]
    lines = [line[4:] for line in walk.splitlines() if line.startswith("    ")]
    calls = [shlex.split(line)[1:] for line in lines if line.startswith("schemactl ")]
    assert len(calls) == 6
    monkeypatch.chdir(tmp_path)
    Path("monday.jsonl").write_text("".join(f"{line}\n" for line in lines if line.startswith("{")))
    Path("before.jsonl").write_text('{"id": 0, "amount": 1, "lines": [{"sku": "cap", "qty": 1}]}\n')
    assert (
        run(["normalize", "before.jsonl", "--name", "shop", "--table", "orders", "--to", "duckdb:///data.duckdb"]) == 0
    )
    for call in calls:
        assert run(call) == 0, capsys.readouterr().err
        if "export" in call:
            text = Path("repaired.jsonl").read_text()
            Path("repaired.jsonl").write_text(text.replace('"12 EUR"', "12").replace('"two"', "2"))
    assert "shop: 2 of 2 records loaded" in capsys.readouterr().out
    with duckdb.connect("data.duckdb") as connection:
        assert connection.execute("SELECT id, amount FROM shop.orders ORDER BY id").fetchall() == [
            (0, 1), (1, 25), (2, 12), (3, 7),
        ]  # fmt: skip
        skus = connection.execute("SELECT sku, qty FROM shop.orders__lines ORDER BY sku").fetchall()
        assert skus == [("cap", 1), ("cup", 2), ("ink", 2), ("mug", 1), ("pen", 1)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "`--output` is missing"),
        (["discard", "--id", "a"], "`--reason` is missing"),
        (["discard", "--reason", "x"], "name the records with"),
        (["discard", "--reason", "x", "--all", "--id", "a"], "name the records with"),
        (["prune"], "`--older-than` is missing"),
        (["prune", "--older-than", "90"], "not a time span"),
        (["prune", "--older-than", "1d", "--format", "csv"], "csv"),
        (["list", "--since", "yesterday"], "not a day, a moment or a time span"),
        (["list", "--since", "9999999999w"], "not a "),
        (["show", "--limit", "0"], "not a whole number"),
        (["discard", "--all", "--reason", "x"], "no terminal for confirmation"),
        (["prune", "--older-than", "0m"], "no terminal for confirmation"),
    ],
)
def test_wrong_calls_change_nothing(call: Call, words: list[str], message: str) -> None:
    code, _, err = call(*words)
    assert (code, message in err) == (2, True), err
    assert document(call, "list")["records"]["waiting"] == 2


@pytest.mark.parametrize(("name", "to"), [("shop", "dlt:duckdb?dataset=shop"), ("nothing", TO), ("shop", "oracle://x")])
def test_rejects_that_cannot_be_read_are_an_error(call: Call, name: str, to: str) -> None:
    assert run(["rejects", "list", name, "--to", to]) == 2
