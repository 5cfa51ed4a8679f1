"""Loads into tables on files, the same for every format: what readers find after each of them."""

from __future__ import annotations

import json
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from secrets import token_hex
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from filelock import FileLock
from lake_samples import AT, LoadedInput, Rows, nested, package, stage, table
from pyiceberg.catalog.sql import SqlCatalog
from staged_loads import ledger_files, quiet, shop

from schemactl.destinations import DESTINATIONS
from schemactl.destinations._journal import Versions
from schemactl.destinations._lake import lock
from schemactl.destinations.delta.lake import DeltaLake, DeltaLakeTable
from schemactl.destinations.iceberg.address import open_catalog, read_address
from schemactl.destinations.iceberg.lake import IcebergLake, IcebergLakeTable
from schemactl.errors import DestinationError, InputError
from schemactl.examples import Examples, show_examples
from schemactl.schema.types import Column, Table

BIGINT = {"data_type": "bigint"}
TEXT = {"data_type": "text"}
PRIMARY = {"data_type": "bigint", "nullable": False, "primary_key": True}


class Place:
    """A dataset `sales` in a folder, and what the format's own library reads there."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.url = f"{kind}:{folder}?dataset=sales"
        self.destination: Any = DESTINATIONS[kind]

    def load(self, *given: Any, **options: Any) -> None:
        self.destination.load(self.url, package(*given, **options), quiet)

    def catalog(self) -> SqlCatalog:
        return SqlCatalog("default", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=str(self.folder))

    def arrow(self, name: str) -> pa.Table:
        if self.kind == "delta":
            return DeltaTable(str(self.folder / "sales" / name)).to_pyarrow_dataset().to_table()
        return self.catalog().load_table(("sales", name)).scan().to_arrow()

    def rows(self, name: str, *columns: str) -> list[Any]:
        held = self.arrow(name).select(list(columns)).to_pylist()
        found = [tuple(row.values()) if len(columns) > 1 else row[columns[0]] for row in held]
        return sorted(found, key=repr)

    def tables(self) -> set[str]:
        if self.kind == "delta":
            return {each.parent.name for each in (self.folder / "sales").glob("*/_delta_log")}
        return {each[-1] for each in self.catalog().list_tables("sales")} - {"_dlt_version", "_dlt_loads"}

    def loads(self) -> set[str]:
        return set(self.destination.read_past_loads(self.url, "shop").load_ids)


@pytest.fixture(params=["delta", "iceberg"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "lake")


ORDERS = table("orders", {"id": BIGINT, "note": TEXT})
LINES = nested("orders__lines", "orders", {"sku": TEXT})


def test_rows_are_appended_with_those_nested_in_them(place: Place, tmp_path: Path) -> None:
    lines: Rows = [{"sku": "a", "_dlt_parent_id": "orders-1-0", "_dlt_list_idx": 0}]
    place.load(tmp_path, "1", {"orders": [{"id": 1, "note": "x"}], "orders__lines": lines}, [ORDERS, LINES])
    place.load(tmp_path, "2", {"orders": [{"id": 2}, {"id": 3}]}, [ORDERS, LINES], files=2)
    assert place.rows("orders", "id", "note", "_dlt_load_id") == [(1, "x", "1"), (2, None, "2"), (3, None, "2")]
    assert place.rows("orders__lines", "sku", "_dlt_parent_id") == [("a", "orders-1-0")]
    assert place.loads() == {"1", "2"}


EVERY = {
    "a_text": (TEXT, "é\u2028'\"", "é\u2028'\""),
    "a_json": ({"data_type": "json"}, '{"a":[1]}', '{"a":[1]}'),
    "a_bigint": (BIGINT, -(2**63), -(2**63)),
    "int8": ({"data_type": "bigint", "precision": 8}, -128, -128),
    "int16": ({"data_type": "bigint", "precision": 16}, 32767, 32767),
    "int32": ({"data_type": "bigint", "precision": 32}, 2**31 - 1, 2**31 - 1),
    "a_double": ({"data_type": "double"}, float("inf"), float("inf")),
    "a_bool": ({"data_type": "bool"}, False, False),
    "zoned": ({"data_type": "timestamp"}, AT, AT),
    "naive": ({"data_type": "timestamp", "timezone": False}, AT.replace(tzinfo=None), AT.replace(tzinfo=None)),
    "a_date": ({"data_type": "date"}, date(1, 1, 1), date(1, 1, 1)),
    "a_time": ({"data_type": "time"}, time(23, 59, 59, 999999), time(23, 59, 59, 999999)),
    "a_binary": ({"data_type": "binary"}, b"\x00\xff", b"\x00\xff"),
    "a_decimal": ({"data_type": "decimal"}, Decimal("-1.000000001"), Decimal("-1.000000001")),
    "decimal10_2": (
        {"data_type": "decimal", "precision": 10, "scale": 2},
        Decimal("99999999.99"),
        Decimal("99999999.99"),
    ),
    "a_wei": ({"data_type": "wei"}, Decimal(10**37), str(10**37)),
    "Odd näme's": (TEXT, "odd", "odd"),
}


@pytest.mark.parametrize("options", [{}, {"use_deprecated_int96_timestamps": True}], ids=["plain", "int96"])
def test_values_of_every_type_come_back(place: Place, tmp_path: Path, options: dict[str, Any]) -> None:
    typed = table("typed", {name: kind for name, (kind, _, _) in EVERY.items()})
    full = {name: value for name, (_, value, _) in EVERY.items()}
    place.load(tmp_path, "1", {"typed": [full, {}]}, [typed], **options)
    expected = {name: value for name, (_, _, value) in EVERY.items()}
    if place.kind == "delta":
        expected["a_time"] = "23:59:59.999999"
    held = place.arrow("typed").select(list(EVERY)).to_pylist()
    assert sorted(held, key=repr) == sorted([expected, dict.fromkeys(EVERY)], key=repr)
    columns = place.destination.read_catalogue(place.url).schema.tables["typed"].columns
    assert {name: column.properties for name, column in columns.items()} == {
        name: place.destination.stored(column) for name, column in typed.columns.items()
    }


def test_duckdb_reads_the_files_of_a_load(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": number} for number in range(1000)]}, [ORDERS], files=3)
    (folder,) = {each.parent for each in place.folder.glob("sales/orders/**/*.parquet")}
    found = duckdb.sql(f"select count(*), sum(id) from read_parquet('{folder}/*.parquet')").fetchall()
    assert found == [(1000, 499500)]


def test_finished_files_become_files_of_the_table_without_being_rewritten(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    staged = (tmp_path / "1" / "orders" / "part-00000.parquet").stat()
    assert staged.st_ino in {each.stat().st_ino for each in place.folder.glob("sales/orders/**/*.parquet")}


def test_columns_are_added_and_old_rows_have_none(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    more = table(
        "orders",
        {"id": BIGINT, "at": {"data_type": "timestamp", "timezone": False}, "needed": {**BIGINT, "nullable": False}},
    )
    place.load(tmp_path, "2", {"orders": [{"id": 2, "at": datetime(2026, 1, 1), "needed": 5}]}, [more])
    assert place.rows("orders", "id", "note", "at", "needed") == [
        (1, None, None, None),
        (2, None, datetime(2026, 1, 1), 5),
    ]


def merged(strategy: str, columns: dict[str, Any], **properties: Any) -> Table:
    return table("orders", columns, write_disposition="merge", **{"x-merge-strategy": strategy}, **properties)


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert"])
def test_rows_of_one_key_take_the_place_of_those_there(place: Place, tmp_path: Path, strategy: str) -> None:
    orders = merged(
        strategy,
        {
            "id": PRIMARY,
            "note": TEXT,
            "rank": {**BIGINT, "dedup_sort": "desc"},
            "gone": {"data_type": "bool", "hard_delete": True},
        },
    )

    def lines(load: str, *skus: str) -> Rows:
        return [{"sku": sku, "_dlt_parent_id": f"orders-{load}-{number}"} for number, sku in enumerate(skus)]

    first: Rows = [{"id": number, "note": f"old {number}"} for number in range(4)]
    place.load(
        tmp_path, "1", {"orders": first, "orders__lines": lines("1", "a", "b", "c", "d")}, [orders, LINES], files=2
    )
    second: Rows = [
        {"id": 1, "note": "low", "rank": 1},
        {"id": 1, "note": "high", "rank": 2},
        {"id": 2, "gone": True},
        {"id": 9, "note": "new", "gone": False},
    ]
    place.load(tmp_path, "2", {"orders": second, "orders__lines": lines("2", "e", "f", "g", "h")}, [orders, LINES])
    assert place.rows("orders", "id", "note") == [(0, "old 0"), (1, "high"), (3, "old 3"), (9, "new")]
    assert place.rows("orders__lines", "sku") == ["a", "d", "f", "h"]


def test_merge_keys_make_room_for_whole_groups(place: Place, tmp_path: Path) -> None:
    orders = merged("delete-insert", {"id": BIGINT, "day": {"data_type": "date", "merge_key": True}})
    one, two = date(2026, 1, 1), date(2026, 1, 2)
    place.load(
        tmp_path,
        "1",
        {"orders": [{"id": 1, "day": one}, {"id": 2, "day": one}, {"id": 3, "day": two}, {"id": 4}]},
        [orders],
    )
    place.load(tmp_path, "2", {"orders": [{"id": 5, "day": one}, {"id": 6}]}, [orders])
    assert place.rows("orders", "id") == [3, 4, 5, 6]


def test_insert_only_keeps_what_is_there(place: Place, tmp_path: Path) -> None:
    columns = {"id": PRIMARY, "part": {"data_type": "text", "primary_key": True, "nullable": False}, "note": TEXT}
    orders = merged("insert-only", columns)
    place.load(tmp_path, "1", {"orders": [{"id": 1, "part": "a", "note": "old"}]}, [orders])
    rows: Rows = [{"id": 1, "part": "a", "note": "new"}, {"id": 1, "part": "b", "note": "new"}]
    place.load(tmp_path, "2", {"orders": rows}, [orders])
    assert place.rows("orders", "part", "note") == [("a", "old"), ("b", "new")]


def test_a_history_ends_rows_that_are_gone_and_begins_new_ones(place: Place, tmp_path: Path) -> None:
    moment = {"data_type": "timestamp", "nullable": True}
    made = merged(
        "scd2",
        {
            "_dlt_valid_from": {**moment, "x-valid-from": True},
            "_dlt_valid_to": {**moment, "x-valid-to": True},
            "id": BIGINT,
        },
    )
    version = Column("_dlt_id", {"data_type": "text", "nullable": False, "x-row-version": True, "row_key": True})
    people = replace(made, columns={**made.columns, "_dlt_id": version})
    days = [AT + timedelta(days=number) for number in range(3)]
    for load, (day, keys) in enumerate(zip(days, ("ab", "bc", "ab"), strict=True)):
        rows: Rows = [{"id": ord(key), "_dlt_id": key} for key in keys]
        place.load(tmp_path, str(load), {"orders": rows}, [people], at=day)
    found = place.rows("orders", "_dlt_id", "_dlt_valid_from", "_dlt_valid_to")
    assert sorted(found, key=lambda row: row[:2]) == [
        ("a", days[0], days[1]),
        ("a", days[2], None),
        ("b", days[0], None),
        ("c", days[1], days[2]),
    ]


def test_rejected_rows_and_inputs_are_kept(place: Place, tmp_path: Path) -> None:
    inputs = (LoadedInput("/data/a.jsonl", 10, AT),)
    rejects = stage(tmp_path / "rejects", Table("_rejects", {"reason": Column("reason", TEXT)}), [{"reason": "no"}])
    given = replace(package(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS], inputs=inputs), rejects=rejects)
    place.destination.load(place.url, given, quiet)
    newer = (LoadedInput("/data/a.jsonl", 20, AT), LoadedInput("/data/b.jsonl", 5, AT))
    place.load(tmp_path, "2", {"orders": [{"id": 2}]}, [ORDERS], inputs=newer, at=AT + timedelta(hours=1))
    assert place.rows("_rejects", "reason") == ["no"]
    assert ledger_files(place.destination, place.url) == {each.path: each for each in newer}


def test_the_dataset_is_found_by_its_schema(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    bare = f"{place.kind}:{place.folder}"
    assert place.destination.read_past_loads(bare, "shop").load_ids == {"1"}
    assert not place.destination.read_past_loads(bare, "other").load_ids
    catalogue = place.destination.read_catalogue(bare)
    assert catalogue.schema.name == "shop"
    assert catalogue.hashes == (shop(ORDERS).version_hash,)


def state(place: Place) -> dict[str, list[Any]]:
    return {name: place.rows(name, "_dlt_id", "_dlt_load_id") for name in place.tables() if name != "_schemactl_inputs"}


def test_a_load_that_fails_leaves_everything_as_it_was(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    before = state(place)
    clients = table("clients", {"id": {**BIGINT, "nullable": False}})
    bad = package(tmp_path, "2", {"orders": [{"id": 2}], "clients": [{"id": None}]}, [ORDERS, clients])
    with pytest.raises(DestinationError, match="column `id` of `clients` is NOT NULL"):
        place.destination.load(place.url, bad, quiet)
    assert state(place) == before
    assert place.loads() == {"1"}
    assert not list(place.folder.glob("sales/clients/**/*.parquet"))
    assert len(list(place.folder.glob("sales/orders/**/*.parquet"))) == 1


def test_readers_see_nothing_of_a_load_whose_rows_do_not_all_fit(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    before = lake_of(place).open("orders").version
    lines = nested("orders__lines", "orders", {"sku": {**TEXT, "nullable": False}})
    rows: dict[str, Rows] = {"orders": [{"id": 2}], "orders__lines": [{"sku": None}]}
    with pytest.raises(DestinationError, match="is NOT NULL"):
        place.load(tmp_path, "2", rows, [ORDERS, lines])
    assert lake_of(place).open("orders").version == before


@pytest.mark.parametrize("strategy", [None, "delete-insert"])
def test_readers_see_no_new_order_without_its_lines(
    strategy: str | None, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = merged(strategy, {"id": PRIMARY}) if strategy else ORDERS
    place.load(tmp_path, "1", {"orders": [{"id": 1, "_dlt_id": "a"}], "orders__lines": []}, [root, LINES])
    seen: list[tuple[int, int]] = []
    for of in (DeltaLakeTable, IcebergLakeTable):
        monkeypatch.setattr(of, "commit", watched(of.commit, place, seen))
    line = {"_dlt_parent_id": "b", "sku": "x"}
    place.load(tmp_path, "2", {"orders": [{"id": 2, "_dlt_id": "b"}], "orders__lines": [line]}, [root, LINES])
    assert list(dict.fromkeys(seen)) == [(1, 1), (2, 1)]  # commits of `_dlt_loads` change no rows


def watched(commit: Any, place: Place, seen: list[tuple[int, int]]) -> Any:
    """Note how many orders and lines there are after each commit."""

    def run(*given: Any, **options: Any) -> None:
        commit(*given, **options)
        seen.append((len(place.rows("orders", "id")), len(place.rows("orders__lines", "sku"))))

    return run


def test_a_load_that_cannot_be_taken_back_reports_both_reasons(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    clients = table("clients", {"id": {**BIGINT, "nullable": False}})
    bad = package(tmp_path, "2", {"orders": [{"id": 2}], "clients": [{"id": None}]}, [ORDERS, clients])
    commits = place.folder / "sales" / "orders" / ("_delta_log" if place.kind == "delta" else "metadata")

    def hide(what: str, share: float | None) -> None:
        quiet(what, share)
        if "clients" in what:
            commits.rename(tmp_path / "hidden")

    reported = r"`clients` is NOT NULL.*; the load could not be undone: .*orders"
    with pytest.raises(DestinationError, match=reported) as caught:
        place.destination.load(place.url, bad, hide)
    assert "the next load removes the files of this load" in str(caught.value.hint)
    (tmp_path / "hidden").rename(commits)
    place.load(tmp_path, "3", {"orders": [{"id": 3}]}, [ORDERS])
    assert place.rows("orders", "id") == [1, 3]
    assert place.loads() == {"1", "3"}


def test_a_disk_that_is_full_leaves_everything_as_it_was(place: Place, tmp_path: Path) -> None:
    stamped = table("orders", {"at": {"data_type": "timestamp"}, "note": TEXT})
    place.load(tmp_path, "1", {"orders": [{"note": "x"}]}, [stamped])
    before = state(place)
    rows: Rows = [{"at": AT, "note": token_hex(100)} for _ in range(5000)]
    given = package(tmp_path, "2", {"orders": rows}, [stamped], use_deprecated_int96_timestamps=True)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(DestinationError, match=r"cannot load into .*File too large"):
            place.destination.load(place.url, given, quiet)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert state(place) == before
    assert place.loads() == {"1"}
    assert len(list(place.folder.glob("sales/orders/**/*.parquet"))) == 1


KILLED = """
    import gc, json, os, pickle, signal, sys
    from pathlib import Path
    # What each load would import anew, which takes most of its time.
    import duckdb, pandas, pyarrow.dataset, pyarrow.parquet, pyiceberg.catalog.sql, pyiceberg.io.pyarrow
    from pyiceberg.table import Table
    from schemactl.destinations import DESTINATIONS
    from schemactl.destinations.delta import lake
    from schemactl.destinations.iceberg.lake import IcebergLake, IcebergLakeTable

    kill_at = done = 0

    def counted(function):
        def run(*given, **options):
            global done
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return function(*given, **options)
        return run

    for of in (lake.DeltaLakeTable, IcebergLakeTable):
        of.commit = counted(of.commit)
        of.add_columns = counted(of.add_columns)
    for of in (lake.DeltaLake, IcebergLake):
        of.create = counted(of.create)
        of.write_journal = counted(of.write_journal)
    lake.write_text = counted(lake.write_text)
    Path.replace = counted(Path.replace)  # a file has been written, and has not got its name yet
    Table.append = counted(Table.append)
    gc.freeze()  # or else each fork copies what garbage collection looks through
    for line in sys.stdin:
        kind, url, file, kill_at = json.loads(line)
        child = os.fork()
        if not child:
            DESTINATIONS[kind].load(url, pickle.loads(Path(file).read_bytes()), lambda *said: None)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_a_load_killed_at_any_step_is_undone_by_the_next_one(place: Place, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    outcomes: list[tuple[int, bool]] = []
    with subprocess.Popen([sys.executable, str(script)], stdin=-1, stdout=-1, text=True) as killed:
        while not outcomes or outcomes[-1][0] != 0:
            folder = tmp_path / str(len(outcomes))
            outcomes.append(kill_at(Place(place.kind, folder / "lake"), folder, killed, len(outcomes)))
        killed.stdin.close()
    codes, completes = zip(*outcomes, strict=True)
    assert set(codes[:-1]) == {-signal.SIGKILL}
    # Journal, column, rows, table, rows, version, load: until the load's own row nothing counts, then everything.
    assert list(completes) == sorted(completes)
    assert completes.count(False) >= 7
    assert completes.count(True) >= 2


def kill_at(place: Place, folder: Path, killed: Any, step: int) -> tuple[int, bool]:
    """Kill a load before a step, load on, and return how the process ended and whether the load counted."""
    orders = merged("delete-insert", {"id": PRIMARY, "note": TEXT})
    more = merged("delete-insert", {"id": PRIMARY, "note": TEXT, "extra": TEXT})
    clients = table("clients", {"id": BIGINT})
    place.load(folder, "1", {"orders": [{"id": 1, "note": "old"}, {"id": 2}]}, [orders])
    rows: dict[str, Rows] = {"orders": [{"id": 1, "note": "new", "extra": "x"}], "clients": [{"id": 7}]}
    given = package(folder, "2", rows, [more, clients])
    file = folder / "package"
    file.write_bytes(pickle.dumps(given))
    killed.stdin.write(json.dumps([place.kind, place.url, str(file), step]) + "\n")
    killed.stdin.flush()
    code = int(killed.stdout.readline())
    is_complete = place.loads() == {"1", "2"}
    assert is_complete or place.loads() == {"1"}
    place.load(folder, "3", {"orders": [{"id": 3}]}, [orders])
    assert place.loads() == ({"1", "2", "3"} if is_complete else {"1", "3"})
    assert not list(place.folder.rglob(".schemactl-*.tmp"))
    if not is_complete:
        assert place.rows("orders", "id", "note") == [(1, "old"), (2, None), (3, None)]
        assert "clients" not in place.tables()
        assert not list(place.folder.glob("sales/clients/**/*.parquet"))
        place.destination.load(place.url, given, quiet)  # the same load may come again
    assert place.rows("orders", "id", "note", "extra") == [(1, "new", "x"), (2, None, None), (3, None, None)]
    assert place.rows("clients", "id") == [7]
    return code, is_complete


def test_a_table_of_someone_else_is_left_alone(place: Place, tmp_path: Path) -> None:
    foreign = pa.table({"id": [1]})
    if place.kind == "delta":
        from deltalake import write_deltalake

        write_deltalake(str(place.folder / "sales" / "orders"), foreign)
    else:
        place.folder.mkdir()
        place.catalog().create_namespace("sales")
        place.catalog().create_table(("sales", "orders"), foreign.schema).append(foreign)
    with pytest.raises(DestinationError, match="was not created by dlt or schemactl: it has no column `_dlt_id`"):
        place.destination.check_tables(place.url, shop(ORDERS))
    with pytest.raises(DestinationError, match="was not created by dlt"):
        place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    assert place.rows("orders", "id") == [1]


def test_columns_of_other_types_are_reported_before_anything_is_written(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    other = table("orders", {"id": TEXT, "note": {"data_type": "timestamp"}})
    with pytest.raises(DestinationError, match="do not fit") as failure:
        place.destination.check_tables(place.url, shop(other))
    assert [str(each) for each in failure.value.problems] == [
        "column `id` is bigint there, and text in the schema",
        "column `note` is text there, and timestamp in the schema",
    ]


def test_a_value_that_has_no_room_stops_the_load(place: Place, tmp_path: Path) -> None:
    place.load(
        tmp_path, "1", {"orders": [{"id": 1}]}, [table("orders", {"id": {"data_type": "bigint", "precision": 32}})]
    )
    with pytest.raises(DestinationError, match="column `id` of `orders` is `int32` and cannot store a value"):
        place.load(tmp_path, "2", {"orders": [{"id": 2**40}]}, [ORDERS])
    with show_examples(Examples.MASKED), pytest.raises(DestinationError, match="value 9999999999999 not in range"):
        place.load(tmp_path, "3", {"orders": [{"id": 2**40}]}, [ORDERS])
    assert place.rows("orders", "id") == [1]


def lake_of(place: Place) -> Any:
    if place.kind == "delta":
        return DeltaLake(place.folder / "sales")
    address = read_address(place.url)
    return IcebergLake(address, open_catalog(address, is_written=True), "sales")


def test_who_else_wrote_after_a_broken_load_is_not_overwritten(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    lake = lake_of(place)
    version = lake.open("orders").version
    place.load(tmp_path, "2", {"orders": [{"id": 2}]}, [ORDERS])
    lake.write_journal(Versions("killed", "shop", "0" * 32, {"orders": version}))
    with pytest.raises(
        DestinationError, match=r"`killed` .* was interrupted, and another program has written to `orders` since"
    ):
        place.load(tmp_path, "3", {"orders": [{"id": 3}]}, [ORDERS])
    assert place.rows("orders", "id") == [1, 2]


def test_two_commits_that_remove_the_same_rows_do_not_both_succeed(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    one, other = lake_of(place).open("orders"), lake_of(place).open("orders")
    one.commit((), one.files(), "2")
    with pytest.raises(DestinationError, match="another program wrote to it at the same time"):
        other.commit((), other.files(), "3")


def test_a_table_that_was_empty_is_emptied_again(place: Place, tmp_path: Path) -> None:
    place.load(tmp_path, "1", {"orders": []}, [ORDERS])
    before = lake_of(place).open("orders")
    place.load(tmp_path, "2", {"orders": [{"id": 2}]}, [ORDERS])
    lake_of(place).open("orders").restore(before.version, "2")
    assert place.rows("orders", "id") == []


def lock_of(place: Place) -> FileLock:
    folder = place.folder / "sales" if place.kind == "delta" else place.folder
    folder.mkdir(parents=True)
    return FileLock(folder / ".schemactl.lock", thread_local=False)


def test_a_load_waits_for_another_one(place: Place, tmp_path: Path) -> None:
    held = lock_of(place)
    held.acquire()
    said: list[str] = []

    def free_it(what: str, share: float | None) -> None:
        quiet(what, share)
        if "locking" in what:
            threading.Timer(6, held.release).start()
        said.append(what)

    place.destination.load(place.url, package(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS]), free_it)
    assert "against other loads" in said[0]
    assert place.rows("orders", "id") == [1]


def test_a_load_does_not_wait_for_ever(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOAD_PATIENCE_SECONDS", 0.2)
    with lock_of(place), pytest.raises(DestinationError, match="is in use by"):
        place.load(tmp_path, "1", {"orders": [{"id": 1}]}, [ORDERS])
    assert [each.name for each in place.folder.rglob("*") if each.is_file()] == [".schemactl.lock"]


def test_addresses_that_are_wrong_are_reported(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for url, message in (
        (f"{place.kind}:", "does not name a folder"),
        (f"{place.kind}:s3://bucket/x", "is not a folder on this machine"),
        (f"{place.kind}:{tmp_path}?dataset=..", "cannot name a"),
        (f"{place.kind}:{tmp_path}?table=x", "is not a parameter"),
    ):
        with pytest.raises(InputError, match=message):
            place.destination.check_tables(url, shop(ORDERS))
    with pytest.raises(DestinationError, match="is a file, not a folder"):
        place.destination.check_tables(f"{place.kind}:{tmp_path / 'file'}", shop(ORDERS))
    with pytest.raises(InputError, match="there is no folder"):
        place.destination.read_catalogue(f"{place.kind}:{tmp_path / 'none'}")
    assert not place.destination.read_past_loads(f"{place.kind}:{tmp_path / 'none'}", "shop").load_ids
    assert not (tmp_path / "none").exists()
