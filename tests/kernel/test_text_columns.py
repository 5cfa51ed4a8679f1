"""Rows of well-formed CSV that are read a column at a time give what their documents give."""

from __future__ import annotations

import pickle
import random
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from rows_contract import LOAD, NOW, as_set, with_table
from test_package import FILE, HERE, A, read

from schemactl.inference.resolve import resolve
from schemactl.kernel import files
from schemactl.kernel.arrays import binary_array
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.dispatch import ONE_TABLE
from schemactl.kernel.files import FilePart, Form
from schemactl.kernel.package import RowsJob, write_documents
from schemactl.kernel.partitions import PartitionResult, observe_partition
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime
from schemactl.schema.judgment import judge

NAMES = ("id", "Name", "n", "when", "flag", "odd key")
MIXED = ("", "1", "2.5", "x", "2024-05-06", "true", "é" * 3)


def write_rows(path: Path, seed: int, *, has_bad: bool) -> None:
    source = random.Random(seed)
    lines = [",".join(NAMES)]
    for at in range(200):
        when = source.choice(["2024-05-06T07:08:09Z", "2024-05-06", ""])
        flag = source.choice(["true", "false", "", "no"])
        lines.append(f'{at % 90},"a ""{at}""",{source.randint(0, 9)},{when},{flag},{source.choice(MIXED)}')
        lines += ["", ",,,,,"] if at % 50 == 0 else []
    lines += ["1,2,3,4,5,6,7"] if has_bad else []
    path.write_text("\n".join(lines) + "\n")


def shares(path: Path) -> list[pa.RecordBatch]:
    layout = CsvLayout(NAMES, ",", b"\n")
    part = FilePart(A, str(path), "", "UTF-8", Form.ROWS, layout=layout)
    return [pa.RecordBatch.from_arrays([binary_array([pickle.dumps((part,))])], ["share"])]


def observed(path: Path, columns: tuple[str, ...]) -> PartitionResult:
    return observe_partition(shares(path), HERE, columns=columns)


@pytest.mark.parametrize("has_bad", [False, True])
@pytest.mark.parametrize("block", [1 << 22, 700])
def test_the_evidence_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, has_bad: bool) -> None:
    monkeypatch.setattr(files, "ROWS_BYTES", block)
    write_rows(tmp_path / "a.csv", block, has_bad=has_bad)

    found, wanted = observed(tmp_path / "a.csv", NAMES), observed(tmp_path / "a.csv", ())

    assert found == wanted
    assert [list(each) for each in found.result[ONE_TABLE].evidence.witnesses.values()] == [
        list(each) for each in wanted.result[ONE_TABLE].evidence.witnesses.values()
    ]
    assert len(found.bad_records) == has_bad


TABLES = {
    "new": (with_table(), None),
    "known": (with_table(id={"data_type": "bigint"}, n={"data_type": "bigint"}, odd_key={"data_type": "double"}), None),
    "discarded rows": (with_table(odd_key={"data_type": "bigint"}), "data_type=discard_row"),
    "discarded values": (with_table(odd_key={"data_type": "bigint"}, flag={"data_type": "bool"}), "discard_value"),
    "frozen": (with_table(id={"data_type": "bigint"}), "freeze"),
    "a primary key": (with_table(id={"data_type": "bigint", "primary_key": True}), None),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_rows_are_the_same(tmp_path: Path, name: str) -> None:
    before, contract = TABLES[name]
    write_rows(tmp_path / "a.csv", 1, has_bad=True)
    evidence = observed(tmp_path / "a.csv", ()).result[ONE_TABLE].evidence
    resolution = resolve(evidence, before, "t")
    plan = make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema, contract)))
    compared = {"t": ("id",)} if name == "a primary key" else {}
    (tmp_path / "files").mkdir()
    job = RowsJob({(ONE_TABLE,): plan}, LoadTime(LOAD, NOW), compared, (tmp_path / "files").as_uri())

    made, wanted = (
        write_documents(shares(tmp_path / "a.csv"), job, HERE, {(FILE, 0): 0}, columns=columns)
        for columns in (NAMES, ())
    )

    assert asdict(made.outcomes[0]) == asdict(wanted.outcomes[0])
    assert made.first == wanted.first
    for found, expected in ((made.files.tables, wanted.files.tables), (made.files.places, wanted.files.places)):
        assert list(found) == list(expected)
        for table in found:
            assert as_set(read(tmp_path / "files", found[table])) == as_set(read(tmp_path / "files", expected[table]))
    assert list(made.files.rejects) == list(wanted.files.rejects)
    for plan_number, file in made.files.rejects.items():
        rejects = read(tmp_path / "files", file), read(tmp_path / "files", wanted.files.rejects[plan_number])
        assert as_set(rejects[0]) == as_set(rejects[1])
