"""The memory of a worker process is bounded, whatever the size of the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.local.engine import LocalEngine
from schemactl.engine.local.workers import Workers
from schemactl.engine.scan import scan_inputs
from schemactl.inference.sample import Sample
from schemactl.progress import no_progress

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of processes in /proc"),
]

MOST_MEGABYTES = 300
LINES_AT_ONCE = 5000


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(2)
    yield workers
    workers.close()


def order(number: int) -> dict[str, object]:
    lines = [{"sku": f"sku-{number % 977}-{at}", "price": number % 1000 + 0.5, "tags": ["a", "b"]} for at in range(4)]
    return {"id": number, "at": "2026-01-01T10:00:00Z", "buyer": {"name": f"n{number}", "vip": None}, "lines": lines}


def write_lines(path: Path, megabytes: int) -> None:
    block = "".join(json.dumps(order(number)) + "\n" for number in range(LINES_AT_ONCE)).encode()
    with path.open("wb") as file:
        for _ in range(megabytes * 1_000_000 // len(block)):
            file.write(block)


def write_csv(path: Path, megabytes: int) -> None:
    rows = "".join(f'{number},"name, {number}",2026-01-01,{number}.5,\n' for number in range(LINES_AT_ONCE)).encode()
    with path.open("wb") as file:
        file.write(b"id,name,day,price,note\n")
        for _ in range(megabytes * 1_000_000 // len(rows)):
            file.write(rows)


def write_parquet(path: Path, megabytes: int) -> None:
    table = pa.Table.from_pylist([order(number) for number in range(LINES_AT_ONCE)])
    with pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(megabytes * 1_000_000 // table.nbytes):
            writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "write", "megabytes"),
    [("a.jsonl", write_lines, 120), ("a.csv", write_csv, 80), ("a.parquet", write_parquet, 120)],
)
def test_a_worker_holds_less_than_300_mb(
    workers: Workers, tmp_path: Path, name: str, write: Callable[[Path, int], None], megabytes: int
) -> None:
    write(tmp_path / name, megabytes)
    engine = LocalEngine(workers, 2, no_progress)
    scan = scan_inputs(engine, find_inputs([str(tmp_path / name)]), Sample())
    assert scan.evidence.documents > 50_000
    peaks = [_peak_megabytes(process.pid) for process in workers.start()]
    assert len(peaks) == 2
    assert max(peaks) < MOST_MEGABYTES, peaks


def _peak_megabytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[0]) // 1000
