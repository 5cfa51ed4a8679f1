"""Samples of tables on files: how many rows, which ones, and how little is read for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from migrated_datasets import ID, apply, column, put, schema_of

from schemactl.destinations import delta, iceberg, parquet
from schemactl.destinations._lake.table import Sampled, sample
from schemactl.destinations.delta.migration import DeltaMigration
from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.inference.sample import parse_sample
from schemactl.migration.reports import VerifyReport
from schemactl.migration.steps import ChangeType, RenameColumn, SetNotNull

ROWS = 2_000


class Files:
    """Files whose rows are numbered from 0 through all of them, in batches of three; it notes what is read."""

    def __init__(self, sizes: list[list[int]]) -> None:
        self.read: list[tuple[int, tuple[int, ...]]] = []
        self.sampled: list[Sampled] = []
        self.starts: list[list[int]] = []
        start = 0
        for place, groups in enumerate(sizes):
            starts = [start + sum(groups[:number]) for number in range(len(groups))]
            self.starts.append(starts)
            self.sampled.append(Sampled(tuple(groups), self._reader(place, starts, groups)))
            start += sum(groups)

    def _reader(self, place: int, starts: list[int], groups: list[int]) -> Any:
        def read(chosen: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
            self.read.append((place, chosen))
            rows = [row for number in chosen for row in range(starts[number], starts[number] + groups[number])]
            for at in range(0, len(rows), 3):
                yield pa.record_batch({"n": rows[at : at + 3]})

        return read

    def take(self, share: float) -> list[int]:
        return [row for batch in sample(self.sampled, share) for row in batch.column("n").to_pylist()]


@given(st.lists(st.lists(st.integers(0, 60), max_size=5), max_size=8), st.floats(0.001, 0.999))
def test_a_sample_has_its_share_to_a_few_rows_each_once_and_the_same_each_time(
    sizes: list[list[int]], share: float
) -> None:
    files = Files(sizes)
    rows = files.take(share)

    total = sum(map(sum, sizes))
    assert abs(len(rows) - share * total) <= 3 + len(sizes) / 3
    assert rows == sorted(set(rows))
    assert rows == files.take(share)


def test_each_file_gives_its_share_whatever_its_groups() -> None:
    files = Files([[100] * 10, [1000], [400, 600], [10] * 100])
    rows = files.take(0.1)

    assert [sum(start <= row < start + 1000 for row in rows) for start in range(0, 4000, 1000)] == [
        pytest.approx(100, abs=2)
    ] * 4
    assert [len(chosen) for _, chosen in files.read] == [1, 1, 1, 10]


def test_a_sample_keeps_step_with_no_period_of_the_data() -> None:
    rows = Files([[10_000]]).take(0.1)

    for period in (2, 3, 7, 10, 100):
        for rest in range(min(period, 10)):
            assert sum(row % period == rest for row in rows) == pytest.approx(1000 / period, rel=0.35)


def test_files_of_which_nothing_is_taken_are_not_read() -> None:
    files = Files([[3]] * 100)

    assert len(files.take(0.05)) == pytest.approx(15, abs=1)
    assert len(files.read) <= 16


def test_groups_of_a_parquet_file_that_are_not_taken_may_be_broken(tmp_path: Path) -> None:
    place = tmp_path / "shop" / "orders" / "1.1.a.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": pa.array(range(10_000)), "x": ["y"] * 10_000}), place, row_group_size=1000)
    store = ParquetMigration(tmp_path / "shop")
    rows = [row for batch in store.table("orders").sample(["n"], 0.1) for row in batch.column("n").to_pylist()]
    (read,) = {row // 1000 for row in rows}
    assert len(rows) == 1000

    held = bytearray(place.read_bytes())
    footer = pq.read_metadata(place)
    for number in set(range(10)) - {read}:
        chunk = footer.row_group(number).column(0)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        held[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    place.write_bytes(held)

    assert [row for batch in store.table("orders").sample(["n"], 0.1) for row in batch.column("n").to_pylist()] == rows


def test_parquet_files_that_lack_a_column_or_state_it_in_their_path_are_sampled(tmp_path: Path) -> None:
    for day in ("one", "two"):
        place = tmp_path / "shop" / "events" / f"day={day}" / "a.parquet"
        place.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(500)} | ({"note": ["x"] * 500} if day == "two" else {})), place)
    with parquet.connect(f"parquet:{tmp_path / 'shop'}", "shop", is_read_only=True) as session:
        found = session.unfit(SetNotNull("events", column("note")), 0.2)
        assert (found.count, found.rows) == (pytest.approx(100, abs=2), pytest.approx(200, abs=2))
        retype = ChangeType("events", column("day"), column("day", "date"), needs_check=True)
        assert session.unfit(retype, 0.2).count == found.rows


def test_a_delta_table_with_partitions_is_sampled_in_all_of_them(tmp_path: Path) -> None:
    table = pa.table({"id": range(900), "day": ["a", "b", "c"] * 300, "note": [None, "x"] * 450})
    write_deltalake(str(tmp_path / "shop" / "t"), table, partition_by=["day"])
    store = DeltaMigration(tmp_path / "shop")

    batches = [batch for batch in store.table("t").sample(["day", "id"], 0.1) if batch.num_rows]

    days = [row for batch in batches for row in batch.column("day").to_pylist()]
    assert [days.count(day) for day in "abc"] == [pytest.approx(30, abs=2)] * 3
    assert batches[0].schema.names == ["day", "id"]
    with delta.connect(f"delta:{tmp_path / 'shop'}", "shop", is_read_only=True) as session:
        found = session.unfit(SetNotNull("t", column("note")), 0.1)
        assert (found.count, found.rows) == (pytest.approx(45, abs=15), pytest.approx(90, abs=2))


LOOSE = schema_of(ID, column("note"))
STRICT = schema_of(ID, column("note", nullable=False), before=LOOSE)


@pytest.fixture(params=["parquet", "delta", "iceberg"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of 2,000 rows in four files, a null in each second one."""
    monkeypatch.chdir(tmp_path)
    found = f"{request.param}:lake?dataset=shop"
    apply(found, LOOSE)
    for part in range(4):
        ids = range(part * 500, part * 500 + 500)
        rows = pa.table(
            {"id": pa.array(ids, pa.int64()), "note": ["x" if number % 2 else None for number in ids]},
            pa.schema([pa.field("id", pa.int64(), nullable=request.param == "parquet"), pa.field("note", pa.string())]),
        )
        add(request.param, rows, part)
    return found


def add(kind: str, rows: pa.Table, part: int) -> None:
    match kind:
        case "parquet":
            pq.write_table(rows, f"lake/shop/orders/999999999{part}.1.a.parquet")
        case "delta":
            write_deltalake("lake/shop/orders", rows, mode="append")
        case _:
            with iceberg.connect("iceberg:lake?dataset=shop", "shop") as session:
                session.lake.open("orders").table.append(rows)


def verified(url: str, sample: str) -> VerifyReport:
    return verify(VerifyRequest(put(STRICT, "strict.yaml"), url, Path("schemas"), sample=parse_sample(sample)))


@pytest.mark.parametrize("sample", ["10%", "200"])
def test_verify_reads_a_sample_and_reports_how_many_rows(url: str, sample: str) -> None:
    report = verified(url, sample)

    (odd,) = (each for each in report.odd if each.column == "note")
    assert report.all_rows == ROWS
    assert report.rows == pytest.approx(200, abs=4)
    assert odd.rows == report.rows
    assert odd.count == pytest.approx(100, abs=20)
    assert report == verified(url, sample)


@pytest.mark.parametrize("sample", ["full", "100%", "2000"])
def test_verify_reads_all_rows_where_the_sample_leaves_none_out(url: str, sample: str) -> None:
    report = verified(url, sample)

    (odd,) = (each for each in report.odd if each.column == "note")
    assert (report.rows, report.all_rows, odd.count) == (ROWS, ROWS, ROWS // 2)


@pytest.mark.parametrize("url", ["iceberg"], indirect=True)
def test_an_iceberg_column_is_sampled_under_its_former_names_and_without_deleted_rows(url: str) -> None:
    with iceberg.connect(url, "shop") as session:
        session.run(RenameColumn("orders", "note", "memo"), ())
        session.run(RenameColumn("orders", "id", "note"), ())
    with iceberg.connect(url, "shop", is_read_only=True) as session:
        found = session.unfit(SetNotNull("orders", column("memo")), 0.1)
        assert (found.count, found.rows) == (pytest.approx(100, abs=20), pytest.approx(200, abs=4))
        assert session.unfit(SetNotNull("orders", column("note")), 0.1).count == 0
    with iceberg.connect(url, "shop") as session:
        session.lake.open("orders").table.delete("note < 1000")
    with iceberg.connect(url, "shop", is_read_only=True) as session:
        assert session.unfit(SetNotNull("orders", column("memo")), 0.1).rows == pytest.approx(100, abs=4)
