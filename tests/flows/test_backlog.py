"""A backlog of files that is cut into loads: which files each load takes, and what a call leaves for the next one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from loading_shop import Shop

from schemactl.destinations import duckdb
from schemactl.engine.input import Input
from schemactl.engine.protocol import Engine
from schemactl.errors import InputError
from schemactl.flows.backlog import LoadLimits, cut_backlog
from schemactl.flows.request import InferRequest
from schemactl.flows.root_tables import TableInput
from schemactl.normalization.report import Outcome
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table

TO = "duckdb:///shop.duckdb"
APPENDED = new_schema("shop")
DAY = 86_400
FIRST_DAY = 1_704_067_200


@pytest.fixture
def shop(local_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "landing").mkdir()
    return Shop(tmp_path, local_engine)


def write(shop: Shop, name: str, day: int, *ids: int) -> None:
    """Write a file that has last changed on a day of 2024."""
    shop.write(f"landing/{name}", *({"id": number} for number in ids))
    os.utime(f"landing/{name}", (FIRST_DAY + day * DAY,) * 2)


def part(*names: str) -> TableInput:
    request = InferRequest(("landing",), name="shop", table="orders", schemas=Path("schemas"))
    return TableInput(request, (), tuple(Input(f"landing/{name}", "ndjson") for name in names), True)


def cut(before: Schema = APPENDED, files: int | None = None, size: int | None = None) -> list[list[str]]:
    """Return the names of the files of each load of the folder."""
    landing = part(*sorted(path.name for path in Path("landing").iterdir()))
    loads = cut_backlog([landing], LoadLimits(files, size), before)
    return [
        [Path(file.path).stem for table_input in table_inputs for file in table_input.inputs] for table_inputs in loads
    ]


def test_the_oldest_files_are_loaded_first(shop: Shop) -> None:
    for name, day, ids in (("a", 3, (1,)), ("b", 1, (2,)), ("c", 1, (3, 4)), ("d", 0, (5,))):
        write(shop, f"{name}.jsonl", day, *ids)
    assert cut(files=1) == [["d"], ["b"], ["c"], ["a"]]
    # Within a load the files are in the order of the call.
    assert cut(files=3) == [["b", "c", "d"], ["a"]]
    assert cut(files=4) == cut() == [["a", "b", "c", "d"]]
    # A file beyond the limit is a load of its own.
    assert cut(size=20) == [["b", "d"], ["c"], ["a"]]
    assert cut(size=1) == [["d"], ["b"], ["c"], ["a"]]
    assert cut(files=2, size=1_000) == [["b", "d"], ["a", "c"]]


def test_each_load_of_a_backlog_is_committed_by_itself(shop: Shop) -> None:
    for number in range(5):
        write(shop, f"{number}.jsonl", 5 - number, number)
    stages: list[str] = []
    report = shop.load("landing", to=TO, limits=LoadLimits(2), progress=lambda stage, _: stages.append(stage))
    assert (report.outcome, report.rows_loaded, report.waiting, report.documents) == (Outcome.LOADED, 5, 0, 5)
    assert [(load.files, load.rows_loaded, load.documents) for load in report.loads] == [
        (2, 2, 2),
        (2, 2, 2),
        (1, 1, 1),
    ]
    assert len({load.load_id for load in report.loads}) == 3
    assert any(stage.startswith("load 2 of 3, 2 of 5 files loaded: ") for stage in stages)
    assert shop.load("landing", to=TO, limits=LoadLimits(2)).outcome is Outcome.NOTHING_NEW


def test_a_call_that_is_ended_leaves_whole_loads_and_the_next_one_goes_on(shop: Shop) -> None:
    for number in range(5):
        write(shop, f"{number}.jsonl", number, number)
    first = shop.load("landing", to=TO, limits=LoadLimits(2), is_ended=lambda: True)
    assert (first.rows_loaded, first.waiting, len(first.loads)) == (2, 3, 1)
    write(shop, "9.jsonl", 9, 9)
    second = shop.load("landing", to=TO, new_only=True)
    assert (second.rows_loaded, second.waiting, second.skipped) == (4, 0, 2)


def test_files_that_arrive_during_the_run_wait_for_the_next_one(shop: Shop) -> None:
    for number in range(3):
        write(shop, f"{number}.jsonl", number, number)

    def arrive() -> bool:
        write(shop, "late.jsonl", 0, 9)
        return False

    assert shop.load("landing", to=TO, limits=LoadLimits(1), is_ended=arrive).rows_loaded == 3
    assert shop.load("landing", to=TO, limits=LoadLimits(1)).rows_loaded == 1


def test_a_load_that_is_stopped_ends_the_backlog(shop: Shop) -> None:
    write(shop, "0.jsonl", 0, 0)
    shop.load("landing", to=TO, new_only=True)
    write(shop, "00.jsonl", 0, 5)
    shop.write("landing/1.jsonl", {"id": 1, "more": True})
    os.utime("landing/1.jsonl", (FIRST_DAY + DAY,) * 2)
    write(shop, "2.jsonl", 2, 2)
    report = shop.load("landing", to=TO, limits=LoadLimits(1), contract="columns=freeze")
    assert (report.outcome, report.waiting) == (Outcome.STOPPED, 2)
    assert [load.rows_loaded for load in report.loads] == [1]
    assert shop.load("landing", to=TO, limits=LoadLimits(1)).rows_loaded == 2


def test_loads_that_replace_rows_are_not_cut(shop: Shop) -> None:
    for number in range(2):
        write(shop, f"{number}.jsonl", number, number)
    replaced = APPENDED.with_table(Table("orders", {}, {"write_disposition": "replace"}))
    with pytest.raises(InputError, match="each of 2 loads would replace the rows of the load before it"):
        cut(replaced, files=1)
    assert cut(replaced, files=2) == [["0", "1"]]


def test_a_backlog_has_no_single_load_id(shop: Shop) -> None:
    write(shop, "0.jsonl", 0, 0)
    with pytest.raises(InputError, match="`--load-id` names one load"):
        shop.load("landing", to=TO, limits=LoadLimits(1), load_id="7")


def test_the_size_of_a_table_of_spark_is_unknown() -> None:
    table = TableInput(part().request, (), (Input("table:a.b", "table"),), True)
    with pytest.raises(InputError, match=r"the size of `table:a\.b` are unknown"):
        cut_backlog([table], LoadLimits(1), APPENDED)


def test_files_that_another_load_takes_meanwhile_are_left_to_it(shop: Shop) -> None:
    """Both calls have compared their files before either of them loads."""
    for number in range(3):
        write(shop, f"{number}.jsonl", number, number)
    other = Shop.__new__(Shop)
    other.folder, other.engine, other.temporary = shop.folder, shop.engine, shop.folder / "elsewhere"
    other.temporary.mkdir()
    rows: list[int] = []

    def load_meanwhile(stage: str, _share: float | None) -> None:
        if stage.startswith("loading into") and not rows:
            rows.append(other.load("landing/1.jsonl", to=TO, new_only=True).rows_loaded)

    report = shop.load("landing", to=TO, new_only=True, progress=load_meanwhile)
    assert (report.rows_loaded, rows) == (2, [1])
    assert (report.seen, report.skipped) == (("landing/1.jsonl",), 1)
    assert shop.load("landing", to=TO, new_only=True).outcome is Outcome.NOTHING_NEW


def test_the_ledger_has_the_rows_and_rejects_of_each_file(shop: Shop) -> None:
    shop.write("first.jsonl", {"id": 1, "lines": [{"n": 1}]})
    shop.load("first.jsonl", to=TO)
    shop.write("landing/a.jsonl", {"id": 1, "lines": [{"n": 1}]}, {"id": 2, "lines": [{"n": "x"}]}, {"id": "no"})
    write(shop, "b.jsonl", 1, 7, 8)
    report = shop.load("landing", to=TO, new_only=True, contract="data_type=discard_row")
    entries = {Path(entry.file.path).name: entry for entry in duckdb.read_ledger(TO, "shop")}
    counts = {name: (entry.file.rows, entry.file.rejects) for name, entry in entries.items()}
    # A nested row is a reject, but its document is loaded.
    assert counts == {"first.jsonl": (1, 0), "a.jsonl": (2, 2), "b.jsonl": (2, 0)}
    assert entries["a.jsonl"].load_id == report.load_id
